package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
)

// hastened returns a plan whose windows are twenty times shorter.
func hastened(p session.Plan) session.Plan {
	p.Window /= 20
	if p.Long > 0 {
		p.Window = 2 * hastenedWindow
		p.Timing.WashOut = session.SettleTime(p.Window) * 20
	}
	if p.Curves {
		p.Window = hastenedWindow / 2
	}
	p.ProofEvery /= 40
	p.Timing.WashOut /= 20
	p.Timing.MaxSwitch, p.Timing.ClockError, p.Timing.Coverage = time.Minute, time.Minute, 0.2
	return p
}

// load simulates the clients of sessions. Their rate depends on the option's current value.
type load struct {
	world *world
	mu    sync.Mutex
	// value returns the current value of the option; nil means osd_client_message_cap.
	value func() string
	// rate returns the rate for a value. nil means 300 for 16, and 1000 for all others.
	rate func(value string) float64
	// starts is called when the tool of a benchmark starts; it may be nil.
	starts func()
	// broken is the error of clients that do not answer.
	broken error
	// busy is the share of the host's CPU time that is in use.
	busy  float64
	began time.Time
	rows  []result.Second
	// latest and turns are the option's latest value, and how often the value has changed; turned is when it last did.
	latest    string
	turns     uint64
	turned    time.Time
	benchmark types.NamespacedName
	// aims are the windows at which the clients of the current benchmark were aimed. aimed returns the value that counts in
	// such a window; nil means the depth of its load. aimFails is how often they do not answer that request.
	aims     []live.Window
	aimed    func(live.Window) string
	aimFails int
	// knee is the rate that keeps the limit with a value, and full the rate that the storage cannot take, as a multiple of it.
	// steps counts the steps of curves so far.
	knee  func(value string) float64
	full  float64
	steps int
	// late is the fault of every step; "" without one.
	late string
}

func (l *load) set(change func(*load)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// work adds a few milliseconds of load.
func (l *load) work() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add()
}

// add adds the load since the latest row.
func (l *load) add() {
	if l.began.IsZero() {
		return
	}
	value, _ := l.world.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap")
	if l.value != nil {
		value = l.value()
	}
	target := 0
	if n := len(l.aims); n > 0 {
		target, value = l.aims[n-1].Target, strconv.Itoa(int(l.aims[n-1].Phase.Fio.IODepth))
		if l.aimed != nil {
			value = l.aimed(l.aims[n-1])
		}
	}
	rate := 1000.0
	switch {
	case l.rate != nil:
		rate = l.rate(value)
	case value == "16":
		rate = 300
	}
	from := int64(0)
	if n := len(l.rows); n > 0 {
		from = l.rows[n-1].ToNanoseconds
	}
	to := time.Since(l.began).Nanoseconds()
	amount := rate * float64(to-from) / 1e9 * (1 + l.noise(value))
	l.rows = append(l.rows, result.Second{FromNanoseconds: from, ToNanoseconds: to, Target: int32(target), Engine: int32(len(l.aims)), Done: result.Done{Operations: amount, Bytes: 4096 * amount}})
}

// noise returns the relative deviation of the rate: a level and a slope for as long as a value stays. It
// depends on how often the value has changed, and not on the machine's pace: noise of each row would make the
// test for carry-over err in another run of the same story, as it may in 5% of the sessions.
func (l *load) noise(value string) float64 {
	if value != l.latest {
		l.latest, l.turned = value, time.Now()
		l.turns++
	}
	rng := rand.New(rand.NewPCG(2026, l.turns))
	level, slope := rng.NormFloat64()/300, rng.NormFloat64()/600
	return level + slope*min(time.Since(l.turned).Seconds()/hastenedWindow.Seconds(), 2)
}

// Aim implements Clients.
func (l *load) Aim(_ context.Context, benchmark types.NamespacedName, clients int, w live.Window) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.benchmark != benchmark || clients != 1:
		return live.ErrNotMeasuring
	case l.aimFails > 0:
		l.aimFails--
		return errors.New("no answer")
	}
	l.add()
	l.aims = append(l.aims, w)
	return nil
}

// ClosedLoop implements Clients. It has ended at the second request for a benchmark.
func (l *load) ClosedLoop(_ context.Context, benchmark types.NamespacedName, _ int, _ v1alpha1.PhaseName) (curve.Course, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.benchmark != benchmark {
		l.benchmark, l.steps = benchmark, 0
		return curve.Course{}, live.ErrNotMeasuring
	}
	q := curve.Question{Percent: 99, LimitSeconds: 0.01, Confidence: curve.DefaultConfidence, HalfWidth: curve.DefaultHalfWidth, MaxSteps: 40, StepSeconds: 10}
	return curve.Course{Question: q, ClosedLoopPerSecond: 1500}, nil
}

// Step implements Clients. The latency grows with the rate.
func (l *load) Step(_ context.Context, benchmark types.NamespacedName, _ int, _ v1alpha1.PhaseName, number int, q curve.Question, offered curve.Decision) (session.Step, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.benchmark != benchmark || number != l.steps {
		return session.Step{}, fmt.Errorf("step %d of %s, want step %d of %s", number, benchmark, l.steps, l.benchmark)
	}
	l.steps++
	value, _ := l.world.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap")
	share := offered.OfferedPerSecond / l.knee(value)
	made := curve.Step{Purpose: offered.Purpose, OfferedPerSecond: offered.OfferedPerSecond, AchievedPerSecond: offered.OfferedPerSecond}
	made.Saturated, made.Fault = share > l.full, l.late
	if !made.Saturated && l.late == "" {
		noise := rand.New(rand.NewPCG(2026, uint64(number))).NormFloat64() / 20
		made.Count, made.PercentileSeconds = 100_000, q.LimitSeconds*share*share
		made.Over = int64(min(float64(made.Count), 1000*math.Pow(share, 8)*math.Exp(noise)))
	}
	return session.Step{Step: made, WrittenBytes: 1 << 20}, nil
}

// Course implements Clients. The first request for a benchmark starts its tool.
func (l *load) Course(_ context.Context, benchmark types.NamespacedName, _ v1alpha1.PhaseName, from []int, take func(int, runner.Course) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if l.benchmark != benchmark {
		l.benchmark, l.began, l.rows, l.latest, l.turns = benchmark, time.Now(), nil, "", 0
		l.aims = nil
		if l.starts != nil {
			l.starts()
		}
		return errors.New("the tool does not run yet")
	}
	lasted := time.Since(l.began).Seconds()
	usage := task.Usage{Seconds: lasted, HostCPUSeconds: 2 * lasted, HostBusySeconds: new(2 * lasted * l.busy)}
	return take(0, runner.Course{Rows: l.rows[from[0]:], Began: runner.Started{NotBefore: l.began, NotAfter: l.began}, Usage: usage})
}
