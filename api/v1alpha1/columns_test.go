package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// testColumns writes a status and looks at what kubectl get would show of it.
func testColumns(t *testing.T, config *rest.Config, c client.Client) {
	cases := map[string]struct {
		object, resource string
		status           string
		want             map[string]any
	}{
		"a benchmark that has passed": {
			object: minimalBenchmark, resource: "cephbenchmarks",
			status: `
observedRunID: "1"
conditions:
- {type: Complete, status: "True", reason: Passed, message: Done., lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "True", reason: Completed, message: Done., lastTransitionTime: "2026-01-01T00:00:00Z"}
progress: {summary: 3/3 runs, completedRuns: 3, totalRuns: 3}
headline: write 412 MiB/s ±2 %
verdict: Passed
phases:
- name: write
  validRuns: 3
  marks: [Cached]
  metrics:
  - {metric: Bandwidth, value: "432013312", low: "4.2e+08", high: "4.4e+08"}
  - {metric: IOPS, direction: Write, value: "103"}
runs: [{number: 1, state: Valid, results: pg-num-1}]`,
			want: map[string]any{
				"Phase": "Completed", "Progress": "3/3 runs", "Result": "write 412 MiB/s ±2 %", "Verdict": "Passed",
				"Cluster": "my-cluster", "Run": "1",
			},
		},
		"a sweep that has found something": {
			object: minimalSweep, resource: "cephtuningsweeps",
			status: `
observedRunID: "1"
conditions:
- {type: Ready, status: "False", reason: Confirming, message: Busy., lastTransitionTime: "2026-01-01T00:00:00Z"}
progress: {summary: 17/24 runs}
best: pg_num=64
effect: +23.4%
headline: 412 MiB/s → 508 MiB/s, higher is better
verdict: Superior
plan: {plannerVersion: 1, seed: 42, configurations: 2, estimatedDuration: 3h20m0s, estimatedBytesWritten: 1Ti, baseline: [{name: pg_num, value: "32"}], runDuration: 2m, block: 2, order: [1, 0, 2]}
runs:
- 1 1.1.0 0 432013e3,0.0123 75s 4096Mi Valid
- 2 1.1.1 1 - 12s 0Mi Inert
configurations:
- {index: 0, name: baseline, runs: 1}
- {index: 1, name: pg_num=64, runs: 1, ratio: "1.234", low: "1.1", high: "1.4", verdict: Superior}
noise: {floor: 3.1%, drift: -0.5%, smallestEffect: 4%}
constraints: [{phase: fio, metric: LatencyP99, outcome: Kept, low: "0.9", high: "1.02"}]`,
			want: map[string]any{
				"Phase": "Confirming", "Progress": "17/24 runs", "Best": "pg_num=64", "Result": "412 MiB/s → 508 MiB/s, higher is better", "Δ": "+23.4%", "Verdict": "Superior",
				"Scope": nil, "Cluster": "my-cluster", "Run": "1",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := parse(t, tc.object)
			object.SetName("columns")
			if err := c.Create(deadline(t), object); err != nil {
				t.Fatal(err)
			}
			writeStatus(t, c, object, tc.status)
			got := cells(t, config, tc.resource, object.GetName())
			for _, notOfInterest := range []string{"Name", "Age"} {
				delete(got, notOfInterest)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}

func writeStatus(t *testing.T, c client.Client, object *unstructured.Unstructured, text string) {
	t.Helper()
	status := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	object.Object["status"] = status
	if err := c.Status().Update(deadline(t), object); err != nil {
		t.Fatal(err)
	}
}

// cells asks the API server for an object as a table, as kubectl get does.
func cells(t *testing.T, config *rest.Config, resource, name string) map[string]any {
	t.Helper()
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	raw, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := raw.Get().Namespace(namespace).Resource(resource).Name(name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	table := metav1.Table{}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		got[column.Name] = table.Rows[0].Cells[i]
	}
	return got
}
