package storm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Faults returns the faults that every manager may meet.
func Faults(s *Story) map[string]Effect {
	return map[string]Effect{
		"killed before": func(c *Call, _ func() error) error { return c.Manager.Kill() },
		"killed after": func(c *Call, do func() error) error {
			return errors.Join(do(), c.Manager.Kill())
		},
		"refused": func(c *Call, _ func() error) error { return c.refusal() },
		"answer lost": func(c *Call, do func() error) error {
			_ = do()
			return fmt.Errorf("%s: %w", c.Name, context.DeadlineExceeded)
		},
		"conflict": func(c *Call, do func() error) error {
			if c.To != Kubernetes || !c.Writes {
				return do()
			}
			return apierrors.NewConflict(schema.GroupResource{}, c.Name, errors.New("another client was faster"))
		},
		"throttled": func(c *Call, do func() error) error {
			c.Manager.set(func() { c.Manager.throttled = 1 + c.Random.IntN(20) })
			return do()
		},
		"frozen": func(c *Call, do func() error) error {
			s.Freeze(c.Manager, c.between(10*time.Second, 20*time.Minute), c.Random.IntN(6))
			return do()
		},
		"clock steps": func(c *Call, do func() error) error {
			c.Manager.set(func() { c.Manager.skew += c.between(-10*time.Minute, 10*time.Minute) })
			return do()
		},
		"cut off": func(c *Call, do func() error) error {
			c.Manager.set(func() { c.Manager.cutOffUntil = time.Now().Add(c.between(time.Minute, 20*time.Minute)) })
			return do()
		},
		"watches lost": func(c *Call, do func() error) error {
			c.Manager.set(func() { c.Manager.deafUntil = time.Now().Add(c.between(time.Minute, 20*time.Minute)) })
			return do()
		},
	}
}

func (c *Call) refusal() error {
	switch c.To {
	case Ceph:
		return &ceph.Error{Verb: c.Name, Errno: 13, Message: "Error EACCES: access denied"}
	case Client:
		return errors.New("connection refused")
	case Kubernetes:
	}
	return apierrors.NewInternalError(errors.New("etcd has no leader"))
}

func (c *Call) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.Random.Int64N(int64(most-least)))
}

type passKey struct{}

// Reconciler is how a controller is run for one object.
type Reconciler struct {
	// Pass runs one pass. It returns the delay of the next pass; 0 for none.
	Pass func(context.Context) (time.Duration, error)
	// First and AtMost are the shortest and the longest delay after a pass that has failed.
	First, AtMost time.Duration
	// Wait waits for an event, but not longer than a duration.
	Wait func(time.Duration)
}

// resync is the longest time between two passes.
const resync = 10 * time.Hour

// Reconcile runs the passes for one object until the context ends, and checks that each writes status at most once.
func (s *Story) Reconcile(ctx context.Context, r Reconciler) {
	for failures := 0; ctx.Err() == nil; {
		writes := &atomic.Int64{}
		again, err := r.Pass(context.WithValue(ctx, passKey{}, writes))
		if n := writes.Load(); n > 1 {
			s.Fail("one write", "a pass has written status %d times", n)
		}
		if err != nil {
			r.Wait(min(r.First<<min(failures, 10), r.AtMost))
			failures++
			continue
		}
		failures = 0
		r.Wait(cmp.Or(again, resync))
	}
}

// APIClient returns a client whose calls meet the faults of a story. Writes wake the managers' watches, except those of
// managers to objects other than Jobs: controllers do not watch their own status.
func APIClient(inner client.WithWatch, s *Story) client.WithWatch {
	call := func(ctx context.Context, verb string, o any, object string, do func() error) error {
		m, managed := ctx.Value(managerKey{}).(*Manager)
		writes := verb != "get" && verb != "list"
		if !managed {
			err := do()
			if writes && err == nil {
				s.Happen()
			}
			return err
		}
		name := verb + " " + kindOf(inner, o)
		return s.Carry(ctx, name, object, Kubernetes, writes, func() error {
			if err := m.refuses(name); err != nil {
				return err
			}
			if n, counted := ctx.Value(passKey{}).(*atomic.Int64); counted && strings.HasPrefix(name, "patch status ") {
				n.Add(1)
			}
			err := do()
			if writes && err == nil && strings.HasSuffix(name, " Job") {
				s.Happen()
			}
			return err
		})
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return call(ctx, "get", o, key.Name, func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			return call(ctx, "list", o, "", func() error { return c.List(ctx, o, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return call(ctx, "create", o, o.GetName(), func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return call(ctx, "update", o, o.GetName(), func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return call(ctx, "patch", o, o.GetName(), func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return call(ctx, "delete", o, o.GetName(), func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return call(ctx, "patch "+sub, o, o.GetName(), func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return call(ctx, "update "+sub, o, o.GetName(), func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

func kindOf(c client.Client, o any) string {
	switch object := o.(type) {
	case client.Object:
		if kind, err := apiutil.GVKForObject(object, c.Scheme()); err == nil {
			return kind.Kind
		}
	case client.ObjectList:
		if kind, err := apiutil.GVKForObject(object, c.Scheme()); err == nil {
			return strings.TrimSuffix(kind.Kind, "List")
		}
	}
	return fmt.Sprintf("%T", o)
}
