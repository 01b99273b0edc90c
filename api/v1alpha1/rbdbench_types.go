package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RBDBenchIOType is the kind of operations of `rbd bench`.
// +kubebuilder:validation:Enum=Read;Write;ReadWrite
type RBDBenchIOType string

// The I/O types.
const (
	RBDBenchRead      RBDBenchIOType = "Read"
	RBDBenchWrite     RBDBenchIOType = "Write"
	RBDBenchReadWrite RBDBenchIOType = "ReadWrite"
)

// RBDBenchIOPattern is the order of offsets of `rbd bench`.
// +kubebuilder:validation:Enum=Rand;Seq;FullSeq
type RBDBenchIOPattern string

// The patterns.
const (
	// RBDBenchRand accesses random offsets.
	RBDBenchRand RBDBenchIOPattern = "Rand"
	// RBDBenchSeq gives each thread a part of the image, which it accesses in order.
	RBDBenchSeq RBDBenchIOPattern = "Seq"
	// RBDBenchFullSeq makes all threads access the whole image in order, together.
	RBDBenchFullSeq RBDBenchIOPattern = "FullSeq"
)

// RBDBenchDataPattern is the data that `rbd bench` writes.
// +kubebuilder:validation:Enum=Incompressible;RepeatedByte
type RBDBenchDataPattern string

// The data patterns.
const (
	RBDBenchIncompressible RBDBenchDataPattern = "Incompressible"
	RBDBenchRepeatedByte   RBDBenchDataPattern = "RepeatedByte"
)

// RBDBench is a phase that runs `rbd bench` on an RBD image, through librbd. It has Bandwidth and IOPS, but
// no latency. To measure latency, use fio with engine RBD.
//
// `rbd bench` stops after a number of bytes, not after a time. It uses the whole prefilled image.
// The image is as large as the dataset of the clients that use it, but at most `image.size`.
//
// +kubebuilder:validation:XValidation:rule="!has(self.readPercent) || self.ioType == 'ReadWrite'",message="readPercent is for ioType ReadWrite"
// +kubebuilder:validation:XValidation:rule="self.dataPattern == 'Incompressible' || self.ioType != 'Read'",message="dataPattern is for ioTypes that write"
// +kubebuilder:validation:XValidation:rule="!has(self.ioTotal) || quantity(string(self.ioTotal)).asInteger() >= quantity(string(self.ioSize)).asInteger()",message="ioTotal must be at least ioSize"
type RBDBench struct {
	// ioType is Read, Write or ReadWrite.
	// +required
	IOType RBDBenchIOType `json:"ioType"`

	// readPercent is the percentage of reads of ReadWrite; 50 if unset.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	ReadPercent *int32 `json:"readPercent,omitempty"`

	// ioPattern is the order of offsets: Rand, Seq (each thread in its own part
	// of the image) or FullSeq (all threads through the image together).
	// +optional
	// +kubebuilder:default=Seq
	IOPattern RBDBenchIOPattern `json:"ioPattern,omitempty"`

	// ioSize is the number of bytes of one operation.
	// +optional
	// +kubebuilder:default="4Ki"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$operationSize
	// +kubebuilder:validation:XValidation:$multipleOf512
	IOSize resource.Quantity `json:"ioSize,omitzero"`

	// ioThreads is the number of operations that each client keeps in flight.
	// +optional
	// +kubebuilder:default=16
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	IOThreads int32 `json:"ioThreads,omitempty"`

	// ioTotal is how many bytes each client reads or writes. If unset, short pilot runs estimate how many
	// bytes take about `duration`. In a sweep, each run makes new pilots: set ioTotal to give every run the
	// same work. A run is Invalid if the phase takes less than 30 s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$amount
	IOTotal *resource.Quantity `json:"ioTotal,omitempty"`

	// duration is the intended length of the phase. If ioTotal is unset, the operator computes ioTotal for
	// this length, and a length below 60 s counts as 60 s. So a run that is twice as fast as its pilots
	// still takes the required 30 s. The benchmark fails if the phase takes longer than 1m plus five times
	// this length.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s') && duration(self) <= duration('24h')",message="must be between 30s and 24h: shorter runs measure caches"
	Duration metav1.Duration `json:"duration,omitzero"`

	// dataPattern is the written data: random text (Incompressible), or one repeated byte, which a
	// compressing pool stores in almost no space. Incompressible needs Ceph 20 (Tentacle) or later;
	// with an older version, the benchmark fails.
	// +optional
	// +kubebuilder:default=Incompressible
	DataPattern RBDBenchDataPattern `json:"dataPattern,omitempty"`
}
