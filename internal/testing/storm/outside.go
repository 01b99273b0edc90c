package storm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
)

// Server is the API server of a story, with the namespace of benchmarks and that of the operator.
type Server struct {
	Client              client.WithWatch
	Namespace, Operator string
	// Begins is when the story begins.
	Begins time.Time
}

// InMemory returns an API server in memory.
func InMemory(t testing.TB, kinds memapi.Kinds) Server {
	t.Helper()
	return Server{Client: memapi.New(t, kinds), Namespace: "bench", Operator: "cephtune-system", Begins: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}
}

// RealServer is a real API server for stories. Its calls are carried out outside of the bubbles of stories. The clock of
// a story stands still while it waits for such a call, because the channels are not those of its bubble.
type RealServer struct {
	client  client.WithWatch
	began   time.Time
	stories atomic.Int64
	calls   chan outsideCall
	answers chan chan error
}

type outsideCall struct {
	do     func(context.Context) error
	answer chan error
}

const (
	// callsAtOnce is the number of calls that are carried out concurrently.
	callsAtOnce = 16
	callWithin  = time.Minute
)

// Start starts a real API server, which stops at the end of the test.
func Start(t testing.TB) *RealServer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	r := &RealServer{client: c, began: time.Now(), calls: make(chan outsideCall), answers: make(chan chan error, callsAtOnce)}
	for range callsAtOnce {
		r.answers <- make(chan error)
		go func() {
			for call := range r.calls {
				ctx, cancel := context.WithTimeout(context.Background(), callWithin)
				call.answer <- call.do(ctx)
				cancel()
			}
		}()
	}
	t.Cleanup(func() { close(r.calls) })
	return r
}

// Story returns the server for one story, with its own namespaces.
func (r *RealServer) Story() Server {
	n := r.stories.Add(1)
	s := &realStory{server: r, created: map[types.UID]metav1.Time{}}
	return Server{Client: s.intercept(), Namespace: fmt.Sprintf("bench-%d", n), Operator: fmt.Sprintf("operator-%d", n), Begins: r.began}
}

func (r *RealServer) carry(do func(context.Context) error) error {
	answer := <-r.answers
	r.calls <- outsideCall{do: do, answer: answer}
	err := <-answer
	r.answers <- answer
	return err
}

// realStory translates the times of creation: the clock of a story is faster than that of its server.
type realStory struct {
	server *RealServer

	mu      sync.Mutex
	created map[types.UID]metav1.Time
}

// carry carries out a call that fills an object or a list. The context of the call does not count, because it belongs to
// the bubble.
func (s *realStory) carry(object runtime.Object, do func(context.Context) error) error {
	if err := s.server.carry(do); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if meta.IsListType(object) {
		return meta.EachListItem(object, s.translate)
	}
	return s.translate(object)
}

func (s *realStory) translate(o runtime.Object) error {
	object, err := meta.Accessor(o)
	if err != nil || object.GetUID() == "" {
		return err
	}
	moment, known := s.created[object.GetUID()]
	if !known {
		moment = metav1.NewTime(time.Now().Truncate(time.Second))
		s.created[object.GetUID()] = moment
	}
	object.SetCreationTimestamp(moment)
	return nil
}

func (s *realStory) intercept() client.WithWatch {
	return interceptor.NewClient(s.server.client, interceptor.Funcs{
		Get: func(_ context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			return s.carry(object, func(ctx context.Context) error { return c.Get(ctx, key, object, opts...) })
		},
		List: func(_ context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return s.carry(list, func(ctx context.Context) error { return c.List(ctx, list, opts...) })
		},
		Create: func(_ context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return s.carry(object, func(ctx context.Context) error { return c.Create(ctx, object, opts...) })
		},
		Update: func(_ context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			return s.carry(object, func(ctx context.Context) error { return c.Update(ctx, object, opts...) })
		},
		Patch: func(_ context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return s.carry(object, func(ctx context.Context) error { return c.Patch(ctx, object, patch, opts...) })
		},
		Delete: func(_ context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return s.server.carry(func(ctx context.Context) error { return c.Delete(ctx, object, opts...) })
		},
		DeleteAllOf: func(_ context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteAllOfOption) error {
			return s.server.carry(func(ctx context.Context) error { return c.DeleteAllOf(ctx, object, opts...) })
		},
		SubResourcePatch: func(_ context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return s.carry(object, func(ctx context.Context) error { return c.SubResource(sub).Patch(ctx, object, patch, opts...) })
		},
		SubResourceUpdate: func(_ context.Context, c client.Client, sub string, object client.Object, opts ...client.SubResourceUpdateOption) error {
			return s.carry(object, func(ctx context.Context) error { return c.SubResource(sub).Update(ctx, object, opts...) })
		},
	})
}
