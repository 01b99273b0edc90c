package conclusion

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
)

func TestPlacement(t *testing.T) {
	pools := []ceph.Pool{{ID: 4, Name: "scratch"}, {ID: 5, Name: "not yet placed"}}
	pgs := []ceph.PG{
		{PoolID: 4, Acting: []int{2, 0, 1}, Primary: 2},
		{PoolID: 4, Acting: []int{2, 0}, Primary: 2},
		{PoolID: 4, Acting: []int{0, 2, 1}, Primary: 0},
		{PoolID: 1, Acting: []int{1, 2, 0}, Primary: 1},
	}
	want := []archive.Placement{{Pool: "scratch", OSDs: []archive.OSDShare{
		{ID: 0, PGs: 3, Primaries: 1}, {ID: 1, PGs: 2}, {ID: 2, PGs: 3, Primaries: 2},
	}}}
	if diff := cmp.Diff(want, placementOf(pools, pgs)); diff != "" {
		t.Error(diff)
	}
}
