package sweep

import (
	"cmp"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Estimate is the cost of a sweep in runs, time and bytes.
type Estimate struct {
	Runs  int
	Time  time.Duration
	Bytes int64
}

// Estimate returns the cost of the smallest sweep that can end with a winner, and of the largest sweep. It
// assumes that each run has its expected cost and is valid, and that each block has its maximum number of runs.
// The smallest sweep has the minimum number of blocks in the race and in the confirmation. Estimate ignores
// that a sweep may have fewer blocks when its budget or ledger is nearly used up.
func (p *Planner) Estimate() (smallest, largest Estimate) {
	perBlock, perConfirmation := p.runsPerBlock(len(p.configurations)-1), p.runsPerBlock(1)
	race, confirmation := p.MaxBlocks()
	return p.cost(p.fewestBlocks()*perBlock + p.looks(confirmation).First*perConfirmation),
		p.cost(race*perBlock + confirmation*perConfirmation)
}

// fewestBlocks returns the minimum number of race blocks. Each of them contains every candidate.
func (p *Planner) fewestBlocks() int {
	race, _ := p.MaxBlocks()
	if p.sole() {
		return p.looks(race).First
	}
	return p.cutsFrom()
}

func (p *Planner) cost(runs int) Estimate {
	expected := p.settings.Expected
	return Estimate{Runs: runs, Time: time.Duration(runs) * expected.Time, Bytes: int64(runs) * expected.Bytes}
}

// Affordable reports whether the budget covers the estimated bytes, and the estimated time with the reserve
// for restoring.
func (b Budget) Affordable(e Estimate) bool {
	return (b.Time == 0 || e.Time+b.Reserve <= b.Time) && (b.Bytes == 0 || e.Bytes <= b.Bytes)
}

// SmallestProvableRatio returns the smallest true effect that the blocks behind the verdict prove with a
// probability of at least 80 %. The effect is a ratio, candidate ÷ baseline. The noise is that between runs. The
// parameter confirmation is the number of these blocks. If it is 0, the blocks are all that the plan allows: in
// the confirmation or, for a single candidate, in the race.
func (p *Planner) SmallestProvableRatio(noise stats.Noise, confirmation int) (float64, error) {
	race, most := p.MaxBlocks()
	blocks := cmp.Or(confirmation, most, race)
	return stats.SmallestProvableRatio(p.settings.criteria(p.looks(blocks)), noise, blocks)
}

// spent is the cost of the runs in the ledger so far.
type spent struct {
	runs    int
	seconds int
	mib     int64
}

func (s *spent) add(r Run) {
	s.runs++
	s.seconds += r.Seconds
	s.mib += r.MiB
}

func (s spent) time() time.Duration { return time.Duration(s.seconds) * time.Second }

func (s spent) bytes() int64 { return s.mib << 20 }

// perRun returns the mean cost of the runs so far, or the expected cost before the first
// run.
func (s spent) perRun(expected Cost) Cost {
	if s.runs == 0 {
		return expected
	}
	return Cost{Time: s.time() / time.Duration(s.runs), Bytes: s.bytes() / int64(s.runs)}
}

// affords reports whether the given number of further runs fits into the budget and into the ledger.
func (p *Planner) affords(s spent, runs int) bool {
	each := s.perRun(p.settings.Expected)
	return s.runs+runs <= MaxLedger && p.settings.Budget.Affordable(Estimate{
		Time:  s.time() + time.Duration(runs)*each.Time,
		Bytes: s.bytes() + int64(runs)*each.Bytes,
	})
}
