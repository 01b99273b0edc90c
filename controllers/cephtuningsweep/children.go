package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// writtenBytes returns the number of bytes that the clients and the background load of a benchmark wrote,
// including the prefill, but without pilots (short test runs that determine the size of a phase). The prefill
// counts even if an earlier run of the block wrote that data. Without readable results, writtenBytes returns
// the plan's estimate, or else the size of the prefill. If results exist but cannot be read, it also returns
// why.
func (r *Reconciler) writtenBytes(ctx context.Context, seen pass, child *v1alpha1.CephBenchmark) (bytes int64, reason string, err error) {
	prefilled := int64(0)
	if size, err := resource.ParseQuantity(string(child.Spec.Template.Dataset.Size)); err == nil { // The size is Auto only if nothing is prefilled.
		prefilled = sweepspec.PrefillBytes(child.Spec.Template, size.Value())
	}
	kept, reason, err := r.resultsOf(ctx, child)
	switch {
	case err != nil:
		return 0, "", err
	case kept != nil:
		return prefilled + kept.WrittenBytes() + rampBytes(child.Spec.Template, kept), "", nil
	}
	if expected := seen.sweep.Status.Plan.RunBytesWritten; expected != nil {
		return expected.Value(), reason, nil
	}
	return prefilled, reason, nil
}

// resultsOf returns the results of a benchmark's first run with results, or nil and why they cannot be read.
// If no run has results, it returns nil and "". After an error, the caller should retry.
func (r *Reconciler) resultsOf(ctx context.Context, child *v1alpha1.CephBenchmark) (kept *archive.Run, reason string, err error) {
	first := slices.IndexFunc(child.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results != "" })
	if first < 0 {
		return nil, "", nil
	}
	cm := &corev1.ConfigMap{}
	err = r.Reader.Get(ctx, types.NamespacedName{Namespace: child.Namespace, Name: child.Status.Runs[first].Results}, cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, "", fmt.Errorf("read the results of benchmark %s: %w", child.Name, err)
	}
	if err == nil {
		kept, err = archive.Of(child, cm)
	}
	if err != nil {
		return nil, fmt.Sprintf("The results of benchmark %s cannot be read, so it counts with the bytes that the plan expects: %v", child.Name, err), nil
	}
	return kept, "", nil
}

// rampBytes estimates the bytes that the clients wrote during ramps, for the engines that do not report
// ramps, and in the steps of curves. It assumes the write rate that was measured after the ramp.
func rampBytes(t v1alpha1.BenchmarkTemplate, run *archive.Run) int64 {
	total := 0.0
	for _, phase := range t.Phases {
		load, err := engine.LoadOf(phase)
		if err != nil {
			continue // The phase was admitted and has run, so this cannot fail.
		}
		timing := load.Timing()
		if timing.Cut || timing.MeasuredSeconds <= 0 {
			continue
		}
		for _, p := range run.Phases {
			if p.Name == phase.Name {
				total += float64(p.WrittenBytes()) * (timing.RampSeconds + timing.CurveSeconds) / timing.MeasuredSeconds
			}
		}
	}
	return int64(total)
}

// nodesOfRun returns the recorded nodes of the clients in the first run of the run ID.
func nodesOfRun(s *v1alpha1.CephTuningSweep) []v1alpha1.NodeName {
	var nodes []v1alpha1.NodeName
	for _, word := range notedNodes(s) {
		if !strings.HasPrefix(word, ofBackground) {
			nodes = append(nodes, v1alpha1.NodeName(word))
		}
	}
	return nodes
}

// ofBackground marks the node of the background load in AnnotationNodes. Node names contain no colon, so none
// begins with this prefix.
const ofBackground = "background:"

// backgroundNodesOfRun returns the recorded node of the background load in the first run of the run ID.
func backgroundNodesOfRun(s *v1alpha1.CephTuningSweep) []v1alpha1.NodeName {
	var nodes []v1alpha1.NodeName
	for _, word := range notedNodes(s) {
		if node, ok := strings.CutPrefix(word, ofBackground); ok {
			nodes = append(nodes, v1alpha1.NodeName(node))
		}
	}
	return nodes
}

// notedNodes returns the words that follow the run ID in AnnotationNodes; nil if the annotation is missing or
// has another run ID than spec.
func notedNodes(s *v1alpha1.CephTuningSweep) []string {
	words := strings.Fields(s.Annotations[AnnotationNodes])
	if len(words) == 0 || words[0] != string(s.Spec.RunID) {
		return nil
	}
	return words[1:]
}

// noteNodes records the nodes of the clients and of the background load in an annotation, because status has no
// room for them. It does so once for a run ID: in the first run in which it finds all these pods running.
func (r *Reconciler) noteNodes(ctx context.Context, seen pass) error {
	if len(nodesOfRun(seen.sweep)) > 0 {
		return nil
	}
	nodes, background, err := r.nodesOf(ctx, seen.child)
	if err != nil || len(nodes) == 0 {
		return err
	}
	before := seen.sweep.DeepCopy()
	if seen.sweep.Annotations == nil {
		seen.sweep.Annotations = map[string]string{}
	}
	words := []string{string(seen.sweep.Spec.RunID)}
	for _, node := range nodes {
		words = append(words, string(node))
	}
	if background != "" {
		words = append(words, ofBackground+string(background))
	}
	seen.sweep.Annotations[AnnotationNodes] = strings.Join(words, " ")
	if err := r.Client.Patch(ctx, seen.sweep, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("note the nodes of the clients: %w", err)
	}
	return nil
}

// forgetLostNodes lets Kubernetes choose nodes again after a benchmark lost one: on the recorded nodes, the next runs would
// wait for it in vain. If the template names nodes, they stay as they are.
func (r *Reconciler) forgetLostNodes(ctx context.Context, seen facts, child *v1alpha1.CephBenchmark) error {
	if !lostNode(child) || len(notedNodes(seen.sweep)) == 0 {
		return nil
	}
	after := seen.sweep.DeepCopy()
	delete(after.Annotations, AnnotationNodes)
	if err := r.Client.Patch(ctx, after, client.MergeFrom(seen.sweep)); err != nil {
		return fmt.Errorf("forget the nodes of the clients: %w", err)
	}
	return nil
}

// lostNode reports whether a benchmark failed because it lost the node of a client.
func lostNode(child *v1alpha1.CephBenchmark) bool {
	return child != nil && failureOf(child).Reason == v1alpha1.ReasonNodeLost
}

// failureOf returns condition Failed of a benchmark; the zero value if it has not failed.
func failureOf(child *v1alpha1.CephBenchmark) metav1.Condition {
	failed := meta.FindStatusCondition(child.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Status != metav1.ConditionTrue {
		return metav1.Condition{}
	}
	return *failed
}

// nodesOf returns the nodes of a benchmark's clients, and the node of its background load. Until all these
// pods run, it returns nil and "".
func (r *Reconciler) nodesOf(ctx context.Context, child *v1alpha1.CephBenchmark) (nodes []v1alpha1.NodeName, background v1alpha1.NodeName, err error) {
	placed := int32(0)
	labelled := pages.Of[corev1.PodList](ctx, r.Reader, client.InNamespace(child.Namespace), client.MatchingLabels{
		settings.LabelManagedBy: settings.ManagedBy, settings.LabelComponent: settings.ComponentBenchmark,
	})
	for page, err := range labelled {
		if err != nil {
			return nil, "", fmt.Errorf("list the clients of benchmark %s: %w", child.Name, err)
		}
		for i := range page.Items {
			pod := &page.Items[i]
			node := v1alpha1.NodeName(pod.Spec.NodeName)
			if node == "" || pod.Status.Phase != corev1.PodRunning || !isClientOf(child, pod) {
				continue
			}
			if pod.Labels[settings.LabelRole] == settings.RoleBackground {
				background = node
				continue
			}
			placed++
			if !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
	}
	if placed < child.Spec.Template.Clients.Count || (child.Spec.Template.BackgroundLoad != nil && background == "") {
		return nil, "", nil
	}
	slices.Sort(nodes)
	return nodes, background, nil
}

// isClientOf reports whether a pod belongs to a Job whose UID the benchmark's status has. Other users can create pods
// with the same labels and annotations.
func isClientOf(child *v1alpha1.CephBenchmark, pod *corev1.Pod) bool {
	owner, clients := metav1.GetControllerOf(pod), child.Status.Clients
	return owner != nil && clients != nil && (owner.UID == clients.JobUID || owner.UID == clients.BackgroundJobUID)
}

// prune removes the benchmark that is historyLimit runs older than the current one, if it exists. The
// benchmark's figures stay in the ledger. A benchmark that users gave the label is not the sweep's.
func (r *Reconciler) prune(ctx context.Context, seen pass) error {
	oldest := seen.run() - int(seen.sweep.Spec.HistoryLimit)
	if oldest < 1 {
		return nil
	}
	return r.removeAll(ctx, seen, func(child *v1alpha1.CephBenchmark) bool { return trial.IsOfRun(child, seen.sweep, oldest) })
}

// removeAll removes those of the sweep's benchmarks that a function selects.
func (r *Reconciler) removeAll(ctx context.Context, seen pass, selects func(*v1alpha1.CephBenchmark) bool) error {
	children, err := r.children(ctx, seen.sweep, selects)
	for i := range children {
		err = errors.Join(err, r.removeChild(ctx, &children[i]))
	}
	return err
}

// children returns those of the benchmarks that began as the sweep's that a function selects. They come from the cache.
// Users can label any number of other benchmarks like a sweep's, so they are read neither from the API server nor
// copied.
func (r *Reconciler) children(ctx context.Context, s *v1alpha1.CephTuningSweep, selects func(*v1alpha1.CephBenchmark) bool) ([]v1alpha1.CephBenchmark, error) {
	var all v1alpha1.CephBenchmarkList
	if err := r.Client.List(ctx, &all, client.InNamespace(s.Namespace), client.HasLabels{sweepspec.LabelSweep}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the benchmarks of the sweep: %w", err)
	}
	var children []v1alpha1.CephBenchmark
	for i := range all.Items {
		if child := &all.Items[i]; trial.IsOf(child, s) && selects(child) {
			children = append(children, *child.DeepCopy())
		}
	}
	return children, nil
}

// removeChild deletes a benchmark by UID, so that it never deletes another benchmark with the same name.
func (r *Reconciler) removeChild(ctx context.Context, child *v1alpha1.CephBenchmark) error {
	if !child.DeletionTimestamp.IsZero() {
		return nil
	}
	uid := child.UID
	if err := r.Client.Delete(ctx, child, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove benchmark %s: %w", child.Name, err)
	}
	return nil
}

// removeChildren removes the benchmarks and the session archives of earlier run IDs.
func (r *Reconciler) removeChildren(ctx context.Context, seen pass) error {
	err := r.removeAll(ctx, seen, func(child *v1alpha1.CephBenchmark) bool { return child.Status.Trial.RunID != seen.sweep.Spec.RunID })
	if err != nil {
		return err
	}
	return r.removeArchives(ctx, seen)
}
