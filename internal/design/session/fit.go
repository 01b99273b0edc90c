package session

import (
	"math"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
)

// Offered is the rate that all clients together have to reach in each direction; 0 if the load has no rate.
type Offered struct {
	IOPS           float64 `json:"iops,omitempty"`
	BytesPerSecond float64 `json:"bytesPerSecond,omitempty"`
}

// enoughOfRate is the share of the offered rate that the baseline has to reach. It is below 1 like that of a
// benchmark's phase, because operations are in flight at the end of a window.
const enoughOfRate = 0.95

// Mark returns the mark of a session. The state of the clients and of their hosts is that of the whole session,
// and so independent of the treatments.
func (e Evidence) Mark(q Question) fitness.Mark {
	if mark := fitness.Of(e.Usage).Mark(); mark != "" {
		return mark
	}
	if reached, known := e.baselineReached(q.Offered); known && reached < enoughOfRate {
		return fitness.BelowRate
	}
	return ""
}

// Fed returns the sessions in which clients and their hosts had enough CPU.
func Fed(all []Summary) []Summary {
	return slices.DeleteFunc(slices.Clone(all), func(s Summary) bool { return s.Mark.Starves() })
}

// Withhold withholds each gain that only starved sessions prove. The parameter without has the findings of the
// other sessions, which have to show the gain in the same scope.
func Withhold(all, without []Finding) []Finding {
	all = slices.Clone(all)
	for i, f := range all {
		if f.Verdict == stats.Superior || f.Verdict == stats.Better {
			var shown stats.Assessment
			if without[i].Scope == f.Scope {
				shown = without[i].Assessment
			}
			f.Assessment = f.Assessment.Withheld(shown)
			f.Verdict = f.Assessment.Verdict
			all[i] = f
		}
	}
	return all
}

// baselineReached returns the share of the offered rate that the clients reached in the windows of the baseline.
// If the load mixes reads and writes, it returns the larger share, as one direction waits for the other. It
// returns false without an offered rate, and without windows that count. Arrivals vary, so it adds three
// standard deviations of their number.
func (e Evidence) baselineReached(rate Offered) (share float64, known bool) {
	metric, offered := v1alpha1.MetricIOPS, rate.IOPS
	if offered == 0 {
		metric, offered = v1alpha1.MetricBandwidth, rate.BytesPerSecond
	}
	if offered == 0 {
		return 0, false
	}
	for _, direction := range []v1alpha1.Direction{v1alpha1.DirectionRead, v1alpha1.DirectionWrite} {
		windows, covered, err := e.Windows(Figure{Metric: metric, Direction: direction})
		if err != nil {
			return 0, false
		}
		sum, n := 0.0, 0
		for i, faulty := range e.faults(covered) {
			if w := windows[i]; w.Treatment == switchback.Baseline && !faulty {
				sum, n = sum+w.Figure, n+1
			}
		}
		if n == 0 {
			return 0, false
		}
		share = max(share, sum/float64(n)/offered)
		if metric == v1alpha1.MetricIOPS {
			counted := float64(n) * (e.Plan.Window - e.Plan.Timing.WashOut).Seconds()
			share = max(share, (sum/float64(n)*counted+3*math.Sqrt(offered*counted))/(offered*counted))
		}
	}
	return share, true
}
