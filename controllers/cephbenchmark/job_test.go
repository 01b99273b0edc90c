package cephbenchmark

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/workload"
)

func TestPodsHaveTheToolsOfTheirCluster(t *testing.T) {
	old := settings.Cluster{Namespace: "rook-old", Name: "c", ToolsImage: "tools:ceph18"}
	r := &Reconciler{settings: &settings.Settings{
		Clusters: []settings.Cluster{old, {Namespace: "rook-new", Name: "c"}},
		Images:   settings.Images{Tools: "tools:ceph20", Runner: "runner"},
	}}
	for namespace, want := range map[string]string{"rook-old": "tools:ceph18", "rook-new": "tools:ceph20"} {
		cluster, _ := r.settings.Cluster(v1alpha1.ClusterReference{Namespace: namespace, Name: "c"})
		j, err := r.jobSpec(facts{
			benchmark: &v1alpha1.CephBenchmark{}, cluster: cluster, rook: &rook.ClusterInfo{}, memory: &memory{}, script: &workload.Script{},
			spec: v1alpha1.CephBenchmarkSpec{Template: v1alpha1.BenchmarkTemplate{BackgroundLoad: aBackground()}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for what, job := range map[string]*batchv1.Job{"clients": clientjob.JobOf(j), "background load": clientjob.BackgroundJobOf(j)} {
			pod := job.Spec.Template.Spec
			if tools, install := pod.Containers[0].Image, pod.InitContainers[0].Image; tools != want || install != "runner" {
				t.Errorf("%s on %s: images %s and %s, want %s and runner", what, namespace, tools, install, want)
			}
		}
	}
}
