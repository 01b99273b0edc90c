package sweepspec

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// osdCount varies the number of OSDs that store the scratch pool.
type osdCount struct{ anyKind }

// maxOSDs is the schema's maximum of osdSelection.count.
const maxOSDs = 1000

func (osdCount) wanted(_ *Spec, value cephvalue.Value) string {
	if !isWithin(value, 1, maxOSDs) {
		return "a number of OSDs between 1 and 1000"
	}
	return ""
}

func (k osdCount) inTemplate(spec *Spec) (cephvalue.Value, error) {
	pool := spec.Template.Target.ScratchPool
	if pool == nil || pool.OSDSelection == nil {
		return cephvalue.Value{}, refuse("parameter %s has no baseline: set target.scratchPool.osdSelection.count, or baseline.values", k.Name)
	}
	return number(pool.OSDSelection.Count), nil
}

func (osdCount) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	pool, count := t.Target.ScratchPool, atoi32(value.Text)
	if pool == nil || count == 0 {
		return nil // Admission has refused it.
	}
	if pool.OSDSelection == nil {
		pool.OSDSelection = &v1alpha1.OSDSelection{}
	}
	pool.OSDSelection.Count = count
	return nil
}

func (osdCount) traits() traits {
	return traits{pool: true, noPatch: "The number of OSDs is not a setting, so there is no patch for it."}
}
