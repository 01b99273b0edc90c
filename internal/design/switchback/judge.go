package switchback

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// The default numbers: of sessions of long windows at most, and of pairs in a session of short windows.
const (
	DefaultSessions = 6
	DefaultPairs    = 8
)

// LeastSessions is the smallest number of sessions of long windows that supports a verdict.
const LeastSessions = stats.MinRuns

// QuickLooks returns the numbers of pairs at which a session in quick mode is judged, up to and including the
// given number. If that is not one of these numbers, the result is empty. A block of one candidate has two pairs;
// a block of several has one pair for each.
func QuickLooks(last int) []int {
	looks := quickLooks()
	return looks[:slices.Index(looks, last)+1]
}

// LastLook is the largest number of pairs at which a session in quick mode may be judged.
const LastLook = 60

func quickLooks() []int { return []int{8, 12, 18, 28, 40, LastLook} }

// quickLevel returns the level for p-values at each look, for which the error over all looks is alpha. The
// shares of alpha come from simulations of one candidate. With these shares, the error of several candidates is below
// alpha, because the same number of pairs takes more blocks.
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

// Scope says what a verdict speaks for: the time for which treatments stayed applied, and the pools and days that
// were sampled.
type Scope int

// The scopes, from the smallest to the largest.
const (
	Windows Scope = iota // this pool, in this hour, while treatments are switched every few seconds
	Pool                 // this pool, in this hour, with treatments that stayed applied for long windows
	Pools                // as Pool, on three or more pools
	Days                 // as Pool or Pools, on three or more days
)

// Question has the choices that are fixed before the first session.
type Question struct {
	Criteria    stats.Criteria // its Looks stay empty
	Candidates  int
	Quick       bool // one session of short windows with several looks, and no long windows
	LastLook    int  // for quick mode, the largest number of pairs: one of the QuickLooks
	MaxSessions int  // of long windows, or of draws; the verdict has looks from LeastSessions on
	// Draws means that each of several sessions of short windows compares all treatments, each with a fresh draw: a pool of its
	// own, whose placement is a draw of CRUSH. Verdicts are about the ratios of sessions, as those of long windows.
	Draws bool
	// Pools means that each session has a pool of its own. Daily means that sessions of long windows lie a day
	// apart.
	Pools, Daily bool
	// Curves means that one session has a curve of the baseline and one of the only candidate, and is judged once. Its entry
	// has the interval of the ratio of both, so there is no randomisation test. The allowance for unseen stalls does not
	// apply: a stall that lasts longer than the limit of latency allows leaves no rate that keeps it.
	Curves bool
}

// Finding is the verdict on one candidate.
type Finding struct {
	Verdict    stats.Verdict
	Scope      Scope
	Assessment stats.Assessment // of the long windows from LeastSessions on, otherwise of the short windows
	Sessions   int              // valid sessions of long windows, or of draws
	// CarryOver means that short windows show an effect of the previous treatment. Unconfirmed means that the
	// randomisation test does not support the verdict of the t-test. NeedsLong means that short windows cannot
	// show equivalence. Each of them made the verdict Inconclusive.
	CarryOver, Unconfirmed, NeedsLong bool
}

// Judge returns the verdict on each candidate. Invalid entries do not count. short has at most one valid entry for
// each candidate; in quick mode, its number of pairs is one of the QuickLooks. long has the entries of sessions
// of long windows. If a candidate has enough of them, its verdict depends on them alone: short windows selected
// the candidate, and speak of a few seconds.
//
// With Draws, there are only sessions of short windows.
func Judge(q Question, short, long []Entry) ([]Finding, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if q.Draws {
		return q.judgeDraws(short)
	}
	findings, err := q.judgeShort(short)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		f := &findings[i]
		if f.Sessions = len(validEntries(long, i+1)); f.Sessions < LeastSessions {
			continue
		}
		if err := q.judgeLong(f, long, i+1); err != nil {
			return nil, err
		}
	}
	return findings, nil
}

// mostUnseen is the largest share of the time for which either treatment may stall without being seen, so that a gain
// or a loss is still true. A treatment is watched for minutes, and a stall of ten seconds each four minutes is 4%.
const mostUnseen = 0.04

// criteria returns the criteria with the share of unseen stalls. A small minimum effect leaves no room for all of
// it: nobody can exclude such stalls within minutes.
func (q Question) criteria() stats.Criteria {
	c := q.Criteria
	if q.Curves {
		return c
	}
	c.UnseenStalls = min(mostUnseen, mostUnseen/0.10*c.MinimumEffect)
	return c
}

func (q Question) check() error {
	switch {
	case q.Candidates < 1, !q.Quick && q.MaxSessions < LeastSessions, q.Criteria.Looks != (stats.Looks{}):
		return fmt.Errorf("%w: %d candidates, at most %d sessions", stats.ErrParameter, q.Candidates, q.MaxSessions)
	case q.Quick && !q.Curves && !slices.Contains(quickLooks(), q.LastLook):
		return fmt.Errorf("%w: there is no look at %d pairs", stats.ErrParameter, q.LastLook)
	}
	return nil
}

func validEntries(entries []Entry, candidate int) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Invalid || e.Candidate != candidate })
}

// looks returns how often short windows are judged.
func (q Question) looks() int {
	switch {
	case q.Draws:
		return q.longCriteria().Looks.Count()
	case q.Quick && !q.Curves:
		return len(QuickLooks(q.LastLook))
	}
	return 1
}

// judgeDraws judges all candidates by their sessions. The levels pay for the looks, and for the number of candidates. Windows of
// a few seconds cannot show equivalence.
func (q Question) judgeDraws(entries []Entry) ([]Finding, error) {
	comparisons := make([]stats.Comparison, q.Candidates)
	for i := range comparisons {
		k, err := Contrast(entries, i+1)
		if err != nil {
			return nil, err
		}
		comparisons[i] = stats.Comparison{Name: strconv.Itoa(i + 1), Contrast: k}
	}
	assessed, err := stats.Judge(q.longCriteria(), comparisons)
	if err != nil {
		return nil, err
	}
	findings := make([]Finding, q.Candidates)
	for i, a := range assessed {
		f := Finding{Verdict: a.Verdict, Assessment: a, Sessions: a.Runs}
		if a.Verdict != stats.Invalid {
			f.Scope = q.scope()
			f.CarryOver, f.NeedsLong = q.carriesOver(entries, i+1), a.Verdict == stats.Equivalent
		}
		if f.CarryOver || f.NeedsLong {
			f.Verdict = stats.Inconclusive
		}
		findings[i] = f
	}
	return findings, nil
}

// judgeLong judges a candidate by its sessions of long windows. They are fresh data about one selected candidate,
// so the number of candidates plays no part.
func (q Question) judgeLong(f *Finding, long []Entry, candidate int) error {
	k, err := Contrast(long, candidate)
	if err != nil {
		return err
	}
	assessed, err := stats.Judge(q.longCriteria(), []stats.Comparison{{Name: strconv.Itoa(candidate), Contrast: k}})
	if err != nil {
		return err
	}
	*f = Finding{Verdict: assessed[0].Verdict, Scope: q.scope(), Assessment: assessed[0], Sessions: f.Sessions}
	return nil
}

func (q Question) longCriteria() stats.Criteria {
	c := q.criteria()
	c.Looks = stats.Looks{First: LeastSessions, Last: q.MaxSessions}
	return c
}

func (q Question) scope() Scope {
	switch {
	case q.Daily:
		return Days
	case q.Pools:
		return Pools
	}
	return Pool
}

func (q Question) judgeShort(entries []Entry) ([]Finding, error) {
	comparisons, tests := make([]stats.Comparison, q.Candidates), make([]stats.PValues, q.Candidates)
	for i := range comparisons {
		k, p, err := q.short(entries, i+1)
		if err != nil {
			return nil, err
		}
		comparisons[i], tests[i] = stats.Comparison{Name: strconv.Itoa(i + 1), Contrast: k}, p
		comparisons[i].Beaten = q.Curves && len(validEntries(entries, i+1)) > 0 // Without a ratio, it is Inconclusive.
	}
	c := q.criteria()
	c.Confidence = 1 - quickLevel(1-c.Confidence, q.Candidates, q.looks())
	assessed, err := stats.Judge(c, comparisons)
	if err != nil {
		return nil, err
	}
	confirmed, err := stats.Confirmed(assessed, tests)
	if err != nil {
		return nil, err
	}
	findings := make([]Finding, q.Candidates)
	for i, a := range assessed {
		f := Finding{Verdict: a.Verdict, Scope: Windows, Assessment: a}
		if a.Verdict != stats.Invalid {
			f.CarryOver, f.Unconfirmed, f.NeedsLong = q.carriesOver(entries, i+1), !confirmed[i], a.Verdict == stats.Equivalent
		}
		if f.CarryOver || f.Unconfirmed || f.NeedsLong {
			f.Verdict = stats.Inconclusive
		}
		findings[i] = f
	}
	return findings, nil
}

// BestIsKnown reports whether a candidate wins, and the intervals of undecided candidates exclude that one of them is better than
// the best winner seems to be. Then a session can end: it says which candidate to take, and leaves others Inconclusive.
func (q Question) BestIsKnown(found []Finding, wins, decided func(int) bool) bool {
	best, hopes := math.Inf(-1), math.Inf(-1)
	for i, f := range found {
		ratio, low, high := math.Log(f.Assessment.Ratio), math.Log(f.Assessment.Interval.Low), math.Log(f.Assessment.Interval.High)
		if q.Criteria.Direction == stats.LowerIsBetter {
			ratio, high = -ratio, -low
		}
		switch {
		case wins(i):
			best = max(best, ratio)
		case !decided(i):
			hopes = max(hopes, high)
		}
	}
	return hopes < best
}

// short returns a candidate's effect in its session of short windows, with the p-values of the randomisation
// test. Its noise is the variation between blocks.
func (q Question) short(entries []Entry, candidate int) (stats.Contrast, stats.PValues, error) {
	valid := validEntries(entries, candidate)
	if len(valid) == 0 {
		return stats.Contrast{Paired: true}, stats.PValues{Superior: 1, AnyGain: 1, Loss: 1, Small: 1}, nil
	}
	e := valid[0]
	switch {
	case e.Unknown:
		return stats.Contrast{Paired: true}, stats.PValues{}, nil
	case q.Curves:
		return e.contrast(), stats.PValues{}, nil
	}
	pairs := e.Blocks
	if q.Candidates == 1 {
		pairs *= 2
	}
	// A candidate that was decided at a look has left, so it has fewer blocks than others. A disturbance that is known only
	// later may take one of them away. All looks have the same level, so any number of pairs is judged like a look then.
	left := slices.ContainsFunc(entries, func(other Entry) bool { return !other.Invalid && other.Blocks > e.Blocks })
	if len(valid) > 1 || q.Quick && !left && !slices.Contains(QuickLooks(q.LastLook), pairs) {
		return stats.Contrast{}, stats.PValues{}, fmt.Errorf("%w: no look at %d pairs of %d sessions", stats.ErrParameter, pairs, len(valid))
	}
	return e.contrast(), e.P, nil
}

func (e Entry) contrast() stats.Contrast {
	n := float64(e.Blocks)
	return stats.Contrast{LogRatio: e.Mean, StdDev: e.StdDev, StdErr: e.StdDev / math.Sqrt(n), StdErrAbove: e.StdDevAbove / math.Sqrt(n), DF: n - 1, Runs: e.Blocks, Paired: true}
}

// Contrast returns a candidate's effect from the valid entries of sessions of long windows. Its noise is the
// variation between sessions, which contains that between pools, and between long windows.
func Contrast(entries []Entry, candidate int) (stats.Contrast, error) {
	valid := validEntries(entries, candidate)
	if len(valid) == 0 {
		return stats.Contrast{Paired: true}, nil
	}
	means := make([]float64, len(valid))
	for i, e := range valid {
		means[i] = e.Mean
	}
	return stats.PairedDifferences(means)
}

// Check checks a constraint on a candidate with the data of the verdict on it.
func (q Question) Check(f Finding, constraint stats.Constraint, short, long []Entry, candidate int) (stats.ConstraintResult, error) {
	var k stats.Contrast
	var err error
	switch {
	case q.Draws:
		k, err = Contrast(short, candidate)
	case f.Sessions >= LeastSessions:
		k, err = Contrast(long, candidate)
	default:
		k, _, err = q.short(short, candidate)
	}
	if err != nil {
		return stats.ConstraintResult{}, err
	}
	return constraint.Check(k, 1-f.Assessment.Level)
}

// carriesOver reports whether a candidate's short windows show an after-effect of the previous treatment. Two
// tests look for it; together they err in 5% over all candidates and looks. Scores of several sessions add up.
func (q Question) carriesOver(entries []Entry, candidate int) bool {
	valid := validEntries(entries, candidate)
	if len(valid) == 0 {
		return false
	}
	tests := float64(2 * q.Candidates * q.looks())
	limit := distuv.UnitNormal.Quantile(1-0.05/tests/2) * math.Sqrt(float64(len(valid)))
	late, lag := 0.0, 0.0
	for _, e := range valid {
		late, lag = late+e.Late, lag+e.Lag
	}
	return math.Abs(late) > limit || math.Abs(lag) > limit
}
