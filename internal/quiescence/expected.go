package quiescence

import (
	"cmp"
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Expectation is a health warning that the caller causes itself.
type Expectation struct {
	Code string
	// Pools is the number of the caller's pools that may cause the warning. A warning with more pools also
	// concerns other pools. 0 allows any warning with this code.
	Pools int
}

func (e Expectation) explains(check ceph.HealthCheck) bool {
	return check.Code == e.Code && (e.Pools == 0 || check.Count <= e.Pools)
}

// poolTrait is a pool setting about which Ceph warns for as long as the pool has it.
type poolTrait struct {
	code    string
	matches func(ceph.Pool) bool
}

// poolTraits returns the traits that a benchmark or a sweep can give to a pool. It omits those that the
// autoscaler warns about, because scratch pools have the autoscaler off.
func poolTraits() []poolTrait {
	return []poolTrait{
		{code: "POOL_NO_REDUNDANCY", matches: func(p ceph.Pool) bool { return p.Size == 1 }},
		{code: "POOL_PG_NUM_NOT_POWER_OF_TWO", matches: func(p ceph.Pool) bool {
			pgs := cmp.Or(p.PGNumTarget, p.PGNum) // Ceph warns about the target.
			return pgs&(pgs-1) != 0
		}},
	}
}

// PoolWarnings returns the warnings that the caller's own pools cause by their settings. The second argument
// lists every pool in Ceph. A warning that another pool also causes is not expected, because it exists without
// the caller.
func PoolWarnings(pools, all []ceph.Pool) []Expectation {
	others := slices.DeleteFunc(slices.Clone(all), func(p ceph.Pool) bool {
		return slices.ContainsFunc(pools, func(o ceph.Pool) bool { return o.Name == p.Name })
	})
	var expected []Expectation
	for _, trait := range poolTraits() {
		count := 0
		for _, pool := range pools {
			if trait.matches(pool) {
				count++
			}
		}
		if count > 0 && !slices.ContainsFunc(others, trait.matches) {
			expected = append(expected, Expectation{Code: trait.code, Pools: count})
		}
	}
	return expected
}
