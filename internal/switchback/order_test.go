package switchback

import (
	"errors"
	"math"
	"math/rand/v2"
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
		for _, g := range a {
			key := ""
			for _, s := range g {
				key += string(rune('0' + s))
			}
			seen[key]++
			sorted := slices.Sorted(slices.Values(g))
			want := []int{0, 0, 1, 1}
			if candidates > 1 {
				want = []int{0, 1, 2, 3, 4, 5}[:candidates+1]
			}
			if !slices.Equal(sorted, want) {
				t.Fatalf("%d candidates: group %v", candidates, g)
			}
		}
		if candidates == 1 {
			for key, n := range seen {
				if len(seen) != 6 || n < 70 || n > 130 {
					t.Errorf("quad %s is drawn %d times of 600", key, n)
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
		setting := [4]int{0, 1, 1, 0}[i%4]
		s.Windows = append(s.Windows, Window{Setting: setting, Figure: f, Early: f, Late: f})
		if i%4 == 0 {
			s.Order = append(s.Order, Group{0, 1, 1, 0})
		}
	}
	s.Faults = make([]bool, len(figures))
	return s
}

func TestEstimateAndExactTest(t *testing.T) {
	s := sessionOf(1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1)
	es, err := s.Entries()
	if err != nil {
		t.Fatal(err)
	}
	// Only one of 6⁴ orders results in as much.
	if e := es[0]; math.Abs(e.Mean-math.Ln2) > 1e-6 || e.P != math.Round(1e4/1296.)/1e4 || e.Groups != 4 {
		t.Errorf("entry %+v", e)
	}
	s.Faults[5] = true
	if es, _ := s.Entries(); es[0].Groups != 3 {
		t.Errorf("a fault leaves %d quads, want 3", es[0].Groups)
	}
	s.Windows[0].Figure = 0
	if _, err := s.Entries(); !errors.Is(err, stats.ErrStalled) {
		t.Errorf("a window in which nothing moved: %v", err)
	}
}

func TestVoidsThatFollowASettingVoidTheSession(t *testing.T) {
	figures := slices.Repeat([]float64{1, 2, 2, 1}, 8)
	s, even := sessionOf(figures...), sessionOf(figures...)
	for i := range 4 {
		s.Faults[4*i+1], s.Faults[4*i+2] = true, true
		even.Faults[4*i], even.Faults[4*i+1] = true, true
	}
	es, err := s.Entries()
	if err != nil || !es[0].Void {
		t.Errorf("8 faults of the candidate's windows and none of the baseline's: %+v, %v", es, err)
	}
	if es, err = even.Entries(); err != nil || es[0].Void || es[0].Groups != 4 {
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
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	timing := Timing{WashOut: at(3), MaxSwitch: at(1), ClockError: at(0.2), Coverage: 0.6}
	switches := []Switch{
		{Setting: 0, Sent: 0, Acknowledged: at(0.5), Ended: at(10), Proven: true},
		{Setting: 1, Sent: at(10), Acknowledged: at(10.5), Ended: at(20), Proven: true},
		{Setting: 1, Sent: at(20), Acknowledged: at(21.5), Ended: at(30), Proven: true},
		{Setting: 0, Sent: at(30), Acknowledged: at(30.5), Ended: at(40)},
	}
	client := Client{Offset: at(100), Error: at(0.1)}
	for i := range 40 {
		client.Rows = append(client.Rows, Span{From: at(100 + float64(i)), To: at(101 + float64(i))})
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
	disturbed := []Span{{at(12), at(12.5)}}
	if got := Faults(switches, covered, disturbed, timing); !slices.Equal(got, []bool{false, true, true, true}) {
		t.Errorf("faults %v", got)
	}
	client.Rows = client.Rows[:26] // Half of the third window is missing.
	if _, covered, err := Cut(switches, []Client{client}, timing, rate); err != nil || !slices.Equal(covered, []bool{true, true, false, false}) {
		t.Errorf("covered %v, %v", covered, err)
	}
	client.Error = at(0.3)
	if _, _, err := Cut(switches, []Client{client}, timing, rate); !errors.Is(err, stats.ErrParameter) {
		t.Errorf("a clock that is not known well enough: %v", err)
	}
}

func TestVerdictsAreLimited(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	sessions := func(mean, late float64) (es []Entry) {
		for i := range 4 {
			es = append(es, Entry{Session: i, Candidate: 1, Groups: 4, Mean: mean + 0.001*rng.NormFloat64(), StdDev: 0.01, Late: late})
		}
		return es
	}
	dwells := func(ratio float64) map[int]stats.Contrast {
		k, err := Dwells{{1, 1.01, 0.99, 1}, {ratio, ratio * 1.01, ratio, ratio}, {1, 1, 1.01, 1}, {ratio, ratio, ratio, ratio * 0.99}}.Contrast()
		if err != nil {
			t.Fatal(err)
		}
		return map[int]stats.Contrast{1: k}
	}
	q := question(false)
	writes := q
	writes.Writes = true
	for _, c := range []struct {
		name    string
		q       Question
		entries []Entry
		dwells  map[int]stats.Contrast
		want    stats.Verdict
		claim   Claim
		remedy  Remedy
	}{
		{"superior", q, sessions(0.2, 0), nil, stats.Superior, General, None},
		{"writes without dwells", writes, sessions(0.2, 0), nil, stats.Superior, SwitchedWindows, None},
		{"writes with dwells", writes, sessions(0.2, 0), dwells(math.Exp(0.2)), stats.Superior, General, None},
		{"dwells contradict", writes, sessions(0.2, 0), dwells(0.93), stats.Inconclusive, General, None},
		{"the same without dwells", q, sessions(0, 0), nil, stats.Inconclusive, General, None},
		{"the same with dwells", q, sessions(0, 0), dwells(1), stats.Equivalent, General, None},
		{"carry-over", q, sessions(0.2, 2), nil, stats.Inconclusive, General, DoubleWindow},
		{"two sessions", q, sessions(0.2, 0)[:2], nil, stats.Invalid, General, None},
		{"slower", q, sessions(-0.2, 0), nil, stats.Inferior, General, None},
	} {
		fs, err := Judge(c.q, c.entries, c.dwells)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if f := fs[0]; f.Verdict != c.want || f.Claim != c.claim || f.Remedy != c.remedy {
			t.Errorf("%s: %v, %v, %v", c.name, f.Verdict, f.Claim, f.Remedy)
		}
	}
	if _, err := Judge(question(true), []Entry{{Candidate: 1, Groups: 5, StdDev: 1}}, nil); !errors.Is(err, stats.ErrParameter) {
		t.Errorf("a look that was not planned: %v", err)
	}
}
