package scratchpool

import (
	"strconv"
	"testing"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/settings"
)

// prepared returns the facts about a pool that is prepared, after some changes.
func prepared(change func(*Facts)) Facts {
	f := Facts{
		Preparation: Preparation{ready: true},
		View: View{
			OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{{
				ID: 1, Name: settings.ScratchPool, Type: "replicated", Size: 3, AutoscaleMode: "off",
				PGNum: 8, PGNumTarget: 8, PGNumPending: 8, PGPlacementNum: 8, PGPlacementTarget: 8,
			}}},
			Status: &ceph.Status{PGs: 8, PGsByState: map[string]int{"active+clean": 8}}, Settled: true,
		},
		Want: []v1alpha1.ScratchPool{{Replicated: &v1alpha1.ReplicatedPool{Size: 3}}},
	}
	change(&f)
	return f
}

// drawn returns three chosen OSDs on three hosts.
func drawn(t *testing.T) *placement.Chosen {
	t.Helper()
	var all []ceph.OSDLocation
	for id := range 3 {
		all = append(all, ceph.OSDLocation{ID: id, Up: true, In: true, Buckets: map[string]string{"host": strconv.Itoa(id)}})
	}
	chosen, err := placement.Choose(all, placement.Request{Count: 3, FailureDomain: "host", Pools: []placement.Pool{{Copies: 3, PGs: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	return &chosen
}

func TestNextPartOfAPreparation(t *testing.T) {
	confined := func(f *Facts) { f.Want[0].OSDSelection = &v1alpha1.OSDSelection{Count: 3} }
	chosen := func(f *Facts) {
		confined(f)
		f.chosen = &placement.Chosen{IDs: []int{0, 1, 2}}
		f.View.OSDMap.Pools[0] = ceph.Pool{ID: 1, Name: settings.ScratchPool, Type: "replicated", Size: 3, AutoscaleMode: "off"} // It has no PGs.
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Part
		rule   string
	}{
		"nothing was observed yet":      {func(f *Facts) { f.View = View{} }, PartLook, "beginPreparation"},
		"the OSDs are not chosen":       {confined, PartChoose, "chooseOSDs"},
		"Rook has not made it":          {func(f *Facts) { f.ready = false }, PartCreate, "createPool"},
		"its OSDs come before it":       {func(f *Facts) { f.ready = false; confined(f) }, PartChoose, "chooseOSDs"},
		"another size in Ceph":          {func(f *Facts) { f.View.OSDMap.Pools[0].Size = 2 }, PartCreate, "correctPool"},
		"it is gone in Ceph":            {func(f *Facts) { f.View.OSDMap = &ceph.OSDMap{} }, PartCreate, "correctPool"},
		"its PGs are not clean":         {func(f *Facts) { f.Settled = false }, PartWait, "waitForPGs"},
		"its PGs are on other OSDs":     {func(f *Facts) { f.Misplaced = "PG 1.0 is on osd.7" }, PartWait, "waitForPlacement"},
		"it is prepared":                {func(*Facts) {}, PartNone, ""},
		"it is prepared on chosen OSDs": {chosen, PartNone, ""},
		"its PGs are not placed": {func(f *Facts) {
			chosen(f)
			f.View.OSDMap.Pools[0] = prepared(func(*Facts) {}).View.OSDMap.Pools[0]
			f.chosen = drawn(t)
		}, PartPlace, "placePGs"},
		"the autoscaler was faster": {func(f *Facts) {
			f.Want[0].Parameters = map[string]v1alpha1.ParameterValue{"pg_num": "16"}
		}, PartRecreate, "recreatePool"},
		"it was faster too often": {func(f *Facts) {
			f.Want[0].Parameters, f.remade = map[string]v1alpha1.ParameterValue{"pg_num": "16"}, maxRemakes
		}, PartCreate, "correctPool"},
	} {
		next, rule, _ := reconcile.First(Rules(), prepared(c.change))
		if next.Part != c.want || rule != c.rule {
			t.Errorf("%s: %q by %s, want %q by %s", name, next.Part, rule, c.want, c.rule)
		}
	}
}

// Ceph calls the placement groups of a new pool clean until it learns that they are not.
func TestPoolIsCleanOnceItHasSettled(t *testing.T) {
	begin := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	clean := &ceph.Status{PGs: 8, PGsByState: map[string]int{"active+clean": 8}}
	unclean := &ceph.Status{PGs: 8, PGsByState: map[string]int{"active+clean": 7, "peering": 1}}
	for name, c := range map[string]struct {
		looks []*ceph.Status // one a second
		used  bool
		want  bool
	}{
		"clean for a moment":              {looks: []*ceph.Status{clean, clean}},
		"clean for long enough":           {looks: []*ceph.Status{clean, clean, clean, clean}, want: true},
		"unclean meanwhile":               {looks: []*ceph.Status{clean, clean, unclean, clean, clean}},
		"unclean at first":                {looks: []*ceph.Status{unclean, clean, clean, clean, clean}, want: true},
		"unclean at last":                 {looks: []*ceph.Status{clean, clean, clean, clean, unclean}},
		"a pool that others have used":    {looks: []*ceph.Status{clean}, used: true, want: true},
		"such a pool while it is unclean": {looks: []*ceph.Status{unclean}, used: true},
	} {
		p, settled := &Preparation{ready: true}, false
		for second, status := range c.looks {
			now := begin.Add(time.Duration(second) * time.Second)
			settled = p.isSettled(status, c.used, 3*time.Second, now)
			p.Note(prepared(func(f *Facts) {
				f.Preparation, f.Now, f.Status, f.Settled, f.View.PGs = *p, now, status, settled, []ceph.PG{{ID: "1.0"}}
			}))
		}
		if settled != c.want || settled && p.PGs == nil {
			t.Errorf("%s: settled: %t, want %t; %d PGs", name, settled, c.want, len(p.PGs))
		}
	}
}

func TestPoolThatHasToChangeIsNotClean(t *testing.T) {
	p := &Preparation{ready: true, cleanSince: time.Unix(1, 0)}
	p.Note(prepared(func(f *Facts) { f.View.OSDMap.Pools[0].Size = 2 }))
	if !p.cleanSince.IsZero() || p.PGs != nil {
		t.Errorf("clean since %v, although Ceph has another size", p.cleanSince)
	}
}
