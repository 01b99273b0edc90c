package tuning

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/settings"
)

// capIs sets the default of osd_client_message_cap, and its value for OSDs unless that is "".
func capIs(now, byDefault string) func(*Known) {
	return func(k *Known) {
		k.Help["osd_client_message_cap"] = ceph.OptionHelp{Known: true, Name: "osd_client_message_cap", Type: "uint", Default: byDefault, Runtime: true}
		if now != "" {
			k.Facts.Config = append(k.Facts.Config, ceph.ConfigEntry{Section: "osd", Name: "osd_client_message_cap", Value: now})
		}
	}
}

func TestValidate(t *testing.T) {
	allowed := Permissions{Cluster: settings.Cluster{
		Namespace: "rook-ceph", Name: "my-cluster",
		Options: []settings.Option{
			{Name: "osd_mclock_profile", Values: []string{"balanced", "custom"}},
			{Name: "osd_mclock_scheduler_client_wgt"},
			{Name: "osd_max_backfills", Max: "8"},
			{Name: "osd_mclock_override_recovery_settings"},
			{Name: "osd_recovery_sleep"},
			{Name: "bluestore_elastic_shared_blobs"},
			{Name: "osd_memory_target", Min: "1Gi", Max: "8Gi"},
			{Name: "osd_memory_target", Mask: "class:ssd"},
			{Name: "osd_client_message_cap", Min: "16", Max: "4Ki"},
			{Name: "osd_op_num_shards"},
			{Name: "osd_some_delay", Max: "1800"},
			{Name: "osd_scrub_reservation_timeout", Max: "9000"},
			{Name: "osd_some_address"},
			{Name: "osd_some_word", Max: "4"},
			{Name: "osd_nope"},
			{Name: "mgr_option"},
			{Name: "osd_deep_scrub_randomize_ratio", Max: "0.5"},
			{Name: "pg_num", Pool: "p", Min: "8", Max: "128"},
			{Name: "recovery_priority", Pool: "p"},
			{Name: "pg_num", Pool: "gone"},
			{Name: "target_max_bytes", Pool: "p"},
		},
	}}
	restarts := allowed
	restarts.Restarts = true
	one := func(changes ...Change) [][]Change { return [][]Change{changes} }
	tests := map[string]struct {
		configurations [][]Change
		change         func(*Known)
		permissions    *Permissions
		reason         ProblemReason // "" means no problem
		message        string
	}{
		"values within bounds":           {configurations: one(config("osd_memory_target", "4Gi"), config("osd_client_message_cap", "4K"), poolOption("p", "pg_num", "64"))},
		"a default":                      {configurations: one(config("osd_memory_target", ""))},
		"a mask that is listed":          {configurations: one(masked("class:ssd", "osd_memory_target", "16G"))},
		"a mask that is not":             {configurations: one(masked("class:hdd", "osd_memory_target", "4G")), reason: ProblemNotAllowed, message: "osd/class:hdd osd_memory_target"},
		"an option that is not listed":   {configurations: one(config("bluestore_throttle_bytes", "4M")), reason: ProblemNotAllowed, message: "the options of cluster rook-ceph/my-cluster"},
		"an option that is never varied": {configurations: one(config("mon_osd_full_ratio", "0.99")), reason: ProblemNever, message: "never varied"},
		"the size of a pool":             {configurations: one(poolOption("p", "size", "2")), reason: ProblemNever, message: "how many copies"},
		"what only a new OSD takes": {configurations: one(config("bluestore_elastic_shared_blobs", "false")), change: func(k *Known) {
			k.Help["bluestore_elastic_shared_blobs"] = ceph.OptionHelp{Known: true, Name: "bluestore_elastic_shared_blobs", Type: "bool", Flags: []string{"create"}}
		}, reason: ProblemNever, message: "when an OSD is created"},
		"what a pool does not lose again": {configurations: one(poolOption("p", "allow_ec_optimizations", "true")), reason: ProblemStoredData, message: "target.scratchPool"},
		"the autoscaler":                  {configurations: one(autoscaler("p")), reason: ProblemNever, message: "sweeps control"},
		"a misspelled option": {
			configurations: one(config("osd_mclock_profil", "balanced")), reason: ProblemUnknown,
			message: "no option osd_mclock_profil: did you mean osd_mclock_profile?",
		},
		"an option that Ceph does not know": {configurations: one(config("osd_nope", "1")), reason: ProblemUnknown, message: "no option osd_nope: `ceph config ls`"},
		"an option of a manager":            {configurations: one(config("mgr_option", "1")), reason: ProblemUnknown, message: "option of mgr"},
		"an option of pools not known":      {configurations: one(poolOption("p", "target_max_bytes", "1")), reason: ProblemUnknown, message: "can restore"},
		"a pool that is not there":          {configurations: one(poolOption("gone", "pg_num", "8")), reason: ProblemNoPool, message: "no pool gone"},
		"a foreign scratch pool":            {configurations: one(poolOption("cephtune-scratch", "pg_num", "8")), reason: ProblemNotAllowed, message: "pg_num of pool cephtune-scratch"},
		"how it keeps data":                 {configurations: one(poolOption("cephtune-scratch-data", "compression_mode", "force")), reason: ProblemStoredData, message: "target.scratchPool"},
		"how another keeps data":            {configurations: one(poolOption("p", "csum_type", "none")), reason: ProblemStoredData, message: "target.scratchPool"},
		"a pool that guards its PGs": {
			configurations: one(poolOption("p", "pg_num", "64")), change: func(k *Known) { k.Facts.OSDMap.Pools[0].Flags = []string{"nopgchange"} },
			reason: ProblemNotAllowed, message: "nopgchange",
		},
		"a pool with a minimum": {
			configurations: one(poolOption("p", "pg_num", "16")),
			change:         func(k *Known) { k.Facts.OSDMap.Pools[0].Options = map[string]string{"pg_num_min": "32"} }, reason: ProblemOutOfBounds, message: "no less than 32",
		},
		"no PGs":                                  {configurations: one(poolOption("p", "pg_num", "0")), reason: ProblemValue, message: "at least one PG"},
		"PGs unset":                               {configurations: one(poolOption("p", "pg_num", "")), reason: ProblemValue, message: "always has a pg_num"},
		"text for a number":                       {configurations: one(config("osd_max_backfills", "many")), reason: ProblemValue, message: "not a whole number"},
		"a word that is none of the enum":         {configurations: one(config("osd_mclock_profile", "fast")), reason: ProblemValue, message: "balanced, high_recovery_ops"},
		"a word that the administrator bars":      {configurations: one(config("osd_mclock_profile", "high_client_ops")), reason: ProblemOutOfBounds, message: "allows balanced, custom"},
		"less than Ceph takes":                    {configurations: one(masked("class:ssd", "osd_memory_target", "512M")), reason: ProblemOutOfBounds, message: "Ceph takes no less than 939524096"},
		"less than the administrator allows":      {configurations: one(config("osd_memory_target", "1000M")), reason: ProblemOutOfBounds, message: "no less than 1Gi"},
		"more than that":                          {configurations: one(config("osd_deep_scrub_randomize_ratio", "0.6")), reason: ProblemOutOfBounds, message: "no more than 0.5"},
		"one of several values":                   {configurations: [][]Change{{poolOption("p", "pg_num", "64")}, {poolOption("p", "pg_num", "256")}}, reason: ProblemOutOfBounds, message: "256"},
		"seconds in another form":                 {configurations: one(config("osd_some_delay", "30m"))},
		"seconds above a bound":                   {configurations: one(config("osd_some_delay", "1h")), reason: ProblemOutOfBounds, message: "no more than 1800"},
		"milliseconds above a bound":              {configurations: one(config("osd_scrub_reservation_timeout", "9001")), reason: ProblemOutOfBounds, message: "no more than 9000"},
		"milliseconds with a unit":                {configurations: one(config("osd_scrub_reservation_timeout", "5s")), reason: ProblemValue, message: "without a unit"},
		"a type that cannot be compared":          {configurations: one(config("osd_some_address", "10.0.0.1")), reason: ProblemUnknown, message: `has type "addr"`},
		"unset, and the default is above a bound": {configurations: one(config("osd_client_message_cap", "")), change: capIs("32", "8192"), reason: ProblemOutOfBounds, message: "no more than 4Ki"},
		"unset, and set above a bound for all": {configurations: one(config("osd_client_message_cap", "")), change: func(k *Known) {
			capIs("32", "256")(k)
			k.Facts.Config = append(k.Facts.Config, ceph.ConfigEntry{Section: "global", Name: "osd_client_message_cap", Value: "8192"})
		}, reason: ProblemOutOfBounds, message: "no more than 4Ki"},
		"unset, and the default is not known": {configurations: one(config("osd_client_message_cap", "")), change: capIs("32", ""), reason: ProblemOutOfBounds, message: "is unknown"},
		"unset, and the default is in bounds": {configurations: one(config("osd_client_message_cap", "")), change: capIs("32", "256")},
		"unset as before, above a bound":      {configurations: one(config("osd_client_message_cap", "")), change: capIs("", "8192")},
		"a word with a bound":                 {configurations: one(config("osd_some_word", "9")), reason: ProblemOutOfBounds, message: "use values instead of bounds"},
		"a restart":                           {configurations: one(config("osd_op_num_shards", "8")), reason: ProblemRestart, message: "may not restart them"},
		"a restart that is allowed":           {configurations: one(config("osd_op_num_shards", "8")), permissions: &restarts},
		"shares with a built-in profile":      {configurations: one(config("osd_mclock_scheduler_client_wgt", "2")), reason: ProblemMClock, message: "osd_mclock_profile is custom"},
		"shares with a custom profile":        {configurations: one(config("osd_mclock_profile", "custom"), config("osd_mclock_scheduler_client_wgt", "2"))},
		"shares without mClock":               {configurations: one(config("osd_mclock_scheduler_client_wgt", "2")), change: func(k *Known) { k.OpQueue = "wpq" }},
		"shares in one of two configurations": {configurations: [][]Change{
			{config("osd_mclock_profile", "custom"), config("osd_mclock_scheduler_client_wgt", "2")},
			{config("osd_mclock_profile", "balanced"), config("osd_mclock_scheduler_client_wgt", "")},
		}},
		"shares with a profile unset": {configurations: one(config("osd_mclock_profile", ""), config("osd_mclock_scheduler_client_wgt", "2")), change: func(k *Known) {
			k.Facts.Config = []ceph.ConfigEntry{{Section: "osd", Name: "osd_mclock_profile", Value: "custom"}}
		}, reason: ProblemMClock},
		"backfills without the override": {configurations: one(config("osd_max_backfills", "4")), reason: ProblemMClock, message: "osd_mclock_override_recovery_settings is true"},
		"backfills with it set already": {configurations: one(config("osd_max_backfills", "4")), change: func(k *Known) {
			k.Facts.Config = []ceph.ConfigEntry{{Section: "osd", Name: "osd_mclock_override_recovery_settings", Value: "true"}}
		}},
		"shares with a custom profile for all daemons": {configurations: one(config("osd_mclock_scheduler_client_wgt", "2")), change: func(k *Known) {
			k.Facts.Config = []ceph.ConfigEntry{{Section: "global", Name: "osd_mclock_profile", Value: "custom"}}
		}},
		"shares that are locked already": {configurations: one(config("osd_mclock_profile", "custom"), config("osd_mclock_scheduler_client_wgt", "2")), change: func(k *Known) {
			k.Facts.Config = []ceph.ConfigEntry{{Section: "osd", Name: "osd_mclock_scheduler_client_wgt", Value: "5"}}
		}, reason: ProblemMClock, message: "ceph config rm osd osd_mclock_scheduler_client_wgt"},
		"a profile, with shares that stay": {configurations: one(config("osd_mclock_profile", "balanced")), change: func(k *Known) {
			k.Facts.Config = []ceph.ConfigEntry{
				{Section: "osd", Name: "osd_mclock_profile", Value: "custom"}, {Section: "osd", Name: "osd_mclock_scheduler_client_wgt", Value: "5"},
			}
		}},
		"sleeps": {configurations: one(config("osd_recovery_sleep", "0.1")), reason: ProblemMClock, message: "no other setting changes that"},
		"an option that Rook sets": {configurations: one(config("osd_memory_target", "4G")), change: func(k *Known) {
			k.Owned.CephConfig = map[string]map[string]string{"osd": {"osd_memory_target": "2G"}}
		}, reason: ProblemOwned, message: `spec.cephConfig["osd"].osd_memory_target of the CephCluster`},
		"an option in the section osd.* of Rook, which no OSD reads": {configurations: one(config("osd_memory_target", "4G")), change: func(k *Known) {
			k.Owned.CephConfig = map[string]map[string]string{"osd.*": {"osd_memory_target": "2G"}}
			k.Facts.Config = append(k.Facts.Config, ceph.ConfigEntry{Section: "osd.*", Name: "osd_memory_target", Value: "2147483648"})
		}},
		"pg_num that Rook sets": {configurations: one(poolOption("p", "pg_num", "64")), change: func(k *Known) {
			k.Owned.PoolParameters = map[string]map[string]string{"p": {"pg_num": "32"}}
		}, reason: ProblemOwned, message: "spec.parameters.pg_num"},
		"an autoscaler that Rook sets": {configurations: one(poolOption("p", "pg_num", "64")), change: func(k *Known) {
			k.Owned.PoolParameters = map[string]map[string]string{"p": {"pg_autoscale_mode": "on"}}
		}, reason: ProblemOwned, message: "spec.parameters.pg_autoscale_mode"},
		"one that Rook keeps off": {configurations: one(poolOption("p", "pg_num", "64")), change: func(k *Known) {
			k.Owned.PoolParameters = map[string]map[string]string{"p": {"pg_autoscale_mode": "off"}}
		}},
		"an OSD with its own": {configurations: one(config("osd_client_message_cap", "64")), change: func(k *Known) {
			k.Facts.Config = []ceph.ConfigEntry{{Section: "osd.2", Name: "osd_client_message_cap", Value: "9"}}
		}, reason: ProblemShadowed, message: "osd.2 (9)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			known := newWorld(t).known()
			known.Facts.Config = nil
			known.Help["mgr_option"] = ceph.OptionHelp{Known: true, Name: "mgr_option", Type: "int", Services: []string{"mgr"}, Runtime: true}
			for name, valueType := range map[string]string{
				"osd_some_delay": cephvalue.Seconds, "osd_scrub_reservation_timeout": cephvalue.Milliseconds, "osd_some_address": "addr",
				"osd_some_word": cephvalue.String,
			} {
				known.Help[name] = ceph.OptionHelp{Known: true, Name: name, Type: valueType, Runtime: true}
			}
			if test.change != nil {
				test.change(&known)
			}
			permissions := allowed
			if test.permissions != nil {
				permissions = *test.permissions
			}
			got := Validate(test.configurations, known, permissions)
			if test.reason == "" {
				if len(got) > 0 {
					t.Errorf("refused: %+v", got)
				}
				return
			}
			// An invalid value may be out of bounds too.
			if len(got) == 0 || len(got) > 1 && test.reason != ProblemValue || got[0].Reason != test.reason || !strings.Contains(got[0].Message, test.message) {
				t.Errorf("problems %+v, want %s saying %q", got, test.reason, test.message)
			}
		})
	}
}

func TestTypesAreThoseOfTheOptions(t *testing.T) {
	known := newWorld(t).known()
	untyped := []Change{config("osd_memory_target", "4G"), poolOption("p", "pg_num", "8"), balancer(), autoscaler("p")}
	for i := range untyped {
		untyped[i].Type = ""
	}
	for i, want := range []string{"size", "int", "bool", "str"} {
		if got := known.Typed(untyped)[i].Type; got != want {
			t.Errorf("%s has type %q, want %s", untyped[i], got, want)
		}
	}
}

func TestHoldStill(t *testing.T) {
	w := newWorld(t)
	facts := w.look().Facts
	facts.OSDMap.Pools[1].AutoscaleMode = "off"
	facts.OSDMap.Flags = []string{"noscrub"}
	got, err := HoldStill(facts, []string{"p", "q"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, change := range got {
		texts = append(texts, change.String())
	}
	want := "pg_autoscale_mode of pool p = off; the balancer = false; flag nodeep-scrub = true"
	if strings.Join(texts, "; ") != want {
		t.Errorf("held still: %q, want %q", texts, want)
	}
	for _, mode := range []string{"none", "crush-compat", "upmap", "read", "upmap-read"} { // the last two since Ceph 19
		facts.Balancer.Mode = mode
		held, err := HoldStill(facts, nil, false)
		if err != nil || len(held) != 1 || held[0].Setting.Kind != KindBalancer {
			t.Errorf("balancer in mode %s: held still %v, %v", mode, held, err)
		}
	}
	facts.Balancer.Active = false
	if got, err := HoldStill(facts, []string{"q"}, false); err != nil || len(got) > 0 {
		t.Errorf("what is still is held: %v, %v", got, err)
	}
	if _, err := HoldStill(facts, []string{"gone"}, false); err == nil {
		t.Error("a pool that is not there was held")
	}
}
