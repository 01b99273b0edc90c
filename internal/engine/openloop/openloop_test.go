package openloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/testing/wallclock"
)

// bubbleClock is the clock of a synctest bubble.
type bubbleClock struct {
	start     time.Time
	oversleep time.Duration
	busy      float64
	slow      time.Duration // what each step of the program takes
	pause     time.Duration // when the program pauses once, for 200 ms; 0 for never
}

func (c *bubbleClock) Now() time.Duration {
	if c.slow > 0 {
		time.Sleep(c.slow)
	}
	return c.exact()
}

func (c *bubbleClock) exact() time.Duration { return time.Since(c.start) }
func (c *bubbleClock) Busy() time.Duration  { return seconds(c.busy * c.Now().Seconds()) }
func (*bubbleClock) Pin()                   {}

func (c *bubbleClock) SleepUntil(t time.Duration) {
	over := c.oversleep
	if c.pause > 0 && t >= c.pause {
		c.pause, over = 0, 200*time.Millisecond
	}
	time.Sleep(t - c.Now() + over)
}

// storage is a backend that takes a fixed time for each operation, and does nothing during a stall.
type storage struct {
	clock       *bubbleClock
	service     time.Duration
	stall, heal time.Duration
	// blocks makes Submit wait during the stall, as the kernel does when the queue of a device is full.
	blocks bool
	// capacity limits the operations a second; 0 for no limit.
	capacity float64
	free     time.Duration // when the storage can begin the next operation, with a capacity
	err      error
	limit    int
	done     chan *Operation
}

func (s *storage) InFlightLimit() int { return s.limit }

func (s *storage) Submit(operations []*Operation) error {
	for _, op := range operations {
		if s.blocks && s.stalled(s.clock.exact()) {
			time.Sleep(s.heal - s.clock.exact())
		}
		time.AfterFunc(s.finish(s.clock.exact())-s.clock.exact(), func() { op.Err = s.err; s.done <- op })
	}
	return nil
}

func (s *storage) stalled(t time.Duration) bool { return t >= s.stall && t < s.heal }

// finish returns when an operation that is submitted at a time is done.
func (s *storage) finish(t time.Duration) time.Duration {
	if s.capacity > 0 {
		t = max(t, s.free)
		s.free = t + seconds(1/s.capacity)
	}
	if s.stalled(t) {
		t = s.heal
	}
	return t + s.service
}

func (s *storage) Wait(done []*Operation, limit time.Duration) ([]*Operation, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case op := <-s.done:
		done = append(done, op)
	case <-timer.C:
	}
	for {
		select {
		case op := <-s.done:
			done = append(done, op)
		default:
			return done, nil
		}
	}
}

func aLoad(rate, duration float64, poisson bool) *Load {
	return &Load{Engine: LibAIO, Seconds: duration, Copies: []Copy{{
		Target: "f", Size: 1 << 30, Reads: true, Random: true, Blocks: []Block{{4096, 1}}, IOPS: rate, Poisson: poisson, Seed: 7,
	}}}
}

// generate runs a load against a storage in virtual time.
func generate(t *testing.T, l *Load, s *storage, clock *bubbleClock, lines io.Writer) (res *result.Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock.start = time.Now()
		s.clock, s.done, s.limit = clock, make(chan *Operation, maxInFlight), l.InFlightLimit()
		res, err = Run(t.Context(), l, s, clock, lines)
		time.Sleep(time.Minute) // A submission that the storage blocks outlives the load.
	})
	return res, err
}

// truth returns the latencies that clients without a limit see.
func truth(l *Load, s storage) []float64 {
	var latencies []float64
	var op Operation
	for next := newTimeline(l); next.due() < seconds(l.RampSeconds+l.Seconds); {
		next.take(&op)
		latencies = append(latencies, (s.finish(op.Due) - op.Due).Seconds())
	}
	slices.Sort(latencies)
	return latencies
}

func checkPercentiles(t *testing.T, latency *result.Latency, want []float64) {
	t.Helper()
	for _, percent := range []float64{50, 95, 99, 99.9} {
		got, _ := latency.Percentile(percent)
		exact := want[int(math.Ceil(percent/100*float64(len(want))))-1]
		if off := math.Abs(got.Seconds - exact); off > 0.1*exact && off > 1e-3 {
			t.Errorf("p%v is %.6f s, want %.6f s", percent, got.Seconds, exact)
		}
	}
}

func TestPercentilesShowStalls(t *testing.T) {
	for _, stall := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		for _, rate := range []float64{100, 1000, 5000} {
			for _, blocks := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v at %v, submission blocks %v", stall, rate, blocks), func(t *testing.T) {
					l := aLoad(rate, 16, blocks)
					s := &storage{service: time.Millisecond, stall: 7 * time.Second, heal: 7*time.Second + stall, blocks: blocks}
					res, err := generate(t, l, s, &bubbleClock{}, io.Discard)
					if err != nil || res.Read.Latency == nil {
						t.Fatalf("%v, %+v, %+v", err, res, res.Arrivals)
					}
					want := truth(l, *s)
					checkPercentiles(t, res.Read.Latency, want)
					if got := res.Read.Latency.Moments.Count; got != int64(len(want)) {
						t.Errorf("%d latencies of %d operations", got, len(want))
					}
				})
			}
		}
	}
}

func TestMergedPercentilesShowTheStallOfOneClient(t *testing.T) {
	for _, stall := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		for _, rate := range []float64{100, 1000, 5000} {
			t.Run(fmt.Sprintf("%v at %v", stall, rate), func(t *testing.T) { checkMerged(t, stall, rate) })
		}
	}
}

// checkMerged checks the percentiles of three clients, one of which is stalled.
func checkMerged(t *testing.T, stall time.Duration, rate float64) {
	t.Helper()
	var results []*result.Result
	var want []float64
	for client := range 3 {
		l := aLoad(rate, 16, true)
		l.Copies[0].Seed = uint32(client)
		s := &storage{service: time.Millisecond}
		if client == 1 {
			s.stall, s.heal = 7*time.Second, 7*time.Second+stall
		}
		res, err := generate(t, l, s, &bubbleClock{}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		results, want = append(results, res), append(want, truth(l, *s)...)
	}
	merged, err := result.Merge(results...)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	checkPercentiles(t, merged.Read.Latency, want)
	if err := merged.Validate(); err != nil || merged.Arrivals == nil || merged.Arrivals.Operations != int64(len(want)) {
		t.Errorf("the merged arrivals are %+v (%v)", merged.Arrivals, err)
	}
}

func TestUnfinishedOperationsCountWithTheirWait(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		l := aLoad(1000, 16, false)
		s := &storage{service: time.Millisecond, stall: 14 * time.Second, heal: 60 * time.Second, blocks: blocks}
		res, err := generate(t, l, s, &bubbleClock{}, io.Discard)
		if err != nil || res.Read.Latency == nil {
			t.Fatalf("%v, %+v", err, res)
		}
		if n := res.Arrivals.Unfinished; n < 1990 || n > 2010 {
			t.Errorf("%d operations are unfinished, want those of the last two seconds, 2000", n)
		}
		// The load ends after 16 s and waits for 5 s, so operations that were due after 14 s have waited for 5 s or more.
		if got, _ := res.Read.Latency.Percentile(90); got.Seconds < 5 || got.Seconds > 7.1 {
			t.Errorf("p90 is %v s, want 5 s to 7 s", got.Seconds)
		}
		if got := res.Read.Operations; got < 13990 || got > 14010 {
			t.Errorf("%d operations were done, want 14000", got)
		}
	}
}

func TestSaturatedStorageHasNoLatency(t *testing.T) {
	l := aLoad(1000, 16, true)
	res, err := generate(t, l, &storage{service: time.Millisecond, capacity: 800}, &bubbleClock{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Arrivals.Saturated || res.Read.Latency != nil || !slices.ContainsFunc(res.Warnings, func(w result.Warning) bool { return w.Code == result.WarnSaturated }) {
		t.Errorf("got %+v with warnings %v", res.Arrivals, res.Warnings)
	}
	if got := res.Read.OperationsPerSecond(); math.Abs(got-800) > 8 {
		t.Errorf("got %v operations a second, want 800", got)
	}
}

func TestGeneratorThatMissesItsScheduleHasNoLatency(t *testing.T) {
	cases := map[string]struct {
		clock   bubbleClock
		storage storage
		load    *Load
		want    string
	}{
		"it sleeps too long":   {bubbleClock{oversleep: 3 * time.Millisecond}, storage{service: time.Millisecond}, aLoad(1000, 16, false), "issued 3 ms late"},
		"its thread is busy":   {bubbleClock{busy: 0.95}, storage{service: time.Millisecond}, aLoad(1000, 16, false), "busy for 95 %"},
		"it reaches its limit": {bubbleClock{}, storage{service: time.Millisecond, stall: time.Second, heal: 15 * time.Second}, aLoad(100, 16, false), "own limit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.want == "own limit" {
				tc.load.Copies[0].Blocks[0].Bytes = maxInFlightBytes / 64 // which leaves 64 operations in flight
			}
			res, err := generate(t, tc.load, &tc.storage, &tc.clock, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if res.Read.Latency != nil || len(res.Warnings) != 1 || res.Warnings[0].Code != result.WarnOffSchedule || !strings.Contains(res.Warnings[0].Message, tc.want) {
				t.Errorf("latency %v, warnings %v; want %q", res.Read.Latency, res.Warnings, tc.want)
			}
		})
	}
}

// A pause of the program delays all operations that were due in it, also those that it submits in later batches.
func TestPauseOfTheGeneratorMakesAllItsOperationsLate(t *testing.T) {
	var blocked submissions
	blocked.add(0, time.Second)
	for _, c := range []struct{ due, want time.Duration }{{0, time.Second}, {400 * time.Millisecond, 600 * time.Millisecond}, {time.Second, 0}} {
		if got := blocked.since(c.due); got != c.want {
			t.Errorf("since %v: %v, want %v", c.due, got, c.want)
		}
	}
	blocked.add(2*time.Second, 3*time.Second)
	blocked.add(4*time.Second, 5*time.Second)
	if got := blocked.since(2500 * time.Millisecond); got != 1500*time.Millisecond {
		t.Errorf("two submissions: %v, want 1.5 s", got)
	}
	res, err := generate(t, aLoad(5000, 10, false), &storage{service: time.Millisecond}, &bubbleClock{pause: 5 * time.Second}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if late := res.Arrivals.LateP99Seconds; late < 0.1 || res.Read.Latency != nil {
		t.Errorf("after a pause of 200 ms in 10 s, the lateness is %v s, and there are latencies: %v", late, res.Read.Latency != nil)
	}
}

// A rate that the CPU of the client cannot make ends in time, in words.
func TestRateBeyondTheCPUEndsInTime(t *testing.T) {
	l, clock := aLoad(1e5, 3, false), &bubbleClock{slow: time.Millisecond}
	res, err := generate(t, l, &storage{service: time.Millisecond}, clock, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if res.Read.Latency != nil || len(res.Warnings) != 1 || res.Warnings[0].Code != result.WarnOffSchedule || !strings.Contains(res.Warnings[0].Message, "lower rate") {
		t.Errorf("arrivals %+v, warnings %v", res.Arrivals, res.Warnings)
	}
}

func TestFailedOperationEndsTheLoad(t *testing.T) {
	lost := errors.New("lost")
	_, err := generate(t, aLoad(100, 2, false), &storage{service: time.Millisecond, err: lost}, &bubbleClock{}, io.Discard)
	if !errors.Is(err, lost) || !strings.Contains(err.Error(), "read 4096 bytes") {
		t.Errorf("got error %v", err)
	}
}

// A stop must not leave a scheduler that waits for a free operation.
func TestStoppedLoadHasTheResultUpToTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &bubbleClock{start: time.Now()}
		s := &storage{clock: clock, service: time.Millisecond, limit: 100, done: make(chan *Operation, maxInFlight)}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		l := aLoad(100, 3600, false)
		l.RampSeconds = 2
		res, err := Run(ctx, l, s, clock, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Read.Seconds; math.Abs(got-3) > 0.2 {
			t.Errorf("it was measured for %v s, want 3 s", got)
		}
		if got := res.Read.OperationsPerSecond(); math.Abs(got-100) > 5 {
			t.Errorf("got %v operations a second, want 100", got)
		}
	})
}

func TestRowsAndWindowsCountTheMeasurementOnly(t *testing.T) {
	l := aLoad(100, 10, false)
	l.RampSeconds, l.Histograms, l.Windows, l.Copies[0].Writes = 3, true, true, true
	var lines bytes.Buffer
	res, err := generate(t, l, &storage{service: time.Millisecond}, &bubbleClock{}, &lines)
	if err != nil {
		t.Fatal(err)
	}
	var counted, rows float64
	for decoder := json.NewDecoder(&lines); decoder.More(); rows++ {
		var row parse.Counted
		if err := decoder.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Read == nil || row.Write == nil || row.Read.Latencies.Count() != int64(*row.Read.Due) {
			t.Fatalf("row %v is %+v", rows, row)
		}
		counted += row.Operations
	}
	if rows != 10 || counted != float64(res.Read.Operations+res.Write.Operations) || math.Abs(counted-2000) > 4 {
		t.Errorf("%v rows have %v operations, the result %d and %d", rows, counted, res.Read.Operations, res.Write.Operations)
	}
	if windows := res.Write.LatencyWindows; len(windows) != 2 || windows[1].StartSeconds != 5 || math.Abs(float64(windows[1].Histogram.Count()-500)) > 2 {
		t.Errorf("the windows are %+v", windows)
	}
	if res.Read.Series.Len() != 10 {
		t.Errorf("the series is %+v", res.Read.Series)
	}
	if err := res.Validate(); err != nil {
		t.Error(err)
	}
}

// linesOf runs a load with histograms, and returns its lines.
func linesOf(t *testing.T, l *Load, s *storage, clock *bubbleClock) []parse.Counted {
	t.Helper()
	l.Histograms = true
	var lines bytes.Buffer
	if _, err := generate(t, l, s, clock, &lines); err != nil {
		t.Fatal(err)
	}
	var rows []parse.Counted
	for decoder := json.NewDecoder(&lines); decoder.More(); {
		var row parse.Counted
		if err := decoder.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// A row has the latencies of the operations that were due in it, whenever they finished: they are those of the settings
// of that time. The longest latency that a histogram distinguishes is 17 s.
func TestRowHasTheLatenciesOfOperationsThatWereDueInIt(t *testing.T) {
	for name, c := range map[string]struct {
		heal    time.Duration
		blocks  bool
		longest float64 // of the latencies in the rows of the stall
	}{
		"a stall":                 {9 * time.Second, false, 2},
		"a stall that blocks":     {9 * time.Second, true, 2},
		"longer than a row waits": {50 * time.Second, false, 17},
		"longer, and blocks":      {50 * time.Second, true, 17},
		"until after the end":     {time.Hour, false, 17},
	} {
		t.Run(name, func(t *testing.T) {
			l := aLoad(100, 60, false)
			rows := linesOf(t, l, &storage{service: time.Millisecond, stall: 7 * time.Second, heal: c.heal, blocks: c.blocks}, &bubbleClock{})
			if len(rows) != 60 {
				t.Fatalf("%d rows, want 60", len(rows))
			}
			for i, row := range rows {
				if row.Due == nil || math.Abs(*row.Due-100) > 1 || row.Latencies.Count() != int64(*row.Due) {
					t.Fatalf("row %d: %v operations were due, %d latencies", i, row.Due, row.Latencies.Count())
				}
				p99, _ := row.Latencies.Percentile(99)
				in := time.Duration(i)*time.Second >= 7*time.Second && time.Duration(i)*time.Second < c.heal
				if stalled := p99.Seconds > 0.5; stalled != in {
					t.Errorf("row %d: the p99 is %v s", i, p99.Seconds)
				}
				if i == 7 && math.Abs(p99.Seconds-c.longest) > 0.1*c.longest {
					t.Errorf("row %d: the p99 is %v s, want %v s", i, p99.Seconds, c.longest)
				}
				if row.Lateness == nil {
					continue // The generator has issued no operation that was due in this row.
				}
				if late, _ := row.Lateness.Percentile(99); late.Seconds > 1e-3 {
					t.Errorf("row %d: the generator was %v s late", i, late.Seconds)
				}
			}
		})
	}
}

func TestRowHasTheLatenessOfTheGenerator(t *testing.T) {
	for i, row := range linesOf(t, aLoad(100, 5, false), &storage{service: time.Millisecond}, &bubbleClock{oversleep: 3 * time.Millisecond}) {
		if late, _ := row.Lateness.Percentile(50); late.Seconds < 3e-3 || late.Seconds > 3.5e-3 {
			t.Errorf("row %d: the generator was %v s late, want 3 ms", i, late.Seconds)
		}
	}
}

func TestArrivalsOfAnotherProcessFailTheTest(t *testing.T) {
	cases := map[string]struct {
		drawn, claimed *Load
		want           bool
	}{
		"independent arrivals":              {aLoad(2000, 60, true), aLoad(2000, 60, true), true},
		"few independent arrivals":          {aLoad(5, 60, true), aLoad(5, 60, true), true},
		"evenly spaced arrivals":            {aLoad(2000, 60, false), aLoad(2000, 60, true), false},
		"few evenly spaced arrivals":        {aLoad(5, 60, false), aLoad(5, 60, true), false},
		"independent arrivals, 5 % too few": {aLoad(1900, 60, true), aLoad(2000, 60, true), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, next, op := newPunctuality(tc.claimed), newTimeline(tc.drawn), Operation{}
			for next.due() < time.Minute {
				next.take(&op)
				p.add(op.Due, 0)
			}
			a := p.arrivals(tc.claimed)
			if got := *a.AndersonDarling <= result.AndersonDarlingLimit; got != tc.want {
				t.Errorf("A² is %v", *a.AndersonDarling)
			}
		})
	}
}

func TestOperationsStayInTheirData(t *testing.T) {
	cases := map[string]Copy{
		"random":                 {Size: 1 << 20, Random: true, Blocks: []Block{{4096, 1}, {65536, 1}}},
		"in order":               {Size: 1<<20 + 4096, Blocks: []Block{{65536, 1}}},
		"random, objects":        {Size: 4 << 20, ObjectBytes: 1 << 20, Random: true, Blocks: []Block{{12288, 1}}},
		"in order, objects":      {Size: 4 << 20, ObjectBytes: 1 << 20, Blocks: []Block{{12288, 1}}},
		"by bandwidth, in order": {Size: 1 << 20, Blocks: []Block{{4096, 9}, {65536, 1}}, BytesPerSecond: 1e6},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.Target, c.Offset, c.Writes = "x", 1<<30, true
			if c.BytesPerSecond == 0 {
				c.IOPS = 1000
			}
			l := &Load{Engine: RBD, Seconds: 60, Copies: []Copy{c}}
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			next, op, bytes := newTimeline(l), Operation{}, int64(0)
			for next.due() < time.Minute {
				next.take(&op)
				bytes += op.Bytes
				position := op.Offset - c.Offset
				unit := max(c.ObjectBytes, 1)
				if position < 0 || position+op.Bytes > c.Size || c.ObjectBytes > 0 && position/unit != (position+op.Bytes-1)/unit {
					t.Fatalf("%d bytes at %d", op.Bytes, position)
				}
			}
			if c.BytesPerSecond > 0 && math.Abs(float64(bytes)-60e6) > 1e5 {
				t.Errorf("%d bytes in a minute, want 60 MB", bytes)
			}
		})
	}
}

func TestValidateRefuses(t *testing.T) {
	cases := map[string]func(l *Load){
		"a rate of millions":           func(l *Load) { l.Copies[0].IOPS = 2e6 },
		"no rate":                      func(l *Load) { l.Copies[0].IOPS = 0 },
		"two rates":                    func(l *Load) { l.Copies[0].BytesPerSecond = 1 },
		"no duration":                  func(l *Load) { l.Seconds = 0 },
		"blocks that do not fit":       func(l *Load) { l.Copies[0].Blocks[0].Bytes = 2 << 30 },
		"objects smaller than a block": func(l *Load) { l.Copies[0].ObjectBytes = 512 },
		"no direction":                 func(l *Load) { l.Copies[0].Reads = false },
		"poisson bandwidth":            func(l *Load) { c := &l.Copies[0]; c.Poisson, c.IOPS, c.BytesPerSecond = true, 0, 1e6 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			l := aLoad(100, 10, false)
			change(l)
			if err := l.Validate(); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// Reads and writes share one rate, and the writes have the rest of it.
func TestReadsHaveTheirShareOfARate(t *testing.T) {
	l := &Load{Seconds: 100, Copies: []Copy{{
		Target: "f", Size: 1 << 30, Reads: true, Writes: true, Random: true, Blocks: []Block{{4096, 1}}, IOPS: 1000, ReadShare: 0.7, Poisson: true, Seed: 7,
	}}}
	if err := l.Validate(); err != nil || l.rate() != 1000 {
		t.Fatalf("%v/s, %v", l.rate(), err)
	}
	var reads, writes int
	var op Operation
	for line := newTimeline(l); line.due() < 100*time.Second; {
		if line.take(&op); op.Write {
			writes++
		} else {
			reads++
		}
	}
	if reads < 69000 || reads > 71000 || writes < 29200 || writes > 30800 { // more than 3.7 standard deviations
		t.Errorf("%d reads, %d writes", reads, writes)
	}
	for _, share := range []float64{-0.1, 1, 1.5} {
		if l.Copies[0].ReadShare = share; l.Validate() == nil {
			t.Errorf("a share of %v is valid", share)
		}
	}
}

// onTime is the schedule of a generator that is never late.
type onTime struct{ schedule }

func (onTime) lateness(int) *result.Histogram { return nil }

// A row waits for its operations. If the clock is set meanwhile, its line still says how long ago it ended.
func TestLinesOfRowsAfterTheClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute, 10 * time.Second} {
		var lines bytes.Buffer
		r := newRecorder(aLoad(10, 60, false), &lines)
		ended := time.Now().Add(-3 * time.Second)
		r.ended = []endedRow{{to: time.Second, taken: wallclock.Before(ended, step), done: map[result.DirectionName]work{result.Read: {operations: 10}}}}
		r.printFirst(onTime{})
		var line parse.Counted
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if off := line.Taken.Sub(ended.Round(0)).Abs(); off > time.Second {
			t.Errorf("clock set by %v: the line says %v, and the row ended at %v", step, line.Taken, ended)
		}
	}
}
