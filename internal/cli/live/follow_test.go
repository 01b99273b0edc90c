package live

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/internal/settings"
)

const namespace = "cephtune-bench"

// pod returns a pod of a benchmark.
func pod(name, benchmark string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels:      map[string]string{settings.LabelManagedBy: settings.ManagedBy, settings.LabelComponent: settings.ComponentBenchmark},
			Annotations: map[string]string{settings.AnnotationBenchmark: benchmark},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// printer has the logs of pods. It repeats each log until the reader closes it.
type printer struct {
	logs map[string]string
	err  error

	mu   sync.Mutex
	open map[string]int
}

func (p *printer) follow(ctx context.Context, _, pod, container string) (io.ReadCloser, error) {
	if p.err != nil {
		return nil, p.err
	}
	if container != "client" {
		return nil, errors.New("there is no container " + container)
	}
	reader, writer := io.Pipe()
	p.count(pod, 1)
	go func() {
		defer p.count(pod, -1)
		for ctx.Err() == nil {
			if _, err := io.WriteString(writer, p.logs[pod]+"\n"); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		_ = writer.Close()
	}()
	return reader, nil
}

func (p *printer) count(pod string, change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[string]int{}
	}
	p.open[pod] += change
}

func (p *printer) opened() (total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.open {
		total += n
	}
	return total
}

// follow follows a subject until it reports the figure that the test waits for.
func follow(t *testing.T, pods client.Reader, logs Logs, subject func() Subject, until func(Figure) bool) Figure {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f := &Follower{Pods: pods, Logs: logs, Every: time.Millisecond, Look: 5 * time.Millisecond, Deadline: 50 * time.Millisecond, Now: time.Now}
	var last Figure
	f.Follow(ctx, subject, func(_ Subject, figure Figure) {
		if last = figure; until(figure) {
			cancel()
		}
	})
	if !until(last) {
		t.Fatalf("the last that was told is %+v", last)
	}
	return last
}

func nightly() Subject { return Subject{Namespace: namespace, Benchmark: "nightly", Clients: 2} }

func TestFollow(t *testing.T) {
	const fast = "cephtune-progress-1 task=r1-a seconds=1 MiB/s=300 IOPS=30"
	const slow = "cephtune-progress-1 task=r1-a seconds=1 MiB/s=100 IOPS=10"
	logs := &printer{logs: map[string]string{"nightly-0": fast, "nightly-1": slow, "nightly-2": fast, "weekly-0": fast, "nightly-bg": fast}}
	beside := pod("nightly-bg", "nightly", corev1.PodRunning)
	beside.Labels[settings.LabelRole] = settings.RoleBackground
	pods := fake.NewClientBuilder().WithObjects(
		pod("nightly-0", "nightly", corev1.PodRunning), pod("nightly-1", "nightly", corev1.PodRunning),
		// The first pod has ended, the second belongs to another benchmark, and the third is the
		// background load's.
		pod("nightly-2", "nightly", corev1.PodFailed), pod("weekly-0", "weekly", corev1.PodRunning), beside,
	).Build()
	got := follow(t, pods, logs.follow, nightly, func(f Figure) bool { return f.Clients == 2 })
	if want := "400 MiB/s, 40 IOPS, a at 1s (2 clients)"; got.Text("") != want {
		t.Errorf("got %q, want %q", got.Text(""), want)
	}
	for end := time.Now().Add(10 * time.Second); logs.opened() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d logs are still followed", logs.opened())
		}
	}
}

// A sweep runs one benchmark after another.
func TestFollowsAnotherBenchmarkNext(t *testing.T) {
	logs := &printer{logs: map[string]string{
		"first-0":  "cephtune-progress-1 task=r1-a seconds=1 MiB/s=1 IOPS=1",
		"second-0": "cephtune-progress-1 task=r1-a seconds=1 MiB/s=2 IOPS=2",
	}}
	pods := fake.NewClientBuilder().WithObjects(pod("first-0", "first", corev1.PodRunning), pod("second-0", "second", corev1.PodRunning)).Build()
	var mu sync.Mutex
	name := "first"
	subject := func() Subject {
		mu.Lock()
		defer mu.Unlock()
		return Subject{Namespace: namespace, Benchmark: name, Clients: 1}
	}
	follow(t, pods, logs.follow, subject, func(f Figure) bool {
		mu.Lock()
		defer mu.Unlock()
		if f.Rate.OperationsPerSecond == 1 {
			name = "second"
		}
		return f.Rate.OperationsPerSecond == 2
	})
}

func TestWhyNothingIsKnown(t *testing.T) {
	running := fake.NewClientBuilder().WithObjects(pod("nightly-0", "nightly", corev1.PodRunning)).Build()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "nightly-0", errors.New("no"))
	for name, tc := range map[string]struct {
		logs *printer
		want string
	}{
		"logs may not be read":     {&printer{err: forbidden}, "you may not read"},
		"logs are out of reach":    {&printer{err: errors.New("the node does not answer")}, "log of pod nightly-0: the node does not answer"},
		"it says other things too": {&printer{logs: map[string]string{"nightly-0": "listening on 0.0.0.0:7480"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			turns := 0
			got := follow(t, running, tc.logs.follow, nightly, func(f Figure) bool {
				turns++
				return (tc.want != "" && f.Unknown != "") || turns > 200
			})
			if !strings.Contains(got.Unknown, tc.want) || (tc.want == "") != (got.Text("") == "") {
				t.Errorf("got %q, want %q", got.Text(""), tc.want)
			}
		})
	}
}

func TestLogsAreFollowedOnlyDuringMeasurements(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	f := New(nil, nil) // Both are nil, because nothing must be read.
	f.Every = time.Millisecond
	f.Follow(ctx, func() Subject { return Subject{} }, func(_ Subject, figure Figure) { t.Errorf("told %+v", figure) })
}
