package cephtuningsweep

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// after says that parts of the restore are complete.
func after(parts ...part) func(*facts) {
	return func(f *facts) {
		f.memory.restoring.report = tuning.Report{Done: true, Entries: []tuning.Entry{{State: tuning.Restored}}}
		for _, p := range parts {
			f.memory.restoring.note(p)
		}
	}
}

// restoresFor says that the restore began before now.
func restoresFor(d time.Duration) func(*facts) {
	return func(f *facts) { f.memory.restoring.since = today().Add(-d) }
}

func benchmarkLeft(f *facts) { f.others = []v1alpha1.CephBenchmark{{}} }

func switching(f *facts) { f.switches = true }

func giveUpNow(f *facts) {
	metav1.SetMetaDataAnnotation(&f.sweep.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
}

func unlisted(f *facts) { f.known = false }

func TestRestoreParts(t *testing.T) {
	changed := journalOf("s", false)
	restarted := after(partRestoreSettings, partSettle, partRestartOSDs)
	for name, c := range map[string]struct {
		seen []func(*facts)
		want part
	}{
		"settings are switched":                {[]func(*facts){changed, switching, benchmarkLeft, giveUpNow}, partEndSwitching},
		"also where Ceph cannot be reached":    {[]func(*facts){changed, switching, notThere}, partEndSwitching},
		"a benchmark runs":                     {[]func(*facts){changed, benchmarkLeft}, partEndBenchmarks},
		"it has time for its teardown":         {[]func(*facts){changed, benchmarkLeft, restoresFor(childrenFirst - time.Second)}, partEndBenchmarks},
		"also if the restore is abandoned":     {[]func(*facts){changed, benchmarkLeft, giveUpNow}, partEndBenchmarks},
		"it has had time":                      {[]func(*facts){changed, benchmarkLeft, restoresFor(childrenFirst)}, partRestoreSettings},
		"it stays after that":                  {[]func(*facts){benchmarkLeft, restoresFor(childrenFirst)}, partEndBenchmarks},
		"the restore is abandoned":             {[]func(*facts){changed, giveUpNow}, partAbandon},
		"also while a benchmark does not end":  {[]func(*facts){changed, giveUpNow, benchmarkLeft, restoresFor(childrenFirst)}, partAbandon},
		"also if Ceph cannot be reached then":  {[]func(*facts){changed, giveUpNow, notThere}, partAbandon},
		"also at its end":                      {[]func(*facts){changed, giveUpNow, restarted}, partAbandon},
		"nothing is left to abandon":           {[]func(*facts){giveUpNow}, partRemovePool},
		"Ceph cannot be reached":               {[]func(*facts){changed, notThere}, partWaitForReach},
		"the cluster is not allowed any more":  {[]func(*facts){changed, unlisted}, partWaitForReach},
		"nothing is changed in a lost cluster": {[]func(*facts){notThere}, partLeavePool},
		"settings are changed":                 {[]func(*facts){changed}, partRestoreSettings},
		"the journal is gone":                  {[]func(*facts){with(v1alpha1.ConditionRestored, "False", v1alpha1.ReasonNotRestored)}, partRestoreSettings},
		"settings are restored":                {[]func(*facts){changed, after(partRestoreSettings)}, partSettle},
		"the cluster has settled":              {[]func(*facts){changed, after(partRestoreSettings, partSettle)}, partRestartOSDs},
		"OSDs have the values":                 {[]func(*facts){changed, restarted}, partRecord},
		"status has another outcome":           {[]func(*facts){changed, restarted, with(v1alpha1.ConditionRestored, "False", v1alpha1.ReasonOSDsNotRestarted)}, partRecord},
		"status has the outcome":               {[]func(*facts){changed, restarted, with(v1alpha1.ConditionRestored, "True", v1alpha1.ReasonRestored)}, partCloseJournal},
		"of an earlier process":                {[]func(*facts){changed, with(v1alpha1.ConditionRestored, "True", v1alpha1.ReasonRestored)}, partRestoreSettings},
		"another client has removed it":        {[]func(*facts){restarted, with(v1alpha1.ConditionRestored, "True", v1alpha1.ReasonRestored)}, partCloseJournal},
		"the restore is abandoned at its end":  {[]func(*facts){restarted, with(v1alpha1.ConditionRestored, "False", v1alpha1.ReasonAbandoned)}, partRemovePool},
		"the journal is closed":                {[]func(*facts){restarted, after(partCloseJournal), with(v1alpha1.ConditionRestored, "True", v1alpha1.ReasonRestored)}, partRemovePool},
		"nothing was changed":                  {nil, partRemovePool},
		"another sweep has changed something":  {[]func(*facts){journalOf("other", true)}, partRemovePool},
		"the pool is removed":                  {[]func(*facts){after(partRemovePool)}, partRelease},
	} {
		t.Run(name, func(t *testing.T) {
			seen := atWork(t, append(c.seen, deletedNow)...)
			p := decide(seen)
			if _, rule, _ := reconcile.First(restoreParts(), seen); p.Detail.part != c.want {
				t.Errorf("part %s of rule %s, want %s", p.Detail.part, rule, c.want)
			}
			if want := "Gone: " + string(c.want); seen.describe(p).Detail != want {
				t.Errorf("logged as %q, want %q", seen.describe(p).Detail, want)
			}
			wantMemory(t, seen, atWork(t, append(c.seen, deletedNow)...))
		})
	}
}

// If the tuner fails meanwhile, the cluster may no longer have the original values.
func TestRestoreBeginsAgainAfterAnError(t *testing.T) {
	seen := atWork(t, deletedNow, journalOf("s", false), after(partRestoreSettings, partSettle), func(f *facts) { f.cluster.Identities.Tuner = "" })
	p, step := decide(seen), working(seen)
	if _, _, err := (&Reconciler{}).restorePart(t.Context(), step, p); err == nil || p.Detail.part != partRestartOSDs {
		t.Fatalf("part %s: %v, want an error", p.Detail.part, err)
	}
	if seen.memory = *step.memory; decide(seen).Detail.part != partRestoreSettings {
		t.Errorf("part %s follows, want %s", decide(seen).Detail.part, partRestoreSettings)
	}
}

// A wait for Rook, or the failure of the sweep, must not give benchmarks their time again.
func TestProgressOfRestoreIsKeptUntilAnotherStep(t *testing.T) {
	for next, kept := range map[step]bool{stepRestore: true, reconcile.StepWait: true, reconcile.StepFail: true, stepApply: false, stepBeginSession: false, reconcile.StepBegin: false} {
		seen := atWork(t, after(partRemovePool), restoresFor(time.Minute))
		step := working(seen)
		step.forgetRestore(next)
		if got := step.memory.restoring.done[partRemovePool] && !step.memory.restoring.since.IsZero(); got != kept {
			t.Errorf("%s keeps the progress: %t, want %t", next, got, kept)
		}
	}
}

// Parts that follow at once must not write status each.
func TestStatusStaysWhileRestoreGoesOn(t *testing.T) {
	seen := atWork(t, deletedNow, edited)
	if after := statusAfter(seen, decide(seen), effect{Continues: true}, nil); !reflect.DeepEqual(after.Status, seen.sweep.Status) {
		t.Errorf("status %+v, want it as before", after.Status)
	}
}
