//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// The manager of this checkout must run, lead, and report on a CephBenchmark in its status.
func TestManagerAnswers(t *testing.T) {
	c := forTest(t)
	eventually(t, time.Minute, "the manager to be available with the image of this checkout", func(ctx context.Context) error {
		var manager appsv1.Deployment
		if err := c.Get(ctx, c.managerService, &manager); err != nil {
			return err
		}
		if got := manager.Spec.Template.Spec.Containers[0].Image; got != c.operatorImage {
			return fmt.Errorf("its image is %s, want %s", got, c.operatorImage)
		}
		rolled := manager.Status.ObservedGeneration == manager.Generation && manager.Status.UpdatedReplicas == manager.Status.Replicas
		if manager.Status.AvailableReplicas == 0 || !rolled {
			return fmt.Errorf("its status is %+v", manager.Status)
		}
		return nil
	})
	eventually(t, time.Minute, "the manager to hold the leader's lease", func(ctx context.Context) error {
		// Get the lease by name, because the locks of clusters are leases in the same namespace.
		var lease coordinationv1.Lease
		if err := c.Get(ctx, client.ObjectKey{Namespace: c.managerService.Namespace, Name: "manager.cephtune.dev"}, &lease); err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return errors.New("nobody holds it")
		}
		return nil
	})

	// This is the manager's namespace for benchmarks. It does not handle other namespaces.
	benchmark := c.sampleBenchmark(t, benchNamespace)
	benchmark.Name = "cephtune-e2e-manager"
	benchmark.Spec.Suspend = true // Other tests measure.
	if err := c.Create(t.Context(), benchmark); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, benchmark) })
	eventually(t, time.Minute, "the benchmark to have a condition of its generation", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(benchmark), benchmark); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(benchmark.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != benchmark.Generation {
			return fmt.Errorf("its conditions are %+v", benchmark.Status.Conditions)
		}
		return nil
	})
}

// sampleBenchmark returns a benchmark from config/samples.
func (c *cluster) sampleBenchmark(t *testing.T, namespace string) *v1alpha1.CephBenchmark {
	t.Helper()
	text, err := os.ReadFile("../../config/samples/cephbenchmark_radosbench.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var benchmark v1alpha1.CephBenchmark
	if err := yaml.UnmarshalStrict(text, &benchmark); err != nil {
		t.Fatal(err)
	}
	benchmark.Namespace = namespace
	benchmark.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: c.rookNamespace, Name: c.cephCluster}
	return &benchmark
}
