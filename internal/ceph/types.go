package ceph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Error is Ceph's answer to a verb that it refused or could not carry out.
type Error struct {
	// Verb is the command of Ceph, such as "osd pool set".
	Verb string `json:"verb"`
	// Errno is the positive error number, such as 13 for EACCES; 0 if it is not known.
	Errno int `json:"errno,omitempty"`
	// Message is Ceph's message, without the key, and without lines of Ceph's log unless Ceph printed nothing
	// else. If Ceph printed nothing at all, Message is the exit status.
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string {
	message := e.Message
	if message == "" || message == "Error ENOENT:" { // Ceph prints some errors without a message.
		message = fmt.Sprintf("refused without a message (errno %d)", e.Errno)
	}
	return commandLine(e.Verb) + ": " + message
}

// Unwrap makes errors.Is match the error number, such as syscall.EACCES, and so fs.ErrPermission and
// fs.ErrNotExist too. If Ceph itself gave up waiting, errors.Is matches context.DeadlineExceeded.
func (e *Error) Unwrap() []error {
	switch syscall.Errno(e.Errno) {
	case 0:
		return nil
	case syscall.ETIMEDOUT:
		return []error{syscall.ETIMEDOUT, context.DeadlineExceeded}
	default:
		return []error{syscall.Errno(e.Errno)}
	}
}

// Denied reports whether Ceph refused the verb with EACCES because the caps of the key do not allow it. It
// returns false if Ceph does not know the key, for example because the key was just replaced. Ceph returns
// EACCES in that case, too.
func (e *Error) Denied() bool {
	return syscall.Errno(e.Errno) == syscall.EACCES && !strings.Contains(e.Message, "error connecting to the cluster")
}

// InvalidError reports a request that was refused before it changed anything, mostly because of its
// arguments.
type InvalidError struct{ Message string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Message }

// Status is the result of `ceph status`.
type Status struct {
	FSID   string `json:"fsid"`
	Health Health `json:"health"`
	// OSDs counts the OSDs that exist, UpOSDs those that are up, and InOSDs those that are in.
	OSDs   int `json:"osds"`
	UpOSDs int `json:"upOSDs"`
	InOSDs int `json:"inOSDs"`
	// OSDsUpSince is when any OSD last went up or down, and OSDsInSince when any OSD last went in or out, in
	// seconds since 1970. A change reveals an OSD that restarted between two samples.
	OSDsUpSince int64 `json:"osdsUpSince"`
	OSDsInSince int64 `json:"osdsInSince"`
	// PGs counts all placement groups. PGsByState counts them by state, such as "active+clean+scrubbing".
	PGs        int            `json:"pgs"`
	PGsByState map[string]int `json:"pgsByState"`
	// DegradedObjects and MisplacedObjects count copies of objects. UnfoundObjects counts objects.
	DegradedObjects  int64 `json:"degradedObjects"`
	MisplacedObjects int64 `json:"misplacedObjects"`
	UnfoundObjects   int64 `json:"unfoundObjects"`
	// These are the current rates of clients and recovery, averaged by Ceph over some seconds.
	ReadOperationsPerSecond  int64 `json:"readOperationsPerSecond"`
	WriteOperationsPerSecond int64 `json:"writeOperationsPerSecond"`
	ReadBytesPerSecond       int64 `json:"readBytesPerSecond"`
	WriteBytesPerSecond      int64 `json:"writeBytesPerSecond"`
	RecoveryBytesPerSecond   int64 `json:"recoveryBytesPerSecond"`
	RecoveryObjectsPerSecond int64 `json:"recoveryObjectsPerSecond"`
	// ManagerActive reports whether a ceph-mgr is active.
	ManagerActive bool `json:"managerActive"`
	// Monitors counts the monitors. QuorumNames lists the monitors in quorum.
	Monitors    int      `json:"monitors"`
	QuorumNames []string `json:"quorumNames"`
}

// DownInOSDs returns the number of OSDs that are in but not up: the larger of two numbers. The
// difference of InOSDs and UpOSDs is too small if an OSD is up but out. The count of the health check OSD_DOWN
// is too small for some seconds after an OSD went down.
func (s *Status) DownInOSDs() int {
	down := s.InOSDs - s.UpOSDs
	for _, check := range s.Health.Checks {
		if check.Code == "OSD_DOWN" {
			down = max(down, check.Count)
		}
	}
	return down
}

// Health is Ceph's own judgement.
type Health struct {
	// Status is HEALTH_OK, HEALTH_WARN or HEALTH_ERR.
	Status string `json:"status"`
	// Checks holds the health checks that are not OK, sorted by code.
	Checks []HealthCheck `json:"checks,omitempty"`
}

// HealthCheck is one health check of Ceph that is not OK.
type HealthCheck struct {
	Code     string `json:"code"`
	Severity string `json:"severity"` // HEALTH_WARN or HEALTH_ERR
	Summary  string `json:"summary"`
	// Count is the number of things that the check is about, such as pools, OSDs, placement groups or keys; 0 if
	// the check has no such number.
	Count int  `json:"count,omitempty"`
	Muted bool `json:"muted,omitempty"`
}

// OSDMap is the result of `ceph osd dump`.
type OSDMap struct {
	FSID  string `json:"fsid"`
	Epoch int64  `json:"epoch"`
	// Flags holds the flags of the cluster, such as "noout". It omits flags that every cluster has.
	Flags []string `json:"flags,omitempty"`
	Pools []Pool   `json:"pools"`
	// The ratios are shares of an OSD's space. Ceph blocks writes if an OSD exceeds FullRatio, refuses
	// backfills to an OSD above BackfillFullRatio, and warns above NearFullRatio.
	FullRatio         float64 `json:"fullRatio"`
	BackfillFullRatio float64 `json:"backfillFullRatio"`
	NearFullRatio     float64 `json:"nearFullRatio"`
	// OSDs holds all OSDs that exist, sorted by ID.
	OSDs []OSDState `json:"osds,omitempty"`
	// PGUpmaps holds the OSDs that "osd pg-upmap" has assigned to placement groups, the primary first. The
	// keys are the IDs of the placement groups, such as 3.1f.
	PGUpmaps map[string][]int `json:"pgUpmaps,omitempty"`
	// MinCompatClient is the oldest release of clients that the cluster has to serve, such as "luminous".
	// Releases before luminous do not understand PGUpmaps.
	MinCompatClient string `json:"minCompatClient,omitempty"`
}

// OSDState is the entry of an OSD in the OSD map.
type OSDState struct {
	ID int  `json:"id"`
	Up bool `json:"up"`
	// UpFrom is the epoch of the OSD map in which the OSD last came up. If it is later than the epoch in
	// which the OSD was stopped, the OSD has come up again.
	UpFrom int64 `json:"upFrom"`
	// Flags holds the flags of this single OSD, such as "noup".
	Flags []string `json:"flags,omitempty"`
	// DownSince is when the OSD was last marked down, even if it is up now; zero if it never was down.
	DownSince time.Time `json:"downSince,omitzero"`
	// Address is where the OSD serves clients by version 2 of the messenger's protocol: an IP address and a port; "" without one.
	Address string `json:"address,omitempty"`
}

// Pool is a pool with its settings.
type Pool struct {
	ID                 int64  `json:"id"`
	Name               string `json:"name"`
	Type               string `json:"type"` // replicated or erasure
	Size               int    `json:"size"`
	MinSize            int    `json:"minSize"`
	CrushRule          int    `json:"crushRule"`
	PGNum              int    `json:"pgNum"`
	PGNumTarget        int    `json:"pgNumTarget"`
	PGNumPending       int    `json:"pgNumPending"`
	PGPlacementNum     int    `json:"pgPlacementNum"`
	PGPlacementTarget  int    `json:"pgPlacementTarget"`
	AutoscaleMode      string `json:"autoscaleMode"`
	ErasureCodeProfile string `json:"erasureCodeProfile,omitempty"`
	// DataChunks is k of the erasure-code profile; 0 for a replicated pool, or if Ceph does not
	// report it.
	DataChunks          int    `json:"dataChunks,omitempty"`
	QuotaMaxBytes       int64  `json:"quotaMaxBytes,omitempty"`
	QuotaMaxObjects     int64  `json:"quotaMaxObjects,omitempty"`
	ApplicationMetadata string `json:"applicationMetadata,omitempty"` // the names of its applications, sorted, separated by commas
	// Options holds further options of `osd pool set` that are set, such as compression_mode.
	Options map[string]string `json:"options,omitempty"`
	// Flags holds the flags of the pool, such as "nopgchange".
	Flags []string `json:"flags,omitempty"`
}

// PoolNamed returns the pool with a name; nil if there is none.
func PoolNamed(pools []Pool, name string) *Pool {
	if i := slices.IndexFunc(pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
		return &pools[i]
	}
	return nil
}

// OSD is one OSD in the result of `ceph osd df`.
type OSD struct {
	ID             int    `json:"id"`
	DeviceClass    string `json:"deviceClass"`
	Status         string `json:"status"` // up or down
	TotalBytes     int64  `json:"totalBytes"`
	UsedBytes      int64  `json:"usedBytes"`
	AvailableBytes int64  `json:"availableBytes"`
	PGs            int    `json:"pgs"`
}

// DF is the capacity of a cluster and its pools, from `ceph df detail`.
type DF struct {
	TotalBytes     int64    `json:"totalBytes"`
	UsedRawBytes   int64    `json:"usedRawBytes"`
	AvailableBytes int64    `json:"availableBytes"`
	Pools          []PoolDF `json:"pools"`
}

// PoolDF is the usage of one pool.
type PoolDF struct {
	Name string `json:"name"`
	ID   int64  `json:"id"`
	// StoredBytes counts the bytes that clients wrote. UsedBytes counts the space that these bytes take on
	// OSDs, with copies or coding chunks, and after compression.
	StoredBytes int64 `json:"storedBytes"`
	UsedBytes   int64 `json:"usedBytes"`
	Objects     int64 `json:"objects"`
}

// OSDLatency is a row of `ceph osd perf`.
type OSDLatency struct {
	ID            int     `json:"id"`
	CommitSeconds float64 `json:"commitSeconds"`
	ApplySeconds  float64 `json:"applySeconds"`
}

// OSDIO is the client I/O of an OSD as primary. It excludes replica writes, recovery and scrubs. ceph-mgr
// computes it from the last two reports of the OSD. Reports come every five seconds (mgr_stats_period).
// Sometimes two reports come within one second; then all values are 0.
type OSDIO struct {
	ID                       int     `json:"id"`
	ReadOperationsPerSecond  float64 `json:"readOperationsPerSecond"`
	WriteOperationsPerSecond float64 `json:"writeOperationsPerSecond"`
	ReadBytesPerSecond       float64 `json:"readBytesPerSecond"`
	WriteBytesPerSecond      float64 `json:"writeBytesPerSecond"`
}

// Average says how often something has happened in a daemon, and how long that took altogether.
type Average struct {
	Count   int64   `json:"count"`
	Seconds float64 `json:"seconds"`
}

// OSDCounters are averages that an OSD has counted since it started. ceph-mgr has the counters of the latest report,
// and reports come every five seconds (mgr_stats_period).
type OSDCounters struct {
	ID int `json:"id"`
	// Write and Read are operations of clients, from their receipt to the reply. Processing begins when an operation
	// leaves the queue. Preparing ends when the work was handed to the store, and to the OSDs of the other copies.
	Write           Average `json:"write"`
	WriteProcessing Average `json:"writeProcessing"`
	WritePreparing  Average `json:"writePreparing"`
	Read            Average `json:"read"`
	ReadProcessing  Average `json:"readProcessing"`
	// Submit and Commit are transactions of BlueStore: the call that submits one, and the time until it is on the disk.
	// Copies that the OSD keeps for others are among them. StoreRead is BlueStore's reading.
	Submit    Average `json:"submit"`
	Commit    Average `json:"commit"`
	StoreRead Average `json:"storeRead"`
}

// OSDLocation is where an OSD is in the CRUSH hierarchy.
type OSDLocation struct {
	ID          int    `json:"id"`
	DeviceClass string `json:"deviceClass,omitempty"`
	Up          bool   `json:"up"`
	In          bool   `json:"in"`
	// Buckets holds the name of each bucket that contains the OSD, by bucket type, such as
	// "host". If the OSD is in several roots, they are those below the root "default", or else those below the
	// first root that Ceph prints.
	Buckets map[string]string `json:"buckets,omitempty"`
	// Elsewhere has the buckets below each other root.
	Elsewhere []map[string]string `json:"elsewhere,omitempty"`
}

// Below returns the buckets of the OSD below a root; nil if the OSD is not in that root.
func (l OSDLocation) Below(root string) map[string]string {
	for _, buckets := range append([]map[string]string{l.Buckets}, l.Elsewhere...) {
		if buckets["root"] == root {
			return buckets
		}
	}
	return nil
}

// OSDDevice is what an OSD has said about its host and devices when it last started.
type OSDDevice struct {
	ID   int    `json:"id"`
	Host string `json:"host,omitempty"`
	// Kernel is the release of its kernel, such as "6.8.0-45-generic".
	Kernel string `json:"kernel,omitempty"`
	// Names lists the kernel's names of its block devices, such as "sda" or "loop0,nvme0n1".
	Names string `json:"names,omitempty"`
	// Rotational reports whether the kernel takes the device of the data for a hard disk.
	Rotational bool `json:"rotational"`
	// DedicatedDB reports whether BlueStore keeps its database on another device than the data.
	DedicatedDB bool `json:"dedicatedDB"`
}

// PGPlacement names the OSDs that are to serve a placement group.
type PGPlacement struct {
	// Number is the number of the placement group in its pool, from 0.
	Number int `json:"number"`
	// OSDs holds the IDs of the OSDs, the primary first.
	OSDs []int `json:"osds"`
}

// ID returns Ceph's name of the placement group in a pool.
func (p PGPlacement) ID(pool int64) string { return fmt.Sprintf("%d.%x", pool, p.Number) }

// PG is a placement group.
type PG struct {
	// ID is the name of the placement group, such as 3.1f.
	ID string `json:"id,omitempty"`
	// State is the state that Ceph prints, such as active+clean.
	State string `json:"state,omitempty"`
	// PoolID is the ID of the pool that contains the placement group.
	PoolID int64 `json:"poolID"`
	// Acting holds the IDs of the OSDs that serve the placement group. Primary is the ID of the OSD that
	// clients talk to; -1 if no OSD is primary.
	Acting  []int `json:"acting"`
	Primary int   `json:"primary"`
}

// Strays counts PGs that OSDs still hold although the PGs are no longer mapped to them: PGs of deleted
// pools, and copies that were moved away. OSDs remove strays in the background.
type Strays struct {
	// OSDs is the number of OSDs that hold strays.
	OSDs int `json:"osds"`
	// PGs is the number of strays; a PG counts once for each OSD that holds it.
	PGs int `json:"pgs"`
}

// PoolIO is the present client I/O of a pool.
type PoolIO struct {
	Name                     string `json:"name"`
	ReadOperationsPerSecond  int64  `json:"readOperationsPerSecond"`
	WriteOperationsPerSecond int64  `json:"writeOperationsPerSecond"`
	ReadBytesPerSecond       int64  `json:"readBytesPerSecond"`
	WriteBytesPerSecond      int64  `json:"writeBytesPerSecond"`
}

// Versions counts daemons by version.
type Versions struct {
	// Overall counts all daemons, such as {"18.2.7": 7}. OSD counts only OSDs.
	Overall map[string]int `json:"overall"`
	OSD     map[string]int `json:"osd"`
	// Daemons counts the daemons of each type, such as "osd" or "rgw".
	Daemons map[string]map[string]int `json:"daemons,omitempty"`
}

// OfLoad counts the daemons by version whose version matters for a load: monitors, managers, OSDs, and the MDS,
// which serve volumes of CephFS. Others, such as gateways and mirrors, are clients of their own. If the types
// of daemons are unknown, it counts all.
func (v Versions) OfLoad() map[string]int {
	counts := map[string]int{}
	for _, daemon := range []string{"mon", "mgr", "osd", "mds"} {
		for version, count := range v.Daemons[daemon] {
			counts[version] += count
		}
	}
	if len(counts) == 0 {
		return v.Overall
	}
	return counts
}

// Others describes the daemons that do not matter for a load and have a version that those of the load lack, such
// as "rgw: 1 of 17.2.6".
func (v Versions) Others() []string {
	var others []string
	matter := v.OfLoad()
	for _, daemon := range slices.Sorted(maps.Keys(v.Daemons)) {
		for _, version := range slices.Sorted(maps.Keys(v.Daemons[daemon])) {
			if _, known := matter[version]; !known {
				others = append(others, fmt.Sprintf("%s: %d of %s", daemon, v.Daemons[daemon][version], version))
			}
		}
	}
	return others
}

// ConfigEntry is one entry of the central configuration.
type ConfigEntry struct {
	Section string `json:"section"`
	Mask    string `json:"mask,omitempty"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Level   string `json:"level,omitempty"`
	Runtime bool   `json:"runtime"`
}
