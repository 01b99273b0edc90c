package tuning

import (
	"fmt"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

// HoldStill returns the changes that stop Ceph's own activity: autoscalers, which would revert
// pg_num; the balancer, which would move PGs between runs; and, if requested, scrubs. It returns no
// change for an activity that is already off. It needs facts with the OSD map and the balancer's
// state.
func HoldStill(facts Facts, pools []string, pauseScrubs bool) ([]Change, error) {
	var changes []Change
	for _, name := range pools {
		pool, found := facts.Pool(name)
		if !found {
			return nil, fmt.Errorf("turn off the autoscaler of pool %s: %w", name, ErrPoolGone)
		}
		if pool.AutoscaleMode != autoscalerOff {
			changes = append(changes, Change{
				Setting: Setting{Kind: KindAutoscaler, Pool: name}, To: cephvalue.Of(autoscalerOff), Type: cephvalue.String,
			})
		}
	}
	balancer, err := facts.Value(Setting{Kind: KindBalancer})
	if err != nil {
		return nil, err
	}
	if balancer.Text == yes {
		changes = append(changes, Change{Setting: Setting{Kind: KindBalancer}, To: cephvalue.Of(no), Type: cephvalue.Bool})
	}
	if !pauseScrubs {
		return changes, nil
	}
	for _, flag := range []string{ceph.FlagNoScrub, ceph.FlagNoDeepScrub} {
		setting := Setting{Kind: KindScrubFlag, Option: flag}
		if set, err := facts.Value(setting); err != nil || set.Set {
			continue // The flag is set already. With an OSD map, err is nil.
		}
		changes = append(changes, Change{Setting: setting, To: cephvalue.Of(yes), Type: cephvalue.Bool})
	}
	return changes, nil
}
