package quiescence

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
)

func TestPoolWarnings(t *testing.T) {
	pool := func(name string, size, pgs int) ceph.Pool { return ceph.Pool{Name: name, Size: size, PGNum: pgs} }
	odd := Expectation{Code: "POOL_PG_NUM_NOT_POWER_OF_TWO", Pools: 1}
	single := Expectation{Code: "POOL_NO_REDUNDANCY", Pools: 1}
	merging := ceph.Pool{Name: "s", Size: 3, PGNum: 25, PGNumTarget: 16}
	for name, c := range map[string]struct {
		pools, all []ceph.Pool
		want       []Expectation
	}{
		"a pool without a warning":     {pools: []ceph.Pool{pool("s", 3, 32)}},
		"no number of its own":         {pools: []ceph.Pool{pool("s", 3, 0)}},
		"one placement group":          {pools: []ceph.Pool{pool("s", 2, 1)}},
		"no power of two":              {pools: []ceph.Pool{pool("s", 3, 20)}, want: []Expectation{odd}},
		"on its way to a power of two": {pools: []ceph.Pool{merging}},
		"one copy":                     {pools: []ceph.Pool{pool("s", 1, 32)}, want: []Expectation{single}},
		"both":                         {pools: []ceph.Pool{pool("s", 1, 60)}, want: []Expectation{single, odd}},
		"two of them":                  {pools: []ceph.Pool{pool("s", 3, 20), pool("s-data", 3, 40)}, want: []Expectation{{Code: odd.Code, Pools: 2}}},
		"one of two":                   {pools: []ceph.Pool{pool("s", 1, 32), pool("s-data", 3, 40)}, want: []Expectation{single, odd}},
		"together with others":         {pools: []ceph.Pool{pool("s", 3, 20)}, all: []ceph.Pool{pool("s", 3, 20), pool("p", 1, 32)}, want: []Expectation{odd}},
		"another has it too":           {pools: []ceph.Pool{pool("s", 3, 20)}, all: []ceph.Pool{pool("p", 3, 40), pool("s", 3, 20)}},
		"only another pool has it":     {pools: []ceph.Pool{pool("s", 3, 32)}, all: []ceph.Pool{pool("p", 3, 40)}},
		"no pool":                      {all: []ceph.Pool{pool("p", 3, 40)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, PoolWarnings(c.pools, c.all)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
