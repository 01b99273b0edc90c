package tuning

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/settings"
)

// Permit returns the check that the sidecar makes before each command that changes an option, except commands
// that set an option to its original value. The check passes if the administrator allows the value in a
// cluster whose tuner identity made the request. Sweeps may also turn off the autoscaler of a pool in
// ExistingPools, and set the options of a scratch pool that settings.SwitchesInPool allows, without an entry
// in Options. The controller makes further checks. The sidecar relies on only one of them: for a command that
// unsets an option, the controller alone checks the value that then takes effect.
func Permit(allowed *settings.Settings, client ceph.Client) ceph.Permit {
	known := &helps{client: client, byOption: map[string]ceph.OptionHelp{}}
	return func(ctx context.Context, connection ceph.Connection, s ceph.Setting) error {
		setting := Setting{Kind: KindConfig, Mask: s.Who.Mask, Option: s.Option}
		if s.Pool != "" {
			setting = Setting{Kind: KindPoolOption, Pool: s.Pool, Option: s.Option}
		}
		knowledge, err := known.lookUp(ctx, connection, setting)
		if err != nil {
			return err
		}
		reason := fmt.Sprintf("the operator config has no cluster with the tuner %s", connection.User)
		for _, cluster := range allowed.Clusters {
			if cluster.Identities.Tuner == "" || cluster.Identities.Tuner != connection.User {
				continue
			}
			if reason = refusal(setting, s.Value, knowledge, cluster); reason == "" {
				return nil
			}
		}
		return &ceph.InvalidError{Message: reason}
	}
}

// refusal says why a value is not allowed in a cluster; "" if it is allowed.
func refusal(setting Setting, value cephvalue.Value, known Known, cluster settings.Cluster) string {
	if setting.Kind == KindPoolOption && setting.Option == optionAutoscaler && value == cephvalue.Of(autoscalerOff) && cluster.AllowsPool(setting.Pool) {
		return "" // A sweep turns the autoscaler off while it varies pg_num.
	}
	w := request{setting: setting, values: []cephvalue.Value{value}}
	if can, _ := settings.SwitchesInPool(setting.Option); can && settings.IsScratchPool(setting.Pool) {
		return first(takesValues(w, known, Permissions{Cluster: cluster})) // A session may switch options of its scratch pool.
	}
	for _, rule := range []rule{mayBeVaried, leavesStoredData, isKnown, isAllowed, takesValues} {
		if reason := first(rule(w, known, Permissions{Cluster: cluster})); reason != "" {
			return reason
		}
	}
	if !value.Set {
		return ""
	}
	return first(keepsTheBounds(w, known, Permissions{Cluster: cluster}))
}

// first returns the message of the first problem; "" without one.
func first(problems []Problem) string {
	if len(problems) == 0 {
		return ""
	}
	return problems[0].Message
}

// helps caches Ceph's help for options. The key of the map is the monitors' addresses and the option.
type helps struct {
	client   ceph.Client
	mu       sync.Mutex
	byOption map[string]ceph.OptionHelp
}

func (h *helps) lookUp(ctx context.Context, connection ceph.Connection, setting Setting) (Known, error) {
	if setting.Kind != KindConfig {
		return Known{}, nil
	}
	key := connection.MonHost + " " + setting.Option
	h.mu.Lock()
	help, ok := h.byOption[key]
	h.mu.Unlock()
	if !ok {
		asked, err := h.client.ConfigHelp(ctx, connection, setting.Option)
		if err != nil {
			return Known{}, errors.Join(fmt.Errorf("ask for the allowed values of %s", setting.Option), err)
		}
		help = *asked
		h.mu.Lock()
		h.byOption[key] = help
		h.mu.Unlock()
	}
	return Known{Help: map[string]ceph.OptionHelp{setting.Option: help}}, nil
}
