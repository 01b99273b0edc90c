package cephtuningsweep

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
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
