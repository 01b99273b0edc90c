package sweepspec

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/engine"
)

// workload varies a field of the load.
type workload struct{ anyKind }

// bound is the schema's range of a load field.
type bound struct {
	low, high int64
	text      string
}

func boundOf(field v1alpha1.WorkloadField) bound {
	switch field {
	case v1alpha1.WorkloadClients, v1alpha1.WorkloadNumJobs:
		return bound{1, 64, "a whole number between 1 and 64"}
	case v1alpha1.WorkloadConcurrency, v1alpha1.WorkloadIOThreads, v1alpha1.WorkloadIODepth:
		return bound{1, 1024, "a whole number between 1 and 1024"}
	case v1alpha1.WorkloadRateIOPS:
		return bound{1, 1_000_000, "a whole number between 1 and 1000000"}
	case v1alpha1.WorkloadBlockSize, v1alpha1.WorkloadObjectSize, v1alpha1.WorkloadIOSize:
	}
	return bound{512, 64 << 20, "a size between 512 and 64Mi, and a multiple of 512 but not of 1000: for the 4096 bytes that fio calls 4k, write 4Ki"}
}

func (k workload) wanted(_ *Spec, value cephvalue.Value) string {
	limits := boundOf(k.Workload.Field)
	n, ok := k.number(apiValue(value))
	if !ok || n < limits.low || n > limits.high || k.isSize() && !IsBlockSize(n) {
		return limits.text
	}
	return ""
}

// IsBlockSize reports whether an engine may use blocks of that many bytes. A block size is a multiple of the
// 512 bytes of a sector. It is not a multiple of 1000, because such a number probably comes from a decimal
// suffix. The schema has the same rule.
func IsBlockSize(bytes int64) bool { return bytes%512 == 0 && bytes%1000 != 0 }

// isSize reports whether the field is a quantity rather than a count.
func (k workload) isSize() bool {
	return slices.Contains([]v1alpha1.WorkloadField{v1alpha1.WorkloadBlockSize, v1alpha1.WorkloadObjectSize, v1alpha1.WorkloadIOSize}, k.Workload.Field)
}

// number parses a value as a number; false if it is not a number.
func (k workload) number(value v1alpha1.ParameterValue) (int64, bool) {
	if value == "" {
		return 0, false
	}
	if !k.isSize() {
		n, err := strconv.ParseInt(string(value), 10, 64)
		return n, err == nil
	}
	q, err := resource.ParseQuantity(string(value))
	if err != nil {
		return 0, false
	}
	return q.AsInt64()
}

// equal compares numbers, so that 4096 and 4Ki are one value.
func (k workload) equal(a, b v1alpha1.ParameterValue) bool {
	m, isNumber := k.number(a)
	n, isOther := k.number(b)
	return isNumber && isOther && m == n
}

func (k workload) inTemplate(spec *Spec) (cephvalue.Value, error) {
	if k.Workload.Field == v1alpha1.WorkloadClients {
		return number(spec.Template.Clients.Count), nil
	}
	phase := spec.Template.Phase(k.Workload.Phase)
	if phase == nil {
		return cephvalue.Value{}, refuse("there is no phase %s, but a parameter varies its %s", k.Workload.Phase, k.Workload.Field)
	}
	if load := engine.SpecOf(phase); load != nil {
		if text, ok := load.Field(k.Workload.Field); ok {
			return cephvalue.Of(text), nil
		}
	}
	return cephvalue.Value{}, refuse("phase %s has no %s that could be the baseline: set it there, or in baseline.values", k.Workload.Phase, k.Workload.Field)
}

// set skips a phase whose engine lacks the field, because admission has refused such a parameter.
func (k workload) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	n, ok := k.number(apiValue(value))
	if !ok {
		return refuse("%s=%s is not a value of the load", k.Name, value)
	}
	field := engine.FieldValue{Number: n}
	if k.Workload.Field == v1alpha1.WorkloadClients {
		t.Clients.Count = field.Count()
		return nil
	}
	if k.isSize() {
		field.Size = resource.MustParse(value.Text) // The method number has parsed this text.
	}
	if phase := t.Phase(k.Workload.Phase); phase != nil {
		if load := engine.SpecOf(phase); load != nil {
			load.SetField(k.Workload.Field, field)
		}
	}
	return nil
}

// traits: some fields decide which objects or images exist, and the others only how data are used.
func (k workload) traits() traits {
	deciding := []v1alpha1.WorkloadField{v1alpha1.WorkloadClients, v1alpha1.WorkloadNumJobs, v1alpha1.WorkloadBlockSize, v1alpha1.WorkloadObjectSize}
	if slices.Contains(deciding, k.Workload.Field) {
		return traits{data: "decides which data exist"}
	}
	return traits{}
}

func (workload) aims(*Spec) bool { return true }

// notAimed: a session can begin the load again in each window with another number of operations in flight, on the
// same data.
func (k workload) notAimed(spec *Spec, facts Facts) string {
	switch {
	case k.Workload.Field != v1alpha1.WorkloadIODepth:
		return k.notSwitched(spec, facts)
	case k.Workload.Phase != spec.Objective.Phase:
		return fmt.Sprintf("Parameter %s is about phase %s, and the objective about phase %s.", k.Name, k.Workload.Phase, spec.Objective.Phase)
	}
	return notBegunAgain(spec)
}

// variesLoad returns the first parameter that varies one of the fields in one of the phases. The field clients belongs
// to all phases. It returns "" if no parameter does.
func variesLoad(spec *Spec, phases []v1alpha1.PhaseName, fields ...v1alpha1.WorkloadField) v1alpha1.ParameterName {
	for _, p := range spec.Parameters {
		if w := p.Workload; w != nil && slices.Contains(fields, w.Field) && (w.Field == v1alpha1.WorkloadClients || slices.Contains(phases, w.Phase)) {
			return p.Name
		}
	}
	return ""
}
