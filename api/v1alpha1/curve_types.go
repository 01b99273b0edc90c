package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Rules of Curve.
//
// +kubebuilder:validation:XValidation:message="metric must be LatencyP50, LatencyP95, LatencyP99 or LatencyP999: a
//    curve looks for the rate at which a percentile stays within a limit",
//   rule="self.metric in ['LatencyP50', 'LatencyP95', 'LatencyP99', 'LatencyP999']"
// +kubebuilder:validation:XValidation:message="atMost must be a time, such as 10ms",
//   rule="string(self.atMost).endsWith('s')"

// Curve asks how many operations a second the target sustains within a limit of latency. After the closed loop,
// whose rate shows where to look, the same clients offer one rate after another, as independent arrivals, and
// latencies count from when an operation was due. The phase then has the metric SustainableIOPS: the highest rate
// that keeps the limit. A curve loads the target beyond what it can take.
type Curve struct {
	// metric is the percentile that is limited: LatencyP50, LatencyP95, LatencyP99 or LatencyP999.
	// +optional
	// +kubebuilder:default=LatencyP99
	Metric Metric `json:"metric,omitempty"`

	// atMost is the limit, such as `10ms`.
	// +required
	AtMost Threshold `json:"atMost"`

	// direction says whose latency is limited: that of all operations, of reads, or of writes.
	// +optional
	// +kubebuilder:default=Total
	Direction Direction `json:"direction,omitempty"`

	// stepDuration is how long each rate is measured. Before that, it is offered for 2 s without measuring.
	// +optional
	// +kubebuilder:default="20s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('10m')",message="must be between 10s and 10m"
	StepDuration metav1.Duration `json:"stepDuration,omitzero"`

	// maxSteps is the largest number of steps. If the limit's rate is not known by then, the curve is Inconclusive.
	// +optional
	// +kubebuilder:default=21
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=40
	MaxSteps int32 `json:"maxSteps,omitempty"`
}

// CurveState says what is known about the rate that a curve looks for.
// +kubebuilder:validation:Enum=Found;Saturates;BelowIdle;Inconclusive
type CurveState string

// The states.
const (
	// CurveFound means that higher rates exceed the limit, and lower ones keep it.
	CurveFound CurveState = "Found"
	// CurveSaturates means that the limit is kept up to the rate that the target cannot take.
	CurveSaturates CurveState = "Saturates"
	// CurveBelowIdle means that no rate keeps the limit.
	CurveBelowIdle CurveState = "BelowIdle"
	// CurveInconclusive means that the steps disagree, or are too few.
	CurveInconclusive CurveState = "Inconclusive"
)

// CurveResult says how the curve of the latest valid run ended. The full results have its steps.
type CurveResult struct {
	// state is Found, Saturates, BelowIdle or Inconclusive.
	// +required
	State CurveState `json:"state"`

	// reason says which rate keeps the limit, or why none is known, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}
