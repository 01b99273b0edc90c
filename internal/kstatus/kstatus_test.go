package kstatus_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/kstatus"
)

func TestMarks(t *testing.T) {
	type mark = func(*[]metav1.Condition, int64, kstatus.Outcome)
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Why", Message: "Because.", ObservedGeneration: 7}
	}
	cases := map[string]struct {
		marks []mark
		want  []metav1.Condition
	}{
		"stalled": {
			marks: []mark{kstatus.MarkStalled},
			want:  []metav1.Condition{condition("Ready", "False"), condition("Stalled", "True")},
		},
		"reconciling": {
			marks: []mark{kstatus.MarkReconciling},
			want:  []metav1.Condition{condition("Ready", "False"), condition("Reconciling", "True")},
		},
		"reconciling after it was stalled": {
			marks: []mark{kstatus.MarkStalled, kstatus.MarkReconciling},
			want:  []metav1.Condition{condition("Ready", "False"), condition("Reconciling", "True")},
		},
		"idle after it was reconciling": {
			marks: []mark{kstatus.MarkReconciling, kstatus.MarkIdle},
			want:  []metav1.Condition{condition("Ready", "False")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []metav1.Condition
			for _, apply := range tc.marks {
				apply(&got, 7, kstatus.Outcome{Reason: "Why", Message: "Because."})
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesAreCut(t *testing.T) {
	var conditions []metav1.Condition
	kstatus.MarkIdle(&conditions, 1, kstatus.Outcome{Reason: "Long", Message: strings.Repeat("µ", 5000)})
	if got := utf8.RuneCountInString(conditions[0].Message); got != 1024 {
		t.Errorf("the message has %d characters, want 1024", got)
	}
}

func TestPatch(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"}}
	cases := map[string]struct {
		edit        func(before, after *v1alpha1.CephBenchmark)
		wantWritten bool
		wantError   func(error) bool
	}{
		"a status that is the same is not written": {
			edit: func(_, _ *v1alpha1.CephBenchmark) {},
		},
		"an empty list is the same as none": {
			edit: func(_, after *v1alpha1.CephBenchmark) { after.Status.Runs = []v1alpha1.BenchmarkRun{} },
		},
		"a spec that differs is none of its business": {
			edit: func(_, after *v1alpha1.CephBenchmark) { after.Spec.Suspend = true },
		},
		"a status that differs is written": {
			edit:        func(_, after *v1alpha1.CephBenchmark) { after.Status.Headline = "fast" },
			wantWritten: true,
		},
		"a status that was read too long ago is not written": {
			edit: func(before, after *v1alpha1.CephBenchmark) {
				before.ResourceVersion, after.ResourceVersion = "1", "1"
				after.Status.Headline = "fast"
			},
			wantError: apierrors.IsConflict,
		},
		"an object that is gone is no error": {
			edit: func(before, after *v1alpha1.CephBenchmark) {
				before.Name, after.Name = "gone", "gone"
				after.Status.Headline = "fast"
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored.DeepCopy()).WithStatusSubresource(stored).Build()
			before := get(t, c)
			after := before.DeepCopy()
			tc.edit(before, after)
			written, err := kstatus.Patch(t.Context(), c, before, after)
			if written != tc.wantWritten {
				t.Errorf("written = %t, want %t", written, tc.wantWritten)
			}
			if tc.wantError == nil && err != nil || tc.wantError != nil && !tc.wantError(err) {
				t.Errorf("unexpected error: %v", err)
			}
			if got := get(t, c).Status.Headline; (got == "fast") != tc.wantWritten {
				t.Errorf("the stored headline is %q", got)
			}
		})
	}
}

func get(t *testing.T, c client.Client) *v1alpha1.CephBenchmark {
	t.Helper()
	benchmark := &v1alpha1.CephBenchmark{}
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: "ns", Name: "b"}, benchmark); err != nil {
		t.Fatal(err)
	}
	return benchmark
}
