package tuning

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// Whatever happens to its entries, an accepted journal can be written until all of them are closed.
// The test uses the largest journal for each length of values around the limit.
func TestAJournalThatIsAcceptedCanBeClosed(t *testing.T) {
	for length := 1; length <= 1024; length += 31 {
		j := newJournal(cephtest.FSID, ourSweep)
		for i := 0; ; i++ {
			next := j.clone()
			change := Change{
				Setting: Setting{Kind: KindConfig, Option: fmt.Sprintf("osd_option_%d", i)},
				To:      cephvalue.Of(strings.Repeat("<", length)), Type: cephvalue.String,
			}
			if err := next.intend(change, cephvalue.Of(strings.Repeat(">", length))); err != nil {
				t.Fatal(err)
			}
			if next.closable() != nil {
				break
			}
			if i == 1000 {
				t.Fatalf("%d entries with values of %d bytes are accepted", i, length)
			}
			j = next
		}
		for _, entry := range j.Entries {
			j.stored(Change{Setting: entry.Setting, To: entry.Applied[0].Intended, Type: entry.Type}, entry.Applied[0].Intended)
			j.closeEntry(entry.Setting, LeftAlone, new(cephvalue.Of(strings.Repeat("&", 4096))))
			j.Revision += 1 << 40
			if _, err := Encode(j); err != nil {
				t.Fatalf("%d entries with values of %d bytes: %v", len(j.Entries), length, err)
			}
		}
	}
}

func TestAFloatHasALongerForm(t *testing.T) {
	if got := longestForm(cephvalue.Float, "1e300"); len(got) < 300 {
		t.Errorf("longest form %q, want that which Ceph stores", got)
	}
}

// A change that does not fit is refused before Ceph gets it, and earlier changes can be restored.
func TestAFullJournalIsRefusedAndRestored(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	e := w.process(nil)
	for i := 1; ; i++ {
		change := config("osd_memory_target", fmt.Sprintf("%dG", i))
		_, err := e.Apply(t.Context(), ourSweep, []Change{change})
		if err == nil && i < 2000 {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "vary fewer") {
			t.Fatalf("value %d: %v", i, err)
		}
		if count := len(w.cluster.Calls("SetConfig")); count != i-1 {
			t.Errorf("told %d values, want %d", count, i-1)
		}
		break
	}
	if err := w.next(nil); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}

// A journal that an earlier version has filled to its limit must still be closed.
func TestAJournalThatWasFilledBeforeIsClosed(t *testing.T) {
	w := newWorld(t)
	change := config("osd_max_backfills", "3")
	j := newJournal(cephtest.FSID, ourSweep)
	j.Writer, j.Epoch, j.Revision = "process-1", 1, 1
	if err := j.intend(change, cephvalue.Unset()); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	const filled = 60<<10 - 1
	j.Entries[0].Applied = append(j.Entries[0].Applied, AppliedValue{Intended: cephvalue.Of(strings.Repeat("9", filled-len(text)-len(`,{"intended":{"set":true,"text":""}}`)))})
	if text, _ = json.Marshal(j); len(text) != filled {
		t.Fatalf("%d bytes, want %d", len(text), filled)
	}
	if err := w.kept.Save(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.SetConfig(t.Context(), conn(), fence(), ceph.ConfigWho{Section: "osd"}, "osd_max_backfills", "3"); err != nil {
		t.Fatal(err)
	}
	if err := putAllBack(t.Context(), w.process(nil)); err != nil {
		t.Fatal(err)
	}
}
