// Package load makes the template of a benchmark from flags that "run" and "sweep" share.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Flags holds the flags that describe one phase and its target.
type Flags struct {
	cluster      string
	pool         string
	classes      []string // from --storage-class; the first is the baseline
	storageClass string   // the first of classes
	volumeSize   string
	volumeMode   string
	replicas     int32
	deviceClass  string
	domain       string
	engine       string
	mode         string
	blockSize    string
	duration     words.Seconds
	ramp         words.Seconds
	depth        int32
	jobs         int32
	readPercent  int32
	rateIOPS     int64
	closedLoop   bool
	clients      int32
	dataset      string

	size    *resource.Quantity // the parsed blockSize
	volume  *resource.Quantity // the parsed volumeSize, its default, or the size that Fit chose
	own     *pflag.FlagSet     // the flags themselves
	fioFlag bool               // whether a flag has a name of fio, such as --iodepth
	fitted  bool               // whether Fit chose volume, a size that a class offers
}

// Add registers the flags on a command. The parameter duration is the default of --duration.
func (l *Flags) Add(cmd *cobra.Command, duration time.Duration) {
	flags := pflag.NewFlagSet("load", pflag.ContinueOnError)
	flags.SortFlags = false
	l.duration = words.Seconds(duration)
	flags.StringVar(&l.cluster, "ceph-cluster", "", "CephCluster, as NAMESPACE/NAME; needed if there are several, or if you may not list them")
	flags.StringVar(&l.pool, "pool", "", "existing pool that the administrator allows for benchmarks (default a scratch pool)")
	flags.StringSliceVar(&l.classes, "storage-class", nil, "measure a StorageClass instead, with fio in a temporary volume for each client; several, such as a,b, are compared with the first")
	flags.StringVar(&l.volumeSize, "volume-size", "", "size of each volume of --storage-class (default 10Gi, or the size of existing volumes if the class creates none)")
	flags.StringVar(&l.volumeMode, "volume-mode", "filesystem", "filesystem or block: how a volume of --storage-class is used")
	flags.Int32Var(&l.replicas, "replicas", 3, "copies that a scratch pool keeps")
	flags.StringVar(&l.deviceClass, "device-class", "", "device class of the OSDs of a scratch pool, such as ssd (default all OSDs)")
	flags.StringVar(&l.domain, "failure-domain", "", "CRUSH level that separates the copies of a scratch pool (default host, or osd if fewer hosts have OSDs than there are copies)")
	flags.StringVar(&l.engine, "engine", "", strings.Join(Engines(), ", ")+": rados bench, rbd bench, or fio on an RBD image (default rados; fio for random modes, for flags with names "+
		"of fio, and if another flag needs it)")
	flags.StringVar(&l.mode, "mode", "", "access pattern: "+strings.Join(words.Modes(), ", ")+" (default write, randwrite with fio, or randreadwrite with --read-percent); also --rw")
	flags.StringVar(&l.blockSize, "block-size", "", "bytes of one operation, such as 4Ki, or 4k as in fio (default that of the engine); also --bs")
	flags.Int32Var(&l.depth, "depth", 0, "operations in flight for each client, or each job of fio; 0 is the engine's default, or 32 with --rate-iops; also --iodepth")
	flags.Int32Var(&l.jobs, "jobs", 0, "copies of fio's job on each client; also --numjobs")
	flags.Int32Var(&l.readPercent, "read-percent", 0, "percentage of reads, from 1 to 99, for fio or rbd bench; also --rwmixread")
	flags.Int64Var(&l.rateIOPS, "rate-iops", 0, "operations per second that each job of fio offers, so that latencies are comparable")
	flags.BoolVar(&l.closedLoop, "closed-loop", false, "accept a percentile without --rate-iops: it hides stalls, because clients send nothing meanwhile")
	flags.Var(&l.duration, "duration", "how long the phase takes, at least 30s; also --runtime")
	flags.Var(&l.ramp, "ramp", "warm-up that is not measured; 0 is the engine's default")
	flags.Int32Var(&l.clients, "clients", 1, "pods that send the load together")
	flags.StringVar(&l.dataset, "dataset", "", "size of the data that each client prefills if the phase needs data, such as 20Gi (default Auto, or 40% of a volume)")
	l.own = flags
	cmd.Flags().AddFlagSet(flags)
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		_, fio := words.Field(name)
		l.fioFlag = l.fioFlag || fio
		return pflag.NormalizedName(words.Flag(name))
	})
	for name, values := range map[string][]string{"engine": Engines(), "mode": words.Modes(), "volume-mode": {"filesystem", "block"}} {
		kube.CompleteFlag(cmd, name, values)
	}
}

// Given returns the load flags that the command line sets.
func (l *Flags) Given() []string {
	var given []string
	l.own.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			given = append(given, f.Name)
		}
	})
	return given
}

// Engines returns the engines that a phase may name.
func Engines() []string { return []string{"rados", "rbd", "fio"} }

// Check validates the flags without a cluster, and chooses the engine and the mode if no flag sets them.
// needsFio says that another option of the command, such as a percentile, requires fio.
func (l *Flags) Check(needsFio bool) error {
	if len(l.classes) > 0 {
		l.storageClass = l.classes[0]
	}
	l.mode = words.Mode(l.mode)
	l.choose(needsFio)
	for _, check := range []func() error{l.checkWords, func() error { return l.checkEngine(needsFio) }, l.checkReads, l.checkVolume} {
		if err := check(); err != nil {
			return err
		}
	}
	return l.checkSizes()
}

// checkWords validates the engine, the mode, the form of the cluster, the number of clients and the duration.
func (l *Flags) checkWords() error {
	switch {
	case !slices.Contains(Engines(), l.engine):
		return exit.UsageErrorf("--engine %q: want one of %s", l.engine, strings.Join(Engines(), ", "))
	case !words.IsMode(l.mode):
		return exit.UsageErrorf("--mode %q: want one of %s", l.mode, strings.Join(words.Modes(), ", "))
	case l.cluster != "" && strings.Count(l.cluster, "/") != 1:
		return exit.UsageErrorf("--ceph-cluster %q: want NAMESPACE/NAME, such as rook-ceph/my-cluster", l.cluster)
	case l.clients < 1:
		return exit.UsageErrorf("--clients %d: want at least 1", l.clients)
	case l.duration <= 0:
		return exit.UsageErrorf("--duration: want a time such as 60s")
	}
	return nil
}

// checkEngine validates flags that not every engine supports.
func (l *Flags) checkEngine(needsFio bool) error {
	switch {
	case l.engine == "rbd" && l.ramp != 0:
		return exit.UsageErrorf("--ramp: rbd bench has no ramp, use --engine fio")
	case l.engine != "fio" && (l.jobs != 0 || l.rateIOPS != 0 || needsFio):
		return exit.UsageErrorf("--jobs, --rate-iops and percentiles need fio: remove --engine %s", l.engine)
	}
	return nil
}

func (l *Flags) checkReads() error {
	switch {
	case l.readPercent == 0:
		return nil
	case !strings.HasSuffix(l.mode, "readwrite"):
		return exit.UsageErrorf("--read-percent works only with the modes readwrite and randreadwrite, not with %s", l.mode)
	case l.readPercent < 0 || l.readPercent > 99:
		return exit.UsageErrorf("--read-percent %d: want 1 to 99; for only reads use --mode randread", l.readPercent)
	case l.rateIOPS != 0:
		return exit.UsageErrorf("--rate-iops applies to reads and writes separately, so it excludes --read-percent: remove one of them")
	}
	return nil
}

func (l *Flags) checkVolume() error {
	switch {
	case l.volumeMode != "filesystem" && l.volumeMode != "block":
		return exit.UsageErrorf("--volume-mode %q: want filesystem or block", l.volumeMode)
	case l.storageClass == "" && len(l.classes) > 0, slices.Contains(l.classes, ""):
		return exit.UsageErrorf("--storage-class %s: a name is empty", strings.Join(l.classes, ","))
	case l.storageClass == "":
		return nil
	case len(slices.Compact(slices.Sorted(slices.Values(l.classes)))) < len(l.classes):
		return exit.UsageErrorf("--storage-class %s: a class is named twice", strings.Join(l.classes, ","))
	case l.pool != "":
		return exit.UsageErrorf("--storage-class and --pool are two targets: remove one of them")
	case l.engine != "fio":
		return exit.UsageErrorf("--storage-class is measured with fio, in a volume: remove --engine %s", l.engine)
	}
	return nil
}

// PreferFio makes Check choose fio if no flag sets the engine or the mode.
func (l *Flags) PreferFio() {
	l.fioFlag = l.fioFlag || l.engine == "" && l.mode == ""
}

// choose sets the engine and the mode if no flag sets them.
func (l *Flags) choose(needsFio bool) {
	// rados bench reads whole objects: random reads of 4 KiB would first need millions of objects of that size. An image
	// is also what people mean by random I/O.
	byFio := l.fioFlag || needsFio || l.jobs != 0 || l.rateIOPS != 0 || l.readPercent != 0 || l.storageClass != "" ||
		strings.HasSuffix(l.mode, "readwrite") || strings.HasPrefix(l.mode, "rand")
	if l.engine == "" {
		l.engine = "rados"
		if byFio {
			l.engine = "fio"
		}
	}
	if l.mode != "" {
		return
	}
	switch {
	case l.readPercent != 0:
		l.mode = "randreadwrite"
	case l.engine == "fio":
		l.mode = "randwrite"
	default:
		l.mode = "write"
	}
}

func (l *Flags) checkSizes() error {
	if l.blockSize != "" {
		size, err := words.BlockSize(l.blockSize)
		if err != nil {
			return exit.UsageErrorf("--block-size %s: %w", l.blockSize, err)
		}
		l.size = size
	}
	if l.storageClass != "" {
		size, err := resource.ParseQuantity(cmp.Or(l.volumeSize, defaultVolumeSize))
		if bytes, whole := size.AsInt64(); err != nil || !whole || bytes < 64<<20 {
			return exit.UsageErrorf("--volume-size %s: want a size of at least 64Mi, such as 10Gi", l.volumeSize)
		}
		l.volume = &size
	}
	_, err := l.Phase()
	return err
}

// defaultVolumeSize applies without --volume-size, unless Fit chooses another size.
const defaultVolumeSize = "10Gi"

// CheckPercentile returns an error if a flag, such as "--max-p99", asks for a percentile of a closed loop that
// --closed-loop does not accept.
func (l *Flags) CheckPercentile(flag string) error {
	if l.rateIOPS == 0 && !l.closedLoop {
		return exit.UsageErrorf("%s: without a rate, clients send nothing while the cluster stalls, so a percentile hides the stall: add --rate-iops 1000, or --closed-loop to accept that", flag)
	}
	return nil
}

// ClosedLoop reports whether --closed-loop accepts percentiles without a rate.
func (l *Flags) ClosedLoop() bool { return l.closedLoop }

// Engine returns the chosen engine.
func (l *Flags) Engine() string { return l.engine }

// Figure returns the usual metric for this load.
func (l *Flags) Figure() v1alpha1.Metric {
	switch {
	case l.rateIOPS != 0:
		return v1alpha1.MetricLatencyP99 // With a fixed rate, only latency can differ.
	case strings.HasPrefix(l.mode, "rand"):
		return v1alpha1.MetricIOPS
	}
	return v1alpha1.MetricBandwidth
}

// Classes returns the parameter of a sweep over the StorageClasses of --storage-class; nil if the flag
// names fewer than two classes.
func (l *Flags) Classes() *v1alpha1.Parameter {
	if len(l.classes) <= 1 {
		return nil
	}
	p := &v1alpha1.Parameter{Name: "storageClass", StorageClass: &v1alpha1.StorageClassParameter{}}
	for _, class := range l.classes[1:] {
		p.Values = append(p.Values, v1alpha1.ParameterValue(class))
	}
	return p
}

// StorageClass returns the first StorageClass of --storage-class; "" without one.
func (l *Flags) StorageClass() string { return l.storageClass }

// FewestRuns sets the design Blocks, with the smallest numbers of blocks that the API accepts.
func FewestRuns(s *v1alpha1.Strategy) {
	const fewest = 3
	s.Design, s.Blocks, s.ConfirmationBlocks = v1alpha1.DesignBlocks, v1alpha1.Blocks{Min: fewest, Max: fewest}, fewest
}

// NotInterleaved returns the first reason why a sweep cannot compare its configurations in windows of one load; "" if it can.
// It assumes that the administrator permits switching, because only the operator's plan shows whether that is so.
func NotInterleaved(spec *v1alpha1.CephTuningSweepSpec) string {
	permitted := sweepspec.Facts{MaySwitch: func(v1alpha1.ConfigParameter) bool { return true }, MaySwitchPools: true}
	if reasons := sweepspec.NotInterleaved(spec, permitted); len(reasons) > 0 {
		return reasons[0]
	}
	return ""
}

// Quick makes a sweep decide in minutes: in one session of windows, or else with the fewest runs.
func Quick(spec *v1alpha1.CephTuningSweepSpec) {
	if NotInterleaved(spec) != "" {
		FewestRuns(&spec.Strategy)
		return
	}
	spec.Strategy.Design, spec.Strategy.Interleaved.Sessions = v1alpha1.DesignInterleaved, 1
}

// Scratch reports whether a scratch pool is created for the load.
func (l *Flags) Scratch() bool { return l.pool == "" && l.storageClass == "" }

// Template returns the template that the flags describe. The API sets the defaults of all other fields.
func (l *Flags) Template() (v1alpha1.BenchmarkTemplate, error) {
	phase, err := l.Phase()
	if err != nil {
		return v1alpha1.BenchmarkTemplate{}, err
	}
	return v1alpha1.BenchmarkTemplate{
		Target: l.target(), Clients: v1alpha1.Clients{Count: l.clients},
		Dataset: v1alpha1.Dataset{Size: v1alpha1.DatasetSize(l.datasetSize())}, Phases: []v1alpha1.Phase{phase},
	}, nil
}

// datasetSize returns --dataset or, by default, 40 % of a volume; "" if both are missing. The remaining
// room is for the file system and for the data of writes, which are separate from the data of reads; a block
// volume needs less room, but has the same default.
func (l *Flags) datasetSize() string {
	if l.dataset != "" || l.volume == nil {
		return l.dataset
	}
	const mib = 1 << 20
	return fmt.Sprintf("%dMi", max(l.volume.Value()*2/5/mib, 1))
}

func (l *Flags) target() v1alpha1.Target {
	switch {
	case l.storageClass != "":
		mode := v1alpha1.VolumeModeFilesystem
		if l.volumeMode == "block" {
			mode = v1alpha1.VolumeModeBlock
		}
		return v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{
			Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: l.storageClass, Size: *l.volume, VolumeMode: mode},
		}}
	case l.pool != "":
		return v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: v1alpha1.PoolName(l.pool)}}
	}
	return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
		Replicated: &v1alpha1.ReplicatedPool{Size: l.replicas}, DeviceClass: l.deviceClass, FailureDomain: l.domain,
	}}
}

// Phase returns the template's only phase.
func (l *Flags) Phase() (v1alpha1.Phase, error) {
	phase := v1alpha1.Phase{Name: v1alpha1.PhaseName(l.mode)}
	if l.size != nil {
		phase.Name += v1alpha1.PhaseName("-" + strings.ToLower(strings.TrimSuffix(l.size.String(), "i")))
	}
	var err error
	switch l.engine {
	case "rados":
		phase.RadosBench, err = l.radosBench()
	case "rbd":
		phase.RBDBench = l.rbdBench()
	default:
		phase.Fio = l.fio()
	}
	return phase, err
}

func (l *Flags) radosBench() (*v1alpha1.RadosBench, error) {
	mode, ok := map[string]v1alpha1.RadosBenchMode{
		"write": v1alpha1.RadosBenchWrite, "read": v1alpha1.RadosBenchSeq, "randread": v1alpha1.RadosBenchRand,
	}[l.mode]
	if !ok {
		return nil, exit.UsageErrorf("--mode %s: rados bench supports write, read and randread; use --engine fio for others", l.mode)
	}
	phase := &v1alpha1.RadosBench{Mode: mode, Concurrency: l.depth, Duration: l.length(), Ramp: l.rampOf()}
	if l.size != nil {
		phase.BlockSize = *l.size
	}
	return phase, nil
}

func (l *Flags) rbdBench() *v1alpha1.RBDBench {
	type kind struct {
		ioType  v1alpha1.RBDBenchIOType
		pattern v1alpha1.RBDBenchIOPattern
	}
	chosen := map[string]kind{
		"write": {v1alpha1.RBDBenchWrite, v1alpha1.RBDBenchSeq}, "randwrite": {v1alpha1.RBDBenchWrite, v1alpha1.RBDBenchRand},
		"read": {v1alpha1.RBDBenchRead, v1alpha1.RBDBenchSeq}, "randread": {v1alpha1.RBDBenchRead, v1alpha1.RBDBenchRand},
		"readwrite": {v1alpha1.RBDBenchReadWrite, v1alpha1.RBDBenchSeq}, "randreadwrite": {v1alpha1.RBDBenchReadWrite, v1alpha1.RBDBenchRand},
	}[l.mode]
	phase := &v1alpha1.RBDBench{IOType: chosen.ioType, IOPattern: chosen.pattern, IOThreads: l.depth, Duration: l.length(), ReadPercent: l.reads()}
	if l.size != nil {
		phase.IOSize = *l.size
	}
	return phase
}

func (l *Flags) fio() *v1alpha1.Fio {
	pattern := map[string]v1alpha1.FioPattern{
		"write": v1alpha1.FioWrite, "read": v1alpha1.FioRead, "readwrite": v1alpha1.FioReadWrite,
		"randwrite": v1alpha1.FioRandWrite, "randread": v1alpha1.FioRandRead, "randreadwrite": v1alpha1.FioRandReadWrite,
	}[l.mode]
	phase := &v1alpha1.Fio{
		Engine: v1alpha1.FioEngineRBD, Pattern: pattern, IODepth: l.depth, NumJobs: l.jobs, ReadPercent: l.reads(),
		Duration: l.length(), Ramp: l.rampOf(),
	}
	if l.storageClass != "" {
		phase.Engine = v1alpha1.FioEngineLibAIO
	}
	if l.rateIOPS != 0 {
		phase.RateIOPS = &l.rateIOPS
		phase.IODepth = cmp.Or(phase.IODepth, depthOfRate)
	}
	if l.size != nil {
		phase.BlockSize = *l.size
	}
	return phase
}

// depthOfRate is the queue depth of fio for a fixed rate. With the default of 1, a slow operation would
// delay the next one, and the rate would depend on the cluster.
const depthOfRate = 32

func (l *Flags) reads() *int32 {
	if l.readPercent == 0 {
		return nil
	}
	return &l.readPercent
}

func (l *Flags) length() metav1.Duration { return metav1.Duration{Duration: time.Duration(l.duration)} }

func (l *Flags) rampOf() *metav1.Duration {
	if l.ramp == 0 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(l.ramp)}
}

// Resolve fits the flags to the cluster, and returns the CephCluster and the template that they describe. It writes what it
// has chosen to notes. With dryRun, the manifest may be for another cluster, so classes and their volumes may be missing.
func (l *Flags) Resolve(ctx context.Context, c client.Client, dryRun bool, notes io.Writer) (v1alpha1.ClusterReference, v1alpha1.BenchmarkTemplate, error) {
	var template v1alpha1.BenchmarkTemplate
	if err := l.Fit(ctx, c); err != nil && !dryRun {
		return v1alpha1.ClusterReference{}, template, err
	}
	ref, err := l.ClusterRef(ctx, c)
	if err != nil {
		return ref, template, err
	}
	if _, err := io.WriteString(notes, l.FitFailureDomain(ctx, c, ref)); err != nil {
		return ref, template, err
	}
	template, err = l.Template()
	return ref, template, err
}

// ClusterRef returns the CephCluster that the flags name, or the only one that exists.
func (l *Flags) ClusterRef(ctx context.Context, c client.Client) (v1alpha1.ClusterReference, error) {
	if namespace, name, named := strings.Cut(l.cluster, "/"); named {
		return v1alpha1.ClusterReference{Namespace: namespace, Name: name}, nil
	}
	return OnlyCluster(ctx, c)
}

// OnlyCluster returns the only CephCluster. It returns an error unless exactly one exists.
func OnlyCluster(ctx context.Context, c client.Client) (v1alpha1.ClusterReference, error) {
	all, err := kube.CephClusters(ctx, c)
	switch {
	case meta.IsNoMatchError(err):
		return v1alpha1.ClusterReference{}, errors.New("this Kubernetes cluster has no Rook: choose another --context")
	case err != nil:
		return v1alpha1.ClusterReference{}, fmt.Errorf("looking for the CephCluster: %w; name it with --ceph-cluster NAMESPACE/NAME or spec.clusterRef", err)
	case len(all) == 0:
		return v1alpha1.ClusterReference{}, errors.New("there is no CephCluster: choose another --context")
	case len(all) == 1:
		return v1alpha1.ClusterReference{Namespace: all[0].GetNamespace(), Name: all[0].GetName()}, nil
	}
	return v1alpha1.ClusterReference{}, errors.New("there are " + strconv.Itoa(len(all)) + " CephClusters: name one with --ceph-cluster NAMESPACE/NAME, or with spec.clusterRef in a file")
}

// FillCluster sets clusterRef of an object to the only CephCluster, unless the object names a cluster.
func FillCluster(ctx context.Context, c client.Client, o client.Object) error {
	var ref *v1alpha1.ClusterReference
	switch o := o.(type) {
	case *v1alpha1.CephBenchmark:
		ref = &o.Spec.ClusterRef
	case *v1alpha1.CephTuningSweep:
		ref = &o.Spec.ClusterRef
	}
	if ref == nil || *ref != (v1alpha1.ClusterReference{}) {
		return nil
	}
	only, err := OnlyCluster(ctx, c)
	if err != nil {
		return err
	}
	*ref = only
	return nil
}
