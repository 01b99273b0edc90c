package cephtuningsweep

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
		sweep      v1alpha1.CephTuningSweep
		wantStep   step
		wantReason string
	}{
		"a new sweep cannot be run by this build": {
			wantStep:   stepStall,
			wantReason: v1alpha1.ReasonNotImplemented,
		},
		"a suspended sweep waits to be resumed": {
			sweep:      v1alpha1.CephTuningSweep{Spec: v1alpha1.CephTuningSweepSpec{Suspend: true}},
			wantStep:   stepIdle,
			wantReason: v1alpha1.ReasonSuspended,
		},
		"a sweep under deletion is left alone": {
			sweep: v1alpha1.CephTuningSweep{
				ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted},
				Spec:       v1alpha1.CephTuningSweepSpec{Suspend: true},
			},
			wantStep: stepNone,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decide(facts{sweep: &tc.sweep})
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
