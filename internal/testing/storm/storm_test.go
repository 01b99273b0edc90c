package storm

import (
	"context"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
)

// A pass that writes status twice is found.
func TestOneWriteOfStatus(t *testing.T) {
	kinds := memapi.CompileKinds(t, apiserver.Root(t))
	for writes, want := range map[int]string{1: "", 2: "one write: "} {
		found := Plot{Play: func(t *testing.T, s *Story) {
			t.Helper()
			api := APIClient(InMemory(t, kinds).Client, s)
			b := &v1alpha1.CephBenchmark{}
			b.Namespace, b.Name, b.Spec.RunID = "bench", "b", "1"
			b.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
			b.Spec.Template.Target.ExistingPool = &v1alpha1.ExistingPool{Name: "open"}
			b.Spec.Template.Phases = []v1alpha1.Phase{{Name: "write", RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite}}}
			if err := api.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			s.Start = func(m *Manager) {
				s.Reconcile(m.Context(), Reconciler{
					First: time.Second, AtMost: time.Minute, Wait: func(longest time.Duration) { s.Wait(m, longest) },
					Pass: func(ctx context.Context) (time.Duration, error) {
						for n := range writes {
							before := b.DeepCopy()
							b.Status.ObservedGeneration = int64(n)
							if err := api.Status().Patch(ctx, b, client.MergeFrom(before)); err != nil {
								return 0, err
							}
						}
						return 0, nil
					},
				})
			}
			s.Lead()
			time.Sleep(time.Minute)
		}}.Failures(t, 1)
		if got := strings.Join(found, "\n"); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("with %d writes: %q, want %q", writes, got, want)
		}
	}
}
