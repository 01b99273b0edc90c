package device

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/engine/openloop"
)

// Open connects to the storage of a load.
func Open(l *openloop.Load) (openloop.Backend, error) {
	switch l.Engine {
	case openloop.LibAIO:
		return newAIO(l)
	case openloop.RBD, openloop.RADOS:
		c, err := loadCeph("librados.so.2", "librbd.so.1")
		if err != nil {
			return nil, fmt.Errorf("load Ceph's libraries, which the tools image must have: %w", err)
		}
		if l.Engine == openloop.RBD {
			return newImages(c, l)
		}
		return newObjects(c, l)
	}
	return nil, fmt.Errorf("engine %q must be %s, %s or %s", l.Engine, openloop.RBD, openloop.RADOS, openloop.LibAIO)
}

// inFlight finds operations by their IDs, which the kernel and Ceph's libraries return.
type inFlight []atomic.Pointer[openloop.Operation]

// done returns the operation with an ID, and sets its error from the result: an error number below 0 or, if exact is
// set, the number of bytes.
func (f inFlight) done(id uint64, result int64, exact bool) *openloop.Operation {
	op := f[id].Load()
	switch {
	case result < 0:
		op.Err = unix.Errno(-result)
	case exact && result < op.Bytes:
		op.Err = errors.New("the storage moved fewer bytes")
	}
	return op
}
