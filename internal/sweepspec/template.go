package sweepspec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/settings"
)

// LabelSweep marks the benchmarks of a sweep. [SweepLabel] returns its value.
const LabelSweep = "cephtune.dev/sweep"

// Template returns the spec's template with a configuration's values for the load, the scratch pool and the
// claim. Its phases are lengthFactor times as long as in the spec, up to the schema's maximum.
//
// Errors wrap ErrSpec, for example for values that the load cannot combine.
func Template(spec *Spec, values map[string]cephvalue.Value, lengthFactor int) (v1alpha1.BenchmarkTemplate, error) {
	out := *spec.Template.DeepCopy()
	for _, p := range spec.Parameters {
		value, given := values[string(p.Name)]
		if !given || changesCeph(spec, p) {
			continue
		}
		if err := kindOf(p).set(&out, value); err != nil {
			return out, err
		}
	}
	if _, err := engine.BackgroundOf(&out); err != nil {
		return out, refuse("%v", err)
	}
	return out, lengthen(out, lengthFactor)
}

// lengthen makes the measured phases of a template lengthFactor times as long, up to the schema's maximum, and checks
// them.
func lengthen(t v1alpha1.BenchmarkTemplate, lengthFactor int) error {
	phases, background := t.Phases, t.Background()
	for i := range phases {
		if &phases[i] == background {
			continue // It runs as long as the others.
		}
		if spec := engine.SpecOf(&phases[i]); spec != nil && lengthFactor > 1 {
			spec.Lengthen(lengthFactor)
		}
		if _, err := engine.LoadOf(phases[i]); err != nil {
			return refuse("%v", err)
		}
	}
	return nil
}

func number(n int32) cephvalue.Value { return cephvalue.Of(strconv.Itoa(int(n))) }

// Child is a run or a session of a sweep. The sweep creates a CephBenchmark for it.
type Child struct {
	Sweep *v1alpha1.CephTuningSweep
	Trial sweep.Trial
	// Run is the number of the run or the session in the ledger, from 1.
	Run           int
	Configuration sweep.Configuration
	// Nodes are the nodes of the clients in the first run, and BackgroundNodes those of its background load.
	// Both are empty for the first run itself.
	Nodes, BackgroundNodes []v1alpha1.NodeName
}

// Benchmark returns the CephBenchmark of a run, owned by its sweep. The result depends only on c, so a
// restarted manager finds the object that it created before. If status.plan has a dataset size, the benchmark
// uses that size.
func (c Child) Benchmark() (*v1alpha1.CephBenchmark, error) {
	spec := &c.Sweep.Spec
	template, err := Template(spec, c.Configuration.Values, c.Trial.LengthFactor)
	if err != nil {
		return nil, err
	}
	if plan := c.Sweep.Status.Plan; plan != nil && plan.DatasetSize != nil {
		template.Dataset.Size = v1alpha1.DatasetSize(plan.DatasetSize.String())
	}
	if len(c.Nodes) > 0 {
		template.Clients.Nodes = c.Nodes
	}
	if template.BackgroundLoad != nil && len(c.BackgroundNodes) > 0 {
		template.BackgroundLoad.Nodes = c.BackgroundNodes
	}
	c.drawOSDs(template.Target.ScratchPool)
	quiet := *spec.Quiescence.DeepCopy()
	if quiet.Scrub == v1alpha1.ScrubPause { // The sweep pauses scrubs itself.
		quiet.Scrub = v1alpha1.ScrubRecord
	}
	c.expectOwnWarnings(&quiet)
	return &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Sweep.Namespace,
			Name:      ChildName(c.Sweep, c.Run),
			Labels: map[string]string{
				settings.LabelManagedBy: settings.ManagedBy,
				LabelSweep:              SweepLabel(c.Sweep),
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(c.Sweep, v1alpha1.GroupVersion.WithKind("CephTuningSweep")),
			},
		},
		Spec: v1alpha1.CephBenchmarkSpec{
			ClusterRef: spec.ClusterRef,
			// The runID of the benchmark shows block, attempt, position and repeat.
			RunID:        v1alpha1.RunID(fmt.Sprintf("%d.%d.%d.%d", c.Trial.Block, c.Trial.Attempt, c.Trial.Position, c.Trial.Repeat)),
			Repetitions:  1,
			Template:     template,
			Quiescence:   quiet,
			HistoryLimit: 1,
			RawOutput:    spec.RawOutput,
		},
	}, nil
}

// maxChildName leaves room for a suffix, because benchmarks put their names with suffixes into labels.
const maxChildName = 52

// ChildName returns the name of a run's benchmark. The argument named run counts from 1 for each run ID of the
// sweep. The name differs for another run ID, and for another sweep with the same name.
func ChildName(s *v1alpha1.CephTuningSweep, run int) string {
	return shortened(s.Name, fmt.Sprintf("-%s-%03d", sessionOf(s), run))
}

// OtherChildName returns a name of a run's benchmark that users cannot guess, because another object has the name
// from [ChildName]. The argument random is a random text.
func OtherChildName(s *v1alpha1.CephTuningSweep, run int, random string) string {
	return shortened(s.Name, fmt.Sprintf("-%s-%03d-%s", sessionOf(s), run, random))
}

// shortened returns a name with a suffix, in at most maxChildName characters.
func shortened(name, suffix string) string {
	if most := maxChildName - len(suffix); len(name) > most {
		name = strings.TrimRight(name[:most], ".") // In an object's name, "-" must not follow a dot.
	}
	return name + suffix
}

// SessionName returns the name of the ConfigMap that stores a session of the design Interleaved.
func SessionName(s *v1alpha1.CephTuningSweep, number int) string {
	return ChildName(s, number) + "-windows"
}

// SweepLabel returns the label value that all benchmarks of one run ID of a sweep share.
func SweepLabel(s *v1alpha1.CephTuningSweep) string { return sessionOf(s) }

func sessionOf(s *v1alpha1.CephTuningSweep) string {
	sum := sha256.Sum256([]byte(string(s.UID) + "/" + string(schedule.RunID(s))))
	return hex.EncodeToString(sum[:4])
}

// drawOSDs sets the seed by which a run's scratch pool draws its OSDs, unless the spec sets a seed. All runs
// of an attempt at a block have the same seed, and each attempt has a different seed. If all blocks used the
// same OSDs, the verdict would describe only these OSDs, and a slow OSD could look like an effect.
func (c Child) drawOSDs(pool *v1alpha1.ScratchPool) {
	if pool == nil || pool.OSDSelection == nil || pool.OSDSelection.Seed != nil {
		return
	}
	sweepSeed := int64(0)
	if plan := c.Sweep.Status.Plan; plan != nil && plan.Seed != nil {
		sweepSeed = *plan.Seed
	}
	// Similar seeds are no problem, because placement derives an independent random stream from each seed.
	seed := (sweepSeed<<16 ^ int64(c.Trial.Block)<<8 ^ int64(c.Trial.Attempt)) & maxSeed
	pool.OSDSelection.Seed = &seed
}
