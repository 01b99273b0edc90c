package tuning

import (
	"fmt"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// HoldStill returns the changes that turn off the pools' autoscalers, the balancer and, with pauseScrubs,
// scrubs. An autoscaler would revert pg_num, and the balancer would move PGs between runs. HoldStill omits
// what is already off. The facts must have the OSD map and the balancer's state.
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
			continue // The flag is set already; err is nil if the facts have an OSD map.
		}
		changes = append(changes, Change{Setting: setting, To: cephvalue.Of(yes), Type: cephvalue.Bool})
	}
	return changes, nil
}
