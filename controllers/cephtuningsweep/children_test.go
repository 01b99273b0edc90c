package cephtuningsweep

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// Clients and background stay where they were in the first run, each in its place.
func TestNodesOfTheFirstRun(t *testing.T) {
	cases := map[string]struct {
		annotation     string
		want           []v1alpha1.NodeName
		wantBackground []v1alpha1.NodeName
	}{
		"not known yet":           {annotation: ""},
		"of an earlier run":       {annotation: "1 a background:b"},
		"of clients":              {annotation: "2 a c", want: []v1alpha1.NodeName{"a", "c"}},
		"of clients and one more": {annotation: "2 a c background:a", want: []v1alpha1.NodeName{"a", "c"}, wantBackground: []v1alpha1.NodeName{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.CephTuningSweep{Spec: v1alpha1.CephTuningSweepSpec{RunID: "2"}}
			s.Annotations = map[string]string{AnnotationNodes: tc.annotation}
			if diff := cmp.Diff(tc.want, nodesOfRun(s)); diff != "" {
				t.Errorf("nodes of clients (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantBackground, backgroundNodesOfRun(s)); diff != "" {
				t.Errorf("nodes of the background (-want +got):\n%s", diff)
			}
		})
	}
}

// fio does not tell what it wrote in its ramp; rados bench tells of all.
func TestRampBytes(t *testing.T) {
	minute, ramp := metav1.Duration{Duration: time.Minute}, &metav1.Duration{Duration: 15 * time.Second}
	template := v1alpha1.BenchmarkTemplate{Phases: []v1alpha1.Phase{
		{Name: "fio", Fio: &v1alpha1.Fio{Engine: v1alpha1.FioEngineRBD, Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), NumJobs: 1, IODepth: 1, Duration: minute, Ramp: ramp}},
		{Name: "rados", RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("4Mi"), Concurrency: 1, Duration: minute, Ramp: ramp}},
	}}
	wrote := func(name v1alpha1.PhaseName) archive.Phase {
		return archive.Phase{Name: name, Clients: []task.Report{{Result: &result.Result{Write: &result.Direction{Bytes: 4000}}}, {}}}
	}
	run := &archive.Run{Phases: []archive.Phase{wrote("fio"), wrote("rados")}}
	if got := rampBytes(template, run); got != 1000 {
		t.Errorf("%d bytes, want a quarter of what fio told", got)
	}
}
