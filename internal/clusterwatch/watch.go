// Package clusterwatch observes a Ceph cluster during an execution of a benchmark. It reads a [Survey] of
// facts that results depend on, and takes a sample every few seconds. A [View] holds the observations.
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

const (
	// SampleEvery is the interval between samples of a cluster.
	SampleEvery   = 5 * time.Second
	sampleTimeout = 15 * time.Second
	surveyTimeout = time.Minute
	// ExtraEvery is the interval between queries for the values of an Extra, such as OSD latencies.
	ExtraEvery = 10 * time.Second
	// askIOAgain is the pause after a failed query for the client I/O of OSDs. The query is optional. If it
	// gets no answer, it delays the queries that share its `ceph` process.
	askIOAgain = 5 * time.Minute
	// clientsEvery is the interval between lists of clients, which take a command for each monitor. The latest maxClients
	// addresses are kept: each command of a task is a client of its own.
	clientsEvery = 30 * time.Second
	maxClients   = 1024
	// maxSamples limits the memory of an execution to 26 hours of samples: the longest phase, 24 hours, is
	// judged at its end from all of its samples.
	maxSamples = 26 * time.Hour / SampleEvery
	// maxExtras limits the number of Extras, and maxFigures the number of words in them, each of 8 bytes, that grows with
	// the number of OSDs. With 1,000 OSDs, Extras that are older than an hour and a half lose every second of them.
	maxExtras  = 12 * time.Hour / ExtraEvery
	maxFigures = 4 << 20
)

// Connect returns the connection to a cluster. A Watch calls it for each sample and survey, because
// addresses and keys may change.
type Connect func(context.Context) (ceph.Connection, error)

// Watch surveys a cluster and samples it during an execution.
type Watch struct {
	ceph    ceph.Client
	connect Connect
	now     func() time.Time
	news    func()
	hurry   chan struct{}

	mu     sync.Mutex
	asks   Asks
	survey *Survey
	// surveyedAt is when the survey was taken, and surveyAgain says that a new survey was requested.
	surveyedAt  time.Time
	surveyAgain bool
	samples     []quiescence.Sample
	extras      []Extra
	clients     []string  // addresses that were listed, each once
	listedAt    time.Time // when they were listed last
	noIO        time.Time // until when the client I/O of OSDs is not queried
	err         error     // of the last attempt to take a sample, and of a survey that was due with it
}

// Asks says what a Watch reads besides what it always reads. Each is expensive: Ceph reads figures of all OSDs or PGs.
type Asks struct {
	// BetweenRuns says that neither a run nor the teardown is in progress. Then the free space of each OSD is read, and
	// otherwise their client I/O. Strays, which are read between runs only, are PGs that OSDs still have to remove.
	BetweenRuns, Strays bool
	// Counters are what OSDs have counted since they started.
	Counters bool
	// Clients lists the addresses of the execution's clients in Ceph, every clientsEvery; nil if nobody needs them.
	Clients func(context.Context) ([]string, error)
}

// Survey holds facts that should not change during an execution.
type Survey struct {
	OSDMap   *ceph.OSDMap
	OSDs     []ceph.OSD
	DF       *ceph.DF
	Versions *ceph.Versions
	Config   []ceph.ConfigEntry
	PGs      []ceph.PG
	Tree     []ceph.OSDLocation
	Devices  []ceph.OSDDevice // nil if they cannot be read
	// CacheBytes is how much memory all OSDs together may use, mostly for caches: see [ceph.CacheBytes].
	CacheBytes int64
}

// Extra is a sample of the values that are read only every ExtraEvery.
type Extra struct {
	time      time.Time
	latencies []ceph.OSDLatency
	// io is the client I/O of OSDs during a run or the teardown; nil between runs, if Ceph did not report it,
	// and during the pause askIOAgain after that.
	io []ceph.OSDIO
	DF *ceph.DF
	// OSDs is read only between runs; nil otherwise.
	OSDs []ceph.OSD
	// counters are those of OSDs; nil if nobody asked for them, or without an answer.
	counters []ceph.OSDCounters
}

// New returns a Watch that gets its connections from the given Connect function. Run calls the function news
// after each attempt to take a sample.
func New(c ceph.Client, connect Connect, now func() time.Time, news func()) *Watch {
	return &Watch{ceph: c, connect: connect, now: now, news: news, hurry: make(chan struct{}, 1), asks: Asks{BetweenRuns: true, Strays: true}}
}

// Run takes samples until the context ends.
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

// Soon makes Run take the next sample without waiting for the interval to pass.
func (w *Watch) Soon() {
	select {
	case w.hurry <- struct{}{}:
	default:
	}
}

// Ask sets what is read from now on.
func (w *Watch) Ask(a Asks) {
	a.Strays = a.Strays && a.BetweenRuns
	w.mu.Lock()
	begins := a.Strays && !w.asks.Strays
	w.asks = a
	w.mu.Unlock()
	if begins {
		w.Soon()
	}
}

func (w *Watch) asked() Asks {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asks
}

// look takes a sample and, if startSurvey returns true, a survey. It takes both concurrently, because the
// first run needs both. It keeps the sample only if both succeed.
func (w *Watch) look(ctx context.Context) {
	var taken *Survey
	var sample quiescence.Sample
	var more *Extra
	surveying := w.startSurvey()
	var group errgroup.Group // No shared context: a survey is kept even if the sample fails.
	if surveying {
		group.Go(ceph.StoreIn(&taken, func() (*Survey, error) { return w.takeSurvey(ctx) }))
	}
	group.Go(func() (err error) {
		sample, more, err = w.takeSample(ctx, surveying)
		return err
	})
	err := group.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if taken != nil {
		w.survey, w.surveyedAt = taken, w.now()
	} else if surveying {
		w.surveyAgain = true
	}
	if w.err = err; err != nil {
		return
	}
	w.samples = latest(append(w.samples, sample), int(maxSamples))
	if more != nil {
		w.extras = thinned(latest(append(w.extras, *more), int(maxExtras)))
	}
}

// words returns the number of words that an Extra takes for OSDs.
func (x Extra) words() int {
	return 3*len(x.latencies) + 5*len(x.io) + 9*len(x.OSDs) + 17*len(x.counters)
}

// thinned returns the Extras if they have at most maxFigures. Otherwise, it drops every second one, but not the last. So
// the oldest are the furthest apart. It does not change the argument, which views share.
func thinned(all []Extra) []Extra {
	words := 0
	for _, x := range all {
		words += x.words()
	}
	if words <= maxFigures {
		return all
	}
	kept := make([]Extra, 0, len(all)/2+1)
	for i, x := range all {
		if (len(all)-i)%2 == 1 {
			kept = append(kept, x)
		}
	}
	return kept
}

func latest[T any](all []T, limit int) []T {
	return all[max(0, len(all)-limit):]
}

// surveyEvery is the shortest time from a successful survey to the next one. A failed survey is repeated with
// the next sample.
const surveyEvery = 15 * time.Second

// SurveyAgain requests a new survey. An execution calls it while something in the survey prevents its next
// run, such as a flag that users can unset. View returns the old survey until the new one is taken.
func (w *Watch) SurveyAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.surveyAgain = true
}

// startSurvey reports whether a survey is due. It removes the request for it, so that a request that
// arrives during the survey leads to another one: the survey may have read the flags before they changed.
func (w *Watch) startSurvey() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := w.survey == nil || w.surveyAgain && w.now().Sub(w.surveyedAt) >= surveyEvery
	if due {
		w.surveyAgain = false
	}
	return due
}

// View holds the latest survey, and the samples and Extras that are kept. The slices are shared and must not
// be changed.
type View struct {
	Survey  *Survey
	Samples []quiescence.Sample
	Extras  []Extra
	// Clients are the addresses in Ceph at which the execution's clients were seen.
	Clients []string
	Err     error // of the last attempt to take a sample, and of a survey that was due with it
}

// View returns the present observations.
func (w *Watch) View() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return View{
		Survey: w.survey, Err: w.err,
		Samples: slices.Clip(w.samples), Extras: slices.Clip(w.extras), Clients: slices.Clip(w.clients),
	}
}

// takeSample takes a sample and, if one is due, an Extra. During a survey it takes no Extra. The survey
// reads the space itself, and OSD latencies matter only in a phase, during which surveys are rare.
func (w *Watch) takeSample(ctx context.Context, surveying bool) (quiescence.Sample, *Extra, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	connection, err := w.connect(ctx)
	if err != nil {
		return quiescence.Sample{}, nil, err
	}
	sample := quiescence.Sample{Time: w.now()}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(ceph.StoreIn(&sample.Status, func() (*ceph.Status, error) { return w.ceph.Status(ctx, connection) }))
	group.Go(ceph.StoreIn(&sample.PoolIO, func() ([]ceph.PoolIO, error) { return w.ceph.PoolIO(ctx, connection) }))
	asked := w.asked()
	if asked.Strays {
		group.Go(ceph.StoreIn(&sample.Strays, func() (*ceph.Strays, error) { return w.ceph.Strays(ctx, connection) }))
	}
	if asked.Clients != nil && sample.Time.Sub(w.listedAt) >= clientsEvery { // Only this goroutine changes listedAt.
		group.Go(func() error {
			w.noteClients(ctx, asked.Clients, sample.Time)
			return nil
		})
	}
	var more *Extra
	if !surveying && w.wantsExtra(sample.Time) {
		more = &Extra{time: sample.Time}
		group.Go(ceph.StoreIn(&more.latencies, func() ([]ceph.OSDLatency, error) { return w.ceph.OSDPerf(ctx, connection) }))
		group.Go(ceph.StoreIn(&more.DF, func() (*ceph.DF, error) { return w.ceph.DF(ctx, connection) }))
		if asked.BetweenRuns {
			group.Go(ceph.StoreIn(&more.OSDs, func() ([]ceph.OSD, error) { return w.ceph.OSDs(ctx, connection) }))
		} else {
			group.Go(func() error {
				more.io = w.osdIO(ctx, connection)
				return nil
			})
		}
		if asked.Counters {
			group.Go(func() error {
				more.counters, _ = w.ceph.OSDCounters(ctx, connection) // Optional: not each version of Ceph has them.
				return nil
			})
		}
	}
	err = group.Wait()
	sample.PoolIO = slices.DeleteFunc(sample.PoolIO, isIdle)
	return sample, more, err
}

// noteClients lists the clients, if Ceph answers. A monitor that dies takes the list of its clients with it.
func (w *Watch) noteClients(ctx context.Context, list func(context.Context) ([]string, error), now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, SampleEvery) // A monitor that hangs must not delay the sample.
	defer cancel()
	listed, _ := list(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listedAt = now
	for _, address := range listed {
		if !slices.Contains(w.clients, address) {
			w.clients = latest(append(w.clients, address), maxClients)
		}
	}
}

// isIdle reports whether clients do nothing in a pool. Samples leave out such pools, because a cluster
// may have hundreds of them, and a day has 17,280 samples.
func isIdle(pool ceph.PoolIO) bool {
	return pool.ReadOperationsPerSecond+pool.WriteOperationsPerSecond == 0
}

// osdIO reads the client I/O of OSDs; nil without an answer. A missing answer does not fail the sample: an
// older Ceph may not have the command, or a module of ceph-mgr may be broken.
func (w *Watch) osdIO(ctx context.Context, connection ceph.Connection) []ceph.OSDIO {
	w.mu.Lock()
	asks := !w.now().Before(w.noIO)
	w.mu.Unlock()
	if !asks {
		return nil
	}
	io, err := w.ceph.OSDIO(ctx, connection)
	if err == nil || errors.Is(err, context.Canceled) { // The context is cancelled if another query failed.
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
	connection, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	s := &Survey{}
	group, part := errgroup.WithContext(ctx)
	group.Go(ceph.StoreIn(&s.OSDMap, func() (*ceph.OSDMap, error) { return w.ceph.OSDMap(part, connection) }))
	group.Go(func() (err error) {
		if s.OSDs, err = w.ceph.OSDs(part, connection); err == nil {
			s.CacheBytes, err = ceph.CacheBytes(part, w.ceph, connection, s.OSDs)
		}
		return err
	})
	group.Go(ceph.StoreIn(&s.DF, func() (*ceph.DF, error) { return w.ceph.DF(part, connection) }))
	group.Go(ceph.StoreIn(&s.Versions, func() (*ceph.Versions, error) { return w.ceph.Versions(part, connection) }))
	group.Go(ceph.StoreIn(&s.PGs, func() ([]ceph.PG, error) { return w.ceph.PGs(part, connection) }))
	group.Go(ceph.StoreIn(&s.Config, func() ([]ceph.ConfigEntry, error) { return w.ceph.ConfigDump(part, connection) }))
	group.Go(func() error {
		s.Devices, _ = w.ceph.OSDDevices(part, connection) // Without them, only the OSDs' kernels are unknown.
		return nil
	})
	group.Go(ceph.StoreIn(&s.Tree, func() ([]ceph.OSDLocation, error) { return w.ceph.OSDTree(part, connection) }))
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return s, nil
}
