package tuning

import (
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// OSDs remove a share that is set while the profile is a built-in one, and continue to do so right
// after the profile is custom again. So the administrator's share would be lost if it were restored
// before the profile.
func TestLockedOptionsAreRestoredAfterTheirProfile(t *testing.T) {
	tests := map[string]struct {
		before  []ceph.ConfigEntry
		applied [][]Change
	}{
		"shares": {
			before: []ceph.ConfigEntry{
				{Section: "osd", Name: "osd_mclock_profile", Value: "custom"},
				{Section: "osd", Name: "osd_mclock_scheduler_client_wgt", Value: "5"},
			},
			applied: [][]Change{
				{config("osd_mclock_profile", "custom"), config("osd_mclock_scheduler_client_wgt", "7")},
				{config("osd_mclock_profile", "balanced"), config("osd_mclock_scheduler_client_wgt", "")},
			},
		},
		"shares that are listed first": {
			before: []ceph.ConfigEntry{
				{Section: "osd", Name: "osd_mclock_profile", Value: "custom"},
				{Section: "osd", Name: "osd_mclock_scheduler_client_wgt", Value: "5"},
			},
			applied: [][]Change{
				{config("osd_mclock_scheduler_client_wgt", ""), config("osd_mclock_profile", "balanced")},
				{config("osd_mclock_scheduler_client_wgt", "7"), config("osd_mclock_profile", "custom")},
				{config("osd_mclock_scheduler_client_wgt", ""), config("osd_mclock_profile", "balanced")},
			},
		},
		"backfills": {
			before: []ceph.ConfigEntry{
				{Section: "osd", Name: "osd_mclock_override_recovery_settings", Value: "true"},
				{Section: "osd", Name: "osd_max_backfills", Value: "4"},
			},
			applied: [][]Change{
				{config("osd_mclock_override_recovery_settings", "true"), config("osd_max_backfills", "6")},
				{config("osd_mclock_override_recovery_settings", "false"), config("osd_max_backfills", "")},
			},
		},
		"shares that are not varied": {
			before: []ceph.ConfigEntry{
				{Section: "osd", Name: "osd_mclock_profile", Value: "custom"},
				{Section: "osd", Name: "osd_mclock_scheduler_client_wgt", Value: "5"},
			},
			applied: [][]Change{{config("osd_mclock_profile", "balanced")}, {config("osd_mclock_profile", "high_client_ops")}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Act(func(c *cephtest.Cluster) { c.MClock, c.Answers.ConfigDump = true, test.before })
			want := w.state()
			e := w.process(nil)
			for _, changes := range test.applied {
				if _, err := e.Apply(t.Context(), ourSweep, changes); err != nil {
					t.Fatal(err)
				}
				w.cluster.Tick()
				for _, change := range changes {
					if got, set := w.cluster.Central(change.Setting.who(), change.Setting.Option); set != change.To.Set || got != change.To.Text {
						t.Errorf("%s is %q, want %s", change.Setting, got, change.To)
					}
				}
			}
			if err := putAllBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			w.wantState(want)
		})
	}
}

// While the profile that unlocks them cannot be restored, locked options wait.
func TestLockedOptionsWaitForTheirProfile(t *testing.T) {
	profile, share := Setting{Kind: KindConfig, Option: optionProfile}, Setting{Kind: KindConfig, Option: "osd_mclock_scheduler_client_wgt"}
	j := newJournal("f", ourSweep)
	for _, setting := range []Setting{share, profile} {
		j.Entries = append(j.Entries, Entry{Setting: setting, Original: cephvalue.Of(profileCustom), State: Open})
	}
	if before, waits := j.waitsFor(share); !waits || before != profile {
		t.Errorf("a share waits for %v: %t", before, waits)
	}
	j.closeEntry(profile, Restored, nil)
	if before, waits := j.waitsFor(share); waits {
		t.Errorf("a share waits for %v, which is restored", before)
	}
}
