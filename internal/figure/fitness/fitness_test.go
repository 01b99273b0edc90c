package fitness

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/task"
)

// trial is 100 seconds on a host of two CPUs.
func trial(change func(*task.Usage)) task.Usage {
	u := task.Usage{
		Seconds: 100, ThrottledSeconds: new(0.2), WaitedSeconds: new(3.0),
		HostCPUSeconds: 200, HostBusySeconds: new(90.0), HostStolenSeconds: new(1.0), HostSaturatedSeconds: new(4.0),
	}
	change(&u)
	return u
}

func TestATrialIsStarvedBeyondALimit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*task.Usage)
		want   Mark
		lack   string // a part
	}{
		"a quiet host":                       {func(*task.Usage) {}, "", ""},
		"a host with half of its CPUs busy":  {func(u *task.Usage) { u.HostBusySeconds = new(100.0) }, "", ""},
		"at the limit":                       {func(u *task.Usage) { u.HostBusySeconds = new(180.0) }, "", ""},
		"just beyond the limit":              {func(u *task.Usage) { u.HostBusySeconds = new(180.1) }, Starved, "busy for 91 % of the time (limit 90 %)"},
		"all CPUs busy":                      {func(u *task.Usage) { u.HostBusySeconds = new(200.0) }, Starved, "busy for 100 % of the time (limit 90 %)"},
		"a build in a third of the time":     {func(u *task.Usage) { u.HostSaturatedSeconds = new(33.0) }, Starved, "saturated for 33 % of the time (limit 25 %)"},
		"a hypervisor that took CPUs":        {func(u *task.Usage) { u.HostStolenSeconds = new(11.0) }, Starved, "took 6 % of a host's CPU time (limit 5 %)"},
		"a client that waited for a CPU":     {func(u *task.Usage) { u.WaitedSeconds = new(40.0) }, Starved, "waited for a CPU for 40 % of the time (limit 25 %)"},
		"a client at its CPU limit":          {func(u *task.Usage) { u.ThrottledSeconds = new(1.1) }, Throttled, "stopped a client for 2 % of the time (limit 1 %)"},
		"a throttled client waits, too":      {func(u *task.Usage) { u.ThrottledSeconds, u.WaitedSeconds = new(90.0), new(90.0) }, Throttled, "waited"},
		"a kernel that reports nothing":      {func(u *task.Usage) { *u = task.Usage{Seconds: 100} }, "", ""},
		"a runner that does not count":       {func(u *task.Usage) { *u = task.Usage{CPUSeconds: 50} }, "", ""},
		"counters that went back":            {func(u *task.Usage) { u.HostBusySeconds = new(-5.0) }, "", ""},
		"throttled on several CPUs at once":  {func(u *task.Usage) { u.ThrottledSeconds = new(2000.0) }, Throttled, "999 %"},
		"a disk that keeps the host waiting": {func(u *task.Usage) { u.HostBusySeconds = new(0.0) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := trial(func(*task.Usage) {})
			shares := Of([]task.Usage{quiet, trial(c.change), quiet})
			if got := shares.Mark(); got != c.want || got.Starves() != (c.want != "") {
				t.Errorf("marked %q, want %q", got, c.want)
			}
			if lack := shares.Lack(); !strings.Contains(lack, c.lack) || (lack == "") != (c.want == "") {
				t.Errorf("it lacks %q, want %q", lack, c.lack)
			}
		})
	}
}

func TestAMissedRateStarvesNoTrial(t *testing.T) {
	if BelowRate.Starves() || Mark("").Starves() || Mark("Valid").Starves() {
		t.Error("a trial with enough CPU counts as starved")
	}
}

// A client that reports such numbers must not keep the operator from archiving the run.
func TestSharesCanAlwaysBeWritten(t *testing.T) {
	most, least := new(math.MaxFloat64), math.SmallestNonzeroFloat64
	shares := Of([]task.Usage{{
		Seconds: least, ThrottledSeconds: most, WaitedSeconds: most,
		HostCPUSeconds: least, HostBusySeconds: most, HostStolenSeconds: most, HostSaturatedSeconds: most,
	}})
	if _, err := json.Marshal(shares); err != nil {
		t.Error(err)
	}
	if shares.Mark() != Throttled {
		t.Errorf("marked %q", shares.Mark())
	}
}
