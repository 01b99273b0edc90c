package tuning

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

func autoscaler(pool string) Change {
	return Change{Setting: Setting{Kind: KindAutoscaler, Pool: pool}, To: cephvalue.Of("off"), Type: cephvalue.String}
}

func balancer() Change {
	return Change{Setting: Setting{Kind: KindBalancer}, To: cephvalue.Of("false"), Type: cephvalue.Bool}
}

// Journals of other versions may be in a cluster when the operator is updated or rolled back.
func TestJournalKeepsItsForm(t *testing.T) {
	const stored = `{"schemaVersion":1,"fsid":"f","sweep":{"namespace":"bench","name":"s","uid":"u"},"epoch":3,"writer":"w","revision":7,"entries":[` +
		`{"setting":{"kind":"Config","mask":"class:ssd","option":"osd_memory_target"},"type":"size",` +
		`"original":{"set":false},"ours":[{"intended":{"set":true,"text":"4Gi"},"stored":{"set":true,"text":"4294967296"}},{"intended":{"set":false}}],"state":"Open"},` +
		`{"setting":{"kind":"PoolOption","pool":"p","option":"pg_num"},"poolID":5,"type":"int",` +
		`"original":{"set":true,"text":"32"},"ours":[{"intended":{"set":true,"text":"64"}}],"state":"LeftAlone","found":{"set":true,"text":"16"}}]}`
	journal, err := Decode([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	first, second := journal.Entries[0], journal.Entries[1]
	if first.Original != cephvalue.Unset() || *first.Applied[0].Stored != cephvalue.Of("4294967296") || second.Original != cephvalue.Of("32") || *second.Found != cephvalue.Of("16") {
		t.Errorf("read %+v", journal.Entries)
	}
	if text, err := Encode(journal); err != nil || string(text) != stored {
		t.Errorf("written again as (%v)\n%s, want\n%s", err, text, stored)
	}
}

func TestRestoreOrder(t *testing.T) {
	tests := map[string]struct {
		changed []Change
		closed  []Setting
		want    []string
		waiting []string // the settings that first have to wait for another
	}{
		"the last one first, and what was held still behind": {
			changed: []Change{
				autoscaler("p"), balancer(), poolOption("p", "pg_num", "64"),
				config("osd_mclock_override_recovery_settings", "true"), config("osd_max_backfills", "4"),
			},
			want:    []string{"osd osd_max_backfills", "osd osd_mclock_override_recovery_settings", "pg_num of pool p", "the balancer", "pg_autoscale_mode of pool p"},
			waiting: []string{"the balancer", "pg_autoscale_mode of pool p"},
		},
		"what was held still later too": {
			changed: []Change{poolOption("p", "pg_num", "64"), autoscaler("p"), config("osd_max_backfills", "4")},
			want:    []string{"osd osd_max_backfills", "pg_num of pool p", "pg_autoscale_mode of pool p"},
			waiting: []string{"pg_autoscale_mode of pool p"},
		},
		"another pool's autoscaler does not wait": {
			changed: []Change{autoscaler("q"), poolOption("p", "pg_num", "64")},
			want:    []string{"pg_num of pool p", "pg_autoscale_mode of pool q"},
		},
		"nothing waits for an option of OSDs": {
			changed: []Change{autoscaler("p"), balancer(), config("osd_max_backfills", "4")},
			want:    []string{"osd osd_max_backfills", "the balancer", "pg_autoscale_mode of pool p"},
		},
		"what is closed is left out": {
			changed: []Change{balancer(), poolOption("p", "pg_num", "64")},
			closed:  []Setting{poolOption("p", "pg_num", "").Setting},
			want:    []string{"the balancer"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := newJournal("f", ourSweep)
			for _, change := range test.changed {
				if err := j.intend(change, cephvalue.Of("before")); err != nil {
					t.Fatal(err)
				}
			}
			for _, setting := range test.closed {
				j.closeEntry(setting, Restored, nil)
			}
			var got, waiting []string
			for _, entry := range j.ToRestore() {
				got = append(got, entry.Setting.String())
				if _, waits := j.waitsFor(entry.Setting); waits {
					waiting = append(waiting, entry.Setting.String())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("order, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.waiting, waiting); diff != "" {
				t.Errorf("waiting, -want +got:\n%s", diff)
			}
		})
	}
}

func TestAnEntryIsJudged(t *testing.T) {
	memory, ratio := config("osd_memory_target", "4G"), config("osd_deep_scrub_randomize_ratio", "0.95")
	tests := map[string]struct {
		change   Change
		original cephvalue.Value
		stored   *cephvalue.Value
		now      cephvalue.Value
		want     action
	}{
		"its original":                    {memory, cephvalue.Of("939524096"), nil, cephvalue.Of("939524096"), alreadyBack},
		"its original in another form":    {memory, cephvalue.Of("896M"), nil, cephvalue.Of("939524096"), alreadyBack},
		"ours in Ceph's form":             {memory, cephvalue.Of("939524096"), nil, cephvalue.Of("4294967296"), restoreOriginal},
		"ours, a fraction":                {ratio, cephvalue.Unset(), nil, cephvalue.Of("0.950000"), restoreOriginal},
		"ours, as it was seen":            {config("osd_mclock_profile", "custom"), cephvalue.Unset(), new(cephvalue.Of("Custom")), cephvalue.Of("Custom"), restoreOriginal},
		"a foreign value":                 {memory, cephvalue.Of("939524096"), nil, cephvalue.Of("2147483648"), leaveAlone},
		"removed, and was not set":        {memory, cephvalue.Unset(), nil, cephvalue.Unset(), alreadyBack},
		"removed, and was set":            {memory, cephvalue.Of("939524096"), nil, cephvalue.Unset(), leaveAlone},
		"unset by us":                     {config("osd_memory_target", ""), cephvalue.Of("939524096"), nil, cephvalue.Unset(), restoreOriginal},
		"a pool's option that 0 unsets":   {poolOption("p", "recovery_priority", "0"), cephvalue.Of("3"), nil, cephvalue.Unset(), restoreOriginal},
		"a target of ours":                {poolOption("p", "pg_num", "64"), cephvalue.Of("32"), nil, cephvalue.Of("64"), restoreOriginal},
		"a target of the autoscaler's":    {poolOption("p", "pg_num", "64"), cephvalue.Of("32"), nil, cephvalue.Of("128"), leaveAlone},
		"a value that was the original's": {config("osd_max_backfills", "1"), cephvalue.Of("1"), nil, cephvalue.Of("1"), alreadyBack},
		"a flag that we set": {
			Change{Setting: Setting{Kind: KindScrubFlag, Option: "noscrub"}, To: cephvalue.Of("true"), Type: cephvalue.Bool},
			cephvalue.Unset(), nil,
			cephvalue.Of("true"), restoreOriginal,
		},
		"seconds as Ceph stores them": {
			Change{Setting: Setting{Kind: KindConfig, Option: "osd_some_delay"}, To: cephvalue.Of("1h"), Type: cephvalue.Seconds},
			cephvalue.Of("60"), nil,
			cephvalue.Of("3600"), restoreOriginal,
		},
		"a mode that another client set since": {autoscaler("p"), cephvalue.Of("on"), nil, cephvalue.Of("warn"), leaveAlone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			entry := Entry{Setting: test.change.Setting, Type: test.change.Type, Original: test.original, Applied: []AppliedValue{{Intended: test.change.To, Stored: test.stored}}}
			if got := entry.judge(test.now); got != test.want {
				t.Errorf("judged %d, want %d", got, test.want)
			}
		})
	}
}

func TestOnlyStoredFormOfAppliedValueIsNoted(t *testing.T) {
	change := config("osd_memory_target", "4G")
	for now, want := range map[cephvalue.Value]bool{cephvalue.Of("4294967296"): true, cephvalue.Of("4G"): true, cephvalue.Of("1"): false, cephvalue.Unset(): false} {
		j := newJournal("f", ourSweep)
		if err := j.intend(change, cephvalue.Unset()); err != nil {
			t.Fatal(err)
		}
		if got := j.stored(change, now); got != want {
			t.Errorf("%s is taken as ours: %t, want %t", now, got, want)
		}
		if noted := j.Entries[0].Applied[0].Stored != nil; noted != want {
			t.Errorf("%s is noted: %t, want %t", now, noted, want)
		}
	}
}

func TestTheOriginalIsThatOfTheFirstTime(t *testing.T) {
	j := newJournal("f", ourSweep)
	steps := []struct {
		value   string
		now     cephvalue.Value
		foreign bool
	}{
		{"2", cephvalue.Of("1"), false}, {"3", cephvalue.Of("2"), false}, {"2", cephvalue.Of("3"), false}, {"2", cephvalue.Of("7"), true},
	}
	for _, step := range steps {
		err := j.intend(config("osd_max_backfills", step.value), step.now)
		if _, foreign := errors.AsType[*ForeignChangeError](err); foreign != step.foreign {
			t.Fatalf("to %s at %s: %v", step.value, step.now, err)
		}
	}
	want := []Entry{{
		Setting: config("osd_max_backfills", "").Setting, Type: "uint", Original: cephvalue.Of("1"), State: Open,
		Applied: []AppliedValue{{Intended: cephvalue.Of("2")}, {Intended: cephvalue.Of("3")}},
	}}
	if diff := cmp.Diff(want, j.Entries); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func journalOf(uid string, epoch, revision int64, state State) *Journal {
	return &Journal{
		SchemaVersion: 1, FSID: "f", Sweep: Sweep{Name: uid, UID: uid}, Epoch: epoch, Revision: revision,
		Entries: []Entry{{Setting: balancer().Setting, Type: cephvalue.Bool, Original: cephvalue.Of("true"), State: state}},
	}
}

func TestNewest(t *testing.T) {
	other := journalOf("a", 1, 1, Open)
	other.FSID = "g"
	differs := journalOf("a", 1, 1, Open)
	differs.Entries[0].Original = cephvalue.Of("false")
	tests := map[string]struct {
		a, b, want *Journal
		err        string
	}{
		"neither is there":                  {},
		"the first is missing":              {b: journalOf("a", 1, 1, Open), want: journalOf("a", 1, 1, Open)},
		"the second is missing":             {a: journalOf("a", 1, 1, Open), want: journalOf("a", 1, 1, Open)},
		"both are the same":                 {a: journalOf("a", 1, 1, Open), b: journalOf("a", 1, 1, Open), want: journalOf("a", 1, 1, Open)},
		"the first was written later":       {a: journalOf("a", 1, 2, Open), b: journalOf("a", 1, 1, Open), want: journalOf("a", 1, 2, Open)},
		"the second was written later":      {a: journalOf("a", 1, 1, Open), b: journalOf("a", 1, 2, Restored), want: journalOf("a", 1, 2, Restored)},
		"an epoch counts before a revision": {a: journalOf("a", 1, 9, Open), b: journalOf("a", 2, 1, Open), want: journalOf("a", 2, 1, Open)},
		"one of an earlier sweep is done":   {a: journalOf("a", 5, 9, Restored), b: journalOf("b", 4, 1, Open), want: journalOf("b", 4, 1, Open)},
		"two sweeps that are both done":     {a: journalOf("a", 5, 9, Restored), b: journalOf("b", 6, 1, Restored), want: journalOf("b", 6, 1, Restored)},
		"two sweeps that are not":           {a: journalOf("a", 1, 1, Open), b: journalOf("b", 1, 1, Open), err: "of two sweeps"},
		"two clusters":                      {a: other, b: journalOf("a", 1, 1, Open), err: "two Ceph clusters"},
		"two of one revision that differ":   {a: differs, b: journalOf("a", 1, 1, Open), err: "differ"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Newest(test.a, test.b)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAJournalThatCannotBeReadIsNoneToOverwrite(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"cut off":            {`{"schemaVersion":1,`, "damaged"},
		"of a later version": {`{"schemaVersion":2,"fsid":"` + cephtest.FSID + `"}`, "restore with the cephtune version that wrote it"},
		"for no cluster":     {`{"schemaVersion":1}`, "names no Ceph cluster"},
		"for another":        {`{"schemaVersion":1,"fsid":"x"}`, "if it was copied"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Act(func(c *cephtest.Cluster) { c.Keys = map[string]string{"cephtune/journal": test.text} })
			e := w.process(nil)
			_, applied := e.Apply(t.Context(), ourSweep, []Change{balancer()})
			_, restored := e.Restore(t.Context())
			for _, err := range []error{applied, restored} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error is %v, want %q", err, test.want)
				}
			}
			if calls := w.cluster.Calls("SetBalancer"); len(calls) > 0 {
				t.Errorf("changed all the same: %v", calls)
			}
		})
	}
}

func TestAnotherSweepsSettingsComeFirst(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	if _, err := e.Apply(t.Context(), ourSweep, []Change{balancer()}); err != nil {
		t.Fatal(err)
	}
	_, err := e.Apply(t.Context(), Sweep{Name: "other", UID: "u2"}, []Change{poolOption("p", "pg_num", "64")})
	if other, ok := errors.AsType[*OtherSweepError](err); !ok || other.Sweep != ourSweep {
		t.Errorf("error is %v", err)
	}
	if err := e.Close(t.Context()); err == nil {
		t.Error("a journal with open entries was closed")
	}
}

func TestApplyWithoutChangeWritesNothing(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	for range 2 {
		if _, err := e.Apply(t.Context(), ourSweep, configurations()[0]); err != nil {
			t.Fatal(err)
		}
	}
	writes, changes := len(w.cluster.Calls("SetKey")), len(w.cluster.Calls("SetConfig"))
	if _, err := e.Apply(t.Context(), ourSweep, configurations()[0]); err != nil {
		t.Fatal(err)
	}
	if len(w.cluster.Calls("SetKey")) != writes || len(w.cluster.Calls("SetConfig")) != changes || writes != 2 {
		t.Errorf("the journal was written %d times before, want 2, and then again, or Ceph was told again", writes)
	}
}

func TestAPoolThatIsGoneAndAbandoning(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	if _, err := e.Apply(t.Context(), ourSweep, []Change{balancer(), autoscaler("p"), poolOption("p", "pg_num", "64"), config("osd_max_backfills", "3")}); err != nil {
		t.Fatal(err)
	}
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Answers.OSDMap.Pools = c.Answers.OSDMap.Pools[1:]
		c.Answers.Status.ManagerActive = false
	})
	report, err := e.Restore(t.Context())
	if !errors.Is(err, context.DeadlineExceeded) || report.Done {
		t.Errorf("without a manager: %v, %+v, want it to wait for the balancer", err, report)
	}
	j, err := e.Journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j.GiveUp()
	if err := e.store.Save(t.Context(), j); err != nil || !j.Done() {
		t.Fatal(j, err)
	}
	report = Report{Done: true, Entries: j.Entries}
	var got []string
	for _, entry := range report.LeftAlone() {
		got = append(got, entry.Setting.String()+": "+string(entry.State))
	}
	want := []string{"the balancer: Abandoned", "pg_autoscale_mode of pool p: Gone", "pg_num of pool p: Gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A refused setting must not prevent the others from being restored. Settings that depend on it
// wait.
func TestOneThatIsRefusedDoesNotKeepTheOthers(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	if _, err := e.Apply(t.Context(), ourSweep, []Change{autoscaler("p"), config("osd_max_backfills", "3"), poolOption("p", "pg_num", "64")}); err != nil {
		t.Fatal(err)
	}
	w.cluster.Act(func(c *cephtest.Cluster) { c.MaxPGs = 16 })
	report, err := e.Restore(t.Context())
	if refused, ok := errors.AsType[*ceph.Error](err); !ok || refused.Errno != 34 {
		t.Errorf("error is %v, want ERANGE", err)
	}
	wanted := []State{Open, Restored, Open}
	for i, entry := range report.Entries {
		if entry.State != wanted[i] {
			t.Errorf("%s is %s, want %s", entry.Setting, entry.State, wanted[i])
		}
	}
	if mode := w.cluster.Pool("p").AutoscaleMode; mode != "off" || len(report.Waiting) != 2 {
		t.Errorf("the autoscaler is %s, want it to wait: %v", mode, report.Waiting)
	}
	w.cluster.Act(func(c *cephtest.Cluster) { c.MaxPGs = 256 })
	if err := putAllBack(t.Context(), e); err != nil {
		t.Error(err)
	}
}

// A sidecar of a later version may refuse a value that an earlier one has set, before it asks Ceph.
// Without ceph-mgr, only the balancer must remain unrestored.
func TestRestoreTriesEachSetting(t *testing.T) {
	refused := func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "SetConfig" {
				return &ceph.InvalidError{Message: "osd_memory_target is never changed"}
			}
			return nil
		}
	}
	tests := map[string]struct {
		act  func(*cephtest.Cluster)
		open Setting
	}{
		"one is refused":      {refused, config("osd_memory_target", "").Setting},
		"no manager is there": {func(c *cephtest.Cluster) { c.Answers.Status.ManagerActive = false }, balancer().Setting},
		"a pool's is refused": {func(c *cephtest.Cluster) {
			c.Before = func(verb string) error {
				if verb == "UnsetPoolOption" {
					return &ceph.InvalidError{Message: "recovery_priority is never changed"}
				}
				return nil
			}
		}, poolOption("q", "recovery_priority", "").Setting},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			e := w.process(nil)
			changes := []Change{
				autoscaler("p"), balancer(), config("osd_max_backfills", "3"), poolOption("q", "recovery_priority", "3"),
				poolOption("p", "pg_num", "64"), config("osd_memory_target", "2G"),
			}
			if _, err := e.Apply(t.Context(), ourSweep, changes); err != nil {
				t.Fatal(err)
			}
			w.cluster.Act(test.act)
			for range 2 {
				report, err := e.Restore(t.Context())
				if err == nil || report.Done {
					t.Fatalf("%v, %+v", err, report)
				}
				for _, entry := range report.Entries {
					if ok := entry.State == Open; ok != (entry.Setting == test.open) {
						t.Errorf("%s is %s", entry.Setting, entry.State)
					}
				}
			}
			w.cluster.Act(func(c *cephtest.Cluster) { c.Before, c.Answers.Status.ManagerActive = nil, true })
			if err := putAllBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			w.wantState(before)
		})
	}
}

// The last attempt also tries dependent settings, and continues if Ceph does not answer for one of
// them.
func TestTheLastAttemptTriesAll(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	scrub := Change{Setting: Setting{Kind: KindScrubFlag, Option: "noscrub"}, To: cephvalue.Of("true"), Type: "bool"}
	if _, err := e.Apply(t.Context(), ourSweep, []Change{scrub, autoscaler("p"), balancer(), poolOption("p", "pg_num", "64")}); err != nil {
		t.Fatal(err)
	}
	w.cluster.Act(func(c *cephtest.Cluster) { c.MaxPGs, c.Answers.Status.ManagerActive = 16, false })
	if report, err := e.Restore(t.Context()); err == nil || report.Entries[0].State != Restored {
		t.Errorf("before: %v, %+v", err, report)
	}
	report, err := e.RestoreOnce(t.Context())
	if refused, ok := errors.AsType[*ceph.Error](err); !ok || refused.Errno != 34 || !errors.Is(err, context.DeadlineExceeded) || report.Done {
		t.Errorf("%v, done %t, want ERANGE of the pool and no answer about the balancer", err, report.Done)
	}
	var got []State
	for _, entry := range report.Entries {
		got = append(got, entry.State)
	}
	if diff := cmp.Diff([]State{Restored, Restored, Open, Open}, got); diff != "" || w.cluster.Pool("p").AutoscaleMode != "on" {
		t.Errorf("autoscaler %s, -want +got:\n%s", w.cluster.Pool("p").AutoscaleMode, diff)
	}
}

// A copy of a closed journal may remain in Ceph. Its content must not count any more: the next run
// of the same sweep begins with the current values.
func TestTheNextRunBeginsAfresh(t *testing.T) {
	for _, state := range []State{Kept, LeftAlone, Gone, Abandoned, Restored} {
		t.Run(string(state), func(t *testing.T) {
			w := newWorld(t)
			e := w.process(nil)
			change := config("osd_max_backfills", "3")
			if _, err := e.Apply(t.Context(), ourSweep, []Change{balancer(), change}); err != nil {
				t.Fatal(err)
			}
			j, err := e.Journal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range j.Entries {
				j.Entries[i].State = state
			}
			j.Revision++
			if err := e.store.Save(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			w.kept = &memory{}
			e = w.process(nil)
			change.To = cephvalue.Of("4")
			if _, err := e.Apply(t.Context(), ourSweep, []Change{change}); err != nil {
				t.Fatal(err)
			}
			if err := putAllBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			now, _ := w.cluster.Central(ceph.ConfigWho{Section: "osd"}, "osd_max_backfills")
			var on bool
			w.cluster.Act(func(c *cephtest.Cluster) { on = c.Answers.Balancer.Active })
			if now != "3" || on {
				t.Errorf("osd_max_backfills is %q, and the balancer on: %t; want them as they were before the run", now, on)
			}
		})
	}
}

// Epochs of two Kubernetes clusters are independent. A manager of the second cluster finds a
// journal of the first, whose epoch may be above that of its own lock.
func TestJournalOfHigherEpochIsRestored(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	if _, err := w.process(nil).Apply(t.Context(), ourSweep, []Change{noUp(1), noUp(2), config("osd_max_backfills", "3")}); err != nil {
		t.Fatal(err)
	}
	w.kept = &memory{}
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Keys["cephtune/journal"] = strings.Replace(c.Keys["cephtune/journal"], `"epoch":1,`, `"epoch":50,`, 1)
	})
	if err := w.next(nil); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}

func TestTheEpochOfAJournal(t *testing.T) {
	for name, test := range map[string]struct {
		known  int64
		writer string
		lock   int64
		want   int64
	}{
		"its first":                                   {known: 0, writer: "", lock: 7, want: 7},
		"the lock is still held":                      {known: 7, writer: "this", lock: 7, want: 7},
		"the lock was taken again":                    {known: 7, writer: "this", lock: 8, want: 8},
		"another's, under the same lock":              {known: 7, writer: "other", lock: 7, want: 7},
		"another's, under another lock":               {known: 50, writer: "other", lock: 3, want: 51},
		"its own, after the Lease has lost its count": {known: 50, writer: "this", lock: 3, want: 50},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &memory{}
			e := NewEngine(nil, Cluster{FSID: "f"}, Options{
				Store: kept, Writer: "this",
				Guard: func(context.Context) (ceph.Fence, error) { return ceph.Fence{FSID: "f", Epoch: test.lock}, nil },
			})
			j := journalOf("a", test.known, 4, Open)
			j.Writer = test.writer
			if err := errors.Join(e.enter(t.Context()), e.save(t.Context(), j)); err != nil {
				t.Fatal(err)
			}
			got, err := kept.Load(t.Context(), "f")
			if err != nil || got.Epoch != test.want || got.Writer != "this" || got.Revision != 5 {
				t.Errorf("kept %+v, %v; want epoch %d", got, err, test.want)
			}
		})
	}
}

func TestALostLockChangesNothing(t *testing.T) {
	w := newWorld(t)
	lost := errors.New("the lock is somebody else's")
	e := w.process(nil)
	e.guard = func(context.Context) (ceph.Fence, error) { return ceph.Fence{}, lost }
	if _, err := e.Apply(t.Context(), ourSweep, []Change{balancer()}); !errors.Is(err, lost) {
		t.Errorf("error is %v", err)
	}
	if len(w.cluster.Calls("SetBalancer"))+len(w.cluster.Calls("SetKey")) > 0 {
		t.Error("something was written")
	}
}

// If a process ends between the two copies, only one is written. The same happens if Ceph refuses
// its copy. Nothing must be changed before both are written.
func TestBothCopiesHaveTheJournalBeforeAChange(t *testing.T) {
	change := config("osd_max_backfills", "4")
	both := func(t *testing.T, w *world) {
		t.Helper()
		w.cluster.Act(func(c *cephtest.Cluster) {
			c.Before = func(verb string) error {
				if _, kept := c.Keys[journalKey]; verb == "SetConfig" && !kept {
					return errors.New("Ceph is changed, and has no copy of the journal")
				}
				return nil
			}
		})
	}
	t.Run("the process has ended", func(t *testing.T) {
		w := newWorld(t)
		left := newJournal(cephtest.FSID, ourSweep)
		if err := left.intend(change, cephvalue.Unset()); err != nil {
			t.Fatal(err)
		}
		left.Epoch, left.Revision, left.Writer = 1, 1, "process-0"
		if err := w.kept.Save(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		both(t, w)
		if err := w.retried(t, w.process(nil), change); err != nil {
			t.Error(err)
		}
	})
	t.Run("Ceph does not take it", func(t *testing.T) {
		w := newWorld(t)
		e := w.process(nil)
		w.cluster.Act(func(c *cephtest.Cluster) {
			c.Before = func(verb string) error {
				if verb == "SetKey" {
					return errors.New("no monitor answers")
				}
				return nil
			}
		})
		if _, err := e.Apply(t.Context(), ourSweep, []Change{change}); err == nil {
			t.Fatal("Ceph took no journal, and nobody was told")
		}
		both(t, w)
		w.started-- // A monitor was replaced, so this is another engine of the same process.
		if err := w.retried(t, w.process(nil), change); err != nil {
			t.Error(err)
		}
	})
}

// retried applies a change after requests of an earlier process have ended.
func (w *world) retried(t *testing.T, e *Engine, change Change) error {
	t.Helper()
	_, err := e.Apply(t.Context(), ourSweep, []Change{change})
	if wait, ok := errors.AsType[*WaitError](err); ok {
		w.now = wait.Until.Add(time.Second)
		_, err = e.Apply(t.Context(), ourSweep, []Change{change})
	}
	return err
}

// byOthers lets another user set an option at the first few passes of a step. N in the value is the
// number of the pass.
func (w *world) byOthers(option, value string, step Step, times int) *Engine {
	passed := 0
	return w.process(func(s Step) bool {
		if s != step || passed == times {
			return false
		}
		passed++
		w.sets(option, strings.ReplaceAll(value, "N", strconv.Itoa(passed)))
		return false
	})
}

func (w *world) sets(option, value string) {
	w.t.Helper()
	if err := w.cluster.SetConfig(w.t.Context(), conn(), fence(), ceph.ConfigWho{Section: "osd"}, option, value); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) backfills() string {
	value, _ := w.cluster.Central(ceph.ConfigWho{Section: "osd"}, "osd_max_backfills")
	return value
}

// Another user may change a setting while the journal is being written. Then that value is the
// original, even if it equals the sweep's value.
func TestAForeignChangeBeforeTheFirstSetIsRestored(t *testing.T) {
	for name, test := range map[string]struct {
		theirs string
		step   Step
	}{
		"once the journal is written":                  {"7", StepIntentWritten},
		"once it is read back":                         {"7", StepIntentReadBack},
		"what the sweep is to set":                     {"4", StepIntentReadBack},
		"once another setting of the sweep is changed": {"7", StepChanged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.byOthers("osd_max_backfills", test.theirs, test.step, 1)
			changes := []Change{config("osd_memory_target", "4G"), config("osd_max_backfills", "4")}
			if _, err := e.Apply(t.Context(), ourSweep, changes); err != nil {
				t.Fatal(err)
			}
			if now := w.backfills(); now != "4" {
				t.Errorf("it is %s, want that of the sweep", now)
			}
			if err := putAllBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if now := w.backfills(); now != test.theirs {
				t.Errorf("restored to %q, want what somebody else had set", now)
			}
		})
	}
}

// Wherever a process is killed meanwhile, the other user's value must stay.
func TestKilledAfterAForeignChange(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorld(t)
		theirs, passed, killed := false, 0, false
		e := w.process(func(s Step) bool {
			if s == StepIntentReadBack && !theirs {
				theirs = true
				w.sets("osd_max_backfills", "7")
				return false
			}
			passed++
			killed = killed || theirs && passed == n
			return theirs && passed == n
		})
		if _, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")}); err != nil && !killed {
			t.Fatal(err)
		}
		if err := w.next(nil); err != nil {
			t.Fatal(err)
		}
		if now := w.backfills(); now != "7" {
			t.Errorf("killed at step %d: it is %q", n, now)
		}
		if !killed && n > 1 {
			return
		}
	}
}

// If another user goes on changing a setting, the sweep must not compete.
func TestAForeignChangeAgainAndAgain(t *testing.T) {
	w := newWorld(t)
	e := w.byOthers("osd_max_backfills", "1N", StepIntentReadBack, 100)
	_, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")})
	if err == nil || !strings.Contains(err.Error(), "keeps changing") {
		t.Errorf("error is %v", err)
	}
	theirs := w.backfills()
	if err := putAllBack(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if now := w.backfills(); now != theirs {
		t.Errorf("it is %s, want %s", now, theirs)
	}
}

// Later, the original is known, and a different value is a foreign change.
func TestAForeignChangeBetweenTwoConfigurations(t *testing.T) {
	w := newWorld(t)
	later := false
	e := w.process(func(s Step) bool {
		if later && s == StepIntentReadBack {
			w.sets("osd_max_backfills", "7")
		}
		return false
	})
	if _, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")}); err != nil {
		t.Fatal(err)
	}
	later = true
	_, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "5")})
	if foreign, ok := errors.AsType[*ForeignChangeError](err); !ok || foreign.Found != cephvalue.Of("7") {
		t.Errorf("error is %v", err)
	}
	if report, err := e.Restore(t.Context()); err != nil || len(report.LeftAlone()) != 1 || w.backfills() != "7" {
		t.Errorf("%+v, %v, it is %s", report, err, w.backfills())
	}
}
