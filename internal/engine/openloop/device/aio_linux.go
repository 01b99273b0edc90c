package device

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/engine/openloop"
)

// The kernel's interface, linux/aio_abi.h. The seccomp profile of Kubernetes allows it, but forbids io_uring.
const (
	cmdRead, cmdWrite = 0, 1
	maxEvents         = 256
	retryPause        = 100 * time.Microsecond
)

type controlBlock struct {
	data   uint64
	_      [2]uint32 // key, flags of the operation
	opcode uint16
	_      int16 // priority
	file   uint32
	buffer uint64
	bytes  uint64
	offset int64
	_      uint64    // reserved
	_      [2]uint32 // flags, eventfd
}

type event struct {
	data   uint64
	_      uint64 // the control block
	result int64
	_      int64 // a second result
}

// aio executes operations on files and devices.
type aio struct {
	context       uintptr
	files         []*os.File
	reads, writes *buffers
	inFlight      inFlight
	blocks        []controlBlock
	pointers      []*controlBlock
	events        [maxEvents]event
}

func newAIO(l *openloop.Load) (_ openloop.Backend, err error) {
	limit, err := aioLimit()
	if err != nil {
		return nil, err
	}
	a := &aio{inFlight: make(inFlight, min(limit, l.InFlightLimit()))}
	if a.reads, err = newBuffers(l, false); err != nil {
		return nil, err
	}
	if a.writes, err = newBuffers(l, true); err != nil {
		return nil, err
	}
	for _, c := range l.Copies {
		file, err := openTarget(c, l.Sync)
		if err != nil {
			return nil, err
		}
		a.files = append(a.files, file)
	}
	if _, _, code := unix.Syscall(unix.SYS_IO_SETUP, uintptr(len(a.inFlight)), uintptr(unsafe.Pointer(&a.context)), 0); code != 0 {
		return nil, fmt.Errorf("prepare for %d operations in flight: %w (the node's fs.aio-max-nr limits those of all processes: raise it)", len(a.inFlight), code)
	}
	return a, nil
}

// aioLimit returns half of the operations in flight that the kernel has left for all processes of the node. The other
// half is for databases and other processes that start meanwhile.
func aioLimit() (int, error) {
	var most, used int
	for name, value := range map[string]*int{"aio-max-nr": &most, "aio-nr": &used} {
		text, err := os.ReadFile("/proc/sys/fs/" + name)
		if err != nil {
			return 0, err
		}
		if *value, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return 0, fmt.Errorf("fs.%s: %w", name, err)
		}
	}
	return max(1, (most-used)/2), nil
}

// InFlightLimit implements openloop.Backend.
func (a *aio) InFlightLimit() int { return len(a.inFlight) }

// openTarget opens a file or device without the page cache. It never creates a file, because prefill has done that.
func openTarget(c openloop.Copy, sync string) (*os.File, error) {
	flags := unix.O_DIRECT
	switch sync {
	case "sync":
		flags |= unix.O_SYNC
	case "dsync":
		flags |= unix.O_DSYNC
	}
	if c.Writes {
		flags |= os.O_RDWR
	}
	file, err := os.OpenFile(c.Target, flags, 0)
	if err != nil {
		return nil, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size < c.Offset+c.Size {
		err = fmt.Errorf("%s has %d bytes, want %d", c.Target, size, c.Offset+c.Size)
	}
	return file, err
}

// Submit implements openloop.Backend.
func (a *aio) Submit(operations []*openloop.Operation) error {
	a.blocks, a.pointers = a.blocks[:0], a.pointers[:0]
	for _, op := range operations {
		a.inFlight[op.ID].Store(op)
		block := controlBlock{
			data: uint64(op.ID), opcode: cmdRead, file: uint32(a.files[op.Target].Fd()), bytes: uint64(op.Bytes), offset: op.Offset,
		}
		buffer := a.reads
		if op.Write {
			block.opcode, buffer = cmdWrite, a.writes
		}
		block.buffer = uint64(uintptr(unsafe.Pointer(&buffer.memoryFor(op)[0])))
		a.blocks = append(a.blocks, block)
	}
	for i := range a.blocks {
		a.pointers = append(a.pointers, &a.blocks[i])
	}
	for left := a.pointers; len(left) > 0; {
		n, _, code := unix.Syscall(unix.SYS_IO_SUBMIT, a.context, uintptr(len(left)), uintptr(unsafe.Pointer(&left[0])))
		switch code {
		case 0:
			left = left[n:]
		case unix.EAGAIN, unix.EINTR:
			time.Sleep(retryPause) // The kernel lacks memory for the moment, or a signal arrived.
		default:
			return fmt.Errorf("io_submit: %w", code)
		}
	}
	return nil
}

// Wait implements openloop.Backend.
func (a *aio) Wait(done []*openloop.Operation, limit time.Duration) ([]*openloop.Operation, error) {
	timeout := unix.NsecToTimespec(int64(limit))
	n, _, code := unix.Syscall6(unix.SYS_IO_GETEVENTS, a.context, 1, maxEvents,
		uintptr(unsafe.Pointer(&a.events)), uintptr(unsafe.Pointer(&timeout)), 0)
	if code == unix.EINTR {
		return done, nil
	}
	if code != 0 {
		return done, fmt.Errorf("io_getevents: %w", code)
	}
	for _, e := range a.events[:n] {
		done = append(done, a.inFlight.done(e.data, e.result, true))
	}
	return done, nil
}
