package device

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/result"
)

// run generates a load for two seconds, and returns the result. Tests of time have virtual time (package
// openloop), so here it only matters that operations arrive and return.
func run(t *testing.T, l *openloop.Load, b openloop.Backend, err error) (*result.Result, error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	return openloop.Run(ctx, l, b, NewClock(), io.Discard)
}

func mixed(engine openloop.Engine, target string) *openloop.Load {
	return &openloop.Load{Engine: engine, User: "io", Pool: "p", Seconds: 2, Copies: []openloop.Copy{
		{Target: target, Size: 1 << 19, Reads: true, Writes: true, Random: true, Blocks: []openloop.Block{{Bytes: 4096, Weight: 1}}, IOPS: 500, Poisson: true, Seed: 1},
		{Target: target, Offset: 1 << 19, Size: 1 << 19, Reads: true, Blocks: []openloop.Block{{Bytes: 8192, Weight: 1}}, IOPS: 100, Seed: 2},
	}}
}

// checkMixed compares a result with what the load offers: 1200 reads and 1000 writes.
func checkMixed(t *testing.T, res *result.Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Arrivals.Operations; n < 2000 || n > 2400 || res.Arrivals.Unfinished > 0 {
		t.Errorf("%d operations were issued, and %d are unfinished; want about 2200 and 0", n, res.Arrivals.Unfinished)
	}
	if res.Read == nil || res.Write == nil || res.Read.Bytes < 4096*res.Read.Operations+1 {
		t.Errorf("reads %+v, writes %+v", res.Read, res.Write)
	}
}

func aFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAIOReadsAndWritesAFile(t *testing.T) {
	path := aFile(t)
	l := mixed(openloop.LibAIO, path)
	l.Sync = "dsync"
	b, err := Open(l)
	res, err := run(t, l, b, err)
	checkMixed(t, res, err)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Trim(string(data[:1<<19]), "\x00") == "" || strings.Trim(string(data[1<<19:]), "\x00") != "" {
		t.Error("the writes are not in the first half of the file")
	}
}

func TestAIONeverMakesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	if _, err := Open(mixed(openloop.LibAIO, path)); !os.IsNotExist(err) {
		t.Errorf("got error %v", err)
	}
	short := aFile(t)
	l := mixed(openloop.LibAIO, short)
	l.Copies[0].Size = 2 << 20
	if _, err := Open(l); err == nil || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Errorf("got error %v for a file that is too short", err)
	}
}

// fakeCeph builds the fake of Ceph's libraries.
func fakeCeph(t *testing.T) ceph {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libfakeceph.so")
	if out, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-pthread", "-o", path, "testdata/fakeceph.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := loadCeph(path, path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLibrariesOfCephReadAndWrite(t *testing.T) {
	c := fakeCeph(t)
	t.Run("images", func(t *testing.T) {
		l := mixed(openloop.RBD, "image")
		b, err := newImages(c, l)
		res, err := run(t, l, b, err)
		checkMixed(t, res, err)
		checkService(t, res)
		images, ok := b.(io.Closer)
		if !ok {
			t.Fatal("images cannot be closed")
		}
		if err := images.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("objects", func(t *testing.T) {
		l := mixed(openloop.RADOS, "obj.")
		l.Copies[0].ObjectBytes, l.Copies[1].ObjectBytes, l.Copies[1].Offset = 1<<18, 1<<18, 0
		b, err := newObjects(c, l)
		res, err := run(t, l, b, err)
		checkMixed(t, res, err)
		checkService(t, res)
	})
	for name, change := range map[string]func(l *openloop.Load){
		"rados_create: invalid argument":      func(l *openloop.Load) { l.User = "other" },
		"pool missing: rados_ioctx_create":    func(l *openloop.Load) { l.Pool = "missing" },
		"image other: rbd_open: no such file": func(l *openloop.Load) { l.Copies[1].Target = "other" },
	} {
		l := mixed(openloop.RBD, "image")
		change(l)
		if _, err := newImages(c, l); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want %s", err, name)
		}
	}
	t.Run("missing objects", func(t *testing.T) {
		l := mixed(openloop.RADOS, "other.")
		l.Copies[0].ObjectBytes, l.Copies[1].ObjectBytes = 1<<18, 1<<18
		b, err := newObjects(c, l)
		if _, err := run(t, l, b, err); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("got error %v", err)
		}
	})
}

// checkService checks that no operation took less than the two milliseconds of the fake.
func checkService(t *testing.T, res *result.Result) {
	t.Helper()
	for _, d := range res.Directions() {
		if d.Latency != nil && *d.Latency.Moments.MinSeconds < 0.002 {
			t.Errorf("an operation took %v s", *d.Latency.Moments.MinSeconds)
		}
	}
}

func TestMissingLibrariesAreNamed(t *testing.T) {
	if _, err := loadCeph("libnone.so.7", "libnone.so.8"); err == nil || !strings.Contains(err.Error(), "libnone.so") {
		t.Errorf("got error %v", err)
	}
}
