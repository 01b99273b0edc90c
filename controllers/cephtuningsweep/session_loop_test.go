package cephtuningsweep

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/tuning"
)

// noAnswers is a Ceph that does not answer the questions of quiet.
type noAnswers struct{ ceph.Client }

func (noAnswers) Status(context.Context, ceph.Connection) (*ceph.Status, error) {
	return nil, errors.New("no answer")
}

func (noAnswers) PoolIO(context.Context, ceph.Connection) ([]ceph.PoolIO, error) {
	return nil, errors.New("no answer")
}

// sameAtOnce are treatments that are applied at once.
type sameAtOnce struct{}

func (sameAtOnce) Try(context.Context) error { return nil }

func (sameAtOnce) Switch(context.Context, int, int) (sent, acknowledged time.Time, err error) {
	return time.Now(), time.Now(), nil
}
func (sameAtOnce) Proven(context.Context, int) (bool, error) { return true, nil }
func (sameAtOnce) Complete(context.Context, int) error       { return nil }
func (sameAtOnce) Holds(context.Context, int) error          { return nil }

// Without its plan, the archive of an invalid session could not be read, nor could those of the sweep's
// other sessions.
func TestInvalidSessionKeepsItsPlanAndTheEarlierEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := session.Quick(7, 3, 1, 8, session.DefaultWindow)
		if err != nil {
			t.Fatal(err)
		}
		began, looks := time.Now(), 0
		p := loopPlan{
			plan: plan, compared: sameAtOnce{}, clients: 1, names: []string{"cap=1"}, pairs: 8, bytes: math.MaxInt64,
			quiet:    &quiet{ceph: noAnswers{}, spec: v1alpha1.Quiescence{}, every: 5 * time.Second},
			question: session.Question{Question: switchback.Question{Candidates: 1, Quick: true, LastLook: 8}, Objective: session.Figure{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal}},
			course: func(_ context.Context, from []int, take func(int, runner.Course) error) error {
				var rows []result.Second
				for start := time.Duration(from[0]) * time.Second; start+time.Second <= time.Since(began); start += time.Second {
					rows = append(rows, result.Second{FromNanoseconds: int64(start), ToNanoseconds: int64(start + time.Second), Done: result.Done{Operations: 1000}})
				}
				if looks++; looks == 2 && len(rows) > 0 {
					rows[0].ToNanoseconds = 0
				}
				return take(0, runner.Course{Began: runner.Started{NotBefore: began, NotAfter: began}, Rows: rows})
			},
		}
		l := &loop{}
		p.runSession(t.Context(), l)
		if l.evidence.Record.Invalid == "" || l.evidence.Plan.Number != 3 || len(l.evidence.Clients) != 1 {
			t.Errorf("plan %d, %d clients, invalid %q; want the plan, the client of the first look, and why it is invalid", l.evidence.Plan.Number, len(l.evidence.Clients), l.evidence.Record.Invalid)
		}
	})
}

// A look without the rows of a stall would judge the window as if there had been no stall.
func TestLookWaitsForRowsThatAStallHoldsBack(t *testing.T) {
	for name, c := range map[string]struct {
		held       time.Duration // how long the rows from the sixth on are held back
		closedLoop bool
		waits      time.Duration
		rows       int
	}{
		"not held back":          {0, false, 0, 10},
		"for a while":            {20 * time.Second, false, 20 * time.Second, 10},
		"for too long":           {time.Hour, false, rowsWithin, 5},
		"those of a closed loop": {time.Hour, true, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				time.Sleep(10 * time.Second)
				record := session.Record{Began: began, End: 10 * time.Second, Switches: []switchback.Switch{{Ended: 10 * time.Second, Proven: true}}}
				p := loopPlan{clients: 1, course: func(_ context.Context, from []int, take func(int, runner.Course) error) error {
					rows := []result.Second{}
					for i := from[0]; i < 10 && (i < 5 || time.Since(began) >= 10*time.Second+c.held); i++ {
						row := result.Second{FromNanoseconds: int64(i) * 1e9, ToNanoseconds: int64(i+1) * 1e9, Done: result.Done{Operations: 100}}
						if !c.closedLoop {
							row.Due = new(100.0)
						}
						rows = append(rows, row)
					}
					return take(0, runner.Course{Began: runner.Started{NotBefore: began, NotAfter: began}, Rows: rows})
				}}
				plan, err := session.Quick(7, 3, 1, 8, session.DefaultWindow)
				if err != nil {
					t.Fatal(err)
				}
				gathered := session.NewCollector(plan, 1, nil)
				if err := p.hear(t.Context(), gathered, record); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began) - 10*time.Second; waited < c.waits || waited > c.waits+2*time.Second || gathered.Next(0) != c.rows {
					t.Errorf("it waited for %v and has %d rows, want %v and %d", waited, gathered.Next(0), c.waits, c.rows)
				}
			})
		})
	}
}

// A user can remove the finalizer of a sweep whose loop still runs, and keep the object with another one. All sessions
// share the budget, so the loop must give its memory back although it ends only after the sweep.
func TestTheLoopOfAVanishedSweepGivesItsMemoryBack(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kept := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: "kept", Finalizers: []string{"example.com/mine"}, DeletionTimestamp: &metav1.Time{Time: today()},
	}}
	kept.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(kept).Build()
	for _, name := range []string{"gone", "kept"} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Shared: dependencies.Shared{Client: c, Reader: c, Now: today}})
			key, budget := types.NamespacedName{Namespace: "bench", Name: name}, limits.NewBudget(1<<20)
			account := budget.Open()
			if err := account.Hold().Resize(1 << 10); err != nil {
				t.Fatal(err)
			}
			ends := make(chan struct{})
			one := r.loops.begin(t.Context(), key, account, func(context.Context, *loop) { <-ends })
			first, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if err != nil || first.RequeueAfter == 0 {
				t.Errorf("while the loop runs: %+v, %v; want another pass", first, err)
			}
			close(ends)
			<-one.done
			last, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if err != nil || last.RequeueAfter != 0 || budget.Free() != 1<<20 || r.loops.contains(key) {
				t.Errorf("afterwards: %+v, %v, %d bytes free", last, err, budget.Free())
			}
		})
	}
}

// Until a loop has ended, its goroutine writes its failure.
func TestOnlyAnEndedLoopSaysWhyItFailed(t *testing.T) {
	l := &loop{done: make(chan struct{}), failure: &tuning.ForeignChangeError{}}
	if l.foreignChange() != nil {
		t.Error("the failure of a running loop was read")
	}
	close(l.done)
	if l.foreignChange() == nil || (*loop)(nil).foreignChange() != nil {
		t.Error("the failure of an ended loop was not read")
	}
}
