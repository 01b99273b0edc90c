package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/task"
)

// Evidence has all data of one session that a verdict needs. So the Question and the archived Evidence of all
// sessions can reproduce the verdict.
type Evidence struct {
	Plan    Plan     `json:"plan"`
	Record  Record   `json:"record"`
	Clients []Client `json:"clients"`
	// Latencies has the histograms of each window. If the engine reports no histograms, they are Incomplete.
	Latencies []Latencies       `json:"latencies,omitempty"`
	Disturbed []switchback.Span `json:"disturbed,omitempty"`
	// Courses has the curves of the baseline and of the candidate, if windows are steps of curves. WrittenCurve is how many bytes
	// their clients wrote.
	Courses      []curve.Course `json:"courses,omitempty"`
	WrittenCurve int64          `json:"writtenBytes,omitempty"`
	// Usage has the CPU time of each client and of its host since the start of the load, the ramp included.
	Usage []task.Usage `json:"usage,omitempty"`
}

// Question says what the sessions decide, and by which criteria. It is fixed before the first session. The criteria of the embedded Question are those of the objective.
type Question struct {
	switchback.Question
	Objective   Figure       `json:"objective"`
	Constraints []Constraint `json:"constraints,omitempty"`
	Offered     Offered      `json:"offered"`
}

// Constraint is a limit on another figure of the windows.
type Constraint struct {
	Figure
	stats.Constraint
}

// Summary is the part of a session that status keeps. For the objective and for each constraint, it has
// one entry for each candidate that the session measured.
type Summary struct {
	Objective   []switchback.Entry
	Constraints [][]switchback.Entry
	// Typical has the typical figure of the objective for each treatment that the session measured. No verdict depends on it.
	Typical map[int]float64
	Mark    fitness.Mark
}

// Finding is the verdict on one candidate, with the result of each constraint in the order of Question.
type Finding struct {
	switchback.Finding
	Constraints []stats.ConstraintResult
}

// Wins reports whether a candidate is superior and keeps all constraints.
func (f Finding) Wins() bool { return f.Verdict == stats.Superior && f.Keeps() }

// Keeps reports whether a candidate is known to keep all constraints.
func (f Finding) Keeps() bool {
	return !slices.ContainsFunc(f.Constraints, func(k stats.ConstraintResult) bool { return k.State != stats.Kept })
}

// Breaks reports whether a candidate is known to break a constraint.
func (f Finding) Breaks() bool {
	return slices.ContainsFunc(f.Constraints, func(k stats.ConstraintResult) bool { return k.State == stats.Broken })
}

// ErrNotKept says that an archive lacks figures that are needed for a summary.
var ErrNotKept = errors.New("figures were not kept")

// ErrInvalid says that a session does not count.
var ErrInvalid = errors.New("the session is invalid")

// Summarize returns the summary of a session. In quick mode it uses only the data up to the latest look, and
// returns false before the first look. For an invalid session, the error wraps ErrInvalid.
func (e Evidence) Summarize(q Question) (s Summary, ok bool, err error) {
	if e.Record.Invalid != "" {
		return s, false, fmt.Errorf("%w: %s", ErrInvalid, e.Record.Invalid)
	}
	if q.Candidates != e.Plan.Candidates {
		return s, false, fmt.Errorf("%w: the session has %d candidates, but the question is about %d", stats.ErrParameter, e.Plan.Candidates, q.Candidates)
	}
	session, ok, err := e.Session(q, q.Objective)
	if err != nil || !ok {
		return s, ok, err
	}
	if e.Plan.Curves {
		s, err = e.compareCurves(session)
		return s, err == nil, err
	}
	if s.Objective, err = session.Entries(q.Criteria); err != nil {
		return s, false, err
	}
	if s.Typical, err = Typical(session, q.Objective.Metric); err != nil {
		return s, false, err
	}
	for _, k := range q.Constraints {
		one, _, err := e.Session(q, k.Figure)
		if err != nil {
			return s, false, err
		}
		sum := func() ([]switchback.Entry, error) { return one.Entries(q.Criteria) }
		if k.Absolute() {
			sum = one.Levels
		}
		entries, err := sum()
		if err != nil {
			return s, false, fmt.Errorf("%s: %w", k.Name, err)
		}
		s.Constraints = append(s.Constraints, entries)
	}
	return s, true, nil
}

// Typical returns the typical figure of each treatment that has valid windows in a session.
func Typical(session switchback.Session, metric v1alpha1.Metric) (map[int]float64, error) {
	typical := map[int]float64{}
	for treatment := range session.Candidates + 1 {
		figures, err := session.Figures(treatment)
		if err != nil {
			return nil, err
		}
		if len(figures) > 0 {
			typical[treatment] = figure.TypicalOfWindows(metric, figures)
		}
	}
	return typical, nil
}

// Session returns the windows of a session for one figure, with their faults. In quick mode, it uses only the
// data up to the latest look, and returns false before the first look.
func (e Evidence) Session(q Question, f Figure) (switchback.Session, bool, error) {
	windows, covered, err := e.Windows(f)
	if err != nil {
		return switchback.Session{}, false, err
	}
	s := switchback.Session{
		Number: e.Plan.Number, Seed: e.Plan.Seed, Candidates: e.Plan.Candidates, Order: e.Record.Order(e.Plan), Windows: windows,
		Faults: e.faults(covered), Long: e.Plan.Long,
	}
	if !q.Quick || e.Plan.Curves {
		return s, true, nil
	}
	s, ok := atLook(s, q.LastLook)
	return s, ok, nil
}

// WrittenBytes returns the bytes that the clients have written since their load began, according to the rows
// in Evidence. Rows of a load that does not mix reads and writes have no direction. So the caller says whether
// the load writes, in the parameter writes.
func (e Evidence) WrittenBytes(writes bool) int64 {
	bytes := float64(e.WrittenCurve)
	for _, c := range e.Clients {
		for _, row := range c.Seconds {
			switch {
			case row.Write != nil:
				bytes += row.Write.Bytes
			case writes && row.Read == nil:
				bytes += row.Bytes
			}
		}
	}
	return int64(bytes)
}

// AtLook reports whether the number of valid pairs is that of a look in quick mode. Figures may be judged
// only at a look.
func (e Evidence) AtLook(q Question) (bool, error) {
	counts, err := e.counted()
	if err != nil || len(counts) == 0 {
		return false, err
	}
	return slices.Contains(switchback.QuickLooks(q.LastLook), counts[len(counts)-1]*e.Plan.PairsOfBlock()), nil
}

// Pairs returns the number of valid pairs of the baseline and each candidate so far. The caller ends a session
// that [Screen] planned once it has enough pairs.
func (e Evidence) Pairs() (int, error) {
	counts, err := e.counted()
	if err != nil || len(counts) == 0 {
		return 0, err
	}
	return counts[len(counts)-1] * e.Plan.PairsOfBlock(), nil
}

// counted returns, for each complete block, the number of valid blocks up to and including it. It uses no
// figures.
func (e Evidence) counted() ([]int, error) {
	if e.Plan.Curves {
		_, covered := e.steps()
		return counts(e.Record.Order(e.Plan), e.faults(covered)), nil
	}
	_, covered, err := switchback.Pieces(e.Record.Switches, e.rows(), e.Plan.Timing)
	if err != nil {
		return nil, err
	}
	return counts(e.Record.Order(e.Plan), e.faults(covered)), nil
}

func counts(order []switchback.Block, faults []bool) (after []int) {
	n, index := 0, 0
	for _, g := range order {
		if index+len(g) > len(faults) {
			break
		}
		if !slices.Contains(faults[index:index+len(g)], true) {
			n++
		}
		index += len(g)
		after = append(after, n)
	}
	return after
}

// atLook drops the data after the latest look. The last possible look is at lastLook pairs.
func atLook(s switchback.Session, lastLook int) (switchback.Session, bool) {
	pairs := 1
	if s.Candidates == 1 {
		pairs = 2
	}
	after, last, windows, index := counts(s.Order, s.Faults), 0, 0, 0
	for i, n := range after {
		index += len(s.Order[i])
		if n > last && slices.Contains(switchback.QuickLooks(lastLook), n*pairs) {
			windows = index
		}
		last = n
	}
	s.Windows, s.Faults = s.Windows[:windows], s.Faults[:windows]
	return s, windows > 0
}

// Judge returns the verdict on each candidate from the summaries of the valid sessions of short and of long
// windows. Judge is a pure function, so a ledger and an archive of the same sessions give the same verdict.
func Judge(q Question, short, long []Summary) ([]Finding, error) {
	objective := func(s Summary) []switchback.Entry { return s.Objective }
	for i, s := range slices.Concat(short, long) {
		if len(s.Constraints) != len(q.Constraints) {
			return nil, fmt.Errorf("%w: session %d has %d constraints, not %d", stats.ErrParameter, i+1, len(s.Constraints), len(q.Constraints))
		}
	}
	found, err := switchback.Judge(q.Question, all(short, objective), all(long, objective))
	if err != nil {
		return nil, err
	}
	findings := make([]Finding, len(found))
	for i, f := range found {
		findings[i].Finding = f
		for k, constraint := range q.Constraints {
			entries := func(s Summary) []switchback.Entry { return s.Constraints[k] }
			checked, err := q.Check(f, constraint.Constraint, all(short, entries), all(long, entries), i+1)
			if err != nil {
				return nil, err
			}
			findings[i].Constraints = append(findings[i].Constraints, checked)
		}
	}
	return findings, nil
}

func all(sessions []Summary, get func(Summary) []switchback.Entry) (entries []switchback.Entry) {
	for _, s := range sessions {
		entries = append(entries, get(s)...)
	}
	return entries
}
