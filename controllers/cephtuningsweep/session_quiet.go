package cephtuningsweep

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/workload"
)

const (
	// quietEvery is the longest interval at which samples of the cluster begin during a session, unless a
	// sample itself takes longer. Ceph's manager updates its figures about as often.
	quietEvery = 5 * time.Second
	// quietWithin limits the time of a sample, so that a lost answer does not delay the next sample for long.
	quietWithin = 10 * time.Second
)

// quiet samples a cluster while a session switches settings. It knows neither the current setting nor the
// clients' figures, so it cannot select windows by their results.
type quiet struct {
	ceph       ceph.Client
	connection ceph.Connection
	spec       v1alpha1.Quiescence
	pools      []string
	claim      bool // the target is a PersistentVolumeClaim, so the pools of the load are unknown
	expected   []quiescence.Expectation
	every      time.Duration

	mu      sync.Mutex
	samples []quiescence.Sample
}

// quietOf returns a sampler for a session with these targets. The sampler takes at least two samples in each window, unless samples
// fail or take too long.
func quietOf(c ceph.Client, connection ceph.Connection, spec v1alpha1.Quiescence, targets []v1alpha1.Target, window time.Duration) *quiet {
	q := &quiet{
		ceph: c, connection: connection, spec: spec, every: min(quietEvery, window/2), pools: workload.Pools(targets), claim: targets[0].PersistentVolumeClaim != nil,
	}
	if targets[0].ScratchPool != nil {
		for _, code := range []string{"POOL_APP_NOT_ENABLED", "POOL_TOO_FEW_PGS", "POOL_TOO_MANY_PGS", "POOL_NO_REDUNDANCY", "POOL_PG_NUM_NOT_POWER_OF_TWO", "MANY_OBJECTS_PER_PG"} {
			q.expected = append(q.expected, quiescence.Expectation{Code: code, Pools: len(q.pools)})
		}
	}
	return q
}

// run takes samples until ctx ends. It omits samples that fail.
func (q *quiet) run(ctx context.Context) {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		if sample, err := q.sample(ctx); err == nil {
			q.mu.Lock()
			q.samples = append(q.samples, sample)
			q.mu.Unlock()
		}
	}, q.every)
}

func (q *quiet) sample(ctx context.Context) (quiescence.Sample, error) {
	ctx, stop := context.WithTimeout(ctx, quietWithin)
	defer stop()
	sample := quiescence.Sample{Time: time.Now()}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(ceph.StoreIn(&sample.Status, func() (*ceph.Status, error) { return q.ceph.Status(ctx, q.connection) }))
	group.Go(ceph.StoreIn(&sample.PoolIO, func() ([]ceph.PoolIO, error) { return q.ceph.PoolIO(ctx, q.connection) }))
	err := group.Wait() // Wait must precede the read of the sample.
	return sample, err
}

// disturbed returns the disturbed periods of a session until now, as times since the session began.
func (q *quiet) disturbed(began time.Time) (spans []switchback.Span) {
	q.mu.Lock()
	samples := slices.Clone(q.samples)
	q.mu.Unlock()
	now := time.Now()
	for _, s := range quiescence.Disturbed(quiescence.Observation{Start: began, End: now, Samples: samples, OwnPools: q.pools, OwnIOUnknown: q.claim, Expected: q.expected}, q.spec) {
		spans = append(spans, switchback.Span{From: s.From.Sub(began), To: s.To.Sub(began)})
	}
	return spans
}
