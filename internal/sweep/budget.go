package sweep

import (
	"cmp"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Estimate is what a design takes.
type Estimate struct {
	Runs  int
	Time  time.Duration
	Bytes int64
}

// Estimate returns what the smallest and the largest course of the sweep take,
// if runs cost what is expected and none is repeated. The smallest has the
// fewest blocks of everything and the fewest blocks of confirmation.
func (p *Planner) Estimate() (smallest, largest Estimate) {
	perBlock, perConfirmation := p.runsPerBlock(len(p.configurations)-1), p.runsPerBlock(1)
	race, confirmation := p.MaxBlocks()
	return p.cost(p.fewestBlocks()*perBlock + p.looks(confirmation).First*perConfirmation),
		p.cost(race*perBlock + confirmation*perConfirmation)
}

// fewestBlocks is how many blocks of everything a race has at least.
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

// Affordable reports whether the budget holds a design and the reserve for
// restoring. Preflight refuses a sweep whose smallest design it does not hold.
func (b Budget) Affordable(e Estimate) bool {
	return (b.Time == 0 || e.Time+b.Reserve <= b.Time) && (b.Bytes == 0 || e.Bytes <= b.Bytes)
}

// SmallestProvableRatio is the smallest true effect, as candidate ÷ baseline,
// that the verdict's blocks would prove four times out of five, given the noise of runs.
// Of a confirmation it is so many; 0 is for all blocks of the largest design.
func (p *Planner) SmallestProvableRatio(noise stats.Noise, confirmation int) (float64, error) {
	race, most := p.MaxBlocks()
	blocks := cmp.Or(confirmation, most, race)
	return stats.SmallestProvableRatio(p.settings.criteria(p.looks(blocks)), noise, blocks)
}

// spent is what the ledger has cost so far.
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

// perRun is what runs have cost on average, or were expected to before any.
func (s spent) perRun(expected Cost) Cost {
	if s.runs == 0 {
		return expected
	}
	return Cost{Time: s.time() / time.Duration(s.runs), Bytes: s.bytes() / int64(s.runs)}
}

// affords reports whether so many more runs fit into budget and ledger.
func (p *Planner) affords(s spent, runs int) bool {
	each := s.perRun(p.settings.Expected)
	return s.runs+runs <= MaxLedger && p.settings.Budget.Affordable(Estimate{
		Time:  s.time() + time.Duration(runs)*each.Time,
		Bytes: s.bytes() + int64(runs)*each.Bytes,
	})
}
