package quiescence

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

const gib = int64(1) << 30

// quiet returns the facts of a quiescent cluster.
func quiet() Facts {
	f := Facts{
		Phase: "Ready",
		Status: &ceph.Status{
			FSID: "f", Health: ceph.Health{Status: "HEALTH_OK"},
			OSDs: 3, UpOSDs: 3, InOSDs: 3, PGs: 33, PGsByState: map[string]int{"active+clean": 33},
			ManagerActive: true, Monitors: 3, QuorumNames: []string{"a", "b", "c"},
		},
		OSDMap: &ceph.OSDMap{
			NearFullRatio: 0.85,
			Pools:         []ceph.Pool{{Name: "p", QuotaMaxBytes: 10 * gib}, {Name: "other"}},
		},
		DF:       &ceph.DF{Pools: []ceph.PoolDF{{Name: "p", StoredBytes: 4 * gib}}},
		PoolIO:   []ceph.PoolIO{{Name: "p"}, {Name: "other", ReadOperationsPerSecond: 30, WriteOperationsPerSecond: 20}},
		Versions: &ceph.Versions{Overall: map[string]int{"18.2.7": 7}},
		OwnPools: []string{"p"},
		Demand:   Demand{Bytes: 6 * gib, RawBytes: 18 * gib, Pool: "p", DeviceClasses: []string{"ssd"}, PGReplicas: 96},
	}
	for id := range 3 {
		f.OSDs = append(f.OSDs, ceph.OSD{ID: id, DeviceClass: "ssd", Status: "up", TotalBytes: 20 * gib, UsedBytes: 10 * gib, PGs: 33})
	}
	return f
}

// behind makes one daemon of a type run an older version than the others.
func behind(daemon string) func(*Facts) {
	return func(f *Facts) {
		f.Versions = &ceph.Versions{Daemons: map[string]map[string]int{"mon": {"18.2.7": 3}, "osd": {"18.2.7": 3}}}
		if f.Versions.Daemons[daemon] == nil {
			f.Versions.Daemons[daemon] = map[string]int{}
		}
		f.Versions.Daemons[daemon]["17.2.6"] = 1
	}
}

func warn(code, summary string) func(*Facts) {
	return func(f *Facts) {
		f.Status.Health.Status = "HEALTH_WARN"
		f.Status.Health.Checks = append(f.Status.Health.Checks, ceph.HealthCheck{Code: code, Severity: "HEALTH_WARN", Summary: summary})
	}
}

func warnOf(code string, pools int) func(*Facts) {
	return func(f *Facts) {
		warn(code, "")(f)
		f.Status.Health.Checks[len(f.Status.Health.Checks)-1].Count = pools
	}
}

func muted(code string) func(*Facts) {
	return func(f *Facts) {
		f.Status.Health.Checks = append(f.Status.Health.Checks, ceph.HealthCheck{Code: code, Severity: "HEALTH_WARN", Muted: true})
	}
}

func pgs(states map[string]int) func(*Facts) {
	return func(f *Facts) { f.Status.PGsByState = states }
}

func flags(flags ...string) func(*Facts) {
	return func(f *Facts) { f.OSDMap.Flags = flags }
}

type obstacle struct {
	code, message string
	stays         bool
}

var checkCases = map[string]struct {
	change   func(*Facts)
	spec     v1alpha1.Quiescence
	expected []Expectation
	want     []obstacle
}{
	"nothing":                          {change: func(*Facts) {}},
	"an external cluster is Connected": {change: func(f *Facts) { f.Phase = "Connected" }},
	"HEALTH_ERR": {
		change: func(f *Facts) {
			f.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{
				{Code: "OSD_FULL", Severity: "HEALTH_ERR", Summary: "1 full osd(s)"}, {Code: "PG_NOT_SCRUBBED", Severity: "HEALTH_WARN"},
			}}
		},
		want: []obstacle{{code: "HealthError", message: "OSD_FULL (1 full osd(s));"}},
	},
	"HEALTH_ERR cannot be allowed": {
		change: func(f *Facts) {
			f.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{{Code: "OSD_FULL", Severity: "HEALTH_ERR"}}}
		},
		spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"OSD_FULL"}},
		want: []obstacle{{code: "HealthError"}},
	},
	"keys of before an upgrade to Ceph 20": {
		change: func(f *Facts) {
			f.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{
				{Code: "AUTH_INSECURE_CLIENT_KEY_TYPE", Severity: "HEALTH_WARN"}, {Code: "AUTH_INSECURE_SERVICE_KEY_TYPE", Severity: "HEALTH_ERR"},
			}}
		},
		want: []obstacle{{code: "HealthError", message: "`ceph health mute AUTH_INSECURE_SERVICE_KEY_TYPE`"}},
	},
	"keys of before, and a full OSD": {
		change: func(f *Facts) {
			f.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{
				{Code: "AUTH_INSECURE_SERVICE_TICKETS", Severity: "HEALTH_ERR"}, {Code: "OSD_FULL", Severity: "HEALTH_ERR"},
			}}
		},
		want: []obstacle{{code: "HealthError", message: "fix it first"}},
	},
	"keys of before that an administrator mutes by name": { // as 20.2.4 reports it then
		change: func(f *Facts) {
			f.Status.Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{
				{Code: "AUTH_INSECURE_KEYS_ALLOWED", Severity: "HEALTH_WARN"}, {Code: "AUTH_INSECURE_SERVICE_TICKETS", Severity: "HEALTH_ERR", Muted: true},
			}}
		},
	},
	"a warning":                              {change: warn("SLOW_OPS", "3 slow ops"), want: []obstacle{{code: "HealthWarning", message: "SLOW_OPS (3 slow ops)"}}},
	"a warning that says nothing of speed":   {change: warn("PG_NOT_DEEP_SCRUBBED", "")},
	"one of a family":                        {change: warn("AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED", "")},
	"a crash from before":                    {change: warn("RECENT_CRASH", "")},
	"a warning that the spec allows":         {change: warn("SLOW_OPS", ""), spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"SLOW_OPS"}}},
	"a warning that is expected":             {change: warn("POOL_NO_REDUNDANCY", ""), expected: []Expectation{{Code: "POOL_NO_REDUNDANCY"}}},
	"a warning that is expected of one pool": {change: warnOf("POOL_NO_REDUNDANCY", 1), expected: []Expectation{{Code: "POOL_NO_REDUNDANCY", Pools: 1}}},
	"one that is about another pool too": {
		change: warnOf("POOL_NO_REDUNDANCY", 2), expected: []Expectation{{Code: "POOL_NO_REDUNDANCY", Pools: 1}},
		want: []obstacle{{code: "HealthWarning", message: "POOL_NO_REDUNDANCY"}},
	},
	"a warning that is muted": {change: muted("SLOW_OPS")},
	"PGs that recover": {
		change: pgs(map[string]int{"active+clean": 30, "active+recovering+degraded": 2, "peering": 1}),
		want:   []obstacle{{code: "PGsUnclean", message: "2 active+recovering+degraded, 1 peering;"}},
	},
	"PGs that are active and not clean": {change: pgs(map[string]int{"active+scrubbing": 33}), want: []obstacle{{code: "PGsUnclean"}}},
	"no PGs":                            {change: func(f *Facts) { f.Status.PGs = 0 }, want: []obstacle{{code: "PGsUnclean"}}},
	"misplaced objects":                 {change: func(f *Facts) { f.Status.MisplacedObjects = 5 }, want: []obstacle{{code: "PGsUnclean", message: "misplaced objects: 5"}}},
	"scrubs":                            {change: pgs(map[string]int{"active+clean+scrubbing+deep": 1, "active+clean": 32})},
	"scrubs that would spoil the run": {
		change: pgs(map[string]int{"active+clean+scrubbing+deep": 1, "active+clean": 32}),
		spec:   v1alpha1.Quiescence{Scrub: v1alpha1.ScrubInvalidate},
		want:   []obstacle{{code: "Scrubbing", message: "1 active+clean+scrubbing+deep"}},
	},
	"snapshots that are trimmed": {change: pgs(map[string]int{"active+clean+snaptrim_wait": 33})},
	"an OSD down": {
		change: func(f *Facts) { f.Status.UpOSDs = 2 },
		want:   []obstacle{{code: "OSDsDown", message: "2 of 3 OSDs are up, and 3 are in"}},
	},
	"an OSD out": {
		change: func(f *Facts) { f.Status.UpOSDs, f.Status.InOSDs = 2, 2 },
		want:   []obstacle{{code: "OSDsOut", message: "1 of 3 OSDs are out"}},
	},
	"an OSD out for good": {
		change: func(f *Facts) { f.Status.UpOSDs, f.Status.InOSDs = 2, 2 },
		spec:   v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"OSD_DOWN"}},
	},
	"an OSD down, another up but out": {
		change: func(f *Facts) {
			f.Status.OSDs, f.Status.UpOSDs, f.Status.InOSDs = 4, 3, 3
			f.Status.Health.Checks = append(f.Status.Health.Checks, ceph.HealthCheck{Code: "OSD_DOWN", Severity: "HEALTH_WARN", Count: 1})
		},
		spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"OSD_DOWN"}},
		want: []obstacle{{code: "OSDsDown", message: "3 of 4 OSDs are up, and 3 are in"}},
	},
	"no OSD in":     {change: func(f *Facts) { f.Status.UpOSDs, f.Status.InOSDs = 0, 0 }, want: []obstacle{{code: "OSDsDown"}, {code: "OSDsOut"}}},
	"a flag":        {change: func(f *Facts) { flags("noout")(f); warn(flagsCode, "noout flag(s) set")(f) }, want: []obstacle{{code: "FlagsSet", message: "noout"}}},
	"a flag, muted": {change: func(f *Facts) { flags("noout")(f); muted(flagsCode)(f) }},
	"a flag, allowed": {
		change: func(f *Facts) { flags("noout")(f); warn(flagsCode, "noout flag(s) set")(f) },
		spec:   v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{flagsCode}},
	},
	"flags against scrubs": {change: func(f *Facts) {
		flags("nodeep-scrub", "noscrub")(f)
		warn(flagsCode, "noscrub,nodeep-scrub flag(s) set")(f)
	}},
	"a flag that stops I/O cannot be allowed": {
		change: flags("pauserd", "pausewr"),
		spec:   v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{flagsCode}},
		want:   []obstacle{{code: "IOStopped", message: "pauserd, pausewr"}},
	},
	"no manager":        {change: func(f *Facts) { f.Status.ManagerActive = false }, want: []obstacle{{code: "NoManager"}}},
	"a monitor missing": {change: func(f *Facts) { f.Status.QuorumNames = []string{"a", "b"} }, want: []obstacle{{code: "MonitorsDown", message: "2 of 3"}}},
	"Rook at work":      {change: func(f *Facts) { f.Phase = "Progressing" }, want: []obstacle{{code: "ClusterNotReady", message: `"Progressing"`}}},
	"an upgrade":        {change: func(f *Facts) { f.Versions.Overall = map[string]int{"19.2.0": 1, "18.2.7": 6} }, want: []obstacle{{code: "MixedVersions", message: "6 of 18.2.7, 1 of 19.2.0"}}},
	"a gateway behind": {change: behind("rgw"), want: []obstacle{{code: "MixedVersions", message: "(rgw: 1 of 17.2.6) than monitors, managers and OSDs (18.2.7); upgrade them, or name " +
		"DAEMON_OLD_VERSION"}}},
	"a gateway behind, allowed": {
		change: behind("rgw"), spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"DAEMON_OLD_VERSION"}},
	},
	"a monitor behind is not allowed": {
		change: behind("mon"), spec: v1alpha1.Quiescence{AllowedWarnings: []v1alpha1.HealthCode{"DAEMON_OLD_VERSION"}},
		want: []obstacle{{code: "MixedVersions", message: "1 of 17.2.6, 6 of 18.2.7"}},
	},
	"an OSD nearly full": {change: func(f *Facts) { f.OSDs[1].UsedBytes = 17 * gib; f.Demand.RawBytes = 0 }, want: []obstacle{{code: "NearFull", message: "osd.1 (85%)"}}},
	"an OSD of another class nearly full": {change: func(f *Facts) {
		f.OSDs = append(f.OSDs, ceph.OSD{ID: 3, DeviceClass: "hdd", TotalBytes: gib, UsedBytes: gib, PGs: 10000})
	}},
	"an OSD that would be nearly full": {
		change: func(f *Facts) { f.OSDs[2].UsedBytes = 11 * gib },
		want:   []obstacle{{code: "NoRoom", message: "18Gi, with copies, which would fill osd.2 to 85%"}},
	},
	"more than would ever fit": {
		change: func(f *Facts) { f.Demand.RawBytes = 51 * gib },
		want:   []obstacle{{code: "NoRoom", stays: true}},
	},
	"no such device class": {
		change: func(f *Facts) { f.Demand.DeviceClasses = []string{"nvme"} },
		want:   []obstacle{{code: "NoOSDs", message: `"nvme"`, stays: true}},
	},
	"a quota": {
		change: func(f *Facts) { f.Demand.Bytes = 6*gib + 1 },
		want:   []obstacle{{code: "QuotaTooSmall", message: "contains 4Gi of its quota of 10Gi", stays: true}},
	},
	"as many PGs as may be": {change: func(f *Facts) { f.Demand.PGReplicas = 3 * (200 - 33) }},
	"one PG more than may be": {
		change: func(f *Facts) { f.Demand.PGReplicas = 3*(200-33) + 1 },
		want:   []obstacle{{code: "TooManyPGs", message: "201 PGs each, more than 80% of mon_max_pg_per_osd 250", stays: true}},
	},
	"a higher limit of PGs": {change: func(f *Facts) {
		f.Demand.PGReplicas = 3*(200-33) + 1
		f.Config = []ceph.ConfigEntry{{Section: "global", Name: "mon_max_pg_per_osd", Value: "1000"}}
	}},
	"room on one OSD, where there is room on three": {
		change: func(f *Facts) { f.OSDs[2].UsedBytes, f.Demand.OnOSDs = 0, 1 },
		want:   []obstacle{{code: "NoRoom", message: "18Gi, with copies", stays: true}},
	},
	"as many PGs as may be, on one OSD": {change: func(f *Facts) { f.Demand = Demand{PGReplicas: 200 - 33, OnOSDs: 1} }},
	"one PG more, on one OSD": {
		change: func(f *Facts) { f.Demand = Demand{PGReplicas: 200 - 33 + 1, OnOSDs: 1} },
		want:   []obstacle{{code: "TooManyPGs", message: "an OSD would have 201 PGs, more than 80% of mon_max_pg_per_osd 250", stays: true}},
	},
	"other clients": {
		change: func(f *Facts) { f.PoolIO[1].ReadOperationsPerSecond++ },
		want:   []obstacle{{code: "ForeignIO", message: "51 operations per second, more than quiescence.foreignIOPS 50"}},
	},
	"other clients, where none may be": {
		change: func(*Facts) {}, spec: v1alpha1.Quiescence{ForeignIOPS: new(int64(0))},
		want: []obstacle{{code: "ForeignIO"}},
	},
	"own I/O": {change: func(f *Facts) { f.PoolIO[0].WriteOperationsPerSecond = 1e6 }},
	"several, by code": {
		change: func(f *Facts) { f.Phase, f.Status.ManagerActive = "", false; warn("B", "")(f); warn("A", "")(f) },
		want:   []obstacle{{code: "ClusterNotReady"}, {code: "HealthWarning", message: "A (), B ()"}, {code: "NoManager"}},
	},
}

func TestCheck(t *testing.T) {
	for name, test := range checkCases {
		t.Run(name, func(t *testing.T) {
			facts := quiet()
			test.change(&facts)
			got := Check(facts, test.spec, test.expected)
			if len(got) != len(test.want) {
				t.Fatalf("got %+v, want %+v", got, test.want)
			}
			for i, want := range test.want {
				if got[i].Code != want.code || got[i].Waits == want.stays || !strings.Contains(got[i].Message, want.message) {
					t.Errorf("got %+v, want %+v", got[i], want)
				}
			}
			if diff := cmp.Diff(got, Check(facts, test.spec, test.expected)); diff != "" {
				t.Errorf("the second time it is another: %s", diff)
			}
		})
	}
}

func TestMaxPGsPerOSD(t *testing.T) {
	entry := func(section, mask, value string) ceph.ConfigEntry {
		return ceph.ConfigEntry{Section: section, Mask: mask, Name: "mon_max_pg_per_osd", Value: value}
	}
	tests := map[string]struct {
		config []ceph.ConfigEntry
		want   int
	}{
		"unset":                  {nil, 250},
		"for all":                {[]ceph.ConfigEntry{entry("global", "", "400")}, 400},
		"for monitors, and all":  {[]ceph.ConfigEntry{entry("mon", "", "500"), entry("global", "", "400")}, 500},
		"for OSDs, which do not": {[]ceph.ConfigEntry{entry("osd", "", "500"), entry("mon", "host:a", "600")}, 250},
		"no number":              {[]ceph.ConfigEntry{entry("mon", "", "many")}, 250},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := MaxPGsPerOSD(test.config); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
