// Package object describes the kinds that the command line works on: the names that people use,
// how to read objects, and the parts of status that both kinds share.
package object

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/schedule"
)

// Kind describes CephTuningSweep or CephBenchmark.
type Kind struct {
	// Name is the name of the kind, Plural the name of the resource, and Short its short name. kubectl accepts all of them,
	// in lower case.
	Name, Plural, Short string
	// New and NewList return empty objects.
	New     func() client.Object
	NewList func() client.ObjectList
}

// Sweep returns the kind CephTuningSweep.
func Sweep() Kind {
	return Kind{
		Name: "CephTuningSweep", Plural: "cephtuningsweeps", Short: "cephsweep",
		New:     func() client.Object { return &v1alpha1.CephTuningSweep{} },
		NewList: func() client.ObjectList { return &v1alpha1.CephTuningSweepList{} },
	}
}

// Benchmark returns the kind CephBenchmark.
func Benchmark() Kind {
	return Kind{
		Name: "CephBenchmark", Plural: "cephbenchmarks", Short: "cephbench",
		New:     func() client.Object { return &v1alpha1.CephBenchmark{} },
		NewList: func() client.ObjectList { return &v1alpha1.CephBenchmarkList{} },
	}
}

// Kinds returns both kinds.
func Kinds() []Kind { return []Kind{Sweep(), Benchmark()} }

// KindOf returns the kind that kubectl means by a word, such as cephsweep; false for any other word.
func KindOf(word string) (Kind, bool) {
	short, _, _ := strings.Cut(strings.ToLower(word), ".")
	for _, k := range Kinds() {
		if slices.Contains([]string{strings.ToLower(k.Name), k.Plural, k.Short}, short) {
			return k, true
		}
	}
	return Kind{}, false
}

// Parse parses arguments of the form TYPE/NAME, TYPE NAME, or NAME. For a NAME alone, the kind is empty: [Get] then
// looks among both kinds.
func Parse(args []string) (Kind, string, error) {
	switch {
	case len(args) == 1 && args[0] != "" && !strings.Contains(args[0], "/"):
		return Kind{}, args[0], nil
	case len(args) == 1:
		word, name, _ := strings.Cut(args[0], "/")
		return choose(word, name)
	case len(args) == 2 && !strings.Contains(args[0]+args[1], "/"):
		return choose(args[0], args[1])
	}
	return Kind{}, "", exit.UsageErrorf("want one object, such as NAME or cephbenchmark/NAME, got %d arguments", len(args))
}

func choose(word, name string) (Kind, string, error) {
	kind, known := KindOf(word)
	switch {
	case !known:
		return Kind{}, "", exit.UsageErrorf("%q is not a kind of cephtune: want cephtuningsweep or cephbenchmark", word)
	case name == "" || strings.Contains(name, "/"):
		return Kind{}, "", exit.UsageErrorf("%q is not a valid name of a %s", name, kind.Name)
	}
	return kind, name, nil
}

// Get reads an object. If the kind is empty, it looks among both kinds, and fails if each has an object of that name. If the
// object or its kind does not exist, the error says what to do.
func Get(ctx context.Context, reader client.Reader, kind Kind, key client.ObjectKey) (client.Object, error) {
	kinds := []Kind{kind}
	if kind.New == nil {
		kinds = Kinds()
	}
	var found []client.Object
	for _, k := range kinds {
		o := k.New()
		switch err := reader.Get(ctx, key, o); {
		case meta.IsNoMatchError(err):
			return nil, Unknown(k)
		case err == nil:
			found = append(found, o)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading %s %s: %w", k.Name, key, err)
		}
	}
	switch len(found) {
	case 0:
		name := cmp.Or(kind.Name, Sweep().Name+" or "+Benchmark().Name)
		return nil, fmt.Errorf("there is no %s %s in namespace %s: \"kubectl cephtune list -n %[3]s\" shows what is there; choose another namespace with -n", name, key.Name, key.Namespace)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("a sweep and a benchmark have the name %s in namespace %s: write cephtuningsweep/%[1]s or cephbenchmark/%[1]s", key.Name, key.Namespace)
}

// Open connects, and reads the object of the chosen namespace that arguments name, see [Parse].
func Open(ctx context.Context, connect Connect, args []string) (client.WithWatch, client.Object, error) {
	kind, name, err := Parse(args)
	if err != nil {
		return nil, nil, err
	}
	return OpenKind(ctx, connect, kind, name)
}

// OpenKind connects, and reads an object of the chosen namespace. The kind may be empty, see [Get].
func OpenKind(ctx context.Context, connect Connect, kind Kind, name string) (client.WithWatch, client.Object, error) {
	c, namespace, err := connect()
	if err != nil {
		return nil, nil, err
	}
	found, err := Get(ctx, c, kind, client.ObjectKey{Namespace: namespace, Name: name})
	return c, found, err
}

// Subject returns the kind, the namespace and the name of an object, for messages.
func Subject(o client.Object) string {
	return StateOf(o).Kind.Name + " " + client.ObjectKeyFromObject(o).String()
}

// Unknown returns the error for a kind that the cluster does not have.
func Unknown(kind Kind) error {
	return fmt.Errorf("the cluster does not know %ss: install cephtune, or choose another --context", kind.Name)
}

// State holds the parts of status that both kinds share.
type State struct {
	Kind               Kind
	Conditions         []metav1.Condition
	Progress           *v1alpha1.Progress
	ObservedGeneration int64
	RunID              v1alpha1.RunID
	ObservedRunID      v1alpha1.RunID
	Suspend            bool
	// Scheduled reports that the object has a schedule.
	Scheduled bool
	// Next is when the next run is due; nil without a schedule, and while it is suspended.
	Next    *metav1.Time
	Cluster v1alpha1.ClusterReference
	// Result is the progress or, at the end, the outcome in a few words. Verdict is the outcome, and Summary is the
	// outcome in sentences.
	Result, Verdict, Summary string
}

// StateOf returns the State of an object; empty for another kind.
func StateOf(o client.Object) State {
	switch o := o.(type) {
	case *v1alpha1.CephTuningSweep:
		result := resultOf(o.Status.Progress, o.Status.Headline)
		if o.Status.Verdict == "" && o.Status.Effect != "" {
			result += ", best so far " + o.Status.Best + " " + string(o.Status.Effect)
		}
		return State{
			Kind: Sweep(), Conditions: o.Status.Conditions, Progress: o.Status.Progress, ObservedGeneration: o.Status.ObservedGeneration,
			RunID: schedule.RunID(o), ObservedRunID: o.Status.ObservedRunID, Suspend: o.Spec.Suspend, Cluster: o.Spec.ClusterRef, Scheduled: o.Spec.Schedule != nil, Next: schedule.NextOf(o),
			Result: result, Verdict: string(o.Status.Verdict), Summary: o.Status.Summary,
		}
	case *v1alpha1.CephBenchmark:
		return State{
			Kind: Benchmark(), Conditions: o.Status.Conditions, Progress: o.Status.Progress, ObservedGeneration: o.Status.ObservedGeneration,
			RunID: schedule.RunID(o), ObservedRunID: o.Status.ObservedRunID, Suspend: o.Spec.Suspend, Cluster: o.Spec.ClusterRef, Scheduled: o.Spec.Schedule != nil, Next: schedule.NextOf(o),
			Result: resultOf(o.Status.Progress, o.Status.Headline), Verdict: string(o.Status.Verdict), Summary: o.Status.Summary,
		}
	}
	return State{}
}

func resultOf(progress *v1alpha1.Progress, headline string) string {
	if progress == nil {
		return headline
	}
	return progress.Summary
}

// Ready returns the condition Ready; empty if the operator has not set it yet.
func (s State) Ready() metav1.Condition { return s.condition(v1alpha1.ConditionReady) }

// Now says what the operator does, in its own words.
func (s State) Now() string {
	ready := s.Ready()
	return cmp.Or(ready.Reason, "Unknown") + ": " + cmp.Or(ready.Message, "the operator has not seen it")
}

// Restored returns the condition Restored; empty for a benchmark, and for a sweep that has changed no
// setting.
func (s State) Restored() metav1.Condition { return s.condition(v1alpha1.ConditionRestored) }

// Idle reports whether the condition Reconciling is not True: the object has ended, is suspended or waits for a
// change by a user, or the operator has not seen it yet.
func (s State) Idle() bool {
	return s.condition(v1alpha1.ConditionReconciling).Status != metav1.ConditionTrue
}

func (s State) condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// Ended reports whether the benchmark or sweep has ended for the run ID in spec, with or without results.
func (s State) Ended() bool {
	over := s.condition(v1alpha1.ConditionComplete).Status == metav1.ConditionTrue || s.Failed()
	return over && s.Idle() && s.RunID == s.ObservedRunID
}

// Failed reports whether the benchmark or sweep has failed for the run ID in status: it has no results, or a
// verdict that spec.failOn lists.
func (s State) Failed() bool {
	return s.condition(v1alpha1.ConditionFailed).Status == metav1.ConditionTrue
}
