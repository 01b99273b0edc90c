package tuning

import (
	"slices"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

func TestRestartsAreOneAfterAnother(t *testing.T) {
	osds := func(upFrom ...int64) *ceph.OSDMap {
		m := &ceph.OSDMap{}
		for id, epoch := range upFrom { // 0 is down
			m.OSDs = append(m.OSDs, ceph.OSDState{ID: id, Up: epoch > 0, UpFrom: epoch})
		}
		return m
	}
	cases := map[string]struct {
		restarts Restarts
		osds     *ceph.OSDMap
		want     int
		wantDue  []int
	}{
		"the first":                        {Restarts{Since: 10}, osds(3, 3, 10), 0, []int{0, 1, 2}},
		"requested, and not ended yet":     {Restarts{Since: 10, Started: 1}, osds(3, 3, 3), -1, []int{0, 1, 2}},
		"on its way":                       {Restarts{Since: 10, Started: 1}, osds(0, 3, 3), -1, []int{1, 2}},
		"back, and the next":               {Restarts{Since: 10, Started: 1}, osds(12, 3, 3), 1, []int{1, 2}},
		"another one is down":              {Restarts{Since: 10, Started: 1}, osds(12, 3, 0), -1, []int{1}},
		"one that restarted by itself":     {Restarts{Since: 10, Started: 1}, osds(12, 13, 3), 2, []int{2}},
		"the last":                         {Restarts{Since: 10, Started: 3, Last: 2}, osds(12, 13, 14), -1, nil},
		"a new round, with the last first": {Restarts{Since: 20, Last: 0}, osds(12, 13, 14), 0, []int{0, 1, 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.restarts.Next(tc.osds); got != tc.want {
				t.Errorf("next is %d, want %d", got, tc.want)
			}
			if due, _ := tc.restarts.Due(tc.osds); !slices.Equal(due, tc.wantDue) {
				t.Errorf("due are %v, want %v", due, tc.wantDue)
			}
		})
	}
}

func TestTakenAtStart(t *testing.T) {
	const judgedAtStart = "osd_mclock_iops_capacity_low_threshold_ssd"
	changes := []Change{
		config("osd_memory_target", "4G"), config("osd_op_num_shards", "2"), poolOption("p", "pg_num", "16"), config("unheard_of", "1"),
		config(judgedAtStart, "500"),
	}
	known := Known{Help: cephtest.Options()}
	known.Help[judgedAtStart] = ceph.OptionHelp{Known: true, Name: judgedAtStart, Type: "float", Runtime: true, Flags: []string{"runtime"}} // as 20.2.4 prints it
	got := SettingsOf(TakenAtStart(changes, known))
	want := []Setting{config("osd_op_num_shards", "2").Setting, config(judgedAtStart, "500").Setting}
	if !slices.Equal(got, want) {
		t.Errorf("taken at start: %v, want %v", got, want)
	}
}
