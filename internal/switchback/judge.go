package switchback

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// The default numbers for the general claim: of sessions, and of pairs in each session.
const (
	DefaultSessions = 3
	DefaultPairs    = 8
)

// QuickLooks returns the numbers of pairs at which a session in quick mode is judged, up to and including the
// given number. If that is not one of these numbers, the result is empty. A quad has two pairs. A round has one
// pair for each candidate.
func QuickLooks(last int) []int {
	looks := quickLooks()
	return looks[:slices.Index(looks, last)+1]
}

// LastLook is the largest number of pairs at which a session in quick mode may be judged.
const LastLook = 60

func quickLooks() []int { return []int{8, 12, 18, 28, 40, LastLook} }

// quickLevel returns the level for p-values at each look, for which the error over all looks is alpha. The
// shares of alpha come from simulations of quads. With these shares, the error of rounds is below alpha,
// because the same number of pairs takes more rounds than quads.
//
// Each of several candidates gets a part of alpha. Repeated looks inflate a small error relatively more than
// a large one, so the shares are lower if that part is below 0.05 (TestLevelOfQuickLooks,
// TestSimulatedFamilyOfQuickLooks).
func quickLevel(alpha float64, candidates, looks int) float64 {
	if alpha/float64(candidates) >= 0.05 {
		return alpha * [...]float64{1, 0.59, 0.42, 0.33, 0.275, 0.235}[looks-1]
	}
	return alpha * [...]float64{1, 0.55, 0.38, 0.29, 0.24, 0.20}[looks-1]
}

// Claim is the scope of a verdict.
type Claim string

// The claims.
const (
	ThisHour        Claim = "on this pool, in this hour" // one session
	General         Claim = "on this cluster"            // several sessions; with a scratch pool, each has its own
	SwitchedWindows Claim = "switched windows only"      // no setting has stayed applied for minutes
)

// Remedy is the action that makes a verdict possible after carry-over.
type Remedy string

// The remedies.
const (
	None         Remedy = ""
	DoubleWindow Remedy = "DoubleWindow"
	UseBlocks    Remedy = "UseBlocks"
)

// Question has the choices that are fixed before the first session, and the current length of windows.
type Question struct {
	Criteria    stats.Criteria // its Looks stay empty
	Candidates  int
	Quick       bool          // one session with several looks, instead of the general claim
	LastLook    int           // for quick mode, the largest number of pairs: one of the QuickLooks
	MaxSessions int           // for the general claim, which is judged after each session from number DefaultSessions on
	Writes      bool          // the load writes, so a setting may defer work
	Window      time.Duration // length of a window, wash-out included
}

// Finding is the verdict on one candidate.
type Finding struct {
	Verdict    stats.Verdict
	Claim      Claim
	Windows    stats.Assessment // verdict of the windows alone
	Remedy     Remedy           // set if carry-over prevents a verdict
	Contradict bool             // the dwells contradict the windows; this prevented a verdict
}

// MaxWindow is the maximum length of a window. If a longer window is needed, separate runs are the better
// design.
const MaxWindow = time.Minute

// Judge returns the verdict on each candidate from its entries and, if it has dwells, from their contrast.
// Void entries do not count. In quick mode each candidate must have at most one valid entry, whose number of
// pairs is one of the QuickLooks.
func Judge(q Question, entries []Entry, dwells map[int]stats.Contrast) ([]Finding, error) {
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

// Contrast returns a candidate's effect from the valid entries. In quick mode, its noise is the variation
// between groups; otherwise, its noise is the variation between sessions.
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

// limit turns the verdict of the windows into a Finding: it withholds verdicts that windows alone cannot
// support, and limits the claim.
func (q Question) limit(a stats.Assessment, windows stats.Contrast, carryover bool, dwells stats.Contrast, has bool) (Finding, error) {
	f := Finding{Verdict: a.Verdict, Claim: General, Windows: a}
	if q.Quick {
		f.Claim = ThisHour
	}
	if a.Verdict == stats.Invalid {
		return f, nil
	}
	if has {
		var err error
		if f.Contradict, err = q.contradicts(a.Verdict, dwells, windows); err != nil {
			return f, err
		}
	}
	if carryover {
		f.Remedy = DoubleWindow
		if 2*q.Window > MaxWindow {
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

// Carryover reports whether a candidate's windows show an after-effect of the previous setting. It uses two
// tests, each at 2.5% and over all sessions together.
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

// Dwells has the figures of four dwells: baseline, candidate, baseline, candidate. Each dwell has equally
// many pieces of equal length, such as four of 30 s. The pieces begin after the time in which the setting
// takes effect.
type Dwells [4][]float64

// Contrast returns the ratio of the candidate to the baseline. The dwells have the weights −¼, ¾, −¾ and ¼,
// which cancel a steady drift. The noise is the spread of the differences between pieces at the same position
// in the two dwells of a setting. So a trend within dwells is not noise: dwells exist to show such a trend.
func (d Dwells) Contrast() (stats.Contrast, error) {
	logs, err := d.logs()
	if err != nil {
		return stats.Contrast{}, err
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
			return stats.Contrast{}, err
		}
		variance += k.StdDev * k.StdDev / 4 // ½, because a difference has twice the variance of a piece; ½ again for the mean of two settings.
	}
	of := 1.25 * variance // Σ weight² of the dwells is 5/4.
	return stats.Contrast{LogRatio: ratio, StdDev: math.Sqrt(of), StdErr: math.Sqrt(of / float64(pieces)), DF: float64(2 * (pieces - 1)), Runs: pieces}, nil
}

// contradicts reports whether the dwells of a candidate contradict a verdict of windows. The ratios of dwells
// and windows have to be compatible at 5%. Noise that lasts for minutes is larger between dwells than within
// them, so this test alarms too often. A false alarm only withholds a verdict. If noise is large, the test
// misses contradictions. So the dwells' own ratio must also agree with the verdict, if that is Superior, Better
// or Equivalent.
func (q Question) contradicts(v stats.Verdict, dwells, windows stats.Contrast) (bool, error) {
	p, err := compatible(dwells, windows)
	if err != nil || p < 0.05 {
		return err == nil, err
	}
	gain := dwells.LogRatio
	if q.Criteria.Direction == stats.LowerIsBetter {
		gain = -gain
	}
	switch v {
	case stats.Equivalent:
		return math.Abs(gain) > math.Log1p(q.Criteria.Equivalence), nil
	case stats.Superior, stats.Better:
		return gain <= 0, nil
	default:
		return false, nil
	}
}

// compatible returns the two-sided p-value against "dwells and windows have the same ratio", by Welch and
// Satterthwaite. If the dwells or the windows have no estimate of noise, or if both noises are 0, the error
// wraps stats.ErrTooFew.
func compatible(dwells, windows stats.Contrast) (float64, error) {
	own, se2 := dwells.StdErr*dwells.StdErr, windows.StdErr*windows.StdErr
	if own+se2 == 0 || windows.DF == 0 || dwells.DF == 0 {
		return 0, fmt.Errorf("%w: no noise to compare with", stats.ErrTooFew)
	}
	nu := (own + se2) * (own + se2) / (own*own/dwells.DF + se2*se2/windows.DF)
	t := math.Abs(dwells.LogRatio-windows.LogRatio) / math.Sqrt(own+se2)
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
