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
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// A diagnosis has the lock, so that no benchmark loads Ceph meanwhile. It needs no quiescent or healthy cluster, because a
// sick cluster is what it is for, and it has no clients.

// diagnoses reports whether the execution is a diagnosis.
func (f facts) diagnoses() bool { return f.spec.Diagnosis != nil }

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
	if !seen.diagnoses() {
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

// concludeDiagnosis is the last rule of a diagnosis.
func concludeDiagnosis(seen facts) (plan, bool) {
	p := plan{Step: stepDiagnose, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonRunning, Message: "Judging what was seen."}}
	return p.AtMost(concludeWithin, "diagnosis", kstatus.Outcome{
		Reason: v1alpha1.ReasonClusterUnreachable, Message: fmt.Sprintf("Ceph could not be asked within %v.", concludeWithin),
	}), seen.diagnoses()
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

// diagnose reads what the watch does not read, judges, and ends the execution.
func (r *Reconciler) diagnose(ctx context.Context, seen pass) (effect, error) {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	connection, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.Observer)
	if err != nil {
		return effect{}, err
	}
	environment, err := quiescence.Fingerprint(seen.target().Detail())
	if err != nil {
		return effect{}, err
	}
	found := diagnosis.Judge(r.symptoms(ctx, connection, seen.facts))
	done := now()
	done.Outcome = cleaningUp()
	done.Edit = func(s *v1alpha1.CephBenchmarkStatus) { conclusion.Diagnosed(s, seen.now, found, environment) }
	return done, nil
}

// symptoms returns the facts of a diagnosis. What cannot be read is missing, and Unread says why.
func (r *Reconciler) symptoms(ctx context.Context, connection ceph.Connection, seen facts) diagnosis.Facts {
	s := seen.Survey
	f := diagnosis.Facts{
		Namespace: seen.benchmark.Namespace, Pool: string(seen.spec.Diagnosis.Pool),
		OSDMap: s.OSDMap, OSDs: s.OSDs, PGs: s.PGs, Versions: s.Versions, Config: s.Config, Statuses: seen.watched(),
		Latencies: seen.OSDLatencies(seen.memory.watchedSince, seen.now),
		Work:      slowosd.Typical(seen.OSDIO(), seen.memory.watchedSince, seen.now),
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
