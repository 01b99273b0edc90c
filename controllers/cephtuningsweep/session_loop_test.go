package cephtuningsweep

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/switchback"
)

// noAnswers is a Ceph that does not answer the questions of quiet.
type noAnswers struct{ ceph.Client }

func (noAnswers) Status(context.Context, ceph.Connection) (*ceph.Status, error) {
	return nil, errors.New("no answer")
}

func (noAnswers) PoolIO(context.Context, ceph.Connection) ([]ceph.PoolIO, error) {
	return nil, errors.New("no answer")
}

// sameAtOnce is a cluster that switches at once.
type sameAtOnce struct{}

func (sameAtOnce) Switch(context.Context, int, int) (sent, acknowledged time.Time, err error) {
	return time.Now(), time.Now(), nil
}
func (sameAtOnce) Proven(context.Context, int) (bool, error) { return true, nil }
func (sameAtOnce) Holds(context.Context, int) error          { return nil }

// Without its plan, the archive of a void session could not be read, nor could those of the sweep's
// other sessions.
func TestVoidSessionKeepsItsPlanAndTheEarlierEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := session.Quick(7, 3, 1, 8, session.DefaultWindow)
		if err != nil {
			t.Fatal(err)
		}
		began, looks := time.Now(), 0
		p := loopPlan{
			plan: plan, cluster: sameAtOnce{}, clients: 1, names: []string{"cap=1"}, pairs: 8, bytes: math.MaxInt64,
			try: func(context.Context) error { return nil }, failure: func() error { return nil },
			quiet:    &quiet{ceph: noAnswers{}, spec: v1alpha1.Quiescence{}, every: 5 * time.Second},
			question: session.Question{Question: switchback.Question{Candidates: 1, Quick: true, LastLook: 8}, Objective: session.Figure{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal}},
			course: func(_ context.Context, from []int, take func(int, runner.Course) error) error {
				var rows []result.Second
				for at := time.Duration(from[0]) * time.Second; at+time.Second <= time.Since(began); at += time.Second {
					rows = append(rows, result.Second{FromNanoseconds: int64(at), ToNanoseconds: int64(at + time.Second), Done: result.Done{Operations: 1000}})
				}
				if looks++; looks == 2 && len(rows) > 0 {
					rows[0].ToNanoseconds = 0
				}
				return take(0, runner.Course{Began: runner.Started{NotBefore: began, NotAfter: began}, Rows: rows})
			},
		}
		l := &loop{}
		p.switchSettings(t.Context(), l)
		if l.evidence.Record.Void == "" || l.evidence.Plan.Number != 3 || len(l.evidence.Clients) != 1 {
			t.Errorf("plan %d, %d clients, void %q; want the plan, the client of the first look, and why it is void", l.evidence.Plan.Number, len(l.evidence.Clients), l.evidence.Record.Void)
		}
	})
}
