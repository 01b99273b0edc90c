package sweepspec

import (
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

// maxOSDs is the schema's maximum of osds.count.
const maxOSDs = 1000

// VariesOSDCount reports whether a parameter varies the number of the scratch pool's OSDs.
func VariesOSDCount(spec *Spec) bool {
	return slices.ContainsFunc(spec.Parameters, func(p v1alpha1.Parameter) bool { return p.OSDCount != nil })
}

// ConfinesOSDs reports whether a sweep confines its scratch pools to some OSDs.
func ConfinesOSDs(spec *Spec) bool {
	pool := spec.Template.Target.ScratchPool
	return pool != nil && (pool.OSDs != nil || VariesOSDCount(spec))
}

// FewestOSDs returns the smallest number of OSDs to which the template or a value of a parameter confines the
// scratch pool; 0 if neither confines it. The template's number counts even if the baseline has another.
func FewestOSDs(spec *Spec) int {
	var counts []int
	if pool := spec.Template.Target.ScratchPool; pool != nil && pool.OSDs != nil {
		counts = append(counts, int(pool.OSDs.Count))
	}
	for _, p := range spec.Parameters {
		if p.OSDCount == nil {
			continue
		}
		for _, value := range valuesOf(spec, p) {
			count, _ := strconv.Atoi(string(value)) // Admission has refused values that are not numbers.
			counts = append(counts, count)
		}
	}
	counts = slices.DeleteFunc(counts, func(count int) bool { return count <= 0 })
	if len(counts) == 0 {
		return 0
	}
	return slices.Min(counts)
}

// setOSDCount confines the scratch pool to the given number of OSDs.
func setOSDCount(pool *v1alpha1.ScratchPool, value cephvalue.Value) {
	count, err := strconv.ParseInt(value.Text, 10, 32)
	if err != nil {
		return // Admission has refused such a value.
	}
	if pool.OSDs == nil {
		pool.OSDs = &v1alpha1.OSDSelection{}
	}
	pool.OSDs.Count = int32(count)
}

// osdCountValue returns the template's number of OSDs.
func osdCountValue(spec *Spec, p v1alpha1.Parameter) (cephvalue.Value, error) {
	pool := spec.Template.Target.ScratchPool
	if pool == nil || pool.OSDs == nil {
		return cephvalue.Value{}, refuse("parameter %s has no baseline: set target.scratchPool.osds.count, or baseline.values", p.Name)
	}
	return number(pool.OSDs.Count), nil
}

// drawOSDs sets the seed by which a run's scratch pool draws its OSDs, unless the spec sets a seed. All runs
// of an attempt at a block have the same seed, and each attempt has a different seed. If all blocks used the
// same OSDs, the verdict would describe only these OSDs, and a slow OSD could look like an effect.
func (c Child) drawOSDs(pool *v1alpha1.ScratchPool) {
	if pool == nil || pool.OSDs == nil || pool.OSDs.Seed != nil {
		return
	}
	sweepSeed := int64(0)
	if plan := c.Sweep.Status.Plan; plan != nil && plan.Seed != nil {
		sweepSeed = *plan.Seed
	}
	// Similar seeds are no problem, because placement derives an independent random stream from each seed.
	seed := (sweepSeed<<16 ^ int64(c.Slot.Block)<<8 ^ int64(c.Slot.Attempt)) & maxSeed
	pool.OSDs.Seed = &seed
}
