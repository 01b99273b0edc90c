package watch

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// kind describes how to follow objects of one kind.
type kind struct {
	object.Kind
	// read returns the view of an object, and report writes its outcome.
	read   func(client.Object) (view, error)
	report func(context.Context, client.Reader, client.Object, io.Writer) error
}

func sweepKind() kind {
	return kind{
		Kind: object.Sweep(),
		read: typed(viewOfSweep),
		report: func(_ context.Context, _ client.Reader, o client.Object, w io.Writer) error {
			s, ok := o.(*v1alpha1.CephTuningSweep)
			if !ok {
				return fmt.Errorf("got a %T", o)
			}
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
			return results.WriteSweep(w, s)
		},
	}
}

func benchmarkKind() kind {
	return kind{
		Kind: object.Benchmark(),
		read: typed(viewOfBenchmark),
		report: func(ctx context.Context, reader client.Reader, o client.Object, w io.Writer) error {
			b, ok := o.(*v1alpha1.CephBenchmark)
			if !ok {
				return fmt.Errorf("got a %T", o)
			}
			return writeBenchmark(ctx, reader, w, b)
		},
	}
}

// following returns the description of a kind for following its objects.
func following(followed object.Kind) kind {
	if k := benchmarkKind(); k.Name == followed.Name {
		return k
	}
	return sweepKind()
}

func typed[T client.Object](read func(T) view) func(client.Object) (view, error) {
	return func(o client.Object) (view, error) {
		object, ok := o.(T)
		if !ok {
			return view{}, fmt.Errorf("got a %T", o)
		}
		return read(object), nil
	}
}

func viewOfSweep(s *v1alpha1.CephTuningSweep) view {
	v := viewOf(s.ObjectMeta, s.Status.ObservedGeneration, s.Spec.RunID == s.Status.ObservedRunID, s.Status.Conditions, s.Status.Progress)
	v.best = s.Status.Best
	if v.best != "" && s.Status.Effect != "" {
		v.best += " " + string(s.Status.Effect)
	}
	if v.best != "" && s.Status.Headline != "" {
		v.best += " (" + s.Status.Headline + ")"
	}
	// The current trial is the one after the last in the ledger.
	v.measuredBy(s.Namespace, trial.NameOf(s, sweepspec.NextTrial(s)), s.Spec.Template.Clients)
	if v.clients.Benchmark != "" {
		v.clients.Objective = s.Spec.Objective.Metric
	}
	return v
}

func viewOfBenchmark(b *v1alpha1.CephBenchmark) view {
	v := viewOf(b.ObjectMeta, b.Status.ObservedGeneration, b.Spec.RunID == b.Status.ObservedRunID, b.Status.Conditions, b.Status.Progress)
	v.measuredBy(b.Namespace, b.Name, b.Spec.Template.Clients)
	return v
}

// measuredBy records the benchmark whose clients report their rate, if a run is in progress.
func (v *view) measuredBy(namespace, benchmark string, clients v1alpha1.Clients) {
	if v.end == endNone && v.phase == v1alpha1.ReasonRunning {
		v.clients = live.Subject{Namespace: namespace, Benchmark: benchmark, Clients: int(clients.Count)}
	}
}

// viewOf reads the parts of status that both kinds share.
func viewOf(o metav1.ObjectMeta, observed int64, sameRun bool, conditions []metav1.Condition, progress *v1alpha1.Progress) view {
	var v view
	if progress != nil {
		v.progress, v.step = progress.Summary, progress.Step
		if estimate := progress.EstimatedCompletionTime; estimate != nil {
			v.ends = estimate.Time
		}
	}
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready != nil {
		v.phase, v.message = ready.Reason, ready.Message
	}
	v.unseen = ready == nil
	switch {
	case ready == nil || observed != o.Generation:
		// Status is missing, or about an earlier spec.
		v.step, v.message = "", "The operator has not seen it yet."
	case !o.DeletionTimestamp.IsZero():
		v.step = "being deleted"
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled):
		v.end = endFailed
	case sameRun && ready.Status == metav1.ConditionTrue:
		v.end = endResult
	}
	return v
}
