package outage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
)

var begin = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// since returns a time in the phase.
func since(seconds float64) time.Time {
	return begin.Add(time.Duration(seconds * float64(time.Second)))
}

// plan stops osd.2 for a minute, 40 s after the start, ten of which are ramp.
func plan() Plan {
	return PlanOf(&v1alpha1.Outage{
		Phase: "outage", OSDs: []int32{2}, Before: metav1.Duration{Duration: 30 * time.Second}, Duration: metav1.Duration{Duration: time.Minute},
	}, 10*time.Second)
}

// whole returns a cluster of three OSDs. The target's pool is the only one on them.
func whole() Cluster {
	return Cluster{
		OSDMap: &ceph.OSDMap{
			Pools: []ceph.Pool{
				{ID: 1, Name: ".mgr", MinSize: 1}, {ID: 2, Name: "ours", MinSize: 1}, {ID: 3, Name: "theirs", MinSize: 1}, {ID: 4, Name: "elsewhere", MinSize: 1},
			},
			OSDs: []ceph.OSDState{{ID: 0, Up: true}, {ID: 1, Up: true}, {ID: 2, Up: true}},
		},
		PGs:         []ceph.PG{pg(1, 0, 2), pg(2, 0, 1, 2), pg(4, 0, 1)},
		TargetPools: []string{"ours"},
		Status: &ceph.Status{
			OSDs: 3, UpOSDs: 3, InOSDs: 3, ManagerActive: true, PGsByState: map[string]int{"active+clean": 9, "active+clean+scrubbing": 1},
		},
		Stop: &ceph.Stop{OK: true},
	}
}

// pg returns a clean placement group.
func pg(pool int64, acting ...int) ceph.PG {
	return ceph.PG{ID: fmt.Sprintf("%d.0", pool), PoolID: pool, State: "active+clean", Acting: acting}
}

func set(section, name, value string) func(*Cluster, *Plan) {
	return func(c *Cluster, _ *Plan) {
		c.Config = append(c.Config, ceph.ConfigEntry{Section: section, Name: name, Value: value})
	}
}

func TestRefuse(t *testing.T) {
	type change = func(*Cluster, *Plan)
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"a cluster that is whole":              {func(*Cluster, *Plan) {}, ""},
		"Rook would take the OSD away":         {func(c *Cluster, _ *Plan) { c.RemovesOSDs = true }, "removeOSDsIfOutAndSafeToRemove"},
		"an OSD that is not there":             {func(_ *Cluster, p *Plan) { p.OSDs = []int{2, 9} }, "no osd.9"},
		"a flag of the cluster":                {func(c *Cluster, _ *Plan) { c.OSDMap.Flags = []string{"norecover"} }, "ceph osd unset norecover"},
		"a flag of another OSD":                {func(c *Cluster, _ *Plan) { c.OSDMap.OSDs[0].Flags = []string{"nodown"} }, "ceph osd unset-group nodown osd.0"},
		"flags that keep scrubs away":          {func(c *Cluster, _ *Plan) { c.OSDMap.Flags = []string{"nodeep-scrub", "noscrub"} }, ""},
		"an OSD that is down":                  {func(c *Cluster, _ *Plan) { c.OSDMap.OSDs[1].Up = false }, "osd.1 is down already"},
		"an OSD that is out":                   {func(c *Cluster, _ *Plan) { c.Status.InOSDs = 2 }, "1 of 3 OSDs are out"},
		"data that is not whole":               {func(c *Cluster, _ *Plan) { c.Status.PGsByState["active+recovering"] = 1 }, "active+clean"},
		"data that is not where it is to be":   {func(c *Cluster, _ *Plan) { c.Status.PGsByState["active+clean+remapped"] = 1 }, "active+clean"},
		"data of an unknown pool":              {func(c *Cluster, _ *Plan) { c.Status.PGsByState["stale+active+clean"] = 1 }, "active+clean"},
		"no manager":                           {func(c *Cluster, _ *Plan) { c.Status.ManagerActive = false }, "no ceph-mgr is active"},
		"an outage as long as Ceph's deadline": {func(_ *Cluster, p *Plan) { p.Duration = 9*time.Minute + time.Second }, "1m0s shorter"},
		"one that is just shorter":             {func(_ *Cluster, p *Plan) { p.Duration = 9 * time.Minute }, ""},
		"a cluster with less deadline":         {set("mon", "mon_osd_down_out_interval", "90"), "out that are down for 1m30s"},
		"one with endless deadline":            {set("global", "mon_osd_down_out_interval", "0"), ""},
		"a monitor with less deadline":         {set("mon.b", "mon_osd_down_out_interval", "90"), "out that are down for 1m30s"},
		"one with endless deadline, of some":   {set("mon.b", "mon_osd_down_out_interval", "0"), ""},
		"an OSD that would stay out":           {set("mon", "mon_osd_auto_mark_auto_out_in", "false"), "mon_osd_auto_mark_auto_out_in"},
		"one that would not":                   {set("mon", "mon_osd_auto_mark_auto_out_in", "true"), ""},
		"backfill that one monitor delays": {func(c *Cluster, p *Plan) {
			set("mon.b", "mon_osd_down_out_interval", "1200")(c, p)
			p.Backfill, p.Duration = true, 12*time.Minute
		}, "above 21m0s"},
		"backfill that does not come": {func(_ *Cluster, p *Plan) { p.Backfill = true }, "above 11m0s"},
		"backfill that comes":         {func(_ *Cluster, p *Plan) { p.Backfill, p.Duration = true, 12*time.Minute }, ""},
		"backfill of what may not all go out": {func(_ *Cluster, p *Plan) {
			p.Backfill, p.Duration, p.OSDs = true, 12*time.Minute, []int{1, 2}
		}, "less than 0.75 of them are in (mon_osd_min_in_ratio)"},
		"backfill where more may go out": {func(c *Cluster, p *Plan) {
			set("mon", "mon_osd_min_in_ratio", "0.5")(c, p)
			p.Backfill, p.Duration, p.OSDs, p.OtherPools = true, 12*time.Minute, []int{1, 2}, 1
		}, ""},
		"the data of others": {func(c *Cluster, _ *Plan) { c.PGs = append(c.PGs, pg(3, 2)) }, "other pools have data on these OSDs and would be degraded too (1 in all: theirs)"},
		"the data of others, who agree": {func(c *Cluster, p *Plan) {
			c.PGs, p.OtherPools = append(c.PGs, pg(3, 0, 2)), 1
		}, ""},
		"the data of others, who would lose it": {func(c *Cluster, p *Plan) {
			c.PGs, p.OtherPools = append(c.PGs, pg(3, 2)), 1
		}, "3.0 would have fewer OSDs left (0) than it needs (1, min_size of pool theirs)"},
		"early on, it does not matter what is left": {func(c *Cluster, p *Plan) {
			c.PGs, p.OtherPools, c.Stop, c.Status = append(c.PGs, pg(3, 2)), 1, nil, nil
		}, ""},
		"Ceph says no":                            {func(c *Cluster, _ *Plan) { c.Stop = &ceph.Stop{Reason: "72 PGs would become offline"} }, "72 PGs would become offline"},
		"an OSD that was down two minutes ago":    {func(c *Cluster, _ *Plan) { c.OSDMap.OSDs[2].DownSince = since(-120) }, "within the last 2m40s"},
		"an OSD that was down three minutes ago":  {func(c *Cluster, _ *Plan) { c.OSDMap.OSDs[2].DownSince = since(-180) }, ""},
		"another one that was down a minute ago":  {func(c *Cluster, _ *Plan) { c.OSDMap.OSDs[1].DownSince = since(-60) }, ""},
		"early on, data is not asked for":         {func(c *Cluster, _ *Plan) { c.Status, c.Stop = nil, nil }, ""},
		"early on, it does not matter how rested": {func(c *Cluster, _ *Plan) { c.Status, c.OSDMap.OSDs[2].DownSince = nil, since(-1) }, ""},
	} {
		c, p := whole(), plan()
		tc.change(&c, &p)
		if got := p.Refuse(c, begin); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q in it", name, got, tc.want)
		}
	}
}

// With the shortest permitted spacing, an OSD must stay below the count at which it gives up, even
// if another user marks it down once.
func TestSpacingStaysBelowMarkdownLimit(t *testing.T) {
	for _, count := range []int{1, 2, 3, 5, 10} {
		config := []ceph.ConfigEntry{{Section: "osd", Name: "osd_max_markdown_count", Value: fmt.Sprint(count)}}
		period := 600 * time.Second
		if ours := int(period/spacing(config)) + 1; ours > max(1, count) {
			t.Errorf("%d of %d times in %v", ours, count, period)
		}
	}
}

// The OSD with the lowest limit decides.
func TestSpacingIsThatOfTheMostSensitiveOSD(t *testing.T) {
	masked := ceph.ConfigEntry{Section: "osd", Mask: "host:a", Name: "osd_max_markdown_count", Value: "2"}
	if got := spacing([]ceph.ConfigEntry{masked}); got != 610*time.Second {
		t.Errorf("%v, want as long as an OSD needs that ends after two", got)
	}
}

// If an outage is not ended in time, the restorer must end it before Ceph marks the OSDs out: the
// journal has the end, and the restorer looks every half minute.
func TestOverdueOutageEndsInTime(t *testing.T) {
	p := plan()
	p.Duration = defaultOutAfter - outMargin // the longest possible duration
	if latest := p.Until(begin).Sub(begin) + 30*time.Second; latest >= defaultOutAfter {
		t.Errorf("it is ended after %v, and Ceph takes OSDs for lost after %v", latest, defaultOutAfter)
	}
}

func TestRestedByTheLatestMap(t *testing.T) {
	survey, last := osds(), osds()
	survey.OSDs[2].DownSince, last.OSDs[2].DownSince, last.OSDs[1].DownSince = since(-500), since(-100), since(-10)
	if got, want := plan().Rested(nil, survey, nil, last), since(60); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := plan().Rested(nil, osds()); !got.IsZero() {
		t.Errorf("%v of OSDs that were never down", got)
	}
}

// osds returns an OSD map in which these OSDs are down.
func osds(down ...int) *ceph.OSDMap {
	m := &ceph.OSDMap{}
	for id := range 3 {
		m.OSDs = append(m.OSDs, ceph.OSDState{ID: id, Up: true})
	}
	for _, id := range down {
		m.OSDs[id].Up = false
	}
	return m
}

func sample(seconds float64, degraded int64, states ...string) quiescence.Sample {
	s := &ceph.Status{PGsByState: map[string]int{}, DegradedObjects: degraded}
	for _, state := range states {
		s.PGsByState[state] = 1
	}
	return quiescence.Sample{Time: since(seconds), Status: s}
}

const (
	clean    = "active+clean"
	degraded = "active+undersized+degraded"
	peering  = "peering"
)

func TestNext(t *testing.T) {
	start := Progress{Start: begin}
	stopped := Progress{Start: begin, Stop: since(40)}
	down := Progress{Start: begin, Stop: since(40), Down: since(41)}
	back := Progress{Start: begin, Stop: since(40), Down: since(41), NoupUnset: since(100)}
	up := Progress{Start: begin, Stop: since(40), Down: since(41), NoupUnset: since(100), Up: since(102)}
	early := []quiescence.Sample{sample(42, 9, degraded), sample(47, 0, clean)}
	early[0].Status.UpOSDs, early[1].Status.UpOSDs = 2, 3
	recovering := []quiescence.Sample{sample(60, 9, degraded), sample(104, 9, "active+recovering+degraded")}
	whole := append(slices.Clip(recovering), sample(110, 0, clean), sample(112, 0, clean))
	onlyCopy := []quiescence.Sample{sample(60, 0, "stale+active+clean"), sample(110, 0, clean), sample(112, 0, clean)}
	remapped := append(slices.Clip(recovering), sample(110, 0, "active+clean+remapped"), sample(112, 0, clean))
	for name, tc := range map[string]struct {
		state  Progress
		look   Look
		now    float64
		want   Step
		again  time.Duration
		failed string
		note   func(Progress) bool
	}{
		"the phase has begun":              {state: start, now: 5, want: StepWait, again: 35 * time.Second},
		"it is time":                       {state: start, now: 40, want: StepStop},
		"it is a little late":              {state: start, now: 54, want: StepStop},
		"it is much too late":              {state: start, now: 56, want: StepDone, failed: "had not stopped"},
		"the phase ended before":           {state: start, look: Look{PhaseOver: true}, now: 20, want: StepDone, failed: "before the OSDs were to be stopped"},
		"they are marked down":             {state: stopped, look: Look{OSDMap: osds()}, now: 41, want: StepWait, again: 2 * time.Second},
		"they are down":                    {state: stopped, look: Look{OSDMap: osds(2)}, now: 42, want: StepWait, again: 58 * time.Second, note: func(p Progress) bool { return p.Down.Equal(since(42)) }},
		"they do not go":                   {state: stopped, look: Look{OSDMap: osds()}, now: 61, want: StepUnsetNoup, failed: "not all OSDs went down"},
		"one is up before it may":          {state: down, look: Look{OSDMap: osds(2), Samples: early, UpBefore: 3}, now: 50, want: StepUnsetNoup, failed: "came up before the outage was over"},
		"unknown number of OSDs up before": {state: down, look: Look{OSDMap: osds(2), Samples: early}, now: 50, want: StepWait, again: 50 * time.Second},
		"they are as few as they can":      {state: down, look: Look{OSDMap: osds(2), Samples: early[:1], UpBefore: 3}, now: 50, want: StepWait, again: 50 * time.Second},
		"another one goes":                 {state: down, look: Look{OSDMap: osds(2, 0)}, now: 50, want: StepUnsetNoup, failed: "osd.0 went down"},
		"the outage is nearly over":        {state: down, look: Look{OSDMap: osds(2)}, now: 99.5, want: StepWait, again: 500 * time.Millisecond},
		"the outage is over":               {state: down, look: Look{OSDMap: osds(2)}, now: 100, want: StepUnsetNoup},
		"no samples for long":              {state: down, now: 500, want: StepUnsetNoup},
		"the phase ends meanwhile":         {state: down, look: Look{PhaseOver: true, OSDMap: osds(2)}, now: 70, want: StepUnsetNoup, failed: "while the OSDs were down"},
		"noup is unset":                    {state: back, look: Look{OSDMap: osds(2)}, now: 101, want: StepWait, again: 2 * time.Second},
		"they are up":                      {state: back, look: Look{OSDMap: osds()}, now: 102, want: StepWait, again: 2 * time.Second, note: func(p Progress) bool { return p.Up.Equal(since(102)) }},
		"they do not come":                 {state: back, look: Look{OSDMap: osds(2)}, now: 281, want: StepDone, failed: "look at their pods"},
		"the cluster recovers":             {state: up, look: Look{OSDMap: osds(), Samples: recovering}, now: 105, want: StepWait, again: 2 * time.Second},
		"it is whole once":                 {state: up, look: Look{OSDMap: osds(), Samples: whole[:3]}, now: 111, want: StepWait, again: 2 * time.Second},
		"it is whole":                      {state: up, look: Look{OSDMap: osds(), Samples: whole}, now: 113, want: StepDone, note: func(p Progress) bool { return p.Clean.Equal(since(110)) }},
		"the phase ends before it is":      {state: up, look: Look{PhaseOver: true, OSDMap: osds(), Samples: recovering}, now: 200, want: StepDone, failed: "make the phase longer"},
		"nothing was missing": {
			state: up, look: Look{OSDMap: osds(), Samples: []quiescence.Sample{sample(60, 0, clean), sample(104, 0, clean), sample(106, 0, clean)}}, now: 107,
			want: StepDone, failed: "check that they store data",
		},
		"the only copy was missing":   {state: up, look: Look{OSDMap: osds(), Samples: onlyCopy}, now: 113, want: StepDone, note: func(p Progress) bool { return p.Clean.Equal(since(110)) }},
		"data still has to move":      {state: up, look: Look{OSDMap: osds(), Samples: remapped}, now: 113, want: StepWait, again: 2 * time.Second},
		"it was refused":              {state: Progress{Start: begin, Failed: "no"}, now: 45, want: StepDone, failed: "no"},
		"it went wrong in the middle": {state: Progress{Start: begin, Stop: since(40), Failed: "no"}, now: 45, want: StepUnsetNoup, failed: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.look.OSDMapAt = since(tc.now)
			progress, step, again := plan().Next(tc.state, tc.look, since(tc.now))
			if step != tc.want || again != tc.again || (progress.Failed == "") != (tc.failed == "") || !strings.Contains(progress.Failed, tc.failed) {
				t.Errorf("%s in %v, failed %q; want %s in %v, %q", step, again, progress.Failed, tc.want, tc.again, tc.failed)
			}
			if tc.note != nil && !tc.note(progress) {
				t.Errorf("progress %+v", progress)
			}
		})
	}
}

// A measurement of a backfill must contain one.
func TestBackfill(t *testing.T) {
	in := func(osds int, s quiescence.Sample) quiescence.Sample {
		s.Status.InOSDs = osds
		return s
	}
	waiting := []quiescence.Sample{in(3, sample(45, 90, degraded)), in(3, sample(60, 90, degraded))}
	out := append(slices.Clip(waiting), in(2, sample(70, 90, "active+undersized+degraded+remapped+backfilling")))
	moved := append(slices.Clip(out), in(2, sample(80, 0, clean)), in(2, sample(85, 0, clean)))
	for name, tc := range map[string]struct {
		samples         []quiescence.Sample
		inBefore        int
		failed          string
		out, backfilled time.Time
	}{
		"they stay in":                     {samples: waiting, inBefore: 3, failed: "did not mark all of the OSDs out"},
		"unknown number of OSDs in before": {samples: out, failed: "did not mark all of the OSDs out"},
		"data is still moved":              {samples: out, inBefore: 3, out: since(70)},
		"it is moved":                      {samples: moved, inBefore: 3, out: since(70), backfilled: since(80)},
		"one of four was out for another":  {samples: out, inBefore: 2, failed: "did not mark all of the OSDs out"},
	} {
		p := plan()
		p.Backfill = true
		progress, step, _ := p.Next(Progress{Start: begin, Stop: since(40), Down: since(41)}, Look{OSDMap: osds(2), OSDMapAt: since(41), Samples: tc.samples, InBefore: tc.inBefore}, since(100))
		if step != StepUnsetNoup || !strings.Contains(progress.Failed, tc.failed) || (progress.Failed == "") != (tc.failed == "") {
			t.Errorf("%s: %s, failed %q, want %q", name, step, progress.Failed, tc.failed)
		}
		if !progress.Out.Equal(tc.out) || !progress.Backfilled.Equal(tc.backfilled) {
			t.Errorf("%s: out %v, backfilled %v; want %v and %v", name, progress.Out, progress.Backfilled, tc.out, tc.backfilled)
		}
	}
	stale := []quiescence.Sample{sample(101, 0, clean), sample(103, 0, clean), sample(105, 0, clean)}
	back := append(slices.Clip(stale), sample(107, 40, "active+remapped+backfilling"), sample(112, 0, clean), sample(117, 0, clean))
	idle := append(slices.Clip(stale), sample(115, 0, clean), sample(121, 0, clean))
	for name, tc := range map[string]struct {
		samples []quiescence.Sample
		want    time.Time
	}{
		"Ceph reports late that data moves back": {stale, time.Time{}},
		"it was moved back":                      {back, since(112)},
		"nothing was":                            {idle, since(101)},
	} {
		progress := Progress{Stop: since(40), Out: since(70), Backfilled: since(80), NoupUnset: since(100), Up: since(100.5)}
		if got := wholeFrom(tc.samples, progress); !got.Equal(tc.want) {
			t.Errorf("%s: whole from %v, want %v", name, got, tc.want)
		}
	}
	got := Measure(Evidence{Progress: Progress{Start: begin, Stop: since(40), Out: since(70), Backfilled: since(80), NoupUnset: since(100)}})
	if got.SecondsToOut != "30" || got.SecondsToBackfilled != "10" {
		t.Errorf("out after %q s, moved after %q s; want 30 and 10", got.SecondsToOut, got.SecondsToBackfilled)
	}
}

func TestMeasure(t *testing.T) {
	progress := Progress{Start: begin, Stop: since(40), Down: since(41), NoupUnset: since(100), Up: since(102), Clean: since(120)}
	var spans []result.LatencyWindow // of 5 s; the window in which the OSDs go down is the slowest
	for i := range 36 {
		milliseconds := int64(map[bool]int{true: 2, false: 4}[i < 5])
		if i == 5 {
			milliseconds = 900
		}
		spans = append(spans, result.LatencyWindow{StartSeconds: float64(5 * i), EndSeconds: float64(5 * (i + 1)), Histogram: &result.Histogram{
			Bins: []result.Bin{{Nanoseconds: result.BinNanoseconds(result.BinIndex(milliseconds * 1e6)), Count: 2500}},
		}})
	}
	course := &result.Series{Boundaries: result.AlignedBoundaries}
	for i := range 180 { // relative to the end of the ramp
		rate := 500.0
		switch {
		case i == 30:
			rate = 0 // peering
		case i >= 90 && i < 110:
			rate = 250
		}
		course.StartSeconds, course.EndSeconds = append(course.StartSeconds, float64(i)), append(course.EndSeconds, float64(i+1))
		course.OperationsPerSecond = append(course.OperationsPerSecond, rate)
		course.BytesPerSecond = append(course.BytesPerSecond, 4096*rate)
	}
	got := Measure(Evidence{
		Progress: progress, Ramp: 10 * time.Second, Total: &result.Direction{Series: course, LatencyWindows: spans},
		Samples: []quiescence.Sample{
			sample(39, 0, clean), sample(42, 100, peering), sample(50, 100, degraded), sample(98, 300, degraded),
			sample(102.5, 300, peering, clean), sample(103, 300, "stale+active+clean", clean), sample(104, 300, "active+recovering+degraded"), sample(120, 0, clean), sample(122, 0, clean),
		},
		Before: &ceph.Recovered{Objects: 1000}, After: &ceph.Recovered{Objects: 1240},
	})
	stop, unsetNoup, recovered := metav1.NewTime(since(40)), metav1.NewTime(since(100)), int64(240)
	want := &archive.Outage{
		StopTime: &stop, NoupUnsetTime: &unsetNoup, SecondsToUp: "2", SecondsToActive: "4", SecondsToClean: "20",
		// 2 s to 100, 8 s at 100, 48 s from 100 to 300, 6 s at 300, 16 s from 300 to none.
		DegradedObjectSeconds: "14700", RecoveredObjects: &recovered, RecoveredObjectsPerSecond: "12",
		Windows: []archive.OutageWindow{
			{Name: "Before", LatencyP50: "0.00200704", LatencyP99: "0.00200704", Seconds: 28, IOPS: "500", Bandwidth: "2048000"},
			{Name: "Outage", LatencyP50: "0.00401408", LatencyP99: "0.9017754", Seconds: 60, IOPS: "491.6667", Bandwidth: "2013867", StalledSeconds: 1},
			{Name: "Recovery", LatencyP50: "0.00401408", LatencyP99: "0.00401408", Seconds: 20, IOPS: "275", Bandwidth: "1126400"},
			{Name: "After", LatencyP50: "0.00401408", LatencyP99: "0.00401408", Seconds: 72, IOPS: "493.0556", Bandwidth: "2019556"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantFigures := []figure.Figure{{Metric: v1alpha1.MetricTimeToClean, Value: 20}}
	for i, seconds := range []float64{0.00200704, 0.00200704, 0.00401408, 0.9017754, 0.00401408, 0.00401408, 0.00401408, 0.00401408} {
		wantFigures = append(wantFigures, figure.Figure{Metric: figure.Metrics()[len(figure.Metrics())-8+i], Value: seconds, LatencyKind: result.TotalLatency})
	}
	for i := range wantFigures {
		wantFigures[i].Direction = v1alpha1.DirectionTotal
	}
	if diff := cmp.Diff(wantFigures, Figures(progress, got)); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	for i := range got.Windows {
		got.Windows[i].LatencyP50, got.Windows[i].LatencyP99 = "", ""
	}
	if diff := cmp.Diff(wantFigures[:1], Figures(progress, got)); diff != "" {
		t.Errorf("figures where nobody tells of latencies (-want +got):\n%s", diff)
	}
}

// Milestones that were not reached must have no figures.
func TestMeasureOfAnEndInTheMiddle(t *testing.T) {
	if got := Measure(Evidence{Progress: Progress{Start: begin, Failed: "refused"}}); got != nil {
		t.Errorf("%+v", got)
	}
	progress := Progress{Start: begin, Stop: since(40), Down: since(41), NoupUnset: since(60)}
	got := Measure(Evidence{Progress: progress, Samples: []quiescence.Sample{sample(50, 7, degraded)}, Before: &ceph.Recovered{}, After: &ceph.Recovered{Objects: 5}})
	if got.SecondsToUp != "" || got.SecondsToClean != "" || got.DegradedObjectSeconds != "" || got.RecoveredObjects != nil || got.Windows != nil {
		t.Errorf("%+v", got)
	}
	if Figures(progress, got) != nil {
		t.Error("there is a time to clean of a cluster that is not")
	}
}

// An OSD map from before a command must not count as its result.
func TestOldOSDMapIsIgnored(t *testing.T) {
	progress := Progress{Start: begin, Stop: since(40), Down: since(41), NoupUnset: since(100)}
	progress, _, _ = plan().Next(progress, Look{OSDMap: osds(), OSDMapAt: since(39)}, since(101))
	if !progress.Up.IsZero() {
		t.Errorf("up at %v, by a map of before the stop", progress.Up)
	}
	progress, _, _ = plan().Next(progress, Look{OSDMap: osds(), OSDMapAt: since(102)}, since(104))
	if !progress.Up.Equal(since(102)) {
		t.Errorf("up at %v, want when it was seen", progress.Up)
	}
}
