package ceph

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parsers has the parser of each recorded file, by the beginning of its name.
var parsers = map[string]func([]byte) (any, error){
	"status":         untyped(parseStatus),
	"osd-dump":       untyped(parseOSDMap),
	"osd-df":         untyped(parseOSDs),
	"df-detail":      untyped(parseDF),
	"osd-perf":       untyped(parseOSDPerf),
	"osd-status":     untyped(parseOSDIO),
	"pg-dump":        untyped(parsePGs),
	"pg-ls-by-osd":   untyped(parsePGsOn),
	"osd-pool-stats": untyped(parsePoolIO),
	"versions":       untyped(parseVersions),
	"config-dump":    untyped(parseConfigDump),

	"config-help":     untyped(parseConfigHelp),
	"config-show-all": untyped(parseConfigShow),
	"balancer-status": untyped(parseBalancer),
	"osd-metadata":    untyped(parseOSDDevices),
	"osd-ok-to-stop":  untyped(parseStop),
	"telemetry-perf":  untyped(parseOSDCounters),
}

func untyped[T any](parse func([]byte) (T, error)) func([]byte) (any, error) {
	return func(out []byte) (any, error) { return parse(out) }
}

// The parsed outputs of each version of Ceph must equal the golden files.
func TestParsersReadWhatCephPrints(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) < len(parsers) {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	for _, file := range files {
		kind, _, _ := strings.Cut(filepath.Base(file), ".")
		t.Run(file, func(t *testing.T) {
			got, err := parsers[kind](readFile(t, file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(got, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, append(text, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(readFile(t, golden)), string(text)+"\n"); diff != "" {
				t.Errorf("-want +got, -update accepts it:\n%s", diff)
			}
		})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestDecodeFindsTheDocument(t *testing.T) {
	tests := map[string]struct {
		out  string
		want string // empty: an error
	}{
		"alone":                            {`{"fsid":"f"}`, "f"},
		"after an empty line":              {"\n\n{\"fsid\":\"f\"}\n", "f"},
		"after a warning":                  {"WARNING: all dangerous options are enabled\n{\"fsid\":\"f\"}", "f"},
		"after a warning with a bracket":   {"[WRN] something\n{\"fsid\":\"f\"}", "f"},
		"after CRLF":                       {"\r\n{\"fsid\":\"f\"}\r\n", "f"},
		"before a stray line":              {"{\"fsid\":\"f\"}\ndone", "f"},
		"over several lines":               {"{\n \"fsid\":\n \"f\"\n}", "f"},
		"with unknown fields":              {`{"new":{"a":[1]},"fsid":"f"}`, "f"},
		"with numbers that JSON has not":   {`{"a":-nan,"b":[inf,nan],"fsid":"f"}`, "f"},
		"cut off":                          {`{"fsid":"f"`, ""},
		"of another kind":                  {`[1]`, ""},
		"missing":                          {"Error EACCES", ""},
		"nothing at all":                   {"", ""},
		"two, as pool get all prints them": {`{"fsid":"f"}{"fsid":"g"}`, "f"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got struct {
				FSID string `json:"fsid"`
			}
			err := decode([]byte(test.out), &got)
			if got.FSID != test.want && err == nil || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v, want %q", got.FSID, err, test.want)
			}
		})
	}
}

func TestStatusNeedsAnFSID(t *testing.T) {
	if s, err := parseStatus([]byte(`{"health":{"status":"HEALTH_OK"}}`)); err == nil {
		t.Errorf("read %+v, want an error", s)
	}
}

// Before counters had labels, each part of a daemon was one object.
func TestOSDCountersWithoutLabels(t *testing.T) {
	got, err := parseOSDCounters([]byte(`{"perf_counters": {
		"osd.7": {"osd": {"op_w_latency": {"count": 4, "value": 8000000}, "numpg": {"value": 1}}, "bluestore": {"txc_commit_lat": {"count": 12, "value": 24000000}}},
		"osd.8": {"bluefs": {"bytes": {"value": 1}}}, "mon.a": {"osd": {"op_w_latency": {"count": 1, "value": 1}}}}}`))
	want := []OSDCounters{{ID: 7, Write: Average{4, 0.008}, Commit: Average{12, 0.024}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, text := range []string{"Telemetry is up to date, see report with `ceph telemetry show`.", `{"channels": []}`} {
		if got, err := parseOSDCounters([]byte(text)); !errors.Is(err, errNoCounters) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestOSDPerfHasSecondsFromMillisecondsAlone(t *testing.T) {
	got, err := parseOSDPerf([]byte(`{"osdstats":{"osd_perf_infos":[
		{"id":1,"perf_stats":{"commit_latency_ms":12,"apply_latency_ms":7}},
		{"id":0,"perf_stats":{"commit_latency_ms":1,"apply_latency_ms":0,"commit_latency_ns":1250000,"apply_latency_ns":0}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []OSDLatency{{ID: 0, CommitSeconds: 0.00125}, {ID: 1, CommitSeconds: 0.012, ApplySeconds: 0.007}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOSDIOIsOfOSDsThatAreUp(t *testing.T) {
	tests := map[string]struct {
		out  string
		want []OSDIO
	}{
		"by ID": {
			`{"OSDs": [
				{"id": 1, "state": ["exists", "up"], "read ops rate": 3, "write ops rate": 5, "read byte rate": 12288, "write byte rate": 20480},
				{"id": 0, "state": ["exists", "up"], "read ops rate": 0.25, "write ops rate": 0, "read byte rate": 1024.5, "write byte rate": 0}]}`,
			[]OSDIO{
				{ID: 0, ReadOperationsPerSecond: 0.25, ReadBytesPerSecond: 1024.5},
				{ID: 1, ReadOperationsPerSecond: 3, WriteOperationsPerSecond: 5, ReadBytesPerSecond: 12288, WriteBytesPerSecond: 20480},
			},
		},
		"one is down": {
			`{"OSDs": [{"id": 0, "state": ["exists"], "write ops rate": 40}, {"id": 1, "state": ["exists", "up"], "write ops rate": 5}]}`,
			[]OSDIO{{ID: 1, WriteOperationsPerSecond: 5}},
		},
		"no OSDs, without a list": {`{}`, []OSDIO{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseOSDIO([]byte(test.out))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	table := "ID  HOST  USED  AVAIL  WR OPS  WR DATA  RD OPS  RD DATA  STATE\n 0  lab   817M  7364M      0        0       0        0   exists,up"
	if got, err := parseOSDIO([]byte(table)); err == nil {
		t.Errorf("read %+v from a table, want an error", got)
	}
}

func TestOSDTreeHasTheBucketsAbove(t *testing.T) {
	got, err := parseOSDTree([]byte(`{"nodes":[
		{"id":-1,"name":"default","type":"root","type_id":11,"children":[-5,-3]},
		{"id":-3,"name":"node-a","type":"host","type_id":1,"pool_weights":{},"children":[1,0]},
		{"id":0,"device_class":"ssd","name":"osd.0","type":"osd","type_id":0,"crush_weight":0.0098,"depth":2,"exists":1,"status":"up","reweight":1,"primary_affinity":1},
		{"id":1,"device_class":"hdd","name":"osd.1","type":"osd","type_id":0,"exists":1,"status":"down","reweight":1},
		{"id":-5,"name":"node-b","type":"host","children":[2]},
		{"id":2,"device_class":"ssd","name":"osd.2","type":"osd","exists":1,"status":"up","reweight":0}],
		"stray":[{"id":3,"name":"osd.3","type":"osd","exists":1,"status":"up","reweight":0.5}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []OSDLocation{
		{ID: 0, DeviceClass: "ssd", Up: true, In: true, Buckets: map[string]string{"host": "node-a", "root": "default"}},
		{ID: 1, DeviceClass: "hdd", In: true, Buckets: map[string]string{"host": "node-a", "root": "default"}},
		{ID: 2, DeviceClass: "ssd", Up: true, Buckets: map[string]string{"host": "node-b", "root": "default"}},
		{ID: 3, Up: true, In: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An OSD in two roots counts once, and is known in both.
func TestOSDsOfTwoRootsCountOnce(t *testing.T) {
	tree := `{"nodes":[
		{"id":-9,"name":"fast","type":"root","children":[-8]},{"id":-8,"name":"fast-a","type":"host","children":[1,0]},
		{"id":0,"device_class":"ssd","type":"osd","status":"up","reweight":1},{"id":1,"device_class":"ssd","type":"osd","status":"up","reweight":1},
		{"id":-1,"name":"default","type":"root","children":[-2]},{"id":-2,"name":"a","type":"host","children":[0]},
		{"id":0,"device_class":"ssd","type":"osd","status":"up","reweight":1}],"stray":[]}`
	got, err := parseOSDTree([]byte(tree))
	want := []OSDLocation{
		{
			ID: 0, DeviceClass: "ssd", Up: true, In: true, Buckets: map[string]string{"host": "a", "root": "default"},
			Elsewhere: []map[string]string{{"host": "fast-a", "root": "fast"}},
		},
		{ID: 1, DeviceClass: "ssd", Up: true, In: true, Buckets: map[string]string{"host": "fast-a", "root": "fast"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	osds, err := parseOSDs([]byte(tree))
	if err != nil || len(osds) != 2 {
		t.Errorf("got %+v, %v, want each OSD once", osds, err)
	}
}

// Ceph prints negative counts without their sign.
func TestImpossibleNumbersDoNotSpoilAnAnswer(t *testing.T) {
	got, err := parseStatus([]byte(`{"fsid":"f","health":{"status":"HEALTH_OK"},"osdmap":{"num_osds":3,"num_up_osds":3},"pgmap":{
		"pgs_by_state":[{"state_name":"active+clean","count":33}],"num_pgs":33,"degraded_objects":18446744073709551615,
		"recovering_bytes_per_sec":18446744073709551000,"misplaced_objects":1.8446744073709552e+19,"write_bytes_sec":9223372036854775807}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.PGs != 33 || got.PGsByState["active+clean"] != 33 || got.UpOSDs != 3 || got.WriteBytesPerSecond != math.MaxInt64 {
		t.Errorf("got %+v, want the rest of the status", got)
	}
	if got.DegradedObjects != 0 || got.MisplacedObjects != 0 || got.RecoveryBytesPerSecond != 0 {
		t.Errorf("got %+v, want 0 for impossible counts", got)
	}
	df, err := parseDF([]byte(`{"stats":{"total_bytes":100},"pools":[{"name":"a","id":1,"stats":{"objects":18446744073709551615,"stored":7}}]}`))
	if err != nil || df.Pools[0].Objects != 0 || df.Pools[0].StoredBytes != 7 {
		t.Errorf("got %+v, %v", df, err)
	}
	if _, err := parseStatus([]byte(`{"fsid":"f","osdmap":{"num_osds":"three"},"pgmap":{"num_pgs":18446744073709551615}}`)); err == nil {
		t.Error("a number in another form was accepted")
	}
}

func TestVersionsThatMatterForALoad(t *testing.T) {
	const old, current = "ceph version 17.2.6 (b) quincy (stable)", "ceph version 18.2.7 (a) reef (stable)"
	for name, tc := range map[string]struct {
		printed string
		ofLoad  map[string]int
		others  []string
	}{
		"one version":           {`{"mon":{"N":3},"osd":{"N":12},"rgw":{"N":1},"overall":{"N":16}}`, map[string]int{"18.2.7": 15}, nil},
		"a gateway is behind":   {`{"mon":{"N":3},"mgr":{"N":2},"osd":{"N":12},"rgw":{"O":1},"overall":{"N":17,"O":1}}`, map[string]int{"18.2.7": 17}, []string{"rgw: 1 of 17.2.6"}},
		"mirrors are behind":    {`{"osd":{"N":1},"rbd-mirror":{"O":2},"cephfs-mirror":{"O":1}}`, map[string]int{"18.2.7": 1}, []string{"cephfs-mirror: 1 of 17.2.6", "rbd-mirror: 2 of 17.2.6"}},
		"an OSD is behind":      {`{"mon":{"N":3},"osd":{"N":11,"O":1},"rgw":{"O":1}}`, map[string]int{"18.2.7": 14, "17.2.6": 1}, nil},
		"an MDS is behind":      {`{"osd":{"N":1},"mds":{"O":1}}`, map[string]int{"18.2.7": 1, "17.2.6": 1}, nil},
		"types are not printed": {`{"overall":{"N":2,"O":1}}`, map[string]int{"18.2.7": 2, "17.2.6": 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseVersions([]byte(strings.NewReplacer(`"N"`, strconv.Quote(current), `"O"`, strconv.Quote(old)).Replace(tc.printed)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.ofLoad, got.OfLoad()) + cmp.Diff(tc.others, got.Others()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A tree with a cycle must not hang the parser.
func TestOSDTreeEnds(t *testing.T) {
	got, err := parseOSDTree([]byte(`{"nodes":[{"id":-1,"name":"a","type":"host","children":[-2]},{"id":-2,"name":"b","type":"rack","children":[-1,0]},{"id":0,"type":"osd"}]}`))
	if err != nil || len(got) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestOSDMapHasUpmaps(t *testing.T) {
	got, err := parseOSDMap([]byte(`{"fsid":"f","pg_upmap":[{"pgid":"2.1f","osds":[3,1]}],"pg_upmap_items":[{"pgid":"2.0","mappings":[{"from":1,"to":2}]}],"require_min_compat_client":"jewel"}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]int{"2.1f": {3, 1}}, got.PGUpmaps); diff != "" || got.MinCompatClient != "jewel" {
		t.Errorf("clients of %q, -want +got:\n%s", got.MinCompatClient, diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("[WRN]\n{\"a\":nan}"))
	f.Fuzz(func(_ *testing.T, out []byte) {
		_, _ = parseStatus(out)
		_, _ = parseOSDMap(out)
	})
}

// An OSD with noup, as 18.2.7 prints it.
func TestOSDMapHasFlagsOfOSDs(t *testing.T) {
	m, err := parseOSDMap([]byte(`{"fsid":"f","osds":[
		{"osd":1,"up":0,"up_from":9,"state":["exists","noup"],"public_addrs":{"addrvec":[{"type":"v1","addr":"10.0.0.1:6801"}]}},
		{"osd":0,"up":1,"up_from":7,"state":["exists","up"],"public_addrs":{"addrvec":[{"type":"v2","addr":"[fd00::1]:6800","nonce":2509835530},{"type":"v1","addr":"[fd00::1]:6801"}]}}],
		"osd_xinfo":[{"osd":0,"down_stamp":"0.000000"},{"osd":1,"down_stamp":"2026-11-21T15:27:40.436823+0000"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []OSDState{
		{ID: 0, Up: true, UpFrom: 7, Address: "[fd00::1]:6800"},
		{ID: 1, UpFrom: 9, Flags: []string{"noup"}, DownSince: time.Date(2026, 11, 21, 15, 27, 40, 436823000, time.UTC)},
	}
	if diff := cmp.Diff(want, m.OSDs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// osdStat returns an OSD in the form of `pg dump osds`, without fields that are not read.
func osdStat(osd, pgs int) string {
	return fmt.Sprintf(`{"osd":%d,"up_from":8,"seq":34359738900,"num_pgs":%d,"num_osds":1,"num_per_pool_osds":1,"kb":10485760,"statfs":{"total":10737418240},`+
		`"hb_peers":[0,1,2],"snap_trim_queue_len":0,"op_queue_age_hist":{"histogram":[],"upper_bound":1},"perf_stat":{"commit_latency_ms":0},"alerts":[]}`, osd, pgs)
}

func TestStrays(t *testing.T) {
	// There are two PGs: one of three copies, and one of three chunks, two of them for data.
	const whole = `{"pgid":"1.0","state":"active+clean","up":[0,2,1],"acting":[0,2,1],"up_primary":0,"acting_primary":0}`
	const short = `{"pgid":"3.1f","state":"active+undersized","up":[2147483647,1,2],"acting":[2147483647,1,2],"up_primary":1,"acting_primary":1}`
	const moving = `{"pgid":"2.1","state":"active+remapped+backfilling","up":[0,1,3],"acting":[0,1,2],"up_primary":0,"acting_primary":0}`
	tests := map[string]struct {
		pgs, osds []string
		want      Strays
	}{
		"nothing but what is mapped":          {pgs: []string{whole, short}, osds: []string{osdStat(0, 1), osdStat(1, 2), osdStat(2, 2)}},
		"a pool that was deleted":             {pgs: []string{whole}, osds: []string{osdStat(0, 17), osdStat(1, 17), osdStat(2, 17)}, want: Strays{OSDs: 3, PGs: 48}},
		"the last pool":                       {osds: []string{osdStat(0, 16), osdStat(1, 0)}, want: Strays{OSDs: 1, PGs: 16}},
		"one that some OSDs have removed":     {pgs: []string{whole}, osds: []string{osdStat(0, 1), osdStat(1, 2), osdStat(2, 1)}, want: Strays{OSDs: 1, PGs: 1}},
		"one that some have not counted":      {pgs: []string{whole, short}, osds: []string{osdStat(0, 2), osdStat(1, 1), osdStat(2, 0)}, want: Strays{OSDs: 1, PGs: 1}},
		"a PG on its way, where it is wanted": {pgs: []string{moving}, osds: []string{osdStat(0, 1), osdStat(1, 1), osdStat(2, 1), osdStat(3, 1)}},
		"one that has arrived elsewhere":      {pgs: []string{whole}, osds: []string{osdStat(0, 1), osdStat(1, 1), osdStat(2, 1), osdStat(3, 1)}, want: Strays{OSDs: 1, PGs: 1}},
		"OSDs that are out":                   {pgs: []string{short}, osds: []string{osdStat(0, 0), osdStat(1, 1), osdStat(2, 1)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseStrays(fmt.Appendf(nil, "\n{\"pg_stats\":[%s],\"osd_stats\":[%s]}\n", strings.Join(test.pgs, ","), strings.Join(test.osds, ",")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, out := range []string{`{"pg_stats":[]}`, `{"osd_stats":[]}`, `{"pg_ready":false}`} {
		if got, err := parseStrays([]byte(out)); err == nil {
			t.Errorf("%s was taken for %+v", out, got)
		}
	}
}

func TestPGsOnNeedsAManagerThatKnowsThem(t *testing.T) {
	for _, out := range []string{`{"pg_ready":false,"pg_stats":[]}`, `{"pg_stats":[]}`, `{"pg_ready":true}`, `[]`} {
		if got, err := parsePGsOn([]byte(out)); err == nil {
			t.Errorf("%s was taken for %+v", out, got)
		}
	}
	if got, err := parsePGsOn([]byte(`{"pg_ready":true,"pg_stats":[]}`)); err != nil || len(got) > 0 {
		t.Errorf("of an OSD without placement groups: %+v, %v", got, err)
	}
}

func TestRecoveredNeedsItsSum(t *testing.T) {
	if _, err := parseRecovered([]byte(`{"pg_ready":false}`)); err == nil {
		t.Error("no sum was taken for one")
	}
}
