package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Target says where the load goes.
// +kubebuilder:validation:ExactlyOneOf=scratchPool;existingPool;persistentVolumeClaim
type Target struct {
	// scratchPool is a pool that is created for the measurement and removed after it.
	// +optional
	ScratchPool *ScratchPool `json:"scratchPool,omitempty"`

	// existingPool is a pool that the administrator allows for benchmarks.
	// +optional
	ExistingPool *ExistingPool `json:"existingPool,omitempty"`

	// persistentVolumeClaim is a volume like those that applications use. Only fio can use it.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimTarget `json:"persistentVolumeClaim,omitempty"`
}

// Targets returns all targets of a benchmark: that of its template, and then the other ones.
func (s *CephBenchmarkSpec) Targets() []Target {
	return append([]Target{s.Template.Target}, s.OtherTargets...)
}

// Rules of ScratchPool.
//
// +kubebuilder:validation:XValidation:message="parameters must not contain size or min_size: use replicated.size or
//    erasureCoded",
//   rule="!has(self.parameters) || !('size' in self.parameters || 'min_size' in self.parameters)"
// +kubebuilder:validation:XValidation:message="parameters must not contain pgp_num: set pg_num, and Ceph adjusts
//    pgp_num",
//   rule="!has(self.parameters) || !('pgp_num' in self.parameters)"
// +kubebuilder:validation:XValidation:message="parameters must not contain options of the autoscaler, which affect
//    all other pools, or crush_rule: use crushRoot, failureDomain and deviceClass, or existingPool for a pool with a
//    CRUSH rule of its own",
//   rule="!has(self.parameters) ||
//      !self.parameters.exists(k,
//        k in ['target_size_ratio', 'target_size_bytes', 'bulk', 'pg_autoscale_bias', 'pg_num_min', 'pg_num_max',
//          'crush_rule'])"
// +kubebuilder:validation:XValidation:message="parameters must be named as `ceph osd pool set` names them, such as
//    pg_num",
//   rule="!has(self.parameters) || self.parameters.all(k, k.matches('^[a-z][a-z0-9_]{0,63}$'))"
// +kubebuilder:validation:XValidation:message="osdSelection.count must not be less than replicated.size: each copy needs its
//    own OSD",
//   rule="!has(self.osdSelection) || !has(self.replicated) || self.replicated.size <= self.osdSelection.count"
// +kubebuilder:validation:XValidation:message="osdSelection.count must not be less than dataChunks and codingChunks together,
//    nor than metadata.size: each needs its own OSD",
//   rule="!has(self.osdSelection) ||
//      !has(self.erasureCoded) ||
//      (self.erasureCoded.dataChunks + self.erasureCoded.codingChunks <= self.osdSelection.count &&
//        self.erasureCoded.metadata.size <= self.osdSelection.count)"
// +kubebuilder:validation:XValidation:message="osdSelection needs parameters.pg_num: placement groups are placed one by one,
//    and their number must not change between runs",
//   rule="!has(self.osdSelection) || (has(self.parameters) && 'pg_num' in self.parameters)"
// +kubebuilder:validation:XValidation:message="pg_autoscale_mode of a scratch pool is always off: the autoscaler
//    would split placement groups during the measurement",
//   rule="(!has(self.parameters) ||
//        !('pg_autoscale_mode' in self.parameters) ||
//        self.parameters['pg_autoscale_mode'] == 'off') &&
//      (!has(self.erasureCoded) ||
//        !has(self.erasureCoded.metadata.parameters) ||
//        !('pg_autoscale_mode' in self.erasureCoded.metadata.parameters) ||
//        self.erasureCoded.metadata.parameters['pg_autoscale_mode'] == 'off')"

// ScratchPool describes a pool to be created.
//
// +kubebuilder:validation:ExactlyOneOf=replicated;erasureCoded
type ScratchPool struct {
	// replicated makes the scratch pool replicated.
	// +optional
	Replicated *ReplicatedPool `json:"replicated,omitempty"`

	// erasureCoded makes the scratch pool erasure-coded. Metadata cannot be erasure-coded, so a replicated
	// pool stores it.
	// +optional
	ErasureCoded *ErasureCodedPool `json:"erasureCoded,omitempty"`

	// failureDomain is the level of the CRUSH hierarchy that separates copies. The cluster needs at least
	// as many failure domains as the pool has copies or chunks. Use `osd` if there are fewer hosts.
	// +optional
	// +kubebuilder:default=host
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	FailureDomain string `json:"failureDomain,omitempty"`

	// crushRoot is the root of the CRUSH hierarchy whose OSDs store the pool. If unset, Rook chooses it, usually
	// `default`.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	CrushRoot string `json:"crushRoot,omitempty"`

	// deviceClass is the class of OSDs that store the pool, such as `ssd`. If unset, any OSD may store it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	DeviceClass string `json:"deviceClass,omitempty"`

	// osdSelection confines the pool to some of the OSDs that could store it: `ceph osd pg-upmap` moves
	// every placement group to them. The administrator has to grant this power. If unset, CRUSH
	// uses all OSDs that can store the pool.
	// +optional
	OSDSelection *OSDSelection `json:"osdSelection,omitempty"`

	// parameters are pool options as `ceph osd pool set` takes them, such as `pg_num: "32"` or
	// `compression_mode: aggressive`. For an erasure-coded pool, they apply to its data pool.
	//
	// The autoscaler of a scratch pool is off. If pg_num is unset, it is the smallest power of two that
	// gives each OSD of the device class 32 placement groups, including their copies or chunks. It is at
	// least 32 and at most 256. The full results of each run have the number.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`

	// image describes the RBD images that fio's engine RBD and rbdBench use.
	// +optional
	// +kubebuilder:default={}
	Image Image `json:"image,omitzero"`
}

// OSDSelection draws OSDs of the pool's device class that are up and in. It takes one OSD from each
// failure domain in turn. status.poolOSDs of the CephBenchmark lists the drawn OSDs.
type OSDSelection struct {
	// count is the number of OSDs.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int32 `json:"count"`

	// seed is the seed of the draw. The same seed draws the same OSDs as long as the same OSDs are up and
	// in. With a smaller count, it draws only the first ones of these OSDs. If seed is unset, a
	// CephBenchmark uses 0. A CephTuningSweep uses a different seed for each attempt at a block, or for
	// each session; all runs of an attempt use the same seed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Seed *int64 `json:"seed,omitempty"`
}

// ReplicatedPool keeps whole copies.
type ReplicatedPool struct {
	// size is the number of copies.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Size int32 `json:"size"`
}

// Rules of MetadataPool.
//
// +kubebuilder:validation:XValidation:message="parameters must not contain size or min_size: use the field size",
//   rule="!has(self.parameters) || !('size' in self.parameters || 'min_size' in self.parameters)"
// +kubebuilder:validation:XValidation:message="parameters must not contain pgp_num: set pg_num, and Ceph adjusts
//    pgp_num",
//   rule="!has(self.parameters) || !('pgp_num' in self.parameters)"
// +kubebuilder:validation:XValidation:message="parameters must not contain options of the autoscaler, which affect
//    all other pools, or crush_rule: use crushRoot, failureDomain and deviceClass, or existingPool for a pool with a
//    CRUSH rule of its own",
//   rule="!has(self.parameters) ||
//      !self.parameters.exists(k,
//        k in ['target_size_ratio', 'target_size_bytes', 'bulk', 'pg_autoscale_bias', 'pg_num_min', 'pg_num_max',
//          'crush_rule'])"
// +kubebuilder:validation:XValidation:message="parameters must be named as `ceph osd pool set` names them, such as
//    pg_num",
//   rule="!has(self.parameters) || self.parameters.all(k, k.matches('^[a-z][a-z0-9_]{0,63}$'))"

// MetadataPool is the replicated pool for the metadata of an erasure-coded pool.
type MetadataPool struct {
	// size is the number of copies.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Size int32 `json:"size,omitempty"`

	// parameters are pool options as `ceph osd pool set` takes them. If pg_num is unset, it is 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Parameters map[string]ParameterValue `json:"parameters,omitempty"`
}

// ErasureCodedPool keeps data and coding chunks.
type ErasureCodedPool struct {
	// dataChunks is the number of parts that an object is cut into (k).
	// +required
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=32
	DataChunks int32 `json:"dataChunks"`

	// codingChunks is the number of coding parts that are added (m). An object survives the loss of this
	// number of parts.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	CodingChunks int32 `json:"codingChunks"`

	// metadata is the replicated pool that stores image headers and omaps.
	// +optional
	// +kubebuilder:default={size: 3}
	Metadata MetadataPool `json:"metadata,omitzero"`
}

// ExistingPool names a pool that exists already.
type ExistingPool struct {
	// name is the name of the pool in Ceph, which is not always the name of its CephBlockPool. The
	// operator config lists the pools that may be named; by default it lists none.
	// +required
	Name PoolName `json:"name"`

	// dataPool is the erasure-coded pool for the data of images whose metadata is in the replicated pool
	// `name`. The operator config must list both pools.
	// +optional
	DataPool PoolName `json:"dataPool,omitempty"`

	// image describes the RBD images that are created in the pool for fio's engine RBD and
	// rbdBench, and removed afterwards.
	// +optional
	// +kubebuilder:default={}
	Image Image `json:"image,omitzero"`
}

// ImageSharing says which clients share an image.
// +kubebuilder:validation:Enum=None;Clients
type ImageSharing string

// The values of ImageSharing.
const (
	// ImageSharingNone gives each client its own images. Each copy of a job that writes also has its own
	// image.
	ImageSharingNone ImageSharing = "None"
	// ImageSharingClients makes all clients use one image. Two or more clients then compete for its
	// exclusive lock, and the result has the mark SharedImage.
	ImageSharingClients ImageSharing = "Clients"
)

// Image describes RBD images.
type Image struct {
	// size is the maximum size of each image. An image is only as large as the data that `dataset`
	// prefills, so that phases never read unwritten parts.
	// +optional
	// +kubebuilder:default="10Gi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$volumeSize
	Size resource.Quantity `json:"size,omitzero"`

	// objectSize is the size in bytes of the RADOS objects of an image, a power of two.
	// +optional
	// +kubebuilder:default="4Mi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$imageObjectSize
	ObjectSize resource.Quantity `json:"objectSize,omitzero"`

	// sharing says whether clients share an image. With None, each client has its own images, and so has
	// each copy of a job that writes. With Clients, all clients use one image.
	// +optional
	// +kubebuilder:default=None
	Sharing ImageSharing `json:"sharing,omitempty"`
}

// VolumeMode is how a volume is given to the client.
// +kubebuilder:validation:Enum=Filesystem;Block
type VolumeMode string

// The modes of a PersistentVolumeClaim.
const (
	VolumeModeFilesystem VolumeMode = "Filesystem"
	VolumeModeBlock      VolumeMode = "Block"
)

// PersistentVolumeClaimTarget is an existing claim, or claims that are created for each client and for the
// background load, and removed afterwards.
// +kubebuilder:validation:ExactlyOneOf=claimName;template
type PersistentVolumeClaimTarget struct {
	// claimName is a claim in the namespace of this object. The benchmark adds its own files, removes them
	// afterwards, and leaves other files as they are. A claim in volume mode Block is overwritten, so it needs
	// the annotation `cephtune.dev/overwrite: "yes"`.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClaimName string `json:"claimName,omitempty"`

	// template describes claims to be created, one for each pod.
	// +optional
	Template *PersistentVolumeClaimTemplate `json:"template,omitempty"`
}

// PersistentVolumeClaimTemplate describes a claim to be created.
type PersistentVolumeClaimTemplate struct {
	// storageClassName is the class of the volume. The operator config may limit the classes and the size of
	// all claims together. By default, it allows the classes of the Ceph cluster, and 100Gi.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	StorageClassName string `json:"storageClassName"`

	// size is the size of the volume.
	// +optional
	// +kubebuilder:default="10Gi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$volumeSize
	Size resource.Quantity `json:"size,omitzero"`

	// volumeMode is Filesystem or Block.
	// +optional
	// +kubebuilder:default=Filesystem
	VolumeMode VolumeMode `json:"volumeMode,omitempty"`
}
