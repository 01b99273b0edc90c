package kstatus_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
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

func TestJudge(t *testing.T) {
	type verdict string
	cases := map[string]struct {
		verdict     verdict
		failOn      []verdict
		want        string
		wantReason  string
		wantMessage string
	}{
		"nothing is listed": {"Bad", nil, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "So it is."},
		"others are listed": {"Good", []verdict{"Bad", "Unclear"}, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "So it is."},
		"it is listed": {
			"Bad",
			[]verdict{"Unclear", "Bad"},
			v1alpha1.ConditionFailed, v1alpha1.ReasonFailedOnVerdict,
			"The verdict is Bad, which spec.failOn lists. So it is.",
		},
		"there is no verdict": {"", []verdict{""}, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "So it is."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, o := kstatus.Judge(tc.verdict, tc.failOn, "So it is.\nThe rest is in status.")
			if got != tc.want || o.Reason != tc.wantReason || o.Message != tc.wantMessage {
				t.Errorf("%s because of %s: %q; want %s because of %s: %q", got, o.Reason, o.Message, tc.want, tc.wantReason, tc.wantMessage)
			}
		})
	}
}

func TestJudgeAgain(t *testing.T) {
	const previous, current = 3, 4
	cases := map[string]struct {
		kind   string
		reason string
		status metav1.ConditionStatus
		failOn []string
		want   string // condition, reason and generation
	}{
		"nothing has changed":            {"Complete", "Complete", "True", nil, "Complete True Complete 3"},
		"the verdict is refused by now":  {"Complete", "Complete", "True", []string{"Bad"}, "Failed True FailedOnVerdict 4"},
		"the verdict is accepted by now": {"Failed", "FailedOnVerdict", "True", nil, "Complete True Complete 4"},
		"it is still refused":            {"Failed", "FailedOnVerdict", "True", []string{"Bad", "Worse"}, "Failed True FailedOnVerdict 3"},
		"it has failed for a reason":     {"Failed", "LockLost", "True", nil, "Failed True LockLost 3"},
		"it was only planned":            {"Complete", "Planned", "True", []string{"Bad"}, "Complete True Planned 3"},
		"it has yet to fail":             {"Failed", "LockLost", "False", []string{"Bad"}, "Failed False LockLost 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			conditions := []metav1.Condition{{Type: tc.kind, Status: tc.status, Reason: tc.reason, ObservedGeneration: previous}}
			kstatus.JudgeAgain(&conditions, current, "Bad", tc.failOn, "So it is.")
			if len(conditions) != 1 {
				t.Fatalf("conditions %+v, want one", conditions)
			}
			c := conditions[0]
			if got := fmt.Sprintf("%s %s %s %d", c.Type, c.Status, c.Reason, c.ObservedGeneration); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// kubectl wait would wait forever for a condition of an earlier generation.
func TestAnEndIsAboutTheGenerationThatWasSeenLast(t *testing.T) {
	for kind, want := range map[string]string{v1alpha1.ConditionComplete: v1alpha1.ConditionReady, v1alpha1.ConditionFailed: v1alpha1.ConditionStalled} {
		conditions := []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: "Why", ObservedGeneration: 3}}
		kstatus.MarkEnded(&conditions, 4)
		if !meta.IsStatusConditionTrue(conditions, want) {
			t.Errorf("%s did not lead to %s: %+v", kind, want, conditions)
		}
		for _, c := range conditions {
			if c.ObservedGeneration != 4 {
				t.Errorf("%s is about generation %d, want 4", c.Type, c.ObservedGeneration)
			}
		}
	}
}

func TestMessagesAreCut(t *testing.T) {
	var conditions []metav1.Condition
	kstatus.MarkIdle(&conditions, 1, kstatus.Outcome{Reason: "Long", Message: strings.Repeat("µ", 5000)})
	if got := len(conditions[0].Message); got > 1024 || got < 1020 {
		t.Errorf("the message has %d bytes, want 1024 or little less", got)
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

func TestPatchSetsThePhase(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	benchmark := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"}}
	sweep := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(benchmark, sweep).WithStatusSubresource(benchmark, sweep).Build()
	kstatus.MarkIdle(&benchmark.Status.Conditions, 1, kstatus.Outcome{Reason: v1alpha1.ReasonSuspended})
	kstatus.MarkReconciling(&sweep.Status.Conditions, 1, kstatus.Outcome{Reason: v1alpha1.ReasonRestoring})
	for _, after := range []client.Object{benchmark, sweep} {
		before := after.DeepCopyObject().(client.Object) //nolint:forcetypeassert,errcheck // Both kinds are objects.
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(after), before); err != nil {
			t.Fatal(err)
		}
		if _, err := kstatus.Patch(t.Context(), c, before, after); err != nil {
			t.Fatal(err)
		}
	}
	if benchmark.Status.Phase != "Suspended" || sweep.Status.Phase != "Restoring" {
		t.Errorf("the phases are %q and %q", benchmark.Status.Phase, sweep.Status.Phase)
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

func TestEqualIgnoringMessages(t *testing.T) {
	object := func(change func(*v1alpha1.CephBenchmarkStatus)) *v1alpha1.CephBenchmark {
		b := &v1alpha1.CephBenchmark{}
		kstatus.MarkReconciling(&b.Status.Conditions, 1, kstatus.Outcome{Reason: "Running", Message: "Run 1 of 2."})
		for i := range b.Status.Conditions {
			b.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		b.Status.Progress = &v1alpha1.Progress{Step: "phase p1", TotalRuns: 2}
		change(&b.Status)
		return b
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.CephBenchmarkStatus)
		want   bool
	}{
		"nothing":                 {func(*v1alpha1.CephBenchmarkStatus) {}, true},
		"the message":             {func(s *v1alpha1.CephBenchmarkStatus) { s.Conditions[0].Message = "Run 2 of 2." }, true},
		"the step":                {func(s *v1alpha1.CephBenchmarkStatus) { s.Progress.Step = "phase p2" }, true},
		"the reason":              {func(s *v1alpha1.CephBenchmarkStatus) { s.Conditions[0].Reason = "Queued" }, false},
		"the number of runs":      {func(s *v1alpha1.CephBenchmarkStatus) { s.Progress.CompletedRuns = 1 }, false},
		"there is no status left": {func(s *v1alpha1.CephBenchmarkStatus) { *s = v1alpha1.CephBenchmarkStatus{} }, false},
	} {
		before := object(func(*v1alpha1.CephBenchmarkStatus) {})
		if got := kstatus.EqualIgnoringMessages(before, object(c.change)); got != c.want {
			t.Errorf("%s changed: equal %t, want %t", name, got, c.want)
		}
		if before.Status.Conditions[0].Message == "" {
			t.Fatal("the comparison changed the object")
		}
	}
}
