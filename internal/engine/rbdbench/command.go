package rbdbench

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/engine/prefill"
	"github.com/cephtune/cephtune/internal/task"
)

const (
	// minimumSeconds is the shortest valid measurement.
	minimumSeconds = 30
	// deadline times the intended duration, plus a minute, is the time limit of a measurement.
	deadline = 5
	// stepsSeconds is the time limit of the steps before a measurement. It exceeds the time for which Ceph
	// keeps the lock of a killed client, because a step may wait for that lock.
	stepsSeconds = 120
	// firstPatternByte is the first major version of Ceph with --pattern-byte: Tentacle.
	firstPatternByte = 20
)

// phase is a phase of rbd bench. Writes overwrite a prefilled image. Each client has its own image unless
// the target shares one. The image is as large as its prefilled data, because rbd bench always uses the
// whole image.
type phase struct {
	spec    v1alpha1.RBDBench
	ioBytes int64
	total   int64   // In bytes; 0 if pilots (short runs) determine it.
	seconds float64 // The intended duration.
}

// New returns the load of a phase. The error says which field is out of range.
func New(spec v1alpha1.RBDBench) (load.Piloted, error) {
	b := &phase{spec: spec, ioBytes: spec.IOSize.Value(), seconds: spec.Duration.Seconds()}
	if spec.IOTotal != nil {
		b.total = spec.IOTotal.Value()
	}
	switch {
	case b.ioBytes <= 0:
		return nil, errors.New("ioSize must be above 0")
	case spec.IOThreads <= 0:
		return nil, errors.New("ioThreads must be above 0")
	case b.seconds <= 0:
		return nil, errors.New("duration must be above 0")
	case spec.IOTotal != nil && b.total < b.ioBytes:
		return nil, errors.New("ioTotal must be at least ioSize")
	case typeName(spec.IOType) == "":
		return nil, fmt.Errorf("ioType %q must be Read, Write or ReadWrite", spec.IOType)
	case patternName(spec.IOPattern) == "":
		return nil, fmt.Errorf("ioPattern %q must be Rand, Seq or FullSeq", spec.IOPattern)
	}
	if b.NeedsPilot() {
		b.seconds = max(b.seconds, shortestAim)
	}
	return b, nil
}

// Timing implements load.Load.
func (b *phase) Timing() load.Timing { return load.Timing{MeasuredSeconds: b.seconds} }

func (b *phase) image(p place.Place) prefill.Set {
	use := prefill.Write
	if b.spec.IOType == v1alpha1.RBDBenchRead {
		use = prefill.Read
	}
	return prefill.Set{Place: p, Medium: prefill.Image, Use: use, Parts: 1}
}

// Datasets implements load.Load.
func (b *phase) Datasets(p place.Place) []load.Dataset {
	if b.validate(p) != nil {
		return nil
	}
	return []load.Dataset{b.image(p).Dataset()}
}

// Namespaces implements load.Load. It returns nil, because rbd bench creates only objects of images.
func (*phase) Namespaces(place.Place) []string { return nil }

// Tidy implements load.Load. It returns nil, because a run works on existing data.
func (*phase) Tidy(place.Place, load.Run) []task.Command { return nil }

// Task implements load.Load.
func (b *phase) Task(p place.Place, run load.Run) (task.Task, error) {
	total := b.total
	if total == 0 {
		total = run.IOTotalBytes
	}
	made, err := b.task(p, run, total)
	if err != nil {
		return task.Task{}, err
	}
	made.Measure.MinimumSeconds = minimumSeconds
	return made, nil
}

// PilotTask implements load.Piloted.
func (b *phase) PilotTask(p place.Place, run load.Run, bytes int64) (task.Task, error) {
	return b.task(p, run, bytes)
}

func (b *phase) task(p place.Place, run load.Run, total int64) (task.Task, error) {
	if err := errors.Join(b.validate(p), run.Validate()); err != nil {
		return task.Task{}, err
	}
	if total < b.ioBytes {
		return task.Task{}, fmt.Errorf("the total of %d bytes must be at least ioSize, %d bytes", total, b.ioBytes)
	}
	image := b.image(p)
	if b.ioBytes > image.PartBytes() {
		return task.Task{}, fmt.Errorf("ioSize of %d bytes must not be larger than the prefilled image, %d bytes", b.ioBytes, image.PartBytes())
	}
	made := task.Task{
		ID: run.ID,
		Measure: &task.Measurement{
			Command: task.Command{Argv: b.argv(p, image.ImageName(0), total)}, Format: Format, RequestedBytes: total,
		},
		MeasureTimeoutSeconds: deadline*b.seconds + 60,
	}
	if image.Use == prefill.Write {
		made.Steps = []task.Command{image.AwaitLock(0)}
		made.StepsTimeoutSeconds = stepsSeconds
	}
	return made, nil
}

func (b *phase) argv(p place.Place, image string, total int64) []string {
	argv := []string{
		"rbd", "--id=" + p.CephUser, "bench", "--pool=" + p.Pool, "--image=" + image,
		"--io-type=" + typeName(b.spec.IOType),
		"--io-size=" + strconv.FormatInt(b.ioBytes, 10) + "B",
		"--io-threads=" + strconv.Itoa(int(b.spec.IOThreads)),
		"--io-total=" + strconv.FormatInt(total, 10) + "B",
		"--io-pattern=" + patternName(b.spec.IOPattern),
	}
	if b.spec.IOType == v1alpha1.RBDBenchReadWrite {
		percent := int32(50)
		if b.spec.ReadPercent != nil {
			percent = *b.spec.ReadPercent
		}
		argv = append(argv, "--rw-mix-read="+strconv.Itoa(int(percent)))
	}
	if b.incompressible() {
		argv = append(argv, "--pattern-byte=rand-str")
	}
	return argv
}

// incompressible reports whether the command must request incompressible data.
func (b *phase) incompressible() bool {
	return b.spec.IOType != v1alpha1.RBDBenchRead && b.spec.DataPattern == v1alpha1.RBDBenchIncompressible
}

func (b *phase) validate(p place.Place) error {
	if err := p.Validate(); err != nil {
		return err
	}
	switch {
	case p.Pool == "":
		return errors.New("rbd bench works on a pool: use fio on a claim")
	case p.DatasetBytes == 0:
		return errors.New("the size of the dataset is unknown")
	case b.incompressible() && p.CephMajor > 0 && p.CephMajor < firstPatternByte:
		return fmt.Errorf("rbd bench of Ceph %d can only repeat one byte: set dataPattern to RepeatedByte, or use fio with engine RBD", p.CephMajor)
	}
	return nil
}

func typeName(t v1alpha1.RBDBenchIOType) string {
	switch t {
	case v1alpha1.RBDBenchRead:
		return "read"
	case v1alpha1.RBDBenchWrite:
		return "write"
	case v1alpha1.RBDBenchReadWrite:
		return "readwrite"
	}
	return ""
}

func patternName(pattern v1alpha1.RBDBenchIOPattern) string {
	switch pattern {
	case v1alpha1.RBDBenchRand:
		return "rand"
	case v1alpha1.RBDBenchSeq:
		return "seq"
	case v1alpha1.RBDBenchFullSeq:
		return "full-seq"
	}
	return ""
}
