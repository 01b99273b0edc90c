package cephbenchmark

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/workload"
)

func TestPodsHaveTheToolsOfTheirCluster(t *testing.T) {
	old := settings.Cluster{Namespace: "rook-old", Name: "c", ToolsImage: "tools:ceph18"}
	r := &Reconciler{Options: Options{Shared: dependencies.Shared{Settings: &settings.Settings{
		Clusters: []settings.Cluster{old, {Namespace: "rook-new", Name: "c"}},
		Images:   settings.Images{Tools: "tools:ceph20", Runner: "runner"},
	}}}}
	for namespace, want := range map[string]string{"rook-old": "tools:ceph18", "rook-new": "tools:ceph20"} {
		cluster, _ := r.Settings.Cluster(v1alpha1.ClusterReference{Namespace: namespace, Name: "c"})
		j, err := r.jobSpec(pass{facts: facts{
			benchmark: &v1alpha1.CephBenchmark{}, cluster: cluster, rook: &rook.ClusterInfo{}, script: &workload.Script{},
			spec: v1alpha1.CephBenchmarkSpec{Template: v1alpha1.BenchmarkTemplate{BackgroundLoad: aBackground()}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for role, job := range map[string]*batchv1.Job{"clients": clientjob.JobOf(j), "background load": clientjob.BackgroundJobOf(j)} {
			pod := job.Spec.Template.Spec
			if tools, install := pod.Containers[0].Image, pod.InitContainers[0].Image; tools != want || install != "runner" {
				t.Errorf("%s on %s: images %s and %s, want %s and runner", role, namespace, tools, install, want)
			}
		}
	}
}

// The API server may create a Job and its answer may be lost, while the cache still lacks the Job. The next pass must
// find the Job before it draws another nonce: with another nonce, the operator's own Job would count as foreign.
func TestAJobWhoseAnswerWasLostIsFound(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(scheme).Build()
	behind := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID("made")
			return errors.Join(server.Create(ctx, o, opts...), context.DeadlineExceeded)
		},
	})
	r := &Reconciler{Options: Options{Shared: dependencies.Shared{Client: behind, Reader: server, MasterKey: make([]byte, 32)}}}
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "b", UID: "u"}}
	seen := working(facts{benchmark: b, execution: clientjob.ExecutionOf(b.UID, "")})
	seen.memory.drawNonce()(&b.Status)
	if _, err := r.makeJob(t.Context(), seen, clientjob.Spec{Benchmark: b, Execution: seen.execution, Script: &workload.Script{}}, clientjob.Input{}); err == nil {
		t.Fatal("the answer was not lost")
	}
	next := facts{benchmark: b, execution: seen.execution, memory: *seen.memory}
	if err := r.observeJob(t.Context(), &next); err != nil || next.unrecorded == nil {
		t.Errorf("the next pass finds %v, %v", next.unrecorded, err)
	}
}
