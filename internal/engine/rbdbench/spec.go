package rbdbench

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
)

// Engine describes rbd bench.
func Engine() load.Engine { return load.Engine{Formats: Formats(), Spec: specOf} }

func specOf(phase *v1alpha1.Phase) load.Spec {
	if phase.RBDBench == nil {
		return nil
	}
	return phaseSpec{phase.RBDBench}
}

// endlessBytes is the amount for a load that runs until it is stopped. At 186 GB/s, it lasts a week.
const endlessBytes = 100 << 50

type phaseSpec struct{ *v1alpha1.RBDBench }

// Load implements [load.Spec].
func (s phaseSpec) Load() (load.Load, error) { return New(*s.RBDBench) }

// Traits implements [load.Spec]. Windows is false, because rbd bench ends after a number of bytes, not
// after a time.
func (s phaseSpec) Traits() load.Traits {
	return load.Traits{
		BlockBytes:     s.IOSize.Value(),
		OperationBytes: s.IOSize.Value(),
		Reads:          s.IOType != v1alpha1.RBDBenchWrite,
		WriteShare:     load.WriteShare(s.IOType != v1alpha1.RBDBenchRead, s.IOType == v1alpha1.RBDBenchReadWrite, s.ReadPercent),
		OnImages:       true,
	}
}

// Words implements [load.Spec].
func (s phaseSpec) Words() []string {
	words := append([]string{"rbd bench " + string(s.IOType)}, load.OfSize(s.IOSize)...)
	return append(words, fmt.Sprintf("with %d in flight", s.IOThreads))
}

// Field implements [load.Spec].
func (s phaseSpec) Field(field v1alpha1.WorkloadField) (string, bool) {
	switch field { //nolint:exhaustive // The others belong to other engines.
	case v1alpha1.WorkloadIOThreads:
		return fmt.Sprint(s.IOThreads), true
	case v1alpha1.WorkloadIOSize:
		return s.IOSize.String(), true
	}
	return "", false
}

// SetField implements [load.Spec].
func (s phaseSpec) SetField(field v1alpha1.WorkloadField, value load.FieldValue) {
	switch field { //nolint:exhaustive // The others belong to other engines.
	case v1alpha1.WorkloadIOThreads:
		s.IOThreads = value.Count()
	case v1alpha1.WorkloadIOSize:
		s.IOSize = value.Size
	}
}

// Lengthen implements [load.Spec].
func (s phaseSpec) Lengthen(factor int) {
	s.Duration = load.LongerDuration(s.Duration, factor)
	if s.IOTotal != nil {
		total := s.IOTotal.Value()
		total = max(total, min(int64(factor)*min(total, maxTotal), maxTotal))
		s.IOTotal = resource.NewQuantity(total, resource.BinarySI)
	}
}

// RunFor implements [load.Spec].
func (phaseSpec) RunFor(time.Duration) bool { return false }

// SkipRamp implements [load.Spec]. rbd bench has no ramp.
func (phaseSpec) SkipRamp() {}

// RunUntilStopped implements [load.Spec].
func (s phaseSpec) RunUntilStopped() int64 {
	s.IOTotal = resource.NewQuantity(endlessBytes, resource.BinarySI)
	return 0
}
