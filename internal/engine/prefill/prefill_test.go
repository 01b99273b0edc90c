package prefill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

const gibibyte = 1 << 30

func pool() place.Place {
	return place.Place{
		CephUser: "io", Pool: "p", Owner: "cephtune-1", Client: 2, Clients: 3, DatasetBytes: gibibyte,
		Image: place.Image{SizeBytes: 10 * gibibyte, ObjectSizeBytes: 4 << 20},
	}
}

func claim() place.Place {
	return place.Place{Directory: "/data", Owner: "cephtune-1", Clients: 1, DatasetBytes: gibibyte}
}

func TestImages(t *testing.T) {
	p := pool()
	p.DataPool = "ec"
	name := func(part string) string { return "--image=cephtune-1-2-w2x512m-c50-" + part }
	create := func(part string) task.Command {
		return task.Command{Argv: []string{
			"rbd", "--id=io", "create", "--pool=p", name(part), "--size=536870912B", "--object-size=4194304B",
			"--data-pool=ec",
		}, Accept: []int{17}}
	}
	fill := func(part string) task.Command {
		return task.Command{Argv: []string{
			"fio", "--eta=never", "--name=fill", "--rw=write", "--bs=4194304", "--iodepth=16", "--size=536870912",
			"--ioengine=rbd", "--direct=1", "--end_fsync=1", "--clientname=io", "--pool=p", "--busy_poll=0",
			"--rbdname=cephtune-1-2-w2x512m-c50-" + part,
			"--refill_buffers=1", "--buffer_compress_percentage=50", "--buffer_compress_chunk=4096",
		}}
	}
	lock := func(part string) task.Command {
		return task.Command{Argv: []string{"rbd", "--id=io", "image-meta", "set", "--pool=p", name(part), "cephtune", "prepared"}, Accept: []int{2}}
	}
	remove := func(part string) task.Command {
		return task.Command{Argv: []string{"rbd", "--id=io", "rm", "--no-progress", "--pool=p", name(part)}, Accept: []int{2}}
	}
	read := func(part string) task.Command {
		return task.Command{Argv: []string{
			"fio", "--eta=never", "--name=warm", "--rw=read", "--bs=4194304", "--iodepth=16", "--size=536870912",
			"--ioengine=rbd", "--direct=1", "--clientname=io", "--pool=p", "--busy_poll=0",
			"--rbdname=cephtune-1-2-w2x512m-c50-" + part,
		}}
	}
	want := load.Dataset{
		Key: "image-w2x512m-c50", Bytes: gibibyte,
		Commands: []task.Command{create("0"), fill("0"), create("1"), fill("1")},
		Warm:     []task.Command{read("0"), read("1")},
		Remove:   []task.Command{lock("0"), remove("0"), lock("1"), remove("1")},
	}
	set := Set{Place: p, Medium: Image, Use: Write, Parts: 2, CompressiblePercent: 50}
	if diff := cmp.Diff(want, set.Dataset()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	snap := func(verb, part string, accept ...int) task.Command {
		return task.Command{Argv: []string{"rbd", "--id=io", "snap", verb, "--pool=p", name(part), "--snap=cephtune-prefilled"}, Accept: accept}
	}
	held := func(part string) task.Command { c := lock(part); c.Accept = nil; return c }
	want.Bytes = 2 * gibibyte
	want.Commands, want.Remove = nil, nil
	for _, part := range []string{"0", "1"} {
		want.Commands = append(want.Commands, create(part), fill(part), snap("create", part, 17), fill(part), snap("rollback", part))
		want.Rollback = append(want.Rollback, held(part), snap("rollback", part))
		want.Remove = append(want.Remove, lock(part), snap("rm", part, 2), remove(part))
	}
	set.Place.Image.RolledBack = true
	if diff := cmp.Diff(want, set.Dataset()); diff != "" {
		t.Errorf("rolled back (-want +got):\n%s", diff)
	}
}

// Data that is not overwritten needs no snapshot, and media without snapshots are not rolled back.
func TestOnlyImagesThatAreWrittenOverAreRolledBack(t *testing.T) {
	p := pool()
	p.Image.RolledBack = true
	for name, set := range map[string]Set{
		"an image that is read":      {Place: p, Medium: Image, Use: Read, Parts: 1},
		"objects that are written":   {Place: p, Medium: Objects, Use: Write, Parts: 1},
		"an image of another client": {Place: shared(p), Medium: Image, Use: Write, Parts: 1},
	} {
		got := set.Dataset()
		if got.Rollback != nil || got.Bytes > gibibyte || strings.Contains(fmt.Sprint(got), "snap") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func shared(p place.Place) place.Place {
	p.Image.Shared = true
	return p
}

func TestOtherMedia(t *testing.T) {
	all := func(name, pattern string, options []string) []task.Command {
		return []task.Command{{Argv: append([]string{"fio", "--eta=never", "--name=" + name, "--rw=" + pattern, "--bs=4194304", "--iodepth=16", "--size=1073741824"}, options...)}}
	}
	fill := func(options ...string) []task.Command { return all("fill", "write", options) }
	read := func(options ...string) []task.Command { return all("warm", "read", options) }
	device := claim()
	device.Directory, device.Device = "", "/dev/bench"
	for name, tc := range map[string]struct {
		set  Set
		want load.Dataset
	}{
		"objects": {
			Set{Place: pool(), Medium: Objects, Use: Read, Parts: 1, BlockBytes: 4096},
			load.Dataset{
				Key: "objects-r1x1024m-o4", Bytes: gibibyte,
				Commands: fill("--ioengine=rados", "--file_service_type=sequential", "--nrfiles=256", "--clientname=io", "--pool=p",
					"--busy_poll=0", "--touch_objects=0", "--filename_format=benchmark_data_cephtune-1-2-r1x1024m-o4-0.$filenum"),
				Warm: read("--ioengine=rados", "--file_service_type=sequential", "--nrfiles=256", "--clientname=io", "--pool=p",
					"--busy_poll=0", "--touch_objects=0", "--filename_format=benchmark_data_cephtune-1-2-r1x1024m-o4-0.$filenum"),
				Remove: []task.Command{{Argv: []string{
					"rados", "--id=io", "--pool=p", "--run-name=cephtune-1-2-none", "--prefix=benchmark_data_cephtune-1-2-r1x1024m-o4-0.", "cleanup",
				}}},
			},
		},
		"a file": {
			Set{Place: claim(), Medium: File, Use: Read, Parts: 1},
			load.Dataset{
				Key: "file-r1x1024m", Bytes: gibibyte,
				Commands: fill("--ioengine=libaio", "--direct=0", "--end_fsync=1", "--fallocate=none", "--filename=/data/cephtune-1-0-r1x1024m-0"),
				Warm:     read("--ioengine=libaio", "--direct=0", "--allow_file_create=0", "--invalidate=1", "--filename=/data/cephtune-1-0-r1x1024m-0"),
				Remove:   []task.Command{{Argv: []string{"rm", "-f", "/data/cephtune-1-0-r1x1024m-0"}}},
			},
		},
		// Data on a device cannot be removed, and all clients share it.
		"a device": {
			Set{Place: device, Medium: Device, Use: Write, Parts: 4, CompressiblePercent: 50},
			load.Dataset{
				Key: "device-1024m", Bytes: gibibyte,
				Commands: fill("--ioengine=libaio", "--direct=1", "--end_fsync=1", "--allow_file_create=0", "--filename=/dev/bench"),
				Warm:     read("--ioengine=libaio", "--direct=1", "--allow_file_create=0", "--filename=/dev/bench"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.set.Dataset()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartBytes(t *testing.T) {
	for name, tc := range map[string]struct {
		set   Set
		bytes int64
		want  int64
	}{
		"all":                             {Set{Medium: Image, Parts: 1}, gibibyte, gibibyte},
		"a third, in whole blocks":        {Set{Medium: Image, Parts: 3}, gibibyte, 340 << 20},
		"no more than an image":           {Set{Medium: Image, Parts: 1}, 64 * gibibyte, 10 * gibibyte},
		"more than an image in a file":    {Set{Medium: File, Parts: 1}, 64 * gibibyte, 64 * gibibyte},
		"less than a block":               {Set{Medium: Image, Parts: 2}, 5 << 20, 2 << 20},
		"less than a mebibyte":            {Set{Medium: Image, Parts: 64}, 5 << 20, 1 << 20},
		"whole objects":                   {Set{Medium: Objects, Parts: 1}, 9 << 20, 8 << 20},
		"one object at least":             {Set{Medium: Objects, Parts: 8}, 9 << 20, 4 << 20},
		"objects for blocks of 3 MiB":     {Set{Medium: Objects, Parts: 1, BlockBytes: 3 << 20}, gibibyte, gibibyte},
		"objects for blocks of 24 MiB":    {Set{Medium: Objects, Parts: 1, BlockBytes: 24 << 20}, 100 << 20, 96 << 20},
		"objects of no more than a block": {Set{Medium: Objects, Parts: 1, BlockBytes: 64 << 20}, 100 << 20, 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			tc.set.Place = pool()
			tc.set.Place.DatasetBytes = tc.bytes
			if got := tc.set.PartBytes(); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// fio skips the end of a part if it does not fill a block, and data that was never written is read
// very fast.
func TestPartsAreWrittenToTheirEnds(t *testing.T) {
	for bytes := int64(1 << 20); bytes < 40<<20; bytes += 700_001 {
		for parts := 1; parts < 6; parts++ {
			p := pool()
			p.DatasetBytes = bytes
			s := Set{Place: p, Medium: Image, Use: Read, Parts: parts}
			if s.PartBytes()%s.fillBlock() != 0 || s.PartBytes() <= 0 {
				t.Fatalf("a part of %d bytes is written in blocks of %d", s.PartBytes(), s.fillBlock())
			}
		}
	}
}

func TestOneClientFillsASharedImage(t *testing.T) {
	p := pool()
	p.Image.Shared = true
	first, second := p, p
	first.Client, second.Client = 0, 1
	a := Set{Place: first, Medium: Image, Use: Write, Parts: 1}
	b := Set{Place: second, Medium: Image, Use: Write, Parts: 1}
	if a.ImageName(0) != b.ImageName(0) || a.Dataset().Key != b.Dataset().Key {
		t.Errorf("images %s and %s", a.ImageName(0), b.ImageName(0))
	}
	if got := a.Dataset(); got.Bytes != 3*gibibyte || len(got.Commands) == 0 || len(got.Remove) == 0 {
		t.Errorf("the first client has %+v, want all of three clients", got)
	}
	if got := b.Dataset(); got.Bytes != 0 || got.Commands != nil || got.Remove != nil {
		t.Errorf("the second client has %+v", got)
	}
}

// The prefix of one part's objects must not match objects of another part, client or owner.
func TestPrefixesOfObjectsAreTheirOwn(t *testing.T) {
	var prefixes []string
	for client := range 12 {
		for _, parts := range []int{1, 12} {
			p := pool()
			p.Client, p.Clients = client, 12
			s := Set{Place: p, Medium: Objects, Use: Write, Parts: parts}
			for part := range parts {
				prefixes = append(prefixes, s.name(part))
			}
		}
	}
	for i, a := range prefixes {
		for j, b := range prefixes {
			if i != j && strings.HasPrefix(b, a) {
				t.Fatalf("what begins with %s is removed with %s", b, a)
			}
		}
	}
}

// If other runs use the data too, its names do not contain the run, and the data stays.
func TestDataOfABlock(t *testing.T) {
	for name, c := range map[string]struct {
		place  place.Place
		medium Medium
		there  bool
		want   string // the beginning of the name of a part
		shared bool
	}{
		"an image":           {pool(), Image, false, "cephtune-block-2-w1x", true},
		"an image, later":    {pool(), Image, true, "cephtune-block-2-w1x", true},
		"objects":            {pool(), Objects, false, "benchmark_data_cephtune-block-2-w1x", true},
		"a file has a claim": {claim(), File, true, "cephtune-block-0-w1x", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.place.DatasetOwner, c.place.DatasetThere = "cephtune-block", c.there
			s := Set{Place: c.place, Medium: c.medium, Use: Write, Parts: 1}
			d := s.Dataset()
			if !strings.HasPrefix(s.name(0), c.want) || d.Shared != c.shared || d.There != (c.there && c.shared) {
				t.Errorf("%s, shared %t, there %t, want %s…, %t and %t", s.name(0), d.Shared, d.There, c.want, c.shared, c.there && c.shared)
			}
		})
	}
}
