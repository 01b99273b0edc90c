// Package clientview holds a manager's view of a benchmark's clients: the latest answers of their
// runners to long polls, or the reports in their logs.
package clientview

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// Followers follow the runners of an execution by long polls. They call the function news when a runner reports
// something new, stops answering, or answers again. Runners may be hostile, so both polls and calls of news have a
// rate. Followers are safe for concurrent use.
type Followers struct {
	dial    Dial
	memory  *limits.Account
	now     func() time.Time
	news    func()
	context context.Context //nolint:containedctx // Following outlasts the call that starts it.

	mu      sync.Mutex
	runners map[int]*follower
	pace    *rate.Limiter // of the calls of news
	pending bool          // news is about to be called
}

// NewFollowers returns followers that follow no runner yet. They stop following when ctx ends. They charge the account
// memory for the runners' answers and for the snapshots that they keep; it may be nil.
func NewFollowers(ctx context.Context, dial Dial, memory *limits.Account, now func() time.Time, news func()) *Followers {
	return &Followers{
		dial: dial, memory: memory, now: now, news: news, context: ctx,
		runners: map[int]*follower{}, pace: rate.NewLimiter(rate.Every(newsEvery), burst),
	}
}

// Dial returns an API client for the runner at an address. Client and runner share the key. While the client reads an
// answer, it charges the account.
type Dial func(address string, key []byte, memory *limits.Account) (runner.Client, error)

// Views returns the views of the followed runners.
func (s *Followers) Views() map[int]View {
	s.mu.Lock()
	defer s.mu.Unlock()
	views := map[int]View{}
	for i, f := range s.runners {
		views[i] = f.view()
	}
	return views
}

type follower struct {
	address string
	client  runner.Client
	stop    context.CancelFunc

	snapshot *runner.Snapshot
	held     *limits.Holding // of the snapshot
	since    time.Time       // time of the first error after the last answer
	err      error
}

func (f *follower) view() View {
	return View{Client: f.client, Snapshot: f.snapshot, Err: f.err, Since: f.since}
}

// View holds the last known state of a runner.
type View struct {
	Client   runner.Client
	Snapshot *runner.Snapshot // nil until the first answer
	Err      error            // of the last request, or of Dial; nil if the last request succeeded, or if no request has ended yet
	Since    time.Time        // when the runner stopped answering; zero while it answers
}

// Unreachable returns the error of the first runner in the list that does not answer; nil if all
// answer. Its first result is the earliest time at which such a runner stopped answering.
func Unreachable(runners []View) (since time.Time, err error) {
	for _, view := range runners {
		if view.Err == nil {
			continue
		}
		if err == nil {
			err = view.Err
		}
		if since.IsZero() || view.Since.Before(since) {
			since = view.Since
		}
	}
	return since, err
}

// Follow follows exactly the runners at these addresses, and returns their views.
func (s *Followers) Follow(addresses map[int]string, key []byte) map[int]View {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.runners {
		if addresses[i] != f.address {
			f.stop()
			f.held.Release()
			delete(s.runners, i)
		}
	}
	views := map[int]View{}
	for i, address := range addresses {
		f, ok := s.runners[i]
		if !ok {
			f = s.begin(address, key)
			s.runners[i] = f
		}
		views[i] = f.view()
	}
	return views
}

func (s *Followers) begin(address string, key []byte) *follower {
	ctx, stop := context.WithCancel(s.context)
	f := &follower{address: address, stop: stop, held: s.memory.Hold()}
	f.client, f.err = s.dial(address, key, s.memory)
	if f.err != nil {
		f.since = s.now()
		return f
	}
	go s.poll(ctx, f)
	return f
}

// These control the polling of a runner. The runner may delay an answer by pollWait, and a poll
// fails after pollTimeout. After a failed poll, the pause is pollAgain. Each further failure
// doubles the pause, up to pollAtMost. Also after successful polls, one runner is polled only once in pollEvery on
// average, and all runners together cause one call of news in newsEvery. A phase begins and ends in bursts of news,
// which need not wait.
const (
	pollWait    = 25 * time.Second
	pollTimeout = pollWait + 10*time.Second
	pollAgain   = 250 * time.Millisecond
	pollAtMost  = 2 * time.Second
	pollEvery   = 250 * time.Millisecond
	newsEvery   = 100 * time.Millisecond
	burst       = 20
)

// poll requests the snapshots of a runner, one after the other, until ctx ends.
func (s *Followers) poll(ctx context.Context, f *follower) {
	after, again := int64(-1), pollAgain
	pace := rate.NewLimiter(rate.Every(pollEvery), burst)
	for pace.Wait(ctx) == nil {
		asked, cancel := context.WithTimeout(ctx, pollTimeout)
		snapshot, err := f.client.Snapshot(asked, after, pollWait)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = f.held.Resize(limits.Size(snapshot))
		}
		if s.note(f, snapshot, err) {
			s.announce()
		}
		if err == nil {
			after, again = snapshot.Version, pollAgain
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
		again = min(2*again, pollAtMost)
	}
}

// announce calls news as soon as its rate allows. Until then, further calls of announce have no effect.
func (s *Followers) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending {
		return
	}
	s.pending = true
	time.AfterFunc(s.pace.Reserve().Delay(), func() {
		s.mu.Lock()
		s.pending = false
		s.mu.Unlock()
		s.news()
	})
}

// note stores the outcome of a poll, and reports whether it is news.
func (s *Followers) note(f *follower, snapshot runner.Snapshot, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		first := f.err == nil
		if first {
			f.since = s.now()
		}
		f.err = err
		return first
	}
	news := f.snapshot == nil || f.err != nil || f.snapshot.Version != snapshot.Version
	f.snapshot, f.err, f.since = &snapshot, nil, time.Time{}
	return news
}

// TasksOf returns the statuses by client and task; nil if any client has not answered yet.
func TasksOf(views map[int]View, count int) workload.Tasks {
	tasks := make(workload.Tasks, count)
	for i := range tasks {
		view, ok := views[i]
		if !ok || view.Snapshot == nil {
			return nil
		}
		tasks[i] = map[string]task.Status{}
		for _, status := range view.Snapshot.Tasks {
			tasks[i][status.ID] = status
		}
	}
	return tasks
}
