package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
)

// load is a benchmark of one phase, as flags describe it.
type load struct {
	cluster     string
	pool        string
	replicas    int32
	deviceClass string
	domain      string
	engine      string
	mode        string
	blockSize   string
	duration    time.Duration
	ramp        time.Duration
	concurrency int32
	clients     int32
	repetitions int32
	dataset     string
	expect      string

	size *resource.Quantity // blockSize, once it is checked
}

// addFlags gives a command the flags of a load.
func (l *load) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.cluster, "ceph-cluster", "", "CephCluster, as NAMESPACE/NAME; needed where there are several, or none may be listed")
	flags.StringVar(&l.pool, "pool", "", "existing pool that the administrator has opened for benchmarks; without, a scratch pool is made")
	flags.Int32Var(&l.replicas, "replicas", 3, "copies that a scratch pool keeps")
	flags.StringVar(&l.deviceClass, "device-class", "", "class of OSDs that store a scratch pool, such as ssd; without, all do")
	flags.StringVar(&l.domain, "failure-domain", "", "CRUSH level on which the copies of a scratch pool are kept apart; without, host: say osd where there are fewer hosts than copies")
	flags.StringVar(&l.engine, "engine", "rados", strings.Join(engines(), ", ")+": rados bench, rbd bench, or fio on an RBD image")
	flags.StringVar(&l.mode, "mode", "write", "what is done: "+strings.Join(modes(), ", ")+"; not every engine does everything")
	flags.StringVar(&l.blockSize, "block-size", "", "bytes of one operation, such as 4Ki; without, what the engine's phase has by default")
	flags.DurationVar(&l.duration, "duration", time.Minute, "how long the phase takes, at least 30s")
	flags.DurationVar(&l.ramp, "ramp", 0, "how long it runs before it counts; 0 is what the engine's phase has by default")
	flags.Int32Var(&l.concurrency, "concurrency", 0, "operations in flight for each client; 0 is what the engine's phase has by default")
	flags.Int32Var(&l.clients, "clients", 1, "pods that put the load there together")
	flags.Int32Var(&l.repetitions, "repetitions", 3, "how often it is run; intervals need three")
	flags.StringVar(&l.dataset, "dataset", "", "what each client prefills, such as 20Gi, where the phase needs it; without, Auto")
	flags.StringVar(&l.expect, "at-least", "", "bandwidth that makes it a gate, such as 400Mi")
}

// names are those of the flags.
func (*load) names() []string {
	return []string{
		"ceph-cluster", "pool", "replicas", "device-class", "failure-domain", "engine", "mode", "block-size", "duration", "ramp",
		"concurrency", "clients", "repetitions", "dataset", "at-least",
	}
}

// given are the flags that the command line names.
func (l *load) given(flags *pflag.FlagSet) []string {
	return slices.DeleteFunc(l.names(), func(name string) bool { return !flags.Changed(name) })
}

func engines() []string { return []string{"rados", "rbd", "fio"} }

func modes() []string {
	return []string{"write", "read", "randwrite", "randread", "readwrite", "randreadwrite"}
}

// check reports what needs no cluster to be wrong.
func (l *load) check() error {
	switch {
	case !slices.Contains(engines(), l.engine):
		return exit.UsageErrorf("--engine %q: want one of %s", l.engine, strings.Join(engines(), ", "))
	case !slices.Contains(modes(), l.mode):
		return exit.UsageErrorf("--mode %q: want one of %s", l.mode, strings.Join(modes(), ", "))
	case l.cluster != "" && strings.Count(l.cluster, "/") != 1:
		return exit.UsageErrorf("--ceph-cluster %q: want NAMESPACE/NAME, such as rook-ceph/my-cluster", l.cluster)
	case l.duration <= 0 || l.ramp < 0:
		return exit.UsageErrorf("--duration %v and --ramp %v: want times such as 60s", l.duration, l.ramp)
	case l.engine == "rbd" && l.ramp != 0:
		return exit.UsageErrorf("--ramp: rbd bench knows none, use the engine fio")
	}
	if l.blockSize != "" {
		size, err := resource.ParseQuantity(l.blockSize)
		if err != nil {
			return exit.UsageErrorf("--block-size %q: want a size such as 4Ki or 4Mi", l.blockSize)
		}
		l.size = &size
	}
	_, err := l.phase()
	return err
}

// benchmark is the object that the flags describe. What they leave open is left to the
// defaults of the kind.
func (l *load) benchmark(ctx context.Context, c client.Client) (*v1alpha1.CephBenchmark, error) {
	phase, err := l.phase()
	if err != nil {
		return nil, err
	}
	ref, err := l.clusterRef(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"},
		Spec: v1alpha1.CephBenchmarkSpec{
			ClusterRef: ref, Repetitions: l.repetitions,
			Template: v1alpha1.BenchmarkTemplate{
				Target: l.target(), Clients: v1alpha1.Clients{Count: l.clients},
				Dataset: v1alpha1.Dataset{Size: l.dataset}, Phases: []v1alpha1.Phase{phase},
			},
		},
	}
	if l.expect != "" {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: phase.Name, Metric: v1alpha1.MetricBandwidth},
			AtLeast:         v1alpha1.Threshold(l.expect),
		}}
	}
	return b, nil
}

func (l *load) target() v1alpha1.Target {
	if l.pool != "" {
		return v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: v1alpha1.PoolName(l.pool)}}
	}
	return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
		Replicated: &v1alpha1.ReplicatedPool{Size: l.replicas}, DeviceClass: l.deviceClass, FailureDomain: l.domain,
	}}
}

func (l *load) phase() (v1alpha1.Phase, error) {
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

func (l *load) radosBench() (*v1alpha1.RadosBench, error) {
	mode, ok := map[string]v1alpha1.RadosBenchMode{
		"write": v1alpha1.RadosBenchWrite, "read": v1alpha1.RadosBenchSeq, "randread": v1alpha1.RadosBenchRand,
	}[l.mode]
	if !ok {
		return nil, exit.UsageErrorf("--mode %s: rados bench does write, read and randread; use --engine fio for others", l.mode)
	}
	phase := &v1alpha1.RadosBench{Mode: mode, Concurrency: l.concurrency, Duration: metav1.Duration{Duration: l.duration}, Ramp: l.rampOf()}
	if l.size != nil {
		phase.BlockSize = *l.size
	}
	return phase, nil
}

func (l *load) rbdBench() *v1alpha1.RBDBench {
	type kind struct {
		ioType  v1alpha1.RBDBenchIOType
		pattern v1alpha1.RBDBenchIOPattern
	}
	of := map[string]kind{
		"write": {v1alpha1.RBDBenchWrite, v1alpha1.RBDBenchSeq}, "randwrite": {v1alpha1.RBDBenchWrite, v1alpha1.RBDBenchRand},
		"read": {v1alpha1.RBDBenchRead, v1alpha1.RBDBenchSeq}, "randread": {v1alpha1.RBDBenchRead, v1alpha1.RBDBenchRand},
		"readwrite": {v1alpha1.RBDBenchReadWrite, v1alpha1.RBDBenchSeq}, "randreadwrite": {v1alpha1.RBDBenchReadWrite, v1alpha1.RBDBenchRand},
	}[l.mode]
	phase := &v1alpha1.RBDBench{IOType: of.ioType, IOPattern: of.pattern, IOThreads: l.concurrency, Duration: metav1.Duration{Duration: l.duration}}
	if l.size != nil {
		phase.IOSize = *l.size
	}
	return phase
}

func (l *load) fio() *v1alpha1.Fio {
	pattern := map[string]v1alpha1.FioPattern{
		"write": v1alpha1.FioWrite, "read": v1alpha1.FioRead, "readwrite": v1alpha1.FioReadWrite,
		"randwrite": v1alpha1.FioRandWrite, "randread": v1alpha1.FioRandRead, "randreadwrite": v1alpha1.FioRandReadWrite,
	}[l.mode]
	phase := &v1alpha1.Fio{Engine: v1alpha1.FioEngineRBD, Pattern: pattern, IODepth: l.concurrency, Duration: metav1.Duration{Duration: l.duration}, Ramp: l.rampOf()}
	if l.size != nil {
		phase.BlockSize = *l.size
	}
	return phase
}

func (l *load) rampOf() *metav1.Duration {
	if l.ramp == 0 {
		return nil
	}
	return &metav1.Duration{Duration: l.ramp}
}

// clusterRef is the CephCluster that was named, or the only one that there is.
func (l *load) clusterRef(ctx context.Context, c client.Client) (v1alpha1.ClusterReference, error) {
	if namespace, name, named := strings.Cut(l.cluster, "/"); named {
		return v1alpha1.ClusterReference{Namespace: namespace, Name: name}, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephClusterList"})
	if err := c.List(ctx, list); err != nil {
		return v1alpha1.ClusterReference{}, fmt.Errorf("looking for the CephCluster, which --ceph-cluster NAMESPACE/NAME would name: %w", err)
	}
	switch len(list.Items) {
	case 0:
		return v1alpha1.ClusterReference{}, errors.New("there is no CephCluster: choose another --context")
	case 1:
		return v1alpha1.ClusterReference{Namespace: list.Items[0].GetNamespace(), Name: list.Items[0].GetName()}, nil
	}
	return v1alpha1.ClusterReference{}, errors.New("there are " + strconv.Itoa(len(list.Items)) + " CephClusters: name one with --ceph-cluster NAMESPACE/NAME")
}
