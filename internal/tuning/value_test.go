package tuning

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

func TestFactsValueOfSetting(t *testing.T) {
	facts := Facts{
		OSDMap: &ceph.OSDMap{Flags: []string{"noscrub"}, Pools: []ceph.Pool{{
			Name: "p", PGNum: 40, PGNumTarget: 64, AutoscaleMode: "warn", Options: map[string]string{"compression_mode": "force"},
		}}},
		Config: []ceph.ConfigEntry{
			{Section: "global", Name: "osd_max_backfills", Value: "9"},
			{Section: "osd", Name: "osd_max_backfills", Value: "2"},
			{Section: "osd", Mask: "class:ssd", Name: "osd_max_backfills", Value: "3"},
			{Section: "osd.1", Name: "osd_max_backfills", Value: "4"},
		},
		Balancer: &ceph.Balancer{Active: true},
	}
	for setting, want := range map[Setting]cephvalue.Value{
		poolOption("p", "pg_num", "").Setting:                cephvalue.Of("64"),
		poolOption("p", "compression_mode", "").Setting:      cephvalue.Of("force"),
		poolOption("p", "fast_read", "").Setting:             cephvalue.Unset(),
		autoscaler("p").Setting:                              cephvalue.Of("warn"),
		balancer().Setting:                                   cephvalue.Of("true"),
		{Kind: KindScrubFlag, Option: "noscrub"}:             cephvalue.Of("true"),
		{Kind: KindScrubFlag, Option: "nodeep-scrub"}:        cephvalue.Unset(),
		config("osd_max_backfills", "").Setting:              cephvalue.Of("2"),
		masked("class:ssd", "osd_max_backfills", "").Setting: cephvalue.Of("3"),
		masked("class:hdd", "osd_max_backfills", "").Setting: cephvalue.Unset(),
		config("osd_recovery_sleep", "").Setting:             cephvalue.Unset(),
	} {
		if got, err := facts.Value(setting); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", setting, got, err, want)
		}
	}
	for setting, want := range map[Setting][]string{
		config("osd_max_backfills", "").Setting:              {"class:ssd", ""},
		masked("class:ssd", "osd_max_backfills", "").Setting: {""},
		config("osd_memory_target", "").Setting:              nil,
	} {
		var got []string
		for _, entry := range facts.Shadows(setting) {
			got = append(got, entry.Mask)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("shadows of %s, -want +got:\n%s", setting, diff)
		}
	}
	if _, err := facts.Value(autoscaler("gone").Setting); err == nil {
		t.Error("a pool that does not exist has a value")
	}
	if _, err := (Facts{}).Value(balancer().Setting); err == nil {
		t.Error("the balancer has a state, and nobody asked")
	}
}
