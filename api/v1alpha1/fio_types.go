package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FioEngine is the I/O engine of fio.
// +kubebuilder:validation:Enum=RBD;RADOS;LibAIO;IOUring
type FioEngine string

// The engines.
const (
	// FioEngineRBD works on an RBD image through librbd.
	FioEngineRBD FioEngine = "RBD"
	// FioEngineRADOS works on objects through librados.
	FioEngineRADOS FioEngine = "RADOS"
	// FioEngineLibAIO works on a file or a block device through Linux AIO.
	FioEngineLibAIO FioEngine = "LibAIO"
	// FioEngineIOUring works on a file or a block device through io_uring.
	FioEngineIOUring FioEngine = "IOUring"
)

// FioPattern is the order and the direction of I/O.
// +kubebuilder:validation:Enum=Read;Write;ReadWrite;RandRead;RandWrite;RandReadWrite
type FioPattern string

// The patterns.
const (
	FioRead          FioPattern = "Read"
	FioWrite         FioPattern = "Write"
	FioReadWrite     FioPattern = "ReadWrite"
	FioRandRead      FioPattern = "RandRead"
	FioRandWrite     FioPattern = "RandWrite"
	FioRandReadWrite FioPattern = "RandReadWrite"
)

// FioRateProcess says how operations are spaced in time if rateIOPS is set.
// +kubebuilder:validation:Enum=Linear;Poisson
type FioRateProcess string

// The processes.
const (
	FioRateLinear  FioRateProcess = "Linear"
	FioRatePoisson FioRateProcess = "Poisson"
)

// FioSync says what each write waits for.
// +kubebuilder:validation:Enum=None;File;Data
type FioSync string

// The choices.
const (
	FioSyncNone FioSync = "None"
	// FioSyncFile is O_SYNC.
	FioSyncFile FioSync = "File"
	// FioSyncData is O_DSYNC.
	FioSyncData FioSync = "Data"
)

// FioBlockShare is one of several block sizes, with its share of the operations.
type FioBlockShare struct {
	// size is the number of bytes of one operation.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 512 && quantity(string(self)).asInteger() <= 67108864",message="must be between 512 and 64Mi, in whole bytes"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isInteger() || quantity(string(self)).asInteger() < 512 || (quantity(string(self)).asInteger() % 512 == 0 && quantity(string(self)).asInteger() % 1000 != 0)",message="must be a multiple of 512, but not of 1000: 4k means 4000 bytes here; for the 4096 bytes that fio calls 4k, write 4Ki"
	Size resource.Quantity `json:"size"`

	// percent is the share of operations with this size.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	Percent int32 `json:"percent"`
}

// FioDistributionType says how random offsets are distributed.
// +kubebuilder:validation:Enum=Uniform;Zipf;Pareto;Normal
type FioDistributionType string

// The distributions.
const (
	FioDistributionUniform FioDistributionType = "Uniform"
	FioDistributionZipf    FioDistributionType = "Zipf"
	FioDistributionPareto  FioDistributionType = "Pareto"
	FioDistributionNormal  FioDistributionType = "Normal"
)

// FioDistribution is the distribution of random offsets.
// +kubebuilder:validation:XValidation:rule="(self.type == 'Uniform') == !has(self.theta)",message="theta is required for Zipf, Pareto and Normal: for Uniform, leave theta out"
// +kubebuilder:validation:XValidation:rule="self.type != 'Zipf' || !has(self.theta) || double(self.theta) != 1.0",message="theta of Zipf must not be 1"
// +kubebuilder:validation:XValidation:rule="!has(self.theta) || double(self.theta) > 0.0",message="theta must be above 0"
// +kubebuilder:validation:XValidation:rule="self.type != 'Normal' || !has(self.theta) || double(self.theta) < 100.0",message="theta of Normal must be below 100"
// +kubebuilder:validation:XValidation:rule="self.type != 'Pareto' || !has(self.theta) || double(self.theta) < 1.0",message="theta of Pareto must be below 1"
type FioDistribution struct {
	// type is Uniform, Zipf, Pareto or Normal.
	// +required
	Type FioDistributionType `json:"type"`

	// theta shapes the distribution. It is the exponent of Zipf (above 0, not 1), the power of Pareto
	// (between 0 and 1), or the standard deviation of Normal in percent of the range (above 0 and below
	// 100).
	// +optional
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,4})?$`
	Theta string `json:"theta,omitempty"`
}

// FioJob is one of several jobs that run at the same time in one phase. An option that the job leaves out
// has the value of the phase.
//
// +kubebuilder:validation:XValidation:rule="!has(self.readPercent) || !has(self.pattern) || self.pattern in ['ReadWrite', 'RandReadWrite']",message="readPercent is for patterns ReadWrite and RandReadWrite"
// +kubebuilder:validation:XValidation:rule="!has(self.rateIOPS) || !has(self.rateBandwidth)",message="set rateIOPS or rateBandwidth, not both"
type FioJob struct {
	// name is the name of the job within its phase.
	// +required
	Name PhaseName `json:"name"`

	// pattern replaces the pattern of the phase for this job.
	// +optional
	Pattern FioPattern `json:"pattern,omitempty"`

	// readPercent replaces the readPercent of the phase for this job.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	ReadPercent *int32 `json:"readPercent,omitempty"`

	// blockSize replaces blockSize, blockSizeMax and blockSizeSplit of the phase for this job.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 512 && quantity(string(self)).asInteger() <= 67108864",message="must be between 512 and 64Mi, in whole bytes"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isInteger() || quantity(string(self)).asInteger() < 512 || (quantity(string(self)).asInteger() % 512 == 0 && quantity(string(self)).asInteger() % 1000 != 0)",message="must be a multiple of 512, but not of 1000: 4k means 4000 bytes here; for the 4096 bytes that fio calls 4k, write 4Ki"
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`

	// ioDepth replaces the ioDepth of the phase for this job.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	IODepth *int32 `json:"ioDepth,omitempty"`

	// numJobs replaces the numJobs of the phase for this job.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	NumJobs *int32 `json:"numJobs,omitempty"`

	// rateIOPS replaces rateIOPS or rateBandwidth of the phase for this job.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	RateIOPS *int64 `json:"rateIOPS,omitempty"`

	// rateBandwidth replaces rateIOPS or rateBandwidth of the phase for this job.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1024 && quantity(string(self)).asInteger() <= 1099511627776",message="must be between 1Ki and 1Ti bytes per second"
	RateBandwidth *resource.Quantity `json:"rateBandwidth,omitempty"`
}

// Fio is a phase that runs fio: on an RBD image or RADOS objects of a pool, or on the file system or block
// device of a PersistentVolumeClaim. The phase has every metric except those of an outage, such as
// TimeToClean. It has these too if template.outage names the phase. Each option of fio is a separate field. A
// job file is not accepted, because it could name a program to run.
//
// +kubebuilder:validation:XValidation:rule="has(self.pattern) || (has(self.jobs) && self.jobs.all(j, has(j.pattern)))",message="set pattern, or the pattern of every job"
// +kubebuilder:validation:XValidation:rule="!has(self.readPercent) || !has(self.pattern) || self.pattern in ['ReadWrite', 'RandReadWrite']",message="readPercent is for patterns ReadWrite and RandReadWrite"
// +kubebuilder:validation:XValidation:rule="!has(self.blockSizeMax) || quantity(string(self.blockSizeMax)).compareTo(quantity(string(self.blockSize))) > 0",message="blockSizeMax must be above blockSize; leave it out for blocks of one size"
// +kubebuilder:validation:XValidation:rule="!has(self.blockSizeMax) || !has(self.blockSizeSplit)",message="set blockSizeMax or blockSizeSplit, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.blockSizeSplit) || self.blockSizeSplit.map(s, s.percent).sum() == 100",message="the percents of blockSizeSplit must add up to 100"
// +kubebuilder:validation:XValidation:rule="!has(self.ioDepthBatch) || self.ioDepthBatch <= self.ioDepth",message="ioDepthBatch must be at most ioDepth"
// +kubebuilder:validation:XValidation:rule="!has(self.rateIOPS) || !has(self.rateBandwidth)",message="set rateIOPS or rateBandwidth, not both"
// +kubebuilder:validation:XValidation:rule="self.sync == 'None' || (has(self.engine) && self.engine in ['LibAIO', 'IOUring'])",message="sync is for engines LibAIO and IOUring: name one of them, or use fsync"
// +kubebuilder:validation:XValidation:rule="!has(self.engine) || self.engine != 'RADOS' || ((!has(self.fsync) || self.fsync == 0) && (!has(self.fdatasync) || self.fdatasync == 0))",message="fsync and fdatasync are not for engine RADOS, whose writes are on disk when they are done"
// +kubebuilder:validation:XValidation:rule="!has(self.randomPercent) || has(self.jobs) || self.pattern.startsWith('Rand')",message="randomPercent is for patterns RandRead, RandWrite and RandReadWrite"
// +kubebuilder:validation:XValidation:rule="!has(self.distribution) || self.distribution.type == 'Uniform' || has(self.jobs) || self.pattern.startsWith('Rand')",message="distribution is for patterns RandRead, RandWrite and RandReadWrite"
// +kubebuilder:validation:XValidation:rule="self.rateProcess == 'Linear' || has(self.rateIOPS) || (has(self.jobs) && self.jobs.exists(j, has(j.rateIOPS)))",message="rateProcess Poisson needs rateIOPS"
type Fio struct {
	// engine is RBD or RADOS for a pool, and LibAIO or IOUring for a PersistentVolumeClaim. If
	// unset, it is RBD for a pool and LibAIO for a claim.
	// +optional
	Engine FioEngine `json:"engine,omitempty"`

	// pattern is the order and the direction of I/O.
	// +optional
	Pattern FioPattern `json:"pattern,omitempty"`

	// readPercent is the percentage of reads with pattern ReadWrite or RandReadWrite. If unset, it is 50.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	ReadPercent *int32 `json:"readPercent,omitempty"`

	// blockSize is the number of bytes of one operation.
	// +optional
	// +kubebuilder:default="4Ki"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 512 && quantity(string(self)).asInteger() <= 67108864",message="must be between 512 and 64Mi, in whole bytes"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isInteger() || quantity(string(self)).asInteger() < 512 || (quantity(string(self)).asInteger() % 512 == 0 && quantity(string(self)).asInteger() % 1000 != 0)",message="must be a multiple of 512, but not of 1000: 4k means 4000 bytes here; for the 4096 bytes that fio calls 4k, write 4Ki"
	BlockSize resource.Quantity `json:"blockSize,omitzero"`

	// blockSizeMax makes block sizes vary between blockSize and blockSizeMax, in steps of blockSize. If
	// unset, all blocks have the same size.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 512 && quantity(string(self)).asInteger() <= 67108864",message="must be between 512 and 64Mi, in whole bytes"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isInteger() || quantity(string(self)).asInteger() < 512 || (quantity(string(self)).asInteger() % 512 == 0 && quantity(string(self)).asInteger() % 1000 != 0)",message="must be a multiple of 512, but not of 1000: 4k means 4000 bytes here; for the 4096 bytes that fio calls 4k, write 4Ki"
	BlockSizeMax *resource.Quantity `json:"blockSizeMax,omitempty"`

	// blockSizeSplit replaces blockSize by several sizes with fixed shares. The percents add up to 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=8
	BlockSizeSplit []FioBlockShare `json:"blockSizeSplit,omitempty"`

	// ioDepth is the number of operations that each copy of a job keeps in flight.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	IODepth int32 `json:"ioDepth,omitempty"`

	// ioDepthBatch is the number of operations that are submitted together. If unset, each operation is
	// submitted alone.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	IODepthBatch int32 `json:"ioDepthBatch,omitempty"`

	// numJobs is the number of copies of each job on each client. Each copy that writes has its own
	// image, objects, file or part of the device, unless the image is shared. Copies that only read
	// share the same data. If they read in order, each reads a part of the data.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	NumJobs int32 `json:"numJobs,omitempty"`

	// size is how much of the image, objects, device or file each copy of a job works on. It is at most the
	// amount that `dataset` prefills for the copy; if unset, it is that amount. Data that a phase
	// overwrites is prefilled, too: the copies that write share `dataset.size` equally. With engine RADOS,
	// size is rounded down to whole objects, but is at least one object.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1048576 && quantity(string(self)).asInteger() <= 109951162777600",message="must be between 1Mi and 100Ti, in whole bytes"
	Size *resource.Quantity `json:"size,omitempty"`

	// duration is how long the phase is measured, after ramp.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s') && duration(self) <= duration('24h')",message="must be between 30s and 24h: shorter runs measure caches"
	Duration metav1.Duration `json:"duration,omitzero"`

	// ramp is how long the phase runs before it is measured.
	// +optional
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1h')",message="must be at most 1h"
	Ramp *metav1.Duration `json:"ramp,omitempty"`

	// rateIOPS is a fixed offered rate, in operations per second for each copy of a job and each direction.
	// A phase that reads and writes offers reads at this rate, and writes at this rate, whatever
	// readPercent says. A phase with neither rateIOPS nor rateBandwidth has the mark ClosedLoop, unless it
	// has jobs and each of them sets rateIOPS or rateBandwidth.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	RateIOPS *int64 `json:"rateIOPS,omitempty"`

	// rateBandwidth is a limit in bytes per second for each copy of a job and each direction.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1024 && quantity(string(self)).asInteger() <= 1099511627776",message="must be between 1Ki and 1Ti bytes per second"
	RateBandwidth *resource.Quantity `json:"rateBandwidth,omitempty"`

	// rateProcess says how operations are spaced with rateIOPS: evenly (Linear) or as independent
	// arrivals (Poisson).
	// +optional
	// +kubebuilder:default=Linear
	RateProcess FioRateProcess `json:"rateProcess,omitempty"`

	// fsync is the number of writes after which jobs call fsync. 0 means never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Fsync int32 `json:"fsync,omitempty"`

	// fdatasync is the number of writes after which jobs call fdatasync. 0 means never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Fdatasync int32 `json:"fdatasync,omitempty"`

	// sync makes each write wait until it is on disk, as databases do for their logs. With File (O_SYNC),
	// all metadata of the file also has to be on disk. With Data (O_DSYNC), only the metadata that is
	// needed to read the data has to be on disk. None does not wait.
	// +optional
	// +kubebuilder:default=None
	Sync FioSync `json:"sync,omitempty"`

	// thinkTime is the pause of each copy of a job after each operation.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(us|ms|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1us') && duration(self) <= duration('60s')",message="must be between 1us and 60s"
	ThinkTime *metav1.Duration `json:"thinkTime,omitempty"`

	// direct bypasses the client's caches: the page cache of a file or device, and the cache of librbd. If
	// direct is false, the phase also measures the client's memory.
	// +optional
	// +kubebuilder:default=true
	Direct *bool `json:"direct,omitempty"`

	// compressiblePercent is the percentage of the written data that compression can remove.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	CompressiblePercent int32 `json:"compressiblePercent,omitempty"`

	// dedupePercent is the percentage of the written data that repeats earlier blocks.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	DedupePercent int32 `json:"dedupePercent,omitempty"`

	// distribution is the distribution of the offsets of random patterns. If unset, it is Uniform.
	// +optional
	Distribution *FioDistribution `json:"distribution,omitempty"`

	// randomPercent is the percentage of operations of random patterns that go to a random offset. Each
	// other operation begins where the previous one ended. If unset, all operations go to random offsets.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	RandomPercent *int32 `json:"randomPercent,omitempty"`

	// jobs are several jobs that run at the same time. An option that a job leaves out has the
	// value of the phase. If unset, there is one job.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Jobs []FioJob `json:"jobs,omitempty"`
}
