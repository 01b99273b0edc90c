package sweepspec

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// story is a whole sweep on a cluster that a formula simulates.
type story struct {
	sweep func(t testing.TB) *v1alpha1.CephTuningSweep
	facts Facts
	pools map[v1alpha1.PoolName]string
	cv    float64
	// truth returns a figure of a configuration, relative to the baseline.
	truth func(values map[string]cephvalue.Value, figure int) float64
	// trouble returns the problem of a run; the zero value means none.
	trouble func(run int, c sweep.Configuration) Evidence
	// marks returns the marks of a run's benchmark.
	marks func(run int) []v1alpha1.ResultMark
}

func stories() map[string]story {
	gib := int64(1 << 30)
	return map[string]story{
		"pg-num-on-scratch-pools": {
			sweep: func(t testing.TB) *v1alpha1.CephTuningSweep { return sampleOf(t, "pg_num") },
			facts: Facts{OSDs: osds(3), DatasetBytes: 4 * gib}, cv: 0.04,
			truth: func(v map[string]cephvalue.Value, figure int) float64 {
				if figure == 0 {
					return map[string]float64{"8": 0.7, "16": 0.85, "64": 1.4}[v["pg_num"].Text]
				}
				return 1.02
			},
			marks: func(run int) []v1alpha1.ResultMark {
				if run == 3 {
					return []v1alpha1.ResultMark{v1alpha1.MarkNotSteady}
				}
				return nil
			},
		},
		"configurations-of-compression": {
			sweep: func(t testing.TB) *v1alpha1.CephTuningSweep {
				s := sampleOf(t, "compression")
				s.Spec.Strategy.Seed = new(int64(7))
				return s
			},
			facts: Facts{OSDs: osds(3), DatasetBytes: gib}, cv: 0.05,
			truth: func(v map[string]cephvalue.Value, _ int) float64 {
				return map[string]float64{"lz4": 1.3, "zstd": 0.7}[v["algorithm"].Text]
			},
		},
		"two-osd-options": {
			sweep: func(t testing.TB) *v1alpha1.CephTuningSweep {
				s := sampleOf(t, "osd_option")
				s.Spec.Strategy.Seed = new(int64(3))
				return s
			},
			facts: Facts{OSDs: osds(6), DatasetBytes: gib, Present: Present{"profile": cephvalue.Of("balanced"), "cap": cephvalue.Of("256")}}, cv: 0.03,
			truth: func(v map[string]cephvalue.Value, _ int) float64 {
				ratio := 1.0
				if v["profile"].Text == "high_client_ops" {
					ratio *= 0.75
				}
				if v["cap"].Text == "1024" {
					ratio *= 0.95
				}
				return ratio
			},
			trouble: func(run int, c sweep.Configuration) Evidence {
				if run > 3 && strings.Contains(c.Name, "profile=unset") {
					return Evidence{Inert: "osd.3 has osd_mclock_profile of its own."}
				}
				return Evidence{}
			},
		},
		"pg-num-in-place": {
			sweep: func(t testing.TB) *v1alpha1.CephTuningSweep {
				s := sampleOf(t, "plan")
				s.Spec.Mode, s.Spec.Strategy.Seed = v1alpha1.SweepModeRun, new(int64(5))
				return s
			},
			facts: Facts{OSDs: osds(3), Present: Present{"pg_num": cephvalue.Of("64")}}, cv: 0.07,
			pools: map[v1alpha1.PoolName]string{"replicapool": "replicapool-cr"},
			truth: func(v map[string]cephvalue.Value, _ int) float64 {
				return map[string]float64{"32": 0.9, "128": 1.02}[v["pg_num"].Text]
			},
			trouble: func(run int, _ sweep.Configuration) Evidence {
				switch run {
				case 4:
					return Evidence{Changed: "Someone has changed pg_autoscale_mode of pool replicapool."}
				case 9:
					return Evidence{Interrupted: true}
				}
				return Evidence{}
			},
		},
	}
}

// cluster answers benchmarks as the benchmark controller and Ceph would.
type cluster struct {
	story
	rng *rand.Rand
}

func (c *cluster) run(t testing.TB, s *v1alpha1.CephTuningSweep, n int, trial sweep.Trial, configuration sweep.Configuration) Evidence {
	t.Helper()
	child, err := Child{Sweep: s, Trial: trial, Run: n, Configuration: configuration}.Benchmark()
	if err != nil {
		t.Fatal(err)
	}
	evidence := Evidence{}
	if c.trouble != nil {
		evidence = c.trouble(n, configuration)
	}
	evidence.Seconds, evidence.BytesWritten = 100*trial.LengthFactor, 3<<30
	references := []v1alpha1.MetricReference{s.Spec.Objective.MetricReference}
	for _, k := range s.Spec.Constraints {
		references = append(references, k.MetricReference)
	}
	for i, r := range references {
		ratio := math.Exp(stats.LogStdDev(c.cv) * c.rng.NormFloat64())
		if trial.Configuration != 0 {
			ratio *= c.truth(configuration.Values, i)
		}
		level := 4e8
		if directionOf(r.Metric) == stats.LowerIsBetter {
			level = 0.0123
		}
		phase := v1alpha1.PhaseResult{Name: r.Phase, ValidRuns: 1, Metrics: []v1alpha1.MetricResult{
			{Metric: r.Metric, Direction: r.Direction, Value: figure.Decimal(level * ratio)},
		}}
		if c.marks != nil {
			phase.Marks = c.marks(n)
		}
		child.Status.Phases = append(child.Status.Phases, phase)
	}
	child.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunValid}}
	child.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
	evidence.Child = child
	return evidence
}

// play plays a whole sweep like a controller that restarts after each run, so that it knows only
// spec and status.
func (s story) play(t testing.TB) string {
	t.Helper()
	object := s.sweep(t)
	status := &object.Status
	status.Plan, _ = draft(t, &object.Spec, s.facts)
	ceph := &cluster{story: s, rng: rand.New(rand.NewPCG(11, 13))}
	var b strings.Builder
	fmt.Fprintf(&b, "plan:\n%s", indented(text(t, status.Plan)))
	for range sweep.MaxLedger + 1 {
		ledger, err := ReadLedger(status)
		if err != nil {
			t.Fatal(err)
		}
		planner, err := PlannerOf(&object.Spec, status.Plan)
		if err != nil {
			t.Fatal(err)
		}
		next, err := planner.Next(Runs(ledger))
		if err != nil {
			t.Fatal(err)
		}
		status.Trials = WriteLedger(ledger, next)
		for _, e := range next.Events {
			fmt.Fprintf(&b, "  %s\n", e)
		}
		progress := ProgressOf(next)
		status.Progress = &progress
		if next.Action == sweep.Conclude {
			outcome, err := Conclude(&object.Spec, planner, ledger, next.Conclusion, s.pools)
			if err != nil {
				t.Fatal(err)
			}
			outcome.Write(status)
			status.Plan, status.Trials = nil, nil // They are shown above.
			fmt.Fprintf(&b, "status:\n%s", indented(text(t, status)))
			return b.String()
		}
		standing, err := Standing(&object.Spec, planner, ledger)
		if err != nil {
			t.Fatal(err)
		}
		standing.Write(status)
		configuration := planner.Configurations()[next.Trial.Configuration]
		entry, reason := Observe(&object.Spec, next.Trial, ceph.run(t, object, len(ledger)+1, next.Trial, configuration))
		status.Trials = WriteLedger(append(ledger, entry), next)
		fmt.Fprintf(&b, "%s %s, best %s %s: %s\n", ChildName(object, len(ledger)+1), configuration.Name, status.Best, status.Effect, jsonOf(t, status.Trials[len(ledger)]))
		if reason != "" {
			fmt.Fprintf(&b, "  %s\n", reason)
		}
	}
	t.Fatal("the sweep does not end")
	return ""
}

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func TestGoldenTranscripts(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			got := s.play(t)
			path := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("transcript changed; if that is meant, run with -update (-want +got):\n%s", diff)
			}
		})
	}
}
