package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

// stalling is a cluster, a storage and a clock of the generator. In each window of the candidate, the storage does
// nothing from stallFrom to stallTo after the switch, and again after each time every; 0 for once.
type stalling struct {
	cluster
	stallFrom, stallTo, every time.Duration
	oversleep                 time.Duration // of the generator, in windows of the candidate

	mu      sync.Mutex
	current int
	since   time.Time // of the candidate's latest window
	began   time.Time
	rows    []result.Second
	done    chan *openloop.Operation
}

func (s *stalling) Switch(ctx context.Context, from, to int) (sent, acknowledged time.Time, err error) {
	sent, acknowledged, err = s.cluster.Switch(ctx, from, to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current = to; to == 1 {
		s.since = acknowledged
	}
	return sent, acknowledged, err
}

func (*stalling) InFlightLimit() int { return 1 << 12 }

// Submit implements [openloop.Backend]. An operation takes 3 ms, if the storage does not stall.
func (s *stalling) Submit(operations []*openloop.Operation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range operations {
		takes := 3 * time.Millisecond
		in := time.Since(s.since)
		if s.every > 0 && s.current == 1 {
			in %= s.every
		}
		if in >= s.stallFrom && in < s.stallTo {
			takes += s.stallTo - in
		}
		time.AfterFunc(takes, func() { s.done <- op })
	}
	return nil
}

func (s *stalling) Wait(done []*openloop.Operation, limit time.Duration) ([]*openloop.Operation, error) {
	select {
	case op := <-s.done:
		done = append(done, op)
	case <-time.After(limit):
	}
	return done, nil
}

func (s *stalling) Now() time.Duration { return time.Since(s.began) }
func (*stalling) Busy() time.Duration  { return 0 }
func (*stalling) Pin()                 {}

func (s *stalling) SleepUntil(t time.Duration) {
	s.mu.Lock()
	over := s.oversleep
	if s.current != 1 {
		over = 0
	}
	s.mu.Unlock()
	time.Sleep(t - s.Now() + over)
}

// Write takes a line of the generator, as the runner does.
func (s *stalling) Write(line []byte) (int, error) {
	var counted parse.Counted
	if err := json.Unmarshal(line, &counted); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to := counted.Taken.Sub(s.began)
	s.rows = append(s.rows, result.Second{
		FromNanoseconds: int64(to) - int64(counted.Seconds*1e9), ToNanoseconds: int64(to), Done: counted.Done, Lateness: counted.Lateness,
	})
	return len(line), nil
}

// measure plays a session under the load of a real generator, and returns it with the number of pairs that count.
func (s *stalling) measure(t *testing.T, q Question) (e Evidence, found *Finding, pairs int) {
	t.Helper()
	p, err := Quick(7, 1, q.Candidates, q.LastLook, DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	s.began, s.done = time.Now(), make(chan *openloop.Operation, 1<<12)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := openloop.Run(ctx, &openloop.Load{Engine: openloop.LibAIO, Seconds: 3 * 3600, Histograms: true, Copies: []openloop.Copy{{
			Target: "f", Size: 1 << 30, Reads: true, Random: true, Blocks: []openloop.Block{{Bytes: 4096, Weight: 1}}, IOPS: 200, Poisson: true, Seed: 7,
		}}}, s, s, s)
		ended <- err
	}()
	gathered := NewCollector(p, 1, nil)
	record, err := Run(t.Context(), p, s, func(_ context.Context, record Record) (Next, error) {
		for range 40 { // The controller waits, too.
			s.mu.Lock()
			rows := s.rows[gathered.Next(0):]
			s.mu.Unlock()
			if err := gathered.Add(0, rows, s.began, s.began); err != nil {
				return Next{}, err
			}
			if gathered.Reaches(0, record) {
				break
			}
			time.Sleep(time.Second)
		}
		var err error
		if e, err = gathered.Evidence(record, nil); err != nil {
			return Next{}, err
		}
		if pairs, err = e.Pairs(); err != nil {
			return Next{}, err
		}
		due, err := e.AtLook(q)
		if err != nil || !due {
			return Next{Enough: len(record.Switches) >= 60}, err
		}
		judged, err := verdict(e, q)
		found = &judged
		return Next{Enough: found.Verdict != stats.Inconclusive || len(record.Switches) >= 60}, err
	})
	stop()
	if failure := errors.Join(err, <-ended); failure != nil {
		t.Error(failure)
	}
	e.Record = record
	return e, found, pairs
}

// A stall is that of the window in which operations were due, even if they finish in the window after it.
func TestStallsUnderTheCandidateAloneMakeItInferior(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, every time.Duration
		windows, want   stats.Verdict // of the windows alone, and with all tests
	}{
		"none":            {0, 0, 0, stats.Equivalent, stats.Inconclusive}, // Equivalent needs long windows.
		"again and again": {1800 * time.Millisecond, 2 * time.Second, 2 * time.Second, stats.Inferior, stats.Inferior},
		// The test for carry-over takes a stall at one place of each window for an effect of the switch.
		"to the end of the window": {6500 * time.Millisecond, 9 * time.Second, 0, stats.Inferior, stats.Inconclusive},
		"until after the look":     {6500 * time.Millisecond, 10500 * time.Millisecond, 0, stats.Inferior, stats.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := quick(v1alpha1.MetricLatencyP99)
				q.Constraints = nil
				s := &stalling{cluster: cluster{proves: true}, stallFrom: c.from, stallTo: c.to, every: c.every}
				e, found, pairs := s.measure(t, q)
				if found == nil || found.Assessment.Verdict != c.windows || found.Verdict != c.want {
					t.Fatalf("%+v after %d pairs, invalid %q, want %s", found, pairs, e.Record.Invalid, c.want)
				}
				windows, _, err := e.Windows(q.Objective)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range windows { // The wash-out of the baseline's windows has the rest of a stall.
					if long := w.Figure > 0.1; long != (w.Treatment == 1 && c.to > 0) {
						t.Errorf("window %d of treatment %d has a p99 of %v s", i, w.Treatment, w.Figure)
					}
				}
			})
		})
	}
}

// A window in which the generator itself is late does not count; the figures play no part in that.
func TestWindowOfALateGeneratorIsInvalid(t *testing.T) {
	for oversleep, counts := range map[time.Duration]bool{0: true, 500 * time.Microsecond: true, 5 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			q := quick(v1alpha1.MetricLatencyP99)
			q.Constraints = nil
			_, found, pairs := (&stalling{cluster: cluster{proves: true}, oversleep: oversleep}).measure(t, q)
			if (pairs > 0) != counts || (found != nil) != counts {
				t.Errorf("late by %v: %d pairs count, %+v", oversleep, pairs, found)
			}
		})
	}
}

// All windows have the limit of the first block, so that their own latencies do not decide whether they count.
func TestLimitOfLatenessIsThatOfTheFirstBlock(t *testing.T) {
	histogram := func(seconds float64) *result.Histogram {
		return &result.Histogram{Bins: []result.Bin{{Nanoseconds: result.BinNanoseconds(result.BinIndex(int64(seconds * 1e9))), Count: 100}}}
	}
	window := func(latency, late float64) Latencies {
		return Latencies{Middle: Histograms{All: histogram(latency)}, Lateness: histogram(late)}
	}
	e := Evidence{
		Plan:      Plan{Order: []switchback.Block{{0, 1}, {1, 0}}, Timing: switchback.Timing{MaxSwitch: time.Second}},
		Latencies: []Latencies{window(0.1, 0.005), window(0.1, 0.02), window(1, 0.05), window(0.001, 0.005)},
	}
	e.Record.Switches = make([]switchback.Switch, 4)
	for i := range e.Record.Switches {
		e.Record.Switches[i].Proven = true
	}
	for i, fault := range e.faults([]bool{true, true, true, true}) {
		if want := i == 1 || i == 2; fault != want {
			t.Errorf("window %d is invalid: %v, want %v", i, fault, want)
		}
	}
}
