package sentinel

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/quiescence"
)

var update = flag.Bool("update", false, "write the golden files")

// execution is one that is over, or that the operator makes of the next run ID: the day on which it began, the level of its
// figures, and the version of Ceph.
type execution struct {
	day     int
	id      string
	level   float64
	version string
}

// world is a cluster with a benchmark that has some executions, and what happens when the command acts.
type world struct {
	past      []execution
	next      execution // level 0: its runs are invalid; below 0: only two are valid
	scheduled bool
	change    func(*v1alpha1.CephBenchmark)
	// clusters are the states of the CephCluster, one for each look; the last one stays. Empty: it may not be read.
	clusters []map[string]any
	config   string // an option of Ceph that has a value in next and in executions with its version
	day      int    // now
}

func at(day int) time.Time { return time.Date(2026, 3, 1+day, 4, 0, 0, 0, time.UTC) }

func days(levels ...float64) (all []execution) {
	for day, level := range levels {
		all = append(all, execution{day, fmt.Sprint("before-", day), level, "19.2.3"})
	}
	return all
}

func (w world) environment(t *testing.T, e execution) json.RawMessage {
	t.Helper()
	in := quiescence.Inputs{FSID: "f", RookVersion: "v1.19.1", Versions: &ceph.Versions{Overall: map[string]int{e.version: 7}}}
	if w.config != "" && e.version == w.next.version {
		in.Config = []ceph.ConfigEntry{{Section: "osd", Name: w.config, Value: "1"}}
	}
	text, err := json.Marshal(quiescence.Describe(in))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// execute makes an execution the one in status, and returns its results.
func (w world) execute(t *testing.T, b *v1alpha1.CephBenchmark, e execution) (maps []client.Object, runs []*archive.Run) {
	t.Helper()
	b.Status.StartTime, b.Status.ObservedRunID, b.Status.Runs = new(metav1.NewTime(at(e.day))), v1alpha1.RunID(e.id), nil
	for number := range int32(5) {
		run := &archive.Run{Number: number + 1, State: v1alpha1.RunValid, Environment: w.environment(t, e), StartTime: at(e.day), EndTime: at(e.day)}
		if e.level == 0 || e.level < 0 && number > 1 {
			run.State = v1alpha1.RunInvalid
		}
		value := 400 * (1 << 20) * math.Abs(e.level) * (1 + 0.004*float64(number-2))
		run.Phases = []archive.Phase{{Name: "write-4m", SpecDigest: "s", Observation: &figure.Observation{
			Figures: []figure.Figure{{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: value}},
		}}}
		cm, err := archive.ConfigMap(b, run)
		if err != nil {
			t.Fatal(err)
		}
		cm.CreationTimestamp = metav1.NewTime(at(e.day))
		clitest.Record(t, b, cm)
		stored, err := archive.FromConfigMap(cm)
		if err != nil {
			t.Fatal(err)
		}
		maps, runs = append(maps, cm), append(runs, stored)
	}
	clitest.Complete(&b.Status.Conditions, "5 of 5 runs are valid.")
	return maps, runs
}

// cluster returns the cluster. Its operator runs the benchmark when it gets another run ID.
func (w *world) cluster(t *testing.T) client.WithWatch {
	t.Helper()
	b := clitest.Benchmark(t, "radosbench")
	b.Name, b.Namespace, b.Spec.Repetitions, b.Spec.RunID = "nightly", clitest.Namespace, 5, ""
	if w.scheduled {
		b.Spec.Schedule = &v1alpha1.Schedule{Cron: "0 4 * * *"}
		b.Status.Schedule = &v1alpha1.ScheduleStatus{Since: new(metav1.NewTime(at(w.day - 1))), NextTime: new(metav1.NewTime(at(w.day)))}
	}
	if w.change != nil {
		w.change(b)
	}
	var runs []*archive.Run
	remember := func() client.Object {
		cm, err := history.ConfigMap(b, history.Of(runs))
		if err != nil {
			t.Fatal(err)
		}
		b.Status.History = &v1alpha1.BenchmarkHistory{Results: cm.Name, ResultsDigest: archive.Digest(cm)}
		return cm
	}
	var objects []client.Object
	for _, e := range w.past {
		b.Spec.RunID = v1alpha1.RunID(e.id)
		maps, made := w.execute(t, b, e)
		objects, runs = append(objects, maps...), append(runs, made...)
	}
	if len(runs) > 0 {
		objects = append(objects, remember())
	}
	looks := 0
	return interceptor.NewClient(clitest.Holding(t, append(objects, b)...), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			u, isRook := o.(*unstructured.Unstructured)
			switch {
			case !isRook:
				return c.Get(ctx, key, o, options...)
			case len(w.clusters) == 0:
				return apierrors.NewForbidden(schema.GroupResource{Resource: "cephclusters"}, key.Name, nil)
			}
			u.Object["status"] = w.clusters[min(looks, len(w.clusters)-1)]
			looks++
			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := c.Patch(ctx, o, patch, options...); err != nil {
				return err
			}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), b); err != nil {
				return err
			}
			w.next.id = string(b.Spec.RunID)
			maps, _ := w.execute(t, b, w.next)
			for _, cm := range maps {
				if err := c.Create(ctx, cm); err != nil {
					return err
				}
			}
			return c.Update(ctx, b)
		},
	})
}

func ready() map[string]any {
	return map[string]any{"phase": "Ready", "message": "Cluster created successfully"}
}

func mixed() map[string]any {
	status := ready()
	status["ceph"] = map[string]any{"versions": map[string]any{
		"mon": map[string]any{"ceph version 20.2.4": int64(3)}, "osd": map[string]any{"ceph version 19.2.3": int64(5), "ceph version 20.2.4": int64(1)},
	}}
	return status
}

func TestGolden(t *testing.T) {
	steady := days(1, 1.01, 0.99, 1.005, 0.995)
	nights := slices.Clone(steady)
	for i := range nights {
		nights[i].id = fmt.Sprintf("2026-03-0%dT0400Z", i+1)
	}
	upgraded := slices.Concat(nights, []execution{{5, "2026-03-06T0400Z", 0.8, "20.2.4"}, {6, "2026-03-07T0400Z", 1, "20.2.4"}})
	old, current := []map[string]any{ready()}, "20.2.4"
	busy := []map[string]any{{"phase": "Progressing"}, mixed(), mixed(), ready()}
	shards := "osd_op_num_shards"
	for name, c := range map[string]struct {
		world world
		line  string
		code  int
	}{
		"before":                        {world{past: steady, next: execution{5, "", 1, "19.2.3"}, day: 6}, "before nightly", exit.OK},
		"before on the first day":       {world{next: execution{0, "", 1, "19.2.3"}, day: 1}, "before cephbenchmark/nightly", exit.OK},
		"before with a schedule":        {world{past: nights, scheduled: true, day: 5}, "before nightly", exit.OK},
		"before with invalid runs":      {world{next: execution{0, "", 0, "19.2.3"}, day: 1}, "before nightly", exit.Undecided},
		"slower":                        {world{past: steady, next: execution{5, "", 0.8, current}, clusters: busy, day: 5}, "after nightly", exit.Unexpected},
		"faster":                        {world{past: steady, next: execution{5, "", 1.2, current}, clusters: old, day: 5}, "after nightly", exit.OK},
		"a null upgrade":                {world{past: steady, next: execution{5, "", 1.002, "19.2.3"}, clusters: old, day: 5}, "after nightly", exit.OK},
		"as JSON":                       {world{past: steady, next: execution{5, "", 1.002, current}, clusters: old, day: 5}, "after nightly -o json", exit.OK},
		"an option differs, too":        {world{past: steady, next: execution{5, "", 1.002, current}, clusters: old, config: shards, day: 5}, "after nightly", exit.Undecided},
		"an option that was meant":      {world{past: steady, next: execution{5, "", 1, current}, clusters: old, config: shards, day: 5}, "after nightly --expect-difference config,ceph-version", exit.OK},
		"this hour is not enough":       {world{past: days(1), next: execution{1, "", 0.8, current}, clusters: old, day: 1}, "after nightly", exit.Undecided},
		"slower in this hour":           {world{past: days(1), next: execution{1, "", 0.8, current}, clusters: old, day: 1}, "after nightly --this-hour", exit.Unexpected},
		"with a schedule":               {world{past: upgraded, scheduled: true, day: 7}, "after nightly", exit.Unexpected},
		"with a schedule, no night yet": {world{past: nights, scheduled: true, day: 5}, "after nightly --since 2026-03-05T12:00:00Z", exit.Undecided},
		"with a schedule, no upgrade":   {world{past: nights, scheduled: true, day: 5}, "after nightly", exit.Undecided},
		"no run at all":                 {world{clusters: old, day: 1}, "after nightly", exit.Undecided},
		"nights without a run before":   {world{past: nights, clusters: old, next: execution{5, "", 0.8, current}, day: 5}, "after nightly", exit.Unexpected},
		"without a run before":          {world{past: nights[:1], clusters: old, next: execution{1, "", 1, "19.2.3"}, day: 1}, "after nightly", exit.Undecided},
		"a figure is gone":              {world{past: steady, next: execution{5, "", -1, current}, clusters: old, day: 5}, "after nightly", exit.Undecided},
		"Rook does not end":             {world{past: steady, clusters: []map[string]any{mixed()}, day: 5}, "after nightly --timeout 200ms", exit.Unexpected},
		"Rook may not be seen":          {world{past: steady, day: 5}, "after nightly", exit.Failure},
		"suspended":                     {world{past: steady, change: func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true }, day: 5}, "after nightly", exit.Failure},
		"too few repetitions":           {world{past: steady, change: func(b *v1alpha1.CephBenchmark) { b.Spec.Repetitions = 3 }, day: 5}, "before nightly", exit.Failure},
		"usage a moment":                {world{}, "during nightly", exit.Usage},
		"usage no name":                 {world{}, "before", exit.Usage},
		"usage a sweep":                 {world{}, "before cephsweep/nightly", exit.Usage},
		"usage a kind":                  {world{}, "after nightly --expect-difference moon", exit.Usage},
		"usage a timeout":               {world{}, "after nightly --timeout -1s", exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewCommand(clitest.Connecting(c.world.cluster(t)), clitest.Hurried(), func() time.Time { return at(c.world.day) }), c.line, "")
			if got.Code() != c.code {
				t.Errorf("exit code %d, want %d", got.Code(), c.code)
			}
			text := regexp.MustCompile(`\d\d:\d\d:\d\d  `).ReplaceAllString(got.String(), "TIME  ")
			clitest.Golden(t, name, "$ sentinel "+c.line+"\n"+text, *update)
		})
	}
}

// The first answer stays: nothing runs again, and later nights do not count.
func TestLookingAgainChangesNothing(t *testing.T) {
	w := world{past: days(1, 1.01, 0.99, 1.005, 0.995), next: execution{5, "", 0.8, "20.2.4"}, clusters: []map[string]any{ready()}, day: 5}
	c := w.cluster(t)
	command := func() clitest.Outcome {
		return clitest.Execute(t, NewCommand(clitest.Connecting(c), clitest.Hurried(), func() time.Time { return at(w.day) }), "after nightly", "")
	}
	first := command()
	w.next = execution{6, "", 1, "20.2.4"}
	w.day = 6
	if again := command(); again.Stdout != first.Stdout || again.Code() != exit.Unexpected || strings.Contains(again.Stderr, "runs with run ID") {
		t.Errorf("first %s\nagain %s", first, again)
	}
}
