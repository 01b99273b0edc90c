package list

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
)

// outlines returns the objects of a table with only what the list shows.
func outlines(kind object.Kind, table *kube.Table) (all []client.Object) {
	columns := map[string]int{}
	for i, column := range table.ColumnDefinitions {
		columns[column.Name] = i
	}
	for _, row := range table.Rows {
		all = append(all, outline(kind, row, func(column string) string {
			if i, ok := columns[column]; ok && i < len(row.Cells) {
				text, _ := row.Cells[i].(string) // A missing value is nil.
				return text
			}
			return "" // Benchmarks have fewer columns than sweeps.
		}))
	}
	return all
}

func outline(kind object.Kind, row kube.Row, cell func(column string) string) client.Object {
	known := row.Object.Metadata
	metadata := metav1.ObjectMeta{
		Name: known.Name, Namespace: known.Namespace, CreationTimestamp: known.CreationTimestamp, DeletionTimestamp: known.DeletionTimestamp, OwnerReferences: known.OwnerReferences,
	}
	cluster := v1alpha1.ClusterReference{Namespace: cell("Cluster namespace"), Name: cell("Cluster")}
	progress := &v1alpha1.Progress{Summary: cell("Result")}
	var schedule *v1alpha1.ScheduleStatus
	if due, err := time.Parse(time.RFC3339, cell("Next")); err == nil {
		schedule = &v1alpha1.ScheduleStatus{NextTime: new(metav1.NewTime(due))}
	}
	conditions := []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Reason: cell("Phase")}, {Type: v1alpha1.ConditionRestored, Reason: cell("Restored")},
	}
	if kind.Name == object.Benchmark().Name {
		return &v1alpha1.CephBenchmark{
			ObjectMeta: metadata, Spec: v1alpha1.CephBenchmarkSpec{ClusterRef: cluster},
			Status: v1alpha1.CephBenchmarkStatus{Progress: progress, Conditions: conditions, Schedule: schedule},
		}
	}
	return &v1alpha1.CephTuningSweep{
		ObjectMeta: metadata, Spec: v1alpha1.CephTuningSweepSpec{ClusterRef: cluster},
		Status: v1alpha1.CephTuningSweepStatus{
			Progress: progress, Conditions: conditions, Schedule: schedule,
			Best: cell("Best"), Effect: v1alpha1.Effect(cell("Δ")), Verdict: v1alpha1.SweepVerdict(cell("Verdict")),
		},
	}
}
