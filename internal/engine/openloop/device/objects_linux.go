package device

import (
	"strconv"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/cephtune/cephtune/internal/engine/openloop"
)

// objects executes operations on RADOS objects. Librados has no list of completions, so a callback on one of its
// threads sends each completion through a channel.
type objects struct {
	shared
	copies   []openloop.Copy
	pools    []uintptr
	names    []map[int64][]byte // C strings of each copy, by the number of the object
	callback uintptr
	done     chan completed
}

type completed struct {
	handle uintptr
	id     uintptr
}

func newObjects(c ceph, l *openloop.Load) (openloop.Backend, error) {
	s, err := newShared(c, l)
	if err != nil {
		return nil, err
	}
	b := &objects{shared: s, copies: l.Copies, done: make(chan completed, l.InFlightLimit())} // The callback never waits.
	b.callback = purego.NewCallback(func(handle, id uintptr) uintptr {
		b.done <- completed{handle, id}
		return 0
	})
	for range l.Copies {
		pool, err := b.connect(l)
		if err != nil {
			return nil, err
		}
		b.pools, b.names = append(b.pools, pool), append(b.names, map[int64][]byte{})
	}
	return b, nil
}

// name returns the name of an object. A copy has size/objectBytes objects.
func (b *objects) name(target int, object int64) []byte {
	name := b.names[target][object]
	if name == nil {
		name = cString(b.copies[target].Target + strconv.FormatInt(object, 10))
		b.names[target][object] = name
	}
	return name
}

// Submit implements openloop.Backend.
func (b *objects) Submit(operations []*openloop.Operation) error {
	for _, op := range operations {
		buffer := b.prepare(op)
		var completion uintptr
		if err := b.do("rados_aio_create_completion2", uintptr(op.ID), b.callback, uintptr(unsafe.Pointer(&completion))); err != nil {
			return err
		}
		size := b.copies[op.Target].ObjectBytes
		call, name := "rados_aio_read", b.name(op.Target, op.Offset/size)
		if op.Write {
			call = "rados_aio_write"
		}
		if err := b.do(call, b.pools[op.Target], uintptr(unsafe.Pointer(&name[0])), completion, buffer, uintptr(op.Bytes), uintptr(op.Offset%size)); err != nil {
			return err
		}
	}
	return nil
}

// Wait implements openloop.Backend.
func (b *objects) Wait(done []*openloop.Operation, limit time.Duration) ([]*openloop.Operation, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case c := <-b.done:
		done = append(done, b.finish(c))
	case <-timer.C:
	}
	for len(b.done) > 0 {
		done = append(done, b.finish(<-b.done))
	}
	return done, nil
}

func (b *objects) finish(c completed) *openloop.Operation {
	result := int64(int32(uint32(b.call("rados_aio_get_return_value", c.handle))))
	b.call("rados_aio_release", c.handle)
	op := b.inFlight[c.id].Load()
	return b.inFlight.done(uint64(c.id), result, !op.Write) // The result of a write is 0.
}
