// Package archive writes the full results of a benchmark's runs into ConfigMaps, one run in each, and
// reads them. It also stores the sessions of a sweep, see [SwitchedSession].
//
// A document holds the data from which figures were computed, so that readers can check and plot the
// figures. It is compressed JSON of at most [MaxBytes]. Parts that do not fit are dropped in a fixed
// order, and the document lists them.
package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// SchemaVersion is the version of documents that this package writes, and the only version that it
// reads. A new field does not change the version: readers ignore unknown fields, because the kubectl
// plugin and the operator are seldom upgraded together.
const SchemaVersion = 1

// Run is one execution of all phases.
type Run struct {
	// SchemaVersion is always [SchemaVersion] in a document.
	SchemaVersion int `json:"schemaVersion"`
	// Benchmark, RunID and ExecutionTime identify the execution. ExecutionTime is status.startTime, when the
	// execution began; its key has the word of earlier versions, whose archives are read, too. [ConfigMap] sets these three fields.
	Benchmark     Benchmark      `json:"benchmark"`
	RunID         v1alpha1.RunID `json:"runID"`
	ExecutionTime time.Time      `json:"sessionTime"`
	// Number counts the runs of an execution, from 1.
	Number int32 `json:"number"`

	// State is Valid, Invalid or Failed; Reason says why State is not Valid.
	State     v1alpha1.RunState `json:"state"`
	Reason    string            `json:"reason,omitempty"`
	StartTime time.Time         `json:"startTime"`
	EndTime   time.Time         `json:"endTime"`

	// InitialState is the state in which the run found its prefilled data. It is empty if no phase uses
	// prefilled data, or if the state was not recorded.
	InitialState v1alpha1.DataState `json:"initialState,omitempty"`
	// Environment holds the circumstances on which the results depend, such as the versions and the
	// settings of Ceph. It is the JSON form of quiescence.Detail.
	Environment json.RawMessage `json:"environment,omitempty"`
	// Placement says where the placement groups of the target's pools were when the operator last read them:
	// after it created the scratch pool or, for an existing pool, in the survey. CRUSH places the groups
	// differently each time a scratch pool is created.
	Placement []Placement `json:"placement,omitempty"`
	// RawOutput is the policy for keeping the engines' outputs.
	RawOutput v1alpha1.RawOutputPolicy `json:"rawOutput,omitempty"`
	Phases    []Phase                  `json:"phases"`
	// Diagnosis is the outcome of a diagnosis, which is the only run of its execution and has no phases; nil otherwise.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`
	// Background describes the background load, which runs from before the first phase until after the
	// last phase. It is nil without a background load, or without a report about the load.
	Background *Background `json:"background,omitempty"`
	// Dropped lists the parts that did not fit, in the order in which they were dropped. It includes
	// parts that the caller dropped before it called Marshal.
	Dropped []Part `json:"dropped,omitempty"`

	// Unsigned says that status records only the name of the results, because an earlier version of the operator
	// wrote them. [Of] sets it.
	Unsigned bool `json:"-"`
}

// Benchmark names a CephBenchmark.
type Benchmark struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Diagnosis holds what a diagnosis was asked and what it found.
type Diagnosis struct {
	Asked  v1alpha1.Diagnosis       `json:"asked"`
	Result v1alpha1.DiagnosisResult `json:"result"`
	// Windows has the loads from which layers were computed: the JSON form of a list of diagnosis.Window.
	Windows json.RawMessage `json:"windows,omitempty"`
}

// Phase holds the results and circumstances of one phase of a run.
type Phase struct {
	Name v1alpha1.PhaseName `json:"name"`
	// SpecDigest is equal for phases with the same specification, clients, data, image, claim and
	// outage.
	SpecDigest string     `json:"specDigest,omitempty"`
	StartTime  *time.Time `json:"startTime,omitempty"`
	EndTime    *time.Time `json:"endTime,omitempty"`
	// StartSpreadSeconds is an upper bound of the time between the starts of the first and the
	// last client; nil if unknown.
	StartSpreadSeconds *float64 `json:"startSpreadSeconds,omitempty"`
	// Observation holds the combined measurements of all clients; nil if a client has no usable
	// result. The phase then has no OSDIO, SlowOSDs, Disturbances and Outage either.
	Observation *figure.Observation `json:"observation,omitempty"`
	// Background holds the figures of the background load while the phase was measured.
	Background []figure.Figure `json:"background,omitempty"`
	// Clients holds the clients' reports. The results in them include the ramp if the engine counts the
	// ramp.
	Clients []task.Report `json:"clients,omitempty"`
	// OSDLatencies holds the latencies that OSDs reported before, during and after the phase.
	OSDLatencies []OSDSample `json:"osdLatencies,omitempty"`
	// OSDIO holds the client I/O of each OSD during the phase, as primary, for all pools; empty if Ceph did not report it.
	// Each figure is the median of the answers of `ceph osd status` during the phase. Answers of the first ten seconds do
	// not count. Answers with only zeros do not count either, unless all answers are such. The figures exclude replica
	// writes, recovery and scrubs.
	OSDIO []ceph.OSDIO `json:"osdIO,omitempty"`
	// SlowOSDs lists up to three OSDs that were slower than their peers. The OSD with the highest latency
	// relative to its peers comes first.
	SlowOSDs []SlowOSD `json:"slowOSDs,omitempty"`
	// Disturbances lists the disturbances of the cluster during the phase: the JSON form of a list of
	// quiescence.Disturbance.
	Disturbances json.RawMessage `json:"disturbances,omitempty"`
	// Outage has the durations and the clients' figures of the outage in this phase; nil without
	// an outage, and if the outage was not measured.
	Outage *Outage `json:"disruption,omitempty"`
	// Space is the usage of the target's pools during the phase or up to 20 s after it, from the sample
	// with the most stored data; nil without a sample that shows data.
	Space *Space `json:"space,omitempty"`
}

// Background describes the background load of a run.
type Background struct {
	// SpecDigest is equal for background loads with the same specification.
	SpecDigest string     `json:"specDigest,omitempty"`
	StartTime  *time.Time `json:"startTime,omitempty"`
	EndTime    *time.Time `json:"endTime,omitempty"`
	// Observation covers the whole duration of the load; nil without a usable result.
	Observation *figure.Observation `json:"observation,omitempty"`
	// WholeRun says that the engine reported no time series. Each phase then has the load's figures of
	// the whole run.
	WholeRun bool `json:"wholeRun,omitempty"`
	// Report is the report of the load's client. Marshal removes the report's result if Observation has
	// it.
	Report *task.Report `json:"report,omitempty"`
}

// Placement is the distribution of a pool's placement groups over OSDs.
type Placement struct {
	Pool string     `json:"pool"`
	OSDs []OSDShare `json:"osds"`
}

// OSDShare counts one OSD's placement groups of a pool. Primaries counts the groups for which the OSD is the
// primary: clients send their I/O to primaries.
type OSDShare struct {
	ID        int `json:"id"`
	PGs       int `json:"pgs"`
	Primaries int `json:"primaries"`
}

// OSDSample is one answer of `ceph osd perf`.
type OSDSample struct {
	Time time.Time         `json:"time"`
	OSDs []ceph.OSDLatency `json:"osds"`
}

// SlowOSD is an OSD that was slower than its peers. Its peers are the other OSDs of its device class
// that serve the target and reported commit latencies at least twice, with a median above 0. For a claim,
// all OSDs count as serving the target.
type SlowOSD struct {
	ID          int    `json:"id"`
	DeviceClass string `json:"deviceClass,omitempty"`
	// CommitSeconds is the median of the OSD's commit latencies during the phase and for five seconds after
	// it. PeersSeconds is the median of CommitSeconds over the OSD and its peers. Peers is the number of
	// peers.
	CommitSeconds float64 `json:"commitSeconds"`
	PeersSeconds  float64 `json:"peersSeconds"`
	Peers         int     `json:"peers"`
	// PGs counts the placement groups of the target on this OSD. PeersPGs is the median of PGs over the
	// OSD and its peers. An OSD with more placement groups than its peers may be slower for that
	// reason.
	PGs      int     `json:"pgs"`
	PeersPGs float64 `json:"peersPGs"`
	// Work compares the client I/O of the OSD with that of its peers; nil if Ceph did not report client
	// I/O.
	Work *Work `json:"work,omitempty"`
}

// Work holds the client I/O of an OSD, reads and writes together. The Peers fields are the medians over
// the OSD and its peers.
type Work struct {
	OperationsPerSecond      float64 `json:"operationsPerSecond"`
	PeersOperationsPerSecond float64 `json:"peersOperationsPerSecond"`
	BytesPerSecond           float64 `json:"bytesPerSecond"`
	PeersBytesPerSecond      float64 `json:"peersBytesPerSecond"`
}

// Relative returns OperationsPerSecond divided by PeersOperationsPerSecond. It returns false for a nil
// Work, and if PeersOperationsPerSecond is 0.
func (w *Work) Relative() (float64, bool) {
	if w == nil || w.PeersOperationsPerSecond <= 0 {
		return 0, false
	}
	return w.OperationsPerSecond / w.PeersOperationsPerSecond, true
}

// Space is the usage of the target's pools, from `ceph df`.
type Space struct {
	// StoredBytes is the size of the data that clients stored. UsedBytes is the space that the data
	// take on OSDs.
	StoredBytes int64 `json:"storedBytes"`
	UsedBytes   int64 `json:"usedBytes"`
	// ClusterUsedBytes is the total space in use on all OSDs, for any purpose.
	ClusterUsedBytes int64 `json:"clusterUsedBytes,omitempty"`
}

// StartSpread returns the largest StartSpreadSeconds of the phases, or false if no phase has
// one.
func (r *Run) StartSpread() (seconds float64, known bool) {
	for _, phase := range r.Phases {
		if phase.StartSpreadSeconds != nil {
			known, seconds = true, max(seconds, *phase.StartSpreadSeconds)
		}
	}
	return seconds, known
}

// PhaseNames lists the phases of all runs without duplicates, in the order in which they first
// appear.
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

// Observation returns what was observed in a phase; nil if nothing was.
func (r *Run) Observation(phase v1alpha1.PhaseName) *figure.Observation {
	i := slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Name == phase })
	if i < 0 {
		return nil
	}
	return r.Phases[i].Observation
}

// Figure returns a figure of a phase, and whether the run has it.
func (r *Run) Figure(phase v1alpha1.PhaseName, metric v1alpha1.Metric, direction v1alpha1.Direction) (figure.Figure, bool) {
	o := r.Observation(phase)
	if o == nil {
		return figure.Figure{}, false
	}
	return figure.Find(o.Figures, metric, direction)
}

// Observations returns the observations of a phase in all valid runs, in the order of the runs,
// for [figure.Combine].
func Observations(runs []*Run, phase v1alpha1.PhaseName) []figure.Observation {
	var all []figure.Observation
	for _, run := range runs {
		if o := run.Observation(phase); o != nil && run.State == v1alpha1.RunValid {
			all = append(all, *o)
		}
	}
	return all
}

// WrittenBytes returns the bytes that the clients wrote in all phases of a run, plus those that the
// background load wrote, according to the engines. It excludes prefills, pilots (short test runs that
// determine the size of a phase), fio's writes in ramps, and dropped results of clients.
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

// WrittenBytes returns the bytes that the clients wrote in a phase, according to the engines. It
// excludes dropped results of clients.
func (p Phase) WrittenBytes() int64 {
	total := int64(0)
	for _, report := range p.Clients {
		if report.Result != nil && report.Result.Write != nil {
			total += report.Result.Write.Bytes
		}
	}
	return total
}

// validate checks the schema version and the number of a run, the results of the phases' clients, and the
// results of all observations.
func (r *Run) validate() error {
	switch {
	case r.SchemaVersion != SchemaVersion:
		return &VersionError{Found: r.SchemaVersion}
	case r.Number < 1:
		return fmt.Errorf("archive: a run has the number %d, which must be at least 1", r.Number)
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
