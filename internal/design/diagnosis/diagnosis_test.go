package diagnosis

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/task"
)

// healthy returns a cluster of OSDs on SSDs in which nothing is wrong. Its pool has ID 1.
func healthy(osds int) Facts {
	f := Facts{
		Namespace: "cephtune-bench",
		OSDMap:    &ceph.OSDMap{NearFullRatio: 0.85, BackfillFullRatio: 0.9, FullRatio: 0.95},
		Versions:  &ceph.Versions{Daemons: map[string]map[string]int{"osd": {"20.2.4": osds}, "mon": {"20.2.4": 3}}},
		Balancer:  &ceph.Balancer{Active: true},
	}
	pgs := 32 * osds
	f.OSDMap.Pools = []ceph.Pool{{ID: 1, Name: "apps", Size: 3, PGNum: pgs, PGNumTarget: pgs, PGPlacementNum: pgs, PGPlacementTarget: pgs}}
	for id := range osds {
		f.OSDs = append(f.OSDs, ceph.OSD{ID: id, DeviceClass: "ssd", Status: "up", TotalBytes: 1 << 40, UsedBytes: 1 << 39, PGs: 96})
		f.Devices = append(f.Devices, ceph.OSDDevice{ID: id, Host: fmt.Sprintf("node-%d", id), Names: "nvme0n1"})
		f.Running = append(f.Running, ceph.Running{OSD: id, Options: []ceph.RunningOption{
			{Name: memoryTarget, Value: "4294967296"},
			{Name: "osd_op_queue", Value: "mclock_scheduler"},
			{Name: "osd_mclock_profile", Value: "balanced"},
			{Name: "ms_cluster_mode", Value: "crc secure"},
			{Name: "ms_service_mode", Value: "crc secure"},
			{Name: "ms_osd_compress_mode", Value: "none"},
		}})
	}
	for pg := range pgs {
		f.PGs = append(f.PGs, ceph.PG{ID: fmt.Sprintf("1.%x", pg), PoolID: 1, Primary: pg % osds, Acting: []int{pg % osds, (pg + 1) % osds, (pg + 2) % osds}})
	}
	for range 12 {
		f.Statuses = append(f.Statuses, &ceph.Status{
			Health: ceph.Health{Status: "HEALTH_OK"}, OSDs: osds, UpOSDs: osds, InOSDs: osds, Monitors: 3, QuorumNames: []string{"a", "b", "c"},
			PGs: pgs, PGsByState: map[string]int{"active+clean": pgs},
		})
	}
	f.Latencies = looks(slices.Repeat([]float64{1}, osds), 6)
	return f
}

// looks returns samples in which each OSD has these latencies in milliseconds, a bit higher in every second one.
func looks(milliseconds []float64, n int) []archive.OSDSample {
	var all []archive.OSDSample
	for i := range n {
		sample := archive.OSDSample{Time: time.Unix(int64(10*i), 0)}
		for id, ms := range milliseconds {
			sample.OSDs = append(sample.OSDs, ceph.OSDLatency{ID: id, CommitSeconds: ms / 1000 * (1 + 0.1*float64((i+id)%2))})
		}
		all = append(all, sample)
	}
	return all
}

// counting gives OSDs six intervals, in which each did 100 writes and reads; one of them did more.
func counting(more func(*ceph.OSDCounters)) func(*Facts) {
	of := func(milliseconds float64, n int64) ceph.Average {
		return ceph.Average{Count: n, Seconds: milliseconds / 1000 * float64(n)}
	}
	return func(f *Facts) {
		readings := make([][]ceph.OSDCounters, 7)
		for i := range readings {
			for id := range 3 {
				n := int64(100 * i)
				scatter := 1 + 0.02*float64((i+id)%2)
				c := ceph.OSDCounters{
					ID: id, Write: of(4*scatter, n), WriteProcessing: of(3.6*scatter, n), WritePreparing: of(0.7, n), Submit: of(0.2, 3*n), Commit: of(1.5, 3*n),
					Read: of(0.3, n), ReadProcessing: of(0.2, n), StoreRead: of(0.1, n),
				}
				if id == 1 {
					for range i {
						more(&c)
					}
				}
				readings[i] = append(readings[i], c)
			}
		}
		f.Intervals = Between(readings)
	}
}

func codes(r v1alpha1.DiagnosisResult) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.Code)
	}
	return all
}

// Each case plants one cause in a healthy cluster. Only that may be found, with its confidence and this part of its
// evidence.
func TestJudge(t *testing.T) {
	latest := func(f *Facts) *ceph.Status { return f.Statuses[len(f.Statuses)-1] }
	warn := func(code, summary string) func(*Facts) {
		return func(f *Facts) {
			latest(f).Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{{Code: code, Severity: "HEALTH_WARN", Summary: summary}}}
		}
	}
	option := func(name, value, standard string) func(*Facts) {
		return func(f *Facts) {
			options := f.Running[1].Options
			i := slices.IndexFunc(options, func(o ceph.RunningOption) bool { return o.Name == name })
			options[i].Value, options[i].Default = value, standard
		}
	}
	for name, tc := range map[string]struct {
		plant    func(*Facts)
		code     string
		sure     v1alpha1.Confidence
		evidence string
	}{
		"nothing":                     {func(*Facts) {}, "", "", ""},
		"the pool, and nothing in it": {func(f *Facts) { f.Pool = "apps" }, "", "", ""},
		"writes are paused":           {func(f *Facts) { f.OSDMap.Flags = []string{"noout", "pausewr"} }, "IOStopped", certain, "flag pausewr"},
		"noout slows nothing":         {func(f *Facts) { f.OSDMap.Flags = []string{"noout"} }, "", "", ""},
		"placement groups wait": {func(f *Facts) {
			latest(f).PGsByState = map[string]int{"active+clean": 94, "peering": 2}
		}, "PGsInactive", certain, "2 peering"},
		"an OSD is down":            {func(f *Facts) { latest(f).UpOSDs-- }, "DaemonsDown", certain, "1 of 3 OSDs down"},
		"a monitor is missing":      {func(f *Facts) { latest(f).QuorumNames = []string{"a", "b"} }, "DaemonsDown", certain, "1 of 3 monitors"},
		"slow operations":           {warn("SLOW_OPS", "12 slow ops, oldest one blocked for 34 sec, osd.1 has slow ops"), "SlowOperations", certain, "oldest one blocked for 34 sec"},
		"slow operations long ago":  {warn("BLUESTORE_SLOW_OP_ALERT", "1 OSD(s) experiencing slow operations in BlueStore"), "SlowOperations", likely, "1 OSD(s)"},
		"slow heartbeats":           {warn("OSD_SLOW_PING_TIME_BACK", "Slow OSD heartbeats on back (longest 1211.2ms)"), "SlowNetwork", certain, "1211.2ms"},
		"another warning":           {warn("BLUEFS_SPILLOVER", "3 OSD(s) experiencing BlueFS spillover"), "HealthWarnings", possible, "BLUEFS_SPILLOVER"},
		"a warning of no concern":   {warn("AUTH_INSECURE_GLOBAL_ID_RECLAIM", "clients"), "", "", ""},
		"an OSD is nearly full":     {func(f *Facts) { f.OSDs[2].UsedBytes = f.OSDs[2].TotalBytes / 100 * 87 }, "SpaceLow", likely, "osd.2: 87 % full"},
		"an OSD is full":            {func(f *Facts) { f.OSDs[2].UsedBytes = f.OSDs[2].TotalBytes / 100 * 96 }, "SpaceLow", certain, "osd.2: 96 % full"},
		"recovery for some samples": {func(f *Facts) { f.Statuses[3].RecoveryBytesPerSecond = 5 << 20 }, "RecoveryAtWork", likely, "in 1 of 12 samples"},
		"scrubs now and then": {func(f *Facts) {
			f.Statuses[3].PGsByState = map[string]int{"active+clean": 95, "active+clean+scrubbing": 1}
		}, "ScrubsAtWork", possible, "in 1 of 12 samples"},
		"scrubs all the time": {func(f *Facts) {
			for _, s := range f.Statuses {
				s.PGsByState = map[string]int{"active+clean": 95, "active+clean+scrubbing+deep": 1}
			}
		}, "ScrubsAtWork", likely, "in 12 of 12 samples"},
		"snapshots": {func(f *Facts) {
			latest(f).PGsByState = map[string]int{"active+clean": 95, "active+clean+snaptrim": 1}
		}, "SnapshotsTrimmed", possible, "1 of 96"},
		"one placement group": {func(f *Facts) {
			f.Pool, f.PGs, f.OSDMap.Pools[0] = "apps", f.PGs[:1], ceph.Pool{ID: 1, Name: "apps", PGNum: 1, PGNumTarget: 1}
		}, "FewPGs", certain, "osd.0 serves 100 %"},
		"one OSD serves most": {func(f *Facts) {
			f.Pool = "apps"
			for i := range f.PGs[:60] {
				f.PGs[i].Primary = 1
			}
		}, "FewPGs", likely, "osd.1 serves 75 %"},
		"few everywhere": {pgs(8), "FewPGs", possible, "24 placement groups on 3 OSDs"},
		"too many":       {pgs(300), "ManyPGs", possible, "osd.0: 300"},
		"uneven":         {func(f *Facts) { f.OSDs[1].PGs = 150 }, "UnevenPGs", possible, "osd.1: 150 placement groups, 114 by its size"},
		"uneven by size": {func(f *Facts) {
			f.OSDs[1].PGs, f.OSDs[1].TotalBytes, f.OSDs[1].UsedBytes = 192, 2<<40, 1<<40
		}, "", "", ""},
		"a split": {func(f *Facts) { f.OSDMap.Pools[0].PGNumTarget = 192 }, "PGsChanging", likely, "pg_num 96, to be 192"},
		"compression": {func(f *Facts) {
			f.Pool, f.OSDMap.Pools[0].Options = "apps", map[string]string{"compression_mode": "force"}
		}, "PoolCompressed", possible, "force"},
		"compression elsewhere": {func(f *Facts) { f.OSDMap.Pools[0].Options = map[string]string{"compression_mode": "force"} }, "", "", ""},
		"two versions":          {func(f *Facts) { f.Versions.Daemons["osd"] = map[string]int{"20.2.4": 2, "19.2.3": 1} }, "MixedVersions", possible, "1 of 19.2.3"},
		"little memory":         {option(memoryTarget, "3221225472", ""), "MemoryTarget", possible, "osd.1: 3.0 GiB"},
		"very little memory":    {option(memoryTarget, "939524096", ""), "MemoryTarget", likely, "osd.1: 0.9 GiB"},
		"more memory than the pod has": {
			option(memoryTarget, "8589934592", "4294967296"), "MemoryTarget", likely, "osd.1: 8.0 GiB, by its pod's memory 4.0 GiB",
		},
		"encryption":             {option("ms_cluster_mode", "secure", ""), "Encrypted", possible, "ms_cluster_mode secure (osd.1)"},
		"compressed messages":    {option("ms_osd_compress_mode", "force", ""), "MessagesCompressed", possible, "force"},
		"recovery first":         {option("osd_mclock_profile", "high_recovery_ops", ""), "MClockProfile", likely, "high_recovery_ops (osd.1)"},
		"a profile of one's own": {option("osd_mclock_profile", "custom", ""), "MClockProfile", possible, "custom (osd.1)"},
		"a hard disk among SSDs": {func(f *Facts) { f.Devices[1].Rotational, f.Devices[1].DedicatedDB = true, true }, "DeviceClass", likely, "osd.1: class ssd, but nvme0n1 rotates"},
		"an SSD among hard disks": {func(f *Facts) {
			for i := range f.OSDs {
				f.OSDs[i].DeviceClass = "hdd"
				f.Devices[i].Rotational, f.Devices[i].DedicatedDB = i > 0, true
			}
		}, "DeviceClass", possible, "osd.0: class hdd"},
		"a file as disk": {func(f *Facts) { f.Devices[1].Names = "nvme0n1,loop3" }, "LoopDevices", likely, "osd.1 on node-1"},
		"hard disks with everything": {func(f *Facts) {
			for i := range f.OSDs {
				f.OSDs[i].DeviceClass, f.Devices[i].Rotational = "hdd", true
			}
		}, "NoFastDB", possible, "osd.2 on node-2"},
		"logs for debugging":         {config("osd", "debug_osd", "20/20"), "DebugLogs", likely, "osd debug_osd 20/20"},
		"usual logs":                 {config("osd", "debug_osd", "1/5"), "", "", ""},
		"logs of monitors":           {config("mon", "debug_mon", "20"), "", "", ""},
		"a slow OSD":                 {func(f *Facts) { f.Latencies = looks([]float64{2, 8, 2}, 6) }, "SlowOSDs", likely, "osd.1: commits in 8.4"},
		"an OSD whose queue is slow": {counting(func(c *ceph.OSDCounters) { c.Write.Seconds += 2 }), "SlowOSDs", likely, "osd.1: 22.41 ms for a write by itself"},
		"which stage is slow":        {counting(func(c *ceph.OSDCounters) { c.Write.Seconds += 2 }), "SlowOSDs", likely, "20.01 ms more in its queue"},
		"an OSD whose store is slow": {counting(func(c *ceph.OSDCounters) {
			c.Commit.Seconds++
			c.WriteProcessing.Seconds += 0.5
			c.Write.Seconds += 0.5
		}), "SlowOSDs", likely, "ms more in its store"},
		"an OSD whose reads are slow": {counting(func(c *ceph.OSDCounters) { c.Read.Seconds += 0.3; c.ReadProcessing.Seconds += 0.3 }), "SlowOSDs", likely, "for a read by itself"},
		"an OSD that waits longer":    {counting(func(c *ceph.OSDCounters) { c.Write.Seconds++; c.WriteProcessing.Seconds++ }), "", "", ""},
		"OSDs that count alike":       {counting(func(*ceph.OSDCounters) {}), "", "", ""},
		"an OSD that did little":      {counting(func(c *ceph.OSDCounters) { c.Write.Count, c.Write.Seconds, c.Read.Count = 9, 9, 9 }), "", "", ""},
		"an OSD that was restarted":   {counting(func(c *ceph.OSDCounters) { *c = ceph.OSDCounters{ID: c.ID} }), "", "", ""},
		"of two OSDs, none is the slow one": {func(f *Facts) {
			f.Latencies, f.OSDs[2].Status = looks([]float64{2, 8}, 6), "down"
		}, "", "", ""},
		"a slow OSD of few samples": {func(f *Facts) { f.Latencies = looks([]float64{2, 8, 2}, 3) }, "", "", ""},
		"a slow OSD of another class": {func(f *Facts) {
			f.Latencies = looks([]float64{2, 2, 2, 40}, 6)
			f.OSDs = append(f.OSDs, ceph.OSD{ID: 3, DeviceClass: "hdd", Status: "up", TotalBytes: 1 << 40, PGs: 96})
		}, "", "", ""},
		"a factor that is rounding": {func(f *Facts) { f.Latencies = looks([]float64{1, 2, 1}, 6) }, "", "", ""},
		"a slow OSD among fast ones": {func(f *Facts) {
			f.Latencies = looks([]float64{0, 5, 0}, 6)
			for id := range 3 {
				f.Work = append(f.Work, ceph.OSDIO{ID: id, WriteOperationsPerSecond: 100})
			}
		}, "SlowOSDs", likely, "osd.1: commits in 5.2"},
		"one OSD writes, and others do not":             {func(f *Facts) { f.Latencies = looks([]float64{0, 5, 0}, 6) }, "", "", ""},
		"a capacity a tenth of the others'":             {capacities("30000", "31000", "2900"), "MClockCapacity", likely, "osd.2: 2900 IOPS; median of class \"ssd\" 30000"},
		"a capacity that Ceph would not believe":        {capacities("700", "700", "700"), "MClockCapacity", likely, "osd.0: 700 IOPS"},
		"a capacity that an administrator has measured": {capacities("120000", "120000", "120000"), "", "", ""},
		"the option of the other medium":                {config("osd.1", "osd_mclock_max_capacity_iops_hdd", "5"), "", "", ""},
		"a host that is busy half of the time":          {host(task.Usage{HostBusySeconds: new(100.0), HostSaturatedSeconds: new(10.0)}), "", "", ""},
		"a busy host":                                   {host(task.Usage{HostBusySeconds: new(190.0)}), "HostCPUSaturated", likely, "the CPUs of a client's host were busy for 95 %"},
		"a client that waits for a CPU":                 {host(task.Usage{WaitedSeconds: new(30.0)}), "HostCPUSaturated", likely, "waited for a CPU for 30 %"},
		"a throttled client, which waits, too":          {host(task.Usage{WaitedSeconds: new(30.0), ThrottledSeconds: new(5.0)}), "ClientThrottled", likely, "stopped a client for 5 %"},
		"stolen time":                                   {host(task.Usage{HostStolenSeconds: new(20.0)}), "CPUSteal", likely, "the hypervisor took 10 %"},
		"a governor that saves energy":                  {power([]string{"performance/acpi-cpufreq", "ondemand/acpi-cpufreq"}, 0), "CPUGovernor", possible, "scaling_governor ondemand, driver acpi-cpufreq"},
		"the lowest frequency":                          {power([]string{"powersave/acpi-cpufreq"}, 0), "CPUGovernor", likely, "scaling_governor powersave"},
		"powersave of a driver that adapts":             {power([]string{"powersave/intel_pstate"}, 0), "CPUGovernor", possible, "driver intel_pstate"},
		"a deep sleep beside fast operations":           {power([]string{"performance/intel_pstate"}, 133e-6), "CPUGovernor", possible, "takes up to 0.13 ms to leave; the fastest operation took 1.00 ms"},
		"a light sleep":                                 {power([]string{"performance/intel_pstate"}, 2e-6), "", "", ""},
		"a text of a forged client":                     {power([]string{"powersave/<script>"}, 0), "", "", ""},
		"another scheduler": {func(f *Facts) {
			config("osd.1", "osd_mclock_max_capacity_iops_ssd", "5")(f)
			option("osd_op_queue", "wpq", "")(f)
		}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy(3)
			tc.plant(&f)
			r := Judge(f)
			wantOnly(t, r, tc.code, tc.sure, tc.evidence)
		})
	}
}

// wantOnly checks that only this finding exists; with "", that none does.
func wantOnly(t *testing.T, r v1alpha1.DiagnosisResult, code string, sure v1alpha1.Confidence, evidence string) {
	t.Helper()
	if code == "" {
		if len(r.Findings) > 0 || Alarming(r) {
			t.Errorf("found %+v", r.Findings)
		}
		return
	}
	if diff := cmp.Diff([]string{code}, codes(r)); diff != "" {
		t.Fatal(diff)
	}
	got := r.Findings[0]
	if got.Confidence != sure || !strings.Contains(strings.Join(got.Evidence, "; "), evidence) || got.Remedy == "" || Alarming(r) != (sure != possible) {
		t.Errorf("%+v", got)
	}
	for _, text := range append([]string{got.Message, got.Remedy}, got.Evidence...) {
		if strings.Contains(text, "…") || strings.Contains(text, "%!") {
			t.Errorf("%q is cut or badly formatted", text)
		}
	}
}

// pgs gives each OSD that many placement groups.
func pgs(n int) func(*Facts) {
	return func(f *Facts) {
		for i := range f.OSDs {
			f.OSDs[i].PGs = n
		}
	}
}

// host has a client on node-1, a host of two CPUs, that counted this for 100 s.
func host(u task.Usage) func(*Facts) {
	u.Seconds, u.HostCPUSeconds = 100, 200
	return func(f *Facts) {
		f.Host = HostOf("node-1", []Window{{Usage: &u}})
	}
}

// power has a host with these governors, on which a CPU leaves idle state C6 after some seconds, and operations take 1 ms.
func power(governors []string, idleExitSeconds float64) func(*Facts) {
	return func(f *Facts) {
		host(task.Usage{HostPower: &task.HostPower{Governors: governors, IdleState: "C6", IdleExitSeconds: idleExitSeconds}})(f)
		f.Layers = []v1alpha1.OperationTime{{Operation: "Read", Seconds: "0.001"}}
	}
}

// The parts of all windows are added, and a window without a report does not count.
func TestHostOf(t *testing.T) {
	u := func(busy float64) *task.Usage {
		return &task.Usage{Seconds: 10, HostCPUSeconds: 20, HostBusySeconds: &busy}
	}
	got := HostOf("n", []Window{{Usage: u(5)}, {}, {Usage: &task.Usage{}}, {Usage: u(7)}})
	want := &Host{Node: "n", Usage: task.Usage{Seconds: 20, HostCPUSeconds: 40, HostBusySeconds: new(12.0)}}
	if diff := cmp.Diff(want, got); diff != "" || HostOf("n", []Window{{}}) != nil {
		t.Error(diff)
	}
}

// config adds an entry to the central configuration.
func config(section, name, value string) func(*Facts) {
	return func(f *Facts) {
		f.Config = append(f.Config, ceph.ConfigEntry{Section: section, Name: name, Value: value})
	}
}

// capacities records what mClock takes for the capacities of OSDs.
func capacities(values ...string) func(*Facts) {
	return func(f *Facts) {
		for id, v := range values {
			config(fmt.Sprintf("osd.%d", id), "osd_mclock_max_capacity_iops_ssd", v)(f)
		}
	}
}

// Everything at once fits in status, and the surest findings come first.
func TestEverythingFits(t *testing.T) {
	f := healthy(1000)
	for i := range f.OSDs {
		f.OSDs[i].UsedBytes, f.Devices[i].Names = f.OSDs[i].TotalBytes, "loop0"
	}
	f.Unread = slices.Repeat([]string{strings.Repeat("x", 1000)}, 40)
	f.OSDMap.Flags = []string{"full"}
	r := Judge(f)
	if diff := cmp.Diff([]string{"IOStopped", "SpaceLow", "LoopDevices"}, codes(r)); diff != "" {
		t.Error(diff)
	}
	if len(r.Unchecked) > mostUnchecked || len(r.Findings[1].Evidence) != mostEvidence {
		t.Errorf("%+v", r)
	}
	if len(Headline(r)) > 96 || len(Summary(r)) > 512 {
		t.Errorf("%q, %q", Headline(r), Summary(r))
	}
}

// The page explains each code.
func TestCodesAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../../docs/diagnose.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks() {
		if !strings.Contains(string(page), "| `"+c.code+"` |") {
			t.Errorf("docs/diagnose.md has no row for %s", c.code)
		}
	}
}
