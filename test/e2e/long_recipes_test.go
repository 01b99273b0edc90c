//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli"
	"github.com/cephtune/cephtune/internal/figure"
)

// The recipes of docs/recipes run here in short forms, which are in the folder recipes. Benchmarks
// take up to eight minutes. The sweeps have one candidate each, so a block is a pair of runs, and a
// decision needs at least three blocks, which are six runs. With E2E_SWEEP_BLOCKS, each sweep is
// suspended after that number of blocks. One block shows that everything works, without a verdict.

// recipe reads a recipe.
func recipe(t *testing.T, name string, target any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("recipes", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, target); err != nil {
		t.Fatalf("recipe %s: %v", name, err)
	}
}

// fit adapts a recipe to the cluster.
func (c *cluster) fit(ref *v1alpha1.ClusterReference, target *v1alpha1.Target) {
	ref.Namespace, ref.Name = c.rookNamespace, c.cephCluster
	if target.ScratchPool != nil {
		target.ScratchPool.FailureDomain = c.failureDomain
	}
	if claim := target.PersistentVolumeClaim; claim != nil {
		claim.Template.StorageClassName = c.storageClass
	}
}

// benchmarkRecipe returns a benchmark of a recipe. It does not create it.
func (c *cluster) benchmarkRecipe(t *testing.T, name string) *v1alpha1.CephBenchmark {
	t.Helper()
	b := &v1alpha1.CephBenchmark{}
	recipe(t, name, b)
	c.fit(&b.Spec.ClusterRef, &b.Spec.Template.Target)
	return b
}

// runBenchmarkRecipe runs a benchmark to its end. It checks that every phase of every run has its
// figures, and that nothing remains.
func (c *cluster) runBenchmarkRecipe(t *testing.T, b *v1alpha1.CephBenchmark) {
	t.Helper()
	began := time.Now()
	c.runTo(t, v1alpha1.ConditionComplete, b)
	t.Logf("%s took %v\n%s", b.Name, time.Since(began).Round(time.Second), outcomeOf(t, b))
	for _, spec := range b.Spec.Template.Phases {
		phase := phaseOf(t, b, spec.Name)
		if phase.ValidRuns != b.Spec.Repetitions || len(phase.Metrics) == 0 {
			t.Errorf("phase %s has %d valid runs of %d and %d figures", phase.Name, phase.ValidRuns, b.Spec.Repetitions, len(phase.Metrics))
		}
	}
}

// outcomeOf returns the outcome of a benchmark as text.
func outcomeOf(t *testing.T, b *v1alpha1.CephBenchmark) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, b.Status.Summary)
	for _, phase := range b.Status.Phases {
		for _, m := range phase.Metrics {
			fmt.Fprintf(&text, "  %-14s %-11s %-6s %s%s\n", phase.Name, m.Metric, m.Direction, human(t, m.Metric, m.Value), intervalOf(t, m))
		}
	}
	if space := b.Status.SpaceEfficiency; space != nil {
		fmt.Fprintf(&text, "  space: %+v\n", *space)
	}
	for _, osd := range b.Status.SlowOSDs {
		fmt.Fprintf(&text, "  slow: %+v\n", osd)
	}
	return text.String()
}

func intervalOf(t *testing.T, m v1alpha1.MetricResult) string {
	t.Helper()
	if m.Low == "" {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", human(t, m.Metric, m.Low), human(t, m.Metric, m.High))
}

func human(t *testing.T, metric v1alpha1.Metric, value v1alpha1.Decimal) string {
	t.Helper()
	number, err := figure.ParseDecimal(value)
	if err != nil {
		t.Errorf("%s: %v", metric, err)
	}
	return figure.Human(metric, number)
}

// sweepRecipe returns a sweep of a recipe. It does not create it.
func (c *cluster) sweepRecipe(t *testing.T, name string) *v1alpha1.CephTuningSweep {
	t.Helper()
	s := &v1alpha1.CephTuningSweep{}
	recipe(t, name, s)
	c.fit(&s.Spec.ClusterRef, &s.Spec.Template.Target)
	return s
}

// runSweepRecipe runs a sweep to its verdict, or for the number of blocks in the environment. It
// checks that everything is restored.
func (c *cluster) runSweepRecipe(t *testing.T, s *v1alpha1.CephTuningSweep) {
	t.Helper()
	before, began := c.tunables(t), time.Now()
	c.createSweep(t, s)
	if blocks := blocksAskedFor(t); blocks > 0 {
		c.endAfterBlocks(t, s, blocks)
		t.Log(verdictTable(s))
		c.wantRestored(t, s, before)
	} else {
		c.awaitVerdict(t, s, before)
		wantJudged(t, s)
	}
	c.wantNothingInCeph(t)
	t.Logf("%s took %v", s.Name, time.Since(began).Round(time.Second))
}

// blocksAskedFor returns the number of blocks in the environment; 0 for a whole sweep.
func blocksAskedFor(t *testing.T) int {
	t.Helper()
	text := os.Getenv("E2E_SWEEP_BLOCKS")
	if text == "" {
		return 0
	}
	blocks, err := strconv.Atoi(text)
	if err != nil || blocks < 1 {
		t.Fatalf("E2E_SWEEP_BLOCKS is %q, want a number of blocks, or nothing for whole sweeps", text)
	}
	return blocks
}

// endAfterBlocks suspends a sweep once it has completed a number of blocks.
func (c *cluster) endAfterBlocks(t *testing.T, s *v1alpha1.CephTuningSweep, blocks int) {
	t.Helper()
	c.awaitSweep(t, s, longSweepWithin, fmt.Sprintf("to be through with %d blocks", blocks), func(s *v1alpha1.CephTuningSweep) error {
		if s.Status.Plan == nil || int(s.Status.Plan.Block) <= blocks {
			return fmt.Errorf("it is at block %+v", s.Status.Plan)
		}
		return nil
	})
	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	c.awaitSweep(t, s, restoreWithin, "to be suspended", sweepIs(v1alpha1.ReasonSuspended))
}

// wantJudged checks that each configuration has a verdict and runs. The verdict itself depends on
// the machine.
func wantJudged(t *testing.T, s *v1alpha1.CephTuningSweep) {
	t.Helper()
	if len(s.Status.Configurations) < 2 {
		t.Errorf("status has %d configurations, want the baseline and others", len(s.Status.Configurations))
	}
	for _, row := range s.Status.Configurations {
		if row.Index == 0 {
			continue
		}
		if row.Runs < 2 || row.Verdict == "" || row.Verdict == v1alpha1.VerdictInvalid {
			t.Errorf("%s is called %q (%s) on %d runs", row.Name, row.Verdict, row.Reason, row.Runs)
		}
	}
}

// wantNothingInCeph checks that no scratch pool and no record of the operator remains.
func (c *cluster) wantNothingInCeph(t *testing.T) {
	t.Helper()
	left, err := c.tracesInCeph(t.Context())
	if err != nil || len(left) > 0 {
		t.Errorf("left in Ceph: %v (%v)", left, err)
	}
}

func TestLongRecipePGNum(t *testing.T) {
	c := forTest(t)
	c.runSweepRecipe(t, c.sweepRecipe(t, "pg-num"))
}

func TestLongRecipeOSDCount(t *testing.T) {
	c := forTest(t)
	c.runSweepRecipe(t, c.sweepRecipe(t, "osd-count"))
	c.wantNoUpmaps(t)
}

func TestLongRecipeOSDOptions(t *testing.T) {
	c := forTest(t)
	c.runSweepRecipe(t, c.sweepRecipe(t, "osd-options"))
}

func TestLongRecipeFailureAndRecovery(t *testing.T) {
	c := forTest(t)
	b := c.benchmarkRecipe(t, "failure-and-recovery")
	c.runBenchmarkRecipe(t, b)
	for _, run := range c.wantRuns(t, b) {
		d := run.Phases[0].Outage
		if d == nil || d.SecondsToClean == "" || d.RecoveredObjects == nil || *d.RecoveredObjects == 0 {
			t.Fatalf("run %d has the outage %+v, want it to tell what was recovered and how long that took", run.Number, d)
		}
		t.Logf("run %d: up after %s s, clean after %s s, %d copies recovered, %s object-seconds", run.Number,
			d.SecondsToUp, d.SecondsToClean, *d.RecoveredObjects, d.DegradedObjectSeconds)
		for _, w := range d.Windows {
			t.Logf("  %+v", w)
		}
	}
	c.wantUp(t, time.Minute, 0)
}

// A verdict takes half an hour to an hour. The larger count lets an OSD be marked down every half
// minute instead of every 2 min 40 s. Otherwise runs would wait.
func TestLongRecipeRecoveryProfiles(t *testing.T) {
	c := forTest(t)
	c.mustCeph(t, "config", "set", "osd", "osd_max_markdown_count", "30")
	t.Cleanup(func() { c.mustCeph(t, "config", "rm", "osd", "osd_max_markdown_count") })
	c.runSweepRecipe(t, c.sweepRecipe(t, "failure-and-recovery-profiles"))
	c.wantUp(t, time.Minute, 1)
}

func TestLongRecipeStorageForPodsVolume(t *testing.T) {
	c := forTest(t)
	c.needVolumes(t)
	c.runBenchmarkRecipe(t, c.benchmarkRecipe(t, "storage-for-pods-volume"))
}

func TestLongRecipeStorageForPodsRBDBench(t *testing.T) {
	c := forTest(t)
	c.runBenchmarkRecipe(t, c.benchmarkRecipe(t, "storage-for-pods-rbd-bench"))
}

// The test moves an OSD to a device class of its own, and compares both classes. The comparison
// expects that only the OSDs differ.
func TestLongRecipeStorageForPodsClasses(t *testing.T) {
	c := forTest(t)
	classes := []string{c.deviceClass(t, 0), "cephtune-e2e"}
	c.reclassify(t, 2, classes[1])
	var names []string
	for _, class := range classes {
		b := c.benchmarkRecipe(t, "storage-for-pods-class")
		b.Name += "-" + class
		b.Spec.Template.Target.ScratchPool.DeviceClass = class
		c.runBenchmarkRecipe(t, b)
		names = append(names, b.Name)
	}
	c.logComparison(t, names[0], names[1], "--expect-difference=osds")
}

// This sweep alternates between the classes, and judges them.
func TestLongRecipeStorageForPodsClassSweep(t *testing.T) {
	c := forTest(t)
	s := c.sweepRecipe(t, "storage-for-pods-classes")
	s.Spec.Template.Target.ScratchPool.DeviceClass = c.deviceClass(t, 0)
	s.Spec.Parameters[0].Values = []v1alpha1.ParameterValue{"cephtune-e2e"}
	c.reclassify(t, 2, "cephtune-e2e")
	c.runSweepRecipe(t, s)
}

func (c *cluster) deviceClass(t *testing.T, osd int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	class, err := c.ceph(ctx, "osd", "crush", "get-device-class", fmt.Sprintf("osd.%d", osd))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(class)
}

// reclassify moves an OSD to another device class. At the end of the test, it moves the OSD back.
func (c *cluster) reclassify(t *testing.T, osd int, class string) {
	t.Helper()
	name, before := fmt.Sprintf("osd.%d", osd), c.deviceClass(t, osd)
	put := func(class string) {
		c.mustCeph(t, "osd", "crush", "rm-device-class", name)
		c.mustCeph(t, "osd", "crush", "set-device-class", class, name)
	}
	t.Cleanup(func() {
		put(before)
		if now := c.deviceClass(t, osd); now != before {
			t.Errorf("%s is of class %q, want %q as before", name, now, before)
		}
	})
	put(class)
	c.awaitSettledPGs(t)
}

// A known amount of data must take the theoretical space, and not much more.
func TestLongRecipeSpace(t *testing.T) {
	c := forTest(t)
	for _, name := range []string{"space-replicated", "space-erasure-coded"} {
		t.Run(name, func(t *testing.T) {
			b := c.benchmarkRecipe(t, name)
			c.runBenchmarkRecipe(t, b)
			space := b.Status.SpaceEfficiency
			if space == nil || space.TheoreticalBytes == 0 || space.ClusterUsedBytesBefore == 0 {
				t.Fatalf("space efficiency is %+v", space)
			}
			wantWithin(t, "bytes stored by those of the dataset", float64(space.StoredBytes)/(256<<20), 0.95, 1.1)
			wantWithin(t, "bytes used by those of theory", float64(space.UsedBytes)/float64(space.TheoreticalBytes), 0.95, 1.3)
		})
	}
}

func TestLongRecipeSameStart(t *testing.T) {
	c := forTest(t)
	b := c.benchmarkRecipe(t, "same-start")
	c.runBenchmarkRecipe(t, b)
	for _, run := range b.Status.Runs {
		if run.InitialState != v1alpha1.DataRolledBack {
			t.Errorf("run %d found its data %q, want them %s", run.Number, run.InitialState, v1alpha1.DataRolledBack)
		}
	}
	c.logComparison(t, b.Name+":1", b.Name+":3")
}

// logComparison compares two results as a user does, and checks that they are comparable.
func (c *cluster) logComparison(t *testing.T, a, b string, flags ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Run(append([]string{"kubectl-cephtune", "compare", a, b, "-n", benchNamespace}, flags...), &stdout, &stderr)
	t.Logf("compare %s %s: exit code %d\n%s%s", a, b, code, &stdout, &stderr)
	if code != 0 {
		t.Errorf("compare ended with exit code %d", code)
	}
}
