package tuning

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

// Whatever becomes of its entries, a journal that was accepted can be written until all of them
// are closed: the largest one of each length of values around the limit.
func TestAJournalThatIsAcceptedCanBeClosed(t *testing.T) {
	for length := 1; length <= 1024; length += 31 {
		j := newJournal(cephtest.FSID, ourSweep)
		for i := 0; ; i++ {
			next := j.clone()
			change := Change{
				Setting: Setting{Kind: KindConfig, Option: fmt.Sprintf("osd_option_%d", i)},
				To:      Of(strings.Repeat("<", length)), Type: cephvalue.String,
			}
			if err := next.intend(change, Of(strings.Repeat(">", length))); err != nil {
				t.Fatal(err)
			}
			if next.closable() != nil {
				break
			}
			j = next
		}
		for _, entry := range j.Entries {
			j.stored(Change{Setting: entry.Setting, To: entry.Ours[0].Intended, Type: entry.Type}, entry.Ours[0].Intended)
			j.closeEntry(entry.Setting, LeftAlone, new(Of(strings.Repeat("&", 4096))))
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
