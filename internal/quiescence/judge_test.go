package quiescence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// after returns a time in the phase.
func after(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// observed returns a sample every 5 s. The function at its position changes it; nil changes
// nothing.
func observed(changes ...func(*Sample)) Observation {
	o := Observation{Start: start, OwnPools: []string{"own"}}
	for i, change := range changes {
		facts := quiet()
		sample := Sample{Time: after(5 * i), Status: facts.Status, PoolIO: []ceph.PoolIO{
			{Name: "own", WriteOperationsPerSecond: 1e6}, {Name: "other", ReadOperationsPerSecond: 50},
		}}
		if change != nil {
			change(&sample)
		}
		o.Samples = append(o.Samples, sample)
		o.End = sample.Time
	}
	return o
}

func inState(states map[string]int) func(*Sample) {
	return func(s *Sample) { s.Status.PGsByState = states }
}

func warned(code, summary string) func(*Sample) {
	return func(s *Sample) {
		s.Status.Health.Checks = append(s.Status.Health.Checks, ceph.HealthCheck{Code: code, Severity: "HEALTH_WARN", Summary: summary})
	}
}

func strays(pgs int) func(*Sample) {
	return func(s *Sample) { s.Strays = &ceph.Strays{OSDs: min(pgs, 3), PGs: pgs} }
}

// oddPools returns a warning about pools whose pg_num is not a power of two.
func oddPools(count int) func(*Sample) {
	return func(s *Sample) {
		s.Status.Health.Checks = append(s.Status.Health.Checks, ceph.HealthCheck{Code: "POOL_PG_NUM_NOT_POWER_OF_TWO", Severity: "HEALTH_WARN", Count: count})
	}
}

// oneOddPool expects one such pool.
func oneOddPool(o Observation) Observation {
	o.Expected = []Expectation{{Code: "POOL_PG_NUM_NOT_POWER_OF_TWO", Pools: 1}}
	return o
}

func busy(s *Sample)   { s.PoolIO[1].WriteOperationsPerSecond = 1 }
func failed(s *Sample) { s.Status.Health.Status = "HEALTH_ERR" }

var (
	recovering = inState(map[string]int{"active+clean": 32, "active+remapped+backfilling": 1})
	scrubbing  = inState(map[string]int{"active+clean": 32, "active+clean+scrubbing": 1})
	peering    = inState(map[string]int{"active+clean": 32, "remapped+peering": 1})
)

const (
	record     = v1alpha1.DisturbanceRecord
	invalidate = v1alpha1.DisturbanceInvalidate
	abort      = v1alpha1.DisturbanceAbort
)

type judged struct {
	kind        Kind
	action      v1alpha1.DisturbanceAction
	first, last int // seconds
	samples     int
}

var judgeCases = map[string]struct {
	observation Observation
	spec        v1alpha1.Quiescence
	want        []judged
}{
	"nothing":       {observation: observed(nil, nil, nil)},
	"no sample yet": {observation: Observation{Start: start, End: after(29)}},
	"HEALTH_ERR aborts at once": {
		observation: observed(nil, failed, nil), want: []judged{{KindHealthError, abort, 5, 5, 1}},
	},
	"inactive PGs abort at once": {
		observation: observed(nil, peering), want: []judged{{KindInactivePGs, abort, 5, 5, 1}, {KindRecovery, invalidate, 5, 5, 1}},
	},
	"stale PGs are inactive": {
		observation: observed(inState(map[string]int{"stale+active+clean": 1})), want: []judged{{KindInactivePGs, abort, 0, 0, 1}},
	},
	"a warning":                               {observation: observed(nil, warned("SLOW_OPS", ""), warned("SLOW_OPS", "")), want: []judged{{KindHealthWarning, invalidate, 5, 10, 2}}},
	"a warning, to be recorded":               {observation: observed(warned("SLOW_OPS", "")), spec: v1alpha1.Quiescence{Health: record}, want: []judged{{KindHealthWarning, record, 0, 0, 1}}},
	"a warning, allowed":                      {observation: observed(warned("SLOW_OPS", "")), spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"SLOW_OPS"}}},
	"a warning about scrub flags":             {observation: observed(warned(flagsCode, "noscrub flag(s) set"))},
	"a warning about flags":                   {observation: observed(warned(flagsCode, "noout,noscrub flag(s) set")), want: []judged{{KindHealthWarning, invalidate, 0, 0, 1}}},
	"a crash from before":                     {observation: observed(warned("RECENT_CRASH", ""), warned("RECENT_CRASH", ""))},
	"a crash during the phase":                {observation: observed(nil, warned("RECENT_CRASH", "")), want: []judged{{KindHealthWarning, invalidate, 5, 5, 1}}},
	"a pool's odd number of PGs":              {observation: observed(nil, oddPools(1)), want: []judged{{KindHealthWarning, invalidate, 5, 5, 1}}},
	"one that is the caller's":                {observation: oneOddPool(observed(oddPools(1), oddPools(1)))},
	"one that is the caller's, and another's": {observation: oneOddPool(observed(oddPools(1), oddPools(2))), want: []judged{{KindHealthWarning, invalidate, 5, 5, 1}}},
	"together with another warning":           {observation: oneOddPool(observed(warned("SLOW_OPS", ""))), want: []judged{{KindHealthWarning, invalidate, 0, 0, 1}}},
	"recovery":                                {observation: observed(nil, recovering), want: []judged{{KindRecovery, invalidate, 5, 5, 1}}},
	"misplaced objects": {
		observation: observed(func(s *Sample) { s.Status.MisplacedObjects = 1 }), want: []judged{{KindRecovery, invalidate, 0, 0, 1}},
	},
	"one sample does not abort": {
		observation: observed(nil, recovering, nil, recovering), spec: v1alpha1.Quiescence{Recovery: abort},
		want: []judged{{KindRecovery, invalidate, 5, 15, 2}},
	},
	"two samples in a row abort": {
		observation: observed(nil, recovering, recovering), spec: v1alpha1.Quiescence{Recovery: abort},
		want: []judged{{KindRecovery, abort, 5, 10, 2}},
	},
	"an abort stays one": {
		observation: observed(recovering, recovering, nil, nil), spec: v1alpha1.Quiescence{Recovery: abort},
		want: []judged{{KindRecovery, abort, 0, 5, 2}},
	},
	"a scrub":               {observation: observed(scrubbing, scrubbing), want: []judged{{KindScrub, record, 0, 5, 2}}},
	"a scrub, paused":       {observation: observed(scrubbing), spec: v1alpha1.Quiescence{Scrub: v1alpha1.ScrubPause}, want: []judged{{KindScrub, record, 0, 0, 1}}},
	"a scrub that spoils":   {observation: observed(scrubbing), spec: v1alpha1.Quiescence{Scrub: v1alpha1.ScrubInvalidate}, want: []judged{{KindScrub, invalidate, 0, 0, 1}}},
	"a scrub that aborts":   {observation: observed(scrubbing, scrubbing), spec: v1alpha1.Quiescence{Scrub: v1alpha1.ScrubAbort}, want: []judged{{KindScrub, abort, 0, 5, 2}}},
	"trimming of snapshots": {observation: observed(inState(map[string]int{"active+clean+snaptrim": 1})), want: []judged{{KindSnapTrim, record, 0, 0, 1}}},
	"foreign I/O":           {observation: observed(nil, busy), want: []judged{{KindForeignIO, record, 5, 5, 1}}},
	"foreign I/O that aborts": {
		observation: observed(busy, busy), spec: v1alpha1.Quiescence{ForeignIO: abort}, want: []judged{{KindForeignIO, abort, 0, 5, 2}},
	},
	"PGs that were removed when it began": {
		observation: from(12, observed(strays(50), strays(48), strays(17), nil)), want: []judged{{KindStrayPGs, record, 10, 10, 1}},
	},
	"PGs that were removed long before a phase, without samples since": {
		observation: from(22, observed(strays(48), nil, nil, nil, nil, nil)), want: []judged{{KindStrayPGs, record, 0, 0, 1}},
	},
	"PGs that were gone when it began": {observation: from(7, observed(strays(48), strays(0), nil))},
	"PGs that a new manager has seen in mid-phase": {
		observation: observed(nil, strays(48), strays(17), strays(0), nil), want: []judged{{KindStrayPGs, record, 5, 10, 2}},
	},
	"PGs that may be removed": {
		observation: from(2, observed(strays(48), nil)), spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{removalCode}},
	},
	"the own I/O of a claim":   {observation: unknownIO(observed(nil, busy))},
	"more foreign I/O allowed": {observation: observed(busy), spec: v1alpha1.Quiescence{ForeignIOPS: new(int64(51))}},
	"an OSD goes down": {
		observation: observed(nil, func(s *Sample) { s.Status.UpOSDs-- }, func(s *Sample) { s.Status.UpOSDs-- }),
		want:        []judged{{KindOSDChange, invalidate, 5, 5, 1}},
	},
	"an OSD restarts between two samples": {
		observation: observed(nil, func(s *Sample) { s.Status.OSDsUpSince = 9 }),
		want:        []judged{{KindOSDChange, invalidate, 5, 5, 1}},
	},
	"an OSD goes between a sample before the phase and the first in it": {
		observation: from(3, observed(nil, func(s *Sample) { s.Status.UpOSDs-- })),
		want:        []judged{{KindOSDChange, invalidate, 5, 5, 1}},
	},
	"what was before the phase": {observation: from(7, observed(recovering, failed, nil))},
	"the manager is away":       {observation: observed(func(s *Sample) { s.Status.ManagerActive = false; peering(s) }), want: []judged{{KindUnobserved, record, 0, 0, 1}}},
	"a manager that is new":     {observation: observed(inState(map[string]int{"unknown": 33})), want: []judged{{KindUnobserved, record, 0, 0, 1}}},
	"a gap":                     {observation: observed(nil, func(s *Sample) { s.Time = after(31) }), want: []judged{{KindUnobserved, record, 0, 31, 0}}},
	"no gap":                    {observation: observed(nil, func(s *Sample) { s.Time = after(30) })},
	"a gap at the start":        {observation: Observation{Start: start, End: after(31)}, want: []judged{{KindUnobserved, record, 0, 31, 0}}},
	"a gap at the end":          {observation: until(40, observed(nil, nil)), want: []judged{{KindUnobserved, record, 5, 40, 0}}},
}

func unknownIO(o Observation) Observation {
	o.OwnIOUnknown = true
	return o
}

func from(seconds int, o Observation) Observation {
	o.Start = after(seconds)
	return o
}

func until(seconds int, o Observation) Observation {
	o.End = after(seconds)
	return o
}

func TestJudge(t *testing.T) {
	for name, test := range judgeCases {
		t.Run(name, func(t *testing.T) {
			var got []judged
			for _, d := range Judge(test.observation, test.spec) {
				if d.Message == "" {
					t.Errorf("%s has no message", d.Kind)
				}
				got = append(got, judged{d.Kind, d.Action, int(d.FirstSeen.Sub(start).Seconds()), int(d.LastSeen.Sub(start).Seconds()), d.Samples})
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(judged{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A disturbance may have lasted from the sample before the one that has it to the sample after.
func TestDisturbed(t *testing.T) {
	recovery := inState(map[string]int{"active+recovering": 1})
	scrub := inState(map[string]int{"active+clean+scrubbing": 1})
	busy := func(s *Sample) { s.PoolIO[1].ReadOperationsPerSecond = 1e6 }
	for name, c := range map[string]struct {
		observation Observation
		spec        v1alpha1.Quiescence
		want        []Span
	}{
		"quiet":                         {observed(nil, nil, nil), v1alpha1.Quiescence{}, nil},
		"recovery in between":           {observed(nil, recovery, nil), v1alpha1.Quiescence{}, []Span{{after(0), after(10)}}},
		"at the beginning":              {observed(recovery, nil, nil), v1alpha1.Quiescence{}, []Span{{after(0), after(5)}}},
		"for two samples":               {observed(nil, recovery, recovery, nil), v1alpha1.Quiescence{}, []Span{{after(0), after(10)}, {after(5), after(15)}}},
		"a scrub is recorded":           {observed(nil, scrub, nil), v1alpha1.Quiescence{}, nil},
		"unless the spec says so":       {observed(nil, scrub, nil), v1alpha1.Quiescence{Scrub: v1alpha1.ScrubInvalidate}, []Span{{after(0), after(10)}}},
		"other clients are recorded":    {observed(nil, busy, nil), v1alpha1.Quiescence{}, nil},
		"unless the spec says so again": {observed(nil, busy, nil), v1alpha1.Quiescence{ForeignIO: v1alpha1.DisturbanceAbort}, []Span{{after(0), after(10)}}},
		"an expected warning":           {oneOddPool(observed(nil, oddPools(1), nil)), v1alpha1.Quiescence{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Disturbed(c.observation, c.spec)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
