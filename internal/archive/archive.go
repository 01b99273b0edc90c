// Package archive keeps the full results of a benchmark's runs, one run in one
// ConfigMap, and reads them back.
//
// A document holds everything from which figures were derived, so that they can be
// checked and drawn. It is compressed JSON of at most [MaxBytes]; what does not fit
// is left out in a fixed order, and the document says so.
package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// SchemaVersion is the version of the document that this package writes, and the
// only one that it reads. A field that is added leaves it as it is: who does not know the
// field passes over it, since plugins and operators are seldom upgraded together.
const SchemaVersion = 1

// Run is one execution of all phases.
type Run struct {
	// SchemaVersion is always [SchemaVersion] in a document.
	SchemaVersion int `json:"schemaVersion"`
	// Benchmark, RunID and SessionTime say whose run it is: SessionTime is when the
	// first run of that run ID began, as status.startTime has it. [ConfigMap] fills
	// them in.
	Benchmark   Benchmark      `json:"benchmark"`
	RunID       v1alpha1.RunID `json:"runID"`
	SessionTime time.Time      `json:"sessionTime"`
	// Number counts the runs of a session, from 1.
	Number int32 `json:"number"`

	// State is Valid, Invalid or Failed; Reason says why it is not Valid.
	State     v1alpha1.RunState `json:"state"`
	Reason    string            `json:"reason,omitempty"`
	StartTime time.Time         `json:"startTime"`
	EndTime   time.Time         `json:"endTime"`

	// InitialState is what the run found where its phases work on data that were
	// prefilled; empty where none does, or where it was not recorded.
	InitialState v1alpha1.DataState `json:"initialState,omitempty"`
	// Environment describes the conditions of the results, in the observer's format: an object
	// whose members can be compared.
	Environment json.RawMessage `json:"environment,omitempty"`
	// Placement is where the placement groups of the target's pools were when the run
	// was prepared. Each making of a scratch pool is another draw of CRUSH.
	Placement []Placement `json:"placement,omitempty"`
	// RawOutput is the policy by which the tools' outputs were kept.
	RawOutput v1alpha1.RawOutputPolicy `json:"rawOutput,omitempty"`
	Phases    []Phase                  `json:"phases"`
	// Background is the background load, from before the first phase to after the last; nil
	// without one, or without a report.
	Background *Background `json:"background,omitempty"`
	// Dropped lists the parts that did not fit, in the order in which they were dropped,
	// including those that the caller dropped.
	Dropped []Part `json:"dropped,omitempty"`
}

// Benchmark names a CephBenchmark.
type Benchmark struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Phase is what is known of one phase of a run.
type Phase struct {
	Name v1alpha1.PhaseName `json:"name"`
	// SpecDigest is the same for phases that were specified alike, with their clients, data
	// and outage.
	SpecDigest string     `json:"specDigest,omitempty"`
	StartTime  *time.Time `json:"startTime,omitempty"`
	EndTime    *time.Time `json:"endTime,omitempty"`
	// StartSpreadSeconds is by how much, at most, the clients started apart; nil if
	// it is not known.
	StartSpreadSeconds *float64 `json:"startSpreadSeconds,omitempty"`
	// Observation is what all clients measured together; nil if that is nothing.
	Observation *figure.Observation `json:"observation,omitempty"`
	// Background are the figures of the background load while the phase was measured.
	Background []figure.Figure `json:"background,omitempty"`
	// Clients are their reports, the ramp included.
	Clients []task.Report `json:"clients,omitempty"`
	// OSDLatencies are what the OSDs said of themselves before, during and after.
	OSDLatencies []OSDSample `json:"osdLatencies,omitempty"`
	// OSDIO is what each OSD did for clients meanwhile; empty if Ceph did not say.
	OSDIO []OSDIO `json:"osdIO,omitempty"`
	// SlowOSDs are those that were slower than their peers, the slowest first.
	SlowOSDs []SlowOSD `json:"slowOSDs,omitempty"`
	// Disturbances are those of quiescence, in the observer's format.
	Disturbances json.RawMessage `json:"disturbances,omitempty"`
	// Outage is what came of the one that happened in it.
	Outage *Outage `json:"disruption,omitempty"`
	// Space is how much room the data took, at the end of the phase.
	Space *Space `json:"space,omitempty"`
}

// Background is the report about the background load of a run.
type Background struct {
	// SpecDigest is the same for backgrounds that were specified alike.
	SpecDigest string     `json:"specDigest,omitempty"`
	StartTime  *time.Time `json:"startTime,omitempty"`
	EndTime    *time.Time `json:"endTime,omitempty"`
	// Observation is of the whole time; nil if nothing was measured.
	Observation *figure.Observation `json:"observation,omitempty"`
	// WholeRun says that the engine reported no course, so that phases have the figures of the
	// whole time.
	WholeRun bool `json:"wholeRun,omitempty"`
	// Report is its own, in which the result is left out where Observation has it.
	Report *task.Report `json:"report,omitempty"`
}

// Placement is how the placement groups of a pool are spread over OSDs.
type Placement struct {
	Pool string     `json:"pool"`
	OSDs []OSDShare `json:"osds"`
}

// OSDShare is how many placement groups of a pool an OSD serves, and of how many it is the
// primary, with which clients talk.
type OSDShare struct {
	ID        int `json:"id"`
	PGs       int `json:"pgs"`
	Primaries int `json:"primaries"`
}

// OSDSample is an answer of `ceph osd perf`.
type OSDSample struct {
	Time time.Time    `json:"time"`
	OSDs []OSDLatency `json:"osds"`
}

// OSDLatency is what one OSD said.
type OSDLatency struct {
	ID            int     `json:"id"`
	CommitSeconds float64 `json:"commitSeconds"`
	ApplySeconds  float64 `json:"applySeconds"`
}

// OSDIO is what one OSD did for clients of all pools in a typical moment of a phase, as the
// primary with which they talk: the median of the answers of `ceph osd status`. Copies for
// other OSDs, recovery and scrubs are not in it.
type OSDIO struct {
	ID                       int     `json:"id"`
	ReadOperationsPerSecond  float64 `json:"readOperationsPerSecond"`
	WriteOperationsPerSecond float64 `json:"writeOperationsPerSecond"`
	ReadBytesPerSecond       float64 `json:"readBytesPerSecond"`
	WriteBytesPerSecond      float64 `json:"writeBytesPerSecond"`
}

// SlowOSD is an OSD that was slower than its peers: those of its device class that serve
// the target too.
type SlowOSD struct {
	ID          int    `json:"id"`
	DeviceClass string `json:"deviceClass,omitempty"`
	// CommitSeconds is the median of its commit latencies during the phase, PeersSeconds
	// the median of all OSDs of the class, Peers the number of the others.
	CommitSeconds float64 `json:"commitSeconds"`
	PeersSeconds  float64 `json:"peersSeconds"`
	Peers         int     `json:"peers"`
	// PGs are its placement groups of the target, PeersPGs the median of the class: who
	// has more of them has more to do.
	PGs      int     `json:"pgs"`
	PeersPGs float64 `json:"peersPGs"`
	// Work is its work for clients meanwhile, and that of its peers; nil if Ceph did not
	// report it.
	Work *Work `json:"work,omitempty"`
}

// Work is what an OSD did for clients, reads and writes together, and the medians of the
// OSDs of its class.
type Work struct {
	OperationsPerSecond      float64 `json:"operationsPerSecond"`
	PeersOperationsPerSecond float64 `json:"peersOperationsPerSecond"`
	BytesPerSecond           float64 `json:"bytesPerSecond"`
	PeersBytesPerSecond      float64 `json:"peersBytesPerSecond"`
}

// Relative is how many times the operations of its peers it did, and false if that is not
// known or they did none.
func (w *Work) Relative() (float64, bool) {
	if w == nil || w.PeersOperationsPerSecond <= 0 {
		return 0, false
	}
	return w.OperationsPerSecond / w.PeersOperationsPerSecond, true
}

// Space is what `ceph df` said of the pools of the target.
type Space struct {
	// StoredBytes is what clients stored, UsedBytes what that takes on the OSDs.
	StoredBytes int64 `json:"storedBytes"`
	UsedBytes   int64 `json:"usedBytes"`
	// ClusterUsedBytes is what all OSDs used together, for whatever.
	ClusterUsedBytes int64 `json:"clusterUsedBytes,omitempty"`
}

// StartSpread is by how much clients started a phase of the run apart, at most; it is not
// known where no phase has it.
func (r *Run) StartSpread() (seconds float64, known bool) {
	for _, phase := range r.Phases {
		if phase.StartSpreadSeconds != nil {
			known, seconds = true, max(seconds, *phase.StartSpreadSeconds)
		}
	}
	return seconds, known
}

// PhaseNames lists the phases of all runs, each once, in their order.
func PhaseNames(runs []*Run) []v1alpha1.PhaseName {
	var names []v1alpha1.PhaseName
	for _, run := range runs {
		for _, phase := range run.Phases {
			if !slices.Contains(names, phase.Name) {
				names = append(names, phase.Name)
			}
		}
	}
	return names
}

// Observations are those of a phase in all valid runs, in the order of the runs:
// what [figure.Combine] takes.
func Observations(runs []*Run, phase v1alpha1.PhaseName) []figure.Observation {
	var all []figure.Observation
	for _, run := range runs {
		i := slices.IndexFunc(run.Phases, func(p Phase) bool { return p.Name == phase })
		if i >= 0 && run.State == v1alpha1.RunValid && run.Phases[i].Observation != nil {
			all = append(all, *run.Phases[i].Observation)
		}
	}
	return all
}

// WrittenBytes counts the bytes that all clients and the background load wrote in the phases of a
// run, as their engines report. It excludes prefills, pilots, and fio's writes in ramps, which
// fio does not report.
func (r *Run) WrittenBytes() int64 {
	total := int64(0)
	if b := r.Background; b != nil && b.Observation != nil && b.Observation.Result != nil && b.Observation.Result.Write != nil {
		total = b.Observation.Result.Write.Bytes
	}
	for _, phase := range r.Phases {
		total += phase.WrittenBytes()
	}
	return total
}

// WrittenBytes is what all clients wrote in a phase by what their tools say.
func (p Phase) WrittenBytes() int64 {
	total := int64(0)
	for _, report := range p.Clients {
		if report.Result != nil && report.Result.Write != nil {
			total += report.Result.Write.Bytes
		}
	}
	return total
}

// validate reports what in a run cannot be.
func (r *Run) validate() error {
	switch {
	case r.SchemaVersion != SchemaVersion:
		return &VersionError{Found: r.SchemaVersion}
	case r.Number < 1:
		return fmt.Errorf("archive: the run has number %d", r.Number)
	}
	if b := r.Background; b != nil && b.Observation != nil && b.Observation.Result != nil {
		if err := b.Observation.Result.Validate(); err != nil {
			return fmt.Errorf("archive: background: %w", err)
		}
	}
	for _, phase := range r.Phases {
		for i, res := range phase.results() {
			if err := res.Validate(); err != nil {
				return fmt.Errorf("archive: phase %s: result %d: %w", phase.Name, i, err)
			}
		}
	}
	return nil
}

// results are those of the phase, all of them.
func (p *Phase) results() []*result.Result {
	var all []*result.Result
	if p.Observation != nil && p.Observation.Result != nil {
		all = append(all, p.Observation.Result)
	}
	for _, report := range p.Clients {
		if report.Result != nil {
			all = append(all, report.Result)
		}
	}
	return all
}
