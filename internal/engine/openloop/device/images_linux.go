package device

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cephtune/cephtune/internal/engine/openloop"
)

// images executes operations on RBD images. An eventfd of each image shows that operations are done.
type images struct {
	shared
	handles     []uintptr
	events      []unix.PollFd
	completions [maxEvents]uintptr
}

// eventTypeEventFD is EVENT_TYPE_EVENTFD of librbd.h.
const eventTypeEventFD = 2

func newImages(c ceph, l *openloop.Load) (openloop.Backend, error) {
	s, err := newShared(c, l)
	if err != nil {
		return nil, err
	}
	b := &images{shared: s}
	for i := range l.Copies {
		if err := b.open(l, l.Copies[i].Target); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *images) open(l *openloop.Load, image string) error {
	pool, err := b.connect(l)
	if err != nil {
		return err
	}
	var handle uintptr
	name := cString(image)
	if err := b.do("rbd_open", pool, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&handle)), 0); err != nil {
		return fmt.Errorf("image %s: %w", image, err)
	}
	file, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if err := b.do("rbd_set_image_notification", handle, uintptr(file), eventTypeEventFD); err != nil {
		return err
	}
	b.handles = append(b.handles, handle)
	b.events = append(b.events, unix.PollFd{Fd: int32(file), Events: unix.POLLIN})
	return nil
}

// closeWithin limits how long images take to close. They do not close while the storage has their operations.
const closeWithin = 3 * time.Second

// Close closes the images. A client that only ends keeps its watch on an image, and the lock of one that it has written to,
// for 30 s: until then, nobody else can remove the image or change its metadata.
func (b *images) Close() error {
	closed := make(chan error, 1)
	go func() {
		var all error
		for _, handle := range b.handles {
			all = errors.Join(all, b.do("rbd_close", handle))
		}
		closed <- all
	}()
	select {
	case err := <-closed:
		return err
	case <-time.After(closeWithin):
		return fmt.Errorf("the images have not closed within %v", closeWithin)
	}
}

// Submit implements openloop.Backend.
func (b *images) Submit(operations []*openloop.Operation) error {
	for _, op := range operations {
		buffer := b.prepare(op)
		var completion uintptr
		if err := b.do("rbd_aio_create_completion", uintptr(op.ID), 0, uintptr(unsafe.Pointer(&completion))); err != nil {
			return err
		}
		name := "rbd_aio_read"
		if op.Write {
			name = "rbd_aio_write"
		}
		if err := b.do(name, b.handles[op.Target], uintptr(op.Offset), uintptr(op.Bytes), buffer, completion); err != nil {
			return err
		}
	}
	return nil
}

// Wait implements openloop.Backend.
func (b *images) Wait(done []*openloop.Operation, limit time.Duration) ([]*openloop.Operation, error) {
	timeout := unix.NsecToTimespec(int64(limit))
	if _, err := unix.Ppoll(b.events, &timeout, nil); err != nil {
		if err == unix.EINTR {
			return done, nil
		}
		return done, fmt.Errorf("poll: %w", err)
	}
	for i, e := range b.events {
		if e.Revents == 0 {
			continue
		}
		var counter [8]byte
		_, _ = unix.Read(int(e.Fd), counter[:]) // It resets the event. It cannot fail after poll, unless nothing is to be reset.
		for more := true; more; {
			n := int(int32(uint32(b.call("rbd_poll_io_events", b.handles[i], uintptr(unsafe.Pointer(&b.completions)), maxEvents))))
			if n < 0 {
				return done, fmt.Errorf("rbd_poll_io_events: %w", unix.Errno(-n))
			}
			for _, completion := range b.completions[:n] {
				done = append(done, b.finish(completion))
			}
			more = n == maxEvents
		}
	}
	return done, nil
}

func (b *images) finish(completion uintptr) *openloop.Operation {
	id := b.call("rbd_aio_get_arg", completion)
	result := int64(b.call("rbd_aio_get_return_value", completion))
	b.call("rbd_aio_release", completion)
	op := b.inFlight[id].Load()
	return b.inFlight.done(uint64(id), result, !op.Write) // The result of a write is 0.
}
