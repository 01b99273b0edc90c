package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RadosBenchMode is the kind of load of `rados bench`.
// +kubebuilder:validation:Enum=Write;Seq;Rand
type RadosBenchMode string

// The modes.
const (
	RadosBenchWrite RadosBenchMode = "Write"
	RadosBenchSeq   RadosBenchMode = "Seq"
	RadosBenchRand  RadosBenchMode = "Rand"
)

// RadosBenchDestination is where in an object the data is written.
// +kubebuilder:validation:Enum=Object;OMap;XAttr
type RadosBenchDestination string

// The destinations.
const (
	RadosBenchObject RadosBenchDestination = "Object"
	RadosBenchOMap   RadosBenchDestination = "OMap"
	RadosBenchXAttr  RadosBenchDestination = "XAttr"
)

// AllocationHints says whether `rados bench` announces object sizes to the OSDs.
// +kubebuilder:validation:Enum=Send;Omit
type AllocationHints string

// The choices.
const (
	AllocationHintsSend AllocationHints = "Send"
	AllocationHintsOmit AllocationHints = "Omit"
)

// Verification says whether reads are compared with the written data.
// +kubebuilder:validation:Enum=Contents;None
type Verification string

// The choices.
const (
	VerificationContents Verification = "Contents"
	VerificationNone     Verification = "None"
)

// Rules of RadosBench.
//
// +kubebuilder:validation:XValidation:message="destination is for mode Write; rados bench reads plain objects only",
//   rule="self.mode == 'Write' || self.destination == 'Object'"
// +kubebuilder:validation:XValidation:message="allocationHints is for mode Write",
//   rule="self.mode == 'Write' || self.allocationHints == 'Send'"
// +kubebuilder:validation:XValidation:message="reuseObjects is for mode Write; reads always use the prefilled
//    objects",
//   rule="self.mode == 'Write' || !self.reuseObjects"
// +kubebuilder:validation:XValidation:message="verification is for modes Seq and Rand",
//   rule="self.mode != 'Write' || self.verification == 'Contents'"
// +kubebuilder:validation:XValidation:message="objectSize is for destination Object",
//   rule="!has(self.objectSize) || self.destination == 'Object'"
// +kubebuilder:validation:XValidation:message="objectSize must be a multiple of blockSize",
//   rule="!has(self.objectSize) ||
//      quantity(string(self.objectSize)).asInteger() % quantity(string(self.blockSize)).asInteger() == 0"
// +kubebuilder:validation:XValidation:message="ramp must be shorter than duration, which includes it",
//   rule="duration(self.ramp) < duration(self.duration)"

// RadosBench is a phase that runs `rados bench`, which writes or reads whole objects through RADOS,
// without an image. It has Bandwidth, IOPS, LatencyMean and LatencyMax, but no percentiles.
//
// Reads never use the objects of a write phase, because their number would depend on the speed of the
// writes. Reads use prefilled objects instead: for each client, `dataset.size` of data in whole objects, but
// at least enough objects for the operations in flight. The prefill is not measured.
type RadosBench struct {
	// mode is Write, Seq (objects in order) or Rand (objects at random).
	// +required
	Mode RadosBenchMode `json:"mode"`

	// blockSize is the size of one operation in bytes. The prefill writes with this size, too.
	// +optional
	// +kubebuilder:default="4Mi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$radosOperationSize
	// +kubebuilder:validation:XValidation:$multipleOf512
	BlockSize resource.Quantity `json:"blockSize,omitzero"`

	// objectSize is the size of one object in bytes, a multiple of blockSize. If unset, an object
	// is one block.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$radosObjectSize
	// +kubebuilder:validation:XValidation:$multipleOf512
	ObjectSize *resource.Quantity `json:"objectSize,omitempty"`

	// concurrency is the number of operations that each client keeps in flight.
	// +optional
	// +kubebuilder:default=16
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Concurrency int32 `json:"concurrency,omitempty"`

	// duration is how long the phase runs, ramp included.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s') && duration(self) <= duration('24h')",message="must be between 30s and 24h: shorter runs measure caches"
	Duration metav1.Duration `json:"duration,omitzero"`

	// ramp is the first part of duration, which is not counted.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	Ramp *metav1.Duration `json:"ramp,omitempty"`

	// allocationHints says whether a Write phase announces object sizes to the OSDs, as RBD and CephFS do.
	// +optional
	// +kubebuilder:default=Send
	AllocationHints AllocationHints `json:"allocationHints,omitempty"`

	// destination is where a Write phase stores the data: in the object's contents, its omap or its
	// extended attributes. OMap needs a replicated pool.
	// +optional
	// +kubebuilder:default=Object
	Destination RadosBenchDestination `json:"destination,omitempty"`

	// reuseObjects makes a Write phase overwrite objects instead of creating new ones. The objects are
	// prefilled as for reads. A run is Invalid if the phase has overwritten all of its
	// objects before 95 % of its duration is over: raise `dataset.size`.
	// +optional
	// +kubebuilder:default=false
	ReuseObjects bool `json:"reuseObjects,omitempty"`

	// verification says whether Seq and Rand phases compare the data that they read with the
	// written data. None leaves more of the client's CPU for I/O.
	// +optional
	// +kubebuilder:default=Contents
	Verification Verification `json:"verification,omitempty"`
}
