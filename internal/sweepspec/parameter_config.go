package sweepspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
)

// config varies an option of Ceph's central configuration.
type config struct{ anyKind }

func (config) wanted(*Spec, cephvalue.Value) string { return "" } // Ceph itself describes each option.

func (k config) setting(*Spec) (Change, bool) {
	setting := tuning.Setting{Kind: tuning.KindConfig, Mask: k.Config.Mask, Option: string(k.Config.Option)}
	return Change{Parameter: k.Name, Change: tuning.Change{Setting: setting}}, true
}

func (k config) notSwitched(_ *Spec, facts Facts) string {
	if facts.MaySwitch == nil || !facts.MaySwitch(*k.Config) {
		return fmt.Sprintf("Option %s may not be switched under a load.", k.Config.Option)
	}
	return ""
}

func (k config) traits() traits {
	if keepsData(string(k.Config.Option)) {
		return traits{}
	}
	return traits{data: fmt.Sprintf("may decide how data are stored (%s)", k.Config.Option)}
}

// keepsData reports whether an option is known not to affect how data are stored. Other options, such as
// bluestore_csum_type or bluestore_prefer_deferred_size, may affect it.
func keepsData(option string) bool {
	if strings.HasPrefix(option, "osd_pool_default_") {
		return false
	}
	return slices.ContainsFunc([]string{"osd_", "ms_", "objecter_", "bluestore_throttle_", "bluestore_cache_"}, func(prefix string) bool {
		return strings.HasPrefix(option, prefix)
	})
}
