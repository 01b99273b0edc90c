package ceph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxStrayLines is how many lines decode tries as the first line of the JSON document.
const maxStrayLines = 64

// bareNumber matches nan and inf, which Ceph prints as numbers although JSON does not allow them.
var bareNumber = regexp.MustCompile(`([:,\[]\s*)-?(?:nan|inf)\b`)

// longNumber matches numbers that may not fit into 63 bits. Ceph prints a negative count without its sign, as
// 18446744073709551615, if it believes that the count cannot be negative.
var longNumber = regexp.MustCompile(`([:,\[]\s*)(-?[0-9]{19,}(?:\.[0-9]*)?|-?[0-9.]+[eE]\+?[0-9]{2,})\b`)

// decode reads the JSON document in the output of a command. Ceph may print an empty line before the
// document, and lines with warnings before and after it. Impossible numbers count as 0, so that they do not
// spoil the rest of the answer.
func decode(out []byte, target any) error {
	err := decodeFirst(out, target)
	if err == nil {
		return nil
	}
	possible := bareNumber.ReplaceAll(out, []byte("${1}null"))
	possible = longNumber.ReplaceAllFunc(possible, func(found []byte) []byte {
		parts := longNumber.FindSubmatch(found)
		if number, err := strconv.ParseFloat(string(parts[2]), 64); err == nil && math.Abs(number) < 1<<63 {
			return found
		}
		return append(bytes.Clone(parts[1]), "null"...)
	})
	if bytes.Equal(possible, out) {
		return err
	}
	return decodeFirst(possible, target)
}

func decodeFirst(out []byte, target any) error {
	err := errors.New("its output has no JSON")
	for range maxStrayLines {
		out = bytes.TrimLeft(out, "\r\n\t ")
		if len(out) == 0 {
			return err
		}
		// A warning can begin with a bracket too, such as "[WRN] …".
		if out[0] == '{' || out[0] == '[' {
			if err = json.NewDecoder(bytes.NewReader(out)).Decode(target); err == nil {
				return nil
			}
		}
		_, rest, found := bytes.Cut(out, []byte("\n"))
		if !found {
			return err
		}
		out = rest
	}
	return err
}

func parseStatus(out []byte) (*Status, error) {
	var raw rawStatus
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.FSID == "" {
		return nil, errors.New("the status names no fsid")
	}
	s := &Status{
		FSID:                     raw.FSID,
		Health:                   raw.Health.health(),
		OSDs:                     raw.OSDMap.NumOSDs,
		UpOSDs:                   raw.OSDMap.NumUpOSDs,
		InOSDs:                   raw.OSDMap.NumInOSDs,
		OSDsUpSince:              raw.OSDMap.UpSince,
		OSDsInSince:              raw.OSDMap.InSince,
		PGs:                      raw.PGMap.NumPGs,
		PGsByState:               make(map[string]int, len(raw.PGMap.PGsByState)),
		DegradedObjects:          raw.PGMap.DegradedObjects,
		MisplacedObjects:         raw.PGMap.MisplacedObjects,
		UnfoundObjects:           raw.PGMap.UnfoundObjects,
		ReadOperationsPerSecond:  raw.PGMap.ReadOpPerSec,
		WriteOperationsPerSecond: raw.PGMap.WriteOpPerSec,
		ReadBytesPerSecond:       raw.PGMap.ReadBytesSec,
		WriteBytesPerSecond:      raw.PGMap.WriteBytesSec,
		RecoveryBytesPerSecond:   raw.PGMap.RecoveringBytesPerSec,
		RecoveryObjectsPerSecond: raw.PGMap.RecoveringObjectsPerSec,
		ManagerActive:            raw.MgrMap.Available,
		Monitors:                 raw.MonMap.NumMons,
		QuorumNames:              raw.QuorumNames,
	}
	for _, state := range raw.PGMap.PGsByState {
		s.PGsByState[state.StateName] += state.Count
	}
	return s, nil
}

type rawStatus struct {
	FSID        string    `json:"fsid"`
	Health      rawHealth `json:"health"`
	QuorumNames []string  `json:"quorum_names"`
	MonMap      struct {
		NumMons int `json:"num_mons"`
	} `json:"monmap"`
	OSDMap struct {
		NumOSDs   int   `json:"num_osds"`
		NumUpOSDs int   `json:"num_up_osds"`
		NumInOSDs int   `json:"num_in_osds"`
		UpSince   int64 `json:"osd_up_since"`
		InSince   int64 `json:"osd_in_since"`
	} `json:"osdmap"`
	PGMap struct {
		PGsByState []struct {
			StateName string `json:"state_name"`
			Count     int    `json:"count"`
		} `json:"pgs_by_state"`
		NumPGs           int   `json:"num_pgs"`
		DegradedObjects  int64 `json:"degraded_objects"`
		MisplacedObjects int64 `json:"misplaced_objects"`
		UnfoundObjects   int64 `json:"unfound_objects"`
		rawIO
		RecoveringBytesPerSec   int64 `json:"recovering_bytes_per_sec"`
		RecoveringObjectsPerSec int64 `json:"recovering_objects_per_sec"`
	} `json:"pgmap"`
	MgrMap struct {
		Available bool `json:"available"`
	} `json:"mgrmap"`
}

// rawIO holds the rates of client I/O. Ceph leaves out rates that are zero.
type rawIO struct {
	ReadOpPerSec  int64 `json:"read_op_per_sec"`
	WriteOpPerSec int64 `json:"write_op_per_sec"`
	ReadBytesSec  int64 `json:"read_bytes_sec"`
	WriteBytesSec int64 `json:"write_bytes_sec"`
}

type rawHealth struct {
	Status string `json:"status"`
	Checks map[string]struct {
		Severity string `json:"severity"`
		Summary  struct {
			Message string `json:"message"`
			Count   int    `json:"count"`
		} `json:"summary"`
		Muted bool `json:"muted"`
	} `json:"checks"`
}

func (r rawHealth) health() Health {
	h := Health{Status: r.Status}
	for _, code := range slices.Sorted(maps.Keys(r.Checks)) {
		check := r.Checks[code]
		h.Checks = append(h.Checks, HealthCheck{
			Code: code, Severity: check.Severity, Summary: check.Summary.Message, Count: check.Summary.Count,
			Muted: check.Muted,
		})
	}
	return h
}

func parseOSDMap(out []byte) (*OSDMap, error) {
	var raw struct {
		FSID              string    `json:"fsid"`
		Epoch             int64     `json:"epoch"`
		Flags             string    `json:"flags"`
		Pools             []rawPool `json:"pools"`
		FullRatio         float64   `json:"full_ratio"`
		BackfillFullRatio float64   `json:"backfillfull_ratio"`
		NearFullRatio     float64   `json:"nearfull_ratio"`
		OSDs              []struct {
			ID     int          `json:"osd"`
			Up     int          `json:"up"`
			UpFrom int64        `json:"up_from"`
			State  []string     `json:"state"`
			Public rawAddresses `json:"public_addrs"`
		} `json:"osds"`
		Upmaps []struct {
			PG   string `json:"pgid"`
			OSDs []int  `json:"osds"`
		} `json:"pg_upmap"`
		Profiles map[string]struct {
			DataChunks string `json:"k"`
		} `json:"erasure_code_profiles"`
		MinCompatClient string `json:"require_min_compat_client"`
		OSDsMore        []struct {
			ID        int    `json:"osd"`
			DownStamp string `json:"down_stamp"`
		} `json:"osd_xinfo"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	m := &OSDMap{
		FSID: raw.FSID, Epoch: raw.Epoch, Flags: setFlags(raw.Flags),
		Pools:     make([]Pool, 0, len(raw.Pools)),
		FullRatio: ratio(raw.FullRatio), BackfillFullRatio: ratio(raw.BackfillFullRatio), NearFullRatio: ratio(raw.NearFullRatio),
		MinCompatClient: raw.MinCompatClient,
	}
	if len(raw.Upmaps) > 0 {
		m.PGUpmaps = make(map[string][]int, len(raw.Upmaps))
	}
	for _, upmap := range raw.Upmaps {
		m.PGUpmaps[upmap.PG] = upmap.OSDs
	}
	for _, r := range raw.Pools {
		pool := r.pool()
		if pool.ErasureCodeProfile != "" {
			pool.DataChunks, _ = strconv.Atoi(raw.Profiles[pool.ErasureCodeProfile].DataChunks)
		}
		m.Pools = append(m.Pools, pool)
	}
	downSince := map[int]time.Time{}
	for _, more := range raw.OSDsMore {
		downSince[more.ID] = stamp(more.DownStamp)
	}
	for _, osd := range raw.OSDs {
		m.OSDs = append(m.OSDs, OSDState{ID: osd.ID, Up: osd.Up == 1, UpFrom: osd.UpFrom, Flags: osdFlags(osd.State), DownSince: downSince[osd.ID], Address: osd.Public.address()})
	}
	slices.SortFunc(m.OSDs, func(a, b OSDState) int { return cmp.Compare(a.ID, b.ID) })
	return m, nil
}

// rawAddress is one of the addresses of a daemon or a client: there is one for each version of the messenger's protocol.
type rawAddress struct {
	Type    string `json:"type"`
	Address string `json:"addr"`
	Number  uint64 `json:"nonce"`
}

type rawAddresses struct {
	All []rawAddress `json:"addrvec"`
}

// address returns the first address for version 2 of the protocol: there is one for each version of IP.
func (r rawAddresses) address() string {
	for _, a := range r.All {
		if a.Type == "v2" {
			return a.Address
		}
	}
	return ""
}

// osdFlags returns those states of an OSD that are flags, such as noup.
func osdFlags(states []string) []string {
	var flags []string
	for _, state := range states {
		switch state {
		case FlagNoUp, "nodown", "noin", "noout":
			flags = append(flags, state)
		}
	}
	slices.Sort(flags)
	return flags
}

// stamp reads a time that Ceph printed. It returns the zero time for text that it cannot read, such as
// 0.000000. Ceph prints 0.000000 for an event that never happened.
func stamp(text string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05.999999-0700", "2006-01-02 15:04:05.999999"} {
		if moment, err := time.Parse(layout, text); err == nil {
			return moment.UTC()
		}
	}
	return time.Time{}
}

// ratio removes the rounding error of a number that Ceph converted from a 32-bit float: 0.85000002384185791
// becomes 0.85.
func ratio(widened float64) float64 {
	shortest, err := strconv.ParseFloat(strconv.FormatFloat(widened, 'g', -1, 32), 64)
	if err != nil {
		return widened
	}
	return shortest
}

// setFlags splits and sorts flags. It leaves out the flags that every cluster has had since Nautilus.
func setFlags(names string) []string {
	var flags []string
	for flag := range strings.SplitSeq(names, ",") {
		switch flag {
		case "", "sortbitwise", "recovery_deletes", "purged_snapdirs", "pglog_hardlimit":
		default:
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	return flags
}

type rawPool struct {
	ID                 int64                      `json:"pool"`
	Name               string                     `json:"pool_name"`
	FlagsNames         string                     `json:"flags_names"`
	Type               int                        `json:"type"`
	Size               int                        `json:"size"`
	MinSize            int                        `json:"min_size"`
	CrushRule          int                        `json:"crush_rule"`
	AutoscaleMode      string                     `json:"pg_autoscale_mode"`
	PGNum              int                        `json:"pg_num"`
	PGNumTarget        int                        `json:"pg_num_target"`
	PGNumPending       int                        `json:"pg_num_pending"`
	PGPlacementNum     int                        `json:"pg_placement_num"`
	PGPlacementTarget  int                        `json:"pg_placement_num_target"`
	QuotaMaxBytes      int64                      `json:"quota_max_bytes"`
	QuotaMaxObjects    int64                      `json:"quota_max_objects"`
	ErasureCodeProfile string                     `json:"erasure_code_profile"`
	FastRead           bool                       `json:"fast_read"`
	Options            map[string]json.RawMessage `json:"options"`
	Applications       map[string]json.RawMessage `json:"application_metadata"`
}

func (r rawPool) pool() Pool {
	p := Pool{
		ID: r.ID, Name: r.Name, Type: poolType(r.Type),
		Size: r.Size, MinSize: r.MinSize, CrushRule: r.CrushRule,
		PGNum: r.PGNum, PGNumTarget: r.PGNumTarget, PGNumPending: r.PGNumPending,
		PGPlacementNum: r.PGPlacementNum, PGPlacementTarget: r.PGPlacementTarget,
		AutoscaleMode: r.AutoscaleMode, ErasureCodeProfile: r.ErasureCodeProfile,
		QuotaMaxBytes: r.QuotaMaxBytes, QuotaMaxObjects: r.QuotaMaxObjects,
		ApplicationMetadata: strings.Join(slices.Sorted(maps.Keys(r.Applications)), ","),
		Flags:               setFlags(r.FlagsNames),
	}
	if len(r.Options) > 0 || r.FastRead {
		p.Options = make(map[string]string, len(r.Options)+1)
	}
	for name, value := range r.Options {
		p.Options[name] = plain(value)
	}
	if r.FastRead { // Ceph does not print fast_read among the options.
		p.Options["fast_read"] = "1"
	}
	return p
}

func poolType(number int) string {
	switch number {
	case 1:
		return "replicated"
	case 3:
		return "erasure"
	default:
		return strconv.Itoa(number)
	}
}

// plain returns a JSON scalar without quotes. Ceph prints the values of some options as strings, and of
// others as numbers.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func parseOSDs(out []byte) ([]OSD, error) {
	var raw struct {
		Nodes []struct {
			ID          int    `json:"id"`
			DeviceClass string `json:"device_class"`
			Type        string `json:"type"`
			Status      string `json:"status"`
			KB          int64  `json:"kb"`
			KBUsed      int64  `json:"kb_used"`
			KBAvail     int64  `json:"kb_avail"`
			PGs         int    `json:"pgs"`
		} `json:"nodes"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	osds := make([]OSD, 0, len(raw.Nodes))
	for _, node := range raw.Nodes {
		if node.Type != "osd" {
			continue
		}
		osds = append(osds, OSD{
			ID: node.ID, DeviceClass: node.DeviceClass, Status: node.Status, PGs: node.PGs,
			TotalBytes: node.KB << 10, UsedBytes: node.KBUsed << 10, AvailableBytes: node.KBAvail << 10,
		})
	}
	slices.SortFunc(osds, func(a, b OSD) int { return cmp.Compare(a.ID, b.ID) })
	// Ceph lists an OSD under each of its CRUSH roots.
	return slices.CompactFunc(osds, func(a, b OSD) bool { return a.ID == b.ID }), nil
}

func parseDF(out []byte) (*DF, error) {
	var raw struct {
		Stats struct {
			TotalBytes int64 `json:"total_bytes"`
			UsedRaw    int64 `json:"total_used_raw_bytes"`
			Avail      int64 `json:"total_avail_bytes"`
		} `json:"stats"`
		Pools []struct {
			Name  string `json:"name"`
			ID    int64  `json:"id"`
			Stats struct {
				Stored    int64 `json:"stored"`
				BytesUsed int64 `json:"bytes_used"`
				Objects   int64 `json:"objects"`
			} `json:"stats"`
		} `json:"pools"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	df := &DF{
		TotalBytes: raw.Stats.TotalBytes, UsedRawBytes: raw.Stats.UsedRaw, AvailableBytes: raw.Stats.Avail,
		Pools: make([]PoolDF, 0, len(raw.Pools)),
	}
	for _, pool := range raw.Pools {
		df.Pools = append(df.Pools, PoolDF{
			Name: pool.Name, ID: pool.ID,
			StoredBytes: pool.Stats.Stored, UsedBytes: pool.Stats.BytesUsed,
			Objects: pool.Stats.Objects,
		})
	}
	return df, nil
}

type rawLatency struct {
	ID    int `json:"id"`
	Stats struct {
		CommitMilliseconds int64 `json:"commit_latency_ms"`
		ApplyMilliseconds  int64 `json:"apply_latency_ms"`
		CommitNanoseconds  int64 `json:"commit_latency_ns"`
		ApplyNanoseconds   int64 `json:"apply_latency_ns"`
	} `json:"perf_stats"`
}

func parseOSDPerf(out []byte) ([]OSDLatency, error) {
	var raw struct {
		Stats struct {
			Infos []rawLatency `json:"osd_perf_infos"`
		} `json:"osdstats"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	latencies := make([]OSDLatency, 0, len(raw.Stats.Infos))
	for _, info := range raw.Stats.Infos {
		latencies = append(latencies, OSDLatency{
			ID:            info.ID,
			CommitSeconds: seconds(info.Stats.CommitNanoseconds, info.Stats.CommitMilliseconds),
			ApplySeconds:  seconds(info.Stats.ApplyNanoseconds, info.Stats.ApplyMilliseconds),
		})
	}
	slices.SortFunc(latencies, func(a, b OSDLatency) int { return cmp.Compare(a.ID, b.ID) })
	return latencies, nil
}

// rawCounters has the counters of one part of a daemon, in nanoseconds. Since counters can have labels, Ceph prints a list of
// such parts; before that, it printed a part alone.
type rawCounters map[string]Average

// UnmarshalJSON reads both forms. A name that occurs with several labels is that of no average that we read.
func (r *rawCounters) UnmarshalJSON(text []byte) error {
	type counter struct {
		Count int64   `json:"count"`
		Value float64 `json:"value"`
	}
	var labelled []struct {
		Counters map[string]counter `json:"counters"`
	}
	if err := json.Unmarshal(text, &labelled); err != nil {
		labelled = append(labelled[:0], struct {
			Counters map[string]counter `json:"counters"`
		}{})
		if err := json.Unmarshal(text, &labelled[0].Counters); err != nil {
			return err
		}
	}
	*r = rawCounters{}
	for _, part := range labelled {
		for name, c := range part.Counters {
			(*r)[name] = Average{Count: c.Count, Seconds: c.Value / 1e9}
		}
	}
	return nil
}

var errNoCounters = errors.New("there are no perf_counters in it")

// parseOSDCounters returns the counters of the OSDs that have reported any.
func parseOSDCounters(out []byte) ([]OSDCounters, error) {
	var raw struct {
		Daemons map[string]map[string]json.RawMessage `json:"perf_counters"`
	}
	if err := decode(out, &raw); err != nil || len(raw.Daemons) == 0 {
		return nil, errors.Join(errNoCounters, err)
	}
	var all []OSDCounters
	for name, parts := range raw.Daemons {
		number, isOSD := strings.CutPrefix(name, "osd.")
		id, err := strconv.Atoi(number)
		if !isOSD || err != nil {
			continue
		}
		var osd, store rawCounters
		if json.Unmarshal(parts["osd"], &osd) != nil || json.Unmarshal(parts["bluestore"], &store) != nil {
			continue // An OSD that has not reported yet has none of them.
		}
		c := OSDCounters{
			ID: id, Write: osd["op_w_latency"], WriteProcessing: osd["op_w_process_latency"], WritePreparing: osd["op_w_prepare_latency"],
			Read: osd["op_r_latency"], ReadProcessing: osd["op_r_process_latency"],
			Submit: store["txc_submit_lat"], Commit: store["txc_commit_lat"], StoreRead: store["read_lat"],
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b OSDCounters) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// parseOSDDevices leaves out OSDs that have never started, of which Ceph knows only the ID.
func parseOSDDevices(out []byte) ([]OSDDevice, error) {
	var raw []struct {
		ID          int    `json:"id"`
		Host        string `json:"hostname"`
		Kernel      string `json:"kernel_version"`
		Devices     string `json:"devices"`
		Rotational  string `json:"bluestore_bdev_rotational"`
		DedicatedDB string `json:"bluefs_dedicated_db"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	devices := make([]OSDDevice, 0, len(raw))
	for _, osd := range raw {
		if osd.Rotational != "" {
			devices = append(devices, OSDDevice{
				ID: osd.ID, Host: osd.Host, Kernel: osd.Kernel, Names: osd.Devices, Rotational: osd.Rotational == "1", DedicatedDB: osd.DedicatedDB == "1",
			})
		}
	}
	slices.SortFunc(devices, func(a, b OSDDevice) int { return cmp.Compare(a.ID, b.ID) })
	return devices, nil
}

// parseOSDIO leaves out OSDs that are not up, because Ceph prints outdated rates for them.
func parseOSDIO(out []byte) ([]OSDIO, error) {
	var raw struct {
		OSDs []struct {
			ID              int      `json:"id"`
			State           []string `json:"state"`
			ReadOperations  float64  `json:"read ops rate"`
			WriteOperations float64  `json:"write ops rate"`
			ReadBytes       float64  `json:"read byte rate"`
			WriteBytes      float64  `json:"write byte rate"`
		} `json:"OSDs"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	osds := make([]OSDIO, 0, len(raw.OSDs))
	for _, osd := range raw.OSDs {
		if !slices.Contains(osd.State, "up") {
			continue
		}
		osds = append(osds, OSDIO{
			ID:                      osd.ID,
			ReadOperationsPerSecond: osd.ReadOperations, WriteOperationsPerSecond: osd.WriteOperations,
			ReadBytesPerSecond: osd.ReadBytes, WriteBytesPerSecond: osd.WriteBytes,
		})
	}
	slices.SortFunc(osds, func(a, b OSDIO) int { return cmp.Compare(a.ID, b.ID) })
	return osds, nil
}

func parsePGs(out []byte) ([]PG, error) {
	var raw struct {
		PGs []struct {
			ID      string `json:"pgid"`
			State   string `json:"state"`
			Acting  []int  `json:"acting"`
			Primary int    `json:"acting_primary"`
		} `json:"pg_stats"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	pgs := make([]PG, 0, len(raw.PGs))
	for _, pg := range raw.PGs {
		pool, _, _ := strings.Cut(pg.ID, ".") // 3.1f is a PG of pool 3
		id, err := strconv.ParseInt(pool, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("placement group %q belongs to no pool", pg.ID)
		}
		pgs = append(pgs, PG{ID: pg.ID, State: pg.State, PoolID: id, Acting: onOSDs(pg.Acting), Primary: pg.Primary})
	}
	return pgs, nil
}

// parsePGsOn reads `pg ls-by-osd`. It refuses the answer of a ceph-mgr that has just started: such a
// ceph-mgr may list no placement groups although the OSD has some.
func parsePGsOn(out []byte) ([]PG, error) {
	var raw struct {
		Ready *bool             `json:"pg_ready"`
		PGs   []json.RawMessage `json:"pg_stats"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.Ready == nil || !*raw.Ready || raw.PGs == nil {
		return nil, errors.New("ceph-mgr does not know all placement groups yet")
	}
	return parsePGs(out)
}

// parseStrays counts the PGs that an OSD holds beyond the number of PGs that are mapped to it. Both numbers
// come from the same dump, but the number that an OSD holds is older. When a pool is deleted or PGs move,
// ceph-mgr changes the mapping with the next OSD map. The OSD counts the old PGs until it has removed them,
// and reports its number some seconds later. So removed strays may still be counted. Strays are missed only
// if PGs were mapped to an OSD after its last report, for example PGs of a new pool. The reported number may
// then be smaller than the number of mapped PGs.
func parseStrays(out []byte) (*Strays, error) {
	var raw struct {
		PGs []struct {
			Up     []int `json:"up"`
			Acting []int `json:"acting"`
		} `json:"pg_stats"`
		OSDs []struct {
			ID  int `json:"osd"`
			PGs int `json:"num_pgs"`
		} `json:"osd_stats"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.PGs == nil || raw.OSDs == nil {
		return nil, errors.New("it lacks PGs or OSDs")
	}
	mapped := map[int]int{}
	for _, pg := range raw.PGs {
		osds := slices.Concat(pg.Up, pg.Acting)
		slices.Sort(osds)
		for _, osd := range slices.Compact(osds) {
			mapped[osd]++
		}
	}
	strays := &Strays{}
	for _, osd := range raw.OSDs {
		if excess := osd.PGs - mapped[osd.ID]; excess > 0 {
			strays.OSDs++
			strays.PGs += excess
		}
	}
	return strays, nil
}

// treeNode is a bucket or an OSD of `ceph osd tree`.
type treeNode struct {
	ID          int     `json:"id"`
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	DeviceClass string  `json:"device_class"`
	Status      string  `json:"status"`
	Reweight    float64 `json:"reweight"`
	Children    []int   `json:"children"`
}

func parseOSDTree(out []byte) ([]OSDLocation, error) {
	var raw struct {
		Nodes []treeNode `json:"nodes"`
		// Stray holds the OSDs that are in no bucket.
		Stray []treeNode `json:"stray"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	above := map[int][]treeNode{}
	for _, node := range raw.Nodes {
		for _, child := range node.Children {
			above[child] = append(above[child], node)
		}
	}
	var osds []OSDLocation
	for _, node := range append(raw.Nodes, raw.Stray...) {
		if node.Type == "osd" {
			location := OSDLocation{ID: node.ID, DeviceClass: node.DeviceClass, Up: node.Status == "up", In: node.Reweight > 0}
			if buckets := bucketsOf(node.ID, above); len(buckets) > 0 {
				location.Buckets, location.Elsewhere = buckets[0], slices.Clip(buckets[1:])
			}
			if len(location.Elsewhere) == 0 {
				location.Elsewhere = nil
			}
			osds = append(osds, location)
		}
	}
	slices.SortFunc(osds, func(a, b OSDLocation) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(osds, func(a, b OSDLocation) bool { return a.ID == b.ID }), nil
}

// bucketsOf returns the buckets above an OSD, for each root that has the OSD. Those below the root "default" come first.
func bucketsOf(osd int, above map[int][]treeNode) []map[string]string {
	var all []map[string]string
	for _, parent := range above[osd] {
		buckets := map[string]string{}
		for bucket, levels := parent, 0; levels <= len(above); levels++ { // A hierarchy has at most one level per node.
			buckets[bucket.Type] = bucket.Name
			if len(above[bucket.ID]) == 0 {
				break
			}
			bucket = above[bucket.ID][0]
		}
		if buckets["root"] == "default" {
			all = slices.Insert(all, 0, buckets)
			continue
		}
		all = append(all, buckets)
	}
	return all
}

// noOSD is CRUSH_ITEM_NONE, which stands for a missing OSD in an acting set.
const noOSD = 0x7fffffff

func onOSDs(acting []int) []int {
	return slices.DeleteFunc(acting, func(osd int) bool { return osd == noOSD })
}

// seconds uses nanoseconds if Ceph printed them, because they are more precise. Some versions print only
// milliseconds.
func seconds(nanoseconds, milliseconds int64) float64 {
	if nanoseconds > 0 {
		return float64(nanoseconds) / 1e9
	}
	return float64(milliseconds) / 1e3
}

func parsePoolIO(out []byte) ([]PoolIO, error) {
	var raw []struct {
		Name string `json:"pool_name"`
		IO   rawIO  `json:"client_io_rate"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	pools := make([]PoolIO, 0, len(raw))
	for _, pool := range raw {
		pools = append(pools, PoolIO{
			Name:                    pool.Name,
			ReadOperationsPerSecond: pool.IO.ReadOpPerSec, WriteOperationsPerSecond: pool.IO.WriteOpPerSec,
			ReadBytesPerSecond: pool.IO.ReadBytesSec, WriteBytesPerSecond: pool.IO.WriteBytesSec,
		})
	}
	return pools, nil
}

func parseVersions(out []byte) (*Versions, error) {
	var raw map[string]map[string]int
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	v := VersionsOf(raw)
	return &v, nil
}

// VersionsOf returns the versions of daemons by their types, and of all daemons under "overall", as Ceph prints them
// and Rook copies them.
func VersionsOf(printed map[string]map[string]int) Versions {
	v := Versions{Overall: byNumber(printed["overall"]), OSD: byNumber(printed["osd"]), Daemons: map[string]map[string]int{}}
	for daemon, counts := range printed {
		if daemon != "overall" {
			v.Daemons[daemon] = byNumber(counts)
		}
	}
	return v
}

// byNumber shortens versions such as "ceph version 18.2.7 (6b0e…) reef (stable)" to "18.2.7".
func byNumber(counts map[string]int) map[string]int {
	short := make(map[string]int, len(counts))
	for text, count := range counts {
		if fields := strings.Fields(text); len(fields) > 2 && fields[1] == "version" {
			text = fields[2]
		}
		short[text] += count
	}
	return short
}

func parseConfigDump(out []byte) ([]ConfigEntry, error) {
	var raw []struct {
		Section string `json:"section"`
		Mask    string `json:"mask"`
		Name    string `json:"name"`
		Value   string `json:"value"`
		Level   string `json:"level"`
		Runtime bool   `json:"can_update_at_runtime"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	entries := make([]ConfigEntry, 0, len(raw))
	for _, entry := range raw {
		entries = append(entries, ConfigEntry(entry))
	}
	return entries, nil
}

func parseConfigHelp(out []byte) (*OptionHelp, error) {
	var raw struct {
		Name     string          `json:"name"`
		Type     string          `json:"type"`
		Level    string          `json:"level"`
		Desc     string          `json:"desc"`
		Default  json.RawMessage `json:"default"`
		Daemon   json.RawMessage `json:"daemon_default"`
		Min      json.RawMessage `json:"min"`
		Max      json.RawMessage `json:"max"`
		Enum     []string        `json:"enum_values"`
		Services []string        `json:"services"`
		Runtime  bool            `json:"can_update_at_runtime"`
		Flags    []string        `json:"flags"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.Name == "" || raw.Type == "" {
		return nil, errors.New("it describes no option")
	}
	return &OptionHelp{
		Known: true, Name: raw.Name, Type: raw.Type, Level: raw.Level, Description: raw.Desc,
		Default: plain(raw.Default), DaemonDefault: plain(raw.Daemon), Min: plain(raw.Min), Max: plain(raw.Max),
		Enum: raw.Enum, Services: raw.Services, Runtime: raw.Runtime, Flags: raw.Flags,
	}, nil
}

func parseConfigShow(out []byte) ([]RunningOption, error) {
	var raw []struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		Source  string `json:"source"`
		Ignores string `json:"ignores"`
		Hidden  []struct {
			Source string `json:"source"`
			Value  string `json:"value"`
		} `json:"overrides"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	options := make([]RunningOption, 0, len(raw))
	for _, o := range raw {
		option := RunningOption{Name: o.Name, Value: o.Value, Source: o.Source, Ignored: o.Ignores != ""}
		for _, hidden := range o.Hidden {
			if hidden.Source == "default" {
				option.Default = hidden.Value
			}
		}
		options = append(options, option)
	}
	return options, nil
}

func parseBalancer(out []byte) (*Balancer, error) {
	var raw struct {
		Active *bool    `json:"active"`
		Mode   string   `json:"mode"`
		Plans  []string `json:"plans"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.Active == nil {
		return nil, errors.New("it lacks the state of the balancer")
	}
	return &Balancer{Active: *raw.Active, Mode: raw.Mode, Plans: raw.Plans}, nil
}

func parseStop(out []byte) (*Stop, error) {
	var raw struct {
		OK     *bool `json:"ok_to_stop"`
		OSDs   []int `json:"osds"`
		PGs    int   `json:"num_ok_pgs"`
		BadPGs int   `json:"num_not_ok_pgs"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.OK == nil {
		return nil, errors.New("it does not say whether the OSD may be stopped")
	}
	return &Stop{OK: *raw.OK, OSDs: raw.OSDs, PGs: raw.PGs, BadPGs: raw.BadPGs}, nil
}

// parseRecovered reads the sums over all PGs.
func parseRecovered(out []byte) (*Recovered, error) {
	var raw struct {
		Map struct {
			Sum struct {
				Stats *struct {
					Objects int64 `json:"num_objects_recovered"`
					Bytes   int64 `json:"num_bytes_recovered"`
				} `json:"stat_sum"`
			} `json:"pg_stats_sum"`
		} `json:"pg_map"`
	}
	if err := decode(out, &raw); err != nil {
		return nil, err
	}
	if raw.Map.Sum.Stats == nil {
		return nil, errors.New("it has no sum of its PGs")
	}
	return &Recovered{Objects: raw.Map.Sum.Stats.Objects, Bytes: raw.Map.Sum.Stats.Bytes}, nil
}

// parseSessions returns the addresses of an entity's clients in the sessions of a monitor. A client has one address for
// each version of the messenger's protocol; most have only one.
func parseSessions(out []byte, entity string) ([]string, error) {
	var sessions []struct {
		Entity    string       `json:"entity_name"`
		Addresses rawAddresses `json:"addrs"`
	}
	if err := decode(out, &sessions); err != nil {
		return nil, err
	}
	var found []string
	for _, session := range sessions {
		for _, a := range session.Addresses.All {
			if address := fmt.Sprintf("%s/%d", a.Address, a.Number); session.Entity == entity && addressForm(address) == nil {
				found = append(found, address)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func parseImages(out []byte) ([]string, error) {
	var names []string
	if err := decode(out, &names); err != nil {
		return nil, err
	}
	return names, nil
}

// unreadable wraps the error of a parser. The command itself succeeded.
func unreadable(verb string, err error) error {
	return fmt.Errorf("%s: its output cannot be read: %w", commandLine(verb), err)
}
