package sweepspec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/fitness"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/switchback"
)

// SessionEntry is the result of one session for one candidate and one figure: the objective's or a
// constraint's.
type SessionEntry struct {
	switchback.Entry

	// Constraint is the number of the constraint, from 1; 0 for the objective. The ledger does not contain
	// this number: the lines of constraints follow the objective's line of their candidate, in the order of
	// the constraints.
	Constraint int

	Seconds  int
	MiB      int64
	Validity v1alpha1.SweepSessionValidity
}

// Mark returns the mark of the session, if the entry has figures of the objective.
func (e SessionEntry) Mark() fitness.Mark {
	switch e.Validity {
	case v1alpha1.SweepSessionStarved, v1alpha1.SweepSessionThrottled, v1alpha1.SweepSessionBelowRate:
		return fitness.Mark(e.Validity)
	case v1alpha1.SweepSessionStarvedDwells:
		return fitness.Starved
	default:
		return ""
	}
}

// VoidSession returns the entry of a session that does not count.
func VoidSession(number int, why v1alpha1.SweepSessionValidity, seconds int, mib int64) SessionEntry {
	return SessionEntry{Entry: switchback.Entry{Session: number, Void: true}, Seconds: seconds, MiB: mib, Validity: why}
}

// dwellsOf returns the entry of a session of dwells, in which each setting stays applied for
// session.DwellTime. A dwell is cut into pieces. The entry's StdDev is the standard error that the ratio
// would have with one piece in each dwell.
func dwellsOf(number, candidate int, k stats.Contrast, seconds int, mib int64) SessionEntry {
	return SessionEntry{
		Entry:   switchback.Entry{Session: number, Candidate: candidate, Groups: k.Runs, Mean: k.LogRatio, StdDev: k.StdDev},
		Seconds: seconds, MiB: mib, Validity: v1alpha1.SweepSessionDwells,
	}
}

func (e SessionEntry) isDwells() bool {
	return e.Validity == v1alpha1.SweepSessionDwells || e.Validity == v1alpha1.SweepSessionStarvedDwells
}

// contrast converts the entry of a session of dwells to the ratio that the dwells measured.
func (e SessionEntry) contrast() stats.Contrast {
	pieces := float64(e.Groups)
	return stats.Contrast{LogRatio: e.Mean, StdDev: e.StdDev, StdErr: e.StdDev / math.Sqrt(pieces), DF: 2 * (pieces - 1), Runs: e.Groups}
}

// WriteSessions encodes the entries for status.
func WriteSessions(entries []SessionEntry) []v1alpha1.SweepRun {
	out := make([]v1alpha1.SweepRun, len(entries))
	for i, e := range entries {
		out[i] = v1alpha1.SweepRun(fmt.Sprintf("%d %d %d %.6f %.6f %.4f %.2f %.2f %ds %dMi %s",
			e.Session, e.Candidate, e.Groups, e.Mean, e.StdDev, e.P, e.Late, e.Lag,
			min(max(e.Seconds, 0), maxSeconds), min(max(e.MiB, 0), maxMiB), e.Validity))
	}
	return out
}

// ReadSessions decodes the lines of WriteSessions. For any other line, the error wraps sweep.ErrLedger.
func ReadSessions(lines []v1alpha1.SweepRun) ([]SessionEntry, error) {
	entries := make([]SessionEntry, len(lines))
	for i, line := range lines {
		e, err := readSession(string(line))
		if err != nil {
			return nil, fmt.Errorf("%w: status.runs, line %d, %.100q: %w", sweep.ErrLedger, i+1, line, err)
		}
		if e.Validity == v1alpha1.SweepSessionConstraint {
			if i == 0 || entries[i-1].Session != e.Session || entries[i-1].Candidate != e.Candidate || entries[i-1].Void || entries[i-1].isDwells() {
				return nil, fmt.Errorf("%w: status.runs, line %d, %.100q: it follows no objective", sweep.ErrLedger, i+1, line)
			}
			e.Constraint = entries[i-1].Constraint + 1
		}
		entries[i] = e
	}
	return entries, nil
}

func readSession(line string) (SessionEntry, error) {
	words := strings.Split(line, " ")
	if len(words) != 11 {
		return SessionEntry{}, fmt.Errorf("%d words, want 11", len(words))
	}
	var e SessionEntry
	for i, into := range []*int{&e.Session, &e.Candidate, &e.Groups} {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			return e, err
		}
		*into = n
	}
	for i, into := range []*float64{&e.Mean, &e.StdDev, &e.P, &e.Late, &e.Lag} {
		x, err := strconv.ParseFloat(words[3+i], 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return e, fmt.Errorf("%q is not a number", words[3+i])
		}
		*into = x
	}
	var err error
	if e.Seconds, err = strconv.Atoi(strings.TrimSuffix(words[8], "s")); err != nil {
		return e, err
	}
	if e.MiB, err = strconv.ParseInt(strings.TrimSuffix(words[9], "Mi"), 10, 64); err != nil {
		return e, err
	}
	e.Validity = v1alpha1.SweepSessionValidity(words[10])
	if !slices.Contains(sessionValidities(), e.Validity) {
		return e, fmt.Errorf("%q is not the validity of a session", e.Validity)
	}
	e.Void = !slices.Contains(countingValidities(), e.Validity)
	return e, nil
}

func countingValidities() []v1alpha1.SweepSessionValidity {
	return []v1alpha1.SweepSessionValidity{
		v1alpha1.SweepSessionValid, v1alpha1.SweepSessionStarved, v1alpha1.SweepSessionThrottled, v1alpha1.SweepSessionBelowRate,
		v1alpha1.SweepSessionConstraint, v1alpha1.SweepSessionDwells, v1alpha1.SweepSessionStarvedDwells,
	}
}

func sessionValidities() []v1alpha1.SweepSessionValidity {
	return append(countingValidities(), v1alpha1.SweepSessionInterrupted, v1alpha1.SweepSessionFailed,
		v1alpha1.SweepSessionTooShort, v1alpha1.SweepSessionUneven)
}

// Sessions is the state of an interleaved sweep. It depends only on the spec, the plan and the entries of the
// ledger.
type Sessions struct {
	// Next is the number of the next session, from 1.
	Next int
	// Valid counts the valid sessions with windows of the current length. Void counts all void sessions.
	Valid, Void int
	// Superseded counts the valid sessions whose windows were shorter than the current ones. The verdict does
	// not use these sessions, because they showed carry-over.
	Superseded int
	// Dwells is the candidate whose dwells are measured in the next session; 0 if the next session has
	// windows, or if no session follows.
	Dwells int
	// Stop says why no session follows; "" if a session follows.
	Stop string
	// Findings are the verdicts that the sessions in the ledger support, one for each candidate.
	Findings []session.Finding

	window time.Duration // length in the next session, wash-out included
	judged []session.Summary
	// starvedDwells has the candidates whose dwells were starved.
	starvedDwells map[int]bool
	// tooManyVoid reports that more sessions are void than guardrails.maxFailedRuns allows.
	tooManyVoid bool
	cost        spent
	dwells      map[int]stats.Contrast // measured ratios, by candidate
	lines       int                    // number of lines in the ledger
	spec        *Spec
	plan        *v1alpha1.SweepPlan
}

// SessionsOf computes the state of an interleaved sweep from its ledger. It counts the sessions one by one, and
// decides after each what follows, as the sweep did then. So the length of windows doubles after the same
// session each time the ledger is read.
func SessionsOf(spec *Spec, plan *v1alpha1.SweepPlan, entries []SessionEntry) (*Sessions, error) {
	fixed, err := settingsOf(spec, plan)
	if err != nil {
		return nil, err
	}
	s := &Sessions{Next: 1, window: windowOf(plan), spec: spec, plan: plan, dwells: map[int]stats.Contrast{}, starvedDwells: map[int]bool{}}
	if err := s.decide(fixed); err != nil {
		return nil, err
	}
	for _, own := range bySession(entries) {
		s.add(own)
		if err := s.decide(fixed); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// decide judges the sessions counted by the method add. It decides whether another session of windows, longer
// windows, dwells or nothing follows.
func (s *Sessions) decide(fixed sweep.Settings) error {
	if err := s.judge(); err != nil {
		return err
	}
	if s.needsLongerWindows(fixed) {
		s.doubleWindows()
		return s.judge()
	}
	s.tooManyVoid = s.Void > fixed.MaxFailedRuns
	s.Dwells, s.Stop = 0, s.stop(fixed)
	if s.Stop != "" {
		s.continueWithDwells(fixed)
	}
	return nil
}

func (s *Sessions) judge() error {
	q, err := s.Question()
	if err != nil {
		return err
	}
	if s.Findings, err = session.Judge(q, s.judged, s.dwells); err != nil {
		return err
	}
	return s.withholdStarved(q)
}

// withholdStarved withholds a gain that only starved trials prove, be they windows or dwells.
func (s *Sessions) withholdStarved(q session.Question) error {
	fed, dwells := session.Fed(s.judged), maps.Clone(s.dwells)
	maps.DeleteFunc(dwells, func(candidate int, _ stats.Contrast) bool { return s.starvedDwells[candidate] })
	without, err := session.Judge(q, fed, dwells)
	if err == nil {
		s.Findings = session.Withhold(s.Findings, without)
	}
	return err
}

// add counts a session of the ledger.
func (s *Sessions) add(own []SessionEntry) {
	s.Next = own[0].Session + 1
	s.lines += len(own)
	s.cost.add(own[0])
	switch {
	case own[0].isDwells():
		s.dwells[own[0].Candidate], s.starvedDwells[own[0].Candidate] = own[0].contrast(), own[0].Mark().Starves()
		return
	case own[0].Void:
		s.Void++
		return
	}
	s.Valid++
	sum := session.Summary{Constraints: make([][]switchback.Entry, len(s.spec.Constraints)), Mark: own[0].Mark()}
	for _, e := range own {
		e.addTo(&sum)
	}
	s.judged = append(s.judged, sum)
}

// needsLongerWindows reports whether the sweep continues with windows of twice the length. It does if
// carry-over prevents a verdict, if not too many sessions are void, and if the budget, the ledger and the
// manager's memory have room.
func (s *Sessions) needsLongerWindows(fixed sweep.Settings) bool {
	carriesOver := func(f session.Finding) bool { return f.Remedy == switchback.DoubleWindow }
	return s.Void <= fixed.MaxFailedRuns && slices.ContainsFunc(s.Findings, carriesOver) && s.isKept(2*s.window) &&
		s.exceeds(fixed, windowsCost(s.plan, 2*s.window), s.linesOfSession()) == ""
}

// doubleWindows starts again with windows of twice the length. Sessions with shorter windows then do not
// count.
func (s *Sessions) doubleWindows() {
	s.window *= 2
	s.Superseded += s.Valid
	s.Valid, s.judged, s.Stop, s.Dwells = 0, nil, "", 0
}

// addTo adds an entry to the summary of its session. A constraint without entries gets the state stats.Unknown.
func (e SessionEntry) addTo(s *session.Summary) {
	switch {
	case e.Constraint == 0:
		s.Objective = append(s.Objective, e.Entry)
	case e.Constraint <= len(s.Constraints):
		s.Constraints[e.Constraint-1] = append(s.Constraints[e.Constraint-1], e.Entry)
	}
}

// continueWithDwells plans dwells of the best candidate after the sessions of windows. It does so only if the
// candidate's verdict needs dwells, if the budget and the ledger have room, and if not too many sessions are
// void. A sweep of a single session has no dwells.
func (s *Sessions) continueWithDwells(fixed sweep.Settings) {
	best := s.Best()
	if best == 0 || s.Quick() || s.Void > fixed.MaxFailedRuns || !s.needsDwells(best) {
		return
	}
	if s.exceeds(fixed, dwellsCost(s.plan), 1) != "" {
		return
	}
	s.Dwells, s.Stop = best, ""
}

// needsDwells reports whether the verdict of the windows needs a confirmation with settings that stay applied
// for minutes. Equivalent always needs dwells, since an effect may take longer than a window to appear. If
// the load writes, a gain also needs dwells, since a setting may delay work. A candidate that breaks a
// constraint needs no dwells, since it cannot win. A candidate whose dwells have been measured, or whose
// windows show carry-over, needs no dwells either.
func (s *Sessions) needsDwells(candidate int) bool {
	f := s.of(candidate)
	if _, has := s.dwells[candidate]; has || f.Remedy != switchback.None || f.Breaks() {
		return false
	}
	gain := f.Windows.Verdict == stats.Superior || f.Windows.Verdict == stats.Better
	return f.Windows.Verdict == stats.Equivalent || gain && writesInSession(s.spec)
}

// Question returns the question that the sessions answer. Only its length of windows may change after the
// first session.
func (s *Sessions) Question() (session.Question, error) {
	fixed, err := settingsOf(s.spec, s.plan)
	if err != nil {
		return session.Question{}, err
	}
	objective := s.spec.Objective.MetricReference
	var constraints []session.Constraint
	for i, c := range s.spec.Constraints {
		constraints = append(constraints, session.Constraint{Figure: session.Figure{Metric: c.Metric, Direction: c.Direction}, Constraint: fixed.Constraints[i]})
	}
	return session.Question{
		Question: switchback.Question{
			Criteria: stats.Criteria{
				Direction: fixed.Direction, MinimumEffect: fixed.MinimumEffect, Equivalence: fixed.Equivalence, Confidence: fixed.Confidence,
			},
			Candidates: max(int(s.plan.Configurations), 1), Quick: s.Quick(), LastLook: int(s.plan.Pairs),
			MaxSessions: s.maxSessions(), Writes: writesInSession(s.spec), Window: s.window,
		},
		Objective:   session.Figure{Metric: objective.Metric, Direction: objective.Direction},
		Constraints: constraints,
		Offered:     offeredInSession(s.spec),
	}, nil
}

func (s *Sessions) maxSessions() int { return max(int(s.plan.Sessions), switchback.DefaultSessions) }

// Quick reports whether the sweep has a single session, which is judged at one or several looks.
func (s *Sessions) Quick() bool { return s.plan.Sessions == 1 }

// spent is the cost of the sessions in the ledger.
type spent struct {
	seconds int
	mib     int64
}

func (c *spent) add(e SessionEntry) { c.seconds, c.mib = c.seconds+e.Seconds, c.mib+e.MiB }

// stop says why no session of windows follows; "" if a session follows.
func (s *Sessions) stop(fixed sweep.Settings) string {
	switch {
	case !s.Quick() && s.Valid >= switchback.DefaultSessions && !slices.ContainsFunc(s.Findings, func(f session.Finding) bool { return !Decided(f) }):
		return "the sessions decide"
	case s.Quick() && s.Valid > 0 || s.Valid >= s.maxSessions():
		return "all sessions have been measured"
	case s.Void > fixed.MaxFailedRuns:
		return fmt.Sprintf("%d sessions are void, and guardrails.maxFailedRuns allows %d", s.Void, fixed.MaxFailedRuns)
	}
	return s.exceeds(fixed, windowsCost(s.plan, s.window), s.linesOfSession())
}

// exceeds says that a part of the budget, or the ledger, has no room for another session; "" if both have room.
// lines is the number of lines that the session needs in the ledger.
func (s *Sessions) exceeds(fixed sweep.Settings, next sweep.Cost, lines int) string {
	after := sweep.Cost{
		Time:  time.Duration(s.cost.seconds)*time.Second + next.Time + fixed.Budget.Reserve,
		Bytes: s.cost.mib<<20 + next.Bytes,
	}
	switch {
	case fixed.Budget.Time > 0 && after.Time > fixed.Budget.Time:
		return "budget.duration has no room for another session"
	case fixed.Budget.Bytes > 0 && after.Bytes > fixed.Budget.Bytes:
		return "budget.bytesWritten has no room for another session"
	case s.lines+lines > sweep.MaxLedger: // status.runs is the ledger.
		return "status.runs has no room for another session"
	}
	return ""
}

// linesOfSession returns the number of lines that a valid session of windows has in the ledger.
func (s *Sessions) linesOfSession() int {
	return int(s.plan.Configurations) * (1 + len(s.spec.Constraints))
}

// Prefill returns how many bytes a session writes besides the load that it measures: its prefill and the
// estimated bytes of the background load. These are the planned bytes of a session without those of its load.
func (s *Sessions) Prefill() int64 {
	phase, ok := sessionPhase(s.spec)
	if !ok || s.plan.RunBytesWritten == nil {
		return 0
	}
	loaded := Ramp(s.spec) + underLoad(s.plan, windowOf(s.plan))
	return max(s.plan.RunBytesWritten.Value()-int64(loaded.Seconds()*writtenPerSecond(phase, s.spec.Template.Clients.Count)), 0)
}

// LoadBytes returns how many bytes the load of the next session may write within the budget.
func (s *Sessions) LoadBytes() int64 {
	limit := s.spec.Budget.BytesWritten.Value()
	if limit == 0 {
		return math.MaxInt64
	}
	return max(limit-s.cost.mib<<20-s.Prefill(), 0)
}

// Writes reports whether the load of a session writes.
func (s *Sessions) Writes() bool { return writesInSession(s.spec) }

// Expected returns the estimated cost of the next session.
func (s *Sessions) Expected() sweep.Cost {
	if s.Dwells > 0 {
		return dwellsCost(s.plan)
	}
	return windowsCost(s.plan, s.window)
}

// TimeLeft returns the expected time from the start of the next session's load until the sweep has restored
// everything. The sweep takes less time if fewer sessions suffice for the verdicts, and more if dwells or
// longer windows follow.
func (s *Sessions) TimeLeft() time.Duration {
	lasts, after := underLoad(s.plan, s.window), max(int(s.plan.Sessions)-s.Valid-1, 0)
	if s.Dwells > 0 {
		lasts, after = dwellsUnderLoad, 0
	}
	return lasts + time.Duration(after)*s.Expected().Time + restoreOf(s.plan)
}

// Decided reports whether a candidate needs no more windows: it breaks a constraint, or the verdict of its
// windows is neither Inconclusive nor Invalid. For the verdict Superior, the candidate must also be known to
// keep all constraints. More windows would not answer the remaining questions, such as whether settings that
// stay applied for minutes are equivalent.
func Decided(f session.Finding) bool {
	switch f.Windows.Verdict {
	case stats.Inconclusive, stats.Invalid:
		return f.Breaks()
	case stats.Superior:
		return f.Breaks() || f.Keeps()
	default:
		return true
	}
}

// rankOf returns the rank of a candidate. Winners have the highest rank, and candidates that break a
// constraint the lowest.
func rankOf(f session.Finding) int {
	switch {
	case f.Wins():
		return 2
	case f.Breaks():
		return 0
	default:
		return 1
	}
}

// Best returns the winner. Without a winner, it returns the candidate closest to winning; 0 without a valid
// session.
func (s *Sessions) Best() int {
	if s.Valid == 0 {
		return 0
	}
	higher := !s.spec.Objective.Metric.LowerIsBetter()
	best := 1
	for c := 2; c <= len(s.Findings); c++ {
		a, b := s.of(c), s.of(best)
		rank, before := rankOf(a), rankOf(b)
		if rank > before || rank == before && (a.Windows.Ratio > b.Windows.Ratio) == higher && a.Windows.Ratio != b.Windows.Ratio {
			best = c
		}
	}
	return best
}

func (s *Sessions) of(candidate int) session.Finding { return s.Findings[candidate-1] }

// Winner returns the best candidate that is Superior and keeps all constraints; 0 without such a candidate.
func (s *Sessions) Winner() int {
	if best := s.Best(); best > 0 && s.of(best).Wins() {
		return best
	}
	return 0
}

// MayKeep reports whether the winner's settings may stay. The verdict has to hold for this cluster in
// general, and not only for this hour or for switched windows.
func (s *Sessions) MayKeep() bool {
	w := s.Winner()
	return w > 0 && s.of(w).Claim == switchback.General
}

// Claim returns the scope of the verdict on the best candidate.
func (s *Sessions) Claim() v1alpha1.SweepClaim {
	switch s.of(max(s.Best(), 1)).Claim {
	case switchback.ThisHour:
		return v1alpha1.ClaimThisHour
	case switchback.SwitchedWindows:
		return v1alpha1.ClaimSwitchedWindows
	case switchback.General:
	}
	return v1alpha1.ClaimThisCluster
}

// Decision returns the next step as the planner would: a session, or the end. Before a session, configurations
// are rehearsed: applied and proven one by one, without load. The argument named rehearses is the configuration
// to rehearse next.
func (s *Sessions) Decision(planner *sweep.Planner, rehearses int) sweep.Decision {
	if s.Stop == "" {
		return sweep.Decision{Action: sweep.RunSlot, Slot: sweep.Slot{Block: s.Next, Configuration: rehearses, LengthFactor: 1}}
	}
	c := &sweep.Conclusion{Sentence: s.Sentence(planner), Winner: s.Winner()}
	c.Best = s.Best()
	return sweep.Decision{Action: sweep.Conclude, Conclusion: c}
}

// Sentence states the outcome for the best candidate in plain English. The recommendation before it has the
// other candidates.
func (s *Sessions) Sentence(planner *sweep.Planner) string {
	best := s.Best()
	if best == 0 {
		return fmt.Sprintf("There is no verdict, because %s.", s.Stop)
	}
	f, name := s.of(best), NameOf(best, planner.Configurations()[best])
	a := f.Windows
	if a.Ratio == 0 || f.Verdict == stats.Invalid {
		return fmt.Sprintf("%s: no verdict, because %s.", name, s.Stop)
	}
	claim := string(f.Claim)
	if f.Claim == switchback.SwitchedWindows {
		claim = "in switched windows only"
		if s.Quick() {
			claim += ", " + string(switchback.ThisHour)
		}
	}
	says := fmt.Sprintf("is %s %s", f.Verdict, claim)
	if f.Verdict == stats.Inconclusive {
		says = fmt.Sprintf("leads, not proven, %s", claim)
	}
	better := "higher"
	if s.spec.Objective.Metric.LowerIsBetter() {
		better = "lower"
	}
	text := fmt.Sprintf("%s %s: %s times the baseline (%s to %s; %s is better), by %s in %s.",
		name, says, ratioText(a.Ratio), ratioText(a.Interval.Low), ratioText(a.Interval.High), better,
		s.amount(best), plural(s.Valid, "session"))
	return text + s.ofConstraints(f) + s.ofDwells(best) + s.caveat(f)
}

// ofConstraints says which constraints prevent a win; "" if no constraint does.
func (s *Sessions) ofConstraints(f session.Finding) string {
	if f.Verdict != stats.Superior && !f.Breaks() || f.Keeps() {
		return ""
	}
	return " It does not win: " + sweep.NotKept(f.Constraints) + "."
}

// ofDwells states the result of a candidate's dwells; "" if its dwells were not measured.
func (s *Sessions) ofDwells(candidate int) string {
	k, has := s.dwells[candidate]
	if !has {
		return ""
	}
	agree := "which agrees"
	if s.of(candidate).Contradict {
		agree = "which contradicts the windows"
	}
	return fmt.Sprintf(" When each setting stayed applied for %d minutes, twice, the ratio was %s, %s.", int(session.DwellTime.Minutes()), ratioText(math.Exp(k.LogRatio)), agree)
}

// caveat names a question that the sessions have left open, and says how to answer it; "" without such a
// question.
func (s *Sessions) caveat(f session.Finding) string {
	switch {
	case f.Remedy == switchback.DoubleWindow:
		return fmt.Sprintf(" Windows of %v show the effect of the previous setting: %s", s.window, s.adviceFor(fmt.Sprintf("windows of %v", 2*s.window), s.linesOfSession()))
	case f.Remedy == switchback.UseBlocks:
		return fmt.Sprintf(" Windows of %v, the longest, show the effect of the previous setting: set strategy.design to Blocks and change runID.", s.window)
	case f.Contradict:
		return " Use design Blocks, in which a setting stays applied for a whole run."
	case f.Verdict == stats.Inconclusive && f.Windows.Verdict == stats.Equivalent:
		return " In switched windows they are equivalent, but settings that stay applied for minutes were not measured: " + s.adviceForDwells(f)
	case whyOf(f) == string(stats.Starved):
		return "" // More windows on these hosts would not help, and the notes say so.
	case f.Windows.Verdict == stats.Inconclusive:
		return s.missing(f.Windows)
	case f.Claim == switchback.SwitchedWindows:
		return " The load writes, and a setting may delay work for minutes, which was not measured: " + s.adviceForDwells(f)
	}
	return ""
}

// adviceForDwells says how to measure settings that stay applied for minutes. A sweep measures no dwells of a
// candidate that is Inferior or breaks a constraint, because dwells cannot make such a candidate win.
func (s *Sessions) adviceForDwells(f session.Finding) string {
	switch {
	case f.Breaks(), f.Windows.Verdict == stats.Inferior:
		return "design Blocks measures that."
	case s.Quick():
		return "use 3 or more sessions, which end with dwells, or design Blocks."
	}
	return s.adviceFor("dwells", 1)
}

// adviceFor says how to measure the dwells or longer windows with which the sweep could not continue. The first
// argument names them, as a part of the sentence; they need this number of lines in the ledger.
func (s *Sessions) adviceFor(what string, lines int) string {
	switch {
	case s.lines+lines > sweep.MaxLedger:
		return fmt.Sprintf("status.runs has no room for %s. Use fewer sessions, or design Blocks.", what)
	case s.tooManyVoid:
		return fmt.Sprintf("too many sessions were void to continue with %s. Read their events, or use design Blocks.", what)
	}
	return fmt.Sprintf("give the budget room for %s, or use design Blocks.", what)
}

// mostSessions is the largest number of sessions that the API accepts.
const mostSessions = 12

// mostMissing is the largest number of missing pairs or sessions that a message names.
const mostMissing = 1000

// missing says how many more sessions a decision needs or, for a single session, how many more pairs of
// windows. If a sweep or a session cannot have so many, the text also says how to get a decision. If no
// number of pairs or sessions up to mostMissing would decide, it says that more windows would not decide. The
// text always ends with the requirements of the verdict Equivalent.
func (s *Sessions) missing(a stats.Assessment) string {
	m, of, most, more := a.MoreRuns(), "session", fmt.Sprintf("a sweep has at most %d: try more pairs in each session", mostSessions), mostSessions-s.Valid
	equivalent := "dwells, in which a setting stays applied for minutes"
	if s.Quick() {
		m.Needed, of = m.Needed*s.pairsOfGroup(), "pair of windows"
		most, more = fmt.Sprintf("a session has at most %d: use 3 or more sessions", switchback.LastLook), switchback.LastLook-a.Runs*s.pairsOfGroup()
		equivalent = "3 or more sessions, which end with dwells, or design Blocks"
	}
	if m.Needed == 0 || m.Needed > mostMissing {
		return fmt.Sprintf(" More windows would not decide; the verdict Equivalent needs %s.", equivalent)
	}
	text := fmt.Sprintf(" About %s would decide", countMore(m.Needed, of))
	if m.Toward == stats.Equivalent {
		text = fmt.Sprintf(" About %s would show that windows are equivalent", countMore(m.Needed, of))
	}
	if m.Needed > more {
		text += ", but " + most
	}
	return text + fmt.Sprintf("; the verdict Equivalent needs %s.", equivalent)
}

func countMore(n int, of string) string {
	if n == 1 {
		return "1 more " + of
	}
	first, rest, _ := strings.Cut(of, " ")
	return strings.TrimSpace(fmt.Sprintf("%d more %ss %s", n, first, rest))
}

// amount says how many pairs of windows count for a candidate.
func (s *Sessions) amount(candidate int) string {
	pairs := 0
	for _, sum := range s.judged {
		for _, e := range sum.Objective {
			if e.Candidate == candidate {
				pairs += e.Groups
			}
		}
	}
	pairs *= s.pairsOfGroup()
	if s.Superseded > 0 {
		return fmt.Sprintf("%s of windows of %v", plural(pairs, "pair"), s.window)
	}
	return plural(pairs, "pair") + " of windows"
}

// pairsOfGroup returns how many pairs of windows each candidate has in a group. A session of one candidate has
// groups of two pairs, called quads. A session of several candidates has groups of one pair for each candidate,
// called rounds.
func (s *Sessions) pairsOfGroup() int {
	if len(s.Findings) == 1 {
		return 2
	}
	return 1
}

func ratioText(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// Outcome returns the summary of the sessions for status. It has verdicts only after the last session.
func (s *Sessions) Outcome(planner *sweep.Planner, pools map[v1alpha1.PoolName]string) (Outcome, error) {
	configurations := planner.Configurations()
	runs := int32(s.Valid) //nolint:gosec // At most MaxLedger.
	out := Outcome{Configurations: []v1alpha1.ConfigurationResult{{Index: 0, Name: NameOf(0, configurations[0]), Runs: runs}}}
	best := s.Best()
	for c := 1; c < len(configurations); c++ {
		row, f := v1alpha1.ConfigurationResult{Index: int32(c), Name: NameOf(c, configurations[c]), Runs: runs}, s.of(c)
		if a := f.Windows; s.Valid > 0 && a.Ratio > 0 {
			row.Ratio = figure.Decimal(a.Ratio)
			row.Low, row.High = interval(a.Interval)
		}
		if s.Stop != "" {
			row.Verdict, row.Reason = v1alpha1.SweepVerdict(f.Verdict), ellipsis.Cut(whyOf(f), maxReason)
		}
		out.Configurations = append(out.Configurations, row)
	}
	if best > 0 && s.of(best).Windows.Ratio > 0 {
		f := s.of(best)
		// The effect is the ratio that the windows measured, but the verdict may differ from the verdict of
		// the windows.
		out.lead(best, stats.Assessment{Ratio: f.Windows.Ratio, Verdict: f.Verdict}, f.Constraints)
		if f.Verdict != stats.Inferior {
			out.Constraints = constraintResults(s.spec, f.Constraints)
		}
	}
	if s.Stop == "" {
		return out, nil
	}
	out.Verdict, out.Claim = v1alpha1.SweepVerdict(s.of(max(best, 1)).Verdict), s.Claim()
	line := recommendation{spec: s.spec, configurations: configurations, rows: out.Configurations, leader: best, winner: s.Winner(), claim: out.Claim}
	out.Summary = summaryOf(line, s.Sentence(planner), s.notes()+closedLoopOf(s.spec))
	if w := s.Winner(); w > 0 {
		var err error
		if out.Patches, err = Patches(s.spec, configurations[w].Values, pools); err != nil {
			return Outcome{}, err
		}
	}
	return out, nil
}

// notes returns the notes on the marks of the sessions that count. Each session has windows of the baseline.
func (s *Sessions) notes() string {
	var m marked
	for _, sum := range s.judged {
		m.add(sum.Mark, true)
	}
	withheld := slices.ContainsFunc(s.Findings, func(f session.Finding) bool { return whyOf(f) == string(stats.Starved) })
	return m.notes(withheld, "session")
}

// windowsReason says why a candidate is Inconclusive, whether or not its windows alone support a verdict.
type windowsReason string

const (
	reasonCarryOver        windowsReason = "CarryOver"
	reasonDwellsContradict windowsReason = "DwellsContradict"
	reasonNoDwells         windowsReason = "NoDwells"
)

// whyOf returns one word: a windowsReason, or that the candidate breaks a constraint. Otherwise, it is the first
// reason for the verdict of the windows; "" for a verdict without reasons.
func whyOf(f session.Finding) string {
	switch {
	case f.Remedy != switchback.None:
		return string(reasonCarryOver)
	case f.Contradict:
		return string(reasonDwellsContradict)
	case f.Breaks():
		return string(sweep.ConstraintBroken)
	case f.Verdict == stats.Inconclusive && f.Windows.Verdict == stats.Equivalent:
		return string(reasonNoDwells)
	case len(f.Windows.Reasons) > 0:
		return string(f.Windows.Reasons[0].Code)
	}
	return ""
}

// Progress returns the progress of the sweep. CompletedRuns and TotalRuns include the superseded sessions.
func (s *Sessions) Progress() v1alpha1.Progress {
	total := max(int(s.plan.Sessions), s.Valid)
	if s.Stop != "" {
		total = s.Valid
	}
	summary := fmt.Sprintf("%d/%d sessions", s.Valid, total)
	switch {
	case s.Dwells > 0:
		summary = plural(s.Valid, "session") + ", dwells"
	case s.Superseded > 0:
		summary += fmt.Sprintf(", windows of %v", s.window)
	}
	return v1alpha1.Progress{
		Summary:       summary,
		CompletedRuns: int32(s.Superseded + s.Valid), TotalRuns: int32(s.Superseded + total), //nolint:gosec // At most MaxLedger.
	}
}
