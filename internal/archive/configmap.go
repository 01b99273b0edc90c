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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Key is the member of a ConfigMap's binaryData that is the document.
const Key = "run.json.gz"

// Labels of the ConfigMaps.
const (
	// LabelBenchmark is the name of the CephBenchmark, shortened if it is too long
	// for a label.
	LabelBenchmark = "cephtune.dev/benchmark"
	// LabelRunID is its run ID.
	LabelRunID = "cephtune.dev/run-id"
	// LabelSession distinguishes executions of the same run ID: returning to an earlier ID
	// runs again, with other results.
	LabelSession = "cephtune.dev/session"
	// LabelRun is the number of the run within its session.
	LabelRun = "cephtune.dev/run"
)

const (
	maxName    = 63
	hashDigits = 10
)

// ConfigMap makes the immutable ConfigMap that keeps a run of a benchmark whose
// status is about that run. Owner, run ID and session are taken from the benchmark.
//
// Its name follows from these and the run's number alone, so writing it once more
// after a crash fails with AlreadyExists, which is then as good as done, provided
// that the one that exists has the same owner (metav1.IsControlledBy).
func ConfigMap(benchmark *v1alpha1.CephBenchmark, run *Run) (*corev1.ConfigMap, error) {
	if benchmark.Status.StartTime == nil || benchmark.UID == "" {
		return nil, errors.New("archive: the benchmark has no UID or its status no startTime, which name its results")
	}
	document := *run
	document.Benchmark = Benchmark{Namespace: benchmark.Namespace, Name: benchmark.Name, UID: benchmark.UID}
	document.RunID = benchmark.Status.ObservedRunID
	document.SessionTime = benchmark.Status.StartTime.UTC()
	data, err := Marshal(&document)
	if err != nil {
		return nil, err
	}
	labels := Labels(benchmark.Name)
	labels[LabelRunID] = string(document.RunID)
	labels[LabelSession] = Session(benchmark)
	labels[LabelRun] = strconv.Itoa(int(run.Number))
	immutable := true
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: benchmark.Namespace,
			Name:      Name(benchmark, run.Number),
			Labels:    labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(benchmark, v1alpha1.GroupVersion.WithKind("CephBenchmark")),
			},
		},
		Immutable:  &immutable,
		BinaryData: map[string][]byte{Key: data},
	}, nil
}

// ForeignError says that a ConfigMap that has the name of results is not of the benchmark.
type ForeignError struct {
	Namespace, Name, Benchmark string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("ConfigMap %s is in the way of the results and not of benchmark %s: keep what you need of it, and delete it with kubectl delete configmap -n %s %s",
		e.Name, e.Benchmark, e.Namespace, e.Name)
}

// Of reads a benchmark's run from a ConfigMap. Names of results are predictable, so a
// ConfigMap of another owner is not read: that is a [*ForeignError].
func Of(benchmark *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) (*Run, error) {
	foreign := &ForeignError{Namespace: cm.Namespace, Name: cm.Name, Benchmark: benchmark.Name}
	if !metav1.IsControlledBy(cm, benchmark) {
		return nil, foreign
	}
	run, err := FromConfigMap(cm)
	if err == nil && run.Benchmark.UID != benchmark.UID {
		return nil, foreign
	}
	return run, err
}

// FromConfigMap reads the run that a ConfigMap keeps, whosever it is.
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

// Name is that of the ConfigMap of a run, at most 63 characters long:
// <benchmark>-<hash of owner and session>-<number>. The name of the benchmark is cut
// where it is too long.
func Name(benchmark *v1alpha1.CephBenchmark, number int32) string {
	return shortened(benchmark.Name, fmt.Sprintf("-%s-%d", Session(benchmark), number))
}

// Session is the value of [LabelSession] for the execution that status is about: a
// hash of the owner, the run ID and the time at which it began.
func Session(benchmark *v1alpha1.CephBenchmark) string {
	started := int64(0)
	if t := benchmark.Status.StartTime; t != nil {
		started = t.Unix() // All that the API keeps of a time.
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

// Labels select the ConfigMaps of a benchmark, by its name; those of an earlier one
// of the same name have another owner.
func Labels(benchmark string) map[string]string {
	if len(benchmark) > maxName {
		benchmark = shortened(benchmark, "-"+hash(benchmark))
	}
	return map[string]string{"app.kubernetes.io/managed-by": "cephtune", LabelBenchmark: benchmark}
}

// Prune names the ConfigMaps to delete, sorted, so that only those of the latest sessions
// remain: keep of them, at least one. It skips those of other owners and those that are not
// archives.
func Prune(maps []metav1.PartialObjectMetadata, owner types.UID, keep int) []string {
	type member struct {
		name    string
		session string
	}
	var members []member
	latest := map[string]int64{}
	for _, m := range maps {
		controller := metav1.GetControllerOf(&m)
		id := m.Labels[LabelSession]
		if id == "" || controller == nil || controller.UID != owner {
			continue
		}
		members = append(members, member{m.Name, id})
		latest[id] = max(latest[id], m.CreationTimestamp.Unix())
	}
	sessions := make([]string, 0, len(latest))
	for id := range latest {
		sessions = append(sessions, id)
	}
	slices.SortFunc(sessions, func(a, b string) int {
		return cmp.Or(cmp.Compare(latest[b], latest[a]), cmp.Compare(a, b))
	})
	kept := sessions[:min(len(sessions), max(keep, 1))]
	var names []string
	for _, m := range members {
		if !slices.Contains(kept, m.session) {
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return names
}
