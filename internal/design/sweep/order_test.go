package sweep

import (
	"math"
	"slices"
	"testing"
)

// With any seed, a block has every candidate and the baseline once, and controls so that at most
// four candidates follow each other.
func TestEveryOrderIsABlock(t *testing.T) {
	for candidates := 1; candidates <= 20; candidates++ {
		p := planFor(t, candidates, 1, nil)
		live := make([]int, candidates)
		for i := range live {
			live[i] = i + 1
		}
		for seed := range uint64(200) {
			p.settings.Seed = seed
			trials := p.order(Race, int(seed)%7+1, 1, live)
			if len(trials) > p.runsPerBlock(candidates) {
				t.Fatalf("%d candidates, seed %d: %d trials, more than the %d estimated", candidates, seed, len(trials), p.runsPerBlock(candidates))
			}
			var visited []int
			since := 0
			for i, s := range trials {
				if s.Position != i {
					t.Fatalf("trial %d says %d", i, s.Position)
				}
				if s.Role != Control {
					visited = append(visited, s.Configuration)
				}
				if since++; s.Configuration == 0 {
					since = 0
				}
				if since > maxRunsWithoutCtrl {
					t.Fatalf("%d candidates, seed %d: %d runs without the baseline", candidates, seed, since)
				}
			}
			slices.Sort(visited)
			if !slices.Equal(visited, append([]int{0}, live...)) {
				t.Fatalf("%d candidates, seed %d: visited %v", candidates, seed, visited)
			}
		}
	}
}

// The order of pairs is random. It is never the same in all blocks of the first look, for any
// candidate and any number of attempts.
func TestOrdersOfPairs(t *testing.T) {
	for _, firstLook := range []int{3, 4, 6} {
		testOrdersOfPairs(t, firstLook, min(firstLook-1, 3))
	}
}

func testOrdersOfPairs(t *testing.T, firstLook, most int) {
	t.Helper()
	baselineFirst, alike := 0, map[int]int{}
	const seeds, blocks = 1000, 24
	for seed := range uint64(seeds) {
		p := planFor(t, 2, seed, func(s *Settings) { s.MinBlocks = firstLook })
		last, row := -1, 0
		for b := 1; b <= blocks; b++ {
			trials := p.order(Race, b, 1, []int{2})
			if again := p.order(Confirmation, b, 3, []int{1}); (again[0].Configuration == 0) != (trials[0].Configuration == 0) {
				t.Fatalf("seed %d, block %d: another attempt has another order", seed, b)
			}
			first := trials[0].Configuration
			if len(trials) != 2 || first+trials[1].Configuration != 2 {
				t.Fatalf("seed %d, block %d: %+v is no pair", seed, b, trials)
			}
			if first == 0 {
				baselineFirst++
			}
			if row++; first != last {
				alike[row]++
				last, row = first, 0
			}
			if row >= most {
				t.Fatalf("seed %d: %d pairs in a row begin with %d, up to block %d", seed, row+1, first, b)
			}
		}
	}
	if n, want := float64(baselineFirst), seeds*blocks/2.; math.Abs(n-want) > 5*math.Sqrt(want/2) {
		t.Errorf("the baseline is first in %v of %d pairs", n, seeds*blocks)
	}
	if len(alike) != most {
		t.Errorf("runs of pairs in the same order: %v, want some of each length up to %d", alike, most)
	}
}

// All 24 orders of four members must be about equally likely.
func TestOrdersAreRandom(t *testing.T) {
	p := planFor(t, 3, 1, nil)
	counts := map[[4]int]int{}
	const blocks = 24_000
	for b := range blocks {
		var key [4]int
		trials := p.order(Race, b+1, 1, []int{1, 2, 3})
		for i, s := range trials {
			key[i] = s.Configuration
		}
		counts[key]++
	}
	if len(counts) != 24 {
		t.Errorf("%d orders, want 24", len(counts))
	}
	for order, n := range counts {
		if math.Abs(float64(n)-1000) > 5*math.Sqrt(1000) {
			t.Errorf("order %v: %d of %d blocks, want about 1000", order, n, blocks)
		}
	}
}

// The order is part of a sweep. If this test fails, an upgrade would change the order of a running
// block: raise Version.
func TestOrderOfASeedNeverChanges(t *testing.T) {
	p := planFor(t, 6, 42, nil)
	var got []int
	for _, s := range p.order(Race, 3, 2, []int{1, 2, 3, 4, 5, 6}) {
		got = append(got, s.Configuration)
	}
	want := []int{3, 6, 5, 0, 1, 4, 2}
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestOrderedValuesGoUpAndDown(t *testing.T) {
	space := grid("8", "16", "32", "64")
	space.Ordered = true
	p, err := New(Plan{Version: Version, Space: space, Settings: defaults()})
	if err != nil {
		t.Fatal(err)
	}
	for block, want := range map[int][]int{
		// The baseline, 32, has its place between 16 and 64 (2 and 3).
		1: {0, 1, 2, 0, 3, 0},
		2: {0, 3, 0, 2, 1, 0},
		3: {0, 1, 2, 0, 3, 0},
	} {
		var got []int
		for _, s := range p.order(Race, block, 1, []int{1, 2, 3}) {
			got = append(got, s.Configuration)
		}
		if !slices.Equal(got, want) {
			t.Errorf("block %d: order %v, want %v", block, got, want)
		}
	}
}

func TestControlsAreAsFrequentAsAskedFor(t *testing.T) {
	p := planFor(t, 6, 42, nil)
	p.settings.ControlInterval = 1
	since := 0
	for _, s := range p.order(Race, 1, 1, []int{1, 2, 3, 4, 5, 6}) {
		if since++; s.Configuration == 0 {
			since = 0
		}
		if since > 1 {
			t.Errorf("trial %d: two candidates without a control between them", s.Position)
		}
	}
	if got := p.runsPerBlock(6); got != 6+1+5 {
		t.Errorf("%d runs for a block, want 12", got)
	}
}

// A block that began with two candidates needs both of its controls, although one of them is inert.
func TestBlockOfAWithdrawnCandidateNeedsItsLastControl(t *testing.T) {
	space := grid("16", "32", "64")
	space.Ordered = true
	plan := Plan{Version: Version, Space: space, Settings: defaults()}
	var ledger []Run
	for len(ledger) < 20 {
		d, err := next(plan, ledger)
		if err != nil {
			t.Fatal(err)
		}
		s := d.Trial
		if s.Block != 1 || s.Attempt != 1 {
			if s.Block != 1 || s.Attempt != 2 {
				t.Errorf("without its last control, block 1 leads to attempt %d of block %d, want attempt 2 of block 1", s.Attempt, s.Block)
			}
			return
		}
		run := Run{Block: s.Block, Attempt: s.Attempt, Position: s.Position, Configuration: s.Configuration, Values: []float64{400}}
		switch {
		case s.Configuration == 1:
			run.Outcome, run.Values = Inert, nil
		case s.Role == Control && s.Position > 0:
			run.Outcome, run.Values = NotSteady, nil
		}
		ledger = append(ledger, run)
	}
	t.Error("block 1 does not end")
}
