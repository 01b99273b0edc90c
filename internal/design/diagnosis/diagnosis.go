// Package diagnosis finds out why a Ceph cluster is slow. [Judge] goes through a list of known causes, each with a
// threshold whose source stands beside it, and in docs/diagnose.md. It decides only from what any reader of Ceph's
// monitors and manager can see. [Layers] splits the time of an operation, if a client measured one.
//
// The package is pure: no clock, no input or output, no randomness.
package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Facts are observations of a cluster. Statuses has at least one entry, the latest last.
type Facts struct {
	// Namespace is that of the diagnosis. Remedies name it.
	Namespace string
	// Pool is the pool that seems slow; "" if none was named. If it is set, it exists.
	Pool     string
	OSDMap   *ceph.OSDMap
	OSDs     []ceph.OSD
	PGs      []ceph.PG
	Versions *ceph.Versions
	Config   []ceph.ConfigEntry
	Statuses []*ceph.Status
	// Latencies are those that OSDs reported, and Work is the client I/O of OSDs during that time.
	Latencies []archive.OSDSample
	Work      []ceph.OSDIO
	// Intervals has what OSDs counted, in intervals in which all had the same kind of load; none if that was not read.
	Intervals []Interval
	// Devices, Balancer and Running are missing if they could not be read; Unread then says why. Running has
	// Options of some OSDs of each device class.
	Devices  []ceph.OSDDevice
	Balancer *ceph.Balancer
	Running  []ceph.Running
	Unread   []string
	// LayersAsked says that layers are to be measured, and Layers where operations spend their time, once that was measured.
	LayersAsked bool
	Layers      []v1alpha1.OperationTime
	// Host is the node of the client that measured layers; nil if there was none.
	Host *Host
}

// Options returns the options that Running should have.
func Options() []string {
	return []string{
		memoryTarget, "osd_op_queue", "osd_mclock_profile", "ms_cluster_mode", "ms_service_mode", "ms_osd_compress_mode",
	}
}

// check looks for one cause. The function find returns nil if there is no evidence for it, and can reports whether there
// could have been some; a nil function stands for true.
type check struct {
	code string
	find func(Facts) *v1alpha1.Finding
	can  func(Facts) bool
}

func (f Facts) knowDevices() bool { return len(f.Devices) > 0 }
func (f Facts) knowRunning() bool { return len(f.Running) > 0 }
func (f Facts) knowPool() bool    { return f.Pool != "" }
func (f Facts) knowBesides() bool { return whyNotBesides(f) == "" }
func (f Facts) knowLayers() bool  { return f.confirmed() != nil }

// checks returns all checks. Among findings of the same confidence, the earlier one comes first.
func checks() []check {
	return []check{
		{"WriteTime", writeTime, Facts.knowLayers}, // It is only Possible, and says more than the others that are.
		{"IOStopped", ioStopped, nil},
		{"PGsInactive", pgsInactive, nil},
		{"DaemonsDown", daemonsDown, nil},
		{"SlowOperations", slowOperations, nil},
		{"SlowNetwork", slowNetwork, nil},
		{"SlowOSDs", slowOSDs, Facts.knowBesides},
		{"SlowRoundTrip", slowRoundTrip, Facts.knowRoundTrips},
		{"NetworkLoss", networkLoss, Facts.knowLoss},
		{"MTUMismatch", mtuMismatch, Facts.knowSizes},
		{"HostCPUSaturated", hostCPUSaturated, Facts.knowBusy},
		{"CPUSteal", cpuSteal, Facts.knowStolen},
		{"ClientThrottled", clientThrottled, Facts.knowThrottled},
		{"SpaceLow", spaceLow, nil},
		{"RecoveryAtWork", recoveryAtWork, nil},
		{"FewPGs", fewPGs, nil},
		{"MClockCapacity", mclockCapacity, Facts.knowDevices},
		{"MClockProfile", mclockProfile, Facts.knowRunning},
		{"PGsChanging", pgsChanging, nil},
		{"UnevenPGs", unevenPGs, nil},
		{"MemoryTarget", memoryTargets, Facts.knowRunning},
		{"DeviceClass", deviceClass, Facts.knowDevices},
		{"LoopDevices", loopDevices, Facts.knowDevices},
		{"DebugLogs", debugLogs, nil},
		{"ScrubsAtWork", scrubsAtWork, nil},
		{"SnapshotsTrimmed", snapshotsTrimmed, nil},
		{"CPUGovernor", cpuGovernor, Facts.knowGovernor},
		{"NoFastDB", noFastDB, Facts.knowDevices},
		{"ManyPGs", manyPGs, nil},
		{"PoolCompressed", poolCompressed, Facts.knowPool},
		{"Encrypted", encrypted, Facts.knowRunning},
		{"MessagesCompressed", messagesCompressed, Facts.knowRunning},
		{"MixedVersions", mixedVersions, nil},
		{"HealthWarnings", healthWarnings, nil},
	}
}

// Judge returns the causes for which the facts have evidence, and what could not be checked.
func Judge(f Facts) v1alpha1.DiagnosisResult {
	r := v1alpha1.DiagnosisResult{Samples: int32(len(f.Statuses)), Operations: f.Layers, OSDs: sideBySide(f)} //nolint:gosec // At most ten minutes of samples.
	for _, c := range checks() {
		if c.can == nil || c.can(f) {
			r.Checked = append(r.Checked, c.code)
		}
		if finding := c.find(f); finding != nil {
			finding.Code = c.code
			r.Findings = append(r.Findings, bounded(*finding))
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b v1alpha1.Finding) int { return cmp.Compare(rank(a.Confidence), rank(b.Confidence)) })
	for len(r.Findings) > mostFindings {
		last := r.Findings[len(r.Findings)-1].Code
		r.Findings = r.Findings[:len(r.Findings)-1]
		r.Checked = slices.DeleteFunc(r.Checked, func(code string) bool { return code == last }) // Or it would seem not to be found.
	}
	r.Unchecked = unchecked(f)
	return r
}

// rank is 0 for the surest findings.
func rank(c v1alpha1.Confidence) int {
	return slices.Index([]v1alpha1.Confidence{v1alpha1.ConfidenceCertain, v1alpha1.ConfidenceLikely, v1alpha1.ConfidencePossible}, c)
}

// These are limits of fields of the API.
const (
	mostFindings       = 16
	mostEvidence       = 4
	mostBytesMessage   = 256
	mostBytesEvidence  = 160
	mostBytesRemedy    = 320
	mostUnchecked      = 10
	mostBytesUnchecked = 192
)

func bounded(f v1alpha1.Finding) v1alpha1.Finding {
	f.Message, f.Remedy = ellipsis.Cut(f.Message, mostBytesMessage), ellipsis.Cut(f.Remedy, mostBytesRemedy)
	if more := len(f.Evidence) - mostEvidence; more > 0 {
		f.Evidence = append(f.Evidence[:mostEvidence-1:mostEvidence-1], fmt.Sprintf("and %d more", more+1))
	}
	for i := range f.Evidence {
		f.Evidence[i] = ellipsis.Cut(f.Evidence[i], mostBytesEvidence)
	}
	return f
}

// found returns a finding without its code. A message that is too long is cut.
func found(sure v1alpha1.Confidence, remedy string, evidence []string, message string, args ...any) *v1alpha1.Finding {
	return &v1alpha1.Finding{Confidence: sure, Message: fmt.Sprintf(message, args...), Remedy: remedy, Evidence: evidence}
}

// unchecked lists what a user might expect to have been checked. The first entries are those that can change.
func unchecked(f Facts) []string {
	all := slices.Clone(f.Unread)
	if reason := whyNotBesides(f); reason != "" {
		all = append(all, "OSDs were not compared: "+reason)
	}
	if len(f.Intervals) == 0 {
		all = append(all, "The own times of OSDs, because their counters were not read: only commit latencies could be compared.")
	}
	if f.Pool == "" {
		all = append(all, "Placement groups and compression of a pool: name the pool in diagnosis.pool.")
	}
	switch {
	case len(f.Layers) > 0:
		all = append(all, "The wait for other copies was not split into network and OSDs: only their own counters can tell (`ceph tell`, which needs osd \"allow *\").")
	case !f.LayersAsked: // Otherwise they are being measured, or Unread says why they were not.
		all = append(all, "The time of an operation was not split into network, OSD and disk: diagnosis.layers does that.")
	}
	all = append(all,
		uncheckedNetwork(f),
		uncheckedCPUs(f),
		"Disks by themselves, and their write caches.",
	)
	all = all[:min(len(all), mostUnchecked)]
	for i := range all {
		all[i] = ellipsis.Cut(all[i], mostBytesUnchecked)
	}
	return all
}

// Headline returns the outcome in at most 96 bytes, and Summary in at most 512.
func Headline(r v1alpha1.DiagnosisResult) string {
	if len(r.Findings) == 0 {
		return "no cause found"
	}
	var codes []string
	for _, f := range r.Findings {
		codes = append(codes, f.Code)
	}
	return ellipsis.Cut(strings.Join(codes, ", "), 96)
}

// Summary returns the outcome in sentences.
func Summary(r v1alpha1.DiagnosisResult) string {
	if len(r.Findings) == 0 {
		return fmt.Sprintf("None of %d known causes was found. That does not mean that nothing is slow: status.diagnosis.unchecked has what was not checked.", causes(r))
	}
	first := r.Findings[0]
	text := fmt.Sprintf("%s: %s", first.Confidence, first.Message)
	switch others := len(r.Findings) - 1; others {
	case 0:
	case 1:
		text += " There is one more finding."
	default:
		text += fmt.Sprintf(" There are %d more findings.", others)
	}
	return ellipsis.Cut(text, 512)
}

// causes counts the causes that could be looked for. WriteTime is none.
func causes(r v1alpha1.DiagnosisResult) int {
	n := len(r.Checked)
	if slices.Contains(r.Checked, "WriteTime") {
		n--
	}
	return n
}

// Alarming reports whether there is a finding that is Certain or Likely.
func Alarming(r v1alpha1.DiagnosisResult) bool {
	return slices.ContainsFunc(r.Findings, func(f v1alpha1.Finding) bool { return f.Confidence != v1alpha1.ConfidencePossible })
}

func (f Facts) latest() *ceph.Status { return f.Statuses[len(f.Statuses)-1] }

// health returns the latest form of each health check that has one of these codes in any status. Muted checks
// count, because muting a warning makes nothing faster.
func (f Facts) health(codes ...string) (evidence []string) {
	for _, code := range codes {
		for _, status := range slices.Backward(f.Statuses) {
			i := slices.IndexFunc(status.Health.Checks, func(c ceph.HealthCheck) bool { return c.Code == code })
			if i >= 0 {
				evidence = append(evidence, fmt.Sprintf("%s: %s", code, status.Health.Checks[i].Summary))
				break
			}
		}
	}
	return evidence
}

// times returns how many statuses have a property, as evidence; "" if none has it.
func (f Facts) times(has func(*ceph.Status) bool) (evidence string, share float64) {
	n := 0
	for _, status := range f.Statuses {
		if has(status) {
			n++
		}
	}
	if n == 0 {
		return "", 0
	}
	return fmt.Sprintf("in %d of %d samples", n, len(f.Statuses)), float64(n) / float64(len(f.Statuses))
}

// pool returns the pool that seems slow; nil if none was named.
func (f Facts) pool() *ceph.Pool {
	if f.Pool == "" {
		return nil
	}
	return ceph.PoolNamed(f.OSDMap.Pools, f.Pool)
}

// classes returns the OSDs that are up, by device class.
func (f Facts) classes() map[string][]ceph.OSD {
	byClass := map[string][]ceph.OSD{}
	for _, osd := range f.OSDs {
		if osd.Status == "up" {
			byClass[osd.DeviceClass] = append(byClass[osd.DeviceClass], osd)
		}
	}
	return byClass
}

func (f Facts) classOf(id int) string {
	for _, osd := range f.OSDs {
		if osd.ID == id {
			return osd.DeviceClass
		}
	}
	return ""
}

// running returns the values of an option, with the OSDs that run with each.
func (f Facts) running(option string) map[string][]int {
	osds := map[string][]int{}
	for _, r := range f.Running {
		if o, known := r.Option(option); known {
			osds[o.Value] = append(osds[o.Value], r.OSD)
		}
	}
	return osds
}

// sweep returns a remedy: the sweep that shows something.
func (f Facts) sweep(settings, shows string) string {
	return fmt.Sprintf("`%s` shows %s.", sweepspec.Command(f.Namespace, settings), shows)
}

// names returns the names of OSDs, at most four of them.
func names(osds []int) string {
	const most = 4
	var all []string
	for _, id := range osds[:min(len(osds), most)] {
		all = append(all, fmt.Sprintf("osd.%d", id))
	}
	if more := len(osds) - most; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}
