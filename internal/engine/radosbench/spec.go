package radosbench

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
)

// Engine describes rados bench.
func Engine() load.Engine { return load.Engine{Formats: Formats(), Spec: specOf} }

func specOf(phase *v1alpha1.Phase) load.Spec {
	if phase.RadosBench == nil {
		return nil
	}
	return phaseSpec{phase.RadosBench, load.TimedBy(&phase.RadosBench.Duration, &phase.RadosBench.Ramp)}
}

type phaseSpec struct {
	*v1alpha1.RadosBench
	load.Timed
}

// Load implements [load.Spec].
func (s phaseSpec) Load() (load.Load, error) { return New(*s.RadosBench) }

// Traits implements [load.Spec]. Windows require that the phase runs for the requested time. A phase of
// mode Seq ends after reading all objects, and one with ReuseObjects after overwriting all of them.
func (s phaseSpec) Traits() load.Traits {
	traits := load.Traits{
		BlockBytes:     s.BlockSize.Value(),
		OperationBytes: s.BlockSize.Value(),
		Ramp:           ptr.Deref(s.Ramp, metav1.Duration{}).Duration,
		Reads:          s.Mode != v1alpha1.RadosBenchWrite,
		Windows:        s.Mode != v1alpha1.RadosBenchSeq && !s.ReuseObjects,
	}
	if s.Mode == v1alpha1.RadosBenchWrite {
		traits.WriteShare = 1
		if size := ptr.Deref(s.ObjectSize, s.BlockSize); !s.ReuseObjects {
			traits.NewObjectBytes = size.Value()
		}
	}
	return traits
}

// Words implements [load.Spec].
func (s phaseSpec) Words() []string {
	words := []string{"rados bench " + string(s.Mode)}
	if s.Mode == v1alpha1.RadosBenchWrite {
		words = append(words, load.OfSize(s.BlockSize)...)
	}
	return append(words, fmt.Sprintf("with %d in flight", s.Concurrency))
}

// Field implements [load.Spec].
func (s phaseSpec) Field(field v1alpha1.WorkloadField) (string, bool) {
	switch field { //nolint:exhaustive // The others belong to other engines.
	case v1alpha1.WorkloadConcurrency:
		return fmt.Sprint(s.Concurrency), true
	case v1alpha1.WorkloadBlockSize:
		return s.BlockSize.String(), true
	case v1alpha1.WorkloadObjectSize:
		size := ptr.Deref(s.ObjectSize, s.BlockSize) // By default, objects are as large as blocks.
		return size.String(), true
	}
	return "", false
}

// SetField implements [load.Spec].
func (s phaseSpec) SetField(field v1alpha1.WorkloadField, value load.FieldValue) {
	switch field { //nolint:exhaustive // The others belong to other engines.
	case v1alpha1.WorkloadConcurrency:
		s.Concurrency = value.Count()
	case v1alpha1.WorkloadBlockSize:
		s.BlockSize = value.Size
	case v1alpha1.WorkloadObjectSize:
		s.ObjectSize = &value.Size
	}
}

// RunUntilStopped implements [load.Spec].
func (s phaseSpec) RunUntilStopped() int64 {
	s.Timed.RunUntilStopped()
	return s.BlockSize.Value()
}
