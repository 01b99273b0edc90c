// Package prefill makes the data that phases work on: RBD images, RADOS objects, files, or parts of a block
// device. Phases of rados bench prefill their objects themselves. Even phases of fio and rbd bench that only
// write use prefilled data. In a new image, the first write to an object allocates it; in a new file, the first
// write to a block allocates it. Runs on fresh data would measure these allocations, which become rarer as the
// run proceeds. Overwriting costs the same in every run, and is what applications mostly do.
//
// Images that are rolled back before each run have a snapshot, and are filled once more after it. On the
// first write to an object after a snapshot, Ceph copies the old data. Without the second filling, only the
// first run would pay for these copies.
package prefill

import (
	"fmt"
	"path"
	"strconv"

	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Medium is the kind of storage for the data.
type Medium string

// These are the media.
const (
	Image   Medium = "image"
	Objects Medium = "objects"
	File    Medium = "file"
	Device  Medium = "device"
)

// Use says what phases do with the data. Except on a device, data to read is separate from data to overwrite,
// so that overwriting does not change the layout of the data to read.
type Use string

// These are the uses.
const (
	Read  Use = "r"
	Write Use = "w"
)

// Snapshot is the name of the snapshot of an image's prefilled data.
const Snapshot = "cephtune-prefilled"

const (
	mebibyte = 1 << 20
	// block is the size of each read and write. A part whose size is not a multiple of block is read and
	// written one mebibyte at a time.
	block = 4 * mebibyte
	// depth is how many operations are in flight: 64 MiB of the client's memory if each writes a block.
	depth = 16
)

// These exit codes, ENOENT and EEXIST, mean that the command has nothing to do, for example because an earlier
// attempt has done its work.
const (
	noEntry = 2
	exists  = 17
)

// Set is data in one or several parts of equal size. A part is an image, a number of objects, a file, or a
// region of the device.
type Set struct {
	Place  place.Place
	Medium Medium
	Use    Use
	// Parts is the number of parts, at least 1.
	Parts int
	// BlockBytes is the size of the largest operation. It applies only to Objects, because an operation
	// must fit into one object.
	BlockBytes int64
	// CompressiblePercent says how much of the data can be compressed.
	CompressiblePercent int32
}

// PartBytes returns the size of each part: DatasetBytes divided by the number of parts. A shared image has
// the DatasetBytes of all clients. An image is at most SizeBytes. The size is rounded down to whole
// objects, blocks or mebibytes, but never to 0.
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

// ObjectBytes returns the size of each object of a part: 4 MiB, doubled until the largest operation fits.
func (s Set) ObjectBytes() int64 {
	size := int64(block)
	for size < s.BlockBytes {
		size *= 2
	}
	return size
}

// ObjectCount returns the number of objects of a part.
func (s Set) ObjectCount() int64 { return s.PartBytes() / s.ObjectBytes() }

func (s Set) shared() bool { return s.Medium == Image && s.Place.Image.Shared }

// rolledBack reports whether the set has snapshots, and is rolled back to them before each run.
func (s Set) rolledBack() bool {
	return s.Medium == Image && s.Use == Write && s.Place.Image.RolledBack
}

// absent reports whether client 0 writes and removes the set instead of this client.
func (s Set) absent() bool { return s.shared() && s.Place.Client != 0 }

// base returns a name for the set. Sets of one medium and place have equal names only if their contents and
// layout are equal.
func (s Set) base() string {
	if s.Medium == Device {
		// All phases share the data of the one device.
		return strconv.FormatInt(s.deviceBytes()/mebibyte, 10) + "m"
	}
	base := fmt.Sprintf("%s%dx%dm", s.Use, s.Parts, s.PartBytes()/mebibyte)
	if s.Medium == Objects {
		base += fmt.Sprintf("-o%d", s.ObjectBytes()/mebibyte)
	}
	if s.CompressiblePercent > 0 {
		base += fmt.Sprintf("-c%d", s.CompressiblePercent)
	}
	return base
}

// name returns the name of an image or file, or the prefix of object names.
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

// ImageName returns the name of the image that is the given part.
func (s Set) ImageName(part int) string { return s.name(part) }

// OffsetBytes returns where a part begins in the image, file or device that Options selects.
func (s Set) OffsetBytes(part int) int64 {
	if s.Medium == Device {
		return int64(part) * s.PartBytes()
	}
	return 0
}

// deviceBytes returns the size of the region of a device that is prefilled. It does not depend on the number of
// parts.
func (s Set) deviceBytes() int64 {
	s.Parts = 1
	return s.PartBytes()
}

// Target returns the name of an image, the path of a file or device, or the prefix of the names of objects.
func (s Set) Target(part int) string {
	switch s.Medium {
	case File:
		return path.Join(s.Place.Directory, s.name(part))
	case Device:
		return s.Place.Device
	case Image, Objects:
	}
	return s.name(part)
}

// Options returns the fio options that select the image, objects, file or device of a part. The caller adds
// offset, size and number of objects.
func (s Set) Options(part int) []string {
	switch s.Medium {
	case Image:
		return []string{"--rbdname=" + s.Target(part)}
	case Objects:
		// fio replaces $filenum with the number of the object.
		return []string{"--filename_format=" + s.Target(part) + "$filenum"}
	case File, Device:
		return []string{"--filename=" + s.Target(part)}
	}
	return nil
}

// EngineOptions returns the fio options for the connection to Ceph. For files and devices, it returns the
// option that forbids fio to create them.
func (s Set) EngineOptions() []string {
	switch s.Medium {
	case Image:
		return []string{"--clientname=" + s.Place.CephUser, "--pool=" + s.Place.Pool, "--busy_poll=0"}
	case Objects:
		// Touching would create missing objects, and warm caches.
		return []string{"--clientname=" + s.Place.CephUser, "--pool=" + s.Place.ObjectPool(), "--busy_poll=0", "--touch_objects=0"}
	case File, Device:
		// A missing file must be an error. Otherwise, fio would create the file while other clients
		// measure.
		return []string{"--allow_file_create=0"}
	}
	return nil
}

// ContentOptions returns the fio options for the contents of writes. block is in bytes.
func ContentOptions(compressiblePercent int32, block int64) []string {
	if compressiblePercent == 0 {
		// By default, fio writes random bytes and changes some of them for each write. Such bytes are
		// incompressible, and take less of the client's CPU time than fresh random bytes.
		return nil
	}
	return []string{
		"--refill_buffers=1",
		"--buffer_compress_percentage=" + strconv.Itoa(int(compressiblePercent)),
		"--buffer_compress_chunk=" + strconv.FormatInt(min(4096, block), 10),
	}
}

// Dataset returns the commands and properties of the set.
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
		return dataset // Remove is empty: the data stays on the device.
	}
	dataset.Bytes = int64(s.Parts) * s.PartBytes()
	for part := range s.Parts {
		if s.Medium == Image {
			dataset.Commands = append(dataset.Commands, s.create(part))
		}
		dataset.Commands = append(dataset.Commands, s.fill(part))
		if s.rolledBack() {
			dataset.Bytes += s.PartBytes() // The snapshot keeps a second copy.
			dataset.Commands = append(dataset.Commands, s.snapshot("create", part), s.fill(part), s.snapshot("rollback", part))
			dataset.Rollback = append(dataset.Rollback, s.AwaitLock(part), s.snapshot("rollback", part))
		}
		dataset.Warm = append(dataset.Warm, s.read(part))
		dataset.Remove = append(dataset.Remove, s.remove(part)...)
	}
	return dataset
}

// snapshot returns a command that creates or removes the snapshot of an image's prefilled data, or rolls
// the image back to it. A rollback needs the exclusive lock of the image, and fails if another client has
// that lock.
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
	if s.Place.DataPool != "" {
		argv = append(argv, "--data-pool="+s.Place.DataPool)
	}
	return task.Command{Argv: argv, Accept: []int{exists}}
}

// fill returns a command that writes a whole part. It uses fio for all media, because `rbd bench` before
// Tentacle fills every block with one repeated byte.
func (s Set) fill(part int) task.Command {
	argv := s.throughout("fill", "write")
	switch s.Medium {
	case Image, Device:
		argv = append(argv, "--end_fsync=1")
	case File:
		argv = append(argv, "--end_fsync=1", "--fallocate=none")
	case Objects:
	}
	if s.Medium != File { // For File, EngineOptions forbids fio to create the file.
		argv = append(argv, s.EngineOptions()...)
	}
	argv = append(argv, s.Options(part)...)
	if s.Medium != Device {
		argv = append(argv, ContentOptions(s.CompressiblePercent, block)...)
	}
	return task.Command{Argv: argv}
}

// read returns a command that reads a whole part.
func (s Set) read(part int) task.Command {
	argv := append(s.throughout("warm", "read"), s.EngineOptions()...)
	if s.Medium == File {
		// Otherwise, reads might come from the node's page cache instead of the OSDs.
		argv = append(argv, "--invalidate=1")
	}
	return task.Command{Argv: append(argv, s.Options(part)...)}
}

// throughout returns the beginning of a fio command line for one sequential pass over a part.
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
		// Not every file system supports direct I/O, so fio uses buffered I/O.
		return append(argv, "--ioengine=libaio", "--direct=0")
	case Device:
		return append(argv, "--ioengine=libaio", "--direct=1")
	}
	return argv
}

// fillBlock returns a block size that divides the size of a part, because fio skips an
// incomplete last block.
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

// AwaitLock returns a command that waits for the exclusive lock of an image. Ceph keeps the lock of a
// killed client for half a minute, and a phase must not measure that wait. The command sets metadata that
// has no meaning, because setting metadata requires the lock.
func (s Set) AwaitLock(part int) task.Command {
	return task.Command{Argv: []string{
		"rbd", "--id=" + s.Place.CephUser, "image-meta", "set", "--pool=" + s.Place.Pool, "--image=" + s.name(part),
		"cephtune", "prepared",
	}}
}

// CheckObjects returns a command that fails if the last object of a part is missing. fio's ioengine rados
// ignores missing objects, and would report very fast reads of them.
func (s Set) CheckObjects(part int) task.Command {
	last := s.name(part) + strconv.FormatInt(s.ObjectCount()-1, 10)
	return task.Command{Argv: []string{"rados", "--id=" + s.Place.CephUser, "--pool=" + s.Place.ObjectPool(), "stat", last}}
}

// RemoveObjects returns a command that removes, from a RADOS namespace, all objects whose names have the given
// prefix. The prefix must begin with [place.ObjectPrefix]. The namespace "" is the default namespace.
//
// If `rados cleanup` finds the metadata object of a rados bench run, it does not list objects. It computes
// their names from this host's name and the process ID in the metadata object, even if no such objects
// exist. RemoveObjects passes a run name without a metadata object, so `rados cleanup` lists the objects.
func RemoveObjects(p place.Place, namespace, prefix string) task.Command {
	argv := []string{"rados", "--id=" + p.CephUser, "--pool=" + p.ObjectPool()}
	if namespace != "" {
		argv = append(argv, "--namespace="+namespace)
	}
	return task.Command{Argv: append(argv, "--run-name="+p.Name("none"), "--prefix="+prefix, "cleanup")}
}
