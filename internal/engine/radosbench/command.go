package radosbench

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/engine/prefill"
	"github.com/cephtune/cephtune/internal/task"
)

// runName is the name of the metadata object in which rados bench records what it wrote. It begins with
// ObjectPrefix, so the metadata object is removed with the other objects.
const runName = place.ObjectPrefix + "run"

const (
	// week is the time limit, in seconds, of a prefill and of a read that warms caches. The number of objects,
	// or the task's deadline, ends both earlier.
	week = 7 * 24 * 3600
	// fillBytes is how many bytes of a prefill are in flight at most, in the client's memory. A larger
	// operation is in flight alone.
	fillBytes = 64 << 20
	// fillDepth is how many operations of a prefill are in flight at most.
	fillDepth = 64
	// allocation is the smallest space, in bytes, that an OSD allocates for its chunk of an object, if the OSD was
	// created with Ceph 16 or later.
	// objectOverhead is the size of that chunk's metadata, rounded up.
	allocation     = 4 << 10
	objectOverhead = 4 << 10
)

// phase is a phase of rados bench.
//
// Each client has a RADOS namespace for each dataset, and one for the objects of its runs. The objects of a run are removed after the run. rados bench names objects by host name and process ID, but
// records only the process ID. In a shared namespace, two clients could mistake each other's objects for their
// own. Separate namespaces also make it possible to remove the objects of a killed run, which leaves no
// metadata object.
//
// The phase requests the plain output. In all versions up to Tentacle, messages interrupt the JSON output,
// and some of its values for stalled seconds are undefined.
type phase struct {
	spec                    v1alpha1.RadosBench
	blockBytes, objectBytes int64
	seconds, ramp           float64
}

var _ load.Growing = (*phase)(nil)

// New returns the load of a phase. The error says which field is out of range.
func New(spec v1alpha1.RadosBench) (load.Load, error) {
	b := &phase{spec: spec, blockBytes: spec.BlockSize.Value(), seconds: math.Ceil(spec.Duration.Seconds())}
	b.objectBytes = b.blockBytes
	if spec.ObjectSize != nil {
		b.objectBytes = spec.ObjectSize.Value()
	}
	if spec.Ramp != nil {
		b.ramp = spec.Ramp.Seconds()
	}
	switch {
	case b.blockBytes <= 0 || b.objectBytes < b.blockBytes || b.objectBytes%b.blockBytes != 0:
		return nil, errors.New("blockSize must be above 0 and divide objectSize")
	case spec.Concurrency <= 0:
		return nil, errors.New("concurrency must be above 0")
	case b.ramp < 0 || b.seconds <= b.ramp:
		return nil, errors.New("ramp must be shorter than duration")
	case b.spec.Mode != v1alpha1.RadosBenchWrite && b.spec.Mode != v1alpha1.RadosBenchSeq && b.spec.Mode != v1alpha1.RadosBenchRand:
		return nil, fmt.Errorf("mode %q must be Write, Seq or Rand", spec.Mode)
	}
	return b, nil
}

// Timing implements load.Load. rados bench supports no ramp, so the ramp is cut from the time series later.
func (b *phase) Timing() load.Timing {
	return load.Timing{RampSeconds: b.ramp, Cut: b.ramp > 0, MeasuredSeconds: b.seconds - b.ramp}
}

// usesDataset reports whether the phase works on prefilled objects.
func (b *phase) usesDataset() bool {
	return b.spec.Mode != v1alpha1.RadosBenchWrite || b.spec.ReuseObjects
}

// objects returns how many objects are prefilled: enough for the dataset and for the operations in flight,
// up to rados bench's limit.
func (b *phase) objects(p place.Place) int64 {
	perObject := b.objectBytes / b.blockBytes
	inFlight := (int64(b.spec.Concurrency) + perObject - 1) / perObject
	// rados bench counts operations in 32 bits.
	return min(max(p.DatasetBytes/b.objectBytes, inFlight), math.MaxInt32/perObject)
}

// key names the dataset. Phases that overwrite data do not share it with phases that read.
func (b *phase) key(p place.Place) string {
	kind := "read"
	if b.spec.ReuseObjects {
		kind = "over"
		if flag := destinationFlag(b.spec.Destination); flag != "" {
			kind += flag[len("--write"):]
		}
	}
	return fmt.Sprintf("rados-%s-%dx%d-%d", kind, b.objects(p), b.objectBytes, b.blockBytes)
}

// namespace returns the RADOS namespace of the phase's objects.
func (b *phase) namespace(p place.Place) string {
	if b.usesDataset() {
		return p.ObjectNamespace(b.key(p))
	}
	return p.ObjectNamespace("run")
}

// Namespaces implements load.Load.
func (b *phase) Namespaces(p place.Place) []string { return []string{b.namespace(p)} }

// Datasets implements load.Load.
func (b *phase) Datasets(p place.Place) []load.Dataset {
	if !b.usesDataset() || b.validate(p) != nil {
		return nil
	}
	objects := b.objects(p)
	remove := prefill.RemoveObjects(p, b.namespace(p), place.ObjectPrefix)
	inFlight := max(min(fillBytes/b.blockBytes, fillDepth, objects*(b.objectBytes/b.blockBytes)), 1)
	fill := b.rados(p,
		"--block-size="+strconv.FormatInt(b.blockBytes, 10),
		"--object-size="+strconv.FormatInt(b.objectBytes, 10),
		"--concurrent-ios="+strconv.FormatInt(inFlight, 10),
		"--max-objects="+strconv.FormatInt(objects, 10),
		"--no-cleanup")
	if flag := destinationFlag(b.spec.Destination); flag != "" {
		fill = append(fill, flag)
	}
	fill = append(fill, "bench", strconv.Itoa(week), "write")
	return []load.Dataset{{
		Key:   b.key(p),
		Bytes: objects * b.objectBytes,
		// Objects of an earlier attempt have other names, because names contain the process ID. Phases
		// would never read them, so they are removed first.
		Commands: []task.Command{remove, {Argv: fill}},
		Warm:     b.warm(p, inFlight),
		Remove:   []task.Command{remove},
	}}
}

// warm returns a command that reads all objects once; rados bench seq stops after the last object. It
// returns nil for omaps and extended attributes, which rados bench cannot read.
func (b *phase) warm(p place.Place, inFlight int64) []task.Command {
	if destinationFlag(b.spec.Destination) != "" {
		return nil
	}
	return []task.Command{{Argv: b.rados(p, "--concurrent-ios="+strconv.FormatInt(inFlight, 10), "--no-verify", "bench", strconv.Itoa(week), "seq")}}
}

// rados returns the beginning of a command line for the phase's objects.
func (b *phase) rados(p place.Place, options ...string) []string {
	return append([]string{
		"rados", "--id=" + p.CephUser, "--pool=" + p.ObjectPool(), "--namespace=" + b.namespace(p), "--run-name=" + runName,
	}, options...)
}

// Task implements load.Load.
func (b *phase) Task(p place.Place, run load.Run) (task.Task, error) {
	if err := errors.Join(b.validate(p), run.Validate()); err != nil {
		return task.Task{}, err
	}
	argv := b.rados(p, "--concurrent-ios="+strconv.Itoa(int(b.spec.Concurrency)))
	switch b.spec.Mode {
	case v1alpha1.RadosBenchWrite:
		argv = append(argv, b.writeOptions(p)...)
	default:
		if b.spec.Verification == v1alpha1.VerificationNone {
			argv = append(argv, "--no-verify")
		}
	}
	argv = append(argv, "bench", strconv.FormatFloat(b.seconds, 'f', 0, 64), modeName(b.spec.Mode))
	measurement := &task.Measurement{
		Command: task.Command{Argv: argv}, Format: TextFormat,
		RequestedSeconds: b.seconds, MinimumSeconds: 0.95 * b.seconds,
	}
	return task.Task{ID: run.ID, Measure: measurement, MeasureTimeoutSeconds: 1.25*b.seconds + 60}, nil
}

func (b *phase) writeOptions(p place.Place) []string {
	options := []string{"--no-cleanup"}
	if b.spec.AllocationHints == v1alpha1.AllocationHintsOmit {
		options = append(options, "--no-hints")
	}
	if flag := destinationFlag(b.spec.Destination); flag != "" {
		options = append(options, flag)
	}
	if b.spec.ReuseObjects {
		// With --reuse-bench, the sizes are those of the prefill. Without a limit, rados bench would create
		// new objects after the last prefilled object.
		return append(options, "--reuse-bench", "--max-objects="+strconv.FormatInt(b.objects(p), 10))
	}
	if b.BoundByRoom(p) { // Otherwise, the phase could fill a small cluster, and a full cluster blocks the writes of all clients.
		options = append(options, "--max-objects="+strconv.FormatInt(b.fitting(p), 10))
	}
	return append(options,
		"--block-size="+strconv.FormatInt(b.blockBytes, 10),
		"--object-size="+strconv.FormatInt(b.objectBytes, 10))
}

// BoundByRoom implements load.Growing.
func (b *phase) BoundByRoom(p place.Place) bool {
	return p.RoomBytes > 0 && !b.usesDataset()
}

// fitting returns how many objects fit into RoomBytes, at least one. rados bench counts operations in 32
// bits.
func (b *phase) fitting(p place.Place) int64 {
	chunks := int64(max(p.DataChunks, 1))
	each := max(b.objectBytes, chunks*allocation) + chunks*objectOverhead
	return min(max(p.RoomBytes/each, 1), math.MaxInt32/(b.objectBytes/b.blockBytes))
}

// Tidy implements load.Load.
func (b *phase) Tidy(p place.Place, _ load.Run) []task.Command {
	if b.usesDataset() || b.validate(p) != nil {
		return nil
	}
	return []task.Command{prefill.RemoveObjects(p, b.namespace(p), place.ObjectPrefix)}
}

func (b *phase) validate(p place.Place) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Pool == "" {
		return errors.New("rados bench works on a pool: use fio on a claim")
	}
	if b.usesDataset() && p.DatasetBytes == 0 {
		return errors.New("the size of the dataset is unknown")
	}
	return nil
}

func modeName(mode v1alpha1.RadosBenchMode) string {
	switch mode {
	case v1alpha1.RadosBenchSeq:
		return "seq"
	case v1alpha1.RadosBenchRand:
		return "rand"
	case v1alpha1.RadosBenchWrite:
	}
	return "write"
}

// destinationFlag returns the option for omaps or extended attributes. It is empty for the contents of
// objects, the default of rados bench.
func destinationFlag(destination v1alpha1.RadosBenchDestination) string {
	switch destination {
	case v1alpha1.RadosBenchOMap:
		return "--write-omap"
	case v1alpha1.RadosBenchXAttr:
		return "--write-xattr"
	case v1alpha1.RadosBenchObject:
	}
	return ""
}
