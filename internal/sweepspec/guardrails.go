package sweepspec

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
)

// ForeignSample is the use of the cluster's pools at one time. It is checked against
// guardrails.foreignClients.
type ForeignSample struct {
	Time  time.Time
	Pools map[v1alpha1.PoolName]PoolUse
}

// PoolUse describes the load and latency of a pool.
type PoolUse struct {
	BytesPerSecond, OperationsPerSecond float64
	// OSDLatencySeconds is the worst commit latency of all OSDs, whether or not they store the pool.
	OSDLatencySeconds float64
}

// badSamples is the number of consecutive samples that have to break a limit. A single bad sample may be an
// error of the measurement.
const badSamples = 2

// Breach is a limit that badSamples consecutive samples break.
type Breach struct {
	Limit   v1alpha1.ForeignClientLimit
	Message string
}

// Breached returns the first limit that the latest badSamples samples all break; nil without such a limit.
// Samples are in chronological order. A sample without data for a limit's pool is skipped, because Ceph did
// not report the pool.
//
// For a limit whose value cannot be parsed, Breached returns an error, unless an earlier limit is broken.
// Admission refuses such values.
func Breached(limits []v1alpha1.ForeignClientLimit, samples []ForeignSample) (*Breach, error) {
	for _, limit := range limits {
		metric := v1alpha1.MetricLatencyMax
		if limit.Metric != v1alpha1.ForeignOSDLatency {
			metric = v1alpha1.Metric(limit.Metric)
		}
		threshold, err := figure.ParseThreshold(metric, limit.AtMost+limit.AtLeast) // Exactly one of them is set.
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
			return &Breach{Limit: limit, Message: fmt.Sprintf("%s of pool %s is %s in %d consecutive samples; %s",
				limit.Metric, limit.Pool, figure.Human(metric, last), bad, demand(limit))}, nil
		}
	}
	return nil, nil //nolint:nilnil // The doc comment explains nil.
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
	return fmt.Sprintf("at least %s is required.", limit.AtLeast)
}
