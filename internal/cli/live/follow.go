package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/workload/progress"
)

// Logs follows the log of a container from its last line on. The stream ends when the context is done,
// the container has ended, or the connection breaks.
type Logs func(ctx context.Context, namespace, pod, container string) (io.ReadCloser, error)

// Subject is the benchmark whose clients to follow.
type Subject struct {
	// Namespace and Benchmark name a running CephBenchmark. If Benchmark is empty, no client is
	// followed.
	Namespace, Benchmark string
	// Clients is the benchmark's number of clients; 0 if unknown.
	Clients int
	// Objective is the metric that the benchmark is made for; "" for no particular one.
	Objective v1alpha1.Metric
}

// Follower follows the clients of one benchmark at a time.
type Follower struct {
	Pods client.Reader
	Logs Logs
	// Every is the interval between figures. Look is the interval between searches for pods, and the pause
	// before a log that has ended is read again.
	Every, Look time.Duration
	// Deadline is how long all clients may be silent before an error of the logs, or of the search for pods,
	// is reported. A missing permission is reported without this delay.
	Deadline time.Duration
	Now      func() time.Time
}

// New returns a Follower with intervals that suit a person at a terminal.
func New(pods client.Reader, logs Logs) *Follower {
	return &Follower{Pods: pods, Logs: logs, Every: time.Second, Look: 5 * time.Second, Deadline: 20 * time.Second, Now: time.Now}
}

// Follow reports the clients' rate periodically until the context is done. Before each report, it calls
// the function subject to learn which benchmark to follow. To report, it calls the function tell with that
// benchmark and the figure.
func (f *Follower) Follow(ctx context.Context, subject func() Subject, tell func(Subject, Figure)) {
	s := &session{Follower: f, clients: map[string]*follower{}}
	defer s.drop()
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) { s.turn(ctx, subject(), tell) }, f.Every)
}

// session holds the benchmark and the logs that are followed at present.
type session struct {
	*Follower
	subject Subject
	clients map[string]*follower // keyed by pod
	looked  time.Time
	err     error     // from the last search for pods
	quiet   time.Time // when the figure was last known, or when the subject changed
	work    sync.WaitGroup
}

// follower follows one log. Other goroutines read its last rate.
type follower struct {
	stop context.CancelFunc

	mu   sync.Mutex
	last heard
	err  error // from the last failed attempt to open the log; nil once a rate was read after it
}

// turn searches for pods if that is due, and reports the clients' figure.
func (s *session) turn(ctx context.Context, subject Subject, tell func(Subject, Figure)) {
	now := s.Now()
	if subject != s.subject {
		s.drop()
		s.subject, s.looked, s.quiet = subject, time.Time{}, now
	}
	if subject.Benchmark == "" {
		return
	}
	if now.Sub(s.looked) >= s.Look {
		s.looked = now
		s.look(ctx)
	}
	if figure := s.figure(now); ctx.Err() == nil {
		tell(subject, figure)
	}
}

// figure returns the clients' rate, or the reason why it is unknown. It returns an empty Figure while
// the clients are silent, which is normal between two phases.
func (s *session) figure(now time.Time) Figure {
	var words []heard
	err := s.err
	for _, pod := range slices.Sorted(maps.Keys(s.clients)) {
		word, failed := s.clients[pod].latest()
		if failed != nil && err == nil {
			err = failed
		}
		if !word.arrived.IsZero() {
			words = append(words, word)
		}
	}
	sum, ok := merge(words, max(s.subject.Clients, len(s.clients)), now)
	switch {
	case ok:
		s.quiet = now
		return sum
	case isRefusal(err):
		return Figure{Unknown: fmt.Sprintf("it is in the logs of the pods, which you may not read: %v", err)}
	case err != nil && now.Sub(s.quiet) >= s.Deadline:
		return Figure{Unknown: err.Error()}
	}
	return Figure{}
}

func isRefusal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// look searches for the running client pods of the benchmark. It begins to follow new pods, and stops
// following pods that no longer run.
func (s *session) look(ctx context.Context) {
	var pods corev1.PodList
	s.err = s.Pods.List(ctx, &pods, client.InNamespace(s.subject.Namespace), client.MatchingLabels{
		settings.LabelManagedBy: settings.ManagedBy, settings.LabelComponent: settings.ComponentBenchmark,
	})
	if s.err != nil {
		return // The existing followers continue.
	}
	running := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		running[pod.Name] = isClientOf(s.subject.Benchmark, pod) && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero()
		if running[pod.Name] && s.clients[pod.Name] == nil {
			s.begin(ctx, pod.Name)
		}
	}
	maps.DeleteFunc(s.clients, func(name string, one *follower) bool {
		if !running[name] {
			one.stop()
		}
		return !running[name]
	})
}

// isClientOf reports whether a pod measures for a benchmark. The pod of a background load prints
// its speed too, but is not part of the measurement.
func isClientOf(benchmark string, pod *corev1.Pod) bool {
	return pod.Annotations[settings.AnnotationBenchmark] == benchmark && pod.Labels[settings.LabelRole] != settings.RoleBackground
}

func (s *session) begin(ctx context.Context, pod string) {
	ctx, stop := context.WithCancel(ctx)
	one := &follower{stop: stop}
	s.clients[pod] = one
	namespace := s.subject.Namespace
	s.work.Go(func() { one.follow(ctx, s.Follower, namespace, pod) })
}

// drop stops all followers, and waits for their end.
func (s *session) drop() {
	for _, one := range s.clients {
		one.stop()
	}
	clear(s.clients)
	s.work.Wait()
}

// follow reads a log to its end, and then reads it again, because connections break and the API server
// ends long ones.
func (one *follower) follow(ctx context.Context, with *Follower, namespace, pod string) {
	for ctx.Err() == nil {
		one.read(ctx, with, namespace, pod)
		select {
		case <-ctx.Done():
		case <-time.After(with.Look):
		}
	}
}

func (one *follower) read(ctx context.Context, with *Follower, namespace, pod string) {
	stream, err := with.Logs(ctx, namespace, pod, settings.ContainerClient)
	if err != nil {
		one.note(func() { one.err = fmt.Errorf("log of pod %s: %w", pod, err) })
		return
	}
	defer stream.Close() //nolint:errcheck // The stream was only read, so a failed close loses no data.
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() })
	defer stop()
	lines := bufio.NewReaderSize(stream, 16<<10)
	for {
		text, err := lines.ReadSlice('\n')
		if line, ok := progress.Parse(string(text)); ok && err == nil {
			one.note(func() { one.last, one.err = heard{line: line, arrived: with.Now()}, nil })
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // A line that exceeds the buffer is not from a runner, so it is skipped.
			return
		}
	}
}

func (one *follower) note(change func()) {
	one.mu.Lock()
	defer one.mu.Unlock()
	change()
}

func (one *follower) latest() (heard, error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.last, one.err
}
