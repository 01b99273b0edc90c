package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/cephtune/cephtune/internal/stats"
)

// replay is the state of a sweep. It is computed by reading the ledger from the beginning, and nothing else
// changes it.
type replay struct {
	*Planner

	stage   Stage
	block   int
	attempt int
	order   []Trial // of the current attempt
	next    int     // index of the trial to be run
	repeat  int     // tries of that trial so far
	length  int     // length factor of its next try

	measured []measurement // valid runs of the current attempt
	blocks   []block       // accepted blocks

	live      []int             // candidates in the race, ascending
	left      map[int]departure // candidates that left the race
	faulty    map[int]*faulty   // of each configuration
	winner    int               // of the race; 0 during the race, and if the race has no winner
	confirm   int               // maximum number of confirmation blocks, fixed when the confirmation starts
	spent     spent
	failed    int         // failed runs, except those of withdrawn candidates
	rejected  int         // rejected attempts at blocks
	drifted   int         // blocks rejected for drift
	lastDrift stats.Drift // of the last block rejected for drift
	accepted  int         // number of the last accepted block

	events []Event // consequences of the last ledger entry
	stop   StopCode
}

// faulty counts the invalid runs of a configuration, and the missed blocks of a candidate.
type faulty struct {
	missed map[int]bool    // blocks with an attempt in which every try of the candidate was invalid; a block counts once
	runs   map[Outcome]int // number of invalid runs, including those that were repeated
}

// departure records how a candidate left the race, and the results at that moment. It keeps the
// verdict, because a verdict that is computed later would depend on the candidates that stayed.
type departure struct {
	judgement judgement // empty for a withdrawn candidate
	reason    EventCode
	lag       float64        // of a beaten candidate: its gain minus the leader's gain, in logs, below 0
	faults    []stats.Reason // of a withdrawn candidate
}

func (p *Planner) begin() (*replay, error) {
	r := &replay{Planner: p, stage: Race, left: map[int]departure{}, faulty: map[int]*faulty{}}
	for c := range p.configurations {
		r.faulty[c] = &faulty{missed: map[int]bool{}, runs: map[Outcome]int{}}
		if c > 0 {
			r.live = append(r.live, c)
		}
	}
	return r, r.openBlock()
}

// read replays a whole ledger.
func (p *Planner) read(ledger []Run) (*replay, error) {
	r, err := p.begin()
	if err != nil {
		return nil, err
	}
	for i, run := range ledger {
		if err := r.advance(run.Rounded()); err != nil {
			return nil, fmt.Errorf("ledger entry %d: %w", i, err)
		}
	}
	return r, nil
}

// trial returns the trial to run next.
func (r *replay) trial() Trial {
	s := r.order[r.next]
	s.Repeat, s.LengthFactor = r.repeat, r.length
	return s
}

// advance adds one ledger entry to the state.
func (r *replay) advance(run Run) error {
	if r.stop != "" {
		return fmt.Errorf("%w: a run after the end of the sweep", ErrLedger)
	}
	trial := r.trial()
	if err := run.check(trial, 1+len(r.settings.Constraints)); err != nil {
		return err
	}
	r.events = nil
	r.spent.add(run)
	switch run.Outcome {
	case Valid:
		r.measured = append(r.measured, measurement{trial: trial, values: run.Values, starved: run.Starved})
		return r.nextPosition()
	case Interrupted:
		r.note(Event{Code: BlockInterrupted})
		return r.openAttempt()
	case NotSteady, Failed, Inert:
	}
	return r.invalidRun(trial, run.Outcome)
}

func (r *replay) note(e Event) {
	e.Block = r.block
	r.events = append(r.events, e)
}

func (r *replay) end(reason StopCode) error {
	r.stop = reason
	r.note(Event{Code: SweepStopped, Stop: reason})
	return nil
}

// invalidRun repeats an invalid run once in its trial. After a second invalid run, the trial stays without a
// value. A candidate is withdrawn after its first inert run, or after two missed blocks.
//
// invalidRun decides a withdrawal before it checks the limit of failed runs, and failures of a withdrawn
// candidate do not count. So the failures of a single candidate end the sweep only if the limit is below
// three, or if they exceed the limit before the candidate has missed two blocks. That happens if its repeats
// are valid, or if it fails again in further attempts at the same block.
func (r *replay) invalidRun(trial Trial, outcome Outcome) error {
	c := trial.Configuration
	name, record := r.configurations[c].Name, r.faulty[c]
	record.runs[outcome]++
	if outcome == Failed {
		r.failed++
	}
	inert := outcome == Inert && c != 0
	r.repeat++
	again := r.repeat < triesPerPosition && !inert
	if !again && trial.Role == Candidate {
		record.missed[trial.Block] = true
		if inert || len(record.missed) >= missesToWithdraw {
			return r.withdraw(c, outcome)
		}
	}
	switch {
	case r.failed > r.settings.MaxFailedRuns:
		return r.end(TooManyFailedRuns)
	case again:
		r.note(Event{Code: RunRepeated, Candidate: name, Outcome: outcome})
		if outcome == NotSteady {
			r.length = 2
		}
		return r.affordOrEnd(1)
	}
	r.note(Event{Code: RunMissing, Candidate: name, Outcome: outcome})
	if r.needs(trial) {
		return r.reject(Event{Code: BlockLostControl}) // The rest of the block would not count.
	}
	return r.nextPosition()
}

// withdraw removes a candidate with invalid runs from the race. If no candidate is left, or the candidate is
// the winner in the confirmation, the sweep ends.
func (r *replay) withdraw(c int, outcome Outcome) error {
	r.note(Event{Code: CandidateWithdrawn, Candidate: r.configurations[c].Name, Outcome: outcome})
	code := map[Outcome]stats.ReasonCode{NotSteady: stats.NotSteady, Failed: stats.RunsFailed, Inert: stats.Inert}[outcome]
	r.left[c] = departure{reason: CandidateWithdrawn, faults: []stats.Reason{{Code: code, Count: r.faulty[c].runs[outcome]}}}
	r.failed -= r.faulty[c].runs[Failed]
	r.live = slices.DeleteFunc(r.live, func(l int) bool { return l == c })
	if r.stage == Confirmation || len(r.live) == 0 {
		return r.end(Decided)
	}
	return r.nextPosition()
}

func (r *replay) nextPosition() error {
	r.next, r.repeat, r.length = r.next+1, 0, 1
	if r.next < len(r.order) {
		return r.affordOrEnd(1)
	}
	return r.closeBlock()
}

func (r *replay) affordOrEnd(runs int) error {
	if !r.affords(r.spent, runs) {
		return r.end(BudgetSpent)
	}
	return nil
}

// openBlock lays out the next block of the stage.
func (r *replay) openBlock() error {
	r.block, r.attempt = r.block+1, 0
	return r.openAttempt()
}

func (r *replay) openAttempt() error {
	r.attempt++
	r.order = r.Planner.order(r.stage, r.block, r.attempt, r.candidates())
	r.next, r.repeat, r.length, r.measured = 0, 0, 1, nil
	return r.affordOrEnd(len(r.order))
}

// candidates returns the candidates in a block of the current stage.
func (r *replay) candidates() []int {
	if r.stage == Confirmation {
		return []int{r.winner}
	}
	return r.live
}

// closeBlock accepts the current attempt and continues the stage, or rejects the attempt.
func (r *replay) closeBlock() error {
	controls := controlsOf(r.measured, 0)
	if !r.hasBaseline(controls) {
		return r.reject(Event{Code: BlockLostControl})
	}
	drift, err := r.checkDrift(controls)
	if err != nil {
		return err
	}
	if drift.Rejected {
		r.drifted, r.lastDrift = r.drifted+1, drift
		return r.reject(Event{Code: BlockRejected, Value: drift.LogRatio, Limit: drift.Limit})
	}
	accepted, err := makeBlock(r.stage, r.measured)
	if err != nil {
		return err
	}
	r.blocks, r.accepted = append(r.blocks, accepted), r.block
	r.note(Event{Code: BlockAccepted, Value: drift.LogRatio, Count: len(controls)})
	if r.stage == Confirmation {
		return r.continueConfirmation()
	}
	return r.continueRace()
}

// needs reports whether a block is useless without the run of a trial: the only baseline run, or the control
// at the beginning of the block. If the control at the end is missing, hasBaseline detects that.
func (r *replay) needs(trial Trial) bool {
	if trial.Configuration != 0 {
		return false
	}
	baselines := 0
	for _, s := range r.order {
		if s.Configuration == 0 {
			baselines++
		}
	}
	return baselines == 1 || r.beganWithControl() && trial.Position == 0
}

// beganWithControl reports whether the attempt has a control at each end. It does not use the present number of
// candidates, because a candidate may have left since the attempt began.
func (r *replay) beganWithControl() bool { return r.order[0].Role == Control }

// hasBaseline reports whether an attempt has all baseline runs that it needs.
func (r *replay) hasBaseline(controls []stats.Control) bool {
	if len(controls) == 0 {
		return false
	}
	last := float64(len(r.order) - 1)
	return !r.beganWithControl() || controls[0].At == 0 && controls[len(controls)-1].At == last
}

// checkDrift compares the first run of the baseline in a block with the last one.
func (r *replay) checkDrift(controls []stats.Control) (stats.Drift, error) {
	noise, err := r.believedNoise()
	if err != nil {
		return stats.Drift{}, err
	}
	margin := r.settings.criteria(stats.Looks{}).Margin()
	return stats.CheckDrift(controls[0].Value, controls[len(controls)-1].Value, margin, noise)
}

func (r *replay) noise() (stats.Noise, error) { return noiseOf(r.blocks, len(r.configurations)-1) }

// believedNoise returns the noise of the earlier blocks. While these are too few to reject a block, it
// returns +Inf. It never uses later blocks, so an accepted block stays accepted.
func (r *replay) believedNoise() (float64, error) {
	noise, err := r.noise()
	if noise.DF < noiseDF {
		return math.Inf(1), err
	}
	return noise.StdDev, err
}

func (r *replay) reject(reason Event) error {
	r.note(reason)
	if r.rejected++; r.rejected > r.settings.MaxRejectedBlocks {
		return r.end(TooManyRejectedBlocks)
	}
	return r.openAttempt()
}

// continueRace decides after a block which candidates leave the race. It then continues the race, starts the
// confirmation or ends the sweep.
func (r *replay) continueRace() error {
	blocks := countBlocks(r.blocks, Race)
	if err := r.look(blocks); err != nil {
		return err
	}
	if len(r.live) == 0 {
		return r.end(Decided)
	}
	most, _ := r.MaxBlocks()
	full := blocks >= most
	switch leader, gain, err := r.favourite(blocks); {
	case err != nil:
		return err
	case r.worthConfirming(gain) && (r.alone(blocks) || full || !r.affordsBlockAndConfirmation()):
		return r.startConfirmation(leader, gain)
	case full:
		return r.end(MaxBlocksReached)
	}
	return r.openBlock()
}

// alone reports whether racing has left only one candidate. It is false until enough blocks were measured to
// call candidates beaten.
func (r *replay) alone(blocks int) bool {
	return r.settings.Racing && len(r.live) == 1 && blocks >= r.cutsFrom()
}

// favourite returns the leader among the candidates that may be confirmed, or 0. Without racing,
// candidates that break a constraint stay in the race, so favourite excludes them.
func (r *replay) favourite(blocks int) (int, stats.Contrast, error) {
	may := r.live
	if !r.settings.Racing && blocks >= stats.MinRuns {
		js, err := r.judgeRace()
		if err != nil {
			return 0, stats.Contrast{}, err
		}
		may = slices.DeleteFunc(slices.Clone(r.live), func(c int) bool { return js[c].breaksConstraint() })
	}
	return r.leader(r.blocks, may)
}

// worthConfirming reports whether a candidate's gain exceeds the minimum effect, so that a confirmation may
// end in a win. A single candidate needs no confirmation.
func (r *replay) worthConfirming(gain stats.Contrast) bool {
	return !r.sole() && gain.Runs >= firstCut && gain.LogRatio > r.settings.criteria(stats.Looks{}).Margin()
}

// look drops candidates that can no longer win, and a single candidate once it has won.
func (r *replay) look(blocks int) error {
	if !r.settings.Racing {
		return nil
	}
	if blocks >= r.raceCriteria().Looks.First {
		if err := r.dropDecided(); err != nil {
			return err
		}
	}
	if blocks >= r.cutsFrom() {
		return r.dropBeaten()
	}
	return nil
}

// dropDecided drops candidates that break a constraint or whose verdict is known. A Superior candidate stays,
// unless it is the only candidate of the sweep and keeps its constraints.
func (r *replay) dropDecided() error {
	js, err := r.judgeRace()
	if err != nil {
		return err
	}
	for _, c := range slices.Clone(r.live) {
		switch v := js[c].assessment.Verdict; {
		case js[c].breaksConstraint():
			r.leave(c, Event{Code: ConstraintBroken})
		case v == stats.Equivalent || v == stats.Better || v == stats.Inferior,
			r.sole() && v == stats.Superior && js[c].keepsConstraints():
			r.leave(c, Event{Code: CandidateDecided})
		default:
			continue
		}
		r.freeze(c, js[c])
	}
	return nil
}

// dropBeaten drops candidates that lag behind the leader by more than noise explains.
func (r *replay) dropBeaten() error {
	defeats := r.beaten(r.blocks, r.live)
	if len(defeats) == 0 {
		return nil
	}
	for _, c := range slices.Clone(r.live) {
		if d, ok := defeats[c]; ok {
			r.leave(c, Event{Code: CandidateBeaten, Value: d.lag})
		}
	}
	js, err := r.judgeRace() // This comes after leave, because judgeRace has to know the beaten candidates.
	if err != nil {
		return err
	}
	for c, d := range defeats {
		j := js[c]
		j.assessment.Interval = d.interval(j.assessment.Interval.Confidence)
		r.freeze(c, j)
	}
	return nil
}

func (r *replay) freeze(c int, j judgement) {
	d := r.left[c]
	d.judgement = j
	r.left[c] = d
}

func (r *replay) leave(c int, e Event) {
	e.Candidate = r.configurations[c].Name
	r.note(e)
	r.left[c] = departure{reason: e.Code, lag: e.Value}
	r.live = slices.DeleteFunc(r.live, func(l int) bool { return l == c })
}

// judgeRace judges all candidates of the race. Holm's correction counts candidates that left the race,
// because they were tested too. It does not count withdrawn candidates.
func (r *replay) judgeRace() (map[int]judgement, error) {
	var all []int
	faults := map[int][]stats.Reason{}
	for c := 1; c < len(r.configurations); c++ {
		all = append(all, c)
		faults[c] = r.left[c].faults
	}
	return r.judge(Race, all, faults)
}

// affordsBlockAndConfirmation reports whether another block of the race would leave enough of the budget and of
// the ledger for a confirmation up to its first look.
func (r *replay) affordsBlockAndConfirmation() bool {
	_, most := r.MaxBlocks()
	confirmation := r.looks(most).First * r.runsPerBlock(1)
	return r.affords(r.spent, r.runsPerBlock(len(r.live))+confirmation)
}

// startConfirmation fixes the maximum number of fresh blocks. It does so before the first of them, because
// the significance levels of the looks depend on that maximum.
func (r *replay) startConfirmation(winner int, gain stats.Contrast) error {
	_, most := r.MaxBlocks()
	blocks := most
	for blocks > stats.MinRuns && !r.affords(r.spent, blocks*r.runsPerBlock(1)) {
		blocks--
	}
	r.winner, r.confirm, r.stage = winner, blocks, Confirmation
	r.note(Event{Code: ConfirmationStarted, Candidate: r.configurations[winner].Name, Value: gain.LogRatio, Count: blocks})
	if blocks < most {
		r.note(Event{Code: ConfirmationIsShort, Count: blocks})
	}
	return r.openBlock()
}

// continueConfirmation judges the winner by the blocks of the confirmation alone. It does so after each block
// from number MinBlocks of the confirmation on. Without racing, or if the confirmation has fewer blocks than
// MinBlocks, it does so only after the last block. It ends the sweep at a verdict other than Inconclusive or
// Invalid, at a broken constraint, or after the last block. At Superior, it waits until the constraints are
// decided, too.
func (r *replay) continueConfirmation() error {
	blocks := countBlocks(r.blocks, Confirmation)
	if blocks >= r.looks(r.confirm).First {
		js, err := r.judge(Confirmation, []int{r.winner}, nil)
		if err != nil {
			return err
		}
		j := js[r.winner]
		open := j.assessment.Verdict == stats.Inconclusive || j.assessment.Verdict == stats.Invalid
		won := j.assessment.Verdict == stats.Superior
		if j.breaksConstraint() || won && j.keepsConstraints() || !won && !open {
			return r.end(Confirmed)
		}
	}
	if blocks >= r.confirm {
		return r.end(Confirmed)
	}
	return r.openBlock()
}
