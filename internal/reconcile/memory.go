package reconcile

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memories owns what this process remembers of objects. A restart of the manager loses it.
type memories[M any] struct {
	mu       sync.Mutex
	byObject map[types.NamespacedName]*remembered[M]
}

// remembered is what this process remembers of an object. Passes of one object never run concurrently, so it needs no
// mutex.
type remembered[M any] struct {
	uid types.UID
	log Log
	run *run[M] // nil before the first run, and after [Loop.Forget]
}

// run is what this process remembers of a run ID.
type run[M any] struct {
	id      string
	memory  M
	headway Headway
}

// find returns what is remembered of an object; nothing yet if another object had its name.
func (m *memories[M]) find(key types.NamespacedName, uid types.UID) *remembered[M] {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byObject[key]
	if known == nil || known.uid != uid {
		known = &remembered[M]{uid: uid}
		if m.byObject == nil {
			m.byObject = map[types.NamespacedName]*remembered[M]{}
		}
		m.byObject[key] = known
	}
	return known
}

// fits reports whether no other object of that name, and no other run of it, is remembered.
func (m *memories[M]) fits(key types.NamespacedName, uid types.UID, id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byObject[key]
	return known == nil || known.uid == uid && (known.run == nil || known.run.id == id)
}

func (m *memories[M]) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byObject, key)
}

// find returns what is remembered of a run ID. If that is not the object's last one, the memory begins fresh. Without a
// run ID, it is empty and not kept.
func (r *remembered[M]) find(id string, fresh func() M) *run[M] {
	if id == "" {
		return &run[M]{}
	}
	if r.run == nil || r.run.id != id {
		r.run = &run[M]{id: id, memory: fresh()}
	}
	return r.run
}
