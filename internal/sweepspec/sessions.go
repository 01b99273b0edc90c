package sweepspec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
)

// Sessions is the state of an interleaved sweep. It depends only on the spec, the plan and the entries of the
// ledger.
//
// In quick mode, a sweep has one session of short windows. Otherwise, it has sessions of long windows, which
// compare one candidate with the baseline: the leader. If there are several candidates, one session of short
// windows comes first, to select the leader. Sessions that draw fresh targets compare all candidates in short windows each.
type Sessions struct {
	*sweep.Planner
	// Short and Valid count the valid sessions of short and of long windows. Sessions that draw count as Valid. Invalid counts
	// all invalid sessions.
	Short, Valid, Invalid int
	// Long is the candidate of the next session, if that has long windows; 0 if it has short windows, or if no
	// session follows.
	Long int
	// NotBefore is the earliest time at which the next session may begin; zero for any time.
	NotBefore time.Time
	// Stop says why no session follows; "" if a session follows.
	Stop string
	// Findings are the verdicts that the sessions in the ledger support, one for each candidate.
	Findings []session.Finding

	leader int // the candidate of sessions of long windows; 0 before the short windows have selected it
	short  []session.Summary
	long   []session.Summary
	cost   sweep.Cost // of all trials
	trials []v1alpha1.Trial
	spec   *Spec
	plan   *v1alpha1.SweepPlan
}

var _ Design = (*Sessions)(nil)

// SessionsOf computes the state of an interleaved sweep from its trials. It counts them one by one, and decides after
// each what follows, as the sweep did then. For trials that NewSessionTrial cannot have returned, the error wraps
// sweep.ErrLedger.
func SessionsOf(spec *Spec, plan *v1alpha1.SweepPlan, trials []v1alpha1.Trial) (*Sessions, error) {
	planner, err := PlannerOf(spec, plan)
	if err != nil {
		return nil, err
	}
	fixed, err := settingsOf(spec, plan)
	if err != nil {
		return nil, err
	}
	s := &Sessions{Planner: planner, spec: spec, plan: plan}
	if !s.Quick() && !s.Draws() && plan.Configurations == 1 {
		s.leader = 1
	}
	if err := s.decide(fixed); err != nil {
		return nil, err
	}
	for i := range trials {
		if err := s.add(&trials[i]); err != nil {
			return nil, fmt.Errorf("%w: status.trials, item %d: %w", sweep.ErrLedger, i+1, err)
		}
		if err := s.decide(fixed); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func openSessions(spec *Spec, status *v1alpha1.CephTuningSweepStatus, _ *sweep.Planner) (Design, error) {
	trials, err := Trials(status)
	if err != nil {
		return nil, err
	}
	return SessionsOf(spec, status.Plan, trials)
}

// decide judges the sessions counted by the method add. It decides whether another session of short or long
// windows follows, or nothing.
func (s *Sessions) decide(fixed sweep.Settings) error {
	q, err := s.Question()
	if err != nil {
		return err
	}
	if s.Findings, err = session.Judge(q, s.short, s.long); err != nil {
		return err
	}
	without, err := session.Judge(q, session.Fed(s.short), session.Fed(s.long))
	if err != nil {
		return err
	}
	s.Findings = session.Withhold(s.Findings, without) // A gain that only starved sessions prove does not count.
	if s.leader == 0 && s.Short > 0 && !s.Quick() {
		s.leader = s.Best()
	}
	s.Long, s.Stop = s.leader, s.stop(fixed)
	if s.Stop != "" {
		s.Long = 0
	}
	return nil
}

// betweenDays is the pause between sessions of long windows that are spread over days.
const betweenDays = 18 * time.Hour

// add counts a trial.
func (s *Sessions) add(t *v1alpha1.Trial) error {
	if err := checkTrial(t, s.Number()); err != nil {
		return err
	}
	s.trials = append(s.trials, *t)
	s.cost.Time += time.Duration(t.DurationSeconds) * time.Second
	s.cost.Bytes += t.WrittenMebibytes << 20
	if t.State != v1alpha1.TrialValid {
		s.Invalid++
		return nil
	}
	sum, err := summaryOfTrial(t, len(s.spec.Constraints), DrawsCurves(s.spec))
	if err != nil {
		return err
	}
	if t.Windows != v1alpha1.WindowsLong && !s.Draws() {
		s.Short++
		s.short = append(s.short, sum)
		return nil
	}
	s.Valid++
	if s.Draws() {
		s.short = append(s.short, sum)
	} else {
		s.long = append(s.long, sum)
	}
	if s.Daily() && t.EndTime != nil {
		s.NotBefore = t.EndTime.Add(betweenDays)
	}
	return nil
}

// Draws reports whether each session compares all candidates, with fresh targets.
func (s *Sessions) Draws() bool { return Draws(s.spec, s.plan) }

// Daily reports whether sessions of long windows, or with fresh targets, lie a day apart.
func (s *Sessions) Daily() bool { return s.spec.Strategy.Interleaved.Daily && !s.Quick() }

// Question returns the question that the sessions answer.
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
			Curves: DrawsCurves(s.spec), MaxSessions: s.maxSessions(), Draws: s.Draws(), Pools: s.spec.Template.Target.ScratchPool != nil, Daily: s.Daily(),
		},
		Objective:   session.Figure{Metric: objective.Metric, Direction: objective.Direction},
		Constraints: constraints,
		Offered:     offeredInSession(s.spec),
	}, nil
}

func (s *Sessions) maxSessions() int { return max(int(s.plan.Sessions), switchback.LeastSessions) }

// Quick reports whether the sweep has a single session of short windows, which is judged at one or several
// looks.
func (s *Sessions) Quick() bool { return s.plan.Sessions == 1 }

// stop says why no session follows; "" if a session follows.
func (s *Sessions) stop(fixed sweep.Settings) string {
	switch {
	case s.Quick() && s.Short > 0:
		return "all sessions have been measured"
	case s.leader > 0 && s.finding(s.leader).Breaks():
		return s.name(s.leader) + " breaks a constraint"
	case s.Valid >= switchback.LeastSessions && s.decided():
		return "the sessions decide"
	case !s.Quick() && s.Valid >= s.maxSessions():
		return "all sessions have been measured"
	case s.Invalid > fixed.MaxFailedRuns:
		return fmt.Sprintf("%d trials are invalid, and guardrails.maxFailedRuns allows %d", s.Invalid, fixed.MaxFailedRuns)
	}
	return s.exceeds(fixed, s.costOfNext(s.leader))
}

// decided reports whether no further session is needed: the leader is decided or, without one, all candidates, or the best one is
// known.
func (s *Sessions) decided() bool {
	if s.leader > 0 {
		return Decided(s.finding(s.leader))
	}
	q, err := s.Question()
	return err == nil && (!slices.ContainsFunc(s.Findings, func(f session.Finding) bool { return !Decided(f) }) || WinnerKnown(q, s.Findings))
}

// exceeds says that a part of the budget has no room for another session; "" if all parts have room.
func (s *Sessions) exceeds(fixed sweep.Settings, next sweep.Cost) string {
	budget, after := fixed.Budget, sweep.Estimate{Time: s.cost.Time + next.Time, Bytes: s.cost.Bytes + next.Bytes}
	switch {
	case !(sweep.Budget{Time: budget.Time, Reserve: budget.Reserve}).Affordable(after):
		return "budget.duration (--budget) has no room for another session"
	case !budget.Affordable(after):
		return "budget.bytesWritten has no room for another session"
	}
	return ""
}

// Prefill returns how many bytes a session writes besides the load that it measures: its prefill and the
// estimated bytes of the background load. These are the planned bytes of a session without those of its load.
func (s *Sessions) Prefill() int64 {
	loaded := Ramp(s.spec) + underLoad(s.plan)
	return max(expectedOf(s.plan).Bytes-int64(loaded.Seconds()*writtenPerSecond(sessionPhase(s.spec), s.spec.Template.Clients.Count)), 0)
}

// LoadBytes returns how many bytes the load of the next session may write within the budget.
func (s *Sessions) LoadBytes() int64 {
	limit := s.spec.Budget.BytesWritten.Value()
	if limit == 0 {
		return math.MaxInt64
	}
	return max(limit-s.cost.Bytes-s.Prefill(), 0)
}

// Writes reports whether the load of a session writes.
func (s *Sessions) Writes() bool { return writesInSession(s.spec) }

// Expected returns the estimated cost of the next session.
func (s *Sessions) Expected() sweep.Cost { return s.costOfNext(s.Long) }

func (s *Sessions) costOfNext(long int) sweep.Cost {
	if long > 0 && !s.Draws() {
		return costOf(s.plan, longUnderLoad(s.spec))
	}
	return expectedOf(s.plan)
}

// TimeLeft returns the expected time from the start of the next session's load until the sweep has restored
// everything. The sweep takes less time if fewer sessions suffice for the verdict.
func (s *Sessions) TimeLeft() time.Duration {
	if s.Quick() {
		return underLoad(s.plan) + restoreOf(s.plan)
	}
	lasts, after := longUnderLoad(s.spec), max(s.maxSessions()-s.Valid-1, 0)
	switch {
	case s.Draws():
		lasts = underLoad(s.plan)
	case s.Long == 0:
		lasts, after = underLoad(s.plan), s.maxSessions()
	}
	each := s.costOfNext(max(s.leader, 1)).Time
	if s.Daily() {
		each += betweenDays
	}
	return lasts + time.Duration(after)*each + restoreOf(s.plan)
}

// Decided reports whether a candidate needs no more windows: it breaks a constraint, or its assessment is neither
// Inconclusive nor Invalid, and confirmed by the randomisation test. For the verdict Superior, the candidate must
// also be known to keep all constraints. Windows cannot show equivalence, so a candidate is decided, too, when an
// effect that matters is ruled out.
func Decided(f session.Finding) bool {
	switch {
	case f.Breaks(), f.Assessment.EffectRuledOut():
		return true
	case f.Assessment.Verdict == stats.Inconclusive, f.Assessment.Verdict == stats.Invalid, f.Unconfirmed:
		return false
	case f.Assessment.Verdict == stats.Superior:
		return f.Keeps()
	}
	return true
}

// WinnerKnown reports whether a session need not continue: see [switchback.Question.BestIsKnown].
func WinnerKnown(q session.Question, all []session.Finding) bool {
	findings := make([]switchback.Finding, len(all))
	for i, f := range all {
		findings[i] = f.Finding
	}
	return q.BestIsKnown(findings, func(i int) bool { return all[i].Wins() }, func(i int) bool { return Decided(all[i]) && !all[i].CarryOver })
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

// Best returns the leader. Without a leader, it returns the winner of the short windows or, if there is none, the
// candidate closest to winning; 0 without a valid session.
func (s *Sessions) Best() int {
	switch {
	case s.Short == 0 && s.Valid == 0:
		return 0
	case s.leader > 0:
		return s.leader
	}
	higher := !s.spec.Objective.Metric.LowerIsBetter()
	best := 1
	for c := 2; c <= len(s.Findings); c++ {
		a, b := s.finding(c), s.finding(best)
		rank, before := rankOf(a), rankOf(b)
		if rank > before || rank == before && (a.Assessment.Ratio > b.Assessment.Ratio) == higher && a.Assessment.Ratio != b.Assessment.Ratio {
			best = c
		}
	}
	return best
}

func (s *Sessions) finding(candidate int) session.Finding { return s.Findings[candidate-1] }

// Winner returns the best candidate that is Superior and keeps all constraints; 0 without such a candidate.
func (s *Sessions) Winner() int {
	if best := s.Best(); best > 0 && s.finding(best).Wins() {
		return best
	}
	return 0
}

// Scope returns the scope of the verdict on the best candidate.
func (s *Sessions) Scope(*sweep.Conclusion) v1alpha1.SweepScope {
	return scopeOf(s.finding(max(s.Best(), 1)).Scope)
}

func scopeOf(s switchback.Scope) v1alpha1.SweepScope {
	return [...]v1alpha1.SweepScope{
		switchback.Windows: v1alpha1.ScopeWindows, switchback.Pool: v1alpha1.ScopePool,
		switchback.Pools: v1alpha1.ScopePools, switchback.Days: v1alpha1.ScopeCluster,
	}[s]
}

// Number implements [Design].
func (s *Sessions) Number() int { return len(s.trials) + 1 }

// Next implements [Design].
func (s *Sessions) Next() sweep.Decision {
	if s.Stop == "" {
		return sweep.Decision{Action: sweep.RunTrial, Trial: sweep.Trial{Block: s.Number(), LengthFactor: 1}}
	}
	c := &sweep.Conclusion{Sentence: s.Sentence(), Winner: s.Winner()}
	c.Best = s.Best()
	return sweep.Decision{Action: sweep.Conclude, Conclusion: c}
}

// ContinuesBlock implements [Design]: the blocks of windows are within a trial.
func (*Sessions) ContinuesBlock() bool { return false }

// Enter implements [Design].
func (s *Sessions) Enter(t v1alpha1.Trial) (Design, error) {
	return SessionsOf(s.spec, s.plan, append(slices.Clip(s.trials), t))
}

// Record implements [Design].
func (s *Sessions) Record(time.Time) (func(*v1alpha1.CephTuningSweepStatus), error) {
	outcome, err := s.Judge(nil)
	if err != nil {
		return nil, err
	}
	outcome.Verdict, outcome.Scope, outcome.Summary, outcome.Patches = "", "", "", nil
	return func(status *v1alpha1.CephTuningSweepStatus) {
		status.Trials, status.Runs = s.trials, nil
		outcome.Write(status)
		progress := s.Progress()
		status.Progress = &progress
	}, nil
}

// Sentence states the outcome for the best candidate in plain English. The recommendation before it has the
// other candidates.
func (s *Sessions) Sentence() string {
	best := s.Best()
	if best == 0 {
		return fmt.Sprintf("There is no verdict, because %s.", s.Stop)
	}
	f, name := s.finding(best), NameOf(best, s.Configurations()[best])
	a := f.Assessment
	if gaveNoRate(f) {
		return s.noRate(name)
	}
	if a.Ratio == 0 || f.Verdict == stats.Invalid {
		return fmt.Sprintf("%s: no verdict, because %s.", name, s.Stop)
	}
	better, worse := "higher", a.Ratio < 1
	if s.spec.Objective.Metric.LowerIsBetter() {
		better, worse = "lower", a.Ratio > 1
	}
	message := fmt.Sprintf("is %s %s", f.Verdict, s.scopeText(f))
	switch {
	case f.Assessment.EffectRuledOut(), f.Assessment.Verdict == stats.Equivalent: // A difference below what matters is no lead.
	case f.Verdict == stats.Inconclusive && worse:
		message = "trails the baseline, not proven, " + s.scopeText(f)
	case f.Verdict == stats.Inconclusive:
		message = "leads, not proven, " + s.scopeText(f)
	}
	text := fmt.Sprintf("%s %s: %s times the baseline (%s to %s; %s is better), %s.",
		name, message, ratioText(a.Ratio), ratioText(a.Interval.Low), ratioText(a.Interval.High), better, s.amount(f, best))
	return text + s.ofConstraints(f) + unseen(f) + s.caveat(f)
}

// noRate says which curve has no rate that keeps the limit.
func (s *Sessions) noRate(name string) string {
	typical := typicalFigures(s.spec, s.trials)
	if _, known := typical[switchback.Baseline]; !known {
		name = NameOf(switchback.Baseline, s.Configurations()[switchback.Baseline])
	}
	return fmt.Sprintf("The curve of %s does not show which rate keeps the limit, so there is no ratio. kubectl cephtune report has its steps, and says why.", name)
}

// unseen says which stalls a verdict allows for; "" for a verdict that claims no difference.
func unseen(f session.Finding) string {
	share := f.Assessment.UnseenStalls()
	if share == 0 || f.Verdict != f.Assessment.Verdict {
		return ""
	}
	return fmt.Sprintf(" Stalls for up to %s of the time would not undo this; longer ones may have gone unseen.", percentText(share))
}

// ofConstraints says which constraints prevent a win; "" if no constraint does.
func (s *Sessions) ofConstraints(f session.Finding) string {
	if f.Verdict != stats.Superior && !f.Breaks() || f.Keeps() {
		return ""
	}
	return " It does not win: " + sweep.NotKept(f.Constraints) + "."
}

// scopeText says what the verdict on a candidate speaks for.
func (s *Sessions) scopeText(f session.Finding) string {
	noun := NounOf(s.spec)
	pool, limit := noun.these(), ""
	switch {
	case noun == nounVolume:
		pool = "the volumes of " + plural(f.Sessions, "session")
	case s.spec.Template.Target.ScratchPool != nil:
		pool = plural(f.Sessions, "pool") + noun.each()
	}
	if s.Draws() {
		limit = switchedNote
	}
	switch f.Scope {
	case switchback.Windows:
		return ScopeNote(s.spec, s.plan, v1alpha1.ScopeWindows)
	case switchback.Days:
		return fmt.Sprintf("on this cluster, by %s on %s", pool, plural(f.Sessions, "day"))
	default:
		return fmt.Sprintf("on %s, in this hour", pool) + limit
	}
}

// caveat names a question that the sessions have left open, and says how to answer it; "" without such a
// question.
func (s *Sessions) caveat(f session.Finding) string {
	switch {
	case f.CarryOver:
		return fmt.Sprintf(" Short windows show the effect of the previous %s: %s", NounOf(s.spec), s.longer())
	case f.NeedsLong:
		return fmt.Sprintf(" Short windows cannot show how a %s acts for longer: %s", NounOf(s.spec), s.longer())
	case f.Unconfirmed:
		return " Random orders of the windows give such a result too often: use more pairs."
	case whyOf(f) == string(stats.Starved):
		return "" // More windows on these hosts would not help, and the notes say so.
	case whyOf(f) == string(reasonRuledOut):
		return fmt.Sprintf(" A gain or a loss of %s is ruled out; for smaller ones, lower minimumEffect (--minimum-effect).", s.spec.Objective.MinimumEffect)
	case f.Assessment.Verdict == stats.Inconclusive:
		return s.missing(f)
	case f.Scope == switchback.Windows, s.Draws():
		return fmt.Sprintf(" What a %s causes after a few seconds was not measured: %s", NounOf(s.spec), s.longer())
	}
	return ""
}

// longer says how to measure treatments that stay applied for longer.
func (s *Sessions) longer() string {
	switch {
	case s.Draws():
		return "use design: Blocks."
	case s.Quick():
		return s.leaveQuick() + "."
	}
	return s.Stop + "."
}

// leaveQuick says, to people who write YAML and to those who type flags, how to leave the quick mode.
func (s *Sessions) leaveQuick() string {
	if DrawsCurves(s.spec) {
		return "use design: Blocks (--design blocks)"
	}
	return fmt.Sprintf("use sessions: %d (with flags, no --quick)", switchback.DefaultSessions)
}

// mostSessions is the largest number of sessions that the API accepts.
const mostSessions = 12

// mostMissing is the largest number of missing pairs or sessions that a message names.
const mostMissing = 1000

// missing says how many more sessions a decision needs or, for short windows, how many more pairs of windows. If
// a sweep or a session cannot have so many, the text also says how to get a decision. If no number of pairs or
// sessions up to mostMissing would decide, it says that more windows would not decide.
func (s *Sessions) missing(f session.Finding) string {
	if DrawsCurves(s.spec) {
		return " More pairs, or a longer window, make the interval narrower."
	}
	m, subject, most, more := f.Assessment.MoreRuns(), "session", fmt.Sprintf("a sweep has at most %d: use a longer longWindow", mostSessions), mostSessions-s.Valid
	if s.Draws() {
		most = fmt.Sprintf("a sweep has at most %d: use more pairs, or design: Blocks", mostSessions)
	}
	if f.Scope == switchback.Windows {
		m.Needed, subject = m.Needed*s.pairsOfBlock(), "pair of windows"
		most, more = fmt.Sprintf("a session has at most %d: %s", switchback.LastLook, s.leaveQuick()), switchback.LastLook-f.Assessment.Runs*s.pairsOfBlock()
	}
	if m.Needed == 0 || m.Needed > mostMissing {
		return " More windows would not decide."
	}
	text := fmt.Sprintf(" About %s would decide", countMore(m.Needed, subject))
	if m.Toward == stats.Equivalent && f.Scope == switchback.Windows {
		text = fmt.Sprintf(" About %s would show that windows are equivalent", countMore(m.Needed, subject))
	}
	if m.Needed > more {
		text += ", but " + most
	}
	return text + "."
}

func countMore(n int, subject string) string {
	if n == 1 {
		return "1 more " + subject
	}
	first, rest, _ := strings.Cut(subject, " ")
	return strings.TrimSpace(fmt.Sprintf("%d more %ss %s", n, first, rest))
}

// amount says what the verdict on a candidate is based on.
func (s *Sessions) amount(f session.Finding, candidate int) string {
	if s.Draws() {
		return fmt.Sprintf("by %s of %s of windows of %v each", plural(f.Sessions, "session"), plural(int(s.plan.Pairs), "pair"), windowOf(s.plan))
	}
	if f.Scope != switchback.Windows {
		long := longWindowOf(s.spec)
		return fmt.Sprintf("by %s of windows of %v in which %ss had settled for %v", plural(f.Sessions, "pair"), long, NounOf(s.spec), session.SettleTime(long))
	}
	pairs := 0
	for _, sum := range s.short {
		for _, e := range sum.Objective {
			if e.Candidate == candidate {
				pairs += e.Blocks
			}
		}
	}
	if DrawsCurves(s.spec) {
		return fmt.Sprintf("by %s of steps of %v", plural(pairs, "pair"), windowOf(s.plan)-session.AroundStep)
	}
	return fmt.Sprintf("by %s of windows of %v", plural(pairs*s.pairsOfBlock(), "pair"), windowOf(s.plan))
}

// name returns the name of a candidate in sentences without a planner.
func (s *Sessions) name(candidate int) string { return fmt.Sprintf("configuration %d", candidate) }

// pairsOfBlock returns how many pairs of windows each candidate has in a block: two for a session of one
// candidate, and one for a session of several.
func (s *Sessions) pairsOfBlock() int {
	if len(s.Findings) == 1 && !DrawsCurves(s.spec) {
		return 2
	}
	return 1
}

func ratioText(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

func plural(n int, subject string) string {
	if n == 1 {
		return "1 " + subject
	}
	return fmt.Sprintf("%d %ss", n, subject)
}

// Judge implements [Design]. Before the last session, the outcome has no verdicts.
func (s *Sessions) Judge(pools map[v1alpha1.PoolName]string) (Outcome, error) {
	configurations := s.Configurations()
	out := Outcome{Configurations: []v1alpha1.ConfigurationResult{rowOf(0, configurations, s.Short+s.Valid)}}
	best := s.Best()
	for c := 1; c < len(configurations); c++ {
		f := s.finding(c)
		row := rowOf(c, configurations, s.sessionsOf(f))
		if a := f.Assessment; a.Ratio > 0 {
			row.Ratio = figure.Decimal(a.Ratio)
			row.Low, row.High = interval(a.Interval)
		}
		if s.Stop != "" {
			row.Verdict, row.Reason = v1alpha1.SweepVerdict(f.Verdict), ellipsis.Cut(whyOf(f), maxReason)
		}
		out.Configurations = append(out.Configurations, row)
	}
	out.figures(s.spec, s.trials, best)
	if best > 0 && s.finding(best).Assessment.Ratio > 0 {
		f := s.finding(best)
		// The effect is the ratio that the windows measured, but the verdict may differ from the verdict of
		// the windows.
		out.lead(best, stats.Assessment{Ratio: f.Assessment.Ratio, Verdict: f.Verdict}, f.Constraints)
		if f.Verdict != stats.Inferior {
			out.Constraints = constraintResults(s.spec, f.Constraints)
		}
	}
	if s.Stop == "" {
		return out, nil
	}
	out.Verdict, out.Scope = v1alpha1.SweepVerdict(s.finding(max(best, 1)).Verdict), s.Scope(nil)
	line := recommendation{spec: s.spec, plan: s.plan, configurations: configurations, rows: out.Configurations, leader: best, winner: s.Winner(), scope: out.Scope, switched: s.switched()}
	err := out.advise(line, s.Sentence(), "", s.notes(), pools)
	return out, err
}

// switched returns the candidates whose verdict speaks for switched windows only, if the best candidate's speaks for
// more.
func (s *Sessions) switched() (candidates []int) {
	for i, f := range s.Findings {
		if f.Scope == switchback.Windows && s.Scope(nil) != v1alpha1.ScopeWindows {
			candidates = append(candidates, i+1)
		}
	}
	return candidates
}

// notes returns the notes on the marks of the sessions that count. Each session has windows of the baseline.
func (s *Sessions) notes() string {
	var m marked
	for _, sum := range slices.Concat(s.short, s.long) {
		m.add(sum.Mark, true)
	}
	withheld := slices.ContainsFunc(s.Findings, func(f session.Finding) bool { return whyOf(f) == string(stats.Starved) })
	return m.notes(withheld, "session")
}

// windowsReason says why a candidate is Inconclusive, whether or not its windows alone support a verdict.
type windowsReason string

const (
	reasonCarryOver   windowsReason = "CarryOver"
	reasonShort       windowsReason = "NoLongWindows"
	reasonUnconfirmed windowsReason = "RandomisationOpen"
	reasonRuledOut    windowsReason = "EffectRuledOut"
	reasonNoRate      windowsReason = "NoRate"
)

// whyOf returns one word: a windowsReason, or that the candidate breaks a constraint. Otherwise, it is the first
// reason for the verdict of the windows; "" for a verdict without reasons.
func whyOf(f session.Finding) string {
	switch {
	case gaveNoRate(f):
		return string(reasonNoRate)
	case f.CarryOver:
		return string(reasonCarryOver)
	case f.Breaks():
		return string(sweep.ConstraintBroken)
	case f.NeedsLong:
		return string(reasonShort)
	case f.Unconfirmed:
		return string(reasonUnconfirmed)
	case f.Assessment.EffectRuledOut() && codeOf(f) != string(stats.Starved):
		return string(reasonRuledOut)
	}
	return codeOf(f)
}

// gaveNoRate reports whether curves in turns gave no ratio.
func gaveNoRate(f session.Finding) bool {
	return f.Verdict == stats.Inconclusive && f.Assessment.Runs == 0 && f.Scope == switchback.Windows
}

// codeOf returns the first reason for the verdict of the windows or sessions; "" without one.
func codeOf(f session.Finding) string {
	if len(f.Assessment.Reasons) == 0 {
		return ""
	}
	return string(f.Assessment.Reasons[0].Code)
}

// sessionsOf returns how many sessions the verdict on a candidate is based on.
func (s *Sessions) sessionsOf(f session.Finding) int {
	if f.Scope == switchback.Windows && !s.Draws() {
		return s.Short
	}
	return f.Sessions
}

// Progress returns the progress of the sweep.
func (s *Sessions) Progress() v1alpha1.Progress {
	done, total := s.Short+s.Valid, plannedSessions(s.spec, s.plan)
	if s.Stop != "" {
		total = done
	}
	summary := fmt.Sprintf("%d/%d sessions", done, total)
	if s.Long > 0 {
		summary += ", long windows"
	}
	return v1alpha1.Progress{
		Summary: summary, CompletedRuns: int32(done), TotalRuns: int32(total), //nolint:gosec // At most MaxLedger.
	}
}
