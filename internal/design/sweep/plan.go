package sweep

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Version is the version of the rules of a sweep: of the planner, and of the levels of verdicts in both designs. It
// changes when a ledger, or an archive, could lead to another decision or verdict than before.
// New refuses plans of other versions, so a sweep in progress ends if an upgrade of cephtune changes Version.
const Version = 5

const (
	// MaxLedger is the maximum number of ledger entries, which are stored in status.
	MaxLedger = 400
	// MaxConstraints is the maximum number of constraints. It keeps a ledger entry within 96
	// bytes.
	MaxConstraints = 3

	firstCut           = 2 // in a sweep without constraints: number of blocks from which on candidates that lag behind the leader leave the race
	pairsForABlock     = 2 // number of pairs that replace one block: a pair takes two runs, other blocks three or more
	maxRunsWithoutCtrl = 4 // default of Settings.ControlInterval
	triesPerPosition   = 2 // an invalid run is repeated once, in its trial, unless a candidate's setting was inert
	missesToWithdraw   = 2 // a candidate without a valid run in this many blocks is withdrawn
	noiseDF            = 8 // degrees of freedom that a noise estimate needs before it may reject a block
)

// Settings are all inputs of a sweep's verdicts except the configurations and the runs. They are fixed before
// the first run. They have no settings of Ceph.
type Settings struct {
	Direction     stats.Direction
	MinimumEffect float64 // fraction, such as 0.10
	Equivalence   float64 // fraction, such as 0.05
	Confidence    float64 // such as 0.95
	Constraints   []stats.Constraint

	MinBlocks int  // minimum before a verdict, unless the sweep has to end earlier; at least 3
	MaxBlocks int  // maximum of the race; twice as many for a single candidate, whose blocks are pairs
	Racing    bool // false: no candidate leaves early, unless its runs are invalid
	// ControlInterval is the maximum number of candidate runs between two baseline runs; 0 means 4. It does not
	// apply to an ordered Space.
	ControlInterval int
	// ConfirmationBlocks limits the fresh blocks that confirm the winner of a race. These blocks are pairs,
	// so twice this number is allowed.
	ConfirmationBlocks int

	MaxFailedRuns     int // one more failed run ends the sweep; those of withdrawn candidates do not count
	MaxRejectedBlocks int // for drift or missing runs of the baseline; one more rejected block ends the sweep
	Budget            Budget
	Expected          Cost // of one run, used until the first run has ended
	Seed              uint64
}

// Cost is the time that a run takes and the bytes that it writes.
type Cost struct {
	Time  time.Duration // from the change of configuration to the end of the run
	Bytes int64         // written
}

// Budget bounds a sweep. Zero fields set no bound.
type Budget struct {
	Time  time.Duration
	Bytes int64
	// Reserve is the part of Time that is kept for restoring the cluster.
	Reserve time.Duration
}

// Plan describes a sweep before its first run.
type Plan struct {
	Version  int // version of the planner that made the plan
	Space    Space
	Settings Settings
}

// Planner is a checked plan. It is immutable and safe for concurrent use.
type Planner struct {
	configurations []Configuration
	ordered        bool
	settings       Settings
}

// New checks a plan. Errors wrap ErrPlan.
func New(plan Plan) (*Planner, error) {
	if plan.Version != Version {
		return nil, fmt.Errorf("%w: made by planner version %d, this is %d", ErrPlan, plan.Version, Version)
	}
	if err := plan.Settings.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	configurations, err := plan.Space.Configurations()
	if err != nil {
		return nil, err
	}
	p := &Planner{configurations: configurations, ordered: plan.Space.Ordered, settings: plan.Settings}
	if smallest, _ := p.Estimate(); smallest.Runs > MaxLedger {
		return nil, fmt.Errorf("%w: the sweep needs %d runs at least, and the ledger has room for %d", ErrPlan, smallest.Runs, MaxLedger)
	}
	return p, nil
}

// Configurations lists the measured configurations, the baseline first. Ledger entries and decisions refer to
// configurations by their index in this list.
func (p *Planner) Configurations() []Configuration {
	return append([]Configuration(nil), p.configurations...)
}

func (s Settings) validate() error {
	if err := s.criteria(stats.Looks{}).Validate(); err != nil {
		return err
	}
	for _, k := range s.Constraints {
		if _, err := k.Check(stats.Contrast{}, s.Confidence); err != nil {
			return err
		}
	}
	switch {
	case len(s.Constraints) > MaxConstraints:
		return fmt.Errorf("%d constraints, at most %d", len(s.Constraints), MaxConstraints)
	case s.MinBlocks < stats.MinRuns || s.MaxBlocks < s.MinBlocks:
		return fmt.Errorf("blocks from %d to %d, want at least %d, and a maximum not below the minimum", s.MinBlocks, s.MaxBlocks, stats.MinRuns)
	case s.ConfirmationBlocks < stats.MinRuns:
		return fmt.Errorf("%d confirmation blocks, want at least %d", s.ConfirmationBlocks, stats.MinRuns)
	case s.ControlInterval < 0:
		return fmt.Errorf("ControlInterval is %d, but must not be negative", s.ControlInterval)
	case s.MaxFailedRuns < 0 || s.MaxRejectedBlocks < 0:
		return fmt.Errorf("a negative limit of failed runs or rejected blocks")
	case min(s.Budget.Time, s.Budget.Reserve, s.Expected.Time) < 0 || min(s.Budget.Bytes, s.Expected.Bytes) < 0:
		return fmt.Errorf("a negative budget or cost")
	}
	return nil
}

func (s Settings) controlInterval() int {
	if s.ControlInterval == 0 {
		return maxRunsWithoutCtrl
	}
	return s.ControlInterval
}

func (s Settings) criteria(looks stats.Looks) stats.Criteria {
	return stats.Criteria{
		Direction: s.Direction, MinimumEffect: s.MinimumEffect, Equivalence: s.Equivalence,
		Confidence: s.Confidence, Looks: looks, MaxRuns: looks.Last,
	}
}

// sole reports whether the plan has only one candidate. Such a race selects nothing, and needs no
// confirmation.
func (p *Planner) sole() bool { return len(p.configurations) == 2 }

// cutsFrom returns the number of blocks from which on candidates that lag behind leave the race. With
// constraints, it is MinBlocks: the leader may break a constraint, and constraints are not checked earlier.
// Without racing, it is the number of all blocks.
func (p *Planner) cutsFrom() int {
	switch {
	case !p.settings.Racing:
		return p.settings.MaxBlocks
	case len(p.settings.Constraints) > 0:
		return p.settings.MinBlocks
	}
	return firstCut
}

// MaxBlocks returns the maximum number of blocks of the race, and that of the confirmation; the latter is 0
// for a single candidate.
func (p *Planner) MaxBlocks() (race, confirmation int) {
	if p.sole() {
		return pairsForABlock * p.settings.MaxBlocks, 0
	}
	return p.settings.MaxBlocks, pairsForABlock * p.settings.ConfirmationBlocks
}

// looks returns the looks of a stage that has at most the given number of blocks. Each look may remove a
// candidate from the race, or end the confirmation. Without racing there is one look, after all blocks.
func (p *Planner) looks(blocks int) stats.Looks {
	first := min(p.settings.MinBlocks, blocks)
	if !p.settings.Racing {
		first = blocks
	}
	return stats.Looks{First: first, Last: blocks}
}

func (p *Planner) raceCriteria() stats.Criteria {
	blocks, _ := p.MaxBlocks()
	return p.settings.criteria(p.looks(blocks))
}

func (p *Planner) confirmationCriteria(blocks int) stats.Criteria {
	return p.settings.criteria(p.looks(blocks))
}
