package tuning

import (
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// look takes a sample of the simulated cluster.
func (w *world) look() Sample {
	w.t.Helper()
	all := []Setting{{Kind: KindAutoscaler}, {Kind: KindConfig}, {Kind: KindBalancer}}
	if !w.status().ManagerActive {
		all = all[:2]
	}
	facts, err := ReadFacts(w.t.Context(), w.cluster, conn(), all)
	if err != nil {
		w.t.Fatal(err)
	}
	status, err := w.cluster.Status(w.t.Context(), conn())
	if err != nil {
		w.t.Fatal(err)
	}
	return Sample{At: w.now, Facts: facts, Status: status}
}

func (w *world) status() (s struct{ ManagerActive bool }) {
	w.cluster.Act(func(c *cephtest.Cluster) { s.ManagerActive = c.Answers.Status.ManagerActive })
	return s
}

// settle takes a sample every two seconds until there is a decision.
func (w *world) settle(want []Change, deadline Deadline, known Known) (Settled, []string) {
	var s Settling
	var progress []string
	for range 10_000 {
		var judged Settled
		s, judged = s.Next(w.look(), want, deadline, known)
		if len(progress) == 0 || progress[len(progress)-1] != judged.Progress {
			progress = append(progress, judged.Progress)
		}
		if judged.Done || judged.Failed || len(judged.Inert) > 0 {
			return judged, progress
		}
		w.cluster.Tick()
		w.now = w.now.Add(2 * time.Second)
	}
	w.t.Fatal("nothing was ever decided")
	return Settled{}, nil
}

func TestSettling(t *testing.T) {
	split := []Change{autoscaler("p"), poolOption("p", "pg_num", "64")}
	deadline := Deadline{Polls: 5, Soak: 30 * time.Second, Deadline: 10 * time.Minute}
	tests := map[string]struct {
		want      []Change
		behaviour func(*cephtest.Cluster)
		known     Known
		done      bool
		inert     InertReason
		took      time.Duration
		message   string
	}{
		"pg_num": {
			want: split, done: true, took: 42 * time.Second, message: "pool p has 40 PGs and pgp_num 32, on the way to 64",
		},
		"an option of OSDs": {
			want: []Change{config("osd_max_backfills", "3")}, done: true, took: 30 * time.Second,
		},
		"pg_num without a manager": {
			want: split, behaviour: func(c *cephtest.Cluster) { c.Answers.Status.ManagerActive = false },
			took: 10 * time.Minute, message: "no active manager continues it",
		},
		"the autoscaler that was turned on again": {
			want: split[1:], behaviour: func(c *cephtest.Cluster) { c.Autoscaler = map[string]int{"p": 128} },
			inert: InertAutoscaler, took: 2 * time.Second, message: "the autoscaler changed pg_num of pool p to 128",
		},
		"Rook": {
			want:      split,
			behaviour: func(c *cephtest.Cluster) { c.Rook = map[string]map[string]string{"p": {"pg_num": "32"}} },
			known:     Known{Owned: Owned{PoolParameters: map[string]map[string]string{"p": {"pg_num": "32"}}}},
			inert:     InertRook, took: 2 * time.Second, message: "remove spec.parameters.pg_num of the CephBlockPool of pool p",
		},
		"mClock": {
			want: []Change{config("osd_max_backfills", "3")}, behaviour: func(c *cephtest.Cluster) { c.MClock = true },
			inert: InertMClock, took: 2 * time.Second, message: "osd_mclock_override_recovery_settings is true",
		},
		"mClock with its override": {
			want:      []Change{config("osd_mclock_override_recovery_settings", "true"), config("osd_max_backfills", "3")},
			behaviour: func(c *cephtest.Cluster) { c.MClock = true },
			done:      true, took: 30 * time.Second,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.process(nil).Apply(t.Context(), ourSweep, test.want); err != nil {
				t.Fatal(err)
			}
			if test.behaviour != nil {
				w.cluster.Act(test.behaviour)
			}
			began := w.now
			settled, progress := w.settle(test.want, deadline, test.known)
			if settled.Done != test.done || settled.Failed != (!test.done && test.inert == "") {
				t.Errorf("%+v, want done %t", settled, test.done)
			}
			if test.inert != "" && (len(settled.Inert) != 1 || settled.Inert[0].Reason != test.inert) {
				t.Errorf("inert: %+v, want %s", settled.Inert, test.inert)
			}
			if took := w.now.Sub(began); took != test.took {
				t.Errorf("it took %s, want %s: %q", took, test.took, progress)
			}
			if !strings.Contains(strings.Join(progress, "\n"), test.message) {
				t.Errorf("it said %q, want %q", progress, test.message)
			}
		})
	}
}

// If an obstacle comes back within the soak time, the soak starts again.
func TestSoakRestartsAfterUnrest(t *testing.T) {
	w := newWorld(t)
	deadline := Deadline{Polls: 2, Soak: 10 * time.Second, Deadline: time.Hour}
	var s Settling
	var judged Settled
	for i := range 12 {
		sample := w.look()
		if i == 4 {
			sample.Status.PGsByState = map[string]int{"active+clean": sample.Status.PGs - 1, "peering": 1}
		}
		s, judged = s.Next(sample, nil, deadline, Known{})
		if want := i >= 10; judged.Done != want {
			t.Errorf("look %d: %+v, want done %t", i, judged, want)
		}
		w.now = w.now.Add(2 * time.Second)
	}
}

func TestUnrest(t *testing.T) {
	tests := map[string]struct {
		change func(*Sample)
		want   string
	}{
		"quiescent":            {func(*Sample) {}, ""},
		"scrubbing is rest":    {func(s *Sample) { s.Status.PGsByState = map[string]int{"active+clean+scrubbing+deep": s.Status.PGs} }, ""},
		"peering":              {func(s *Sample) { s.Status.PGsByState = map[string]int{"peering": s.Status.PGs} }, "64 peering"},
		"active and not clean": {func(s *Sample) { s.Status.PGsByState = map[string]int{"active": s.Status.PGs} }, "64 active"},
		"misplaced":            {func(s *Sample) { s.Status.MisplacedObjects = 7 }, "copies of objects to move: 7"},
		"degraded":             {func(s *Sample) { s.Status.DegradedObjects = 7 }, "copies of objects to create: 7"},
		"unknown PGs": {func(s *Sample) {
			s.Status.PGsByState = map[string]int{"active+clean": s.Status.PGs - 2}
		}, "the state of 2 of 64 PGs"},
		"a target that is not reached":      {func(s *Sample) { s.Facts.OSDMap.Pools[0].PGNum = 31 }, "on the way to 32"},
		"a merge that is pending":           {func(s *Sample) { s.Facts.OSDMap.Pools[0].PGNumPending = 31 }, "on the way to 32"},
		"a placement behind":                {func(s *Sample) { s.Facts.OSDMap.Pools[0].PGPlacementNum = 31 }, "pgp_num 31"},
		"a placement that goes elsewhere":   {func(s *Sample) { s.Facts.OSDMap.Pools[0].PGPlacementTarget = 31 }, "on the way to 32"},
		"a pool that was removed meanwhile": {func(s *Sample) { s.Facts.OSDMap.Pools = nil }, "there is no pool p"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sample := newWorld(t).look()
			test.change(&sample)
			got := strings.Join(unsettled(sample, []Change{poolOption("p", "pg_num", "32")}), "; ")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("waits for %q, want %q", got, test.want)
			}
		})
	}
}
