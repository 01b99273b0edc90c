package v1alpha1_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

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
schedule: {nextTime: "2026-01-02T03:00:00Z"}
conditions:
- {type: Complete, status: "True", reason: Passed, message: Done., lastTransitionTime: "2026-01-01T00:00:00Z"}
- {type: Ready, status: "True", reason: Completed, message: Done., lastTransitionTime: "2026-01-01T00:00:00Z"}
progress: {summary: "Passed: write 412 MiB/s", completedRuns: 3, totalRuns: 3}
headline: write 412 MiB/s
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
				"Phase": "Completed", "Result": "Passed: write 412 MiB/s", "Verdict": "Passed", "Trial of": nil, "Cluster": "my-cluster", "Cluster namespace": "rook-ceph",
				"Run": "1", "Next": "2026-01-02T03:00:00Z",
			},
		},
		"a sweep that has found something": {
			object: minimalSweep, resource: "cephtuningsweeps",
			status: `
observedRunID: "1"
conditions:
- {type: Ready, status: "False", reason: Confirming, message: Busy., lastTransitionTime: "2026-01-01T00:00:00Z"}
progress: {summary: "pair 5 of 8, 0.71–0.94 so far, about 2 min"}
best: pg_num=64
effect: +23.4%
headline: 412 → 508 MiB/s, higher is better
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
				"Phase": "Confirming", "Result": "pair 5 of 8, 0.71–0.94 so far, about 2 min", "Best": "pg_num=64", "Δ": "+23.4%", "Verdict": "Superior",
				"Scope": nil, "Cluster": "my-cluster", "Cluster namespace": "rook-ceph", "Restored": nil, "Run": "1", "Next": nil,
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
			table := tableOf(t, config, tc.resource, object.GetName())
			got := map[string]any{}
			for i, column := range table.ColumnDefinitions {
				got[column.Name] = table.Rows[0].Cells[i]
			}
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

// ofWidth is the label of the objects of testWidth.
const ofWidth = "test-of-width"

// tableOf asks the API server for an object as a table, as kubectl get does; for those of testWidth if the name is empty.
func tableOf(t *testing.T, config *rest.Config, resource, name string) metav1.Table {
	t.Helper()
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	raw, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request := raw.Get().Namespace(namespace).Resource(resource).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if name == "" {
		request.Param("labelSelector", ofWidth)
	} else {
		request.Name(name)
	}
	text, err := request.DoRaw(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	table := metav1.Table{}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	return table
}

// testWidth fills a namespace as on a busy day, and measures the table that kubectl get prints.
func testWidth(t *testing.T, config *rest.Config, c client.Client) {
	for resource, rows := range map[string][][3]string{
		"cephtuningsweeps": {
			{"mclock-profile", v1alpha1.ReasonRunning, "pair 5 of 8, 0.71–0.94 so far, about 2 min"},
			{"pg-num", v1alpha1.ReasonComplete, "Superior: pg_num=64, 378 → 541 MiB/s"},
			{"message-cap", v1alpha1.ReasonComplete, "Inconclusive: LatencyP99 12.2ms → 12.4ms"},
			{"weekly", v1alpha1.ReasonQueued, "0/24 runs"},
		},
		"cephbenchmarks": {
			{"nightly", v1alpha1.ReasonComplete, "Passed: write-4m 384 MiB/s"},
			{"mclock-profile-327d4df0-024", v1alpha1.ReasonRunning, "trial: randwrite-4k 41.2k IOPS"},
			{"gate", v1alpha1.ReasonQueued, "1/3 runs"},
		},
	} {
		t.Run(resource, func(t *testing.T) {
			for _, row := range rows {
				object := parse(t, map[string]string{"cephtuningsweeps": minimalSweep, "cephbenchmarks": minimalBenchmark}[resource])
				object.SetName(row[0])
				object.SetLabels(map[string]string{ofWidth: ""})
				t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), object) })
				if err := c.Create(deadline(t), object); err != nil {
					t.Fatal(err)
				}
				writeStatus(t, c, object, fmt.Sprintf(`
conditions: [{type: Ready, status: "False", reason: %s, message: x, lastTransitionTime: "2026-01-01T00:00:00Z"}]
progress: {summary: %q}`, row[1], row[2]))
			}
			table, names := tableOf(t, config, resource, ""), []string{}
			width := -3
			for i, column := range table.ColumnDefinitions {
				if column.Priority > 0 {
					continue
				}
				names = append(names, column.Name)
				cell := utf8.RuneCountInString(column.Name)
				for _, row := range table.Rows {
					cell = max(cell, utf8.RuneCountInString(fmt.Sprint(row.Cells[i])))
				}
				width += cell + 3 // as kubectl does
			}
			want := []string{"Name", "Phase", "Result", "Age"}
			if t.Logf("%d characters", width); len(table.Rows) != len(rows) || !slices.Equal(names, want) || width > 80 {
				t.Errorf("%d characters, columns %v", width, names)
			}
		})
	}
}
