package curve

import "math"

// Question is what is asked, and what the answer may cost.
type Question struct {
	Percent      float64 `json:"percent"` // 99 asks for the 99th percentile
	LimitSeconds float64 `json:"limitSeconds"`
	Confidence   float64 `json:"confidence"`  // of the interval, such as 0.95
	HalfWidth    float64 `json:"halfWidth"`   // the widest half of the interval that is an answer, relative to the rate
	MaxSteps     int     `json:"maxSteps"`    // with an open loop, also those with a fault
	StepSeconds  float64 `json:"stepSeconds"` // that count in each step
	Seed         uint64  `json:"seed"`
	// InTurns says that the steps are made in turns with those of another course, for the [Ratio] of both knees. Such a
	// course has no end of its own, so MaxSteps and HalfWidth do not matter. What disturbs both courses widens their
	// intervals, and is no reason to give none.
	InTurns bool `json:"inTurns,omitempty"`
}

// Defaults for a Question. 21 steps of 20 s with 2 s of ramp, and the closed loop, take 8 minutes.
const (
	DefaultMaxSteps    = 21
	DefaultStepSeconds = 20
	DefaultConfidence  = 0.95
	DefaultHalfWidth   = 0.10
)

// Purpose says why a step is made.
type Purpose string

// The purposes, in their order.
const (
	Grid    Purpose = "Grid"    // finds the neighbourhood of the knee
	Near    Purpose = "Knee"    // measures close to the knee
	Confirm Purpose = "Confirm" // measures afresh at the lower end of the interval
)

// Second counts the operations that were due in a second of a step.
type Second struct {
	Count int64 `json:"count"`
	Over  int64 `json:"over"`
}

// Step is a time with one rate. Operations of its ramp do not count.
type Step struct {
	Purpose           Purpose `json:"purpose"`
	OfferedPerSecond  float64 `json:"offeredPerSecond"`
	AchievedPerSecond float64 `json:"achievedPerSecond"`
	// Saturated means that the storage could not take the rate. Such a step has no latency, and did not keep the limit.
	Saturated bool `json:"saturated,omitempty"`
	// Fault is a clause that says why the step is no evidence, such as "the load was off its schedule". It is empty for a good step.
	Fault             string  `json:"fault,omitempty"`
	Count             int64   `json:"count"`
	Over              int64   `json:"over"` // operations slower than the limit
	PercentileSeconds float64 `json:"percentileSeconds,omitempty"`
	// The following figures only describe the step. They are 0 if they are unknown.
	P50Seconds  float64 `json:"p50Seconds,omitempty"`
	P95Seconds  float64 `json:"p95Seconds,omitempty"`
	P99Seconds  float64 `json:"p99Seconds,omitempty"`
	P999Seconds float64 `json:"p999Seconds,omitempty"`
	// LateP99Seconds is the 99th percentile of the lateness of the load's own generators, the worst client's, and
	// MostInFlight the largest number of operations in flight, over all clients.
	LateP99Seconds float64 `json:"lateP99Seconds,omitempty"`
	MostInFlight   int64   `json:"mostInFlight,omitempty"`
	// Seconds show how much operations of one step depend on each other. Without them, operations count as independent.
	Seconds []Second `json:"seconds,omitempty"`
}

// Decision is what to do next.
type Decision struct {
	Done             bool // The course has ended: Judge has the answer.
	Purpose          Purpose
	OfferedPerSecond float64
}

// State says what kind of answer a Knee is.
type State string

// The states.
const (
	Found        State = "Found"
	Inconclusive State = "Inconclusive"
	// BelowIdle means that even the lowest rate exceeds the limit.
	BelowIdle State = "BelowIdle"
	// NeverExceeded means that the limit is kept until the storage cannot take the rate: the knee is where it saturates.
	NeverExceeded State = "NeverExceeded"
)

// Knee is the highest rate that keeps the limit, with its interval. The rates are 0 if they are unknown.
type Knee struct {
	State State `json:"state"`
	// Reason has sentences for the user: what happened, why, and what to do.
	Reason        string  `json:"reason"`
	PerSecond     float64 `json:"perSecond,omitempty"`
	LowPerSecond  float64 `json:"lowPerSecond,omitempty"`
	HighPerSecond float64 `json:"highPerSecond,omitempty"`
	// Confirmed means that most of the fresh steps at the lower end of the interval kept the limit.
	Confirmed bool `json:"confirmed,omitempty"`
	// UsedSteps is the number of steps near the knee that the interval comes from. ConfirmSteps is the number of fresh steps among them,
	// of which KeptSteps kept the limit. FaultSteps say nothing.
	UsedSteps    int `json:"usedSteps"`
	ConfirmSteps int `json:"confirmSteps"`
	KeptSteps    int `json:"keptSteps"`
	FaultSteps   int `json:"faultSteps"`
}

// HalfWidth is half of the interval, relative to the rate.
func (k Knee) HalfWidth() float64 {
	if !(k.LowPerSecond > 0 && k.HighPerSecond > 0) {
		return math.Inf(1)
	}
	return (k.HighPerSecond - k.LowPerSecond) / 2 / k.PerSecond
}
