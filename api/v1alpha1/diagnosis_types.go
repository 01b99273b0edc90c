package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Diagnosis asks why the cluster is slow. The operator watches Ceph for some time, compares its OSDs with each other,
// and goes through a list of known causes. It sends no load, and changes nothing.
type Diagnosis struct {
	// pool is the pool that seems slow. Some causes are looked for only in a pool that is named here.
	// +optional
	Pool PoolName `json:"pool,omitempty"`

	// duration is how long Ceph is watched. Only OSDs that write meanwhile can be compared, so clients should be at
	// work. A longer time finds smaller differences.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s') && duration(self) <= duration('10m')",message="must be between 30s and 10m"
	Duration metav1.Duration `json:"duration,omitzero"`
}

// Confidence says how sure a finding is.
// +kubebuilder:validation:Enum=Certain;Likely;Possible
type Confidence string

// The confidences.
const (
	// ConfidenceCertain means that Ceph itself reports that it delays or refuses operations, or that part of the
	// cluster is missing.
	ConfidenceCertain Confidence = "Certain"
	// ConfidenceLikely means that it was measured, or is known to cost speed. How much it costs here is unknown.
	ConfidenceLikely Confidence = "Likely"
	// ConfidencePossible means that it costs speed under some loads.
	ConfidencePossible Confidence = "Possible"
)

// Finding is a cause for which there is evidence.
type Finding struct {
	// code names the cause. It never changes, so scripts may rely on it.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Code string `json:"code"`

	// confidence says how sure the finding is: Certain, Likely or Possible.
	// +required
	Confidence Confidence `json:"confidence"`

	// message is the cause in a sentence.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message"`

	// evidence has the observations, with their units.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=160
	Evidence []string `json:"evidence,omitempty"`

	// remedy says what to do, or which sweep shows whether a remedy works.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Remedy string `json:"remedy,omitempty"`
}

// DiagnosisResult is the outcome of a diagnosis.
type DiagnosisResult struct {
	// findings are the causes for which there is evidence, the surest first. Each code occurs once. At most 16 are kept.
	// +optional
	// +listType=map
	// +listMapKey=code
	// +kubebuilder:validation:MaxItems=16
	Findings []Finding `json:"findings,omitempty"`

	// unchecked lists what could not be checked, and why.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=192
	Unchecked []string `json:"unchecked,omitempty"`

	// samples is how often Ceph's state was read.
	// +optional
	Samples int32 `json:"samples,omitempty"`
}
