//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

const (
	// sweepChangesIn is the deadline for a sweep to measure a configuration other than the
	// baseline.
	sweepChangesIn = 10 * time.Minute
	// restoreWithin is the deadline for a complete restore. If the manager was killed, this
	// includes the wait for its restart and for its last requests to Ceph.
	restoreWithin = 5 * time.Minute
)

// sweep returns a CephTuningSweep of the smallest possible design, over parameters, on a target. It
// does not create it.
func (c *cluster) sweep(name string, target v1alpha1.Target, parameters ...v1alpha1.Parameter) *v1alpha1.CephTuningSweep {
	template := c.benchmark(name, target, v1alpha1.Phase{Name: "write", RadosBench: &v1alpha1.RadosBench{
		Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("16Ki"), Concurrency: 4,
		Duration: metav1.Duration{Duration: shortest}, Ramp: &metav1.Duration{Duration: time.Second},
	}}).Spec.Template
	template.Clients.Resources = v1alpha1.ClientResources{CPU: resource.MustParse("500m"), Memory: resource.MustParse("256Mi")}
	return &v1alpha1.CephTuningSweep{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "cephtune-e2e-" + name},
		Spec: v1alpha1.CephTuningSweepSpec{
			ClusterRef: v1alpha1.ClusterReference{Namespace: c.rookNamespace, Name: c.cephCluster},
			Template:   template,
			Parameters: parameters,
			Objective:  v1alpha1.Objective{MetricReference: v1alpha1.MetricReference{Phase: "write", Metric: v1alpha1.MetricIOPS}},
			Strategy: v1alpha1.Strategy{
				Blocks: v1alpha1.Blocks{Min: 3, Max: 3}, ConfirmationBlocks: 3, Seed: new(int64(6)), // With this seed and pairs of runs, the first run is of the baseline.
			},
			Quiescence: v1alpha1.Quiescence{
				Timeout: metav1.Duration{Duration: 5 * time.Minute},
				// Without this, each run would wait for OSDs to remove the previous run's scratch
				// pool.
				AllowedWarnings: []v1alpha1.HealthCode{"STRAY_PGS"},
			},
			Guardrails: v1alpha1.Guardrails{SettleFor: &metav1.Duration{Duration: 5 * time.Second}},
		},
	}
}

// messageCap varies how many operations an OSD admits.
func messageCap(values ...v1alpha1.ParameterValue) v1alpha1.Parameter {
	return v1alpha1.Parameter{
		Name: "message_cap", Config: &v1alpha1.ConfigParameter{Option: "osd_client_message_cap"}, Values: values,
	}
}

// createSweep creates a sweep. At the end of the test it is removed, and Ceph must be as before. If
// the test has failed, everything about the sweep is logged before that.
func (c *cluster) createSweep(t testing.TB, s *v1alpha1.CephTuningSweep) {
	t.Helper()
	since := time.Now()
	before := c.tunables(t)
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatalf("create CephTuningSweep %s: %v", s.Name, err)
	}
	t.Cleanup(func() {
		c.deleteAndWait(t, s)
		c.wantTunables(t, before)
	})
	t.Cleanup(func() {
		if t.Failed() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			t.Log(c.storyOfSweep(ctx, s, since))
		}
	})
}

// awaitSweep polls a sweep until holds returns no error. A sweep that fails does not continue, so a
// failure ends the wait.
func (c *cluster) awaitSweep(t testing.TB, s *v1alpha1.CephTuningSweep, within time.Duration, goal string, holds func(*v1alpha1.CephTuningSweep) error) {
	t.Helper()
	eventually(t, within, "CephTuningSweep "+s.Name+" "+goal, func(ctx context.Context) error {
		read := &v1alpha1.CephTuningSweep{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(s), read); err != nil {
			return err
		}
		*s = *read
		if err := holds(s); err != nil {
			if failed := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionFailed); failed != nil {
				t.Fatalf("CephTuningSweep %s fails, want it %s: %s: %s", s.Name, goal, failed.Reason, failed.Message)
			}
			return fmt.Errorf("%w; %s", err, toldBySweep(s))
		}
		return nil
	})
}

func toldBySweep(s *v1alpha1.CephTuningSweep) string {
	step := ""
	if s.Status.Progress != nil {
		step = s.Status.Progress.Summary + " " + s.Status.Progress.Step
	}
	if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return fmt.Sprintf("it is %s (%s): %s", ready.Reason, step, ready.Message)
	}
	return "it says nothing yet"
}

// sweepIs returns a function that returns an error if a sweep's condition Ready has another reason.
func sweepIs(reason string) func(*v1alpha1.CephTuningSweep) error {
	return func(s *v1alpha1.CephTuningSweep) error {
		ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != reason {
			return fmt.Errorf("it is not %s", reason)
		}
		return nil
	}
}

// awaitRunOf waits until a sweep measures a configuration, and returns the benchmark.
func (c *cluster) awaitRunOf(t testing.TB, s *v1alpha1.CephTuningSweep, configuration string) *v1alpha1.CephBenchmark {
	t.Helper()
	c.awaitSweep(t, s, sweepChangesIn, "to measure "+configuration, func(s *v1alpha1.CephTuningSweep) error {
		if s.Status.Progress == nil || !strings.Contains(s.Status.Progress.Step, configuration+": measuring") {
			return fmt.Errorf("it does not measure %s", configuration)
		}
		return nil
	})
	child := c.childOf(t, s)
	c.awaitMeasuring(t, child)
	return child
}

// childOf returns the running benchmark of a sweep.
func (c *cluster) childOf(t testing.TB, s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
	t.Helper()
	var all v1alpha1.CephBenchmarkList
	if err := c.List(t.Context(), &all, client.InNamespace(s.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		b := &all.Items[i]
		if metav1.IsControlledBy(b, s) && hasEnded(b, v1alpha1.ConditionComplete) != nil && hasEnded(b, v1alpha1.ConditionFailed) != nil {
			return b
		}
	}
	t.Fatalf("CephTuningSweep %s has no benchmark at work", s.Name)
	return nil
}

// tunables returns as text what the tests' sweeps may change in Ceph: flags, the balancer, the PGs of
// pools, the central configuration, and the operator's records.
func (c *cluster) tunables(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	text, err := c.tunablesNow(ctx)
	if err != nil {
		t.Fatalf("look what Ceph is set to: %v", err)
	}
	return text
}

func (c *cluster) tunablesNow(ctx context.Context) (string, error) {
	var osdMap struct {
		Flags string `json:"flags"`
		Pools []struct {
			Name      string `json:"pool_name"`
			PGNum     int    `json:"pg_num_target"`
			PGPNum    int    `json:"pg_placement_num_target"`
			Autoscale string `json:"pg_autoscale_mode"`
		} `json:"pools"`
	}
	var config []struct {
		Section, Name, Value, Mask string
	}
	var balancer struct {
		Active bool `json:"active"`
	}
	var keys []string
	for _, ask := range []struct {
		target any
		args   []string
	}{
		{&osdMap, []string{"osd", "dump"}},
		{&config, []string{"config", "dump"}},
		{&balancer, []string{"balancer", "status"}},
		{&keys, []string{"config-key", "ls"}},
	} {
		if err := c.cephJSON(ctx, ask.target, ask.args...); err != nil {
			return "", err
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "flags %s, balancer %t\n", osdMap.Flags, balancer.Active)
	for _, pool := range osdMap.Pools {
		if pool.Name == ".mgr" { // Ceph's own pool. Its autoscaler reduces it from 32 PGs to 1 some time after Rook has created it.
			continue
		}
		fmt.Fprintf(&text, "pool %s: %d PGs, placed as %d, autoscaler %s\n", pool.Name, pool.PGNum, pool.PGPNum, pool.Autoscale)
	}
	for _, entry := range config {
		if entry.Name == "mgr/balancer/active" { // `balancer on` writes this entry, even if it did not exist before. Its value is above.
			continue
		}
		fmt.Fprintf(&text, "%s %s %s = %s\n", entry.Section, entry.Mask, entry.Name, entry.Value)
	}
	for _, key := range keys {
		if strings.HasPrefix(key, "cephtune/") {
			fmt.Fprintf(&text, "key %s\n", key)
		}
	}
	return text.String(), nil
}

// wantTunables waits until Ceph's settings are as before.
func (c *cluster) wantTunables(t testing.TB, before string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for {
		now, err := c.tunablesNow(ctx)
		if err == nil && now == before {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("Ceph is set to\n%s(%v)\nwant it as it was:\n%s", now, err, before)
			return
		case <-time.After(2 * time.Second):
		}
	}
}

// wantRestored checks that a sweep reports a complete restore, and that Ceph's settings are as
// before.
func (c *cluster) wantRestored(t testing.TB, s *v1alpha1.CephTuningSweep, before string) {
	t.Helper()
	c.awaitSweep(t, s, restoreWithin, "to have put everything back", func(s *v1alpha1.CephTuningSweep) error {
		if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRestored) {
			return fmt.Errorf("condition %s is not True", v1alpha1.ConditionRestored)
		}
		return nil
	})
	c.wantTunables(t, before)
}

// storyOfSweep returns everything about a sweep: the object, the events of it and of its benchmarks, the
// journals, Ceph's settings, and the manager's log.
func (c *cluster) storyOfSweep(ctx context.Context, s *v1alpha1.CephTuningSweep, since time.Time) string {
	var text strings.Builder
	read := &v1alpha1.CephTuningSweep{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(s), read); err != nil {
		fmt.Fprintf(&text, "CephTuningSweep %s cannot be read: %v\n", s.Name, err)
	}
	read.ManagedFields = nil
	object, err := yaml.Marshal(read)
	fmt.Fprintf(&text, "=== CephTuningSweep %s (%v)\n%s", s.Name, err, object)
	var all eventsv1.EventList
	err = c.List(ctx, &all, client.InNamespace(s.Namespace))
	fmt.Fprintf(&text, "=== Events (%v)\n", err)
	slices.SortStableFunc(all.Items, func(x, y eventsv1.Event) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	for _, e := range all.Items {
		if e.CreationTimestamp.After(since.Add(-time.Second)) && strings.HasPrefix(e.Regarding.Name, s.Name) {
			fmt.Fprintf(&text, "%s %s %s %s: %s\n", e.CreationTimestamp.Format(time.TimeOnly), e.Regarding.Name, e.Type, e.Reason, e.Note)
		}
	}
	journals := &corev1.ConfigMapList{}
	if err := c.List(ctx, journals, client.InNamespace(c.managerService.Namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "cephtune"}); err == nil {
		for _, cm := range journals.Items {
			journal, _ := json.Marshal(cm.Data)
			fmt.Fprintf(&text, "=== ConfigMap %s\n%s\n", cm.Name, journal)
		}
	}
	fmt.Fprintf(&text, "=== Ceph\n%s=== Manager\n%s", c.tunablesText(ctx), c.managerLogs(ctx, since))
	return text.String()
}

func (c *cluster) tunablesText(ctx context.Context) string {
	text, err := c.tunablesNow(ctx)
	if err != nil {
		return err.Error() + "\n"
	}
	return text
}

// validities counts the trials of a sweep by validity.
func validities(s *v1alpha1.CephTuningSweep) string {
	counts := map[string]int{}
	for _, t := range s.Status.Trials {
		counts[t.Validity()]++
	}
	var texts []string
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[word], word))
	}
	return strings.Join(texts, ", ")
}

// verdictTable returns the outcome of a sweep as text.
func verdictTable(s *v1alpha1.CephTuningSweep) string {
	var text strings.Builder
	took := time.Duration(0)
	if s.Status.StartTime != nil && s.Status.CompletionTime != nil {
		took = s.Status.CompletionTime.Sub(s.Status.StartTime.Time)
	}
	fmt.Fprintf(&text, "%s\n%s in %v (%s)", s.Status.Summary, s.Name, took, validities(s))
	if noise := s.Status.Noise; noise != nil {
		fmt.Fprintf(&text, ", noise floor %s, drift %s, smallest effect %s", noise.Floor, noise.Drift, noise.SmallestEffect)
	}
	for _, c := range s.Status.Configurations {
		fmt.Fprintf(&text, "\n%-20s %2d runs  %s (%s–%s)  %s  %s", c.Name, c.Runs, c.Ratio, c.Low, c.High, c.Verdict, c.Reason)
	}
	for _, t := range s.Status.Trials {
		line, err := json.Marshal(t)
		if err == nil {
			fmt.Fprintf(&text, "\n  %s", line)
		}
	}
	return text.String()
}

// verdictAt judges the runs of a sweep again, at another confidence. It returns "" if the sweep
// would have continued, or would have measured other runs, at that confidence.
func verdictAt(t testing.TB, s *v1alpha1.CephTuningSweep, index int32, confidence v1alpha1.Percent) v1alpha1.SweepVerdict {
	t.Helper()
	if decision, err := decisionAt(t, s, s.Spec.Confidence); err != nil || decision.Action != sweep.Conclude {
		t.Fatalf("CephTuningSweep %s has ended, and its own runs lead to %q: %v", s.Name, decision.Action, err)
	}
	next, err := decisionAt(t, s, confidence)
	if err != nil && !errors.Is(err, sweep.ErrLedger) {
		t.Fatal(err)
	}
	if err != nil || next.Action != sweep.Conclude {
		t.Logf("at confidence %s the sweep would have gone on otherwise: %v", confidence, err)
		return ""
	}
	for _, row := range next.Conclusion.Rows {
		if row.Configuration == int(index) {
			return v1alpha1.SweepVerdict(row.Assessment.Verdict)
		}
	}
	t.Fatalf("configuration %d has no verdict", index)
	return ""
}

// decisionAt returns the planner's decision about a sweep's runs at a confidence.
func decisionAt(t testing.TB, s *v1alpha1.CephTuningSweep, confidence v1alpha1.Percent) (sweep.Decision, error) {
	t.Helper()
	spec := s.Spec.DeepCopy()
	spec.Confidence = confidence
	ledger, err := sweepspec.ReadLedger(&s.Status)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := sweepspec.PlanOf(spec, s.Status.Plan)
	if err != nil {
		t.Fatal(err)
	}
	planner, err := sweep.New(planned)
	if err != nil {
		t.Fatal(err)
	}
	return planner.Next(sweepspec.Runs(ledger))
}

// configurationOf returns a sweep's result for one configuration.
func configurationOf(t testing.TB, s *v1alpha1.CephTuningSweep, name string) v1alpha1.ConfigurationResult {
	t.Helper()
	for _, c := range s.Status.Configurations {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("CephTuningSweep %s has no configuration %s", s.Name, name)
	return v1alpha1.ConfigurationResult{}
}
