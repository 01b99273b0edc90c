package sweepspec

import (
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	// notPowerOfTwo is Ceph's warning about a pool whose number of placement groups is not a power of two.
	notPowerOfTwo v1alpha1.HealthCode = "POOL_PG_NUM_NOT_POWER_OF_TWO"
	// maxAllowedWarnings is the schema's maximum for quiescence.allowedWarnings.
	maxAllowedWarnings = 32
)

// expectOwnWarnings allows the health warning that pg_num of the measured configuration may cause. A
// benchmark expects such a warning only for pools that it creates: it does not know that the sweep has
// changed an existing pool.
func (c Child) expectOwnWarnings(quiet *v1alpha1.Quiescence) {
	for _, change := range Changes(&c.Sweep.Spec, c.Configuration.Values) {
		if !change.MovesPGs() || !change.To.Set {
			continue
		}
		pgs, err := strconv.Atoi(change.To.Text)
		odd := err == nil && pgs&(pgs-1) != 0
		if odd && len(quiet.AllowedWarnings) < maxAllowedWarnings && !slices.Contains(quiet.AllowedWarnings, notPowerOfTwo) {
			quiet.AllowedWarnings = append(quiet.AllowedWarnings, notPowerOfTwo)
		}
	}
}
