package control

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/object"
)

func running(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Sweep(t, "pg_num")
	s.Name, s.Namespace = "pg-num", clitest.Namespace
	clitest.GoOn(&s.Status.Conditions, v1alpha1.ReasonRunning, "Run 8 is under way.")
	return s
}

// suspendedAfterLooks is a cluster whose operator suspends the sweep during three looks at it.
func suspendedAfterLooks(t *testing.T) client.WithWatch {
	looks := 0
	return interceptor.NewClient(clitest.Holding(t, running(t)), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := c.Get(ctx, key, o, opts...); err != nil {
				return err
			}
			s, ok := o.(*v1alpha1.CephTuningSweep)
			if !ok || !s.Spec.Suspend {
				return nil
			}
			looks++
			s.Status.ObservedGeneration = s.Generation
			switch looks {
			case 1:
				s.Status.ObservedGeneration-- // The operator has not seen the change yet.
			case 2:
				clitest.GoOn(&s.Status.Conditions, v1alpha1.ReasonRestoring, "Restoring everything, because the sweep is suspended.")
			case 3:
				return errors.New("connection refused")
			default:
				meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionReconciling)
				clitest.Set(&s.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "The sweep does not run.")
				clitest.Set(&s.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "Everything was read back at its original value.")
			}
			return nil
		},
	})
}

func newChange(suspend bool, connect object.Connect) *cobra.Command {
	if suspend {
		return NewSuspendCommand(connect, clitest.Hurried())
	}
	return NewResumeCommand(connect)
}

func TestSuspendGolden(t *testing.T) {
	suspended, ended := running(t), running(t)
	suspended.Name, suspended.Spec.Suspend = "asleep", true
	ended.Name = "ended"
	clitest.Complete(&ended.Status.Conditions, "It is done.")
	for name, c := range map[string]struct {
		suspend bool
		line    string
		cluster client.WithWatch
	}{
		"suspend":                  {true, "pg-num", clitest.Holding(t, running(t))},
		"suspend and wait":         {true, "cephtuningsweep/pg-num --wait", suspendedAfterLooks(t)},
		"suspend and wait in vain": {true, "pg-num --wait --timeout 500ms", clitest.Holding(t, running(t))},
		"suspend twice":            {true, "asleep", clitest.Holding(t, suspended)},
		"suspend what has ended":   {true, "ended", clitest.Holding(t, ended)},
		"resume":                   {false, "asleep", clitest.Holding(t, suspended)},
		"resume what runs":         {false, "pg-num", clitest.Holding(t, running(t))},
		"no such sweep":            {true, "other", clitest.Holding(t)},
		"usage no name":            {true, "", nil},
		"usage negative timeout":   {true, "pg-num --timeout -1s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newChange(c.suspend, clitest.Connecting(c.cluster))
			if !strings.HasPrefix(name, cmd.Name()) {
				name = cmd.Name() + " " + name
			}
			clitest.Golden(t, name, "$ "+cmd.Name()+" "+c.line+"\n"+clitest.Execute(t, cmd, c.line, "").String(), *update)
		})
	}
}

// A dry run prints the object as it would be, and -o the object as it is.
func TestTheObjectIsPrinted(t *testing.T) {
	suspended := running(t)
	suspended.Spec.Suspend = true
	for name, c := range map[string]struct {
		suspend bool
		line    string
		before  *v1alpha1.CephTuningSweep
		changed bool
		code    int
		want    string
	}{
		"suspend, dry run":         {true, "pg-num --dry-run", running(t), false, 0, "\n  suspend: true\n"},
		"suspend, checked":         {true, "pg-num --dry-run server -o json", running(t), false, 0, `"suspend": true`},
		"suspend, printed":         {true, "pg-num -o yaml", running(t), true, 0, "\n  suspend: true\n"},
		"resume, dry run":          {false, "pg-num --dry-run=client -o yaml", suspended, false, 0, "\nkind: CephTuningSweep\n"},
		"suspended already":        {true, "pg-num --dry-run -o yaml", suspended, false, 0, "\n  suspend: true\n"},
		"usage: a dry run of what": {true, "pg-num --dry-run=maybe", running(t), false, 2, "want one of none, client, server"},
		"usage: a dry run waits":   {true, "pg-num --dry-run --wait", running(t), false, 2, "remove one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			holding := clitest.Holding(t, c.before.DeepCopy())
			cmd := newChange(c.suspend, clitest.Connecting(holding))
			got := clitest.Execute(t, cmd, c.line, "")
			if got.Code() != c.code || !strings.Contains(got.String(), c.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got.Code(), c.code, c.want, got)
			}
			now := &v1alpha1.CephTuningSweep{}
			if err := holding.Get(t.Context(), client.ObjectKeyFromObject(c.before), now); err != nil {
				t.Fatal(err)
			}
			if changed := now.Spec.Suspend != c.before.Spec.Suspend; changed != c.changed {
				t.Errorf("suspend is %v", now.Spec.Suspend)
			}
		})
	}
}

// A failed sweep is never suspended, so the command must not wait for that.
func TestAFailureEndsTheWait(t *testing.T) {
	failing := func(after int) client.WithWatch {
		looks := 0
		return interceptor.NewClient(clitest.Holding(t, running(t)), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				err := c.Get(ctx, key, o, opts...)
				if s, ok := o.(*v1alpha1.CephTuningSweep); err == nil && ok {
					if looks++; looks > after {
						clitest.Fail(&s.Status.Conditions, v1alpha1.ReasonClusterUnreachable, "No monitor answers.")
					}
				}
				return err
			},
		})
	}
	for after, want := range map[int]string{0: "has ended already", 2: "has failed meanwhile: No monitor answers."} {
		cmd := newChange(true, clitest.Connecting(failing(after)))
		if got := clitest.Execute(t, cmd, "pg-num --wait --timeout 1m", ""); got.Code() != 1 || !strings.Contains(got.Err.Error(), want) {
			t.Errorf("after %d looks: %v, want %q", after, got.Err, want)
		}
	}
}

func TestOnlySuspendIsChanged(t *testing.T) {
	c := clitest.Holding(t, running(t))
	var patch string
	watched := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			text, err := p.Data(o)
			if err != nil {
				return err
			}
			patch = string(text)
			return c.Patch(ctx, o, p, opts...)
		},
	})
	cmd := newChange(true, clitest.Connecting(watched))
	if got := clitest.Execute(t, cmd, "pg-num", ""); got.Err != nil || patch != `{"spec":{"suspend":true}}` {
		t.Errorf("%v with the patch %s", got.Err, patch)
	}
}

func TestSuspendReportsMissingRights(t *testing.T) {
	no := interceptor.NewClient(clitest.Holding(t, running(t)), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Group: "cephtune.dev", Resource: "cephtuningsweeps"}, "pg-num", errors.New("no"))
		},
	})
	cmd := newChange(true, clitest.Connecting(no))
	if got := clitest.Execute(t, cmd, "pg-num", ""); !apierrors.IsForbidden(got.Err) || got.Code() != 1 || got.Stdout != "" {
		t.Errorf("got %+v", got)
	}
}
