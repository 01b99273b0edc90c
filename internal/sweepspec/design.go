package sweepspec

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

// Design compares configurations in its own way, and knows all trials so far. It is a function of the spec, the plan and
// the trials in status, so another manager can continue a sweep.
type Design interface {
	// Configurations returns the compared configurations, the baseline first.
	Configurations() []sweep.Configuration
	// Number returns the number of the next trial, from 1.
	Number() int
	// Next returns the next trial, or the conclusion.
	Next() sweep.Decision
	// ContinuesBlock reports whether the next trial belongs to a block with valid trials. They are compared with each
	// other, so the block must not continue on another scratch pool.
	ContinuesBlock() bool
	// Benchmark returns the CephBenchmark of the next trial.
	Benchmark(c Child) (*v1alpha1.CephBenchmark, error)
	// Enter returns the design after the next trial. An error wraps sweep.ErrLedger if the trial is not the next one.
	Enter(t v1alpha1.Trial) (Design, error)
	// Record returns the edit that writes the trials, the standing and the progress of the sweep into status. A verdict
	// comes from Judge.
	Record(now time.Time) (func(*v1alpha1.CephTuningSweepStatus), error)
	// Judge returns the verdict once Next concludes. The argument named pools maps existing pools to the names of their
	// CephBlockPools. A pool without an entry has a CephBlockPool of the same name.
	Judge(pools map[v1alpha1.PoolName]string) (Outcome, error)
	// Scope says what the verdict of a conclusion speaks for.
	Scope(c *sweep.Conclusion) v1alpha1.SweepScope
}

// DesignOf returns the design of a planned sweep after the trials in status. For trials that the plan cannot have
// produced, the error wraps sweep.ErrLedger.
func DesignOf(spec *Spec, status *v1alpha1.CephTuningSweepStatus) (Design, error) {
	planner, err := PlannerOf(spec, status.Plan) // It refuses the plan of another version.
	if err != nil {
		return nil, err
	}
	return methodOf(status.Plan).open(spec, status, planner)
}

// Switching returns the sessions of a design whose trials switch settings under a running load; nil for another design.
func Switching(d Design) *Sessions {
	switched, _ := d.(*Sessions)
	return switched
}

// blocks is the design Blocks: each trial has one configuration.
type blocks struct {
	*sweep.Planner
	spec   *Spec
	plan   *v1alpha1.SweepPlan
	ledger []Entry
	next   sweep.Decision
}

func openBlocks(spec *Spec, status *v1alpha1.CephTuningSweepStatus, planner *sweep.Planner) (Design, error) {
	ledger, err := ReadLedger(status)
	if err != nil {
		return nil, err
	}
	return newBlocks(spec, status.Plan, planner, ledger)
}

func newBlocks(spec *Spec, plan *v1alpha1.SweepPlan, planner *sweep.Planner, ledger []Entry) (Design, error) {
	next, err := planner.Next(Runs(ledger))
	return &blocks{Planner: planner, spec: spec, plan: plan, ledger: ledger, next: next}, err
}

func (b *blocks) Number() int { return len(b.ledger) + 1 }

func (b *blocks) Next() sweep.Decision { return b.next }

func (b *blocks) ContinuesBlock() bool {
	trial := b.next.Trial
	return slices.ContainsFunc(b.ledger, func(e Entry) bool {
		return e.Block == trial.Block && e.Attempt == trial.Attempt && e.Outcome == sweep.Valid
	})
}

func (b *blocks) Benchmark(c Child) (*v1alpha1.CephBenchmark, error) { return c.Benchmark() }

func (b *blocks) Enter(t v1alpha1.Trial) (Design, error) {
	entry, err := entryOf(&t, b.Number())
	if err != nil {
		return nil, err
	}
	return newBlocks(b.spec, b.plan, b.Planner, append(slices.Clip(b.ledger), entry))
}

func (b *blocks) Record(now time.Time) (func(*v1alpha1.CephTuningSweepStatus), error) {
	standing, err := Standing(b.spec, b.Planner, b.ledger)
	if err != nil {
		return nil, err
	}
	return func(s *v1alpha1.CephTuningSweepStatus) {
		s.Trials, s.Runs = WriteLedger(b.ledger, b.next), nil
		standing.Write(s)
		progress := ProgressOf(b.next)
		eta := metav1.NewTime(now.Add(b.next.Progress.TimeLeft + restoreOf(b.plan)))
		progress.EstimatedCompletionTime = &eta
		s.Progress = &progress
		s.Plan.Block, s.Plan.Order = int32(b.next.Progress.Block), nil //nolint:gosec // At most MaxLedger.
		for _, c := range b.next.Progress.Order {
			s.Plan.Order = append(s.Plan.Order, int32(c)) //nolint:gosec // At most 64.
		}
	}, nil
}

func (b *blocks) Judge(pools map[v1alpha1.PoolName]string) (Outcome, error) {
	return Conclude(b.spec, b.Planner, b.ledger, b.next.Conclusion, pools)
}

func (b *blocks) Scope(c *sweep.Conclusion) v1alpha1.SweepScope { return blocksScope(b.spec, c) }
