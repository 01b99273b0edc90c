package sweep

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Version of the planner. It changes whenever the same ledger could lead to
// another decision. A controller that finds another version in a sweep's status
// finishes the block it knows the order of, or concludes; it does not hand the
// ledger to this planner.
const Version = 3

const (
	// MaxLedger bounds the ledger, which lives in a status.
	MaxLedger = 400
	// MaxConstraints keeps an entry of the ledger within 96 bytes.
	MaxConstraints = 3

	firstLook          = stats.MinRuns // racing looks after this block and each later one
	confirmationFloor  = 5             // blocks; the lead of a winner is optimistic
	maxRunsWithoutCtrl = 4             // runs of candidates between two of the baseline, unless settings say otherwise
	triesPerSlot       = 2             // an invalid run is repeated once, in its place
	missesToWithdraw   = 2             // blocks without a valid run that withdraw a candidate
	noiseDF            = 8             // degrees of freedom before noise is believed enough to reject a block
)

// Settings are everything about a sweep that its verdicts depend on, fixed
// before the first run.
type Settings struct {
	Direction     stats.Direction
	MinimumEffect float64 // fraction, such as 0.10
	Equivalence   float64 // fraction, such as 0.05
	Confidence    float64 // such as 0.95
	Constraints   []stats.Constraint

	MinBlocks int // of the race; at least 3
	MaxBlocks int
	Racing    bool // false: MaxBlocks of everything
	// ControlInterval is the most runs of candidates between two of the baseline;
	// 0 means 4.
	ControlInterval int
	// ConfirmationBlocks is the most fresh blocks spent on confirming the
	// winner; how many it is follows from the race.
	ConfirmationBlocks int

	MaxFailedRuns     int // one more ends the sweep; those of candidates that were withdrawn do not count
	MaxRejectedBlocks int // for drift or lost controls; one more ends the sweep
	Budget            Budget
	Expected          Cost // of one run, until runs have shown theirs
	Seed              uint64
}

// Cost is what a run takes.
type Cost struct {
	Time  time.Duration // from the change of configuration to the end of the run
	Bytes int64         // written
}

// Budget bounds a sweep. Zero fields set no bound.
type Budget struct {
	Time  time.Duration
	Bytes int64
	// Reserve is the part of Time kept for restoring the cluster.
	Reserve time.Duration
}

// Plan is what a sweep is going to do, before it has done any of it.
type Plan struct {
	Version  int // of the planner that made it
	Space    Space
	Settings Settings
}

// Planner is a checked plan. It is immutable and safe for concurrent use.
type Planner struct {
	configurations []Configuration
	inTurn         bool
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
	p := &Planner{configurations: configurations, inTurn: plan.Space.InTurn, settings: plan.Settings}
	if smallest, _ := p.Estimate(); smallest.Runs > MaxLedger {
		return nil, fmt.Errorf("%w: the smallest design takes %d runs, at most %d", ErrPlan, smallest.Runs, MaxLedger)
	}
	return p, nil
}

// Configurations lists what is measured, the baseline first. Indexes into it
// are what ledger and decisions speak of.
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
		return fmt.Errorf("blocks from %d to %d, want at least %d", s.MinBlocks, s.MaxBlocks, stats.MinRuns)
	case s.ConfirmationBlocks < stats.MinRuns:
		return fmt.Errorf("%d confirmation blocks, want at least %d", s.ConfirmationBlocks, stats.MinRuns)
	case s.ControlInterval < 0:
		return fmt.Errorf("a control every %d runs", s.ControlInterval)
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
		Confidence: s.Confidence, Looks: looks, MaxRuns: s.MaxBlocks,
	}
}

// raceCriteria judge the race, in which every look may end a candidate's part.
func (s Settings) raceCriteria() stats.Criteria {
	if !s.Racing {
		return s.criteria(stats.Looks{})
	}
	return s.criteria(stats.Looks{First: firstLook, Last: s.MaxBlocks})
}

// confirmationCriteria judge fresh blocks of one candidate, once.
func (s Settings) confirmationCriteria() stats.Criteria {
	c := s.criteria(stats.Looks{})
	c.MaxRuns = s.ConfirmationBlocks
	return c
}
