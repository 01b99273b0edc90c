package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// These are keys of documents in the binaryData of a ConfigMap: of a run, and of the nights of a benchmark.
const (
	Key        = "run.json.gz"
	HistoryKey = "nights.jsonl.gz"
)

// These are the labels of the ConfigMaps.
const (
	// LabelBenchmark is the name of the CephBenchmark, shortened if it is too long
	// for a label.
	LabelBenchmark = "cephtune.dev/benchmark"
	// LabelRunID is the run ID of the CephBenchmark.
	LabelRunID = "cephtune.dev/run-id"
	// LabelExecution distinguishes executions of the same run ID. A benchmark executes a run ID again if
	// a user sets that run ID after another one. The key has the word of earlier versions, whose results are read, too.
	LabelExecution = "cephtune.dev/session"
	// LabelRun is the number of the run within its execution.
	LabelRun = "cephtune.dev/run"
	// LabelHistory is the name of the CephBenchmark on the ConfigMap with its nights, shortened like LabelBenchmark. That
	// ConfigMap has no LabelBenchmark, so no list of runs has it.
	LabelHistory = "cephtune.dev/history"
)

const (
	maxName    = 63
	hashDigits = 10
)

// ConfigMap returns an immutable ConfigMap for a run of the benchmark's current execution. It takes
// owner, run ID and execution from the benchmark.
//
// The ConfigMap's name depends only on the owner, the execution and the run's number, so a second write
// after a crash fails with AlreadyExists. The caller may treat this error as success if the existing
// ConfigMap is [Genuine].
func ConfigMap(benchmark *v1alpha1.CephBenchmark, run *Run) (*corev1.ConfigMap, error) {
	if benchmark.Status.StartTime == nil || benchmark.UID == "" {
		return nil, errors.New("archive: the names of results need the benchmark's UID and status.startTime, and one is missing")
	}
	document := *run
	document.Benchmark = Benchmark{Namespace: benchmark.Namespace, Name: benchmark.Name, UID: benchmark.UID}
	document.RunID = benchmark.Status.ObservedRunID
	document.ExecutionTime = benchmark.Status.StartTime.UTC()
	data, err := Marshal(&document)
	if err != nil {
		return nil, err
	}
	labels := Labels(benchmark.Name)
	labels[LabelRunID] = string(document.RunID)
	labels[LabelExecution] = Execution(benchmark)
	labels[LabelRun] = strconv.Itoa(int(run.Number))
	cm := Document(benchmark, v1alpha1.KindCephBenchmark, Key, data)
	cm.Name, cm.Labels = Name(benchmark, run.Number), labels
	cm.Annotations = map[string]string{AnnotationExecutionStart: document.ExecutionTime.Format(time.RFC3339)}
	return cm, nil
}

// Document returns an immutable ConfigMap, still without a name and labels, that has one document of its owner.
func Document(owner metav1.Object, kind, key string, data []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       owner.GetNamespace(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		},
		Immutable:  new(true),
		BinaryData: map[string][]byte{key: data},
	}
}

// ForeignError says that a ConfigMap does not have the results that the operator wrote for a benchmark.
type ForeignError struct {
	Namespace, Name, Benchmark string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("ConfigMap %s does not have the results that the operator wrote for benchmark %s: save what you need of it, and run kubectl delete configmap -n %s %s",
		e.Name, e.Benchmark, e.Namespace, e.Name)
}

// Of reads a benchmark's run from a ConfigMap. Users can write ConfigMaps with any name and owner. So Of returns a
// [*ForeignError] for a ConfigMap that the benchmark does not own, for a document of another benchmark, for
// another document than status records, and for a document of the execution in status that status does not record.
// Only [Genuine] tells whether the operator wrote the results of an earlier execution.
func Of(benchmark *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) (*Run, error) {
	foreign := &ForeignError{Namespace: cm.Namespace, Name: cm.Name, Benchmark: benchmark.Name}
	record := RecordOf(benchmark, cm)
	if !metav1.IsControlledBy(cm, benchmark) || record == RecordedOther {
		return nil, foreign
	}
	run, err := FromConfigMap(cm)
	if err != nil {
		return nil, err
	}
	if run.Benchmark.UID != benchmark.UID || record == Unrecorded && run.isOf(benchmark.Status) {
		return nil, foreign
	}
	run.Unsigned = record == RecordedUnsigned
	return run, nil
}

// isOf reports whether the run belongs to the execution in status.
func (r *Run) isOf(status v1alpha1.CephBenchmarkStatus) bool {
	return r.RunID == status.ObservedRunID && status.StartTime != nil && r.ExecutionTime.Equal(status.StartTime.Time)
}

// FromConfigMap reads the run in a ConfigMap, without checking the owner.
func FromConfigMap(cm *corev1.ConfigMap) (*Run, error) {
	data, ok := cm.BinaryData[Key]
	if !ok {
		return nil, fmt.Errorf("ConfigMap %s has no %s: it is not an archive of results", cm.Name, Key)
	}
	run, err := Unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", cm.Name, err)
	}
	return run, nil
}

// Name returns the name of the ConfigMap of a run: <benchmark>-<[Execution]>-<number>. It shortens the
// name of the benchmark so that the result has at most 63 characters.
func Name(benchmark *v1alpha1.CephBenchmark, number int32) string {
	return shortened(benchmark.Name, fmt.Sprintf("-%s-%d", Execution(benchmark), number))
}

// Execution returns the value of [LabelExecution] for the execution in status: a hash of the benchmark's UID,
// the run ID and the start time.
func Execution(benchmark *v1alpha1.CephBenchmark) string {
	started := int64(0)
	if t := benchmark.Status.StartTime; t != nil {
		started = t.Unix() // The API stores whole seconds.
	}
	return hash(fmt.Sprintf("%s\n%s\n%d", benchmark.UID, benchmark.Status.ObservedRunID, started))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

func shortened(name, suffix string) string {
	name = name[:min(len(name), maxName-len(suffix))]
	return strings.TrimRight(name, "-.") + suffix
}

// Labels returns the labels that select the ConfigMaps of a benchmark by its name. ConfigMaps of an
// earlier benchmark with the same name match too, but have another owner.
func Labels(benchmark string) map[string]string { return labelled(LabelBenchmark, benchmark) }

// HistoryLabels is like [Labels], for the ConfigMap with the nights of a benchmark.
func HistoryLabels(benchmark string) map[string]string { return labelled(LabelHistory, benchmark) }

func labelled(label, benchmark string) map[string]string {
	if len(benchmark) > maxName {
		benchmark = shortened(benchmark, "-"+hash(benchmark))
	}
	return map[string]string{"app.kubernetes.io/managed-by": "cephtune", label: benchmark}
}

// HistoryName returns the name of the ConfigMap with the nights of a benchmark that have a digest.
func HistoryName(benchmark, digest string) string {
	return shortened(benchmark, "-nights-"+digest[:hashDigits])
}

// CompareAge compares the executions of two ConfigMaps, for sorting: the latest execution comes first, and in an execution
// the latest run. Results without [AnnotationExecutionStart] follow all others, because their time of creation proves
// only that their execution is not later. The operator passes only annotations that it signed.
func CompareAge(a, b metav1.Object) int {
	start := func(o metav1.Object) time.Time {
		t, _ := time.Parse(time.RFC3339, o.GetAnnotations()[AnnotationExecutionStart]) // Without a start, it is zero.
		return t
	}
	run := func(o metav1.Object) int {
		n, _ := strconv.Atoi(o.GetLabels()[LabelRun])
		return n
	}
	first, second := start(a), start(b)
	if first.IsZero() && second.IsZero() {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
	}
	return cmp.Or(second.Compare(first), cmp.Compare(a.GetLabels()[LabelExecution], b.GetLabels()[LabelExecution]), run(b)-run(a))
}

// Prune returns the ConfigMaps to delete, sorted by name. It keeps the ConfigMaps of the latest executions, as
// [CompareAge] sorts them. The argument keep is the number of these executions; 0 counts as 1. Prune skips ConfigMaps
// without [LabelExecution]. The caller passes only ConfigMaps that are [Signed].
func Prune(maps []metav1.PartialObjectMetadata, keep int) []metav1.PartialObjectMetadata {
	sorted := slices.SortedStableFunc(slices.Values(maps), func(a, b metav1.PartialObjectMetadata) int { return CompareAge(&a, &b) })
	var kept []string
	var old []metav1.PartialObjectMetadata
	for _, m := range sorted {
		switch id := m.Labels[LabelExecution]; {
		case id == "" || slices.Contains(kept, id):
		case len(kept) < max(keep, 1):
			kept = append(kept, id)
		default:
			old = append(old, m)
		}
	}
	slices.SortFunc(old, func(a, b metav1.PartialObjectMetadata) int { return cmp.Compare(a.Name, b.Name) })
	return old
}
