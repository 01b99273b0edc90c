package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Diagnosis asks why the cluster is slow. The operator watches Ceph for some time, compares its OSDs with each other,
// and goes through a list of known causes. Without layers, it sends no load, and changes nothing.
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

	// layers also measures where a write and a read spend their time. For that, one client sends one operation at a
	// time to two scratch pools, which stand beside each other: one keeps a single copy, and one several. It takes
	// about seven minutes, and needs a quiet cluster.
	// +optional
	Layers *DiagnosisLayers `json:"layers,omitempty"`
}

// DiagnosisLayers says which operations are measured, on which pools.
type DiagnosisLayers struct {
	// copies is the number of copies that the second pool keeps.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=6
	Copies int32 `json:"copies,omitempty"`

	// blockSize is the size of an operation.
	// +optional
	// +kubebuilder:default="4Ki"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$operationSize
	// +kubebuilder:validation:XValidation:$multipleOf512
	BlockSize resource.Quantity `json:"blockSize,omitzero"`

	// failureDomain is the level of the CRUSH hierarchy that separates copies. Use `osd` if there are fewer hosts.
	// +optional
	// +kubebuilder:default=host
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	FailureDomain string `json:"failureDomain,omitempty"`

	// deviceClass is the class of OSDs that store the pools, such as `ssd`. If unset, any OSD may store them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	DeviceClass string `json:"deviceClass,omitempty"`

	// rounds is how often each pool is loaded, for 12 s each time. More rounds make intervals narrower.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=20
	Rounds int32 `json:"rounds,omitempty"`
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

	// checked are the codes of the causes that could be looked for. Those without a finding were not found.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=32
	Checked []string `json:"checked,omitempty"`

	// unchecked lists what could not be checked, and why.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=192
	Unchecked []string `json:"unchecked,omitempty"`

	// samples is how often Ceph's state was read.
	// +optional
	Samples int32 `json:"samples,omitempty"`

	// operations say where a write and a read spend their time. They are absent if spec.diagnosis.layers is, or if nothing
	// could be measured.
	// +optional
	// +listType=map
	// +listMapKey=operation
	// +kubebuilder:validation:MaxItems=2
	Operations []OperationTime `json:"operations,omitempty"`

	// osds has what OSDs did and took, the slowest writes first. At most 32 are kept.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	OSDs []OSDTime `json:"osds,omitempty"`
}

// OSDTime says what an OSD did while Ceph was watched, and how long it took. A figure that is not known is absent. Times
// are means of the intervals in which the OSD did at least ten such operations.
type OSDTime struct {
	// id is the number of the OSD.
	// +required
	ID int32 `json:"id"`

	// deviceClass is its class in CRUSH.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	DeviceClass string `json:"deviceClass,omitempty"`

	// operationsPerSecond is how many operations of clients it served as primary.
	// +optional
	OperationsPerSecond Decimal `json:"operationsPerSecond,omitempty"`

	// writeSeconds is what a write took in its queue, its own work and its store, without the wait for other copies.
	// +optional
	WriteSeconds Decimal `json:"writeSeconds,omitempty"`

	// queueSeconds is the part of writeSeconds in its queue.
	// +optional
	QueueSeconds Decimal `json:"queueSeconds,omitempty"`

	// storeSeconds is the part of writeSeconds in its store.
	// +optional
	StoreSeconds Decimal `json:"storeSeconds,omitempty"`

	// readSeconds is what a read took in its queue, its own work and its store.
	// +optional
	ReadSeconds Decimal `json:"readSeconds,omitempty"`

	// commitSeconds is the mean of the commit latencies that it reported itself, in whole milliseconds: one below counts as 0.
	// +optional
	CommitSeconds Decimal `json:"commitSeconds,omitempty"`
}

// LayeredOperation is a kind of operation of a client.
// +kubebuilder:validation:Enum=Write;Read
type LayeredOperation string

// The operations.
const (
	LayeredWrite LayeredOperation = "Write"
	LayeredRead  LayeredOperation = "Read"
)

// OperationTime says where an operation spends its time, if it is alone.
type OperationTime struct {
	// operation is Write or Read.
	// +required
	Operation LayeredOperation `json:"operation"`

	// rounds is the number of rounds that count. The others were disturbed.
	// +required
	Rounds int32 `json:"rounds"`

	// seconds is the mean time of an operation, by the client's clock.
	// +optional
	Seconds Decimal `json:"seconds,omitempty"`

	// oneCopySeconds is that time on the pool that keeps one copy. Reads need no other copy, so they do not have it.
	// +optional
	OneCopySeconds Decimal `json:"oneCopySeconds,omitempty"`

	// layers are the parts of that time, from the client to the disk. Together they are the whole.
	// +optional
	// +listType=map
	// +listMapKey=code
	// +kubebuilder:validation:MaxItems=8
	Layers []OperationLayer `json:"layers,omitempty"`

	// network is the round trip of TCP between the client and the OSD that serves the operation. The layer Client contains it.
	// Round trips between OSDs, for which a write of several copies waits, were not measured.
	// +optional
	Network *OperationLayer `json:"network,omitempty"`

	// explained says that independent measurements agree with the layers within 10 % of the operation's time. If it is
	// false, no cause may be named from the layers, and reason says why.
	// +required
	Explained bool `json:"explained"`

	// reason says why the layers are missing, or not confirmed.
	// +optional
	// +kubebuilder:validation:MaxLength=192
	Reason string `json:"reason,omitempty"`
}

// OperationLayer is a part of the time of an operation.
type OperationLayer struct {
	// code names the part. It never changes.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Code string `json:"code"`

	// seconds is the mean time.
	// +required
	Seconds Decimal `json:"seconds"`

	// share is its share of the operation's time. It may be below 0 if clocks differ.
	// +required
	Share Decimal `json:"share"`

	// low is the lower end of the 95 % interval of the share.
	// +required
	Low Decimal `json:"low"`

	// high is the upper end.
	// +required
	High Decimal `json:"high"`
}
