package sweep

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// story is a sweep with a golden transcript.
type story struct {
	space    Space
	settings func(*Settings)
	cluster  cluster
}

// stories has the sweeps whose transcripts are in testdata, by file name.
func stories() map[string]story {
	return map[string]story{
		"one-of-four-is-faster": {
			space:   grid("8", "16", "32", "64", "128"),
			cluster: cluster{cv: 0.04, truth: ratios(0.8, 0.95, 1.3, 1.05)},
		},
		"all-are-the-same": {
			space:    grid("8", "16", "32", "64"),
			settings: func(s *Settings) { s.MaxBlocks = 6 },
			cluster:  cluster{cv: 0.04, truth: ratios()},
		},
		"faster-writes-break-reads": {
			space:    grid("16", "32", "64"),
			settings: func(s *Settings) { s.Constraints = []stats.Constraint{{Name: "seq-4m", MaximumRegression: 0.1}} },
			cluster:  cluster{cv: 0.03, truth: ratios(1.2, 1.4), side: ratios(1, 0.6)},
		},
		"faster-writes-break-reads-without-racing": {
			space: grid("16", "32", "64"),
			settings: func(s *Settings) {
				s.Racing, s.MaxBlocks = false, 4
				s.Constraints = []stats.Constraint{{Name: "seq-4m", MaximumRegression: 0.1}}
			},
			cluster: cluster{cv: 0.03, truth: ratios(1.3, 1.5), side: ratios(1, 0.5)},
		},
		"latency-with-configurations-and-unset-values": {
			space: Space{
				Candidates: []Configuration{
					{Name: "client-first", Values: map[string]cephvalue.Value{"osd_mclock_profile": cephvalue.Of("high_client_ops")}},
					{Name: "own-weights", Values: map[string]cephvalue.Value{"osd_mclock_profile": cephvalue.Of("custom"), "osd_mclock_scheduler_client_wgt": cephvalue.Of("4")}},
					{Name: "as-shipped", Values: map[string]cephvalue.Value{"osd_mclock_profile": cephvalue.Unset()}},
				},
				Baseline: map[string]cephvalue.Value{"osd_mclock_profile": cephvalue.Of("balanced")},
			},
			settings: func(s *Settings) { s.Direction = stats.LowerIsBetter },
			cluster:  cluster{cv: 0.03, truth: ratios(0.75, 1.2, 1)},
		},
		"runs-go-wrong": {
			space:    grid("8", "16", "32", "64"),
			settings: func(s *Settings) { s.MaxBlocks = 5 },
			cluster: cluster{cv: 0.03, truth: ratios(1, 1, 1.35), outcome: func(run int, s Trial) Outcome {
				switch {
				case s.Configuration == 2: // never takes effect
					return Inert
				case run == 3 || run == 20:
					return Failed
				case run == 9 || run == 10:
					return NotSteady
				case run == 15:
					return Interrupted
				}
				return Valid
			}},
		},
		"the-fastest-breaks-a-constraint": {
			space: grid("16", "32", "64"),
			settings: func(s *Settings) {
				s.MaxBlocks = 6
				s.Constraints = []stats.Constraint{{Name: "seq-4m", MaximumRegression: 0.1}}
			},
			cluster: cluster{cv: 0.01, truth: ratios(1.06, 1.4), side: ratios(1, 0.6)},
		},
		"a-candidate-never-works": {
			space:   grid("8", "16", "32", "64"),
			cluster: cluster{cv: 0.03, truth: ratios(1, 1, 1.35), outcome: unless(Failed, func(s Trial) bool { return s.Configuration == 2 })},
		},
		"a-block-loses-its-baseline": {
			space:    grid("8", "16", "32", "64"),
			settings: func(s *Settings) { s.MaxBlocks = 4 },
			cluster: cluster{cv: 0.03, truth: ratios(1, 1, 1.02), outcome: unless(NotSteady, func(s Trial) bool {
				return s.Block == 2 && s.Attempt == 1 && s.Configuration == 0
			})},
		},
		"a-candidate-misses-one-block-twice": {
			space:    grid("8", "16", "32", "64"),
			settings: func(s *Settings) { s.MaxBlocks = 4 },
			cluster:  cluster{cv: 0.03, truth: ratios(1, 1, 1.02), outcome: unless(NotSteady, missesOneBlockTwice)},
		},
		"the-cluster-drifts-once": {
			space: placementsByDepth(),
			cluster: cluster{cv: 0.02, truth: ratios(1, 1, 1, 1.3, 1.3), drift: func(run int) float64 {
				if run > 26 && run < 30 {
					return -0.1 * float64(run-26)
				}
				return 0
			}},
		},
		"the-cluster-never-stops-drifting": {
			space:    placementsByDepth(),
			settings: func(s *Settings) { s.MaxRejectedBlocks = 2 },
			cluster: cluster{cv: 0.01, truth: ratios(1, 1, 1, 1.3, 1.3), drift: func(run int) float64 {
				if run > 21 {
					return -0.1 * float64(run-21)
				}
				return 0
			}},
		},
		"hard-to-change-values-are-visited-in-order": {
			space:    placementsByDepth(),
			settings: func(s *Settings) { s.MaxBlocks = 4 },
			cluster:  cluster{cv: 0.03, truth: ratios(1, 1, 1, 1.3, 1.3)},
		},
		"the-budget-ends-the-race-but-keeps-room-to-confirm": {
			space: grid("8", "16", "32", "64", "128"),
			settings: func(s *Settings) {
				s.Budget = Budget{Time: 75 * time.Minute, Reserve: 5 * time.Minute}
			},
			cluster: cluster{cv: 0.05, truth: ratios(1.27, 1.3, 1.3, 1.28)},
		},
		"one-candidate-is-faster": {
			space:   grid("32", "64"),
			cluster: cluster{cv: 0.05, truth: ratios(1.25)},
		},
		"one-candidate-is-the-same": {
			space:   grid("32", "64"),
			cluster: cluster{cv: 0.03, truth: ratios(1)},
		},
		"one-candidate-breaks-a-constraint": {
			space:    grid("32", "64"),
			settings: func(s *Settings) { s.Constraints = []stats.Constraint{{Name: "seq-4m", MaximumRegression: 0.1}} },
			cluster:  cluster{cv: 0.03, truth: ratios(1.3), side: ratios(0.7)},
		},
		"one-candidate-that-is-hard-to-change": {
			space:    Space{Baseline: map[string]cephvalue.Value{"pg_num": cephvalue.Of("32")}, Ordered: true, Candidates: grid("64").Candidates},
			settings: func(s *Settings) { s.Direction = stats.LowerIsBetter },
			cluster:  cluster{cv: 0.03, truth: ratios(0.8)},
		},
		"one-candidate-without-racing": {
			space:    grid("32", "64"),
			settings: func(s *Settings) { s.Racing, s.MaxBlocks = false, 4 },
			cluster:  cluster{cv: 0.05, truth: ratios(1.25)},
		},
		"without-racing": {
			space:    grid("16", "32", "64"),
			settings: func(s *Settings) { s.Racing, s.MaxBlocks = false, 4 },
			cluster:  cluster{cv: 0.03, truth: ratios(0.7, 1.3)},
		},
	}
}

// unless makes all runs valid, except those for which some returns true.
func unless(outcome Outcome, some func(Trial) bool) func(int, Trial) Outcome {
	return func(_ int, s Trial) Outcome {
		if some(s) {
			return outcome
		}
		return Valid
	}
}

// missesOneBlockTwice selects a candidate's runs in two attempts at a block. The first attempt also
// lacks the baseline.
func missesOneBlockTwice(s Trial) bool {
	return s.Block == 2 && (s.Configuration == 1 && s.Attempt <= 2 || s.Attempt == 1 && s.Configuration == 0)
}

func (s story) play(t *testing.T) (plan Plan, ledger []Run, decisions []Decision) {
	t.Helper()
	plan = Plan{Version: Version, Space: s.space, Settings: defaults()}
	if s.settings != nil {
		s.settings(&plan.Settings)
	}
	s.cluster.rng = rand.New(rand.NewPCG(11, 13))
	ledger, decisions = sweepThrough(t, plan, &s.cluster)
	return plan, ledger, decisions
}

func TestGoldenTranscripts(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			plan, ledger, decisions := s.play(t)
			got := transcript(t, plan, ledger, decisions)
			path := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("transcript changed; if that is meant, raise Version and run with -update (-want +got):\n%s", diff)
			}
		})
	}
}

// Any pass of a controller may be its last, and the next one must not depend on its memory. So
// every prefix of the history must result in the same decision, and from there in the same end.
func TestEveryPrefixOfHistoryLeadsToTheSameSweep(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			plan, ledger, decisions := s.play(t)
			p, err := New(plan)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.begin()
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range decisions {
				stored := slices.Clone(ledger[:i])
				before := slices.Clone(stored)
				fromStatus, err := next(plan, stored)
				if err != nil {
					t.Fatal(err)
				}
				goingOn, err := r.decision()
				if err != nil {
					t.Fatal(err)
				}
				for method, got := range map[string]Decision{"from status": fromStatus, "going on": goingOn} {
					if diff := cmp.Diff(want, got, exactly); diff != "" {
						t.Fatalf("after %d runs, %s (-want +got):\n%s", i, method, diff)
					}
				}
				if diff := cmp.Diff(before, stored); diff != "" {
					t.Fatalf("the ledger was changed (-want +got):\n%s", diff)
				}
				if i < len(ledger) {
					if err := r.advance(ledger[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

var exactly = cmpopts.IgnoreUnexported(stats.Assessment{})
