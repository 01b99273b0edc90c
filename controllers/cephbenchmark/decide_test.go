package cephbenchmark

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestDecide(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(1, 0))
	cases := map[string]struct {
		benchmark  v1alpha1.CephBenchmark
		wantStep   step
		wantReason string
	}{
		"a new benchmark cannot be run by this build": {
			wantStep:   stepStall,
			wantReason: v1alpha1.ReasonNotImplemented,
		},
		"a suspended benchmark waits to be resumed": {
			benchmark:  v1alpha1.CephBenchmark{Spec: v1alpha1.CephBenchmarkSpec{Suspend: true}},
			wantStep:   stepIdle,
			wantReason: v1alpha1.ReasonSuspended,
		},
		"a benchmark under deletion is left alone": {
			benchmark: v1alpha1.CephBenchmark{
				ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted},
				Spec:       v1alpha1.CephBenchmarkSpec{Suspend: true},
			},
			wantStep: stepNone,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decide(facts{benchmark: &tc.benchmark})
			if got.step != tc.wantStep {
				t.Errorf("step = %s, want %s", got.step, tc.wantStep)
			}
			if diff := cmp.Diff(tc.wantReason, got.outcome.Reason); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
			if (got.outcome.Message == "") != (tc.wantReason == "") {
				t.Errorf("message %q does not go with reason %q", got.outcome.Message, tc.wantReason)
			}
		})
	}
}
