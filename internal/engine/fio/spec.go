package fio

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
)

// Engine describes fio.
func Engine() load.Engine { return load.Engine{Formats: Formats(), Spec: specOf} }

func specOf(phase *v1alpha1.Phase) load.Spec {
	if phase.Fio == nil {
		return nil
	}
	return phaseSpec{Fio: phase.Fio, Timed: load.TimedBy(&phase.Fio.Duration, &phase.Fio.Ramp), name: string(phase.Name)}
}

type phaseSpec struct {
	*v1alpha1.Fio
	load.Timed
	name string // of the phase
}

// Load implements [load.Spec].
func (s phaseSpec) Load() (load.Load, error) { return New(s.name, *s.Fio) }

// Traits implements [load.Spec].
func (s phaseSpec) Traits() load.Traits {
	traits := load.Traits{
		BlockBytes:     s.BlockSize.Value(),
		OperationBytes: s.BlockSize.Value(),
		Ramp:           ptr.Deref(s.Ramp, metav1.Duration{}).Duration,
		OnImages:       s.Engine == "" || s.Engine == v1alpha1.FioEngineRBD,
		ClosedLoop:     s.isClosedLoop(),
		Windows:        s.Curve == nil,
		Curve:          s.Curve != nil,
		Percentiles:    true,
		BeginsAgain:    s.beginsAgain(),
	}
	if len(s.Jobs) > 0 && s.Jobs[0].BlockSize != nil {
		traits.OperationBytes = s.Jobs[0].BlockSize.Value()
	}
	if len(s.Jobs) == 0 { // A rate applies to each copy of the job.
		copies := float64(max(1, s.NumJobs))
		traits.OfferedIOPS = copies * float64(ptr.Deref(s.RateIOPS, 0))
		if s.RateBandwidth != nil {
			traits.OfferedBytesPerSecond = copies * float64(s.RateBandwidth.Value())
		}
	}
	for _, job := range s.kinds() {
		p := job.Pattern
		traits.WriteShare = max(traits.WriteShare, load.WriteShare(writes(p), mixes(p), job.ReadPercent))
		traits.Reads = traits.Reads || p != "" && (mixes(p) || !writes(p))
	}
	return traits
}

// beginsAgain: fio's rados engine makes its objects at each start, and removes them at each end.
func (s phaseSpec) beginsAgain() bool {
	return s.isClosedLoop() && s.Curve == nil && s.Engine != v1alpha1.FioEngineRADOS && !slices.ContainsFunc(s.kinds(), func(job v1alpha1.FioJob) bool { return !isRandom(job.Pattern) })
}

func mixes(p v1alpha1.FioPattern) bool {
	return p == v1alpha1.FioReadWrite || p == v1alpha1.FioRandReadWrite
}

func writes(p v1alpha1.FioPattern) bool {
	return mixes(p) || p == v1alpha1.FioWrite || p == v1alpha1.FioRandWrite
}

func isRandom(p v1alpha1.FioPattern) bool {
	return p == v1alpha1.FioRandRead || p == v1alpha1.FioRandWrite || p == v1alpha1.FioRandReadWrite
}

// isClosedLoop reports whether at least one job offers no rate. One such job is enough, because the
// percentiles include its operations.
func (s phaseSpec) isClosedLoop() bool {
	jobs := s.Jobs
	if len(jobs) == 0 {
		jobs = []v1alpha1.FioJob{{}}
	}
	return slices.ContainsFunc(jobs, func(job v1alpha1.FioJob) bool {
		operations, bytes := rateOf(s.Fio, &job)
		return operations == 0 && bytes == 0
	})
}

// kinds returns the pattern and the share of reads of each kind of job. If a job lacks one of them, it inherits
// that of the phase.
func (s phaseSpec) kinds() []v1alpha1.FioJob {
	if len(s.Jobs) == 0 {
		return []v1alpha1.FioJob{{Pattern: s.Pattern, ReadPercent: s.ReadPercent}}
	}
	kinds := make([]v1alpha1.FioJob, len(s.Jobs))
	for i, job := range s.Jobs {
		kinds[i].Pattern, kinds[i].ReadPercent = cmp.Or(job.Pattern, s.Pattern), s.ReadPercent
		if job.ReadPercent != nil {
			kinds[i].ReadPercent = job.ReadPercent
		}
	}
	return kinds
}

// Words implements [load.Spec].
func (s phaseSpec) Words() []string {
	if len(s.Jobs) > 0 {
		return []string{fmt.Sprintf("fio with %d kinds of jobs", len(s.Jobs))}
	}
	words := append([]string{"fio " + string(s.Pattern)}, load.OfSize(s.BlockSize)...)
	words = append(words, fmt.Sprintf("with %d in flight", s.IODepth))
	if s.NumJobs > 1 {
		words = append(words, fmt.Sprintf("in each of %d jobs", s.NumJobs))
	}
	if s.RateIOPS != nil {
		words = append(words, fmt.Sprintf("at %d IOPS offered by each job", *s.RateIOPS))
	}
	if s.Curve != nil {
		words = append(words, fmt.Sprintf("and the rate that keeps %s at %s or below", s.Curve.Metric, s.Curve.AtMost))
	}
	return words
}

// mostSteps is the largest number of steps that the API accepts. A sweep makes steps of its own, and the deadline of its
// clients allows for that many.
const mostSteps = 40

// RunFor implements [load.Spec].
func (s phaseSpec) RunFor(duration time.Duration) bool {
	if s.Curve == nil {
		return s.Timed.RunFor(duration)
	}
	s.Curve.StepDuration.Duration, s.Curve.MaxSteps = duration, mostSteps
	return true
}

// Field implements [load.Spec].
func (s phaseSpec) Field(field v1alpha1.WorkloadField) (string, bool) {
	switch {
	case field == v1alpha1.WorkloadIODepth:
		return fmt.Sprint(s.IODepth), true
	case field == v1alpha1.WorkloadNumJobs:
		return fmt.Sprint(s.NumJobs), true
	case field == v1alpha1.WorkloadBlockSize:
		return s.BlockSize.String(), true
	case field == v1alpha1.WorkloadRateIOPS && s.RateIOPS != nil:
		return strconv.FormatInt(*s.RateIOPS, 10), true
	}
	return "", false
}

// SetField implements [load.Spec].
func (s phaseSpec) SetField(field v1alpha1.WorkloadField, value load.FieldValue) {
	switch field { //nolint:exhaustive // The others belong to other engines.
	case v1alpha1.WorkloadIODepth:
		s.IODepth = value.Count()
	case v1alpha1.WorkloadNumJobs:
		s.NumJobs = value.Count()
	case v1alpha1.WorkloadBlockSize:
		s.BlockSize = value.Size
	case v1alpha1.WorkloadRateIOPS:
		s.RateIOPS = &value.Number
	}
}
