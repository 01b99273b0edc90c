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

// runName is the object in which the tool notes what it wrote. It begins like the
// objects, so that it is removed with them.
const runName = place.ObjectPrefix + "run"

const (
	// week bounds a prefill, which a number of objects ends, and the task's deadline.
	week = 7 * 24 * 3600
	// minimumSeconds is what a phase that maxObjects ended has to have measured.
	minimumSeconds = 30
	// fillBytes is how much of a prefill is in flight, in the client's memory.
	fillBytes = 64 << 20
	// fillDepth is how many operations of a prefill are in flight at most.
	fillDepth = 64
	// allocation is the least that an OSD allocates for its part of an object; objectOverhead
	// is its metadata, rounded up.
	allocation     = 4 << 10
	objectOverhead = 4 << 10
)

// phase is a phase of rados bench.
//
// Each run and each dataset has a RADOS namespace of its own. The tool names objects
// by host name and process, and notes only the process: in one namespace, two runs
// could take each other's objects for their own. And so what a killed run has left,
// without any notes, can be removed.
//
// The plain output is asked for. The JSON of all versions up to Tentacle has the
// tool's messages in its midst, and undefined values for stalled seconds.
type phase struct {
	spec                    v1alpha1.RadosBench
	blockBytes, objectBytes int64
	seconds, ramp           float64
}

// New returns the load of a phase. The error says what is out of range.
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
	if err := load.CheckWord("runName", spec.RunName); err != nil {
		return nil, err
	}
	return b, nil
}

// Timing implements load.Load. The tool knows no ramp: it is cut from its course.
func (b *phase) Timing() load.Timing {
	return load.Timing{RampSeconds: b.ramp, Cut: b.ramp > 0, MeasuredSeconds: b.seconds - b.ramp}
}

// usesDataset reports whether the phase works on prefilled objects.
func (b *phase) usesDataset() bool {
	return b.spec.Mode != v1alpha1.RadosBenchWrite || b.spec.ReuseObjects
}

// objects is how many objects are prefilled: at least as many as are in flight.
func (b *phase) objects(p place.Place) int64 {
	perObject := b.objectBytes / b.blockBytes
	inFlight := (int64(b.spec.Concurrency) + perObject - 1) / perObject
	// The tool counts operations in 32 bits.
	return min(max(p.DatasetBytes/b.objectBytes, inFlight), math.MaxInt32/perObject)
}

// key names the dataset. Phases that overwrite data have a dataset of their own.
func (b *phase) key(p place.Place) string {
	kind := "read"
	if b.spec.ReuseObjects {
		kind = "over"
		if flag := destinationFlag(b.spec.Destination); flag != "" {
			kind += flag[len("--write"):]
		}
	}
	key := fmt.Sprintf("rados-%s-%dx%d-%d", kind, b.objects(p), b.objectBytes, b.blockBytes)
	if b.spec.RunName != "" {
		key += "-" + b.spec.RunName
	}
	return key
}

// namespace is that of the phase's objects.
func (b *phase) namespace(p place.Place) string {
	if b.usesDataset() {
		return p.ObjectNamespace(b.key(p))
	}
	if b.spec.RunName != "" {
		return p.ObjectNamespace("run-" + b.spec.RunName)
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
		// The objects of an earlier attempt have other names, and would never be read.
		Commands: []task.Command{remove, {Argv: fill}},
		Warm:     b.warm(p, inFlight),
		Remove:   []task.Command{remove},
	}}
}

// warm reads all objects once: the tool stops when it has. It reads neither omaps nor
// extended attributes.
func (b *phase) warm(p place.Place, inFlight int64) []task.Command {
	if destinationFlag(b.spec.Destination) != "" {
		return nil
	}
	return []task.Command{{Argv: b.rados(p, "--concurrent-ios="+strconv.FormatInt(inFlight, 10), "--no-verify", "bench", strconv.Itoa(week), "seq")}}
}

// rados begins a command line on the phase's objects.
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
	if b.spec.MaxObjects != nil && !b.boundByRoom(p) {
		measurement.RequestedSeconds, measurement.MinimumSeconds = 0, b.ramp+minimumSeconds
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
		// The sizes are those of the prefill. Without a limit the tool would go on
		// behind the last object with new ones.
		limit := b.objects(p)
		if b.spec.MaxObjects != nil {
			limit = min(limit, *b.spec.MaxObjects)
		}
		return append(options, "--reuse-bench", "--max-objects="+strconv.FormatInt(limit, 10))
	}
	if limit := b.limit(p); limit > 0 {
		options = append(options, "--max-objects="+strconv.FormatInt(limit, 10))
	}
	return append(options,
		"--block-size="+strconv.FormatInt(b.blockBytes, 10),
		"--object-size="+strconv.FormatInt(b.objectBytes, 10))
}

// limit is how many new objects the phase may write; 0 for no limit. Without one, a phase
// that time alone ends would fill a small cluster, and with it stop everybody's writes.
func (b *phase) limit(p place.Place) int64 {
	switch {
	case b.boundByRoom(p):
		return b.fitting(p)
	case b.spec.MaxObjects != nil:
		return *b.spec.MaxObjects
	}
	return 0
}

// boundByRoom reports whether there is room for fewer objects than the phase may write.
func (b *phase) boundByRoom(p place.Place) bool {
	return p.RoomBytes > 0 && !b.usesDataset() && (b.spec.MaxObjects == nil || b.fitting(p) < *b.spec.MaxObjects)
}

// fitting is how many objects there is room for. The tool counts operations in 32 bits.
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
		return errors.New("the size of the dataset is not known")
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

// destinationFlag is empty for the contents of objects, the engine's default.
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
