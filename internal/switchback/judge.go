package switchback

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// Sessions and pairs of the general claim, unless a sweep says otherwise.
const (
	DefaultSessions = 3
	DefaultPairs    = 8
)

// QuickLooks are the pairs of one session after which it is looked at, the last of them included. A quad
// is two pairs, a round one.
func QuickLooks(last int) []int {
	looks := quickLooks()
	return looks[:slices.Index(looks, last)+1]
}

// LastLook is the last of all looks that there may be.
const LastLook = 60

func quickLooks() []int { return []int{8, 12, 18, 28, 40, LastLook} }

// quickLevel is what p-values are compared with at each of a number of looks, so that the error over all of
// them is alpha. The shares of alpha are simulated for quads, and rounds, which are more for the same
// pairs, stay below alpha by them. Of several candidates each has a part of alpha, and the
// smaller an error, the more of it looking often brings (TestLevelOfQuickLooks, TestFamilyOfQuickLooks).
func quickLevel(alpha float64, candidates, looks int) float64 {
	if alpha/float64(candidates) >= 0.05 {
		return alpha * [...]float64{1, 0.59, 0.42, 0.33, 0.275, 0.235}[looks-1]
	}
	return alpha * [...]float64{1, 0.55, 0.38, 0.29, 0.24, 0.20}[looks-1]
}

// Claim is what a verdict speaks for.
type Claim string

// The claims.
const (
	ThisHour        Claim = "on this pool, in this hour" // one session
	General         Claim = "on this cluster"            // sessions with pools of their own
	SwitchedWindows Claim = "switched windows only"      // nobody has let a setting hold for minutes
)

// Remedy is what carry-over asks for.
type Remedy string

// The remedies.
const (
	None         Remedy = ""
	DoubleWindow Remedy = "DoubleWindow"
	UseBlocks    Remedy = "UseBlocks"
)

// Question is what is fixed before the first session.
type Question struct {
	Criteria    stats.Criteria // Looks stay empty
	Candidates  int
	Quick       bool // one session with looks, instead of a claim over sessions
	LastLook    int  // of the quick mode, one of the QuickLooks
	MaxSessions int  // of the general claim, which is looked at after each session from DefaultSessions on
	Writes      bool // the load writes, and so may put work off
	Doublings   int  // how often windows were doubled
}

// Finding is the verdict on one candidate.
type Finding struct {
	Verdict    stats.Verdict
	Claim      Claim
	Windows    stats.Assessment // what windows alone say
	Remedy     Remedy           // carry-over was found, and a verdict was not given for it
	Contradict bool             // dwells contradict the windows, and a verdict was not given for it
}

// maxDoublings are the windows of 20 and 40 s, of 10 s at first.
const maxDoublings = 2

// Judge gives each candidate its verdict from entries alone, and dwells if there are any of it. Void
// entries count for nothing. In quick mode each candidate has one entry, with pairs as at one of the QuickLooks.
func Judge(q Question, entries []Entry, dwells map[int]Dwells) ([]Finding, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	comparisons := make([]stats.Comparison, q.Candidates)
	for i := range comparisons {
		k, err := q.Contrast(entries, i+1)
		if err != nil {
			return nil, err
		}
		comparisons[i] = stats.Comparison{Name: strconv.Itoa(i + 1), Contrast: k}
	}
	assessed, err := stats.Judge(q.criteria(), comparisons)
	if err != nil {
		return nil, err
	}
	findings := make([]Finding, q.Candidates)
	for i, a := range assessed {
		d, has := dwells[i+1]
		findings[i], err = q.limit(a, comparisons[i].Contrast, Carryover(entries, i+1), d, has)
		if err != nil {
			return nil, err
		}
	}
	return findings, nil
}

func (q Question) check() error {
	switch {
	case q.Candidates < 1, !q.Quick && q.MaxSessions < DefaultSessions, q.Criteria.Looks != (stats.Looks{}):
		return fmt.Errorf("%w: %d candidates, at most %d sessions", stats.ErrParameter, q.Candidates, q.MaxSessions)
	case q.Quick && !slices.Contains(quickLooks(), q.LastLook):
		return fmt.Errorf("%w: there is no look at %d pairs", stats.ErrParameter, q.LastLook)
	}
	return nil
}

func of(entries []Entry, candidate int) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Void || e.Candidate != candidate })
}

func (q Question) criteria() stats.Criteria {
	c := q.Criteria
	if q.Quick {
		c.Confidence = 1 - quickLevel(1-c.Confidence, q.Candidates, len(QuickLooks(q.LastLook)))
	} else {
		c.Looks = stats.Looks{First: DefaultSessions, Last: q.MaxSessions}
	}
	return c
}

// Contrast is what entries that are not void say of a candidate, with the noise of quads in quick
// mode, and that of sessions otherwise.
func (q Question) Contrast(entries []Entry, candidate int) (stats.Contrast, error) {
	entries = of(entries, candidate)
	if len(entries) == 0 {
		return stats.Contrast{Paired: true}, nil
	}
	if !q.Quick {
		means := make([]float64, len(entries))
		for i, e := range entries {
			means[i] = e.Mean
		}
		return stats.PairedDifferences(means)
	}
	e := entries[0]
	pairs := e.Groups
	if q.Candidates == 1 {
		pairs *= 2
	}
	if len(entries) > 1 || !slices.Contains(QuickLooks(q.LastLook), pairs) {
		return stats.Contrast{}, fmt.Errorf("%w: no look at %d pairs of %d sessions", stats.ErrParameter, pairs, len(entries))
	}
	n := float64(e.Groups)
	return stats.Contrast{LogRatio: e.Mean, StdDev: e.StdDev, StdErr: e.StdDev / math.Sqrt(n), DF: n - 1, Runs: e.Groups, Paired: true}, nil
}

// limit takes from what windows say what they cannot know.
func (q Question) limit(a stats.Assessment, windows stats.Contrast, carryover bool, d Dwells, has bool) (Finding, error) {
	f := Finding{Verdict: a.Verdict, Claim: General, Windows: a}
	if q.Quick {
		f.Claim = ThisHour
	}
	if a.Verdict == stats.Invalid {
		return f, nil
	}
	if has {
		p, err := d.PCompatible(windows)
		if err != nil {
			return f, err
		}
		f.Contradict = p < 0.05
	}
	if carryover {
		f.Remedy = DoubleWindow
		if q.Doublings >= maxDoublings {
			f.Remedy = UseBlocks
		}
	}
	if !has && q.Writes {
		f.Claim = SwitchedWindows
	}
	if carryover || f.Contradict || (a.Verdict == stats.Equivalent && !has) {
		f.Verdict = stats.Inconclusive
	}
	return f, nil
}

// Carryover tells whether a candidate's windows show what is left of the setting before them,
// by either of two tests at 2.5%, over all sessions together.
func Carryover(entries []Entry, candidate int) bool {
	sessions := of(entries, candidate)
	if len(sessions) == 0 {
		return false
	}
	late, lag := 0.0, 0.0
	for _, e := range sessions {
		late, lag = late+e.Late, lag+e.Lag
	}
	limit := distuv.UnitNormal.Quantile(1-0.025/2) * math.Sqrt(float64(len(sessions)))
	return math.Abs(late) > limit || math.Abs(lag) > limit
}

// Dwells are four times of minutes in which a setting held: baseline and candidate
// in turn. Each holds the figures of as many equal pieces, such as four of 40 s, without
// the time in which a setting takes its effect.
type Dwells [4][]float64

// PCompatible is the two-sided p against "dwells and windows have the same ratio". Weights of
// −¼, ¾, −¾ and ¼ leave a steady drift out. Noise is what pieces at the same place of two
// dwells of one setting differ by: the trend within dwells, which is what they are
// there to show, is no noise.
func (d Dwells) PCompatible(windows stats.Contrast) (float64, error) {
	logs, err := d.logs()
	if err != nil {
		return 0, err
	}
	pieces := len(logs[0])
	ratio, variance := 0.0, 0.0
	for setting := range 2 {
		first, second := logs[setting], logs[setting+2]
		apart := make([]float64, pieces)
		for j := range apart {
			apart[j] = second[j] - first[j]
			ratio += [2]float64{-0.25*first[j] - 0.75*second[j], 0.75*first[j] + 0.25*second[j]}[setting] / float64(pieces)
		}
		k, err := stats.PairedDifferences(apart)
		if err != nil {
			return 0, err
		}
		variance += k.StdDev * k.StdDev / 4 // of one piece: half of a difference's, mean of two settings
	}
	own := variance * 1.25 / float64(pieces) // Σ weight² is 5/4
	se2 := windows.StdErr * windows.StdErr
	if own+se2 == 0 || windows.DF == 0 {
		return 0, fmt.Errorf("%w: no noise to compare with", stats.ErrTooFew)
	}
	nu := (own + se2) * (own + se2) / (own*own/float64(2*(pieces-1)) + se2*se2/windows.DF) // Welch, Satterthwaite
	t := math.Abs(ratio-windows.LogRatio) / math.Sqrt(own+se2)
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}.Survival(t), nil
}

func (d Dwells) logs() (logs Dwells, err error) {
	for i, figures := range d {
		if len(figures) < 2 || len(figures) != len(d[0]) {
			return logs, fmt.Errorf("%w: dwell %d has %d pieces", stats.ErrTooFew, i, len(figures))
		}
		for j, x := range figures {
			if !(x > 0) || math.IsInf(x, 1) {
				return logs, &stats.ValueError{What: "piece of a dwell", Index: j, Value: x, Want: "positive and finite"}
			}
			logs[i] = append(logs[i], math.Log(x))
		}
	}
	return logs, nil
}
