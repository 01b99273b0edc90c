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

// Rules of FioJob.
//
// +kubebuilder:validation:XValidation:message="readPercent is for patterns ReadWrite and RandReadWrite",
//   rule="!has(self.readPercent) || !has(self.pattern) || self.pattern in ['ReadWrite', 'RandReadWrite']"
// +kubebuilder:validation:XValidation:message="set rateIOPS or rateBandwidth, not both",
//   rule="!has(self.rateIOPS) || !has(self.rateBandwidth)"

// FioJob is one of several jobs that run at the same time in one phase. An option that the job leaves out
// has the value of the phase.
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

	// blockSize replaces the blockSize of the phase for this job.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$operationSize
	// +kubebuilder:validation:XValidation:$multipleOf512
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
	// +kubebuilder:validation:Maximum=1000000
	RateIOPS *int64 `json:"rateIOPS,omitempty"`

	// rateBandwidth replaces rateIOPS or rateBandwidth of the phase for this job.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$bytesPerSecond
	RateBandwidth *resource.Quantity `json:"rateBandwidth,omitempty"`
}

// Rules of Fio.
//
// +kubebuilder:validation:XValidation:message="set pattern, or the pattern of every job",
//   rule="has(self.pattern) || (has(self.jobs) && self.jobs.all(j, has(j.pattern)))"
// +kubebuilder:validation:XValidation:message="readPercent is for patterns ReadWrite and RandReadWrite",
//   rule="!has(self.readPercent) || !has(self.pattern) || self.pattern in ['ReadWrite', 'RandReadWrite']"
// +kubebuilder:validation:XValidation:message="set rateIOPS or rateBandwidth, not both",
//   rule="!has(self.rateIOPS) || !has(self.rateBandwidth)"
// +kubebuilder:validation:XValidation:message="sync is for engines LibAIO and IOUring: name one of them, or use
//    fsync",
//   rule="self.sync == 'None' || (has(self.engine) && self.engine in ['LibAIO', 'IOUring'])"
// +kubebuilder:validation:XValidation:message="fsync and fdatasync are not for engine RADOS, whose writes are on disk
//    when they are done",
//   rule="!has(self.engine) ||
//      self.engine != 'RADOS' ||
//      ((!has(self.fsync) || self.fsync == 0) && (!has(self.fdatasync) || self.fdatasync == 0))"
// +kubebuilder:validation:XValidation:message="distribution is for patterns RandRead, RandWrite and RandReadWrite",
//   rule="!has(self.distribution) ||
//      self.distribution.type == 'Uniform' ||
//      has(self.jobs) ||
//      self.pattern.startsWith('Rand')"
// +kubebuilder:validation:XValidation:message="rateProcess Poisson needs rateIOPS",
//   rule="self.rateProcess == 'Linear' || has(self.rateIOPS) || (has(self.jobs) && self.jobs.exists(j, has(j.rateIOPS)))"
// +kubebuilder:validation:XValidation:message="engine IOUring is not possible at a rate, because Kubernetes forbids
//    io_uring by default: use LibAIO, or leave out rateIOPS, rateBandwidth and curve",
//   rule="!has(self.engine) || self.engine != 'IOUring' || !($fioHasRate || has(self.curve))"
// +kubebuilder:validation:XValidation:message="a curve finds its rates: leave out rateIOPS, rateBandwidth and jobs",
//   rule="!has(self.curve) || !(has(self.rateIOPS) || has(self.rateBandwidth) || has(self.jobs))"
// +kubebuilder:validation:XValidation:message="a curve limits reads or writes only if the phase both reads and writes:
//    leave curve.direction out",
//   rule="!has(self.curve) || self.curve.direction == 'Total' || self.pattern in ['ReadWrite', 'RandReadWrite']"
// +kubebuilder:validation:XValidation:message="one client makes at most 1000000 operations a second: rateIOPS applies
//    to each of numJobs copies; use a larger clients.count",
//   rule="!has(self.rateIOPS) || has(self.jobs) || self.rateIOPS * self.numJobs <= 1000000"
// +kubebuilder:validation:XValidation:message="at a rate, leave out fsync, fdatasync, direct: false,
//    compressiblePercent and distribution: cephtune's own generator makes such a load, and lacks them",
//   rule="!($fioHasRate || has(self.curve)) ||
//      !((has(self.fsync) && self.fsync > 0) ||
//        (has(self.fdatasync) && self.fdatasync > 0) ||
//        !self.direct ||
//        (has(self.compressiblePercent) && self.compressiblePercent > 0) ||
//        (has(self.distribution) && self.distribution.type != 'Uniform'))"

// Fio is a phase that runs fio: on an RBD image or RADOS objects of a pool, or on the file system or block
// device of a PersistentVolumeClaim. The phase has every metric except those of an outage, such as
// TimeToClean. It has these too if template.outage names the phase. Each option of fio is a separate field. A
// job file is not accepted, because it could name a program to run.
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
	// +kubebuilder:validation:XValidation:$operationSize
	// +kubebuilder:validation:XValidation:$multipleOf512
	BlockSize resource.Quantity `json:"blockSize,omitzero"`

	// ioDepth is the number of operations that each copy of a job keeps in flight. At a rate, it has no effect:
	// operations are submitted when they are due.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	IODepth int32 `json:"ioDepth,omitempty"`

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
	// +kubebuilder:validation:XValidation:$amount
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
	// If each job has a rate, latencies count from when an operation was due. A phase that reads and writes offers reads at this rate, and writes at this rate, whatever
	// readPercent says. A phase with neither rateIOPS nor rateBandwidth has the mark ClosedLoop, unless it
	// has jobs and each of them sets rateIOPS or rateBandwidth.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	RateIOPS *int64 `json:"rateIOPS,omitempty"`

	// rateBandwidth is a limit in bytes per second for each copy of a job and each direction.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$bytesPerSecond
	RateBandwidth *resource.Quantity `json:"rateBandwidth,omitempty"`

	// rateProcess says how operations are spaced with rateIOPS: evenly (Linear) or as independent
	// arrivals (Poisson).
	// +optional
	// +kubebuilder:default=Linear
	RateProcess FioRateProcess `json:"rateProcess,omitempty"`

	// curve looks for the highest rate that keeps a limit of latency. With it, duration, ramp and ioDepth are those
	// of a closed loop at the beginning, and the phase has the metric SustainableIOPS. Reads and writes share the
	// rates of the curve as readPercent says.
	// +optional
	Curve *Curve `json:"curve,omitempty"`

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

	// distribution is the distribution of the offsets of random patterns. If unset, it is Uniform.
	// +optional
	Distribution *FioDistribution `json:"distribution,omitempty"`

	// jobs are several jobs that run at the same time. An option that a job leaves out has the
	// value of the phase. If unset, there is one job.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Jobs []FioJob `json:"jobs,omitempty"`
}
