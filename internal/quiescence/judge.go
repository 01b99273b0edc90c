package quiescence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// MaxGap is the maximum time between two samples. A longer gap is a disturbance.
const MaxGap = 30 * time.Second

// Kind is the kind of a disturbance.
type Kind string

// The kinds. docs/disturbances.md explains them.
const (
	KindHealthError   Kind = "HealthError"
	KindHealthWarning Kind = "HealthWarning"
	KindInactivePGs   Kind = "InactivePGs"
	KindRecovery      Kind = "Recovery"
	KindScrub         Kind = "Scrub"
	KindSnapTrim      Kind = "SnapTrim"
	KindForeignIO     Kind = "ForeignIO"
	KindStrayPGs      Kind = "StrayPGs"
	KindOSDChange     Kind = "OSDChange"
	KindUnobserved    Kind = "Unobserved"
)

// Sample is the state of the cluster at one time. A sample for which a query to Ceph failed is dropped.
type Sample struct {
	Time   time.Time     `json:"time"`
	Status *ceph.Status  `json:"status"`
	PoolIO []ceph.PoolIO `json:"poolIO,omitempty"`
	// Strays counts the PGs that OSDs still have to remove; nil if Ceph was not asked, as is usual during a
	// run.
	Strays *ceph.Strays `json:"strays,omitempty"`
}

// Observation has the samples of a cluster during a phase.
type Observation struct {
	// Start and End bound the phase. During the phase, End is the current time.
	Start, End time.Time
	// Samples are in chronological order. With samples from before the phase, Judge sees whether a condition
	// is new, such as a crash, and whether OSDs still had PGs to remove when the phase began.
	Samples []Sample
	// OwnPools are the benchmark's pools, whose I/O is not foreign I/O.
	OwnPools []string
	// OwnIOUnknown says that the benchmark's pools are unknown, for example because it uses a
	// PersistentVolumeClaim. Then no I/O counts as foreign.
	OwnIOUnknown bool
	// Expected are health warnings that the caller causes itself.
	Expected []Expectation
	// Outage is the caller's own outage; nil without one.
	Outage *Outage
}

// Disturbance is an event that may have spoilt a phase. Judge returns at most one of each kind.
type Disturbance struct {
	Kind   Kind                       `json:"kind"`
	Action v1alpha1.DisturbanceAction `json:"action"`
	// Message describes the disturbance in the first sample that has it. If the disturbance is a gap in the
	// samples, Message describes the gap.
	Message string `json:"message"`
	// FirstSeen and LastSeen are the times of the first and the last sample with the disturbance. Samples
	// is the number of samples with it. If the disturbance is a gap in the samples, FirstSeen and LastSeen are
	// the ends of the gap, and Samples is 0.
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	Samples   int       `json:"samples"`
}

// seen is one kind of disturbance in one sample.
type seen struct {
	kind    Kind
	action  v1alpha1.DisturbanceAction
	message string
	// atOnce means that the first sample with the disturbance aborts the run.
	atOnce bool
}

// Judge returns the disturbances of a phase, sorted by kind. A disturbance with the action Abort aborts the
// run only if two consecutive samples have it, because it may be gone in the next sample. In a single
// sample, it only invalidates the phase. A disturbance with atOnce aborts the run in the first sample.
func Judge(o Observation, spec v1alpha1.Quiescence) []Disturbance {
	found := map[Kind]*tally{}
	allowed := allowances(spec, before(o.Samples))
	for i, sample := range o.Samples {
		var previous *Sample
		if i > 0 {
			previous = &o.Samples[i-1]
		}
		if sample.Time.Before(o.Start) {
			continue
		}
		allowed := append(slices.Clip(allowed), o.Outage.warnings(sample.Time)...)
		for _, s := range o.Outage.remainder(previous, sample, o.look(previous, sample, spec, allowed)) {
			if found[s.kind] == nil {
				found[s.kind] = &tally{last: -1}
			}
			found[s.kind].add(i, sample.Time, s)
		}
	}
	if gap := o.gap(); gap != nil && found[KindUnobserved] == nil {
		found[KindUnobserved] = gap
	}
	if left := o.removal(spec); left != nil {
		found[KindStrayPGs] = left
	}
	var disturbances []Disturbance
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		disturbances = append(disturbances, found[kind].disturbance)
	}
	return disturbances
}

// Span is a period of time.
type Span struct{ From, To time.Time }

// Disturbed returns the periods in which a disturbance spoils a measurement, so that windows of seconds can
// be judged one by one. A period reaches from the previous sample to the next one, because the disturbance
// may have lasted that long. A disturbance that is only recorded spoils nothing. Disturbed does not check
// whether samples are missing.
func Disturbed(o Observation, spec v1alpha1.Quiescence) []Span {
	var spans []Span
	allowed := allowances(spec, before(o.Samples))
	for i, sample := range o.Samples {
		span, previous := Span{From: o.Start, To: o.End}, (*Sample)(nil)
		if i > 0 {
			previous = &o.Samples[i-1]
			span.From = previous.Time
		}
		if i+1 < len(o.Samples) {
			span.To = o.Samples[i+1].Time
		}
		if slices.ContainsFunc(o.look(previous, sample, spec, allowed), func(s seen) bool {
			return severity(s.action) >= severity(v1alpha1.DisturbanceInvalidate)
		}) {
			spans = append(spans, span)
		}
	}
	return spans
}

// severity orders actions; "" is the lowest.
func severity(action v1alpha1.DisturbanceAction) int {
	switch action {
	case v1alpha1.DisturbanceAbort:
		return 3
	case v1alpha1.DisturbanceInvalidate:
		return 2
	case v1alpha1.DisturbanceRecord:
		return 1
	default:
		return 0
	}
}

// before returns the health codes about past events, such as RECENT_CRASH, in the first sample.
func before(samples []Sample) []string {
	if len(samples) == 0 {
		return nil
	}
	var codes []string
	for _, check := range samples[0].Status.Health.Checks {
		if slices.Contains(OldWarnings(), check.Code) {
			codes = append(codes, check.Code)
		}
	}
	return codes
}

// tally collects the samples with one kind of disturbance.
type tally struct {
	disturbance Disturbance
	last        int // the index of the latest sample with the disturbance
}

func (t *tally) add(index int, moment time.Time, s seen) {
	action := s.action
	if action == v1alpha1.DisturbanceAbort && !s.atOnce && (t.last < 0 || t.last != index-1) {
		action = v1alpha1.DisturbanceInvalidate
	}
	d := &t.disturbance
	if d.Samples == 0 {
		*d = Disturbance{Kind: s.kind, Message: s.message, FirstSeen: moment}
	}
	if severity(action) > severity(d.Action) {
		d.Action = action
	}
	d.LastSeen = moment
	d.Samples++
	t.last = index
}

// look returns the disturbances in one sample.
func (o Observation) look(previous *Sample, sample Sample, spec v1alpha1.Quiescence, allowed []string) []seen {
	status := sample.Status
	all := append(healthSeen(status, spec, allowed, o.Expected), pgsSeen(status, spec)...)
	if changed := osdsChanged(previous, status); changed != "" {
		all = append(all, seen{kind: KindOSDChange, action: v1alpha1.DisturbanceInvalidate, message: changed})
	}
	limit := foreignLimit(spec)
	if operations := foreignOperations(sample.PoolIO, o.OwnPools); operations > limit && !o.OwnIOUnknown {
		all = append(all, seen{
			kind: KindForeignIO, action: cmp.Or(spec.ForeignIO, v1alpha1.DisturbanceRecord),
			message: fmt.Sprintf("other clients do %d operations per second, more than %d", operations, limit),
		})
	}
	return all
}

func healthSeen(status *ceph.Status, spec v1alpha1.Quiescence, allowed []string, expected []Expectation) []seen {
	if status.Health.Status == healthError {
		return []seen{{
			kind: KindHealthError, action: v1alpha1.DisturbanceAbort, atOnce: true,
			message: "Ceph reports HEALTH_ERR: " + describe(severe(status.Health.Checks)),
		}}
	}
	if found := warnings(status.Health, allowed, expected); len(found) > 0 {
		return []seen{{
			kind: KindHealthWarning, action: cmp.Or(spec.Health, v1alpha1.DisturbanceInvalidate),
			message: "Ceph warns of " + describe(found),
		}}
	}
	return nil
}

// pgsSeen judges no PG without an active ceph-mgr, or while any PG is unknown to it: after a failover, all
// PGs are unknown for some seconds, although clients notice nothing.
func pgsSeen(status *ceph.Status, spec v1alpha1.Quiescence) []seen {
	if !status.ManagerActive || status.CountPGs(ceph.PGState.IsUnknown) > 0 {
		return []seen{{
			kind: KindUnobserved, action: v1alpha1.DisturbanceRecord,
			message: "the active ceph-mgr changed or is missing, so the state of PGs and I/O is unknown",
		}}
	}
	var all []seen
	if found := status.ListPGs(ceph.PGState.IsInactive); found != "" {
		all = append(all, seen{kind: KindInactivePGs, action: v1alpha1.DisturbanceAbort, message: "PGs are inactive: " + found, atOnce: true})
	}
	if status.MovesData() {
		all = append(all, seen{
			kind: KindRecovery, action: cmp.Or(spec.Recovery, v1alpha1.DisturbanceInvalidate),
			message: fmt.Sprintf("data is being recovered or moved: PGs: %s; %d objects misplaced, %d degraded, %d bytes per second",
				cmp.Or(status.ListPGs(ceph.PGState.IsRecovering), "none"), status.MisplacedObjects, status.DegradedObjects, status.RecoveryBytesPerSecond),
		})
	}
	if found := status.ListPGs(ceph.PGState.IsScrubbing); found != "" {
		all = append(all, seen{kind: KindScrub, action: scrubAction(spec.Scrub), message: "PGs are being scrubbed: " + found})
	}
	if found := status.ListPGs(ceph.PGState.IsTrimming); found != "" {
		all = append(all, seen{kind: KindSnapTrim, action: v1alpha1.DisturbanceRecord, message: "snapshots are being trimmed: " + found})
	}
	return all
}

// scrubAction treats Pause like Record: a scrub that was running when noscrub was set continues to its end.
func scrubAction(policy v1alpha1.ScrubPolicy) v1alpha1.DisturbanceAction {
	switch policy {
	case v1alpha1.ScrubInvalidate:
		return v1alpha1.DisturbanceInvalidate
	case v1alpha1.ScrubAbort:
		return v1alpha1.DisturbanceAbort
	default:
		return v1alpha1.DisturbanceRecord
	}
}

// osdsChanged describes OSDs that went up, down, in or out since the previous sample. OSDsUpSince
// and OSDsInSince reveal an OSD that left and returned in between.
func osdsChanged(previous *Sample, status *ceph.Status) string {
	if previous == nil {
		return ""
	}
	earlier := previous.Status
	if earlier.OSDs == status.OSDs && earlier.UpOSDs == status.UpOSDs && earlier.InOSDs == status.InOSDs &&
		earlier.OSDsUpSince == status.OSDsUpSince && earlier.OSDsInSince == status.OSDsInSince {
		return ""
	}
	return fmt.Sprintf("OSDs changed: from %d up and %d in of %d to %d up and %d in of %d; a restart counts as a change",
		earlier.UpOSDs, earlier.InOSDs, earlier.OSDs, status.UpOSDs, status.InOSDs, status.OSDs)
}

// gap returns the first gap that exceeds MaxGap: between two samples, between a sample and the start or the end
// of the phase, or between start and end if no samples exist. It returns nil without such a gap.
func (o Observation) gap() *tally {
	last := o.Start
	times := make([]time.Time, 0, len(o.Samples)+1)
	for _, sample := range o.Samples {
		times = append(times, sample.Time)
	}
	for _, moment := range append(times, o.End) {
		if moment.Sub(last) > MaxGap {
			return &tally{disturbance: Disturbance{
				Kind: KindUnobserved, Action: v1alpha1.DisturbanceRecord, FirstSeen: last, LastSeen: moment,
				Message: fmt.Sprintf("the cluster was not observed for %v", moment.Sub(last).Round(time.Second)),
			}}
		}
		last = maxTime(last, moment)
	}
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
