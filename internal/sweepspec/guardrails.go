package sweepspec

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
)

// ForeignSample is what was seen of pools whose users are protected, at one moment.
type ForeignSample struct {
	Time  time.Time
	Pools map[v1alpha1.PoolName]PoolUse
}

// PoolUse is how a pool fares.
type PoolUse struct {
	BytesPerSecond, OperationsPerSecond float64
	// OSDLatencySeconds is the worst commit latency of the OSDs that store it.
	OSDLatencySeconds float64
}

// badSamples is how often in a row a limit has to be broken: one sample may be a
// hiccup of the one who asks.
const badSamples = 2

// Breach is a limit that was broken in two samples running.
type Breach struct {
	Limit   v1alpha1.ForeignClientLimit
	Message string
}

// Breached returns the first of the limits that the latest samples break, or nil.
// Samples are in the order of time. One that says nothing of a pool, because the
// manager could not ask, neither breaks a limit nor keeps it: it does not count.
//
// It fails for a limit that admission would have refused.
func Breached(limits []v1alpha1.ForeignClientLimit, samples []ForeignSample) (*Breach, error) {
	for _, limit := range limits {
		metric := v1alpha1.MetricLatencyMax
		if limit.Metric != v1alpha1.ForeignOSDLatency {
			metric = v1alpha1.Metric(limit.Metric)
		}
		threshold, err := figure.ParseThreshold(metric, limit.AtMost+limit.AtLeast) // One of them is empty.
		if err != nil {
			return nil, refuse("guardrails.foreignClients of pool %s: %v", limit.Pool, err)
		}
		bad, last := 0, 0.0
		for i := len(samples) - 1; i >= 0 && bad < badSamples; i-- {
			use, known := samples[i].Pools[limit.Pool]
			if !known {
				continue
			}
			value := use.figure(limit.Metric)
			if limit.AtMost != "" && value <= threshold || limit.AtLeast != "" && value >= threshold {
				break
			}
			if bad++; bad == 1 {
				last = value
			}
		}
		if bad == badSamples {
			return &Breach{Limit: limit, Message: fmt.Sprintf("%s of pool %s is %s in %d samples running; %s",
				limit.Metric, limit.Pool, figure.Human(metric, last), bad, demand(limit))}, nil
		}
	}
	return nil, nil //nolint:nilnil // Documented: there is none.
}

func (u PoolUse) figure(m v1alpha1.ForeignClientMetric) float64 {
	switch m {
	case v1alpha1.ForeignBandwidth:
		return u.BytesPerSecond
	case v1alpha1.ForeignIOPS:
		return u.OperationsPerSecond
	case v1alpha1.ForeignOSDLatency:
	}
	return u.OSDLatencySeconds
}

func demand(limit v1alpha1.ForeignClientLimit) string {
	if limit.AtMost != "" {
		return fmt.Sprintf("at most %s is allowed.", limit.AtMost)
	}
	return fmt.Sprintf("at least %s has to be left.", limit.AtLeast)
}
