// Package trial decides whether a CephBenchmark is that of a sweep's run or session. Users of a namespace can create
// a benchmark with any name, label, annotation, owner reference and spec, but they cannot write status. So the sweep
// records a name and a nonce in its status, then creates a benchmark with a signature over them, and then records
// the benchmark's UID. The benchmark begins only with that signature and that UID, and records its trial in its own
// status. From then on, the two statuses say what the benchmark is.
package trial

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/signature"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

const (
	// maxNames is the maximum number of names that a run tries, so that a user who takes each of them ends the
	// sweep instead of delaying it for ever.
	maxNames = 5
	// suffixLength is the length of the part of the nonce in a name. Nobody can guess such a name.
	suffixLength = 8
)

// Next returns the trial of a run before it has a benchmark.
func Next(s *v1alpha1.CephTuningSweep, number int, pool *v1alpha1.SharedPool) *v1alpha1.SweepTrial {
	return &v1alpha1.SweepTrial{
		Number: int32(number), Name: sweepspec.ChildName(s, number), Nonce: signature.NewNonce(), Pool: pool, //nolint:gosec // At most 400.
	}
}

// Renamed returns a trial of the same run with another name and nonce, because the name is taken. It returns false
// if too many names of the run were taken.
func Renamed(s *v1alpha1.CephTuningSweep) (*v1alpha1.SweepTrial, bool) {
	next := s.Status.Trial.DeepCopy()
	next.NamesTaken++
	next.Nonce = signature.NewNonce()
	next.Name = sweepspec.OtherChildName(s, int(next.Number), next.Nonce[:suffixLength])
	return next, next.NamesTaken < maxNames
}

// Sign gives a benchmark the name of the sweep's trial, and a signature.
func Sign(master []byte, s *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) error {
	b.Name = s.Status.Trial.Name
	statement, err := statementOf(s, b)
	if err != nil {
		return err
	}
	text, err := statement.Sign(master)
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, signature.Annotation, text)
	return err
}

// IsSigned reports whether a benchmark has the signature of the sweep's trial, and the sweep as its controller. A
// copy of a signed benchmark is signed, too: only the UID distinguishes the two.
func IsSigned(master []byte, s *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) (bool, error) {
	if s.Status.Trial == nil || !metav1.IsControlledBy(b, s) {
		return false, nil
	}
	statement, err := statementOf(s, b)
	if err != nil {
		return false, err
	}
	return statement.Verify(master, b.Annotations[signature.Annotation])
}

func statementOf(s *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) (signature.Statement, error) {
	digest, err := SpecDigest(b.Spec)
	return signature.Statement{
		Purpose: "benchmark of a sweep", Owner: s.UID, Namespace: b.Namespace, Name: b.Name, Nonce: s.Status.Trial.Nonce,
		Content: []string{string(s.Status.ObservedRunID), strconv.Itoa(int(s.Status.Trial.Number)), digest},
	}, err
}

// SpecDigest identifies what runID fixes in a spec. The other fields do not affect figures, so users may change
// them: suspend, failOn, historyLimit, rawOutput and acknowledgedUntil.
func SpecDigest(spec v1alpha1.CephBenchmarkSpec) (string, error) {
	spec.Suspend, spec.FailOn, spec.HistoryLimit, spec.RawOutput, spec.AcknowledgedUntil = false, nil, 0, "", ""
	return signature.Digest(spec)
}

// IsOf reports whether a benchmark began as that of a run or session of the sweep, of any run ID.
func IsOf(b *v1alpha1.CephBenchmark, s *v1alpha1.CephTuningSweep) bool {
	return b.Namespace == s.Namespace && b.Status.Trial != nil && b.Status.Trial.UID == s.UID
}

// IsOfRun reports whether a benchmark began as that of a run or session of the sweep's present run ID.
func IsOfRun(b *v1alpha1.CephBenchmark, s *v1alpha1.CephTuningSweep, number int) bool {
	return IsOf(b, s) && b.Status.Trial.RunID == s.Status.ObservedRunID && int(b.Status.Trial.Number) == number
}

// NameOf returns the name of the benchmark of a run: the recorded name if the trial of that run is in status, and
// the name that the operator tries first otherwise.
func NameOf(s *v1alpha1.CephTuningSweep, number int) string {
	if t := s.Status.Trial; t != nil && int(t.Number) == number {
		return t.Name
	}
	return sweepspec.ChildName(s, number)
}

// Holder returns the sweep for which a benchmark runs; false if it runs for itself. The sweep holds the lock.
func Holder(b *v1alpha1.CephBenchmark) (objectref.Ref, bool) {
	t := b.Status.Trial
	if t == nil {
		return objectref.Ref{}, false
	}
	return objectref.Ref{Kind: v1alpha1.KindCephTuningSweep, Namespace: b.Namespace, Name: t.Sweep, UID: t.UID}, true
}

// State says what became of the benchmark of a trial.
type State struct {
	// Benchmark is the benchmark with the trial's signature, and with its UID if status has one; nil if there is
	// none.
	Benchmark *v1alpha1.CephBenchmark
	// Taken reports that another object has the name that the benchmark needs.
	Taken bool
	// Spoilt says why the recorded benchmark does not count; "" if it counts. Left is that benchmark if it still
	// exists.
	Spoilt string
	Left   *v1alpha1.CephBenchmark
}

// StateOf returns the state of the sweep's trial. The argument found is the object with the trial's name; nil if
// there is none.
func StateOf(master []byte, s *v1alpha1.CephTuningSweep, found *v1alpha1.CephBenchmark) (State, error) {
	recorded := s.Status.Trial.UID
	if found == nil {
		if recorded == "" {
			return State{}, nil
		}
		return State{Spoilt: fmt.Sprintf("Benchmark %s was deleted before its run ended.", s.Status.Trial.Name)}, nil
	}
	signed, err := IsSigned(master, s, found)
	switch {
	case err != nil:
		return State{}, err
	case recorded == "" && !signed:
		return State{Taken: true}, nil
	case recorded != "" && recorded != found.UID:
		return State{Spoilt: fmt.Sprintf("Benchmark %s was deleted, and somebody created another with its name.", found.Name)}, nil
	case !signed:
		return State{Left: found, Spoilt: fmt.Sprintf("Benchmark %s lost its signature: somebody changed its spec, owner or annotations, or the operator has another master key.", found.Name)}, nil
	}
	return State{Benchmark: found}, nil
}

// Admission is the answer to a benchmark that begins with a sweep as its controller.
type Admission struct {
	// Trial is what the benchmark records; nil if it may not begin.
	Trial *v1alpha1.BenchmarkTrial
	// Waits reports that the sweep has not recorded the UID of the benchmark yet.
	Waits bool
	// Refusal says why the benchmark never begins; "" if it may.
	Refusal string
}

// Admit decides whether a benchmark begins as that of a sweep's run. The sweep is the present object with the name
// in the owner reference; it must not come from a cache, which may lack the latest trial.
func Admit(master []byte, s *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) (Admission, error) {
	signed, err := IsSigned(master, s, b)
	switch {
	case err != nil:
		return Admission{}, err
	case !signed, s.Status.Trial.UID != "" && s.Status.Trial.UID != b.UID:
		return Admission{Refusal: Refusal(s.Name)}, nil
	case s.Status.Trial.UID == "":
		return Admission{Waits: true}, nil
	}
	digest, err := SpecDigest(b.Spec)
	design := v1alpha1.DesignBlocks
	if plan := s.Status.Plan; plan != nil && plan.Design != "" {
		design = plan.Design
	}
	return Admission{Trial: &v1alpha1.BenchmarkTrial{
		Sweep: s.Name, UID: s.UID, RunID: s.Status.ObservedRunID, Number: s.Status.Trial.Number,
		Design: design, SpecDigest: digest, Pool: s.Status.Trial.Pool,
	}}, err
}

// Refusal says why a benchmark with a sweep as its controller does not run.
func Refusal(sweep string) string {
	return fmt.Sprintf("An owner reference names CephTuningSweep %s, but this is not the benchmark of its current run. Delete it, or create it again without the reference.", sweep)
}
