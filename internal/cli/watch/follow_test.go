package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	cli "github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// hurried polls every millisecond, and gives up soon.
func hurried() pace { return pace{Pace: clitest.Hurried(), unseen: time.Minute} }

// answering returns a connection to a cluster with a running sweep. Each later read of the sweep gets the next answer; after
// the last answer, the sweep has ended.
func answering(t *testing.T, answers ...func(*v1alpha1.CephTuningSweep) error) client.WithWatch {
	t.Helper()
	reads := 0
	return interceptor.NewClient(clitest.Holding(t, atWork(t)), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s, isSweep := o.(*v1alpha1.CephTuningSweep)
			if err := c.Get(ctx, key, o, opts...); err != nil || !isSweep {
				return err
			}
			switch reads++; {
			case reads == 1:
				return nil
			case reads <= len(answers)+1:
				return answers[reads-2](s)
			}
			conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "It is done.")
			return nil
		},
	})
}

func refusing(*v1alpha1.CephTuningSweep) error { return errors.New("connection refused") }

func unchanged(*v1alpha1.CephTuningSweep) error { return nil }

func TestAReadThatFailsIsRepeated(t *testing.T) {
	pace := hurried()
	pace.Deadline = time.Minute // A busy machine may pause between two tries.
	got := clitest.Execute(t, watching(answering(t, unchanged, refusing, unchanged, refusing, refusing), pace), "cephtuningsweep/lab", "")
	if got.Err != nil {
		t.Error(got.Err)
	}
	if lines := strings.Count(got.Stdout, "Running"); lines != 1 {
		t.Errorf("%d lines for what has not changed:\n%s", lines, got.Stdout)
	}
}

func TestNobodyAnswers(t *testing.T) {
	gets := 0
	c := interceptor.NewClient(clitest.Holding(t, atWork(t)), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if gets++; gets == 1 {
				return c.Get(ctx, key, o, opts...)
			}
			return errors.New("no route to host")
		},
	})
	pace := hurried()
	pace.Deadline = 2 * time.Second // A busy machine must have time for three tries.
	err := clitest.Execute(t, watching(c, pace), "cephtuningsweep/lab", "").Err
	if err == nil || exit.Code(err) != exit.Failure || !strings.Contains(err.Error(), "reading CephTuningSweep cephtune-bench/lab: no route to host") {
		t.Errorf("got %v", err)
	}
	if gets < 3 {
		t.Errorf("gave up after %d tries", gets)
	}
}

func TestPermanentErrorsAreNotRetried(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "cephtuningsweeps"}, "lab", errors.New("no"))
	for name, c := range map[string]struct {
		get  error
		want string
	}{
		"no such kind":      {get: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "cephtune.dev", Kind: "CephTuningSweep"}}, want: "install cephtune"},
		"may not read":      {get: forbidden, want: "is forbidden"},
		"no answer at once": {get: errors.New("connection refused"), want: "reading CephTuningSweep cephtune-bench/lab: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			faulty := interceptor.NewClient(clitest.Holding(t, atWork(t)), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					reads++
					return c.get
				},
			})
			err := clitest.Execute(t, watching(faulty, hurried()), "cephtuningsweep/lab", "").Err
			if err == nil || !strings.Contains(err.Error(), c.want) || exit.Code(err) != exit.Failure || reads != 1 {
				t.Errorf("got %v after %d reads, want an error with %q after one", err, reads, c.want)
			}
		})
	}
}

func TestItTakesTooLong(t *testing.T) {
	got := clitest.Execute(t, watching(clitest.Holding(t, atWork(t)), hurried()), "lab --timeout 1s -o json", "")
	if got.Code() != exit.Unexpected || !strings.Contains(got.Err.Error(), "--timeout has passed, but cephtuningsweep/lab goes on.") {
		t.Errorf("got %v with exit code %d", got.Err, got.Code())
	}
	if got.Stdout != "" || !strings.Contains(got.Stderr, "Running") {
		t.Errorf("stdout %q, which is for an object that has ended; stderr %q", got.Stdout, got.Stderr)
	}
}

// interrupting calls a function when something is written.
type interrupting func()

func (interrupt interrupting) Write(p []byte) (int, error) {
	interrupt()
	return len(p), nil
}

func TestInterruptEndsWatch(t *testing.T) {
	for name, c := range map[string]struct {
		early      bool
		want, last string
	}{
		"while it runs":         {false, "cephtuningsweep/lab", " Its last message: Running, 3/24 runs, run 4, pg_num=4: measuring."},
		"before the first read": {true, "lab", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if c.early {
				cancel()
			}
			cmd := watching(clitest.Holding(t, atWork(t)), hurried())
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs([]string{"lab"})
			cmd.SetOut(interrupting(cancel))
			cmd.SetErr(interrupting(cancel))
			err := cmd.ExecuteContext(ctx)
			advice := fmt.Sprintf("interrupted, but %[1]s goes on.%[2]s To follow it again: kubectl cephtune watch %[1]s -n cephtune-bench. "+
				"To end it: kubectl cephtune cancel %[1]s -n cephtune-bench", c.want, c.last)
			if exit.Code(err) != exit.Interrupted || !strings.Contains(err.Error(), advice) {
				t.Errorf("got %v with exit code %d", err, exit.Code(err))
			}
		})
	}
}

func TestAnotherOfThatName(t *testing.T) {
	another := func(s *v1alpha1.CephTuningSweep) error {
		s.UID = "another"
		return nil
	}
	if got := clitest.Execute(t, watching(answering(t, another), hurried()), "cephtuningsweep/lab", ""); got.Err == nil || !strings.Contains(got.Err.Error(), "was deleted") {
		t.Errorf("got %v, want that it was deleted", got.Err)
	}
}

// log is written by the command and read by the test.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until the command has printed a text.
func (l *log) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(l.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not say %q:\n%s", text, l)
		}
	}
}

// TestFollowsARealAPIServer follows the life of a sweep on a real API server. The test plays the
// operator.
func TestFollowsARealAPIServer(t *testing.T) {
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clitest.Namespace}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, client.WithWatch, *v1alpha1.CephTuningSweep){
		"to the verdict": followToTheVerdict,
		"until deleted":  followUntilDeleted,
	} {
		t.Run(name, func(t *testing.T) {
			s := winner(t)
			s.Name, s.UID, s.Generation = strings.ReplaceAll(name, " ", "-"), "", 0
			if err := c.Create(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			test(t, c, s)
		})
	}
}

// start runs the command. It returns its output and its end.
func start(t *testing.T, c client.WithWatch, line string) (*log, <-chan error) {
	t.Helper()
	lines, ended := &log{}, make(chan error, 1)
	cmd := watching(c, defaultPace())
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(strings.Fields(line))
	cmd.SetOut(lines)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	return lines, ended
}

func writeStatus(t *testing.T, c client.Client, s *v1alpha1.CephTuningSweep, change func()) {
	t.Helper()
	change()
	if err := c.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func followToTheVerdict(t *testing.T, c client.WithWatch, s *v1alpha1.CephTuningSweep) {
	lines, ended := start(t, c, s.Name+" --timeout 2m")
	lines.await(t, "The operator has not seen it yet.")
	writeStatus(t, c, s, func() { goOn(s, v1alpha1.ReasonPreparing, "Looking at the cluster.") })
	lines.await(t, "Looking at the cluster.")
	for run := range 3 {
		summary := fmt.Sprintf("%d/44 runs", run)
		writeStatus(t, c, s, func() {
			s.Status.Progress = &v1alpha1.Progress{Summary: summary, Step: fmt.Sprintf("run %d, baseline: measuring", run+1)}
			goOn(s, v1alpha1.ReasonRunning, fmt.Sprintf("Run %d: baseline.", run+1))
		})
		lines.await(t, summary)
	}
	writeStatus(t, c, s, func() {
		full := winner(t)
		full.Status.DeepCopyInto(&s.Status)
		goOn(s, v1alpha1.ReasonRestoring, "The verdict is in status. Restoring everything.")
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionComplete)
	})
	lines.await(t, "Restoring everything.")
	writeStatus(t, c, s, func() { conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, s.Status.Summary) })
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, lines)
	}
	for _, want := range []string{"profile=high_client_ops cap=1024", "Restored: Everything", "There is no patch for Git: the verdict speaks of one pool"} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, lines)
		}
	}
}

func followUntilDeleted(t *testing.T, c client.WithWatch, s *v1alpha1.CephTuningSweep) {
	lines, ended := start(t, c, "cephtuningsweep/"+s.Name+" --timeout 2m")
	lines.await(t, "The operator has not seen it yet.")
	if err := c.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || exit.Code(err) != exit.Failure || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("got %v, want that it was deleted\n%s", err, lines)
	}
}

// TestAsksWhetherTheOperatorRuns checks that an object that the operator ignores is not followed in
// silence. A command that waits for a plan then ends.
func TestAsksWhetherTheOperatorRuns(t *testing.T) {
	for name, quiet := range map[string]bool{"with progress": false, "quiet": true} {
		t.Run(name, func(t *testing.T) {
			s := atWork(t)
			s.Status = v1alpha1.CephTuningSweepStatus{}
			o := &options{kind: cli.StateOf(s).Kind, name: s.Name, timeout: 500 * time.Millisecond, output: "table", quiet: quiet}
			p := hurried()
			p.unseen = time.Millisecond
			out, errOut := &log{}, &log{}
			_, err := o.run(t.Context(), clitest.Holding(t, s), s.Namespace, surroundings{now: time.Now, pace: p}, out, errOut)
			const advice = "The operator has not seen it for 1ms. Does it run, and is cephtune-bench a benchmark namespace? kubectl cephtune doctor -n cephtune-bench checks that."
			if !quiet && strings.Count(out.String(), advice) != 1 {
				t.Errorf("said %q", out)
			}
			want := "last message: " + advice
			if quiet {
				want = advice
			}
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--timeout") == quiet {
				t.Errorf("error %v", err)
			}
		})
	}
}
