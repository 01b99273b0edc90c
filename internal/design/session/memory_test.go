package session

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/testing/memory"
)

// typicalBins is the number of bins that a second of a busy device has in fio's histogram.
const typicalBins = 290

// mixed returns a row of a load that mixes reads and writes.
func mixed(second, bins int) result.Second {
	done := func() *result.Done {
		d := &result.Done{Operations: 1000, Bytes: 4096e3, LatencySeconds: 1}
		if bins > 0 {
			d.Latencies = &result.Histogram{Bins: make([]result.Bin, bins)}
			for i := range d.Latencies.Bins {
				d.Latencies.Bins[i] = result.Bin{Nanoseconds: result.BinNanoseconds(600 + i), Count: 3}
			}
		}
		return d
	}
	row := result.Second{FromNanoseconds: int64(second) * 1e9, ToNanoseconds: int64(second+1) * 1e9, Read: done(), Write: done()}
	row.Done = result.Done{Operations: 2000, Bytes: 8192e3, LatencySeconds: 2}
	return row
}

// hearAll adds the rows of all clients up to the end of the record, and folds them.
func hearAll(t *testing.T, c *Collector, clients, bins int, record Record) error {
	t.Helper()
	for client := range clients {
		var rows []result.Second
		for second := c.Next(client); time.Duration(second+1)*time.Second <= record.End; second++ {
			rows = append(rows, mixed(second, bins))
		}
		if err := c.Add(client, rows, record.Began, record.Began); err != nil {
			return err
		}
		if err := c.Fold(client, record); err != nil {
			return err
		}
	}
	return nil
}

// longSession returns the record of a session after a number of windows, with the longest windows.
func longSession(windows int) Record {
	record := Record{Began: time.Unix(1e9, 0)}
	for i := range windows {
		from := time.Duration(i) * (time.Minute + perSwitch)
		record.Switches = append(record.Switches, switchback.Switch{Treatment: i % 2, Sent: from, Acknowledged: from + perSwitch, Ended: from + perSwitch + time.Minute, Proven: true})
		record.End = record.Switches[i].Ended
	}
	return record
}

// All clients that a benchmark can have run a mixed load for two hours, with the longest windows. Each second has
// histograms.
func TestTheLongestSessionFits(t *testing.T) {
	const clients, blocks = 64, 28
	if MaxClientTime > clients*blocks*4*(time.Minute+perSwitch)+time.Hour {
		t.Fatal("a plan may have a longer session")
	}
	memory.Within(t, func(t *testing.T) {
		budget := limits.NewBudget(memory.ForClients)
		p, err := Quick(7, 1, 1, 60, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		account := budget.Open()
		c := NewCollector(p, clients, account)
		var e Evidence
		for block := range blocks {
			bins := typicalBins
			if block >= 3 { // It takes too long to make all.
				bins = 0
			}
			record := longSession(4 * (block + 1))
			if err := hearAll(t, c, clients, bins, record); err != nil {
				t.Fatalf("after %d blocks: %v", block, err)
			}
			if e, err = c.Evidence(record, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(e.Clients); n != clients || len(e.Latencies) != 4*blocks || e.Latencies[3].Early.Read.Count() == 0 {
			t.Errorf("%d clients, %d windows", n, len(e.Latencies))
		}
		t.Logf("%d MiB of %d are charged", (memory.ForClients-budget.Free())>>20, memory.ForClients>>20)
		account.Close()
		if budget.Free() != memory.ForClients {
			t.Errorf("%d bytes are lost", memory.ForClients-budget.Free())
		}
	})
}

func TestACollectorHasABudget(t *testing.T) {
	budget := limits.NewBudget(1 << 20)
	p, err := Quick(7, 1, 1, 60, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	greedy, modest := NewCollector(p, 8, budget.Open()), NewCollector(p, 1, budget.Open())
	record := longSession(4)
	var exhausted *limits.BudgetError
	if err := hearAll(t, greedy, 8, typicalBins, record); !errors.As(err, &exhausted) || !errors.Is(err, ErrUnusable) {
		t.Errorf("%v, want that the budget is exhausted", err)
	}
	if err := hearAll(t, modest, 1, 8, record); err != nil {
		t.Errorf("another session: %v", err)
	}
}

// What is folded is no longer charged, and an unusable row is not kept.
func TestACollectorChargesWhatItKeeps(t *testing.T) {
	const second, done = 88, 40
	if a, b := reflect.TypeFor[result.Second]().Size(), reflect.TypeFor[result.Done]().Size(); a != second || b != done {
		t.Fatalf("the types take %d and %d bytes", a, b)
	}
	p, err := Quick(7, 1, 1, 60, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	budget := limits.NewBudget(1 << 30)
	c := NewCollector(p, 2, budget.Open())
	record := longSession(4)
	if err := hearAll(t, c, 2, typicalBins, record); err != nil {
		t.Fatal(err)
	}
	kept := int64(2*4*64)*(second*5/4+2*done) + 4*3*2*(24+2*16*typicalBins)
	if held := int64(1<<30) - budget.Free(); held > kept || held < kept/2 {
		t.Errorf("%d bytes are charged, want at most %d", held, kept)
	}
	n, held := c.Next(0), budget.Free()
	for range 2 {
		if err := c.Add(0, []result.Second{mixed(n, 5), mixed(n, 5)}, record.Began, record.Began); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "client 0: row ") {
			t.Errorf("a row again: %v", err)
		}
	}
	if err := c.Add(0, []result.Second{mixed(n, 5)}, record.Began, record.Began); err == nil || c.Next(0) != n || budget.Free() != held {
		t.Errorf("%v, %d rows of %d are kept after the loss", err, c.Next(0), n)
	}
}
