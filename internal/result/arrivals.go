package result

import (
	"fmt"
	"math"
	"slices"
)

// ArrivalProcess says how operations are spaced in time.
type ArrivalProcess string

// The processes.
const (
	LinearArrivals  ArrivalProcess = "Linear"
	PoissonArrivals ArrivalProcess = "Poisson"
)

// Arrivals shows whether a generator of load followed its schedule. Only faults of the generator and of its host
// count here: the time for which the storage delayed it does not.
type Arrivals struct {
	// Process is Poisson if all arrivals are independent.
	Process ArrivalProcess `json:"process"`
	// Operations is the number of operations that were issued, including those of the ramp.
	Operations int64 `json:"operations"`
	// The lateness of an operation is the time from when it was due to its issue, without the time that earlier
	// submissions took in the meantime.
	LateP50Seconds float64 `json:"lateP50Seconds"`
	LateP99Seconds float64 `json:"lateP99Seconds"`
	LateMaxSeconds float64 `json:"lateMaxSeconds"`
	// AndersonDarling is the statistic A² of the distances between arrivals, against those of a Poisson process;
	// nil for evenly spaced arrivals, whose largest deviation is LateMaxSeconds, and for too few arrivals.
	AndersonDarling *float64 `json:"andersonDarling,omitempty"`
	// BusyShare is the share of the time in which the thread that submits operations used a CPU.
	BusyShare float64 `json:"busyShare"`
	// InFlightLimit is the generator's own limit of operations in flight, and MostInFlight the largest number
	// that it reached. Limited counts the waits at that limit.
	InFlightLimit int64 `json:"inFlightLimit"`
	MostInFlight  int64 `json:"mostInFlight"`
	Limited       int64 `json:"limited,omitempty"`
	// Unfinished counts the operations that were not done when the generator ended. They count in latencies with
	// the time that they had waited.
	Unfinished int64 `json:"unfinished,omitempty"`
	// Saturated says that the number of operations that were due but not done grew until the end.
	Saturated bool `json:"saturated,omitempty"`
}

// The limits of a generator that followed its schedule.
const (
	// LateLimitSeconds and LateLimitShare limit the 99th percentile of the lateness, by which the generator may be
	// wrong about that of the latency. The larger limit counts; the share is that of the latency.
	LateLimitSeconds = 0.001
	LateLimitShare   = 0.1
	// AndersonDarlingLimit is exceeded by one of 150,000 Poisson processes.
	AndersonDarlingLimit = 10
	// BusyShareLimit limits BusyShare. A thread with a larger share cannot keep up.
	BusyShareLimit = 0.9
)

// fault says why the generator did not follow its schedule, as the clause of a sentence; "" if it did. The argument
// is the 99th percentile of the latency.
func (a *Arrivals) fault(p99Seconds float64) string {
	limit := max(LateLimitSeconds, LateLimitShare*p99Seconds)
	switch {
	case a.Limited > 0:
		return fmt.Sprintf("%d operations waited because %d were in flight, which is the generator's own limit: use more clients", a.Limited, a.InFlightLimit)
	case a.BusyShare > BusyShareLimit:
		return fmt.Sprintf("the thread that submits operations was busy for %.0f %% of the time: use more clients, or a lower rate", 100*a.BusyShare)
	case a.LateP99Seconds > limit:
		return fmt.Sprintf("one of a hundred operations was issued %.3g ms late or later (limit %.3g ms): give the clients more CPU, or a lower rate",
			1e3*a.LateP99Seconds, 1e3*limit)
	case a.AndersonDarling != nil && *a.AndersonDarling > AndersonDarlingLimit:
		return fmt.Sprintf("the arrivals are not those of a Poisson process (Anderson-Darling A² is %.3g, limit %d): give the clients more CPU",
			*a.AndersonDarling, AndersonDarlingLimit)
	}
	return ""
}

// Warning says why a result has no latencies; nil if it has them. The argument is the 99th percentile of the latency.
func (a *Arrivals) Warning(p99Seconds float64) *Warning {
	if fault := a.fault(p99Seconds); fault != "" {
		return &Warning{Code: WarnOffSchedule, Message: "there are no latencies, because the generator did not follow its schedule: " + fault}
	}
	if a.Saturated {
		return &Warning{Code: WarnSaturated, Message: "there are no latencies, because the number of waiting operations grew until the end: the storage cannot take this rate"}
	}
	return nil
}

// merge combines the arrivals of two clients: each figure is the worse one, and counts add up.
func (a *Arrivals) merge(b *Arrivals) *Arrivals {
	if a == nil || b == nil {
		return nil
	}
	merged := &Arrivals{
		Process: a.Process, Operations: a.Operations + b.Operations,
		LateP50Seconds: max(a.LateP50Seconds, b.LateP50Seconds), LateP99Seconds: max(a.LateP99Seconds, b.LateP99Seconds),
		LateMaxSeconds: max(a.LateMaxSeconds, b.LateMaxSeconds), AndersonDarling: both(a.AndersonDarling, b.AndersonDarling, math.Max),
		BusyShare: max(a.BusyShare, b.BusyShare), InFlightLimit: min(a.InFlightLimit, b.InFlightLimit),
		MostInFlight: max(a.MostInFlight, b.MostInFlight), Limited: a.Limited + b.Limited,
		Unfinished: a.Unfinished + b.Unfinished, Saturated: a.Saturated || b.Saturated,
	}
	if b.Process == LinearArrivals {
		merged.Process = LinearArrivals
	}
	return merged
}

func (a *Arrivals) validate() error {
	if a.Process != LinearArrivals && a.Process != PoissonArrivals {
		return fmt.Errorf("arrivals: unknown process %q", a.Process)
	}
	figures := []float64{a.LateP50Seconds, a.LateP99Seconds, a.LateMaxSeconds, a.BusyShare}
	if a.AndersonDarling != nil {
		figures = append(figures, *a.AndersonDarling)
	}
	if slices.ContainsFunc(figures, func(v float64) bool { return !isQuantity(v) }) {
		return fmt.Errorf("arrivals: impossible figures: %v", figures)
	}
	if min(a.Operations, a.InFlightLimit, a.MostInFlight, a.Limited, a.Unfinished) < 0 {
		return fmt.Errorf("arrivals: a count is below 0")
	}
	return nil
}

// AndersonDarling returns the statistic A² of values against the uniform distribution from 0 to 1. It sorts the
// values.
func AndersonDarling(values []float64) float64 {
	slices.Sort(values)
	const least = 1e-15 // The logarithm of 0 would be infinite.
	sum, n := 0.0, len(values)
	for i := range values {
		low, high := max(values[i], least), max(1-values[n-1-i], least)
		sum += float64(2*i+1) * (math.Log(low) + math.Log(high))
	}
	return max(0, -float64(n)-sum/float64(n))
}
