package openloop

import (
	"math"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/cephtune/cephtune/internal/result"
)

const (
	// shortestStep is the shortest time between two arrivals of which the distance is tested. The lateness that
	// is allowed would spoil the test of shorter distances.
	shortestStep = 20 * time.Millisecond
	// maxSteps limits the memory for the times of arrivals.
	maxSteps = 2000
	// minSteps is the least number of steps for a test.
	minSteps = 20
)

// punctuality measures how exactly operations were issued.
type punctuality struct {
	late    tally
	steps   []time.Duration // the issue of every stride-th operation
	stride  int64
	issued  int64
	busy    time.Duration // CPU time of the thread that submits
	seconds float64
	// rows has the lateness of the operations that were due in each row, in coarse bins; nil unless the load has
	// histograms. The reader deletes what it has read.
	rows map[int]*[lateBins]int64
	ramp time.Duration
}

// A coarse bin of lateness is finesPerLateBin bins of [result.Histogram]: 12 % of its value.
const (
	finesPerLateBin = 8
	lateBins        = result.NumBins / finesPerLateBin
)

func newPunctuality(l *Load) *punctuality {
	p := &punctuality{stride: int64(math.Ceil(l.rate() * shortestStep.Seconds())), ramp: l.ramp()}
	if l.Histograms {
		p.rows = map[int]*[lateBins]int64{}
	}
	return p
}

// lateness returns the lateness of the operations that were due in a row, and forgets it; nil without operations.
func (p *punctuality) lateness(row int) *result.Histogram {
	counts := p.rows[row]
	if counts == nil {
		return nil
	}
	delete(p.rows, row)
	h := &result.Histogram{}
	for i, n := range counts {
		if n > 0 { // The highest value of the bin stands for all.
			h.Bins = append(h.Bins, result.Bin{Nanoseconds: result.BinNanoseconds((i+1)*finesPerLateBin - 1), Count: n})
		}
	}
	return h
}

// submissions has the time that the latest submissions took.
type submissions struct {
	spans []struct{ from, to time.Duration }
	head  int           // of spans; earlier ones have ended before the latest argument of since
	total time.Duration // of the spans from head on
}

func (s *submissions) add(from, to time.Duration) {
	s.spans = append(s.spans, struct{ from, to time.Duration }{from, to})
	s.total += to - from
}

// since returns how much time submissions took since an operation was due. Its arguments must not fall.
func (s *submissions) since(due time.Duration) time.Duration {
	for s.head < len(s.spans) && s.spans[s.head].to <= due {
		s.total -= s.spans[s.head].to - s.spans[s.head].from
		s.head++
	}
	if s.head == len(s.spans) {
		s.spans, s.head = s.spans[:0], 0
		return 0
	}
	return s.total - max(0, due-s.spans[s.head].from)
}

// add counts an operation and its lateness, without the time for which the storage blocked the submission of an
// earlier one.
func (p *punctuality) add(due, lateness time.Duration) {
	p.late.add(lateness)
	if row := rowOf(due, p.ramp); p.rows != nil && row >= 0 {
		if p.rows[row] == nil {
			p.rows[row] = &[lateBins]int64{}
		}
		p.rows[row][result.BinIndex(int64(lateness))/finesPerLateBin]++
	}
	if p.issued%p.stride == 0 {
		if len(p.steps) == maxSteps {
			p.thin()
		}
		if p.issued%p.stride == 0 {
			p.steps = append(p.steps, due+lateness)
		}
	}
	p.issued++
}

// thin drops every second step.
func (p *punctuality) thin() {
	for i := range maxSteps / 2 {
		p.steps[i] = p.steps[2*i]
	}
	p.steps = p.steps[:maxSteps/2]
	p.stride *= 2
}

func (p *punctuality) arrivals(l *Load) *result.Arrivals {
	a := &result.Arrivals{Process: result.LinearArrivals, Operations: p.issued}
	poisson := true
	for _, c := range l.Copies {
		poisson = poisson && c.Poisson
	}
	if poisson {
		a.Process = result.PoissonArrivals
		a.AndersonDarling = p.andersonDarling(l.rate())
	}
	if late := p.late.latency(); late != nil {
		a.LateP50Seconds, a.LateP99Seconds = percentile(late, 50), percentile(late, 99)
		a.LateMaxSeconds = p.late.maxSeconds
	}
	if p.seconds > 0 {
		a.BusyShare = p.busy.Seconds() / p.seconds
	}
	return a
}

func percentile(l *result.Latency, percent float64) float64 {
	p, _ := l.Percentile(percent)
	return p.Seconds
}

// andersonDarling compares the distances of every stride-th arrival with the gamma distribution that they have in
// a Poisson process with the rate. It returns nil for too few distances.
func (p *punctuality) andersonDarling(rate float64) *float64 {
	var uniform []float64
	for i := 1; i < len(p.steps); i++ {
		distance := (p.steps[i] - p.steps[i-1]).Seconds()
		uniform = append(uniform, mathext.GammaIncReg(float64(p.stride), max(0, distance)*rate))
	}
	if len(uniform) < minSteps {
		return nil
	}
	a := result.AndersonDarling(uniform)
	return &a
}
