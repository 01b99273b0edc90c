package sweepspec

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cephvalue"
	"github.com/cephtune/cephtune/internal/sweep"
)

// checkValues checks the values of a configuration or a baseline. The schema cannot check them, because the
// kind of a parameter is in another part of the spec.
func checkValues(spec *Spec, c sweep.Bundle) error {
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		at := slices.IndexFunc(spec.Parameters, func(p v1alpha1.Parameter) bool { return string(p.Name) == name })
		if at < 0 {
			return refuse("configuration %s has a value for %s, which is not a parameter", c.Name, name)
		}
		if want := wanted(spec, spec.Parameters[at], c.Values[name]); want != "" {
			return refuse("configuration %s has %s=%s, which must be %s", c.Name, name, c.Values[name], want)
		}
	}
	return nil
}

// wanted returns "" for a valid value of a parameter. For an invalid value, it describes the valid values.
func wanted(spec *Spec, p v1alpha1.Parameter, value cephvalue.Value) string {
	switch {
	case p.Workload != nil:
		return wantedOfLoad(p, value)
	case p.OSDCount != nil:
		if !isWithin(value, 1, maxOSDs) {
			return "a number of OSDs between 1 and 1000"
		}
		return ""
	case p.DeviceClass != nil:
		if !value.Set || !deviceClassName.MatchString(value.Text) {
			return "the name of a device class, such as ssd"
		}
		return ""
	case p.Redundancy != nil:
		if !redundancy.MatchString(value.Text) {
			return "a number of copies, such as 3, or of data and coding chunks, such as 4+2"
		}
		return ""
	case p.StorageClass != nil:
		if !value.Set || !storageClassName.MatchString(value.Text) {
			return "the name of a StorageClass"
		}
		return ""
	case p.PoolOption == nil:
		return ""
	}
	return wantedOfPool(spec.Template.Target.ScratchPool, p, value)
}

// wantedOfPool is like wanted, but for a pool option; scratch is nil for an existing pool.
func wantedOfPool(scratch *v1alpha1.ScratchPool, p v1alpha1.Parameter, value cephvalue.Value) string {
	switch p.PoolOption.Option {
	case optionPGNum:
		// A scratch pool without a pg_num uses Ceph's default.
		if !isWithin(value, 1, 99999) && (value.Set || scratch == nil) {
			return "a whole number between 1 and 99999"
		}
	case "fast_read":
		return wantedOfFastRead(scratch, p, value)
	case "min_size":
		return "left to Ceph, which derives it from size"
	case "size":
		if isErasureCoded(scratch, p) {
			return "left out, since an erasure-coded pool has dataChunks and codingChunks"
		}
		if !isWithin(value, 1, 10) {
			return "a number of copies between 1 and 10"
		}
	}
	return ""
}

func wantedOfFastRead(scratch *v1alpha1.ScratchPool, p v1alpha1.Parameter, value cephvalue.Value) string {
	if scratch != nil && !isErasureCoded(scratch, p) {
		return "left out, since only erasure-coded pools have it"
	}
	if value.Set && !slices.Contains([]string{"0", "1", "false", "true"}, value.Text) {
		return "0, 1, false or true"
	}
	return ""
}

// isErasureCoded reports whether a parameter's pool is an erasure-coded scratch pool.
func isErasureCoded(scratch *v1alpha1.ScratchPool, p v1alpha1.Parameter) bool {
	return scratch != nil && scratch.ErasureCoded != nil && p.PoolOption.Role != v1alpha1.PoolRoleMetadata
}

// valuesOf returns all values that a spec has for a parameter: the values to try, and those of the baseline
// and of configurations. If the baseline or a configuration does not mention the parameter, its value is "".
func valuesOf(spec *Spec, p v1alpha1.Parameter) []v1alpha1.ParameterValue {
	values := slices.Clone(p.Values)
	if spec.Baseline != nil {
		values = append(values, spec.Baseline.Values[string(p.Name)])
	}
	for _, c := range spec.Configurations {
		values = append(values, c.Values[string(p.Name)])
	}
	return values
}

func isWithin(value cephvalue.Value, low, high int) bool {
	n, err := strconv.Atoi(value.Text)
	return err == nil && low <= n && n <= high
}

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
		return bound{1, 100_000_000, "a whole number between 1 and 100000000"}
	case v1alpha1.WorkloadBlockSize, v1alpha1.WorkloadObjectSize, v1alpha1.WorkloadIOSize:
	}
	return bound{512, 64 << 20, "a size between 512 and 64Mi, and a multiple of 512 but not of 1000: for the 4096 bytes that fio calls 4k, write 4Ki"}
}

func wantedOfLoad(p v1alpha1.Parameter, value cephvalue.Value) string {
	limits := boundOf(p.Workload.Field)
	n, ok := loadNumber(p, apiValue(value))
	if !ok || n < limits.low || n > limits.high || isSize(p.Workload.Field) && !IsBlockSize(n) {
		return limits.text
	}
	return ""
}

// IsBlockSize reports whether an engine may use blocks of that many bytes. A block size is a multiple of the
// 512 bytes of a sector. It is not a multiple of 1000, because such a number probably comes from a decimal
// suffix. The schema has the same rule.
func IsBlockSize(bytes int64) bool { return bytes%512 == 0 && bytes%1000 != 0 }

// isSize reports whether a field is a quantity rather than a count.
func isSize(field v1alpha1.WorkloadField) bool {
	return field == v1alpha1.WorkloadBlockSize || field == v1alpha1.WorkloadObjectSize || field == v1alpha1.WorkloadIOSize
}

// loadNumber parses a value of the load as a number; false if it is not a number, or not of the load.
func loadNumber(p v1alpha1.Parameter, value v1alpha1.ParameterValue) (int64, bool) {
	if p.Workload == nil || value == "" {
		return 0, false
	}
	if !isSize(p.Workload.Field) {
		n, err := strconv.ParseInt(string(value), 10, 64)
		return n, err == nil
	}
	q, err := resource.ParseQuantity(string(value))
	if err != nil {
		return 0, false
	}
	return q.AsInt64()
}
