package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

// cluster has a load whose rate depends on the treatment.
type cluster struct {
	untried   error // of Try
	treatment int
	switches  int
	proves    bool
	fails     map[int]error // by the number of the switch
	foreign   bool          // something else changes the treatment in the last window
}

func (c *cluster) Try(context.Context) error { return c.untried }

func (c *cluster) Switch(_ context.Context, from, to int) (sent, acknowledged time.Time, err error) {
	if from != c.treatment {
		return sent, acknowledged, errors.New("the window before had another treatment")
	}
	time.Sleep(200 * time.Millisecond) // the reads before the switch
	if err := c.fails[c.switches]; err != nil {
		return sent, acknowledged, err
	}
	c.switches++
	sent = time.Now()
	time.Sleep(100 * time.Millisecond)
	c.treatment = to
	return sent, time.Now(), nil
}

func (c *cluster) Proven(_ context.Context, treatment int) (bool, error) {
	time.Sleep(300 * time.Millisecond)
	return c.proves && treatment == c.treatment, nil
}

func (*cluster) Complete(context.Context, int) error { return nil }

func (c *cluster) Holds(_ context.Context, treatment int) error {
	if treatment != c.treatment || c.foreign {
		return errors.New("something else changed the treatment")
	}
	return nil
}

// load returns the rows of a client with I/O in each second of a session so far, with a histogram.
func load(record Record, ratio float64) []result.Second {
	var rows []result.Second
	rng, treatment, index := rand.New(rand.NewPCG(1, 2)), switchback.Baseline, 0
	for from := time.Duration(0); from+time.Second <= record.End; from += time.Second {
		for index < len(record.Switches) && record.Switches[index].Sent <= from {
			treatment, index = record.Switches[index].Treatment, index+1
		}
		rate := 1000 * (1 + 0.05*rng.NormFloat64())
		if treatment == 1 {
			rate *= ratio
		}
		n := int64(rate)
		done := result.Done{Operations: float64(n), Bytes: 4096 * float64(n), LatencySeconds: 16}
		typical, slow := result.BinNanoseconds(result.BinIndex(16e9/n)), result.BinNanoseconds(result.BinIndex(160e9/n))
		done.Latencies = &result.Histogram{Bins: []result.Bin{{Nanoseconds: typical, Count: n - n/50}, {Nanoseconds: slow, Count: n / 50}}}
		rows = append(rows, result.Second{FromNanoseconds: int64(from), ToNanoseconds: int64(from + time.Second), Done: done})
	}
	return rows
}

// play plays a session with two clients, and a look after each block.
func play(ctx context.Context, t *testing.T, c *cluster, q Question, ratio float64) (Evidence, Finding) {
	t.Helper()
	p, err := Quick(7, 1, q.Candidates, q.LastLook, DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	var e Evidence
	var found Finding
	gathered := NewCollector(p, 2, nil)
	record, failure := Run(ctx, p, c, func(_ context.Context, record Record) (Next, error) {
		began := record.Began.Add(-5 * time.Second) // The load has been running for a while.
		for client := range 2 {
			rows := load(record, ratio)[gathered.Next(client):]
			for i := range rows {
				rows[i].FromNanoseconds += int64(5 * time.Second)
				rows[i].ToNanoseconds += int64(5 * time.Second)
			}
			if err := gathered.Add(client, rows, began.Add(-time.Millisecond), began.Add(time.Millisecond)); err != nil {
				return Next{}, err
			}
		}
		if e, err = gathered.Evidence(record, nil); err != nil {
			return Next{}, err
		}
		if due, err := e.AtLook(q); err != nil || !due {
			return Next{}, err
		}
		var err error
		if found, err = verdict(e, q); err != nil {
			return Next{}, err
		}
		return Next{Enough: found.Verdict != stats.Inconclusive}, nil
	})
	if e.Record = record; failure == nil && record.Invalid != "" || failure != nil && failure.Error() != record.Invalid {
		t.Errorf("the session ended with %v, and is invalid because %q", failure, record.Invalid)
	}
	return e, found
}

func verdict(e Evidence, q Question) (Finding, error) {
	s, ok, err := e.Summarize(q)
	if err != nil || !ok {
		return Finding{}, errors.Join(err, errors.New("there was no look"))
	}
	findings, err := Judge(q, []Summary{s}, nil)
	if err != nil {
		return Finding{}, err
	}
	return findings[0], nil
}

// quick asks about throughput, with the constraint that the 99th percentile must not rise by more
// than a tenth.
func quick(metric v1alpha1.Metric) Question {
	q := Question{
		Question: switchback.Question{
			Criteria: stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}, Candidates: 1, Quick: true, LastLook: switchback.LastLook,
		},
		Objective: Figure{Metric: metric},
		Constraints: []Constraint{
			{Figure{Metric: v1alpha1.MetricLatencyP99}, stats.Constraint{Name: "p99", Direction: stats.LowerIsBetter, MaximumRegression: 0.1}},
			{Figure{Metric: v1alpha1.MetricLatencyP50}, stats.Constraint{Name: "p50", Direction: stats.LowerIsBetter, Limit: 1}},
		},
	}
	if metric.LowerIsBetter() {
		q.Criteria.Direction = stats.LowerIsBetter
	}
	return q
}

func TestSessionComesToItsVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		metric  v1alpha1.Metric
		ratio   float64 // of rates
		want    stats.Verdict
		p99     stats.ConstraintState
		minutes float64
	}{
		"a third of the rate":    {v1alpha1.MetricIOPS, 0.33, stats.Inferior, stats.Broken, 4},
		"half as much again":     {v1alpha1.MetricBandwidth, 1.5, stats.Superior, stats.Kept, 4},
		"two thirds of the mean": {v1alpha1.MetricLatencyMean, 1.5, stats.Superior, stats.Kept, 4},
		"two thirds of the p99":  {v1alpha1.MetricLatencyP99, 1.5, stats.Superior, stats.Kept, 4},
		"three times the median": {v1alpha1.MetricLatencyP50, 0.33, stats.Inferior, stats.Broken, 4},
		"the same":               {v1alpha1.MetricIOPS, 1, stats.Inconclusive, stats.Kept, 30}, // Equivalent needs long windows.
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := quick(c.metric)
				e, found := play(t.Context(), t, &cluster{proves: true}, q, c.ratio)
				if found.Verdict != c.want || found.Scope != switchback.Windows || e.Record.Invalid != "" || e.Record.End.Minutes() > c.minutes {
					t.Errorf("%+v after %v, invalid %q", found, e.Record.End, e.Record.Invalid)
				}
				if len(found.Constraints) != 2 || found.Constraints[0].State != c.p99 || found.Constraints[1].State != stats.Kept {
					t.Errorf("constraints %+v", found.Constraints)
				}
				if found.Wins() != (c.want == stats.Superior) {
					t.Errorf("wins: %t", found.Wins())
				}
				for _, client := range e.Clients {
					if slices.ContainsFunc(client.Seconds, func(s result.Second) bool { return s.Latencies != nil }) {
						t.Error("a second has kept its histogram")
					}
				}
			})
		})
	}
}

func TestSessionOfTwoCandidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quick(v1alpha1.MetricIOPS)
		q.Candidates, q.LastLook = 2, 8
		e, _ := play(t.Context(), t, &cluster{proves: true}, q, 0.33)
		s, ok, err := e.Summarize(q)
		if err != nil || !ok {
			t.Fatalf("summary %t, %v", ok, err)
		}
		found, err := Judge(q, []Summary{s}, nil)
		if err != nil || found[0].Verdict != stats.Inferior || found[1].Verdict != stats.Inconclusive || len(e.Record.Switches) != 8*3 {
			t.Errorf("%+v after %d windows, %v", found, len(e.Record.Switches), err)
		}
	})
}

// takesItsTime is a load on which treatment 2 acts after two minutes: the number of operations falls to
// 0.8, and slow operations take twice as long.
func takesItsTime(record Record, from int) []result.Second {
	rows := load(record, 1)[from:]
	for i := range rows {
		moment := time.Duration(rows[i].FromNanoseconds)
		if !slices.ContainsFunc(record.Switches, func(w switchback.Switch) bool {
			return w.Treatment == 2 && moment >= w.Sent+2*time.Minute && moment < w.Ended
		}) {
			continue
		}
		rows[i].Operations *= 0.8
		slow := &rows[i].Latencies.Bins[1]
		slow.Nanoseconds = result.BinNanoseconds(result.BinIndex(2 * slow.Nanoseconds))
	}
	return rows
}

// settled plays a session of long windows of four minutes, of the baseline and the second of two candidates.
func settled(t *testing.T, number int) (e Evidence) {
	t.Helper()
	p, err := Long(7, number, 2, 2, 4*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	gathered := NewCollector(p, 1, nil)
	record, _ := Run(t.Context(), p, &cluster{proves: true}, func(_ context.Context, record Record) (Next, error) {
		if err := gathered.Add(0, takesItsTime(record, gathered.Next(0)), record.Began.Add(-time.Millisecond), record.Began.Add(time.Millisecond)); err != nil {
			return Next{}, err
		}
		e, err = gathered.Evidence(record, nil)
		return Next{}, err
	})
	e.Record = record
	return e
}

func TestSessionOfLongWindows(t *testing.T) {
	for metric, ratio := range map[v1alpha1.Metric]float64{v1alpha1.MetricIOPS: 0.8, v1alpha1.MetricLatencyP99: 2} {
		synctest.Test(t, func(t *testing.T) {
			q := quick(metric)
			q.Candidates, q.Quick, q.MaxSessions, q.Pools = 2, false, 3, true
			var all []Summary
			for number := range 3 {
				e := settled(t, number+1)
				s, ok, err := e.Summarize(q)
				if err != nil || !ok || len(s.Objective) != 1 || s.Objective[0].Candidate != 2 || math.Abs(s.Objective[0].Mean-math.Log(ratio)) > 0.05 || e.Record.End.Minutes() < 8 {
					t.Fatalf("%s: %+v, want %v, after %v, %v", metric, s, ratio, e.Record.End, err)
				}
				all = append(all, s)
			}
			found, err := Judge(q, nil, all)
			if err != nil || found[1].Verdict != stats.Inferior || found[1].Scope != switchback.Pools || found[0].Verdict != stats.Invalid || len(found[1].Constraints) != 2 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

func TestSlowSwitchBeforeALongWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quick(v1alpha1.MetricIOPS)
		q.Candidates, q.Quick, q.MaxSessions = 2, false, 3
		for took, invalid := range map[time.Duration]bool{3 * time.Second: false, 6 * time.Second: true} {
			e := settled(t, 1)
			e.Record.Switches[1].Acknowledged = e.Record.Switches[1].Sent + took
			if s, _, err := e.Summarize(q); err != nil || s.Objective[0].Invalid != invalid {
				t.Errorf("a switch of %v: %+v, %v", took, s, err)
			}
		}
	})
}

func TestOrderOfLongWindowsAlternates(t *testing.T) {
	first, err := Long(7, 1, 2, 2, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Long(7, 2, 2, 2, time.Minute)
	if err != nil || first.Order[0][0] != second.Order[0][1] || first.Order[0][1] != second.Order[0][0] || first.Timing.WashOut != 36*time.Second {
		t.Errorf("orders %v and %v, wash-out %v, %v", first.Order, second.Order, first.Timing.WashOut, err)
	}
	if _, err := Long(7, 4, 2, 3, time.Minute); err == nil {
		t.Error("there are long windows of a third candidate of two")
	}
}

func TestWhatComesAfterTheLastLookDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quick(v1alpha1.MetricIOPS)
		q.Candidates, q.LastLook = 2, 8
		e, _ := play(t.Context(), t, &cluster{proves: true}, q, 1) // It never has enough.
		if s, ok, err := e.Summarize(q); err != nil || !ok || s.Objective[0].Blocks != 8 || len(e.Record.Switches) <= 8*3 {
			t.Errorf("%+v of %d windows, %v", s, len(e.Record.Switches), err)
		}
		q.LastLook = 10
		if due, err := e.AtLook(q); err != nil || due {
			t.Errorf("there is a look at 10 pairs: %t, %v", due, err)
		}
	})
}

func TestSessionIsInvalid(t *testing.T) {
	lost := errors.New("the answer was lost")
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{proves: true, fails: map[int]error{5: lost}}
		e, found := play(t.Context(), t, c, quick(v1alpha1.MetricIOPS), 1.5)
		if e.Record.Invalid == "" || c.switches != 5 || found.Verdict != "" {
			t.Errorf("%d switches, %+v, invalid %q", c.switches, found, e.Record.Invalid)
		}
		if _, _, err := e.Summarize(quick(v1alpha1.MetricIOPS)); !errors.Is(err, ErrInvalid) {
			t.Errorf("an invalid session has a verdict: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		c := &cluster{proves: true}
		if e, _ := play(ctx, t, c, quick(v1alpha1.MetricIOPS), 1.5); e.Record.Invalid == "" || e.Record.End > time.Minute+time.Second {
			t.Errorf("interrupted after a minute: %v, invalid %q", e.Record.End, e.Record.Invalid)
		}
	})
}

// A session whose treatments could not be tried has no window, and the caller learns why.
func TestTreatmentsAreTriedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Quick(7, 1, 1, 8, DefaultWindow)
		if err != nil {
			t.Fatal(err)
		}
		lost, c := errors.New("the answer was lost"), &cluster{proves: true}
		c.untried = lost
		record, err := Run(t.Context(), p, c, nil)
		if !errors.Is(err, lost) || record.Invalid != err.Error() || record.Began.IsZero() || c.switches != 0 {
			t.Errorf("%+v after %d switches, %v", record, c.switches, err)
		}
	})
}

func TestForeignChangeInTheLastWindowInvalidatesTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := play(t.Context(), t, &cluster{proves: true, foreign: true}, quick(v1alpha1.MetricIOPS), 1.5)
		if !strings.Contains(e.Record.Invalid, "after the last window: something else changed the treatment") {
			t.Errorf("invalid %q", e.Record.Invalid)
		}
	})
}

func TestSessionWithoutProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, found := play(t.Context(), t, &cluster{}, quick(v1alpha1.MetricIOPS), 1.5)
		if found.Verdict != "" || e.Record.Invalid != "" {
			t.Errorf("nothing was proven: %+v, invalid %q", found, e.Record.Invalid)
		}
	})
}

func TestProofHoldsForABlock(t *testing.T) {
	switches := []switchback.Switch{{Treatment: 0}, {Treatment: 1}, {Treatment: 1, Proven: true}, {Treatment: 0}}
	proveBlock(switches)
	want := []switchback.Switch{{Treatment: 0}, {Treatment: 1, Proven: true}, {Treatment: 1, Proven: true}, {Treatment: 0}}
	if diff := cmp.Diff(want, switches); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWrittenBytes(t *testing.T) {
	all := result.Second{Done: result.Done{Bytes: 10}}
	mixed := result.Second{Done: result.Done{Bytes: 10}, Read: &result.Done{Bytes: 7}, Write: &result.Done{Bytes: 3}}
	reads := result.Second{Done: result.Done{Bytes: 10}, Read: &result.Done{Bytes: 10}}
	for name, tc := range map[string]struct {
		rows   []result.Second
		writes bool
		want   int64
	}{
		"no rows":         {nil, true, 0},
		"writes":          {[]result.Second{all, all}, true, 20},
		"reads":           {[]result.Second{all, all}, false, 0},
		"a mix":           {[]result.Second{mixed, mixed}, true, 6},
		"a mix, no write": {[]result.Second{mixed, reads}, true, 3},
	} {
		e := Evidence{Clients: []Client{{Seconds: tc.rows}, {}}}
		if got := e.WrittenBytes(tc.writes); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tc.want)
		}
	}
}
