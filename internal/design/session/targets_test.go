package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

// aimed is a client whose engine is started again in each window.
type aimed struct {
	rate     [2]float64       // operations a second, by target
	starts   time.Duration    // how long stopping one engine and starting the next takes
	connects [2]time.Duration // from then to the first operation, by target
	stall    time.Duration    // of the storage of the candidate, once in each of its windows, from stallAt on
	stallAt  time.Duration    // after the start of an engine
	deaf     func(n int) bool // by the number of an aim, says that the engine stays at the target before; nil for never
	fails    error            // of the tenth aim
	changed  error            // of targets, from the tenth aim on

	began time.Time
	runs  []engineRun
	asked []int // the numbers that each aim has named, for the candidate
}

// engineRun is one execution of an engine.
type engineRun struct {
	target   int
	from, to time.Duration // since began; to is 0 for the current one
}

// stalls returns when the storage of an engine stalls; twice the same time for never.
func (a *aimed) stalls(run engineRun) (from, to time.Duration) {
	if run.target == 0 || a.stall == 0 {
		return 0, 0
	}
	from = run.from + a.stallAt
	return from, from + a.stall
}

func (a *aimed) aim(ctx context.Context, target, again int) error {
	n := len(a.runs)
	if n == 10 && a.fails != nil {
		return a.fails
	}
	if n > 0 {
		// An engine finishes what is in flight.
		if from, to := a.stalls(a.runs[n-1]); time.Since(a.began) >= from && time.Since(a.began) < to {
			time.Sleep(to - time.Since(a.began))
		}
		a.runs[n-1].to = time.Since(a.began)
		if a.deaf != nil && a.deaf(n) {
			target = a.runs[n-1].target
		}
	}
	if target == 1 {
		a.asked = append(a.asked, again)
	}
	select {
	case <-time.After(a.starts):
	case <-ctx.Done():
		return ctx.Err()
	}
	a.runs = append(a.runs, engineRun{target: target, from: time.Since(a.began)})
	return nil
}

func (a *aimed) stands(context.Context, int) error {
	if len(a.runs) >= 10 {
		return a.changed
	}
	return nil
}

// rows returns a row for each second of each engine after its first operation, and one for the rest when it ends. The
// row of a second in which the storage stalls ends with the stall.
func (a *aimed) rows() []result.Second {
	var rows []result.Second
	rng := rand.New(rand.NewPCG(1, 2))
	for engine, run := range a.runs {
		end := run.to
		if end == 0 {
			end = time.Since(a.began).Truncate(time.Second) + run.from%time.Second
		}
		stalled, resumed := a.stalls(run)
		for from := run.from + a.connects[run.target]; from < end; {
			to, works := from+time.Second, time.Second
			if to > stalled && from < resumed {
				to = max(to, resumed)
				works = to - from - min(to, resumed) + max(from, stalled)
			}
			if to > end {
				if run.to == 0 {
					break
				}
				to, works = end, max(0, works-(to-end))
			}
			done := result.Done{Operations: a.rate[run.target] * works.Seconds() * (1 + 0.05*rng.NormFloat64())}
			rows = append(rows, result.Second{FromNanoseconds: int64(from), ToNanoseconds: int64(to), Done: done, Target: int32(run.target), Engine: int32(engine)})
			from = to
		}
	}
	return rows
}

// compare plays a quick session of two targets.
func (a *aimed) compare(t *testing.T) (e Evidence, found Finding, failure error) {
	t.Helper()
	q := Question{Question: switchback.Question{
		Criteria: stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}, Candidates: 1, Quick: true, LastLook: 12,
	}, Objective: Figure{Metric: v1alpha1.MetricIOPS}}
	p, err := Quick(7, 1, 1, q.LastLook, DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	p, a.began = p.WithTargets(), time.Now()
	gathered := NewCollector(p, 1, nil)
	record, failure := Run(t.Context(), p, &Targets{Count: 2, Aim: a.aim, Stands: a.stands}, func(_ context.Context, record Record) (Next, error) {
		if err := gathered.Add(0, a.rows()[gathered.Next(0):], a.began, a.began); err != nil {
			return Next{}, err
		}
		if e, err = gathered.Evidence(record, nil); err != nil {
			return Next{}, err
		}
		if due, err := e.AtLook(q); err != nil || !due {
			return Next{}, err
		}
		found, err = verdict(e, q)
		return Next{Enough: found.Verdict != stats.Inconclusive}, err
	})
	e.Record = record
	return e, found, failure
}

func TestTargetsAreCompared(t *testing.T) {
	candidate := func(a *aimed) func(int) bool {
		return func(n int) bool { return n > 2 && a.runs[n-1].target == 0 } // It stays at the baseline.
	}
	for name, c := range map[string]struct {
		change  func(*aimed)
		want    stats.Verdict // "" if no look was possible
		invalid string        // a part of why the session is invalid
	}{
		"one is slower": {func(a *aimed) { a.rate[1] = 500 }, stats.Inferior, ""},
		"one is faster": {func(a *aimed) { a.rate[1] = 1500 }, stats.Superior, ""},
		"equal":         {func(*aimed) {}, stats.Inconclusive, ""},
		"connecting takes most of a wash-out": {func(a *aimed) {
			a.rate[1], a.connects = 500, [2]time.Duration{2500 * time.Millisecond, 2500 * time.Millisecond}
		}, stats.Inferior, ""},
		"one window is of another target": {func(a *aimed) { a.rate[1], a.deaf = 500, func(n int) bool { return n == 6 } }, stats.Inferior, ""},
		"a client is never aimed":         {func(a *aimed) { a.rate[1], a.deaf = 500, candidate(a) }, "", ""},
		"engines end slowly":              {func(a *aimed) { a.rate[1], a.starts = 500, 3*time.Second }, stats.Inferior, ""},
		"an engine does not end":          {func(a *aimed) { a.rate[1], a.starts = 500, 9*time.Second }, "", "aim at target"},
		"one stalls at the end":           {func(a *aimed) { a.stallAt, a.stall = 8500*time.Millisecond, 5*time.Second }, stats.Inconclusive, ""},
		"one stalls to the end":           {func(a *aimed) { a.stallAt, a.stall = 3200*time.Millisecond, 10*time.Second }, stats.Inferior, ""},
		"one connects too late":           {func(a *aimed) { a.rate[1], a.connects[1] = 500, 6*time.Second }, "", ""},
		"a client does not answer":        {func(a *aimed) { a.fails = errors.New("no answer") }, "", "aim at target"},
		"a pool was replaced":             {func(a *aimed) { a.changed = errors.New("pool p has another ID") }, "", "another ID"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &aimed{rate: [2]float64{1000, 1000}, starts: 500 * time.Millisecond, connects: [2]time.Duration{200 * time.Millisecond, 200 * time.Millisecond}}
				c.change(a)
				e, found, failure := a.compare(t)
				if found.Verdict != c.want || (failure != nil) != (c.invalid != "") || !strings.Contains(e.Record.Invalid, c.invalid) {
					t.Errorf("%+v, invalid %q, want %q", found, e.Record.Invalid, c.want)
				}
				if minutes := e.Record.End.Minutes(); c.want != "" && c.want != stats.Inconclusive && minutes > 5 {
					t.Errorf("it took %.1f minutes", minutes)
				}
				if !slices.IsSorted(a.asked) || len(slices.Compact(slices.Clone(a.asked))) != len(a.asked) {
					t.Errorf("windows of the candidate share random offsets: %v", a.asked)
				}
			})
		})
	}
}
