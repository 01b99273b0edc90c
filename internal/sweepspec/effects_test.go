package sweepspec

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestEffectsAreListedWhole(t *testing.T) {
	profile := v1alpha1.Parameter{Name: "profile", Config: &v1alpha1.ConfigParameter{Option: "osd_mclock_profile", Mask: "class:ssd"}}
	pgs := v1alpha1.Parameter{Name: "pg_num", PoolOption: &v1alpha1.PoolOptionParameter{Option: "pg_num"}}
	for name, c := range map[string]struct {
		spec v1alpha1.CephTuningSweepSpec
		plan v1alpha1.SweepPlan
		want []string
	}{
		"an option of OSDs on a scratch pool": {
			v1alpha1.CephTuningSweepSpec{
				Parameters: []v1alpha1.Parameter{profile}, Quiescence: v1alpha1.Quiescence{Scrub: v1alpha1.ScrubPause},
				Template: v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}},
			},
			v1alpha1.SweepPlan{PlacementGroupChanges: 96, OSDRestarts: 6},
			[]string{
				"put the cluster under load", "create scratch pools, one at a time, and remove each; up to 96 placement groups are created, split or merged in all",
				"change osd_mclock_profile of the OSDs of class:ssd, between trials", "restart OSDs, up to 6 times in all", "turn the balancer off",
				"set the flags noscrub and nodeep-scrub", "restore everything at the end",
			},
		},
		"placement groups of a pool": {
			v1alpha1.CephTuningSweepSpec{
				Parameters: []v1alpha1.Parameter{pgs}, OnCompletion: v1alpha1.CompletionKeepBest,
				Template: v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "rbd"}}},
			},
			v1alpha1.SweepPlan{PlacementGroupChanges: 512},
			[]string{
				"put the cluster under load", "change pg_num of pool rbd, between trials",
				"split and merge placement groups of pool rbd, up to 512 in all, which moves its data", "turn the autoscaler of pool rbd off",
				"turn the balancer off", "restore everything at the end, except settings of a winner (onCompletion: KeepBest)",
			},
		},
	} {
		if got, want := strings.Join(Effects(&c.spec, &c.plan), "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}
