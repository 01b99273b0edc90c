package device

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/engine/openloop"
)

// ceph holds the functions of librados and librbd. They are loaded at run time, because the libraries must have the
// version of the tools image, and a program without cgo can be built for every architecture.
type ceph map[string]uintptr

func loadCeph(rados, rbd string) (ceph, error) {
	// The dynamic loader keeps the text of an error for the thread that failed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := ceph{}
	for _, library := range []struct {
		path  string
		names []string
	}{
		{rados, []string{
			"rados_create", "rados_conf_read_file", "rados_conf_set", "rados_connect", "rados_ioctx_create",
			"rados_aio_create_completion2", "rados_aio_read", "rados_aio_write", "rados_aio_get_return_value", "rados_aio_release",
		}},
		{rbd, []string{
			"rbd_open", "rbd_close", "rbd_set_image_notification", "rbd_poll_io_events", "rbd_aio_create_completion", "rbd_aio_read",
			"rbd_aio_write", "rbd_aio_get_arg", "rbd_aio_get_return_value", "rbd_aio_release",
		}},
	} {
		handle, err := purego.Dlopen(library.path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return nil, err
		}
		for _, name := range library.names {
			if c[name], err = purego.Dlsym(handle, name); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// call calls a function. Arguments that point to Go memory must be converted in the call itself.
//
//go:uintptrescapes
func (c ceph) call(name string, arguments ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(c[name], arguments...)
	return r
}

// do calls a function that returns 0, or an error number below 0.
//
//go:uintptrescapes
func (c ceph) do(name string, arguments ...uintptr) error {
	if code := int32(uint32(c.call(name, arguments...))); code < 0 {
		return fmt.Errorf("%s: %w", name, unix.Errno(-code))
	}
	return nil
}

func pointer(text []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(text))) }

func cString(text string) []byte { return append([]byte(text), 0) }

// connect returns the I/O context of a new connection. Each copy has its own, as each job of fio does.
func (c ceph) connect(l *openloop.Load) (uintptr, error) {
	var cluster, pool uintptr
	user, poolName := cString(l.User), cString(l.Pool)
	if err := c.do("rados_create", uintptr(unsafe.Pointer(&cluster)), uintptr(unsafe.Pointer(&user[0]))); err != nil {
		return 0, err
	}
	if err := c.do("rados_conf_read_file", cluster, 0); err != nil {
		return 0, err
	}
	for _, setting := range [][2]string{
		{"rbd_cache", "false"}, // as fio does with direct=1
		// Ceph's own limits of operations in flight would hide how long operations wait. The generator has a limit,
		// and reports that it was reached.
		{"objecter_inflight_ops", "0"}, {"objecter_inflight_op_bytes", "0"},
	} {
		name, value := cString(setting[0]), cString(setting[1])
		if err := c.do("rados_conf_set", cluster, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&value[0]))); err != nil {
			return 0, fmt.Errorf("%s: %w", setting[0], err)
		}
	}
	if err := c.do("rados_connect", cluster); err != nil {
		return 0, err
	}
	if err := c.do("rados_ioctx_create", cluster, uintptr(unsafe.Pointer(&poolName[0])), uintptr(unsafe.Pointer(&pool))); err != nil {
		return 0, fmt.Errorf("pool %s: %w", l.Pool, err)
	}
	runtime.KeepAlive(user)
	return pool, nil
}

// shared is the common part of the backends of Ceph.
type shared struct {
	ceph
	inFlight      inFlight
	reads, writes *buffers
}

func newShared(c ceph, l *openloop.Load) (s shared, err error) {
	s = shared{ceph: c, inFlight: make(inFlight, l.InFlightLimit())}
	if s.reads, err = newBuffers(l, false); err != nil {
		return s, err
	}
	s.writes, err = newBuffers(l, true)
	return s, err
}

// InFlightLimit implements openloop.Backend.
func (s *shared) InFlightLimit() int { return len(s.inFlight) }

// prepare returns the memory of an operation.
func (s *shared) prepare(op *openloop.Operation) uintptr {
	s.inFlight[op.ID].Store(op)
	if op.Write {
		return pointer(s.writes.memoryFor(op))
	}
	return pointer(s.reads.memoryFor(op))
}
