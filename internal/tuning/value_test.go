package tuning

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

func TestFactsBeforeAnotherSweep(t *testing.T) {
	facts := Facts{
		OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{{Name: "p", ID: 7, PGNumTarget: 64, Options: map[string]string{"fast_read": "1"}}, {Name: "q", PGNumTarget: 8}}},
		Config: []ceph.ConfigEntry{
			{Section: "osd", Name: "osd_mclock_profile", Value: "high_client_ops"},
			{Section: "osd", Mask: "class:ssd", Name: "osd_mclock_profile", Value: "custom"},
			{Section: "osd", Name: "osd_client_message_cap", Value: "16"},
			{Section: "osd", Name: "osd_memory_target", Value: "8G"},
		},
	}
	profile, limit, kept := config("osd_mclock_profile", "").Setting, config("osd_client_message_cap", "").Setting, config("osd_memory_target", "").Setting
	pgs, fast := poolOption("p", "pg_num", "").Setting, poolOption("p", "fast_read", "").Setting
	journal := &Journal{Entries: []Entry{
		{Setting: profile, Original: cephvalue.Unset(), State: Open},
		{Setting: limit, Original: cephvalue.Of("256"), State: Open},
		{Setting: kept, Original: cephvalue.Of("4G"), State: Kept},
		{Setting: pgs, PoolID: 7, Original: cephvalue.Of("32"), State: Open},
		{Setting: fast, PoolID: 7, Original: cephvalue.Unset(), State: Open},
	}}
	now, before := facts.Before(nil), facts.Before(journal)
	for setting, want := range map[Setting][2]cephvalue.Value{
		profile: {cephvalue.Of("high_client_ops"), cephvalue.Unset()},
		masked("class:ssd", "osd_mclock_profile", "").Setting: {cephvalue.Of("custom"), cephvalue.Of("custom")},
		limit:                                 {cephvalue.Of("16"), cephvalue.Of("256")},
		kept:                                  {cephvalue.Of("8G"), cephvalue.Of("8G")},
		pgs:                                   {cephvalue.Of("64"), cephvalue.Of("32")},
		fast:                                  {cephvalue.Of("1"), cephvalue.Unset()},
		poolOption("q", "pg_num", "").Setting: {cephvalue.Of("8"), cephvalue.Of("8")},
	} {
		for i, f := range []Facts{now, before} {
			if got, err := f.Value(setting); err != nil || got != want[i] {
				t.Errorf("%s is %s, %v, want %s", setting, got, err, want[i])
			}
		}
		if got, _ := facts.Value(setting); got != want[0] {
			t.Errorf("%s changed to %s", setting, got)
		}
	}
}

func TestUnsetIsAlikeWithWhatOSDsThenUse(t *testing.T) {
	known := Known{
		Facts: Facts{Config: []ceph.ConfigEntry{{Section: "global", Name: "osd_client_message_cap", Value: "512"}}},
		Help: map[string]ceph.OptionHelp{
			"osd_mclock_profile": {Type: "str", Default: "balanced"}, "osd_client_message_cap": {Type: "uint", Default: "256"},
			"osd_max_backfills": {Type: "uint", Default: "1"}, "osd_memory_target": {Type: "size", Default: "4294967296"},
		},
	}
	for name, c := range map[string]struct {
		setting Setting
		a, b    cephvalue.Value
		want    bool
	}{
		"the default":               {config("osd_mclock_profile", "").Setting, cephvalue.Of("balanced"), cephvalue.Unset(), true},
		"another value":             {config("osd_mclock_profile", "").Setting, cephvalue.Of("custom"), cephvalue.Unset(), false},
		"a broader section":         {config("osd_client_message_cap", "").Setting, cephvalue.Of("512"), cephvalue.Unset(), true},
		"not the default then":      {config("osd_client_message_cap", "").Setting, cephvalue.Of("256"), cephvalue.Unset(), false},
		"another spelling":          {config("osd_memory_target", "").Setting, cephvalue.Of("4Gi"), cephvalue.Unset(), true},
		"what mClock replaces":      {config("osd_max_backfills", "").Setting, cephvalue.Of("1"), cephvalue.Unset(), false},
		"an option that is unknown": {config("osd_nonsense", "").Setting, cephvalue.Of("1"), cephvalue.Unset(), false},
		"an option of a pool":       {poolOption("p", "fast_read", "").Setting, cephvalue.Of("1"), cephvalue.Unset(), false},
	} {
		if got := known.Alike(c.setting, c.a, c.b); got != c.want || known.Alike(c.setting, c.b, c.a) != got {
			t.Errorf("%s: %t", name, got)
		}
	}
}

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
			{Section: "osd.*", Name: "osd_max_scrubs", Value: "5"},
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
		config("osd_max_scrubs", "").Setting:                 nil, // "osd.*", the section that Rook documents, is no OSD
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
