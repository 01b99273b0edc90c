package cephbenchmark

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/slowosd"
)

// archiveRun writes the full results of a run into a ConfigMap, and returns its name. After a
// crash the ConfigMap may exist already. The existing one counts, because the earlier process
// observed more of the run.
func (r *Reconciler) archiveRun(ctx context.Context, seen facts, e runEvidence) (string, runEvidence, error) {
	document, err := e.document(seen)
	if err != nil {
		return "", e, err
	}
	cm, err := archive.ConfigMap(seen.benchmark, document)
	if err != nil {
		return "", e, err
	}
	err = r.client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		e, err = r.archivedRun(ctx, seen, client.ObjectKeyFromObject(cm))
		return cm.Name, e, err
	}
	if err != nil {
		return "", e, fmt.Errorf("write the results: %w", err)
	}
	return cm.Name, e, nil
}

// archivedRun reads the ConfigMap that an earlier attempt has written.
func (r *Reconciler) archivedRun(ctx context.Context, seen facts, key types.NamespacedName) (runEvidence, error) {
	var cm corev1.ConfigMap
	if err := r.reader.Get(ctx, key, &cm); err != nil {
		return runEvidence{}, fmt.Errorf("read the results of an earlier attempt: %w", err)
	}
	run, err := archive.Of(seen.benchmark, &cm)
	if err != nil {
		return runEvidence{}, err
	}
	return evidenceOf(run), nil
}

// evidenceOf returns the parts of an archived run that the conclusion needs.
func evidenceOf(run *archive.Run) runEvidence {
	e := runEvidence{number: run.Number, state: run.State, wrong: run.Reason, start: run.StartTime, initialState: run.InitialState}
	for _, p := range run.Phases {
		e.phases = append(e.phases, phaseEvidence{
			name: p.Name, observation: p.Observation, background: p.Background, slow: p.SlowOSDs, outage: p.Outage,
		})
		if p.StartSpreadSeconds != nil {
			e.spread = max(e.spread, time.Duration(*p.StartSpreadSeconds*float64(time.Second)))
		}
	}
	return e
}

// document returns the archive document of a run.
func (e runEvidence) document(seen facts) (*archive.Run, error) {
	run := &archive.Run{
		SchemaVersion: archive.SchemaVersion,
		Number:        e.number,
		State:         e.state,
		Reason:        e.wrong,
		StartTime:     e.start,
		EndTime:       seen.now,
		InitialState:  e.initialState,
		RawOutput:     seen.spec.RawOutput,
		Placement:     placementOf(seen.pools(), seen.pgs()),
		Dropped:       e.dropped,
	}
	if b := e.background; b != nil {
		run.Background = &archive.Background{
			SpecDigest: b.digest, StartTime: orNil(b.start), EndTime: orNil(b.end),
			Observation: b.observation, WholeRun: b.wholeRun, Report: b.report,
		}
	}
	var err error
	if run.Environment, err = json.Marshal(seen.detail()); err != nil {
		return nil, fmt.Errorf("write the environment: %w", err)
	}
	for _, p := range e.phases {
		phase, err := p.document(seen)
		if err != nil {
			return nil, err
		}
		run.Phases = append(run.Phases, phase)
	}
	return run, nil
}

func (e phaseEvidence) document(seen facts) (archive.Phase, error) {
	phase := archive.Phase{
		Name:         e.name,
		SpecDigest:   e.digest,
		StartTime:    orNil(e.start),
		EndTime:      orNil(e.end),
		Observation:  e.observation.WithoutLatencyWindows(),
		Background:   e.background,
		Clients:      e.reports,
		OSDLatencies: seen.OSDLatencies(e.start, e.end),
		OSDIO:        e.io,
		SlowOSDs:     e.slow,
		Outage:       e.outage,
		Space:        seen.Space(seen.targetPools(), e.start, e.end),
	}
	if !e.start.IsZero() {
		seconds := e.spread.Seconds()
		phase.StartSpreadSeconds = &seconds
	}
	if len(e.disturbances) == 0 {
		return phase, nil
	}
	var err error
	if phase.Disturbances, err = json.Marshal(e.disturbances); err != nil {
		return archive.Phase{}, fmt.Errorf("write the disturbances: %w", err)
	}
	return phase, nil
}

// placementOf counts the placement groups of pools on each OSD.
func placementOf(pools []ceph.Pool, pgs []ceph.PG) []archive.Placement {
	var all []archive.Placement
	for _, pool := range pools {
		shares := map[int]archive.OSDShare{}
		for _, pg := range pgs {
			if pg.PoolID != pool.ID {
				continue
			}
			for _, osd := range pg.Acting {
				share := shares[osd]
				share.ID = osd
				share.PGs++
				if osd == pg.Primary {
					share.Primaries++
				}
				shares[osd] = share
			}
		}
		if len(shares) > 0 {
			byID := func(a, b archive.OSDShare) int { return cmp.Compare(a.ID, b.ID) }
			all = append(all, archive.Placement{Pool: pool.Name, OSDs: slices.SortedFunc(maps.Values(shares), byID)})
		}
	}
	return all
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// pastRun returns a run that has ended, or the reason why it is invalid. It reads the run from
// memory, or from its archive if this process has not seen it.
func (r *Reconciler) pastRun(ctx context.Context, seen facts, run int32) (runEvidence, string, error) {
	if e, ok := seen.memory.evidence[run]; ok {
		return e, e.wrong, nil
	}
	for _, entry := range seen.benchmark.Status.Runs {
		if entry.Number == run {
			return r.readRun(ctx, seen, entry)
		}
	}
	return runEvidence{}, "", fmt.Errorf("status has no run %d", run)
}

// slowOSDs returns the OSDs of each phase that were slower than their peers.
func (e runEvidence) slowOSDs() slowosd.Named {
	named := slowosd.Named{}
	for _, p := range e.phases {
		named[p.name] = p.slow
	}
	return named
}

// observed returns the observations of a run: of each phase, and of the background load during
// the phase.
type observed struct {
	phases, background map[v1alpha1.PhaseName]figure.Observation
}

func (e runEvidence) observations() observed {
	past := observed{phases: map[v1alpha1.PhaseName]figure.Observation{}, background: map[v1alpha1.PhaseName]figure.Observation{}}
	for _, p := range e.phases {
		if p.observation != nil {
			past.phases[p.name] = *p.observation
		}
		if len(p.background) > 0 {
			past.background[p.name] = figure.Observation{Figures: p.background}
		}
	}
	return past
}

func (r *Reconciler) readRun(ctx context.Context, seen facts, entry v1alpha1.BenchmarkRun) (runEvidence, string, error) {
	if entry.State != v1alpha1.RunValid {
		return runEvidence{}, entry.Reason, nil
	}
	var cm corev1.ConfigMap
	if err := r.reader.Get(ctx, types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: entry.Results}, &cm); err != nil {
		if apierrors.IsNotFound(err) {
			return runEvidence{}, fmt.Sprintf("its results, ConfigMap %s, were deleted", entry.Results), nil
		}
		return runEvidence{}, "", fmt.Errorf("read the results of run %d: %w", entry.Number, err)
	}
	run, err := archive.Of(seen.benchmark, &cm)
	if err != nil { // The ConfigMap is immutable, so a retry would fail too.
		return runEvidence{}, "its results cannot be read: " + err.Error(), nil //nolint:nilerr // The run reports it.
	}
	return evidenceOf(run), "", nil
}

// prune deletes the results of the oldest sessions beyond the history limit.
func (r *Reconciler) prune(ctx context.Context, seen facts) (reconcile.Wait, error) {
	var found metav1.PartialObjectMetadataList
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := r.reader.List(ctx, &found, client.InNamespace(seen.benchmark.Namespace), client.MatchingLabels(archive.Labels(seen.benchmark.Name)))
	if client.IgnoreNotFound(err) != nil { // A list may be "not found" while the namespace is being deleted.
		return "", fmt.Errorf("list the results: %w", err)
	}
	for _, name := range archive.Prune(found.Items, seen.benchmark.UID, int(seen.spec.HistoryLimit)) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: seen.benchmark.Namespace, Name: name}}
		if err := r.client.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("delete old results: %w", err)
		}
	}
	return reconcile.Done, nil
}
