package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/clusterwatch/slowosd"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// A diagnosis has the lock, so that no benchmark loads Ceph meanwhile. It needs no quiescent or healthy cluster, because a
// sick cluster is what it is for, and it has no clients. If it also measures layers, it is a benchmark of one run after
// that, with the load of package diagnosis; what would fail a benchmark leaves it without layers.

// diagnoses reports whether the execution is a diagnosis, and measuresLayers whether it also measures layers.
func (f facts) diagnoses() bool      { return f.spec.Diagnosis != nil }
func (f facts) measuresLayers() bool { return f.diagnoses() && f.spec.Diagnosis.Layers != nil }

// hasClients reports whether the execution has clients at some time.
func (f facts) hasClients() bool { return !f.diagnoses() || f.measuresLayers() }

// watching reports whether a diagnosis has not seen yet what it watches for.
func (f facts) watching() bool { return f.diagnoses() && f.memory.symptoms == nil }

// withoutFailure returns the plan that ends a diagnosis without layers if the plan would fail it, and the plan that ends
// it with layers if the plan concludes its run.
func (f facts) withoutFailure(p plan) plan {
	if f.memory.symptoms == nil {
		return p
	}
	if p.Step == reconcile.StepFail {
		p.Step, p.Detail.wrong = stepDiagnose, p.Outcome.Message
	}
	if p.Step == stepConcludeRun {
		p.Step = stepDiagnose
	}
	return p
}

// failWithoutPool ends a diagnosis of a pool that does not exist.
func failWithoutPool(seen facts) (plan, bool) {
	if !seen.diagnoses() || seen.spec.Diagnosis.Pool == "" {
		return plan{}, false
	}
	name := string(seen.spec.Diagnosis.Pool)
	exists := slices.ContainsFunc(seen.Survey.OSDMap.Pools, func(p ceph.Pool) bool { return p.Name == name })
	return fail(v1alpha1.ReasonNotPossible, fmt.Sprintf("There is no pool %s in Ceph. `ceph osd pool ls` lists the pools.", name)), !exists
}

// watchDiagnosed waits until Ceph was watched as long as the spec says. Samples from before the lock do not count: the load
// of another benchmark may be in them.
func watchDiagnosed(seen facts) (plan, bool) {
	if !seen.watching() {
		return plan{}, false
	}
	duration := seen.spec.Diagnosis.Duration.Duration
	since := seen.memory.watchedSince
	left := duration - seen.now.Sub(since)
	switch {
	case since.IsZero():
		left = duration
	case left <= 0 && len(seen.watched()) > 0:
		return plan{}, false
	case left <= -clusterwatch.SampleEvery:
		return seen.waitForCluster(cmp.Or(seen.Err, errors.New("no answer of Ceph since the diagnosis began"))), true
	}
	p := waiting(v1alpha1.ReasonRunning, fmt.Sprintf("Watching Ceph for %v.", duration), max(left, time.Second))
	p.Progress, p.Detail.watches = "watching Ceph", true
	return p, true
}

// concludeDiagnosis is the last rule of a diagnosis without layers.
func concludeDiagnosis(seen facts) (plan, bool) {
	p := plan{Step: stepDiagnose, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRunning, Message: "Judging what was seen."}}
	return p.AtMost(concludeWithin, "diagnosis", kstatus.Outcome{
		Reason: v1alpha1.ReasonClusterUnreachable, Message: fmt.Sprintf("Ceph could not be asked, or the findings not written, within %v.", concludeWithin),
	}), seen.watching()
}

// watched returns the samples of a diagnosis.
func (f facts) watched() []*ceph.Status {
	var all []*ceph.Status
	for _, sample := range f.Samples {
		if !sample.Time.Before(f.memory.watchedSince) {
			all = append(all, sample.Status)
		}
	}
	return all
}

const (
	diagnoseTimeout = time.Minute
	// askedOfClass is the number of OSDs of each device class whose running options are read, and askedOfAll that of
	// all classes: an answer has hundreds of kilobytes.
	askedOfClass = 3
	askedOfAll   = 12
)

// diagnose reads what the watch does not read, and judges. Then it lets the execution measure layers, or ends it. The
// parameter called wrong says why there are no layers; "" if there are.
func (r *Reconciler) diagnose(ctx context.Context, seen pass, wrong string) (effect, error) {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	environment, err := quiescence.Fingerprint(seen.target().Detail())
	if err != nil {
		return effect{}, err
	}
	symptoms, windows, done := diagnosis.Facts{}, []diagnosis.Window(nil), now()
	if seen.watching() {
		connection, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
		if err != nil {
			return effect{}, err
		}
		symptoms = r.symptoms(ctx, connection, seen.facts)
		if seen.measuresLayers() {
			wrong = r.whyNoLayers(ctx, connection, seen.facts)
		}
		if seen.measuresLayers() && wrong == "" {
			seen.memory.symptoms = &symptoms
			found := diagnosis.Judge(symptoms)
			done.Edit = func(s *v1alpha1.CephBenchmarkStatus) { s.Diagnosis = &found }
			return done, nil
		}
	} else {
		symptoms = *seen.memory.symptoms
	}
	switch {
	case wrong != "":
		symptoms.Unread = append(slices.Clip(symptoms.Unread), "Layers were not measured: "+wrong)
	case seen.measuresLayers():
		if windows, err = seen.concluded(1).Windows(ctx, reporters(seen.runners)); err != nil {
			return effect{}, err
		}
		symptoms = symptoms.With(int(seen.spec.Diagnosis.Layers.Copies), windows)
		for _, node := range seen.target().Detail().Nodes { // There is one client.
			symptoms.Host = diagnosis.HostOf(node.Name, windows)
		}
	}
	execution := conclusion.Execution{Now: seen.now, Spec: seen.spec, Detail: seen.target().Detail()}
	run, err := execution.DiagnosisRun(seen.memory.watchedSince, diagnosis.Judge(symptoms), windows)
	if err != nil {
		return effect{}, err
	}
	stored, run, err := r.results(seen).Write(ctx, run)
	if err != nil {
		return effect{}, err
	}
	done.Outcome = cleaningUp()
	done.Edit = func(s *v1alpha1.CephBenchmarkStatus) {
		conclusion.SetRun(s, stored.Entry(run))
		conclusion.Diagnosed(s, seen.now, run.Diagnosis.Result, environment)
	}
	return done, nil
}

// ceph-mgr prints about 14 KB for each OSD and 5 KB for each placement group with the counters of OSDs, and asks one OSD
// after another for its memory meanwhile.
const (
	mostCountedOSDs = 100
	mostCountedPGs  = 2000
)

// whyUncounted returns why the counters of OSDs are not read here; "" if they are.
func (f facts) whyUncounted() string {
	if osds, pgs := len(f.Survey.OSDs), len(f.Survey.PGs); osds > mostCountedOSDs || pgs > mostCountedPGs {
		return fmt.Sprintf("ceph-mgr would print the counters of %d OSDs and %d placement groups; the limits are %d and %d.", osds, pgs, mostCountedOSDs, mostCountedPGs)
	}
	return ""
}

// whyNoLayers returns why layers cannot be measured here; "" if they can.
func (r *Reconciler) whyNoLayers(ctx context.Context, connection ceph.Connection, seen facts) string {
	if reason := seen.whyUncounted(); reason != "" {
		return reason
	}
	if _, err := r.Ceph.OSDCounters(ctx, connection); err != nil {
		return "the counters of OSDs cannot be read: " + err.Error() + "."
	}
	return ""
}

// countOSDs notes what OSDs have counted before a task.
func (r *Reconciler) countOSDs(ctx context.Context, seen pass, id string) error {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	connection, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return err
	}
	counters, err := r.Ceph.OSDCounters(ctx, connection)
	if err == nil {
		seen.memory.noted.Counters[id] = counters
	}
	return err
}

// symptoms returns the facts of a diagnosis. What cannot be read is missing, and Unread says why.
func (r *Reconciler) symptoms(ctx context.Context, connection ceph.Connection, seen facts) diagnosis.Facts {
	s := seen.Survey
	f := diagnosis.Facts{
		Namespace: seen.benchmark.Namespace, Pool: string(seen.spec.Diagnosis.Pool), LayersAsked: seen.measuresLayers(),
		OSDMap: s.OSDMap, OSDs: s.OSDs, PGs: s.PGs, Versions: s.Versions, Config: s.Config, Statuses: seen.watched(),
		Latencies: seen.OSDLatencies(seen.memory.watchedSince, seen.now),
		Work:      slowosd.Typical(seen.OSDIO(), seen.memory.watchedSince, seen.now),
		Intervals: diagnosis.Between(seen.Counters(seen.memory.watchedSince)),
	}
	var devices, balancer, running error
	var group errgroup.Group // The questions do not depend on each other.
	group.Go(func() error { f.Devices, devices = r.Ceph.OSDDevices(ctx, connection); return nil })
	group.Go(func() error { f.Balancer, balancer = r.Ceph.Balancer(ctx, connection); return nil })
	group.Go(func() error {
		f.Running, running = r.Ceph.RunningConfig(ctx, connection, askedOSDs(s.OSDs), diagnosis.Options())
		return nil
	})
	_ = group.Wait() // None of them fails.
	for _, unread := range []struct {
		what string
		err  error
	}{{"Devices of OSDs, and mClock's capacities", devices}, {"The balancer", balancer}, {"Options of running OSDs", running}} {
		if unread.err != nil {
			f.Unread = append(f.Unread, fmt.Sprintf("%s: %v.", unread.what, unread.err))
		}
	}
	return f
}

// askedOSDs returns some OSDs of each device class that are up.
func askedOSDs(all []ceph.OSD) []int {
	var asked []int
	ofClass := map[string]int{}
	for _, osd := range all {
		if osd.Status == "up" && ofClass[osd.DeviceClass] < askedOfClass && len(asked) < askedOfAll {
			ofClass[osd.DeviceClass]++
			asked = append(asked, osd.ID)
		}
	}
	return asked
}
