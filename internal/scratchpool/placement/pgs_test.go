package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

func TestDefaultPGs(t *testing.T) {
	for name, c := range map[string]struct{ copies, osds, want int }{
		"three OSDs":                  {3, 3, 32},
		"one OSD, one copy":           {1, 1, 32},
		"four OSDs need more":         {3, 4, 64},
		"nine OSDs":                   {3, 9, 128},
		"chunks":                      {6, 12, 64},
		"no OSD that is known":        {3, 0, 32},
		"as many as there may be":     {3, 24, 256},
		"more would take too long":    {3, 400, 256},
		"one copy on three OSDs":      {1, 3, 128},
		"more copies than OSDs there": {10, 3, 32},
	} {
		if got := DefaultPGs(c.copies, c.osds); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestSized(t *testing.T) {
	type params = map[string]v1alpha1.ParameterValue
	osds := []ceph.OSD{{DeviceClass: "hdd"}, {DeviceClass: "hdd"}, {DeviceClass: "hdd"}, {DeviceClass: "ssd"}, {DeviceClass: "ssd"}, {DeviceClass: "ssd"}}
	coded := func(data, metadata params) v1alpha1.ScratchPool {
		return v1alpha1.ScratchPool{Parameters: data, ErasureCoded: &v1alpha1.ErasureCodedPool{
			DataChunks: 2, CodingChunks: 1, Metadata: v1alpha1.MetadataPool{Size: 2, Parameters: metadata},
		}}
	}
	copies := func(class string, p params) v1alpha1.ScratchPool {
		return v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}, DeviceClass: class, Parameters: p}
	}
	for name, c := range map[string]struct {
		given, want  v1alpha1.ScratchPool
		wantReplicas int
	}{
		"on all OSDs":         {copies("", nil), copies("", params{"pg_num": "64"}), 192},
		"on those of a class": {copies("ssd", params{"bulk": "true"}), copies("ssd", params{"bulk": "true", "pg_num": "32"}), 96},
		"a number of its own": {copies("", params{"pg_num": "8"}), copies("", params{"pg_num": "8"}), 24},
		"an unset number":     {copies("", params{"pg_num": "Unset"}), copies("", params{"pg_num": "64"}), 192},
		"chunks":              {coded(nil, nil), coded(params{"pg_num": "64"}, params{"pg_num": "32"}), 256},
		"chunks, both given":  {coded(params{"pg_num": "16"}, params{"pg_num": "4"}), coded(params{"pg_num": "16"}, params{"pg_num": "4"}), 56},
	} {
		t.Run(name, func(t *testing.T) {
			before := *c.given.DeepCopy()
			got := Sized(c.given, osds)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, c.given); diff != "" {
				t.Errorf("what was given has changed (-before +after):\n%s", diff)
			}
			for _, pool := range Pools(0, got) {
				if pool.Size == 0 || pool.PGNum == 0 {
					t.Errorf("pool %+v, want its size and its number of PGs", pool)
				}
			}
			if replicas := PGReplicas(got); replicas != c.wantReplicas {
				t.Errorf("%d PGs on OSDs, want %d", replicas, c.wantReplicas)
			}
		})
	}
}
