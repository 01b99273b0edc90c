package cephbenchmark

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// Stories of diagnoses.
func diagnosisStories() map[string]story {
	return map[string]story{
		"from apply to findings":                aDiagnosis,
		"a sick cluster":                        aDiagnosisOfASickCluster,
		"another has the lock":                  aDiagnosisInTheQueue,
		"deleted in the middle":                 aDiagnosisIsDeleted,
		"a manager restarts in the middle":      aRestartWithinADiagnosis,
		"suspended in the middle, and resumed":  aDiagnosisIsSuspended,
		"again with another run ID":             aDiagnosisAgain,
		"Ceph is out of reach in the middle":    aDiagnosisWithoutCeph,
		"not everything can be read":            aDiagnosisThatReadsLess,
		"the pool does not exist":               aDiagnosisOfNoPool,
		"the API server refuses a second runID": aDiagnosisIsEdited,
	}
}

const oneDiagnosis = "diagnosis: {duration: 60s}\n"

// watch lets a diagnosis watch Ceph until it judges.
func (w *world) watch(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.untilReason(b, v1alpha1.ReasonRunning, "Watching Ceph for 1m0s")
	w.lookAtOSDs(b, 5)
	w.wait(time.Minute)
}

func codesOf(b *v1alpha1.CephBenchmark) (codes []string) {
	if b.Status.Diagnosis != nil {
		for _, f := range b.Status.Diagnosis.Findings {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// oneSlowOSD makes osd.1 slow, and gives all OSDs disks.
func (w *world) oneSlowOSD() {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OSDPerf = []ceph.OSDLatency{{ID: 0, CommitSeconds: 0.003}, {ID: 1, CommitSeconds: 0.024}, {ID: 2, CommitSeconds: 0.0032}}
		a.OSDDevices = []ceph.OSDDevice{{ID: 0, Names: "sda"}, {ID: 1, Names: "sda"}, {ID: 2, Names: "sda"}}
	})
}

func aDiagnosis(w *world) {
	w.oneSlowOSD()
	b := w.benchmark("b", oneDiagnosis)
	w.watch(b)
	w.untilComplete(b)
	if codes := codesOf(b); len(codes) == 0 || codes[0] != "SlowOSDs" || !strings.HasPrefix(b.Status.Headline, "SlowOSDs") {
		w.t.Errorf("headline %q, findings %+v", b.Status.Headline, b.Status.Diagnosis)
	}
	if !strings.Contains(b.Status.Summary, "osd.1 is slower") || b.Status.Environment == nil || b.Status.Verdict != "" || b.Status.Progress.TotalRuns != 0 {
		w.t.Errorf("%+v", b.Status)
	}
	var jobs batchv1.JobList
	if err := w.List(w.t.Context(), &jobs, client.InNamespace(w.namespace)); err != nil || len(jobs.Items) > 0 {
		w.t.Errorf("%d Jobs, %v", len(jobs.Items), err)
	}
	w.wantFewWrites(b)
	w.wantClean()
}

// A cluster that no benchmark may measure is what a diagnosis is for.
func aDiagnosisOfASickCluster(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{
			{Code: "OSD_FULL", Severity: "HEALTH_ERR", Summary: "1 full osd(s)"},
			{Code: "SLOW_OPS", Severity: "HEALTH_WARN", Summary: "9 slow ops, oldest one blocked for 40 sec"},
		}}
		a.Status.UpOSDs = 2
		a.OSDMap.Flags = append(a.OSDMap.Flags, "full")
	})
	b := w.benchmark("b", oneDiagnosis)
	w.watch(b)
	w.untilComplete(b)
	if codes := codesOf(b); len(codes) < 3 || !slices.Equal(codes[:3], []string{"IOStopped", "DaemonsDown", "SlowOperations"}) {
		w.t.Errorf("findings %v", codes)
	}
	w.wantClean()
}

func aDiagnosisInTheQueue(w *world) {
	w.lockElsewhere()
	b := w.benchmark("b", oneDiagnosis)
	w.untilReason(b, v1alpha1.ReasonQueued)
	w.unlockElsewhere()
	w.wait(time.Minute)
	w.watch(b)
	w.untilComplete(b)
	w.wantClean()
}

func aDiagnosisIsDeleted(w *world) {
	b := w.benchmark("b", oneDiagnosis)
	w.untilReason(b, v1alpha1.ReasonRunning)
	w.delete(b)
	w.wantClean()
}

// The next manager does not know how long Ceph was watched, so it begins again.
func aRestartWithinADiagnosis(w *world) {
	b := w.benchmark("b", oneDiagnosis)
	w.untilReason(b, v1alpha1.ReasonRunning)
	w.wait(50 * time.Second)
	w.restart()
	w.untilSampled(b)
	w.watch(b)
	w.untilComplete(b)
	if b.Status.Diagnosis == nil || b.Status.Diagnosis.Samples == 0 {
		w.t.Errorf("%+v", b.Status.Diagnosis)
	}
	w.wantClean()
}

func aDiagnosisIsSuspended(w *world) {
	b := w.benchmark("b", oneDiagnosis)
	w.untilReason(b, v1alpha1.ReasonRunning)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.until(b, "suspended", func() bool {
		return reasonOf(b) == v1alpha1.ReasonSuspended && !isTrue(b, v1alpha1.ConditionReconciling)
	})
	w.wantClean()
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.watch(b)
	w.untilComplete(b)
}

func aDiagnosisAgain(w *world) {
	w.warn()
	b := w.benchmark("b", oneDiagnosis)
	w.watch(b)
	w.untilComplete(b)
	w.ceph.Change(func(a *cephtest.Answers) { a.Status.Health = ceph.Health{Status: "HEALTH_OK"} })
	before := codesOf(b)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.RunID = "2" })
	w.watch(b)
	w.until(b, "diagnosed again", func() bool { return b.Status.ObservedRunID == "2" && isTrue(b, v1alpha1.ConditionReady) })
	w.wantArchived(b, map[v1alpha1.RunID][]string{"1": before, "2": codesOf(b)})
	if after := codesOf(b); !slices.Contains(before, "SlowOperations") || slices.Contains(after, "SlowOperations") {
		w.t.Errorf("first %v, then %v", before, after)
	}
}

// wantArchived checks that the results of each run ID have these findings.
func (w *world) wantArchived(b *v1alpha1.CephBenchmark, want map[v1alpha1.RunID][]string) {
	w.t.Helper()
	var maps corev1.ConfigMapList
	if err := w.List(w.t.Context(), &maps, client.InNamespace(w.namespace), client.MatchingLabels(archive.Labels(b.Name))); err != nil {
		w.t.Fatal(err)
	}
	got := map[v1alpha1.RunID][]string{}
	for i := range maps.Items {
		run, err := archive.Of(b, &maps.Items[i])
		if err != nil || run.Diagnosis == nil || len(run.Environment) == 0 {
			w.t.Fatalf("%+v, %v", run, err)
		}
		got[run.RunID] = nil
		for _, f := range run.Diagnosis.Result.Findings {
			got[run.RunID] = append(got[run.RunID], f.Code)
		}
	}
	if !reflect.DeepEqual(got, want) {
		w.t.Errorf("archived %v, want %v", got, want)
	}
}

func aDiagnosisWithoutCeph(w *world) {
	b := w.benchmark("b", oneDiagnosis)
	w.untilReason(b, v1alpha1.ReasonRunning)
	mend := w.cutCeph()
	w.wait(31 * time.Minute)
	w.until(b, "unreachable", func() bool {
		return reasonOf(b) == v1alpha1.ReasonClusterUnreachable || isTrue(b, v1alpha1.ConditionFailed)
	})
	mend()
	w.look()
	w.until(b, "ended or watching", func() bool {
		return reasonOf(b) != v1alpha1.ReasonClusterUnreachable || isTrue(b, v1alpha1.ConditionFailed)
	})
	w.delete(b)
	w.wantClean()
}

func aDiagnosisThatReadsLess(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Errors["OSDDevices"] = &ceph.Error{Verb: "osd metadata", Errno: 13, Message: "access denied"}
		a.Errors["Balancer"] = errors.New("no answer")
	})
	b := w.benchmark("b", oneDiagnosis)
	w.watch(b)
	w.untilComplete(b)
	if all := strings.Join(b.Status.Diagnosis.Unchecked, "\n"); !strings.Contains(all, "mClock's capacities: ceph osd metadata: access denied") || !strings.Contains(all, "The balancer: no answer") {
		w.t.Errorf("unchecked: %s", all)
	}
}

func aDiagnosisOfNoPool(w *world) {
	b := w.benchmark("b", "diagnosis: {pool: nowhere}\n")
	w.until(b, "Failed", func() bool { return isTrue(b, v1alpha1.ConditionFailed) })
	if messageOf(b) == "" || reasonOf(b) != v1alpha1.ReasonNotPossible && !strings.Contains(messageOf(b), "no pool nowhere") {
		w.t.Errorf("%s: %s", reasonOf(b), messageOf(b))
	}
	w.wantClean()
}

// What a diagnosis looks for is fixed for a run.
func aDiagnosisIsEdited(w *world) {
	b := w.benchmark("b", oneDiagnosis)
	w.untilReason(b, v1alpha1.ReasonRunning)
	before := b.DeepCopy()
	b.Spec.Diagnosis.Pool = "other"
	if err := w.Patch(w.t.Context(), b, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "change runID in the same edit") {
		w.t.Errorf("error %v", err)
	}
	w.delete(b)
}
