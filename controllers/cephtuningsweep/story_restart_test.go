package cephtuningsweep

import (
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// Stories of options that OSDs take only when they start.
func restartStories() map[string]story {
	shards := strings.ReplaceAll(strings.ReplaceAll(profile, "osd_mclock_profile", "osd_op_num_shards"), "high_client_ops", `"2"`)
	return map[string]story{
		"OSDs are restarted one after another, and again with what they had": func(w *world) {
			before := w.state()
			w.bench.set(func(b *bench) {
				b.speed = func(*v1alpha1.CephBenchmark) float64 {
					running, err := w.ceph.RunningConfig(w.t.Context(), ceph.Connection{}, []int{0, 1, 2}, []string{"osd_op_num_shards"})
					if err != nil {
						return 0
					}
					for _, osd := range running {
						if option, _ := osd.Option("osd_op_num_shards"); option.Value != "2" {
							return 1000
						}
					}
					return 1500
				}
			})
			s := w.create("s", shards+"guardrails: {osdRestarts: Allow}\n")
			w.await(s, "complete", is(v1alpha1.ConditionComplete))
			if s.Status.Verdict != v1alpha1.VerdictSuperior {
				w.t.Errorf("verdict %s, want Superior: %s", s.Status.Verdict, s.Status.Summary)
			}
			w.wantState(before)
			w.rook.set(func(f *fakeRook) {
				// Before each run, and in the end.
				if want := (len(s.Status.Runs) + 1) * 3; len(f.restarted) != want {
					w.t.Errorf("%d restarts, want %d: %v", len(f.restarted), want, f.restarted)
				}
				for batch := range slices.Chunk(f.restarted, 3) {
					if slices.Sort(batch); !slices.Equal(batch, []int{0, 1, 2}) {
						w.t.Errorf("restarts %v, want each OSD once for each run", f.restarted)
					}
				}
			})
			running, err := w.ceph.RunningConfig(w.t.Context(), ceph.Connection{}, []int{0, 1, 2}, []string{"osd_op_num_shards"})
			if err != nil {
				w.t.Fatal(err)
			}
			for _, osd := range running {
				if option, _ := osd.Option("osd_op_num_shards"); option.Value != "0" {
					w.t.Errorf("osd.%d runs with %s, want what it had", osd.OSD, option.Value)
				}
			}
		},
		"without leave to restart it is refused by name": func(w *world) {
			s := w.create("s", shards)
			w.await(s, "failed", is(v1alpha1.ConditionFailed))
			if message := messageOf(s); !strings.Contains(message, "osd_op_num_shards") || !strings.Contains(message, "restart") {
				w.t.Errorf("it says %q, want the option and that it needs a restart", message)
			}
		},
	}
}
