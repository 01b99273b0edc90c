package sweepspec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cephvalue"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweep"
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
		switch {
		case !given || changesCeph(spec, p):
		case p.Workload != nil:
			number, ok := loadNumber(p, apiValue(value))
			if !ok {
				return out, refuse("%s=%s is %s", p.Name, value, "not a value of the load")
			}
			setLoad(&out, *p.Workload, number, value.Text)
		case p.OSDCount != nil:
			setOSDCount(out.Target.ScratchPool, value)
		case p.DeviceClass != nil:
			out.Target.ScratchPool.DeviceClass = value.Text
		case p.Redundancy != nil:
			setRedundancy(out.Target.ScratchPool, value)
		case p.StorageClass != nil:
			out.Target.PersistentVolumeClaim.Template.StorageClassName = value.Text
		default:
			setScratch(out.Target.ScratchPool, *p.PoolOption, value)
		}
	}
	if out.BackgroundLoad != nil {
		if _, err := engine.BackgroundOf(*out.BackgroundLoad); err != nil {
			return out, refuse("%v", err)
		}
	}
	return out, lengthen(out.Phases, lengthFactor)
}

// lengthen makes phases lengthFactor times as long, up to the schema's maximum, and checks them.
func lengthen(phases []v1alpha1.Phase, lengthFactor int) error {
	for i := range phases {
		if spec := engine.SpecOf(&phases[i]); spec != nil && lengthFactor > 1 {
			spec.Lengthen(lengthFactor)
		}
		if _, err := engine.LoadOf(phases[i]); err != nil {
			return refuse("%v", err)
		}
	}
	return nil
}

// setLoad sets a field of the load. It skips a phase whose engine lacks the field, because admission has
// refused such a parameter.
func setLoad(t *v1alpha1.BenchmarkTemplate, p v1alpha1.WorkloadParameter, n int64, text string) {
	value := engine.FieldValue{Number: n}
	if p.Field == v1alpha1.WorkloadClients {
		t.Clients.Count = value.Count()
		return
	}
	if isSize(p.Field) {
		value.Size = resource.MustParse(text) // The caller has parsed this text as a number.
	}
	for i := range t.Phases {
		phase := &t.Phases[i]
		if spec := engine.SpecOf(phase); phase.Name == p.Phase && spec != nil {
			spec.SetField(p.Field, value)
		}
	}
}

// workloadValue returns the template's value of a load field.
func workloadValue(t *v1alpha1.BenchmarkTemplate, p v1alpha1.WorkloadParameter) (cephvalue.Value, error) {
	if p.Field == v1alpha1.WorkloadClients {
		return number(t.Clients.Count), nil
	}
	for _, phase := range t.Phases {
		if phase.Name != p.Phase {
			continue
		}
		if spec := engine.SpecOf(&phase); spec != nil {
			if text, ok := spec.Field(p.Field); ok {
				return cephvalue.Of(text), nil
			}
		}
		return cephvalue.Value{}, refuse("phase %s has no %s that could be the baseline: set it there, or in baseline.values", p.Phase, p.Field)
	}
	return cephvalue.Value{}, refuse("there is no phase %s, but a parameter varies its %s", p.Phase, p.Field)
}

func number(n int32) cephvalue.Value { return cephvalue.Of(strconv.Itoa(int(n))) }

// paramAutoscaleMode is the option that, if it is on, lets Ceph change pg_num during a run.
const paramAutoscaleMode = "pg_autoscale_mode"

// setScratch sets an option of a scratch pool. If pg_num is varied, the autoscaler is off in every
// configuration, even in a baseline without a value for pg_num.
func setScratch(pool *v1alpha1.ScratchPool, p v1alpha1.PoolOptionParameter, value cephvalue.Value) {
	ofMetadata := p.Role == v1alpha1.PoolRoleMetadata && pool.ErasureCoded != nil
	if p.Option == optionSize {
		copies, err := strconv.ParseInt(value.Text, 10, 32)
		switch {
		case err != nil: // Admission has refused such a value.
		case ofMetadata:
			pool.ErasureCoded.Metadata.Size = int32(copies)
		case pool.Replicated != nil:
			pool.Replicated.Size = int32(copies)
		}
		return
	}
	params := &pool.Parameters
	if ofMetadata {
		params = &pool.ErasureCoded.Metadata.Parameters
	}
	if *params == nil {
		*params = map[string]v1alpha1.ParameterValue{}
	}
	if value.Set {
		(*params)[string(p.Option)] = apiValue(value)
	} else {
		delete(*params, string(p.Option))
	}
	if p.Option == optionPGNum {
		(*params)[paramAutoscaleMode] = "off"
	}
}

// scratchValue returns the template's value of a scratch pool option.
func scratchValue(pool *v1alpha1.ScratchPool, p v1alpha1.PoolOptionParameter) cephvalue.Value {
	ofMetadata := p.Role == v1alpha1.PoolRoleMetadata && pool.ErasureCoded != nil
	switch {
	case p.Option == optionSize && ofMetadata:
		return number(pool.ErasureCoded.Metadata.Size)
	case p.Option == optionSize && pool.Replicated != nil:
		return number(pool.Replicated.Size)
	case ofMetadata:
		return plannerValue(pool.ErasureCoded.Metadata.Parameters[string(p.Option)])
	}
	return plannerValue(pool.Parameters[string(p.Option)])
}

// Child is a run or a session of a sweep. The sweep creates a CephBenchmark for it.
type Child struct {
	Sweep *v1alpha1.CephTuningSweep
	Slot  sweep.Slot
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
	template, err := Template(spec, c.Configuration.Values, c.Slot.LengthFactor)
	if err != nil {
		return nil, err
	}
	if plan := c.Sweep.Status.Plan; plan != nil && plan.DatasetSize != nil {
		template.Dataset.Size = plan.DatasetSize.String()
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
			RunID:        v1alpha1.RunID(fmt.Sprintf("%d.%d.%d.%d", c.Slot.Block, c.Slot.Attempt, c.Slot.Position, c.Slot.Repeat)),
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
	sum := sha256.Sum256([]byte(string(s.UID) + "/" + string(s.Spec.RunID)))
	return hex.EncodeToString(sum[:4])
}
