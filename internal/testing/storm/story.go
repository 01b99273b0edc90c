// Package storm plays random stories under random faults. A story is played in a bubble of package synctest: its
// clock moves only while everything waits, and each call takes its own random time. So a seed gives the same story
// again. A failing story is shrunk to the faults that it needs.
package storm

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Fault is a fault of a story: what happens at which call of its managers.
type Fault struct {
	Call int
	Name string
}

// Effect lets a fault happen at a call. It carries the call out with do, or returns an error without it.
type Effect func(c *Call, do func() error) error

// Target is what a call goes to.
type Target string

// These are the targets of calls.
const (
	Kubernetes Target = "the API server"
	Ceph       Target = "Ceph"
	Client     Target = "a client"
)

// Call is a call of a manager.
type Call struct {
	// Name is the verb and the kind of the object, such as "get Lease", or the verb of Ceph or of a client's runner.
	Name string
	To   Target
	// Writes says whether the call may change anything.
	Writes  bool
	Manager *Manager
	// Random is the source for the fault at this call.
	Random *rand.Rand
}

// Story is one story while it is played.
type Story struct {
	Seed uint64
	// Random is the source of everything that is drawn outside faults.
	Random *rand.Rand
	// Start runs a manager until it has ended. Effects has the effect of each fault by name. Play sets both.
	Start   func(*Manager)
	Effects map[string]Effect

	mu       sync.Mutex
	faults   []Fault
	calls    int
	named    map[string]int // calls by name
	calm     bool
	course   []string
	failures []string
	counts   map[string]int
	managers []*Manager
	running  sync.WaitGroup
	events   bell // that managers watch
}

// Manager is one process of the operator.
type Manager struct {
	Name string

	//nolint:containedctx // It ends with the process.
	ctx  context.Context
	kill context.CancelCauseFunc

	mu sync.Mutex
	// skew is how far the manager's clock is ahead.
	skew time.Duration
	// deafUntil is when its watches work again, and cutOffUntil when it reaches the API server again.
	deafUntil, cutOffUntil time.Time
	// throttled is how many more of its calls the API server refuses with 429.
	throttled int
	// left is how many more calls it lives after it was frozen; -1 for any number.
	left int
	// alive says that it leads, as far as the story knows.
	alive bool
	// pokes are events that need no watch.
	pokes bell
}

// ErrKilled is the error of each call of a killed manager.
var ErrKilled = errors.New("the manager was killed")

type managerKey struct{}

// Context returns the context of everything that the manager does.
func (m *Manager) Context() context.Context { return m.ctx }

// Now returns the time of the manager's clock.
func (m *Manager) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.skew)
}

// Kill ends the manager: none of its later calls is carried out.
func (m *Manager) Kill() error {
	m.kill(ErrKilled)
	m.set(func() { m.alive = false })
	return ErrKilled
}

func (m *Manager) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// refuses returns the error of a call to the API server at this time; nil if the server answers.
func (m *Manager) refuses(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.throttled > 0:
		m.throttled--
		return apierrors.NewTooManyRequests("the server is overloaded", 1)
	case time.Now().Before(m.cutOffUntil):
		return fmt.Errorf("%s: the API server does not answer: %w", name, context.DeadlineExceeded)
	}
	return nil
}

// counts notes a call. It ends a manager that was frozen before and has made its last call.
func (m *Manager) counts() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		m.kill(ErrKilled)
	}
	m.left = max(m.left-1, -1)
}

func (m *Manager) isAlive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive
}

// deaf returns for how long the manager's watches are still lost; 0 if they work.
func (m *Manager) deaf() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, time.Until(m.deafUntil))
}

// Lead starts a manager, unless one is alive.
func (s *Story) Lead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.managers, (*Manager).isAlive) {
		return
	}
	m := &Manager{Name: fmt.Sprintf("manager-%d", len(s.managers)+1), left: -1, alive: true}
	ctx, kill := context.WithCancelCause(context.WithValue(context.Background(), managerKey{}, m))
	m.ctx, m.kill = ctx, kill
	s.managers = append(s.managers, m)
	s.course = append(s.course, m.Name+" starts")
	s.running.Go(func() { s.Start(m) })
}

// Freeze stops the manager within a call, while a successor may begin. After that, the manager makes a few more calls
// before it notices that it does not lead any more.
func (s *Story) Freeze(m *Manager, lasts time.Duration, calls int) {
	m.set(func() { m.alive, m.left = false, calls })
	time.Sleep(lasts)
}

// bell rings at events.
type bell struct {
	mu    sync.Mutex
	rings int
	next  chan struct{} // closed at the next ring
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rings++
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// after returns the number of rings so far, and a channel that is closed once that number is not seen any more.
func (b *bell) after(seen int) (rings int, rung <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	if b.rings != seen {
		closed := make(chan struct{})
		close(closed)
		return b.rings, closed
	}
	return b.rings, b.next
}

// Watch is the watch of one of a manager's loops. It loses no event, also while nobody waits. While the watches of the
// manager are lost, events are delayed until it watches again.
type Watch struct {
	story       *Story
	manager     *Manager
	seen, poked int
}

// Watch returns a watch of the events from now on.
func (s *Story) Watch(m *Manager) *Watch {
	w := &Watch{story: s, manager: m}
	w.seen, _ = s.events.after(0)
	w.poked, _ = m.pokes.after(0)
	return w
}

// Wait waits until something has happened since the last Wait, but not longer than a duration.
func (w *Watch) Wait(longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	_, poked := w.manager.pokes.after(w.poked)
	for waits := true; waits; {
		_, rung := w.story.events.after(w.seen)
		var again <-chan time.Time
		if deaf := w.manager.deaf(); deaf > 0 {
			rung, again = nil, time.After(deaf)
		}
		select {
		case <-rung:
			waits = w.manager.deaf() > 0
		case <-w.manager.ctx.Done():
			waits = false
		case <-timer.C:
			waits = false
		case <-poked:
			waits = false
		case <-again: // The watches are established again, with a list of all objects.
			waits = false
		}
	}
	time.Sleep(time.Microsecond) // Several events at one time start one pass, in whatever order they come.
	w.seen, _ = w.story.events.after(0)
	w.poked, _ = w.manager.pokes.after(0)
}

// Wait waits until something happens from now on that the manager watches, but not longer than a duration.
func (s *Story) Wait(m *Manager, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for {
		seen, _ := s.events.after(0)
		_, rung := s.events.after(seen)
		select {
		case <-m.ctx.Done():
			return
		case <-timer.C:
			return
		case <-rung:
			if m.deaf() == 0 {
				return
			}
		}
	}
}

// Happen notifies the watches of managers.
func (s *Story) Happen() { s.events.ring() }

// Poke starts the passes of one manager, without an event of the API server.
func (m *Manager) Poke() { m.pokes.ring() }

// Carry carries a call out, with the fault that is due at it, if any. A call that no manager makes has no fault. The
// object is the name of the object that the call is about, if any.
func (s *Story) Carry(ctx context.Context, name, object string, target Target, writes bool, do func() error) error {
	m, managed := ctx.Value(managerKey{}).(*Manager)
	if !managed {
		return do()
	}
	random := s.draw(name + " " + withoutDrawn(object))
	time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
	effect := s.begin(m, name)
	if m.ctx.Err() != nil {
		return ErrKilled
	}
	if effect == nil {
		return do()
	}
	return effect(&Call{Name: name, To: target, Writes: writes, Manager: m, Random: random}, func() error {
		if m.ctx.Err() != nil {
			return ErrKilled
		}
		return do()
	})
}

// drawn matches what the operator draws itself for the name of an object. A seed does not give it again.
var drawn = regexp.MustCompile(`-[a-z0-9]{8,}\b`)

// withoutDrawn returns a text without what the operator has drawn itself.
func withoutDrawn(text string) string { return drawn.ReplaceAllString(text, "-…") }

// draw returns the randomness of a call. Two calls at the same time may come in any order, so the number of all calls
// must not decide how long they take.
func (s *Story) draw(name string) *rand.Rand {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named[name]++
	digest := fnv.New64a()
	_, _ = fmt.Fprint(digest, name, s.named[name])
	return rand.New(rand.NewPCG(s.Seed, digest.Sum64())) //nolint:gosec // The story must be the same again.
}

// begin counts a call, and returns the fault that is due. The call has taken its time before: two calls that come at the
// same time are counted in an order that the seed decides.
func (s *Story) begin(m *Manager, name string) Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	m.counts()
	if s.calm || len(s.faults) == 0 || s.calls < s.faults[0].Call {
		return nil
	}
	due := s.faults[0]
	s.faults = s.faults[1:]
	s.counts[due.Name]++
	s.course = append(s.course, fmt.Sprintf("%s: %s at call %d of %s", name, due.Name, s.calls, m.Name))
	return s.Effects[due.Name]
}

// Again lets a fault that cannot happen at a call happen at the next one.
func (s *Story) Again(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.course = s.course[:len(s.course)-1]
	s.counts[name]--
	s.faults = slices.Insert(s.faults, 0, Fault{Call: s.calls + 1, Name: name})
}

// Count counts something that happened, for the summary of all stories.
func (s *Story) Count(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[event]++
	s.course = append(s.course, event)
}

// Note adds a line to the story.
func (s *Story) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.course = append(s.course, fmt.Sprintf(format, args...))
}

// Fail notes a violated invariant. The story goes on.
func (s *Story) Fail(invariant, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := invariant + ": " + fmt.Sprintf(format, args...)
	s.failures = append(s.failures, text)
	s.course = append(s.course, "VIOLATED "+text)
}

// Calm ends all faults.
func (s *Story) Calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm = true
	for _, m := range s.managers {
		m.set(func() { m.skew, m.deafUntil, m.cutOffUntil, m.throttled = 0, time.Time{}, time.Time{}, 0 })
	}
	s.course = append(s.course, "calm")
}

// Calls returns how many calls managers have made.
func (s *Story) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// end ends all managers.
func (s *Story) end() {
	s.mu.Lock()
	for _, m := range s.managers {
		m.kill(ErrKilled)
	}
	s.mu.Unlock()
	s.running.Wait()
}
