package quiescence

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// Inputs are the observations that describe an environment.
type Inputs struct {
	FSID        string
	Versions    *ceph.Versions
	RookVersion string
	// KubernetesVersion is that of the API server; empty if unknown.
	KubernetesVersion string
	OSDs              []ceph.OSD
	// Devices say which kernel each OSD runs on.
	Devices []ceph.OSDDevice
	// DeviceClasses are those to which the scratch pools are confined; empty for all OSDs.
	DeviceClasses []string
	// Pools are the pools of the target.
	Pools  []ceph.Pool
	Config []ceph.ConfigEntry
	// Images has image digests by purpose, such as "tools".
	Images map[string]string
	// Nodes are the clients' nodes.
	Nodes []Node
	// Background describes the background load; empty without one. BackgroundNodes are its nodes.
	Background      string
	BackgroundNodes []Node
	// ConfinedTo are the OSDs to which the scratch pool is confined; empty if it is on all OSDs.
	ConfinedTo []int
	// InitialState is the state of the data at the start of each run. OSDCaches says what happens to the
	// OSDs' caches before each phase.
	InitialState v1alpha1.InitialState
	OSDCaches    v1alpha1.OSDCachePolicy
}

// Node is a node of Kubernetes. Its hardware is not recorded, because that would need a right to read all
// nodes.
type Node struct {
	Name string `json:"name"`
}

// Detail has the recorded facts about the environment of a result. It is stored with results, and
// its digest covers every field.
type Detail struct {
	FSID string `json:"fsid"`
	// CephVersions has the versions of the running daemons, sorted. It has no numbers of daemons, because
	// gateways come and go; the field OSDs counts the OSDs.
	CephVersions []string `json:"cephVersions"`
	RookVersion  string   `json:"rookVersion,omitempty"`
	// OSDs counts the OSDs of Inputs.DeviceClasses, or all OSDs of the cluster, by device class.
	OSDs []OSDClass `json:"osds"`
	// Pools has the settings of the target's pools, sorted by name. It omits fields that differ each time a
	// pool is created.
	Pools []ceph.Pool `json:"pools,omitempty"`
	// Config is the part of the central configuration that can affect the target. It excludes the
	// entries of managers, MDSs, gateways and ceph-exporter, and options whose names suggest secrets.
	Config []ceph.ConfigEntry `json:"config,omitempty"`
	Images map[string]string  `json:"images,omitempty"`
	Nodes  []Node             `json:"nodes,omitempty"`
	// Background and BackgroundNodes are copied from Inputs.
	Background      string `json:"background,omitempty"`
	BackgroundNodes []Node `json:"backgroundNodes,omitempty"`
	// ConfinedTo is copied from Inputs.
	ConfinedTo []int `json:"confinedTo,omitempty"`
	// InitialState and OSDCaches are copied from Inputs; empty for Keep.
	InitialState v1alpha1.InitialState   `json:"initialState,omitempty"`
	OSDCaches    v1alpha1.OSDCachePolicy `json:"osdCaches,omitempty"`
	// KubernetesVersion and Kernels are unknown in results of earlier versions. Kernels has the releases under the OSDs
	// that the field OSDs counts, sorted, at most mostKernels of them.
	KubernetesVersion string   `json:"kubernetesVersion,omitempty"`
	Kernels           []string `json:"kernels,omitempty"`
}

// mostKernels bounds Kernels. Few clusters have more than two, and those during an upgrade.
const mostKernels = 16

// OSDClass describes the OSDs of one device class.
type OSDClass struct {
	DeviceClass string `json:"deviceClass"`
	Count       int32  `json:"count"`
	TotalBytes  int64  `json:"totalBytes"`
}

// Describe returns the canonical form of an environment, independent of the order of the
// observations.
func Describe(in Inputs) Detail {
	d := Detail{
		FSID: in.FSID, RookVersion: in.RookVersion,
		OSDs: classes(in.OSDs, in.DeviceClasses), Images: maps.Clone(in.Images),
		Nodes: sortedNodes(in.Nodes), Background: in.Background, BackgroundNodes: sortedNodes(in.BackgroundNodes),
		ConfinedTo:        slices.Sorted(slices.Values(in.ConfinedTo)),
		KubernetesVersion: in.KubernetesVersion, Kernels: kernels(in),
	}
	if in.InitialState != v1alpha1.InitialStateKeep {
		d.InitialState = in.InitialState
	}
	if in.OSDCaches != v1alpha1.OSDCachesKeep {
		d.OSDCaches = in.OSDCaches
	}
	if in.Versions != nil {
		d.CephVersions = slices.Sorted(maps.Keys(in.Versions.OfLoad()))
	}
	for _, pool := range in.Pools {
		d.Pools = append(d.Pools, lasting(pool))
	}
	slices.SortFunc(d.Pools, func(a, b ceph.Pool) int { return cmp.Compare(a.Name, b.Name) })
	for _, entry := range in.Config {
		if matters(entry) {
			d.Config = append(d.Config, ceph.ConfigEntry{Section: entry.Section, Mask: entry.Mask, Name: entry.Name, Value: entry.Value})
		}
	}
	slices.SortFunc(d.Config, func(a, b ceph.ConfigEntry) int { return cmp.Compare(configKey(a), configKey(b)) })
	return d
}

func sortedNodes(nodes []Node) []Node {
	return slices.SortedFunc(slices.Values(nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
}

// Fingerprint returns the part of an environment that a status contains: its FSID, digest, versions and
// number of OSDs.
func Fingerprint(d Detail) (v1alpha1.Environment, error) {
	canonical, err := json.Marshal(d)
	if err != nil {
		return v1alpha1.Environment{}, fmt.Errorf("describe the environment: %w", err)
	}
	digest := sha256.Sum256(canonical)
	e := v1alpha1.Environment{
		FSID: d.FSID, CephVersion: d.cephVersion(), RookVersion: d.RookVersion,
		Digest: "sha256:" + hex.EncodeToString(digest[:]),
	}
	for _, class := range d.OSDs {
		e.TotalOSDs += class.Count
	}
	return e, nil
}

// cephVersion returns the version that all daemons run, or "mixed"; "" if unknown.
func (d Detail) cephVersion() string {
	switch len(d.CephVersions) {
	case 0:
		return ""
	case 1:
		return d.CephVersions[0]
	default:
		return "mixed"
	}
}

func classes(osds []ceph.OSD, only []string) []OSDClass {
	byName := map[string]OSDClass{}
	for _, osd := range osds {
		if len(only) > 0 && !slices.Contains(only, osd.DeviceClass) {
			continue
		}
		class := byName[osd.DeviceClass]
		byName[osd.DeviceClass] = OSDClass{DeviceClass: osd.DeviceClass, Count: class.Count + 1, TotalBytes: class.TotalBytes + osd.TotalBytes}
	}
	all := make([]OSDClass, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}

// kernels returns the releases under the OSDs of the device class. It names no nodes: those of OSDs come and go.
func kernels(in Inputs) (all []string) {
	counts := map[int]bool{}
	for _, osd := range in.OSDs {
		counts[osd.ID] = len(in.DeviceClasses) == 0 || slices.Contains(in.DeviceClasses, osd.DeviceClass)
	}
	for _, device := range in.Devices {
		if counts[device.ID] && device.Kernel != "" {
			all = append(all, device.Kernel)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), mostKernels)]
}

// lasting returns a pool without its ID and CRUSH rule, whose numbers Ceph assigns. Of the numbers
// of PGs it keeps only pg_num, because the others may still be changing.
func lasting(pool ceph.Pool) ceph.Pool {
	pool.ID, pool.CrushRule = 0, 0
	pool.PGNumTarget, pool.PGNumPending, pool.PGPlacementNum, pool.PGPlacementTarget = 0, 0, 0, 0
	pool.Flags = slices.Sorted(slices.Values(pool.Flags))
	return pool
}

// secret matches the names of options that contain secrets.
var secret = regexp.MustCompile(`(?i)password|secret|token|passphrase|(^|[_/])key$`)

// matters reports whether an entry can affect the speed of OSDs and clients, and has no secret. It accepts
// osd_mclock_max_capacity_iops_*, which OSDs measure and set themselves.
func matters(entry ceph.ConfigEntry) bool {
	for _, section := range []string{"mgr", "mds", "client.rgw", "client.ceph-exporter"} {
		if entry.Section == section || strings.HasPrefix(entry.Section, section+".") {
			return false
		}
	}
	for _, beginning := range []string{"mgr/", "mgr_", "mds_", "rgw_"} {
		if strings.HasPrefix(entry.Name, beginning) {
			return false
		}
	}
	return !secret.MatchString(entry.Name)
}

func configKey(entry ceph.ConfigEntry) string {
	key := entry.Section
	if entry.Mask != "" {
		key += "/" + entry.Mask
	}
	return key + " " + entry.Name
}

// Compare describes the differences of two environments, from a to b; empty if their digests are equal. What only one of
// them has recorded because the other is of an earlier version is no difference.
func Compare(a, b Detail) []string {
	old, current := a.facts(), b.facts()
	for _, name := range []string{factKubernetes, factKernels} {
		if old[name] == "" || current[name] == "" {
			delete(old, name)
			delete(current, name)
		}
	}
	return compare(old, current)
}

// CompareWorkload is like Compare, but only for the facts that define the workload: the cluster, the pools'
// type, size and erasure-code profile, how data is prepared, and the background load. Versions, OSDs,
// configuration, other settings of pools, images and nodes may differ: a benchmark with a reference exists to
// judge such changes.
func CompareWorkload(a, b Detail) []string { return compare(a.workload(), b.workload()) }

// compare lists the differences between facts, in the order of their names.
func compare(old, current map[string]string) []string {
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(union(old, current))) {
		before, had := old[name]
		after, ok := current[name]
		switch {
		case !had:
			differences = append(differences, fmt.Sprintf("%s: %s, and was absent before", name, after))
		case !ok:
			differences = append(differences, fmt.Sprintf("%s: was %s, and is absent now", name, before))
		case before != after:
			differences = append(differences, fmt.Sprintf("%s: %s, and was %s", name, after, before))
		}
	}
	return differences
}

// These facts are absent if they are unknown.
const (
	factKubernetes = "Kubernetes version"
	factKernels    = "kernel under OSDs"
)

// These are the names of the workload's facts, except those about pools: see poolFact.
const (
	factCluster      = "cluster"
	factInitialState = "initial state of the data"
	factOSDCaches    = "OSD caches before each phase"
	factBackground   = "background"
)

// workload returns the facts that belong to the workload.
func (d Detail) workload() map[string]string {
	names := []string{factCluster, factInitialState, factOSDCaches, factBackground}
	for _, pool := range d.Pools {
		for _, field := range []string{"type", "size", "erasure_code_profile"} {
			names = append(names, poolFact(pool, field))
		}
	}
	facts := d.facts()
	maps.DeleteFunc(facts, func(name, _ string) bool { return !slices.Contains(names, name) })
	return facts
}

func poolFact(pool ceph.Pool, field string) string { return "pool " + pool.Name + " " + field }

// facts returns the values of a Detail by name, except the pools' DataChunks.
func (d Detail) facts() map[string]string {
	facts := map[string]string{
		factCluster:    cmp.Or(d.FSID, "unknown"),
		"Ceph version": cmp.Or(strings.Join(d.CephVersions, " and "), "unknown"),
		"Rook version": cmp.Or(d.RookVersion, "unknown"),

		factInitialState: string(cmp.Or(d.InitialState, v1alpha1.InitialStateKeep)),
		factOSDCaches:    string(cmp.Or(d.OSDCaches, v1alpha1.OSDCachesKeep)),
	}
	for _, class := range d.OSDs {
		facts["OSDs of class "+cmp.Or(class.DeviceClass, "(none)")] = fmt.Sprintf("%d of %d bytes together", class.Count, class.TotalBytes)
	}
	if len(d.ConfinedTo) > 0 {
		facts["OSDs of the scratch pool"] = strings.Trim(fmt.Sprint(d.ConfinedTo), "[]")
	}
	for _, pool := range d.Pools {
		poolFacts(facts, pool)
	}
	for _, entry := range d.Config {
		facts["config "+configKey(entry)] = cmp.Or(entry.Value, "(empty)")
	}
	for name, digest := range d.Images {
		facts["image "+name] = cmp.Or(digest, "unknown")
	}
	for _, node := range d.Nodes {
		facts["node "+node.Name] = "with clients"
	}
	if d.Background != "" {
		facts[factBackground] = d.Background
	}
	if d.KubernetesVersion != "" {
		facts[factKubernetes] = d.KubernetesVersion
	}
	if len(d.Kernels) > 0 {
		facts[factKernels] = strings.Join(d.Kernels, " and ")
	}
	for _, node := range d.BackgroundNodes {
		facts["node of the background load "+node.Name] = "with clients"
	}
	return facts
}

func poolFacts(facts map[string]string, pool ceph.Pool) {
	for name, value := range map[string]any{
		"type": pool.Type, "size": pool.Size, "min_size": pool.MinSize, "pg_num": pool.PGNum,
		"pg_autoscale_mode": pool.AutoscaleMode, "erasure_code_profile": pool.ErasureCodeProfile,
		"quota_max_bytes": pool.QuotaMaxBytes, "quota_max_objects": pool.QuotaMaxObjects,
		"applications": pool.ApplicationMetadata, "flags": strings.Join(pool.Flags, ","),
	} {
		facts[poolFact(pool, name)] = cmp.Or(fmt.Sprint(value), "(none)")
	}
	for name, value := range pool.Options {
		facts[poolFact(pool, name)] = cmp.Or(value, "(empty)")
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
