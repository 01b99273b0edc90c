package sentinel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/watch"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/rook"
)

// leastRepetitions lets two runs fail of the three that an interval of this hour needs.
const leastRepetitions = 5

// measure runs the benchmark once, and writes progress to w. It need not look for sweeps: the operator's lock keeps both apart.
func (o *options) measure(ctx context.Context, w io.Writer) error {
	b := o.benchmark
	if err := refusal(b); err != nil {
		return err
	}
	c, _, err := o.connect()
	if err != nil {
		return err
	}
	if o.moment == after {
		if err := o.awaitRook(ctx, c, w); err != nil {
			return err
		}
	}
	was := b.DeepCopy()
	b.Spec.RunID = v1alpha1.RunID(o.moment + "-" + o.now().UTC().Format("2006-01-02T150405Z"))
	if err := c.Patch(ctx, b, client.MergeFrom(was)); err != nil {
		return fmt.Errorf("changing spec.runID of %s: %w", object.Subject(b), err)
	}
	if _, err := terminal.Printf(w, "%s runs with run ID %s.\n", object.Subject(b), b.Spec.RunID); err != nil {
		return err
	}
	silent := func(client.Object, io.Writer) error { return nil }
	ended, err := watch.Follow(ctx, c, watch.Request{Object: b, Output: "table", Report: silent}, w, w)
	if ended != nil && object.StateOf(ended).Ready().Reason == v1alpha1.ReasonFailedOnVerdict {
		return nil // The verdict on the benchmark's own limits is none on the upgrade.
	}
	return err
}

// refusal says why a benchmark cannot run now.
func refusal(b *v1alpha1.CephBenchmark) error {
	isCurve := func(p v1alpha1.Phase) bool { return engine.TraitsOf(&p).Curve }
	switch {
	case b.Spec.Diagnosis != nil:
		return fmt.Errorf("%s is a diagnosis, which has no figures: name another benchmark", object.Subject(b))
	case b.Spec.Suspend:
		return fmt.Errorf("%s is suspended: \"kubectl cephtune resume cephbenchmark/%s -n %s\" lets it run", object.Subject(b), b.Name, b.Namespace)
	case b.Spec.Repetitions < leastRepetitions && !slices.ContainsFunc(b.Spec.Template.Phases, isCurve):
		return fmt.Errorf("%s has %d repetitions: set spec.repetitions to %d or more, because an interval needs three valid ones", object.Subject(b), b.Spec.Repetitions, leastRepetitions)
	}
	return nil
}

// awaitRook waits until Rook has finished the upgrade. The operator does so, too, before each run, but not for the hours that
// an upgrade may take.
func (o *options) awaitRook(ctx context.Context, c client.Client, w io.Writer) error {
	access, ref, said, answered := rook.New(c, nil, o.now), o.benchmark.Spec.ClusterRef, "", time.Now()
	err := object.Poll(ctx, o.pace, func() (settled bool, err error) {
		cluster, err := access.Cluster(ctx, ref)
		_, lasting := errors.AsType[*rook.Error](err)
		switch reason := cluster.Unsettled(); {
		case apierrors.IsForbidden(err):
			return false, fmt.Errorf("whether Rook has finished is unknown: you may not get CephCluster %s/%s", ref.Namespace, ref.Name)
		case lasting || err != nil && time.Since(answered) > o.pace.Deadline:
			return false, err
		case err == nil && reason == "":
			return true, nil
		case err == nil:
			answered = time.Now()
			if reason != said {
				_, err = terminal.Printf(w, "Waiting for Rook: %s.\n", reason)
			}
			said = reason
			return false, err
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		return object.Unfinishedf(err, "Rook has not finished: %w; the last reason: %s", err, said)
	}
	return err
}
