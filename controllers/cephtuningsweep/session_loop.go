package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// errStopped is the cause for the end of a loop that the sweep or the manager stops.
var errStopped = errors.New("the sweep or the manager was stopped")

// loops has the switching loops of this process, one for each sweep. The loops end when the manager stops or
// is no longer the elected leader.
type loops struct {
	mu      sync.Mutex
	stopped bool
	bySweep map[types.NamespacedName]*loop
}

// loop switches the settings of one session. The fields evidence and failure are final once the loop has
// ended.
type loop struct {
	stop context.CancelCauseFunc
	done chan struct{}
	// memory is charged for the rows of the clients until loops drops the loop.
	memory *limits.Account

	mu   sync.Mutex
	look string // the latest interim result, for status
	pace sessionPace

	evidence session.Evidence
	failure  error // why the session is invalid; nil if it is not
}

// Start implements manager.Runnable. When the manager stops, Start stops all loops and waits until they have
// ended.
func (l *loops) Start(ctx context.Context) error {
	<-ctx.Done()
	l.mu.Lock()
	l.stopped = true
	var all []*loop
	for _, one := range l.bySweep {
		all = append(all, one)
	}
	l.mu.Unlock()
	for _, one := range all {
		one.stop(errStopped)
		<-one.done
	}
	return nil
}

// begin stops any earlier loop of the sweep, and starts a loop that outlives the current pass: the loop gets only the
// values of ctx. It charges the account memory for the rows that it keeps; it may be nil.
func (l *loops) begin(ctx context.Context, name types.NamespacedName, memory *limits.Account, run func(context.Context, *loop)) *loop {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.bySweep[name]; before != nil {
		before.stop(errStopped)
		before.memory.Close()
	}
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	one := &loop{stop: stop, done: make(chan struct{}), memory: memory}
	if l.stopped {
		stop(errStopped)
	}
	if l.bySweep == nil {
		l.bySweep = map[types.NamespacedName]*loop{}
	}
	l.bySweep[name] = one
	go func() {
		defer close(one.done)
		defer stop(nil)
		run(ctx, one)
	}()
	return one
}

// contains reports whether loops has a loop of the sweep, which may have ended.
func (l *loops) contains(name types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bySweep[name] != nil
}

// end stops the loop of a sweep. If the loop has ended, it removes the loop and returns true. It also returns
// true without a loop.
func (l *loops) end(name types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.bySweep[name]
	if one == nil {
		return true
	}
	one.stop(errStopped)
	if !one.hasEnded() {
		return false
	}
	one.memory.Close()
	delete(l.bySweep, name)
	return true
}

func (l *loop) hasEnded() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// foreignChange returns the change of another client that ended the loop; nil without one, without a loop, and while
// the loop runs: a session whose benchmark was replaced is entered before its loop ends.
func (l *loop) foreignChange() *tuning.ForeignChangeError {
	if l == nil || !l.hasEnded() {
		return nil
	}
	foreign, _ := errors.AsType[*tuning.ForeignChangeError](l.failure)
	return foreign
}

// progress describes the loop's activity for status.
func (l *loop) progress(noun sweepspec.Noun) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("switching %ss", noun)
	if l.look == "" {
		return text
	}
	return text + "; " + l.look
}

func (l *loop) saw(look string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = look
}

func (l *loop) advance(pace sessionPace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace = pace
}

// paceNow returns the loop's pace in a few words; "" before it begins.
func (l *loop) paceNow() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pace.goal == 0 {
		return ""
	}
	return l.pace.String()
}

// courseWithin limits how long hear tries to read the clients' courses.
const courseWithin = 15 * time.Second

// loopAgain is the interval between checks whether a stopped loop has ended.
const loopAgain = 200 * time.Millisecond

// loopPlan has the inputs of a loop.
type loopPlan struct {
	sweep    types.NamespacedName
	plan     session.Plan
	question session.Question
	names    []string // names of the candidates
	pairs    int      // number of pairs after which a session ends, unless question.Quick is set
	writes   bool     // the load writes
	bytes    int64    // number of bytes that the load may write
	compared session.Treatments
	steps    *session.Steps // what compared is, if the session draws curves; nil otherwise
	quiet    *quiet
	clients  int
	// course passes the course of each client to the function take, with one row of figures for each second. The
	// parameter first has, for each client, the index of the first row to read.
	course func(ctx context.Context, first []int, take func(client int, course runner.Course) error) error
}

// runSession runs a session to its end.
func (p loopPlan) runSession(ctx context.Context, l *loop) {
	gathered := session.NewCollector(p.plan, p.clients, l.memory)
	l.evidence.Plan = p.plan
	l.advance(p.paceAt(0, 0))
	sampling, stop := context.WithCancel(ctx)
	var samples sync.WaitGroup
	samples.Go(func() { p.quiet.run(sampling) })
	defer samples.Wait()
	defer stop()
	running, end := context.WithCancel(ctx)
	l.evidence.Record, l.failure = session.Run(running, p.plan, p.compared, func(ctx context.Context, record session.Record) (next session.Next, err error) {
		evidence, err := p.evidence(ctx, gathered, record)
		if err != nil {
			return next, err // l.evidence stays as it was after the previous call.
		}
		l.evidence = evidence
		return p.enough(evidence, l)
	})
	end()
	if p.steps != nil {
		p.steps.End()
	}
	logf.FromContext(ctx).Info("A session has ended", "sweep", p.sweep, "session", p.plan.Number, "invalid", l.evidence.Record.Invalid, "switches", describeSwitches(l.evidence.Record))
}

// evidence returns the evidence of the session so far.
func (p loopPlan) evidence(ctx context.Context, gathered *session.Collector, record session.Record) (session.Evidence, error) {
	if p.steps != nil {
		return p.steps.Evidence(p.plan, record, p.quiet.disturbed(record.Began)), nil
	}
	if err := p.hear(ctx, gathered, record); err != nil {
		return session.Evidence{}, err
	}
	return gathered.Evidence(record, p.quiet.disturbed(record.Began))
}

// describeSwitches describes the switches of a session for the log: when each began, how long it took, and
// whether it was proven.
func describeSwitches(record session.Record) []string {
	all := make([]string, len(record.Switches))
	for i, s := range record.Switches {
		all[i] = fmt.Sprintf("%d at %.1fs in %.2fs", s.Treatment, s.Sent.Seconds(), (s.Acknowledged - s.Sent).Seconds())
		if !s.Proven {
			all[i] += ", not proven"
		}
	}
	return all
}

// rowsWithin limits how long hear waits for rows of the latest window. It is longer than a generator waits for stalled
// operations before it sends a row.
const rowsWithin = 35 * time.Second

// errRowsMissing says that a client has not sent the rows of the latest window.
var errRowsMissing = errors.New("rows of the latest window are missing")

// hear reads the clients' new rows. It retries for courseWithin, because an answer may be lost, and for rowsWithin if
// rows of the latest window are missing: while the storage stalls, a client holds them back. If they are missing for
// longer, that window does not count. It does not retry if a client's figures cannot be used.
func (p loopPlan) hear(ctx context.Context, collector *session.Collector, record session.Record) error {
	begun := time.Now()
	for {
		err := p.hearOnce(ctx, collector, record)
		_, hostile := errors.AsType[*runner.ViolationError](err)
		late := errors.Is(err, errRowsMissing)
		switch waited := time.Since(begun); {
		case err == nil || hostile || errors.Is(err, session.ErrUnusable):
			return err
		case late && waited >= rowsWithin:
			return nil
		case !late && waited >= courseWithin:
			return fmt.Errorf("the clients do not answer: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the clients do not answer: %w", err)
		case <-time.After(time.Second):
		}
	}
}

// hearOnce reads each client once. It returns errRowsMissing if a client lacks rows of the latest window. It folds the rows of one client before those of the next are kept, because their
// histograms take much memory.
func (p loopPlan) hearOnce(ctx context.Context, collector *session.Collector, record session.Record) error {
	first := make([]int, p.clients)
	for i := range first {
		first[i] = collector.Next(i)
	}
	ctx, stop := context.WithTimeout(ctx, courseWithin)
	defer stop()
	missing := map[int]bool{}
	err := p.course(ctx, first, func(i int, course runner.Course) error {
		if err := collector.Add(i, course.Rows, course.Began.NotBefore, course.Began.NotAfter); err != nil {
			return err
		}
		collector.Used(i, course.Usage)
		if missing[i] = !collector.Reaches(i, record); missing[i] {
			return nil
		}
		return collector.Fold(i, record)
	})
	if err == nil && slices.Contains(slices.Collect(maps.Values(missing)), true) {
		err = errRowsMissing
	}
	return err
}

// enough reports whether the session has enough data. It judges the clients' figures only at the planned
// looks.
func (p loopPlan) enough(e session.Evidence, l *loop) (session.Next, error) {
	pairs, err := e.Pairs()
	if err != nil {
		return session.Next{}, err
	}
	now := p.paceAt(pairs, e.Record.End)
	now.ratio = p.ratioSoFar(e)
	l.advance(now)
	spent := session.Next{Enough: e.WrittenBytes(p.writes) >= p.bytes} // The budget for writes is used up, so the session ends with the data that it has.
	if !p.question.Quick || p.question.Curves {
		l.saw(fmt.Sprintf("%d of %d pairs", pairs, p.pairs))
		return session.Next{Enough: spent.Enough || pairs >= p.pairs || e.SpoiltCurve()}, nil
	}
	if due, err := e.AtLook(p.question); err != nil || !due {
		return spent, err
	}
	summary, ok, err := e.Summarize(p.question)
	if err != nil || !ok {
		return spent, err
	}
	found, err := session.Judge(p.question, []session.Summary{summary}, nil)
	if err != nil {
		return session.Next{}, err
	}
	next := p.raced(e, found)
	l.saw(p.seen(pairs, found))
	next.Enough = next.Enough || spent.Enough || pairs >= p.question.LastLook
	return next, nil
}

// raced says who is decided at a look, and whether that is enough.
func (p loopPlan) raced(e session.Evidence, found []session.Finding) session.Next {
	next, decided := session.Next{}, 0
	for i, f := range found {
		if sweepspec.Decided(f) || e.Record.HasLeft(i+1) {
			decided++
		}
		if sweepspec.Decided(f) && !f.CarryOver { // Later windows may show that there is no carry-over.
			next.Decided = append(next.Decided, i+1)
		}
	}
	next.Enough = decided == len(found) || sweepspec.WinnerKnown(p.question, found)
	return next
}

// seen describes a look for status.
func (p loopPlan) seen(pairs int, found []session.Finding) string {
	parts := []string{fmt.Sprintf("%d pairs", pairs)}
	for i, f := range found {
		a := f.Assessment
		parts = append(parts, fmt.Sprintf("%s %.3f (%.3f to %.3f)", p.names[i], a.Ratio, a.Interval.Low, a.Interval.High))
	}
	return strings.Join(parts, ", ")
}
