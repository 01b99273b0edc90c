package switchback

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

func TestAssign(t *testing.T) {
	for _, candidates := range []int{1, 2, 5} {
		a, err := Assign(7, 3, candidates, 600)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Assign(7, 3, candidates, 600)
		other, _ := Assign(7, 4, candidates, 600)
		if !reflect.DeepEqual(a, again) || reflect.DeepEqual(a, other) {
			t.Errorf("%d candidates: the order is not that of seed and session", candidates)
		}
		seen := map[string]int{}
		for _, b := range a {
			key := ""
			for _, s := range b {
				key += string(rune('0' + s))
			}
			seen[key]++
			sorted := slices.Sorted(slices.Values(b))
			want := []int{0, 0, 1, 1}
			if candidates > 1 {
				want = []int{0, 1, 2, 3, 4, 5}[:candidates+1]
			}
			if !slices.Equal(sorted, want) {
				t.Fatalf("%d candidates: block %v", candidates, b)
			}
		}
		if candidates == 1 {
			for key, n := range seen {
				if len(seen) != 6 || n < 70 || n > 130 {
					t.Errorf("block %s is drawn %d times of 600", key, n)
				}
			}
		}
	}
	if _, err := Assign(1, 1, 0, 4); !errors.Is(err, stats.ErrParameter) {
		t.Errorf("no candidate: %v", err)
	}
}

func sessionOf(figures ...float64) Session {
	s := Session{Number: 1, Seed: 1, Candidates: 1}
	for i, f := range figures {
		treatment := [4]int{0, 1, 1, 0}[i%4]
		s.Windows = append(s.Windows, Window{Treatment: treatment, Figure: f, Early: f, Late: f})
		if i%4 == 0 {
			s.Order = append(s.Order, Block{0, 1, 1, 0})
		}
	}
	s.Faults = make([]bool, len(figures))
	return s
}

func TestEstimateAndExactTest(t *testing.T) {
	s := sessionOf(1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1)
	es, err := s.Entries(stats.Criteria{MinimumEffect: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	// Only one of 6⁴ orders results in as much.
	if e := es[0]; math.Abs(e.Mean-math.Ln2) > 1e-6 || e.P.AnyGain != math.Round(1e4/1296.)/1e4 || e.P.Loss != 1 || e.Blocks != 4 {
		t.Errorf("entry %+v", e)
	}
	s.Faults[5] = true
	if es, _ := s.Entries(stats.Criteria{MinimumEffect: 0.1}); es[0].Blocks != 3 {
		t.Errorf("a fault leaves %d blocks, want 3", es[0].Blocks)
	}
	for i := range s.Windows {
		s.Windows[i].Figure = 0
	}
	if _, err := s.Entries(stats.Criteria{}); !errors.Is(err, stats.ErrStalled) {
		t.Errorf("windows in which nothing moved: %v", err)
	}
}

// A stall counts against the treatment under which it happened.
func TestWindowWithoutOperationsIsTheWorstFigure(t *testing.T) {
	s := sessionOf(1, 2, 2, 1, 1, 2, 0, 1, 1, 2, 2, 1, 1, 2, 2, 1)
	es, err := s.Entries(stats.Criteria{})
	if err != nil || es[0].Invalid || es[0].Blocks != 4 || math.Abs(es[0].Mean-math.Log(14.0/8)) > 1e-6 || es[0].StdDev < 0.2 {
		t.Errorf("one window of eight stalled: %+v, %v", es, err)
	}
	for i, w := range s.Windows {
		if w.Treatment == 1 {
			s.Windows[i].Figure = 0
		}
	}
	es, err = s.Entries(stats.Criteria{})
	if err != nil || es[0].Invalid || es[0].Mean != round(-math.Log(slowest), 1e6) {
		t.Errorf("all windows of the candidate stalled: %+v, %v", es, err)
	}
}

func TestFaultsThatFollowASettingInvalidateTheSession(t *testing.T) {
	figures := slices.Repeat([]float64{1, 2, 2, 1}, 8)
	s, even := sessionOf(figures...), sessionOf(figures...)
	for i := range 4 {
		s.Faults[4*i+1], s.Faults[4*i+2] = true, true
		even.Faults[4*i], even.Faults[4*i+1] = true, true
	}
	es, err := s.Entries(stats.Criteria{MinimumEffect: 0.1})
	if err != nil || !es[0].Invalid {
		t.Errorf("8 faults of the candidate's windows and none of the baseline's: %+v, %v", es, err)
	}
	if es, err = even.Entries(stats.Criteria{}); err != nil || es[0].Invalid || es[0].Blocks != 4 {
		t.Errorf("4 faults of each: %+v, %v", es, err)
	}
}

// amountsWithStall returns the amounts of 40 seconds. The second ten are three times as fast,
// except for a stall, which counts. The first four belong to a wash-out.
func amountsWithStall() []float64 {
	amounts := slices.Repeat([]float64{1}, 40)
	for i := range 4 {
		amounts[i] = 1000
	}
	for i := 10; i < 20; i++ {
		amounts[i] = 3
	}
	amounts[17] = 0
	return amounts
}

func TestCutAndFaults(t *testing.T) {
	moment := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	timing := Timing{WashOut: moment(3), MaxSwitch: moment(1), ClockError: moment(0.2), Coverage: 0.6}
	switches := []Switch{
		{Treatment: 0, Sent: 0, Acknowledged: moment(0.5), Ended: moment(10), Proven: true},
		{Treatment: 1, Sent: moment(10), Acknowledged: moment(10.5), Ended: moment(20), Proven: true},
		{Treatment: 1, Sent: moment(20), Acknowledged: moment(21.5), Ended: moment(30), Proven: true},
		{Treatment: 0, Sent: moment(30), Acknowledged: moment(30.5), Ended: moment(40)},
	}
	client := Client{Offset: moment(100), Error: moment(0.1)}
	for i := range 40 {
		client.Rows = append(client.Rows, Span{From: moment(100 + float64(i)), To: moment(101 + float64(i))})
	}
	amounts := amountsWithStall()
	rate := func(p Piece) (sum float64, err error) {
		for _, part := range p.Parts {
			for _, amount := range amounts[part.First:part.End] {
				sum += amount / part.Lasted.Seconds()
			}
		}
		return sum, nil
	}
	windows, covered, err := Cut(switches, []Client{client, client}, timing, rate)
	if err != nil {
		t.Fatal(err)
	}
	// Rows 14 to 18: the row from 19 to 20 may end after the window.
	if w := windows[1]; math.Abs(w.Figure-2*12.0/5) > 1e-9 || math.Abs(w.Late-2*1.5) > 1e-9 || math.Abs(windows[0].Figure-2) > 1e-9 {
		t.Errorf("windows %+v", windows)
	}
	disturbed := []Span{{moment(12), moment(12.5)}}
	if got := Faults(switches, covered, disturbed, timing); !slices.Equal(got, []bool{false, true, true, true}) {
		t.Errorf("faults %v", got)
	}
	client.Rows = client.Rows[:26] // Half of the third window is missing.
	if _, covered, err := Cut(switches, []Client{client}, timing, rate); err != nil || !slices.Equal(covered, []bool{true, true, false, false}) {
		t.Errorf("covered %v, %v", covered, err)
	}
	client.Error = moment(0.3)
	if _, _, err := Cut(switches, []Client{client}, timing, rate); !errors.Is(err, stats.ErrParameter) {
		t.Errorf("a clock that is not known well enough: %v", err)
	}
}

// A window whose engine is stopped at its end has all rows of that engine, and none of the next one.
func TestWindowEndsWithItsEngine(t *testing.T) {
	moment := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	timing := Timing{WashOut: moment(2.9), MaxSwitch: moment(8), ClockError: moment(0.2), Coverage: 0.7}
	switches := []Switch{{Ended: moment(10)}, {Sent: moment(10), Acknowledged: moment(14), Ended: moment(24)}}
	before, after := []float64{0.2, 1, 2}, []float64{14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 24.1} // The next engine works from 13.9 on.
	for name, c := range map[string]struct {
		ends    []float64 // of the rows of the first window's engine
		want    [3]Part   // First counts from the first row of ends
		covered bool
	}{
		"at once":                             {[]float64{3, 4, 5, 6, 7, 8, 9, 10.01}, [3]Part{{1, 8, moment(7.01)}, {1, 4, moment(3)}, {4, 8, moment(4.01)}}, true},
		"after a row that crosses the end":    {[]float64{3, 4, 5, 6, 7, 8, 9, 10.1, 10.11}, [3]Part{{1, 9, moment(7.11)}, {1, 4, moment(3)}, {4, 9, moment(4.11)}}, true},
		"after a stall":                       {[]float64{3, 4, 5, 6, 7, 8, 13}, [3]Part{{1, 7, moment(10)}, {1, 4, moment(3)}, {4, 7, moment(7)}}, true},
		"after a stall of more than a half":   {[]float64{3, 4, 5, 13}, [3]Part{{1, 4, moment(10)}, {1, 3, moment(2)}, {3, 4, moment(8)}}, true},
		"after a stall since the wash-out":    {[]float64{2.9, 13.8}, [3]Part{{1, 2, moment(10.9)}, {1, 2, moment(10.9)}, {1, 2, moment(10.9)}}, true},
		"after rows that do not cover enough": {[]float64{6, 7, 8, 9, 10.01}, [3]Part{{1, 5, moment(4.01)}, {1, 5, moment(4.01)}, {1, 5, moment(4.01)}}, false},
		"and has no rows":                     {nil, [3]Part{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := Client{Offset: moment(100), Error: moment(0.02)}
			for engine, ends := range [][]float64{before, c.ends, after} {
				for i, end := range ends {
					from := []float64{0, 2, 13.9}[engine]
					if i > 0 {
						from = ends[i-1]
					}
					client.Rows = append(client.Rows, Span{moment(100 + from), moment(100 + end)})
					client.Engines = append(client.Engines, engine)
				}
			}
			pieces, covered, err := Pieces(switches, []Client{client}, timing)
			if err != nil || !slices.Equal(covered, []bool{c.covered, true}) {
				t.Fatalf("covered %v, %v", covered, err)
			}
			for half, piece := range pieces[0] {
				got := piece.Parts[0]
				got.First, got.End = got.First-len(before), got.End-len(before)
				if got.Lasted == 0 {
					got = Part{}
				}
				if got != c.want[half] {
					t.Errorf("half %d: %+v, want %+v", half, got, c.want[half])
				}
			}
			if next := pieces[1][Whole].Parts[0]; next.End != len(client.Rows) || next.First != len(client.Rows)-8 {
				t.Errorf("the next window has rows %d to %d of %d", next.First, next.End, len(client.Rows))
			}
		})
	}
}

func TestVerdictsAreLimited(t *testing.T) {
	short := func(mean, late float64, p stats.PValues) []Entry {
		return []Entry{{Candidate: 1, Blocks: 4, Mean: mean, StdDev: 0.01, Late: late, P: p}}
	}
	sessions := func(n int, mean float64) (es []Entry) {
		for i := range n {
			es = append(es, Entry{Candidate: 1, Blocks: 1, Mean: mean + 0.001*float64(i)})
		}
		return es
	}
	quick, pools, pool, daily := question(true, 0.10), question(false, 0.10), question(false, 0.10), question(false, 0.10)
	pool.Pools, daily.Daily = false, true
	no := stats.PValues{Superior: 1, AnyGain: 1, Loss: 1, Small: 1}
	for _, c := range []struct {
		name        string
		q           Question
		short, long []Entry
		want        Finding // without Assessment
	}{
		{"short windows", quick, short(0.2, 0, stats.PValues{}), nil, Finding{Verdict: stats.Superior}},
		{"a randomisation test that fails", quick, short(0.2, 0, no), nil, Finding{Verdict: stats.Inconclusive, Unconfirmed: true}},
		{"the same in short windows", quick, short(0, 0, stats.PValues{}), nil, Finding{Verdict: stats.Inconclusive, NeedsLong: true}},
		{"carry-over", quick, short(0.2, 9, stats.PValues{}), nil, Finding{Verdict: stats.Inconclusive, CarryOver: true}},
		{"slower", quick, short(-0.2, 0, stats.PValues{}), nil, Finding{Verdict: stats.Inferior}},
		{"two long sessions", pools, short(0.2, 0, stats.PValues{}), sessions(2, 0.2), Finding{Verdict: stats.Superior, Sessions: 2}},
		{"three long sessions", pools, nil, sessions(3, 0.2), Finding{Verdict: stats.Superior, Scope: Pools, Sessions: 3}},
		{"on one pool", pool, nil, sessions(3, 0.2), Finding{Verdict: stats.Superior, Scope: Pool, Sessions: 3}},
		{"on three days", daily, nil, sessions(3, 0.2), Finding{Verdict: stats.Superior, Scope: Days, Sessions: 3}},
		{"long windows alone decide", pools, short(0.2, 9, no), sessions(3, -0.2), Finding{Verdict: stats.Inferior, Scope: Pools, Sessions: 3}},
		{"too early for the same", pools, nil, sessions(3, 0), Finding{Verdict: stats.Inconclusive, Scope: Pools, Sessions: 3}},
		{"the same", pools, nil, sessions(4, 0), Finding{Verdict: stats.Equivalent, Scope: Pools, Sessions: 4}},
		{"nothing", pools, nil, nil, Finding{Verdict: stats.Invalid}},
	} {
		fs, err := Judge(c.q, c.short, c.long)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f := fs[0]
		f.Assessment = stats.Assessment{}
		if !reflect.DeepEqual(f, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, f, c.want)
		}
	}
	if _, err := Judge(question(true, 0.10), []Entry{{Candidate: 1, Blocks: 5, StdDev: 1}}, nil); !errors.Is(err, stats.ErrParameter) {
		t.Errorf("a look that was not planned: %v", err)
	}
}
