// Package prefill makes the data that phases work on: RBD images, RADOS objects,
// files, or parts of a block device.
// Data that phases overwrite is prefilled too. The first write to a part of a new image
// allocates objects, and to a new file blocks. Runs on fresh data would measure that, less and
// less of it the further they get. Overwriting in place costs the same in every run, and is what
// an application sees after a while.
//
// Images that are to be rolled back before each run have a snapshot, and are filled
// once more after it was taken. The first write to an object since the last snapshot
// has Ceph keep a copy of what was there; without that second filling the first run
// alone would pay for those copies.
package prefill

import (
	"fmt"
	"path"
	"strconv"

	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Medium is what the data is kept in.
type Medium string

// The media.
const (
	Image   Medium = "image"
	Objects Medium = "objects"
	File    Medium = "file"
	Device  Medium = "device"
)

// Use says what phases do with the data. Data to read is kept apart from data to overwrite, so
// that it keeps its layout.
type Use string

// The uses.
const (
	Read  Use = "r"
	Write Use = "w"
)

// Snapshot is the name of the snapshot of an image's prefilled data.
const Snapshot = "cephtune-prefilled"

const (
	mebibyte = 1 << 20
	// block is what is written at once, and what parts are whole multiples of.
	block = 4 * mebibyte
	// depth is how many blocks are in flight: 64 MiB of the client's memory.
	depth = 16
)

// Exit codes with which a repeated command says that there was nothing to do.
const (
	noEntry = 2
	exists  = 17
)

// Set is data in one or several parts of one size. A part is an image, a number of objects, a
// file, or a region of the device.
type Set struct {
	Place  place.Place
	Medium Medium
	Use    Use
	// Parts is at least 1.
	Parts int
	// BlockBytes is the largest operation on Objects, which must fit into one.
	BlockBytes int64
	// CompressiblePercent and DedupePercent are those of the contents.
	CompressiblePercent, DedupePercent int32
}

// PartBytes is the size of each part: what the place allows for the dataset divided
// by the number of parts, in whole blocks where it is larger than one.
func (s Set) PartBytes() int64 {
	bytes := s.Place.DatasetBytes
	if s.shared() {
		bytes *= int64(s.Place.Clients)
	}
	bytes /= int64(s.Parts)
	if s.Medium == Image && s.Place.Image.SizeBytes > 0 {
		bytes = min(bytes, s.Place.Image.SizeBytes)
	}
	unit := int64(block)
	switch {
	case s.Medium == Objects:
		unit = s.ObjectBytes()
	case bytes < block:
		unit = mebibyte
	}
	return max(bytes/unit, 1) * unit
}

// ObjectBytes is the size of each object of a part: 4 MiB as those of an image, or
// more where an operation would not fit.
func (s Set) ObjectBytes() int64 {
	size := int64(block)
	for size < s.BlockBytes {
		size *= 2
	}
	return size
}

// ObjectCount is how many objects a part has.
func (s Set) ObjectCount() int64 { return s.PartBytes() / s.ObjectBytes() }

func (s Set) shared() bool { return s.Medium == Image && s.Place.Image.Shared }

// rolledBack says that the set is brought back to what it was prefilled with.
func (s Set) rolledBack() bool {
	return s.Medium == Image && s.Use == Write && s.Place.Image.RolledBack
}

// absent says that it is another client that writes and removes the set.
func (s Set) absent() bool { return s.shared() && s.Place.Client != 0 }

// base identifies a set by all that determines its contents and layout.
func (s Set) base() string {
	if s.Medium == Device {
		// There is one device, so phases have to share what is on it.
		return strconv.FormatInt(s.deviceBytes()/mebibyte, 10) + "m"
	}
	base := fmt.Sprintf("%s%dx%dm", s.Use, s.Parts, s.PartBytes()/mebibyte)
	if s.Medium == Objects {
		base += fmt.Sprintf("-o%d", s.ObjectBytes()/mebibyte)
	}
	if s.CompressiblePercent > 0 {
		base += fmt.Sprintf("-c%d", s.CompressiblePercent)
	}
	if s.DedupePercent > 0 {
		base += fmt.Sprintf("-d%d", s.DedupePercent)
	}
	return base
}

// name is that of an image, of a file, or with which objects begin.
func (s Set) name(part int) string {
	p := s.Place
	if s.shared() {
		p.Client = 0
	}
	name := p.DatasetName(s.base() + "-" + strconv.Itoa(part))
	if s.Medium == Objects {
		return place.ObjectPrefix + name + "."
	}
	return name
}

// ImageName is the name of a part that is an image.
func (s Set) ImageName(part int) string { return s.name(part) }

// OffsetBytes is where a part begins in what Options lead to.
func (s Set) OffsetBytes(part int) int64 {
	if s.Medium == Device {
		return int64(part) * s.PartBytes()
	}
	return 0
}

// deviceBytes is how much of a device is prefilled, whatever its parts.
func (s Set) deviceBytes() int64 {
	s.Parts = 1
	return s.PartBytes()
}

// Options are the options of fio that lead to a part, its size (and number of
// objects) left out.
func (s Set) Options(part int) []string {
	switch s.Medium {
	case Image:
		return []string{"--rbdname=" + s.name(part)}
	case Objects:
		// fio puts the number of the object in place of the variable.
		return []string{"--filename_format=" + s.name(part) + "$filenum"}
	case File:
		return []string{"--filename=" + path.Join(s.Place.Directory, s.name(part))}
	case Device:
		return []string{"--filename=" + s.Place.Device}
	}
	return nil
}

// EngineOptions are the options of fio by which it can talk to Ceph at all.
func (s Set) EngineOptions() []string {
	switch s.Medium {
	case Image:
		return []string{"--clientname=" + s.Place.CephUser, "--pool=" + s.Place.Pool, "--busy_poll=0"}
	case Objects:
		// Touching objects would create those that are missing, and warm caches.
		return []string{"--clientname=" + s.Place.CephUser, "--pool=" + s.Place.ObjectPool(), "--busy_poll=0", "--touch_objects=0"}
	case File, Device:
		// A file that is missing is an error, and not to be laid out while others
		// measure already.
		return []string{"--allow_file_create=0"}
	}
	return nil
}

// ContentOptions are the options of fio for what is written.
func ContentOptions(compressiblePercent, dedupePercent int32, smallestBlock int64) []string {
	if compressiblePercent == 0 && dedupePercent == 0 {
		// Random bytes, a little changed with each write: nothing to compress, and
		// without the CPU time that new ones would take from the load.
		return nil
	}
	options := []string{"--refill_buffers=1"}
	if compressiblePercent > 0 {
		options = append(options,
			"--buffer_compress_percentage="+strconv.Itoa(int(compressiblePercent)),
			"--buffer_compress_chunk="+strconv.FormatInt(min(4096, smallestBlock), 10))
	}
	if dedupePercent > 0 {
		options = append(options, "--dedupe_percentage="+strconv.Itoa(int(dedupePercent)))
	}
	return options
}

// Dataset is the set as a dataset.
func (s Set) Dataset() load.Dataset {
	dataset := load.Dataset{Key: string(s.Medium) + "-" + s.base()}
	dataset.Shared = s.Place.DatasetOwner != "" && (s.Medium == Image || s.Medium == Objects)
	dataset.There = dataset.Shared && s.Place.DatasetThere
	if s.absent() {
		return dataset
	}
	if s.Medium == Device {
		dataset.Bytes = s.deviceBytes()
		s.Parts = 1
		dataset.Commands = []task.Command{s.fill(0)}
		dataset.Warm = []task.Command{s.read(0)}
		return dataset // A device cannot be removed, and is not wiped.
	}
	dataset.Bytes = int64(s.Parts) * s.PartBytes()
	for part := range s.Parts {
		if s.Medium == Image {
			dataset.Commands = append(dataset.Commands, s.create(part))
		}
		dataset.Commands = append(dataset.Commands, s.fill(part))
		if s.rolledBack() {
			dataset.Bytes += s.PartBytes() // The snapshot keeps this much.
			dataset.Commands = append(dataset.Commands, s.snapshot("create", part), s.fill(part), s.snapshot("rollback", part))
			dataset.Rollback = append(dataset.Rollback, s.AwaitLock(part), s.snapshot("rollback", part))
		}
		dataset.Warm = append(dataset.Warm, s.read(part))
		dataset.Remove = append(dataset.Remove, s.remove(part)...)
	}
	return dataset
}

// snapshot creates or removes the snapshot of an image's prefilled data, or rolls the image back
// to it. That needs the lock of the image, and does not wait for it.
func (s Set) snapshot(verb string, part int) task.Command {
	command := task.Command{Argv: []string{
		"rbd", "--id=" + s.Place.CephUser, "snap", verb, "--pool=" + s.Place.Pool, "--image=" + s.name(part), "--snap=" + Snapshot,
	}}
	switch verb {
	case "create":
		command.Accept = []int{exists}
	case "rm":
		command.Accept = []int{noEntry} // The image or its snapshot does not exist.
	}
	return command
}

func (s Set) create(part int) task.Command {
	argv := []string{
		"rbd", "--id=" + s.Place.CephUser, "create", "--pool=" + s.Place.Pool, "--image=" + s.name(part),
		"--size=" + strconv.FormatInt(s.PartBytes(), 10) + "B",
	}
	if size := s.Place.Image.ObjectSizeBytes; size > 0 {
		argv = append(argv, "--object-size="+strconv.FormatInt(size, 10)+"B")
	}
	for _, feature := range s.Place.Image.Features {
		argv = append(argv, "--image-feature="+feature)
	}
	if s.Place.DataPool != "" {
		argv = append(argv, "--data-pool="+s.Place.DataPool)
	}
	return task.Command{Argv: argv, Accept: []int{exists}}
}

// fill writes a part from end to end. fio does it for all media, because `rbd bench`
// writes one byte over and over.
func (s Set) fill(part int) task.Command {
	argv := s.throughout("fill", "write")
	switch s.Medium {
	case Image, Device:
		argv = append(argv, "--end_fsync=1")
	case File:
		argv = append(argv, "--end_fsync=1", "--fallocate=none")
	case Objects:
	}
	if s.Medium != File { // Which has to be created.
		argv = append(argv, s.EngineOptions()...)
	}
	argv = append(argv, s.Options(part)...)
	if s.Medium != Device {
		argv = append(argv, ContentOptions(s.CompressiblePercent, s.DedupePercent, block)...)
	}
	return task.Command{Argv: argv}
}

// read reads a part from end to end.
func (s Set) read(part int) task.Command {
	argv := append(s.throughout("warm", "read"), s.EngineOptions()...)
	if s.Medium == File {
		// Data in the node's page cache would not be read from the OSDs.
		argv = append(argv, "--invalidate=1")
	}
	return task.Command{Argv: append(argv, s.Options(part)...)}
}

// throughout are options of fio that go from one end of a part to the other, once.
func (s Set) throughout(name, pattern string) []string {
	argv := []string{
		"fio", "--eta=never", "--name=" + name, "--rw=" + pattern, "--bs=" + strconv.FormatInt(min(block, s.fillBlock()), 10),
		"--iodepth=" + strconv.Itoa(depth), "--size=" + strconv.FormatInt(s.PartBytes(), 10),
	}
	switch s.Medium {
	case Image:
		return append(argv, "--ioengine=rbd", "--direct=1")
	case Objects:
		return append(argv, "--ioengine=rados", "--file_service_type=sequential", "--nrfiles="+strconv.FormatInt(s.ObjectCount(), 10))
	case File:
		// Not every file system can do direct I/O, and a phase need not.
		return append(argv, "--ioengine=libaio", "--direct=0")
	case Device:
		return append(argv, "--ioengine=libaio", "--direct=1")
	}
	return argv
}

// fillBlock divides the size of a part: fio leaves out a last block that is not full.
func (s Set) fillBlock() int64 {
	if s.PartBytes()%block != 0 {
		return mebibyte
	}
	return block
}

func (s Set) remove(part int) []task.Command {
	switch s.Medium {
	case Image:
		remove := task.Command{
			Argv:   []string{"rbd", "--id=" + s.Place.CephUser, "rm", "--no-progress", "--pool=" + s.Place.Pool, "--image=" + s.name(part)},
			Accept: []int{noEntry},
		}
		if s.Use == Read {
			return []task.Command{remove}
		}
		wait := s.AwaitLock(part)
		wait.Accept = []int{noEntry}
		if s.rolledBack() {
			return []task.Command{wait, s.snapshot("rm", part), remove}
		}
		return []task.Command{wait, remove}
	case Objects:
		return []task.Command{RemoveObjects(s.Place, "", s.name(part))}
	case File:
		return []task.Command{{Argv: []string{"rm", "-f", path.Join(s.Place.Directory, s.name(part))}}}
	case Device:
	}
	return nil
}

// AwaitLock takes and returns the exclusive lock of an image. Where a client was
// killed, Ceph holds its lock for half a minute: better now than in the measurement.
// The value that it sets means nothing.
func (s Set) AwaitLock(part int) task.Command {
	return task.Command{Argv: []string{
		"rbd", "--id=" + s.Place.CephUser, "image-meta", "set", "--pool=" + s.Place.Pool, "--image=" + s.name(part),
		"cephtune", "prepared",
	}}
}

// CheckObjects fails if the last object of a part is not there. fio's engine takes
// no notice when objects are missing, and reads them very fast.
func (s Set) CheckObjects(part int) task.Command {
	last := s.name(part) + strconv.FormatInt(s.ObjectCount()-1, 10)
	return task.Command{Argv: []string{"rados", "--id=" + s.Place.CephUser, "--pool=" + s.Place.ObjectPool(), "stat", last}}
}

// RemoveObjects removes the objects of a namespace, "" for the default one, whose
// names begin with prefix, which itself begins with [place.ObjectPrefix].
//
// `rados cleanup` would rather follow the notes of a bench, and remove the objects
// that a process of the noted number on this very host would have written, present
// or not. With a name without notes, it lists the objects instead.
func RemoveObjects(p place.Place, namespace, prefix string) task.Command {
	argv := []string{"rados", "--id=" + p.CephUser, "--pool=" + p.ObjectPool()}
	if namespace != "" {
		argv = append(argv, "--namespace="+namespace)
	}
	return task.Command{Argv: append(argv, "--run-name="+p.Name("none"), "--prefix="+prefix, "cleanup")}
}
