package teardown

import "time"

// Progress records those facts about a teardown that cannot be observed. The zero value is for an execution
// whose teardown has not begun.
type Progress struct {
	// done has the parts that were carried out and are complete.
	done map[Part]bool
	// clientsFailed and backgroundFailed say that the clients, or the background load, could not be asked to
	// remove their data, or that OSDs are full.
	clientsFailed, backgroundFailed bool
	// finishedAt is when the runners were asked to end. orphansSince is when the teardown first saw
	// running pods of a deleted Job.
	finishedAt, orphansSince time.Time
	// blocked holds the addresses of clients that this process has blocked in Ceph, and blockedAt is when it last found a
	// new one, or first looked.
	blocked   map[string]bool
	blockedAt time.Time
	// JobRemoved says that the teardown has begun to delete the Job. At that time, Ceph has nothing of the
	// execution except the lock, unless the operator cannot reach Ceph.
	JobRemoved bool
}

// OSDsAreFull notes that OSDs are full. The clients' commands would wait for space, so the manager
// removes the data instead.
func (p *Progress) OSDsAreFull() { p.clientsFailed, p.backgroundFailed = true, true }

// OrphansRun notes since when pods of a deleted Job are running.
func (p *Progress) OrphansRun(now time.Time) {
	if p.orphansSince.IsZero() {
		p.orphansSince = now
	}
}

// note records whether a part is complete. After a part that ends clients or waits for them, the removals
// and the release of the lock are repeated, because clients may have written data.
func (p *Progress) note(part Part, complete bool) {
	switch part {
	case PartWait, PartCancelBackground, PartCancelClients, PartCleanBackground, PartCleanClients, PartFinish, PartSuspend:
		delete(p.done, PartBlock)
		delete(p.done, PartLeftovers)
		delete(p.done, PartPool)
		delete(p.done, PartLock)
	default:
		if p.done == nil {
			p.done = map[Part]bool{}
		}
		p.done[part] = complete
	}
}
