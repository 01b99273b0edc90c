// Package clusterwatch looks at a Ceph cluster for as long as a benchmark lasts: a [Survey] of what
// results depend on when it begins, then a sample every few seconds. A [View] is what was seen.
package clusterwatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// Sampling of a cluster: how often, and how long one sample may take.
const (
	SampleEvery   = 5 * time.Second
	sampleTimeout = 15 * time.Second
	surveyTimeout = time.Minute
	// ExtraEvery is how often OSDs are asked for latencies, and Ceph for its room.
	ExtraEvery = 10 * time.Second
	// askIOAgain is how long Ceph is not asked what OSDs do after it has not answered that:
	// it is not needed, and whatever is asked together with it would wait for it.
	askIOAgain = 5 * time.Minute
	// maxSamples bounds the memory of a session: six hours of samples. Older ones
	// have been judged with their phase.
	maxSamples = 6 * 3600 / 5
)

// Connect returns how to reach a cluster; addresses and keys may change meanwhile.
type Connect func(context.Context) (ceph.Connection, error)

// Watch samples a cluster as long as a session lasts. It begins with a survey of facts that
// results depend on.
type Watch struct {
	ceph    ceph.Client
	connect Connect
	now     func() time.Time
	news    func()
	hurry   chan struct{}

	mu      sync.Mutex
	between bool // runs: what is too much for a large cluster while it is measured may be asked
	strays  bool // are asked for
	survey  *Survey
	samples []quiescence.Sample
	extras  []Extra
	noIO    time.Time // until when the OSDs' work is not queried
	err     error     // of the last attempt
}

// Survey is what does not change during a session, or should not.
type Survey struct {
	OSDMap   *ceph.OSDMap
	OSDs     []ceph.OSD
	DF       *ceph.DF
	Versions *ceph.Versions
	Config   []ceph.ConfigEntry
	PGs      []ceph.PG
	Tree     []ceph.OSDLocation
	// CacheBytes is what all OSDs together may cache.
	CacheBytes int64
}

// Extra is what is looked at less often.
type Extra struct {
	time      time.Time
	latencies []ceph.OSDLatency
	// io is what OSDs do for clients, while a run is at work; nil if Ceph did not say.
	io []ceph.OSDIO
	DF *ceph.DF
	// OSDs are looked at while no run is at work; nil otherwise.
	OSDs []ceph.OSD
}

// New returns a watch of the cluster that connect reaches. It calls news whenever it has
// looked.
func New(c ceph.Client, to Connect, now func() time.Time, news func()) *Watch {
	return &Watch{ceph: c, connect: to, now: now, news: news, hurry: make(chan struct{}, 1), between: true, strays: true}
}

// Run samples until the context ends.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(SampleEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		w.look(ctx)
		w.news()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-w.hurry:
			ticker.Reset(SampleEvery)
		}
	}
}

// Soon has the next sample taken at once.
func (w *Watch) Soon() {
	select {
	case w.hurry <- struct{}{}:
	default:
	}
}

// LookBetweenRuns says whether no run is at work, so that more may be asked: for the room on
// each OSD, and, if that is wanted, for stray PGs. These take a list of all PGs.
func (w *Watch) LookBetweenRuns(between, strays bool) {
	w.mu.Lock()
	begins := between && strays && !w.strays
	w.between, w.strays = between, between && strays
	w.mu.Unlock()
	if begins {
		w.Soon()
	}
}

func (w *Watch) betweenRuns() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.between
}

func (w *Watch) looksForStrays() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.strays
}

// look takes the survey, if it is still missing, and a sample, both at once: every query is a
// process of its own, and the first run waits for them.
func (w *Watch) look(ctx context.Context) {
	var taken *Survey
	var sample quiescence.Sample
	var more *Extra
	surveying := w.surveyed() == nil
	var group errgroup.Group // Without its context: what one has learned is kept though the other fails.
	if surveying {
		group.Go(into(&taken, func() (*Survey, error) { return w.takeSurvey(ctx) }))
	}
	group.Go(func() (err error) {
		sample, more, err = w.takeSample(ctx, surveying)
		return err
	})
	err := group.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if taken != nil {
		w.survey = taken
	}
	if w.err = err; err != nil {
		return
	}
	w.samples = append(w.samples, sample)
	if more != nil {
		w.extras = append(w.extras, *more)
	}
	if excess := len(w.extras) - maxSamples; excess > 0 {
		w.extras = w.extras[excess:]
	}
	if excess := len(w.samples) - maxSamples; excess > 0 {
		w.samples = w.samples[excess:]
	}
}

func (w *Watch) surveyed() *Survey {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.survey
}

// View is what is known at present. The slices are shared and not to be
// changed.
type View struct {
	Survey  *Survey
	Samples []quiescence.Sample
	Extras  []Extra
	Err     error // of the last attempt
}

func (w *Watch) View() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return View{
		Survey: w.survey, Err: w.err,
		Samples: slices.Clip(w.samples), Extras: slices.Clip(w.extras),
	}
}

// takeSample takes no extra during a survey: the survey reads the room itself, and no phase is
// running whose latencies would matter.
func (w *Watch) takeSample(ctx context.Context, surveying bool) (quiescence.Sample, *Extra, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	at, err := w.connect(ctx)
	if err != nil {
		return quiescence.Sample{}, nil, err
	}
	sample := quiescence.Sample{Time: w.now()}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(into(&sample.Status, func() (*ceph.Status, error) { return w.ceph.Status(ctx, at) }))
	group.Go(into(&sample.PoolIO, func() ([]ceph.PoolIO, error) { return w.ceph.PoolIO(ctx, at) }))
	if w.looksForStrays() {
		group.Go(into(&sample.Strays, func() (*ceph.Strays, error) { return w.ceph.Strays(ctx, at) }))
	}
	var more *Extra
	if !surveying && w.wantsExtra(sample.Time) {
		more = &Extra{time: sample.Time}
		group.Go(into(&more.latencies, func() ([]ceph.OSDLatency, error) { return w.ceph.OSDPerf(ctx, at) }))
		group.Go(into(&more.DF, func() (*ceph.DF, error) { return w.ceph.DF(ctx, at) }))
		if w.betweenRuns() {
			group.Go(into(&more.OSDs, func() ([]ceph.OSD, error) { return w.ceph.OSDs(ctx, at) }))
		} else {
			group.Go(func() error {
				more.io = w.osdIO(ctx, at)
				return nil
			})
		}
	}
	err = group.Wait() // Before the sample is read: within one statement the order is not defined.
	return sample, more, err
}

// osdIO asks what OSDs do for clients. A run does not fail without an answer: an older Ceph may
// not know the command, or a module of ceph-mgr may be broken.
func (w *Watch) osdIO(ctx context.Context, at ceph.Connection) []ceph.OSDIO {
	w.mu.Lock()
	asks := !w.now().Before(w.noIO)
	w.mu.Unlock()
	if !asks {
		return nil
	}
	io, err := w.ceph.OSDIO(ctx, at)
	if err == nil || errors.Is(err, context.Canceled) { // Canceled, because something else was not answered.
		return io
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noIO = w.now().Add(askIOAgain)
	return nil
}

func (w *Watch) wantsExtra(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.extras) == 0 || now.Sub(w.extras[len(w.extras)-1].time) >= ExtraEvery-time.Second
}

func (w *Watch) takeSurvey(ctx context.Context) (*Survey, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	at, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &Survey{}
	group, part := errgroup.WithContext(ctx)
	group.Go(into(&s.OSDMap, func() (*ceph.OSDMap, error) { return w.ceph.OSDMap(part, at) }))
	group.Go(func() (err error) {
		if s.OSDs, err = w.ceph.OSDs(part, at); err == nil {
			s.CacheBytes, err = ceph.CacheBytes(part, w.ceph, at, s.OSDs)
		}
		return err
	})
	group.Go(into(&s.DF, func() (*ceph.DF, error) { return w.ceph.DF(part, at) }))
	group.Go(into(&s.Versions, func() (*ceph.Versions, error) { return w.ceph.Versions(part, at) }))
	group.Go(into(&s.PGs, func() ([]ceph.PG, error) { return w.ceph.PGs(part, at) }))
	group.Go(into(&s.Config, func() ([]ceph.ConfigEntry, error) { return w.ceph.ConfigDump(part, at) }))
	group.Go(into(&s.Tree, func() ([]ceph.OSDLocation, error) { return w.ceph.OSDTree(part, at) }))
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return s, nil
}

// into is a function for an errgroup that keeps what another returns.
func into[T any](place *T, get func() (T, error)) func() error {
	return func() error {
		got, err := get()
		*place = got
		return err
	}
}
