package sweepspec

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/stats"
)

func TestSettings(t *testing.T) {
	s := specOf(t, `{objective: {phase: fio, metric: LatencyP99, minimumEffect: 2.5%, equivalence: 1%}, confidence: 99%,
		constraints: [{phase: write, metric: Bandwidth, maximumRegression: 10%}, {phase: fio, metric: LatencyMean, atMost: 20ms}, {phase: fio, metric: IOPS, atLeast: 5k}],
		strategy: {blocks: {min: 3, max: 6}, confirmationBlocks: 5, racing: false, controlInterval: 2, seed: 7},
		guardrails: {maxFailedRuns: 0}, budget: {duration: 4h, bytesWritten: 2Ti}}`)
	plan, planner := draft(t, &s.Spec, Facts{Drawn: 1 << 60})
	if *plan.Seed != 7 || len(planner.Configurations()) != 3 {
		t.Errorf("seed %d, %d configurations", *plan.Seed, len(planner.Configurations()))
	}
	planned, err := PlanOf(&s.Spec, plan)
	if err != nil {
		t.Fatal(err)
	}
	want := sweep.Settings{
		Direction: stats.LowerIsBetter, MinimumEffect: 0.025, Equivalence: 0.01, Confidence: 0.99,
		Constraints: []stats.Constraint{
			{Name: "write Bandwidth", MaximumRegression: 0.1},
			{Name: "fio LatencyMean", Direction: stats.LowerIsBetter, Limit: 0.02},
			{Name: "fio IOPS", Limit: 5000},
		},
		MinBlocks: 3, MaxBlocks: 6, ControlInterval: 2, ConfirmationBlocks: 5, MaxRejectedBlocks: 3,
		Budget:   sweep.Budget{Time: 4 * time.Hour, Bytes: 2 << 40, Reserve: plan.RestoreDuration.Duration},
		Expected: sweep.Cost{Time: plan.RunDuration.Duration, Bytes: plan.RunBytesWritten.Value()}, Seed: 7,
	}
	if diff := cmp.Diff(want, planned.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestDraftDrawsMissingSeed(t *testing.T) {
	spec := &specOf(t, `{strategy: {seed: null}}`).Spec
	if spec.Strategy.Seed != nil {
		t.Fatal("there is a seed")
	}
	if got := Seed(spec, 1<<63|5); got != 5 {
		t.Errorf("seed %d, want 5", got)
	}
}

// Users try the sample for the lab first. It has the smallest possible design, and its budget must
// be large enough.
func TestTheLabsSampleIsSmall(t *testing.T) {
	plan, err := Draft(&sampleOf(t, "lab").Spec, Facts{OSDs: osds(3)})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Configurations != 1 || plan.MinimumRuns != 6 || plan.MaximumRuns != 12 || len(plan.Refusals) > 0 || plan.EstimatedDuration.Duration > 20*time.Minute {
		t.Errorf("%d configurations, %d to %d runs, %s, refusals %q", plan.Configurations, plan.MinimumRuns, plan.MaximumRuns, plan.EstimatedDuration.Duration, plan.Refusals)
	}
}

func TestPlansThatAreNone(t *testing.T) {
	spec := &specOf(t, `{}`).Spec
	if _, err := PlanOf(spec, &v1alpha1.SweepPlan{PlannerVersion: sweep.Version}); !errors.Is(err, ErrSpec) {
		t.Errorf("a plan without a seed: %v, want ErrSpec", err)
	}
	spec = &specOf(t, `{constraints: [{phase: fio, metric: LatencyP99, atMost: 0ms}]}`).Spec
	if _, err := Draft(spec, Facts{}); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), "above 0") {
		t.Errorf("a limit of nothing: %v, want ErrSpec", err)
	}
	spec = &specOf(t, `{parameters: [{name: a, config: {option: osd_mclock_profile}, values: [balanced]}]}`).Spec
	if _, err := Draft(spec, Facts{Present: Present{"a": cephvalue.Of("balanced")}}); !errors.Is(err, sweep.ErrPlan) {
		t.Errorf("nothing but the baseline: %v, want ErrPlan", err)
	}
	old := &v1alpha1.SweepPlan{PlannerVersion: sweep.Version + 1, Seed: new(int64(1)), Baseline: []v1alpha1.BaselineValue{{Name: "pg_num", Value: "8"}}}
	spec = &specOf(t, `{}`).Spec
	planned, err := PlanOf(spec, old)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweep.New(planned); !errors.Is(err, sweep.ErrPlan) {
		t.Errorf("another planner: %v, want ErrPlan", err)
	}
}

func TestEstimates(t *testing.T) {
	const config = `{template: {target: {scratchPool: null, existingPool: {name: p}}, phases: [{name: write, radosBench: {mode: Rand}}]},
		strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3}, parameters: [{name: a, config: {option: osd_op_num_shards}, values: ["4", "8"]}]}`
	for name, tc := range map[string]struct {
		patch string
		facts Facts
		check func(p *v1alpha1.SweepPlan) string
	}{
		"a read writes its dataset only": {config, Facts{Present: Present{"a": cephvalue.Of("2")}, DatasetBytes: 2 << 30}, func(p *v1alpha1.SweepPlan) string {
			return p.RunBytesWritten.String()
		}},
		"OSDs start anew for each change": {config, Facts{Present: Present{"a": cephvalue.Of("2")}, OSDs: osds(3), NeedRestart: []v1alpha1.ParameterName{"a"}}, func(p *v1alpha1.SweepPlan) string {
			// Each block changes to one value, to the other and back; each pair changes there and
			// back.
			if p.OSDRestarts != 3*3*3+3*6*2 || p.RestoreDuration.Duration < 3*time.Minute {
				return p.RestoreDuration.Duration.String()
			}
			return "OSDs restart"
		}},
		"OSDs start anew for each run": {
			`{template: {target: {scratchPool: null, existingPool: {name: p}}, phases: [{name: write, radosBench: {mode: Rand}}]},
				parameters: [{name: a, config: {option: osd_op_num_shards}, values: ["4"]}, {name: b, config: {option: osd_max_backfills}, values: ["8"]}]}`,
			Facts{Present: Present{"a": cephvalue.Of("2"), "b": cephvalue.Of("1")}, OSDs: osds(3), NeedRestart: []v1alpha1.ParameterName{"a"}},
			func(p *v1alpha1.SweepPlan) string {
				if p.OSDRestarts != 3*p.MaximumRuns {
					return fmt.Sprintf("%d restarts in %d runs", p.OSDRestarts, p.MaximumRuns)
				}
				return "OSDs restart"
			},
		},
		"PGs in place are those between": {
			inPlace + `strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3}, parameters: [{name: a, poolOption: {option: pg_num}, values: ["16", "64"]}]}`,
			Facts{Present: Present{"a": cephvalue.Of("32")}},
			func(p *v1alpha1.SweepPlan) string {
				// A block goes down 16, up 48 and back 32; one of the confirmation up 32 and back.
				if p.PlacementGroupChanges != 3*96+6*64 {
					return "other PGs"
				}
				return "PGs split and merge"
			},
		},
		"a budget of too little": {`{budget: {duration: 5m, bytesWritten: 1Mi}}`, Facts{Refusals: []string{"The cluster is not healthy."}}, func(p *v1alpha1.SweepPlan) string {
			return strings.Join(p.Refusals, "\n")
		}},
		"PGs of pools that name no number": {
			`{template: {target: {scratchPool: {replicated: {size: 3}}}}, parameters: [{name: a, workload: {phase: fio, field: ioDepth}, values: ["2"]}],
				strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3}}`,
			Facts{OSDs: osds(12)},
			func(p *v1alpha1.SweepPlan) string { return fmt.Sprint(p.PlacementGroupChanges / int64(p.MaximumRuns)) },
		},
	} {
		want := map[string]string{
			"a read writes its dataset only":  "2Gi",
			"OSDs start anew for each change": "OSDs restart",
			"OSDs start anew for each run":    "OSDs restart",
			"PGs in place are those between":  "PGs split and merge",
			"a budget of too little": "The cluster is not healthy.\n" +
				"budget.duration 5m0s is too short: it has to suffice for at least 14 runs and the restore, about 48m0s.\n" +
				"budget.bytesWritten 1Mi is too small: it has to suffice for at least 14 runs, about 82Gi.",
			"PGs of pools that name no number": "64", // 128 for each pair
		}[name]
		t.Run(name, func(t *testing.T) {
			plan, _ := draft(t, &specOf(t, tc.patch).Spec, tc.facts)
			if got := tc.check(plan); got != want {
				t.Errorf("%q, want %q, in\n%s", got, want, text(t, plan))
			}
		})
	}
}

func TestBytesWrittenByPhases(t *testing.T) {
	for name, tc := range map[string]struct {
		phase string
		want  float64
	}{
		"objects":               {`radosBench: {mode: Write}`, writeRate},
		"reads of objects":      {`radosBench: {mode: Seq}`, 0},
		"small blocks":          {`fio: {pattern: RandWrite}`, smallRate * 4096},
		"reads":                 {`fio: {pattern: RandRead}`, 0},
		"a mix":                 {`fio: {pattern: RandReadWrite, readPercent: 75}`, smallRate * 4096 / 4},
		"an offered rate":       {`fio: {pattern: RandWrite, rateIOPS: 10, numJobs: 2}`, 2 * 10 * 4096 * 3},
		"jobs, one that writes": {`fio: {jobs: [{name: r, pattern: RandRead}, {name: w, pattern: Write}]}`, smallRate * 4096},
		"rbd bench":             {`rbdBench: {ioType: ReadWrite, ioSize: 4Ki}`, smallRate * 4096 / 2},
	} {
		spec := specOf(t, `{template: {phases: [{name: write, `+tc.phase+`}]}}`).Spec
		if got := writtenPerSecond(spec.Template.Phases[0], 3); got != tc.want {
			t.Errorf("%s: %v bytes per second, want %v", name, got, tc.want)
		}
	}
}

func TestStrength(t *testing.T) {
	for effect, message := range map[v1alpha1.Percent]string{
		"12.5%": "improvements of 12.5% and more",
		"100%":  "allow more blocks",
	} {
		if got := Strength(&v1alpha1.SweepPlan{SmallestEffect: effect}); !strings.Contains(got, message) {
			t.Errorf("of %s it says %q, want %q", effect, got, message)
		}
	}
}
