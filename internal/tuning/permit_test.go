package tuning

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/settings"
)

func TestPermit(t *testing.T) {
	allowed := &settings.Settings{Clusters: []settings.Cluster{
		{Namespace: "rook-ceph", Name: "other", Identities: settings.Identities{Tuner: "other"}, Options: []settings.Option{{Name: "osd_recovery_sleep"}}},
		{
			Namespace: "rook-ceph", Name: "my-cluster", ExistingPools: []string{"p"}, Identities: settings.Identities{Tuner: "tuner"},
			Options: []settings.Option{
				{Name: "osd_client_message_cap", Min: "16", Max: "16Ki"},
				{Name: "osd_mclock_profile", Values: []string{"balanced"}},
				{Name: "osd_memory_target", Mask: "class:ssd", Max: "4Gi"},
				{Name: "osd_heartbeat_interval"}, // no administrator can allow it
				{Name: "pg_num", Pool: "p", Min: "8", Max: "128"},
			},
		},
		{Namespace: "rook-ceph", Name: "unchanged", ExistingPools: []string{"p"}, Options: []settings.Option{{Name: "bluestore_throttle_bytes"}}},
	}}
	osds, ssds := ceph.ConfigWho{Section: "osd"}, ceph.ConfigWho{Section: "osd", Mask: "class:ssd"}
	tests := map[string]struct {
		setting ceph.Setting
		user    string
		refused string // a part of the error; "" if it is permitted
	}{
		"within bounds":            {setting: ceph.Setting{Who: osds, Option: "osd_client_message_cap", Value: cephvalue.Of("16K")}},
		"below":                    {setting: ceph.Setting{Who: osds, Option: "osd_client_message_cap", Value: cephvalue.Of("1")}, refused: "no less than 16"},
		"above, with a unit":       {setting: ceph.Setting{Who: osds, Option: "osd_client_message_cap", Value: cephvalue.Of("1M")}, refused: "no more than 16Ki"},
		"no number":                {setting: ceph.Setting{Who: osds, Option: "osd_client_message_cap", Value: cephvalue.Of("0x20")}, refused: "not a whole number"},
		"unset":                    {setting: ceph.Setting{Who: osds, Option: "osd_client_message_cap"}},
		"another value":            {setting: ceph.Setting{Who: osds, Option: "osd_mclock_profile", Value: cephvalue.Of("custom")}, refused: "the administrator allows balanced"},
		"at the mask":              {setting: ceph.Setting{Who: ssds, Option: "osd_memory_target", Value: cephvalue.Of("4G")}},
		"not listed":               {setting: ceph.Setting{Who: osds, Option: "osd_memory_target", Value: cephvalue.Of("4G")}, refused: "does not allow varying"},
		"not listed, and unset":    {setting: ceph.Setting{Who: osds, Option: "osd_memory_target"}, refused: "does not allow varying"},
		"never":                    {setting: ceph.Setting{Who: osds, Option: "osd_heartbeat_interval", Value: cephvalue.Of("7")}, refused: "never varied"},
		"another cluster's":        {setting: ceph.Setting{Who: osds, Option: "osd_recovery_sleep", Value: cephvalue.Of("1")}, refused: "does not allow varying"},
		"by its own tuner":         {setting: ceph.Setting{Who: osds, Option: "osd_recovery_sleep", Value: cephvalue.Of("1")}, user: "other"},
		"a cluster without tuner":  {setting: ceph.Setting{Who: osds, Option: "bluestore_throttle_bytes", Value: cephvalue.Of("4M")}, user: "none", refused: "no cluster with the tuner none"},
		"of a pool":                {setting: ceph.Setting{Pool: "p", Option: "pg_num", Value: cephvalue.Of("128")}},
		"of a pool, above":         {setting: ceph.Setting{Pool: "p", Option: "pg_num", Value: cephvalue.Of("256")}, refused: "no more than 128"},
		"of another pool":          {setting: ceph.Setting{Pool: "q", Option: "pg_num", Value: cephvalue.Of("64")}, refused: "does not allow varying"},
		"of a scratch pool":        {setting: ceph.Setting{Pool: settings.ScratchDataPool, Option: "fast_read", Value: cephvalue.Of("1")}},
		"of a scratch pool, unset": {setting: ceph.Setting{Pool: settings.ScratchDataPool, Option: "fast_read"}},
		"no value of it":           {setting: ceph.Setting{Pool: settings.ScratchDataPool, Option: "fast_read", Value: cephvalue.Of("maybe")}, refused: "fast_read"},
		"one that cannot switch":   {setting: ceph.Setting{Pool: settings.ScratchDataPool, Option: "pg_num", Value: cephvalue.Of("64")}, refused: "does not allow varying"},
		"one of stored data":       {setting: ceph.Setting{Pool: settings.ScratchPool, Option: "compression_mode", Value: cephvalue.Of("force")}, refused: "alters how data is stored"},
		"of no scratch pool":       {setting: ceph.Setting{Pool: "p", Option: "fast_read", Value: cephvalue.Of("1")}, refused: "does not allow varying"},
		"the autoscaler off":       {setting: ceph.Setting{Pool: "p", Option: "pg_autoscale_mode", Value: cephvalue.Of("off")}},
		"the autoscaler on":        {setting: ceph.Setting{Pool: "p", Option: "pg_autoscale_mode", Value: cephvalue.Of("on")}, refused: "never varied"},
		"the autoscaler of others": {setting: ceph.Setting{Pool: "q", Option: "pg_autoscale_mode", Value: cephvalue.Of("off")}, refused: "never varied"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.user == "" {
				test.user = "tuner"
			}
			permit := Permit(allowed, cephtest.NewCluster("p", "q"))
			err := permit(t.Context(), ceph.Connection{User: test.user}, test.setting)
			_, invalid := errors.AsType[*ceph.InvalidError](err)
			if (err == nil) != (test.refused == "") || err != nil && (!invalid || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("got %v, want %q", err, test.refused)
			}
		})
	}
}

func TestPermitAsksForAnOptionOnce(t *testing.T) {
	cluster := cephtest.NewCluster()
	permit := Permit(&settings.Settings{Clusters: []settings.Cluster{{
		Identities: settings.Identities{Tuner: "tuner"}, Options: []settings.Option{{Name: "osd_client_message_cap"}},
	}}}, cluster)
	for range 3 {
		if err := permit(t.Context(), ceph.Connection{User: "tuner"}, ceph.Setting{Who: ceph.ConfigWho{Section: "osd"}, Option: "osd_client_message_cap", Value: cephvalue.Of("1")}); err != nil {
			t.Fatal(err)
		}
	}
	if calls := cluster.Calls("ConfigHelp"); len(calls) != 1 {
		t.Errorf("Ceph was asked %v", calls)
	}
}

// An option that this version never changes may be in the journal of an earlier version.
func TestAnOptionThatIsNeverChangedIsRestored(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	e := w.process(nil)
	if _, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_heartbeat_interval", "7")}); err == nil {
		t.Fatal("it was changed")
	}
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{Section: "osd", Name: "osd_heartbeat_interval", Value: "7", Level: "advanced", Runtime: true})
	})
	if err := putAllBack(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}

// A baseline outside the bounds is permitted if it is the original value.
func TestABaselineOfTheOriginalIsExempt(t *testing.T) {
	w := newWorld(t)
	e, noting := w.process(nil), &noting{Cluster: w.cluster}
	e.ceph = noting
	original := config("osd_client_message_cap", "8")
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{Section: "osd", Name: "osd_client_message_cap", Value: "8", Level: "advanced", Runtime: true})
	})
	for _, change := range []Change{config("osd_client_message_cap", "64"), original, config("osd_client_message_cap", "128")} {
		if _, err := e.Apply(t.Context(), ourSweep, []Change{change}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]bool{false, true, false}, noting.restores); diff != "" {
		t.Errorf("which change restores, -want +got:\n%s", diff)
	}
}

// noting records which values are sent as restores of the original.
type noting struct {
	*cephtest.Cluster

	restores []bool
}

// SetConfig implements ceph.Tuner.
func (n *noting) SetConfig(ctx context.Context, connection ceph.Connection, f ceph.Fence, who ceph.ConfigWho, option, value string) error {
	n.restores = append(n.restores, f.Restores)
	return n.Cluster.SetConfig(ctx, connection, f, who, option, value)
}
