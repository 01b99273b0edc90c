package namespaces

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// answer is what an API server says about a namespace.
type answer struct {
	going bool
	err   error
}

func notFound(name string) answer {
	return answer{err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name)}
}

func refusal(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no right"))
}

// refusing is a client to which the API server refuses everything except reading namespaces, and
// lists in the namespace "open".
func refusing(t *testing.T, namespaces map[string]answer) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind != "Namespace" {
				return refusal("get")
			}
			reply, known := namespaces[key.Name]
			if !known {
				t.Errorf("it asks for namespace %q", key.Name)
			}
			if reply.going {
				o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
			}
			return reply.err
		},
		List: func(_ context.Context, _ client.WithWatch, _ client.ObjectList, opts ...client.ListOption) error {
			if (&client.ListOptions{}).ApplyOptions(opts).Namespace == "open" {
				return nil
			}
			return refusal("list")
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return refusal("create")
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return refusal("update")
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return refusal("delete")
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refusal("patch")
		},
	})
}

// A refusal counts as "gone" only if the namespace is being deleted.
func TestRefusedObjectIsGoneWithItsNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace answer
		wantGone  bool
	}{
		"it is there":               {answer{}, false},
		"it is being deleted":       {answer{going: true}, true},
		"it is gone":                {notFound("bench"), true},
		"the check is forbidden":    {answer{err: refusal("get")}, false},
		"the API server is at work": {answer{err: apierrors.NewServiceUnavailable("at work")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := refusing(t, map[string]answer{"bench": tc.namespace})
			err := Tolerant(c, c).Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "j"}, &batchv1.Job{})
			if apierrors.IsNotFound(err) != tc.wantGone || apierrors.IsForbidden(err) == tc.wantGone {
				t.Errorf("error %v, want it to be gone: %t", err, tc.wantGone)
			}
			want := "no right"
			if tc.wantGone {
				want = "namespace bench is deleted or being deleted"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
}

// In a namespace that is being deleted, a refusal counts as "gone" for objects in the namespace,
// whatever the request, and for nothing else.
func TestRequestsInATerminatingNamespace(t *testing.T) {
	plain := refusing(t, map[string]answer{"bench": {going: true}})
	c, ctx := Tolerant(plain, plain), t.Context()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "p"}}
	key := client.ObjectKey{Namespace: "bench", Name: "o"}
	for name, tc := range map[string]struct {
		err      error
		wantGone bool
	}{
		"get":                 {c.Get(ctx, key, &corev1.Secret{}), true},
		"list":                {c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("bench")), true},
		"update":              {c.Update(ctx, pod), true},
		"patch":               {c.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", []byte(`{}`))), true},
		"delete":              {c.Delete(ctx, pod), true},
		"a log":               {NotFoundIfGone(ctx, plain, "bench", refusal("pods/log")), true},
		"create":              {c.Create(ctx, pod), false},
		"get a CR":            {c.Get(ctx, key, &v1alpha1.CephBenchmark{}), false},
		"list CRs":            {c.List(ctx, &v1alpha1.CephBenchmarkList{}, client.InNamespace("bench")), false},
		"list everywhere":     {c.List(ctx, &corev1.PodList{}), false},
		"get without a place": {c.Get(ctx, client.ObjectKey{Name: "n"}, &corev1.Node{}), false},
	} {
		if apierrors.IsNotFound(tc.err) != tc.wantGone || apierrors.IsForbidden(tc.err) == tc.wantGone {
			t.Errorf("%s: error %v, want it to be gone: %t", name, tc.err, tc.wantGone)
		}
	}
	if err := NotFoundIfGone(ctx, plain, "bench", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// A manager must start even if it may not list anything any more.
func TestInformersOfANamespaceThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces map[string]answer
		object     client.Object
		wantSynced bool
	}{
		"it is being deleted":                 {map[string]answer{"bench": {going: true}}, &corev1.Pod{}, true},
		"it is gone":                          {map[string]answer{"bench": notFound("bench")}, &corev1.Pod{}, true},
		"it is there":                         {map[string]answer{"bench": {}}, &corev1.Pod{}, false},
		"another one answers":                 {map[string]answer{"bench": {going: true}, "open": {}}, &corev1.Pod{}, true},
		"only another one answers":            {map[string]answer{"open": {}}, &corev1.Pod{}, false},
		"one that is there refuses the list":  {map[string]answer{"bench": {going: true}, "closed": {}}, &corev1.Pod{}, false},
		"it is being deleted, and this is CR": {map[string]answer{"bench": {going: true}}, &v1alpha1.CephBenchmark{}, false},
		"the manager handles all namespaces":  {nil, &corev1.Pod{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tested := informers{direct: refusing(t, tc.namespaces)}
			for namespace := range tc.namespaces {
				tested.namespaces = append(tested.namespaces, namespace)
			}
			informer := tested.new(&toolscache.ListWatch{
				ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, refusal("list") },
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, refusal("watch") },
			}, tc.object, 0, toolscache.Indexers{})
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				informer.RunWithContext(ctx)
			}()
			if synced := toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced); synced != tc.wantSynced {
				t.Errorf("it is filled: %t, want %t", synced, tc.wantSynced)
			}
			if pods := informer.GetStore().List(); len(pods) > 0 {
				t.Errorf("it has %v", pods)
			}
			stop()
			<-ended
		})
	}
}

func TestHandles(t *testing.T) {
	for name, tc := range map[string]struct {
		handled []string
		want    bool
	}{
		"all namespaces": {nil, true},
		"this one":       {[]string{"a", "bench"}, true},
		"others":         {[]string{"a", "b"}, false},
	} {
		if got := New(nil, tc.handled...).Handles("bench"); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
