package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ParameterName names a parameter within its sweep.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$`
type ParameterName string

// ParameterValue is a value in the notation of the option or field that a parameter varies. Unset leaves an
// option unset, so that Ceph's default applies. A whole number may be written as a number or as a string.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^(-[0-9]|[A-Za-z0-9])[A-Za-z0-9._:,+/=-]*$`
type ParameterValue string

// MarshalJSON writes a string, even if a number was read.
func (v ParameterValue) MarshalJSON() ([]byte, error) { return json.Marshal(string(v)) }

// UnmarshalJSON reads a string or a whole number.
func (v *ParameterValue) UnmarshalJSON(text []byte) error { return unmarshalIntOrString(text, v) }

// unmarshalIntOrString reads a string or a whole number as a string.
func unmarshalIntOrString[S ~string](text []byte, value *S) error {
	if number, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*value = S(strconv.FormatInt(number, 10))
		return nil
	}
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("a value is a string or a whole number, and %s is neither: put it in quotation marks", text)
	}
	*value = S(word)
	return nil
}

// Unset is the value of an option that is not set.
const Unset ParameterValue = "Unset"

// OptionName is the name of an option in Ceph.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
type OptionName string

// Rules of Parameter.
//
// +kubebuilder:validation:XValidation:message="values of pg_num are whole numbers between 1 and 99999",
//   rule="!has(self.poolOption) ||
//      self.poolOption.option != 'pg_num' ||
//      !has(self.values) ||
//      self.values.all(v, string(v).matches('^[1-9][0-9]{0,4}$'))"
// +kubebuilder:validation:XValidation:message="values of this workload field are whole numbers above 0",
//   rule="!has(self.workload) ||
//      !has(self.values) ||
//      self.workload.field in ['blockSize', 'objectSize', 'ioSize'] ||
//      self.values.all(v, string(v).matches('^[1-9][0-9]{0,8}$'))"
// +kubebuilder:validation:XValidation:message="values of a workload field that is a size are quantities, such as
//    4Ki",
//   rule="!has(self.workload) ||
//      !has(self.values) ||
//      !(self.workload.field in ['blockSize', 'objectSize', 'ioSize']) ||
//      self.values.all(v, isQuantity(string(v)) && quantity(string(v)).isInteger())"
// +kubebuilder:validation:XValidation:message="a size must be a multiple of 512, but not of 1000: 4k means 4000 bytes
//    here; for the 4096 bytes that fio calls 4k, write 4Ki",
//   rule="!has(self.workload) ||
//      !has(self.values) ||
//      !(self.workload.field in ['blockSize', 'objectSize', 'ioSize']) ||
//      self.values.all(v, !isQuantity(string(v)) ||
//        !quantity(string(v)).isInteger() ||
//        (quantity(string(v)).asInteger() % 512 == 0 && quantity(string(v)).asInteger() % 1000 != 0))"
// +kubebuilder:validation:XValidation:message="values of osdCount are whole numbers between 1 and 1000",
//   rule="!has(self.osdCount) || !has(self.values) || self.values.all(v, string(v).matches('^([1-9][0-9]{0,2}|1000)$'))"
// +kubebuilder:validation:XValidation:message="values of deviceClass are names of device classes, such as ssd",
//   rule="!has(self.deviceClass) ||
//      !has(self.values) ||
//      self.values.all(v, string(v) != 'Unset' &&
//        string(v).matches('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))"
// +kubebuilder:validation:XValidation:message="values of redundancy are numbers of copies, such as 3, or data and
//    coding chunks, such as 4+2",
//   rule="!has(self.redundancy) ||
//      !has(self.values) ||
//      self.values.all(v, string(v).matches('^([1-9]|10|([2-9]|[12][0-9]|3[0-2])[+]([1-9]|1[0-6]))$'))"
// +kubebuilder:validation:XValidation:message="values of storageClass are names of StorageClasses",
//   rule="!has(self.storageClass) ||
//      !has(self.values) ||
//      self.values.all(v, string(v) != 'Unset' && string(v).matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))"
// +kubebuilder:validation:XValidation:message="values of imageObjectSize are powers of two between 4Ki and 32Mi,
//    written as such, for example 4Mi",
//   rule="!has(self.imageObjectSize) ||
//      !has(self.values) ||
//      self.values.all(v, string(v) in ['4Ki', '8Ki', '16Ki', '32Ki', '64Ki', '128Ki', '256Ki', '512Ki',
//        '1Mi', '2Mi', '4Mi', '8Mi', '16Mi', '32Mi'])"

// Parameter is something that a sweep varies: an option of Ceph, a property of the target, or of the load.
//
// +kubebuilder:validation:ExactlyOneOf=poolOption;config;workload;osdCount;deviceClass;redundancy;storageClass;imageObjectSize
type Parameter struct {
	// name is the name by which configurations and baseline.values refer to the parameter. The name
	// of the option or field is a good choice.
	// +required
	Name ParameterName `json:"name"`

	// poolOption varies an option of a pool.
	// +optional
	PoolOption *PoolOptionParameter `json:"poolOption,omitempty"`

	// config varies an option of Ceph's central configuration.
	// +optional
	Config *ConfigParameter `json:"config,omitempty"`

	// workload varies the load itself.
	// +optional
	Workload *WorkloadParameter `json:"workload,omitempty"`

	// osdCount varies how many OSDs the scratch pool of a run is confined to: `osdCount: {}`. Its
	// values replace target.scratchPool.osdSelection.count. Each block draws the OSDs again, unless
	// target.scratchPool.osdSelection.seed is set.
	// +optional
	OSDCount *OSDCountParameter `json:"osdCount,omitempty"`

	// deviceClass varies the device class of the OSDs that store the scratch pool of a run: `deviceClass:
	// {}`, with values such as hdd and ssd. Each run creates a new pool on the OSDs of its class.
	// +optional
	DeviceClass *DeviceClassParameter `json:"deviceClass,omitempty"`

	// redundancy varies whether the scratch pool of a run is replicated or erasure-coded, and how:
	// `redundancy: {}`, with values such as "3" for three copies and "4+2" for four data and two
	// coding chunks.
	// +optional
	Redundancy *RedundancyParameter `json:"redundancy,omitempty"`

	// storageClass varies the StorageClass of the volumes that are created for a run: `storageClass: {}`.
	// Its values replace storageClassName in target.persistentVolumeClaim.template.
	// +optional
	StorageClass *StorageClassParameter `json:"storageClass,omitempty"`

	// imageObjectSize varies the size of the RADOS objects of the RBD images that are created for a run:
	// `imageObjectSize: {}`. Its values replace image.objectSize of the target.
	// +optional
	ImageObjectSize *ImageObjectSizeParameter `json:"imageObjectSize,omitempty"`

	// values are the values of this parameter in the grid. Leave them out if the sweep has
	// configurations instead of a grid.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Values []ParameterValue `json:"values,omitempty"`
}

// PoolOptionMethod says how a pool gets a value.
// +kubebuilder:validation:Enum=PoolPerValue;InPlace
type PoolOptionMethod string

// The methods.
const (
	// PoolPerValue creates a new scratch pool with the value for each run. In the design
	// Interleaved, each session switches the option of its scratch pool instead.
	PoolPerValue PoolOptionMethod = "PoolPerValue"
	// InPlace changes the option of the existing pool.
	InPlace PoolOptionMethod = "InPlace"
)

// PoolRole selects one of the pools of an erasure-coded target.
// +kubebuilder:validation:Enum=Data;Metadata
type PoolRole string

// The roles.
const (
	PoolRoleData     PoolRole = "Data"
	PoolRoleMetadata PoolRole = "Metadata"
)

// Rules of PoolOptionParameter.
//
// +kubebuilder:validation:XValidation:message="vary pg_num, and Ceph adjusts pgp_num",
//   rule="self.option != 'pgp_num'"
// +kubebuilder:validation:XValidation:message="sweeps turn the autoscaler off: vary pg_num itself",
//   rule="!(self.option in ['pg_autoscale_mode', 'pg_autoscale_bias', 'pg_num_min', 'pg_num_max', 'target_size_ratio',
//        'target_size_bytes', 'bulk'])"
// +kubebuilder:validation:XValidation:message="options that protect or move a pool's data cannot be varied",
//   rule="!(self.option in ['nodelete', 'nopgchange', 'nosizechange', 'crush_rule'])"

// PoolOptionParameter is an option of a pool, as `ceph osd pool set` takes it.
type PoolOptionParameter struct {
	// option is the option to vary, such as pg_num.
	// +required
	Option OptionName `json:"option"`

	// method is PoolPerValue for a scratchPool, and InPlace for other targets. With InPlace, changes of
	// pg_num split and merge placement groups. Therefore one block visits the values in ascending order and
	// the next in descending order, and status.summary says that this order is weaker than a random order.
	// +optional
	Method PoolOptionMethod `json:"method,omitempty"`

	// pool is the pool to change, which the administrator has to allow. If unset, it is the
	// target's pool that role selects. It is required for a persistentVolumeClaim, and must be left
	// out for a scratchPool.
	// +optional
	Pool PoolName `json:"pool,omitempty"`

	// role selects one pool of a target that has a pool for data and a pool for metadata.
	// +optional
	// +kubebuilder:default=Data
	Role PoolRole `json:"role,omitempty"`
}

// Rules of ConfigParameter.
//
// +kubebuilder:validation:XValidation:message="auth_*, debug_*, mon_*, full ratios, heartbeat grace and
//    min_alloc_size are never varied",
//   rule="!self.option.matches('^(auth_|debug_|mon_)|full_ratio|heartbeat_grace|min_alloc_size')"
// +kubebuilder:validation:XValidation:message="this would alter how every pool stores data: vary poolOption
//    compression_* or csum_* on a scratchPool",
//   rule="!self.option.matches('^bluestore_(compression|csum)_')"

// ConfigParameter is an option of Ceph's central configuration, as `ceph config set` takes it. The
// operator config lists the options that may be varied, and their bounds.
type ConfigParameter struct {
	// section is the section of the configuration: always osd.
	// +optional
	// +kubebuilder:default=osd
	// +kubebuilder:validation:Enum=osd
	Section string `json:"section,omitempty"`

	// mask limits the option to a device class, `class:ssd`, or to a host, `host:node-1`.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^(class|host):[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`
	Mask string `json:"mask,omitempty"`

	// option is the option to vary, such as osd_mclock_profile.
	// +required
	Option OptionName `json:"option"`
}

// OSDCountParameter varies the number of OSDs that a scratch pool is confined to. It has no fields.
type OSDCountParameter struct{}

// DeviceClassParameter varies the device class of the OSDs of a scratch pool. It has no fields.
type DeviceClassParameter struct{}

// RedundancyParameter varies whether a scratch pool is replicated or erasure-coded, and how. It has
// no fields.
type RedundancyParameter struct{}

// StorageClassParameter varies the StorageClass of the volumes that are created for a run. It has
// no fields.
type StorageClassParameter struct{}

// ImageObjectSizeParameter varies the size of the RADOS objects of RBD images. It has no fields.
type ImageObjectSizeParameter struct{}

// WorkloadField names a field of the template that a sweep can vary.
// +kubebuilder:validation:Enum=clients;concurrency;blockSize;objectSize;ioThreads;ioSize;ioDepth;numJobs;rateIOPS
type WorkloadField string

// The fields.
const (
	// WorkloadClients is template.clients.count.
	WorkloadClients WorkloadField = "clients"
	// WorkloadConcurrency is radosBench.concurrency.
	WorkloadConcurrency WorkloadField = "concurrency"
	// WorkloadBlockSize is radosBench.blockSize or fio.blockSize.
	WorkloadBlockSize WorkloadField = "blockSize"
	// WorkloadObjectSize is radosBench.objectSize.
	WorkloadObjectSize WorkloadField = "objectSize"
	// WorkloadIOThreads is rbdBench.ioThreads.
	WorkloadIOThreads WorkloadField = "ioThreads"
	// WorkloadIOSize is rbdBench.ioSize.
	WorkloadIOSize WorkloadField = "ioSize"
	// WorkloadIODepth is fio.ioDepth.
	WorkloadIODepth WorkloadField = "ioDepth"
	// WorkloadNumJobs is fio.numJobs.
	WorkloadNumJobs WorkloadField = "numJobs"
	// WorkloadRateIOPS is fio.rateIOPS.
	WorkloadRateIOPS WorkloadField = "rateIOPS"
)

// Rules of WorkloadParameter.
//
// +kubebuilder:validation:XValidation:message="phase is required, except for field clients, which is the same for all
//    phases: with clients, leave phase out",
//   rule="(self.field == 'clients') == !has(self.phase)"

// WorkloadParameter names the field of the load that a parameter varies.
type WorkloadParameter struct {
	// phase is the phase whose field is varied.
	// +optional
	Phase PhaseName `json:"phase,omitempty"`

	// field is the field to vary: clients; concurrency, blockSize or objectSize of radosBench;
	// ioThreads or ioSize of rbdBench; ioDepth, numJobs, blockSize or rateIOPS of fio.
	// +required
	Field WorkloadField `json:"field"`
}

// Configuration is a named set of values.
type Configuration struct {
	// name is the name of the configuration.
	// +required
	Name ParameterName `json:"name"`

	// values maps names of parameters to their values. A parameter that is left out has the baseline's
	// value.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=6
	Values map[string]ParameterValue `json:"values"`
}

// Baseline is the configuration that the others are compared with.
// +kubebuilder:validation:ExactlyOneOf=values;configuration
type Baseline struct {
	// values maps names of parameters to their values. A parameter that is left out has the value that the
	// cluster or the template has when the sweep is planned.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=6
	Values map[string]ParameterValue `json:"values,omitempty"`

	// configuration is the name of one of spec.configurations. A parameter that this configuration
	// leaves out has the value that the cluster or the template has when the sweep is planned.
	// +optional
	Configuration ParameterName `json:"configuration,omitempty"`
}
