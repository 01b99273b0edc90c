package sweepspec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweep"
)

// LabelSweep marks the children of a sweep. [SweepLabel] returns its value.
const LabelSweep = "cephtune.dev/sweep"

const (
	maxDuration = 24 * time.Hour // of a phase, the schema's maximum
	maxRamp     = time.Hour      // likewise
	maxIOTotal  = 1 << 50        // bytes; no run can write more
)

// Template returns the spec's template for one configuration: with the values of the load and
// of the scratch pool, and lengthFactor times as long.
//
// Errors wrap ErrSpec, for values that the load cannot combine.
func Template(spec *Spec, values map[string]sweep.Value, lengthFactor int) (v1alpha1.BenchmarkTemplate, error) {
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
	for i := range out.Phases {
		lengthen(&out.Phases[i], lengthFactor)
		if _, err := engine.LoadOf(out.Phases[i]); err != nil {
			return out, refuse("%v", err)
		}
	}
	return out, nil
}

// setLoad sets a field of the load. It skips phases of other engines, which admission has
// refused.
func setLoad(t *v1alpha1.BenchmarkTemplate, p v1alpha1.WorkloadParameter, n int64, text string) {
	count := count32(n)
	if p.Field == v1alpha1.WorkloadClients {
		t.Clients.Count = count
		return
	}
	var size resource.Quantity
	if isSize(p.Field) {
		size = resource.MustParse(text) // It was parsed as a number before.
	}
	for i := range t.Phases {
		phase := &t.Phases[i]
		if phase.Name != p.Phase {
			continue
		}
		switch {
		case phase.RadosBench != nil:
			setRadosBench(phase.RadosBench, p.Field, count, size)
		case phase.RBDBench != nil && p.Field == v1alpha1.WorkloadIOThreads:
			phase.RBDBench.IOThreads = count
		case phase.RBDBench != nil:
			phase.RBDBench.IOSize = size
		case phase.Fio != nil:
			setFio(phase.Fio, p.Field, n, size)
		}
	}
}

func setRadosBench(b *v1alpha1.RadosBench, field v1alpha1.WorkloadField, count int32, size resource.Quantity) {
	switch field { //nolint:exhaustive // The others are of other tools.
	case v1alpha1.WorkloadConcurrency:
		b.Concurrency = count
	case v1alpha1.WorkloadBlockSize:
		b.BlockSize = size
	case v1alpha1.WorkloadObjectSize:
		b.ObjectSize = &size
	}
}

func setFio(f *v1alpha1.Fio, field v1alpha1.WorkloadField, n int64, size resource.Quantity) {
	switch field { //nolint:exhaustive // The others are of other tools.
	case v1alpha1.WorkloadIODepth:
		f.IODepth = count32(n)
	case v1alpha1.WorkloadNumJobs:
		f.NumJobs = count32(n)
	case v1alpha1.WorkloadBlockSize:
		f.BlockSize = size
	case v1alpha1.WorkloadRateIOPS:
		f.RateIOPS = &n
	}
}

// workloadValue returns the template's value of a load field.
func workloadValue(t *v1alpha1.BenchmarkTemplate, p v1alpha1.WorkloadParameter) (sweep.Value, error) {
	if p.Field == v1alpha1.WorkloadClients {
		return number(t.Clients.Count), nil
	}
	for _, phase := range t.Phases {
		if phase.Name != p.Phase {
			continue
		}
		if value, ok := phaseValue(phase, p.Field); ok {
			return value, nil
		}
		return sweep.Value{}, refuse("phase %s has no %s that could be the baseline: set it there, or in baseline.values", p.Phase, p.Field)
	}
	return sweep.Value{}, refuse("there is no phase %s, whose %s is a parameter", p.Phase, p.Field)
}

// phaseValue returns a field of a phase; false if it is unset.
func phaseValue(phase v1alpha1.Phase, field v1alpha1.WorkloadField) (sweep.Value, bool) {
	switch {
	case phase.RadosBench != nil:
		return radosBenchValue(phase.RadosBench, field)
	case phase.RBDBench != nil && field == v1alpha1.WorkloadIOThreads:
		return number(phase.RBDBench.IOThreads), true
	case phase.RBDBench != nil && field == v1alpha1.WorkloadIOSize:
		return sweep.Set(phase.RBDBench.IOSize.String()), true
	case phase.Fio != nil:
		return fioValue(phase.Fio, field)
	}
	return sweep.Value{}, false
}

func radosBenchValue(b *v1alpha1.RadosBench, field v1alpha1.WorkloadField) (sweep.Value, bool) {
	switch {
	case field == v1alpha1.WorkloadConcurrency:
		return number(b.Concurrency), true
	case field == v1alpha1.WorkloadObjectSize && b.ObjectSize != nil:
		return sweep.Set(b.ObjectSize.String()), true
	case field == v1alpha1.WorkloadBlockSize, field == v1alpha1.WorkloadObjectSize: // This is rados bench's default.
		return sweep.Set(b.BlockSize.String()), true
	}
	return sweep.Value{}, false
}

func fioValue(f *v1alpha1.Fio, field v1alpha1.WorkloadField) (sweep.Value, bool) {
	switch {
	case field == v1alpha1.WorkloadIODepth:
		return number(f.IODepth), true
	case field == v1alpha1.WorkloadNumJobs:
		return number(f.NumJobs), true
	case field == v1alpha1.WorkloadBlockSize:
		return sweep.Set(f.BlockSize.String()), true
	case field == v1alpha1.WorkloadRateIOPS && f.RateIOPS != nil:
		return sweep.Set(strconv.FormatInt(*f.RateIOPS, 10)), true
	}
	return sweep.Value{}, false
}

// count32 converts a count that was checked against its bounds before.
func count32(n int64) int32 {
	return int32(min(max(n, 0), math.MaxInt32))
}

func number(n int32) sweep.Value { return sweep.Set(strconv.Itoa(int(n))) }

// paramAutoscaleMode is the option that would let Ceph change pg_num during a run.
const paramAutoscaleMode = "pg_autoscale_mode"

// setScratch sets an option of a pool that is created for each run. If the number of PGs is
// varied, the baseline also has a fixed number, even if the spec names none.
func setScratch(pool *v1alpha1.ScratchPool, p v1alpha1.PoolOptionParameter, value sweep.Value) {
	ofMetadata := p.Role == v1alpha1.PoolRoleMetadata && pool.ErasureCoded != nil
	if p.Option == "size" {
		copies, err := strconv.ParseInt(value.Text, 10, 32)
		switch {
		case err != nil: // Refused before.
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
	if value.IsSet {
		(*params)[string(p.Option)] = v1alpha1.ParameterValue(value.Text)
	} else {
		delete(*params, string(p.Option))
	}
	if p.Option == optionPGNum {
		(*params)[paramAutoscaleMode] = "off"
	}
}

// scratchValue returns the template's value of a scratch pool option.
func scratchValue(pool *v1alpha1.ScratchPool, p v1alpha1.PoolOptionParameter) sweep.Value {
	ofMetadata := p.Role == v1alpha1.PoolRoleMetadata && pool.ErasureCoded != nil
	switch {
	case p.Option == "size" && ofMetadata:
		return number(pool.ErasureCoded.Metadata.Size)
	case p.Option == "size" && pool.Replicated != nil:
		return number(pool.Replicated.Size)
	case ofMetadata:
		return plannerValue(pool.ErasureCoded.Metadata.Parameters[string(p.Option)])
	}
	return plannerValue(pool.Parameters[string(p.Option)])
}

// lengthen multiplies the duration of a phase, including its ramp: a run that did not become
// steady needs a longer warm-up too.
func lengthen(phase *v1alpha1.Phase, factor int) {
	if factor <= 1 {
		return
	}
	times := func(d time.Duration, most time.Duration) time.Duration {
		return max(d, min(time.Duration(factor)*d, most))
	}
	ramp := func(d *metav1.Duration) *metav1.Duration {
		if d == nil {
			return nil
		}
		return &metav1.Duration{Duration: times(d.Duration, maxRamp)}
	}
	switch b, r, f := phase.RadosBench, phase.RBDBench, phase.Fio; {
	case b != nil:
		b.Duration.Duration, b.Ramp = times(b.Duration.Duration, maxDuration), ramp(b.Ramp)
	case r != nil:
		r.Duration.Duration = times(r.Duration.Duration, maxDuration)
		if r.IOTotal != nil {
			total := resource.NewQuantity(max(r.IOTotal.Value(), min(int64(factor)*min(r.IOTotal.Value(), maxIOTotal), maxIOTotal)), resource.BinarySI)
			r.IOTotal = total
		}
	case f != nil:
		f.Duration.Duration, f.Ramp = times(f.Duration.Duration, maxDuration), ramp(f.Ramp)
	}
}

// Child is one run of a sweep, which becomes one ledger entry.
type Child struct {
	Sweep *v1alpha1.CephTuningSweep
	Slot  sweep.Slot
	// Run is the number of the ledger entry, from 1.
	Run           int
	Configuration sweep.Configuration
	// Nodes are the nodes of the first run's clients, BackgroundNodes those of its background
	// load. Both are empty in the first run itself.
	Nodes, BackgroundNodes []v1alpha1.NodeName
}

// Benchmark returns the CephBenchmark of a run, owned by its sweep. It depends only on its
// arguments, so a restarted manager finds the object that it created before. It uses the
// dataset size of status.plan, if that has one.
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
			// The child's runID shows block, attempt, slot and try.
			RunID:        v1alpha1.RunID(fmt.Sprintf("%d.%d.%d.%d", c.Slot.Block, c.Slot.Attempt, c.Slot.Position, c.Slot.Repeat)),
			Repetitions:  1,
			Template:     template,
			Quiescence:   quiet,
			HistoryLimit: 1,
			RawOutput:    spec.RawOutput,
		},
	}, nil
}

// maxChildName leaves room for the suffix that a child adds to its name in a label.
const maxChildName = 52

// ChildName returns the name of a run's child; runs count from 1 within the sweep's run ID.
// The name differs for another run ID, and for another sweep with the same name.
func ChildName(s *v1alpha1.CephTuningSweep, run int) string {
	suffix := fmt.Sprintf("-%s-%03d", sessionOf(s), run)
	name := s.Name
	if most := maxChildName - len(suffix); len(name) > most {
		name = name[:most]
	}
	return name + suffix
}

// SessionName returns the name of the ConfigMap that stores a session of the design
// Interleaved.
func SessionName(s *v1alpha1.CephTuningSweep, number int) string {
	return ChildName(s, number) + "-windows"
}

// SweepLabel returns the label value that all children of one run ID of a sweep share.
func SweepLabel(s *v1alpha1.CephTuningSweep) string { return sessionOf(s) }

func sessionOf(s *v1alpha1.CephTuningSweep) string {
	sum := sha256.Sum256([]byte(string(s.UID) + "/" + string(s.Spec.RunID)))
	return hex.EncodeToString(sum[:4])
}
