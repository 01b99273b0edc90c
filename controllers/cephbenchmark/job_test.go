package cephbenchmark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestClientsRunOnTheNodesThatWereNamed(t *testing.T) {
	on := func(names ...string) *corev1.NodeAffinity {
		selector := &corev1.NodeSelector{}
		for _, name := range names {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{name}}},
			})
		}
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}
	}
	cases := map[string]struct {
		clients   v1alpha1.Clients
		wantNodes *corev1.NodeAffinity
		wantApart bool
	}{
		"anywhere":             {clients: v1alpha1.Clients{Spread: v1alpha1.SpreadPreferred}},
		"on either of two":     {clients: v1alpha1.Clients{Nodes: []v1alpha1.NodeName{"a", "b.example.org"}}, wantNodes: on("a", "b.example.org")},
		"each on one of these": {clients: v1alpha1.Clients{Nodes: []v1alpha1.NodeName{"a"}, Spread: v1alpha1.SpreadRequired}, wantNodes: on("a"), wantApart: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := affinity(tc.clients, session{name: "s"})
			if got == nil {
				got = &corev1.Affinity{}
			}
			if diff := cmp.Diff(tc.wantNodes, got.NodeAffinity); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if (got.PodAntiAffinity != nil) != tc.wantApart {
				t.Errorf("apart: %v", got.PodAntiAffinity)
			}
		})
	}
}
