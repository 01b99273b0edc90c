package storm

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Environment variables of "make storm": the first seed, and the number of stories.
const (
	variableSeed    = "CEPHTUNE_STORM_SEED"
	variableStories = "CEPHTUNE_STORM_STORIES"
)

const (
	// failuresAtMost is the number of failing stories after which no other begins. With the flag -failfast it is 1, and
	// the story is not shrunk.
	failuresAtMost = 3
	// wantsFrom is the number of stories from which on rare events are required.
	wantsFrom = 500
	// collectAt is how many percent of the memory in use may be garbage.
	collectAt = 400
	// repeatEvery is the share of stories that are told twice, to check that a seed gives the same story again.
	repeatEvery = 50
	// differingAtMost is the share of these that may differ: one in so many.
	differingAtMost = 2
)

// Plot draws and plays stories.
type Plot struct {
	// Names has the names of the faults. A name that occurs twice is drawn twice as often.
	Names []string
	// Faults and Calls limit the number of faults of a story, and the calls at which they happen.
	Faults, Calls int
	// Stories is the number of stories of an ordinary test.
	Stories int
	// Wants has what must be counted at least once in wantsFrom stories or more.
	Wants []string
	// Differs says that a seed does not give the same story again.
	Differs bool
	// Play plays the story to its end, without the faults themselves.
	Play func(*testing.T, *Story)
}

// outcome is the result of a story.
type outcome struct {
	failures, course []string
	calls            int
	counts           map[string]int // of faults, and of what [Story.Count] counted
}

// Run tells stories on all processors. It shrinks those that fail.
func Run(t *testing.T, p Plot) {
	t.Helper()
	atMost := uint64(failuresAtMost)
	if failFast() {
		atMost = 1
	}
	first, stories := number(t, variableSeed, 1), number(t, variableStories, uint64(p.Stories)) //nolint:gosec // It is positive.
	r := &run{Plot: p, end: first + stories, verbose: stories == 1, total: outcome{counts: map[string]int{}}}
	r.next.Store(first)
	began := time.Now()
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt)) // A story makes much garbage, and keeps little.
	t.Run("stories", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("shard", func(t *testing.T) {
				t.Parallel()
				for seed := r.next.Add(1) - 1; seed < r.end && r.failed.Load() < atMost; seed = r.next.Add(1) - 1 {
					r.tellOne(t, seed)
				}
			})
		}
	})
	next := min(r.next.Load(), r.end)
	for _, event := range p.Wants {
		if next-first >= wantsFrom && r.total.counts[event] == 0 {
			t.Errorf("%d stories, and none with %q", next-first, event)
		}
	}
	// A timer and an event at the same instant may come in either order, so a few stories differ.
	if len(r.differing)*differingAtMost > r.repeated {
		t.Errorf("%d of %d stories that were told twice differ: %s", len(r.differing), r.repeated, strings.Join(r.differing, "\n"))
	}
	t.Logf("%d of %d stories that were told twice differ; %d stories with %d calls in %v, %d failed; the slowest took %v (seed %d); the next seed is %d; what happened: %v",
		len(r.differing), r.repeated, next-first, r.total.calls, time.Since(began).Round(time.Second), r.failed.Load(), r.longest.Round(time.Millisecond), r.slowest, next, r.total.counts)
}

// run is the state of all shards of a test.
type run struct {
	Plot

	end          uint64
	verbose      bool
	next, failed atomic.Uint64

	mu    sync.Mutex
	total outcome
	// longest is how long the slowest story took, and slowest is its seed.
	longest time.Duration
	slowest uint64
	// repeated counts the stories that were told twice. differing says how some of them differed.
	repeated  int
	differing []string
}

func (r *run) tellOne(t *testing.T, seed uint64) {
	t.Helper()
	began := time.Now()
	o := r.tell(t, seed, r.draw(seed))
	lasted := time.Since(began)
	r.mu.Lock()
	if lasted > r.longest {
		r.longest, r.slowest = lasted, seed
	}
	r.total.calls += o.calls
	for event, n := range o.counts {
		r.total.counts[event] += n
	}
	r.mu.Unlock()
	if len(o.failures) > 0 {
		r.failed.Add(1)
		r.report(t, seed, o)
	}
	if r.verbose {
		t.Log(strings.Join(o.course, "\n"))
	}
	if seed%repeatEvery == 0 && !r.Differs {
		r.repeat(t, seed, o)
	}
}

func failFast() bool {
	set := flag.Lookup("test.failfast")
	return set != nil && set.Value.String() == "true"
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text, set := os.LookupEnv(variable)
	if !set || text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// report shrinks a failing story, and prints it.
func (p Plot) report(t *testing.T, seed uint64, o outcome) {
	t.Helper()
	all := p.draw(seed)
	faults := all
	if !failFast() {
		faults, o = p.shrink(t, seed, all, o)
	}
	t.Errorf("seed %d fails with the faults %v (of %d):\n%s\nthe story:\n%s", seed, faults, len(all), strings.Join(o.failures, "\n"), strings.Join(o.course, "\n"))
}

// repeat tells a story again, and notes whether it is another one.
func (r *run) repeat(t *testing.T, seed uint64, o outcome) {
	t.Helper()
	again := r.tell(t, seed, r.draw(seed))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeated++
	for i := range min(len(o.course), len(again.course)) {
		if withoutDrawn(o.course[i]) != withoutDrawn(again.course[i]) {
			r.differing = append(r.differing, fmt.Sprintf("seed %d gives another story, from line %d on:\n%s\nand then\n%s", seed, i, o.course[i], again.course[i]))
			return
		}
	}
}

// draw returns the faults of a seed. Half of them are early, because the beginning of a story is short.
func (p Plot) draw(seed uint64) []Fault {
	random := rand.New(rand.NewPCG(seed, 45)) //nolint:gosec // The story must be the same again.
	faults := make([]Fault, random.IntN(p.Faults+1))
	for i := range faults {
		within := p.Calls
		if random.IntN(2) == 0 {
			within /= 8
		}
		faults[i] = Fault{Call: 1 + random.IntN(within), Name: p.Names[random.IntN(len(p.Names))]}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return a.Call - b.Call })
	return faults
}

// tell plays the story of a seed with some faults.
func (p Plot) tell(t *testing.T, seed uint64, faults []Fault) (o outcome) {
	t.Helper()
	ended := false
	defer func() {
		if !ended { // A deadlock or a panic ends the whole program, so its seed must be known.
			fmt.Printf("the story with seed %d and the faults %v did not end\n", seed, faults)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		s := &Story{Seed: seed, Random: rand.New(rand.NewPCG(seed, 46)), faults: slices.Clone(faults), counts: map[string]int{}, named: map[string]int{}} //nolint:gosec // The story must be the same again.
		p.Play(t, s)
		s.end()
		o = outcome{failures: s.failures, course: s.course, calls: s.calls, counts: s.counts}
	})
	ended = true
	return o
}

// shrink drops the faults one by one that a failing story does not need. It returns the last story that failed.
func (p Plot) shrink(t *testing.T, seed uint64, faults []Fault, failed outcome) ([]Fault, outcome) {
	t.Helper()
	for i := 0; i < len(faults); {
		fewer := slices.Delete(slices.Clone(faults), i, i+1)
		o := p.tell(t, seed, fewer)
		if len(o.failures) == 0 {
			i++
			continue
		}
		faults, failed = fewer, o
	}
	return faults, failed
}

// Failures plays the story of a seed, and returns what the checks have found.
func (p Plot) Failures(t *testing.T, seed uint64) []string {
	t.Helper()
	return p.tell(t, seed, p.draw(seed)).failures
}

// Course returns the lines of the story of a seed, which must not fail.
func (p Plot) Course(t *testing.T, seed uint64) []string {
	t.Helper()
	o := p.tell(t, seed, p.draw(seed))
	for _, failure := range o.failures {
		t.Errorf("seed %d: %s", seed, failure)
	}
	return o.course
}
