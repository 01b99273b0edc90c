package tuning

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// eachStore runs a test on each store without a compare-and-swap of its own.
func eachStore(t *testing.T, test func(*testing.T, Store)) {
	t.Run("in Ceph", func(t *testing.T) { test(t, NewConfigKey(cephtest.NewCluster("p"), ceph.Connection{})) })
	t.Run("in memory", func(t *testing.T) { test(t, &memory{}) })
}

func overtaken(err error) bool { return errors.Is(err, ErrOvertaken) }

func ofOtherSweep(err error) bool {
	other, ok := errors.AsType[*OtherSweepError](err)
	return ok && other.Sweep.Name == "a"
}

func TestAStoreKeepsTheJournalOfAnother(t *testing.T) {
	for name, test := range map[string]struct {
		kept, next *Journal
		refused    func(error) bool
	}{
		"the next revision":                {kept: journalOf("a", 1, 1, Open), next: journalOf("a", 1, 2, Open)},
		"the same once more":               {kept: journalOf("a", 1, 2, Open), next: journalOf("a", 1, 2, Open)},
		"after one that is done":           {kept: journalOf("a", 7, 9, Restored), next: journalOf("b", 1, 1, Open)},
		"an open one of another sweep":     {kept: journalOf("a", 1, 3, Open), next: journalOf("b", 2, 1, Open), refused: ofOtherSweep},
		"the same, with a later revision":  {kept: journalOf("a", 1, 3, Open), next: journalOf("b", 2, 9, Open), refused: ofOtherSweep},
		"one of a higher epoch":            {kept: journalOf("a", 2, 3, Open), next: journalOf("a", 1, 4, Open), refused: overtaken},
		"one of a later revision":          {kept: journalOf("a", 1, 3, Open), next: journalOf("a", 1, 2, Restored), refused: overtaken},
		"another one of the same revision": {kept: journalOf("a", 1, 3, Open), next: journalOf("a", 1, 3, Restored), refused: overtaken},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s Store) {
				if err := s.Save(t.Context(), test.kept); err != nil {
					t.Fatal(err)
				}
				want, err := test.next, s.Save(t.Context(), test.next)
				if test.refused != nil {
					want = test.kept
				}
				if err != nil && test.refused == nil || test.refused != nil && !test.refused(err) {
					t.Errorf("error is %v", err)
				}
				wantKept(t, s, want)
			})
		})
	}
}

func TestStoreRemovesOnlyDoneJournals(t *testing.T) {
	for name, test := range map[string]struct {
		kept, last *Journal
		refused    func(error) bool
	}{
		"what is done":                       {kept: journalOf("a", 1, 3, Restored), last: journalOf("a", 1, 3, Restored)},
		"what another sweep has done":        {kept: journalOf("a", 9, 3, Restored), last: journalOf("b", 1, 3, Restored)},
		"a copy that missed the last write":  {kept: journalOf("a", 1, 2, Open), last: journalOf("a", 1, 3, Restored)},
		"what is open":                       {kept: journalOf("a", 1, 3, Open), last: journalOf("a", 1, 3, Open), refused: ofOtherSweep},
		"what another sweep has open":        {kept: journalOf("a", 1, 1, Open), last: journalOf("b", 2, 3, Restored), refused: ofOtherSweep},
		"what was opened again":              {kept: journalOf("a", 1, 4, Open), last: journalOf("a", 1, 3, Restored), refused: overtaken},
		"what was opened in a later holding": {kept: journalOf("a", 2, 3, Open), last: journalOf("a", 1, 3, Restored), refused: overtaken},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s Store) {
				if err := s.Remove(t.Context(), test.last); err != nil {
					t.Errorf("remove one that is not there: %v", err)
				}
				if err := s.Save(t.Context(), test.kept); err != nil {
					t.Fatal(err)
				}
				var want *Journal
				err := s.Remove(t.Context(), test.last)
				if test.refused != nil {
					want = test.kept
				}
				if err != nil && test.refused == nil || test.refused != nil && !test.refused(err) {
					t.Errorf("error is %v", err)
				}
				wantKept(t, s, want)
			})
		})
	}
}

// A journal that cannot be read may be from a later version, so it must not be overwritten.
func TestAJournalInCephThatCannotBeReadStays(t *testing.T) {
	c := cephtest.NewCluster("p")
	c.Act(func(c *cephtest.Cluster) { c.Keys = map[string]string{journalKey: `{"schemaVersion":2,"fsid":"f"}`} })
	s := NewConfigKey(c, ceph.Connection{})
	for operation, err := range map[string]error{
		"save": s.Save(t.Context(), journalOf("a", 1, 1, Open)), "remove": s.Remove(t.Context(), journalOf("a", 1, 1, Restored)),
	} {
		if err == nil {
			t.Errorf("%s has no error", operation)
		}
	}
	if c.Keys[journalKey] == "" {
		t.Error("the journal is gone")
	}
}

func wantKept(t *testing.T, s Store, want *Journal) {
	t.Helper()
	got, err := s.Load(t.Context(), "f")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, kept -want +got:\n%s", err, diff)
	}
}

// A journal keeps the Kubernetes cluster of its sweep while another cluster restores it.
func TestAJournalSaysWhichKubernetesClusterItIsOf(t *testing.T) {
	w := newWorld(t)
	first, second := w.process(nil), w.process(nil)
	first.kubernetes, second.kubernetes = "k1", "k2"
	if _, err := first.Apply(t.Context(), ourSweep, []Change{noUp(1), config("osd_max_backfills", "3")}); err != nil {
		t.Fatal(err)
	}
	clusterOf := func() string {
		j, err := second.Journal(t.Context())
		if err != nil || j == nil {
			t.Fatal(j, err)
		}
		return j.Cluster
	}
	if got := clusterOf(); got != "k1" {
		t.Errorf("it is of %q, want k1", got)
	}
	_, _ = second.Restore(t.Context()) // It waits for requests of the first one to end.
	w.now = w.now.Add(ceph.LongestChange)
	if report, err := second.Restore(t.Context()); err != nil || !report.Done || clusterOf() != "k1" {
		t.Errorf("it is of %q, %+v, %v; want k1, and all restored", clusterOf(), report, err)
	}
	next := Sweep{Namespace: "bench", Name: "next", UID: "u2"}
	if _, err := second.Apply(t.Context(), next, []Change{config("osd_max_backfills", "5")}); err != nil || clusterOf() != "k2" {
		t.Errorf("the next one is of %q, %v; want k2", clusterOf(), err)
	}
}
