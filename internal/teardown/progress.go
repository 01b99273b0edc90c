package teardown

import "time"

// Progress records how far a teardown has come, as far as observations do not show it. The zero
// value is the progress of a session whose teardown has not begun.
type Progress struct {
	// done has the parts that were carried out and are complete.
	done map[Part]bool
	// clientsFailed and backgroundFailed say that the clients, or the background load, could not
	// remove their data.
	clientsFailed, backgroundFailed bool
	// finishedAt is when the runners were asked to end. orphansSince is when the teardown first saw
	// running pods of a deleted Job.
	finishedAt, orphansSince time.Time
	// JobRemoved says that the teardown has deleted the Job, after everything that the session left in
	// Ceph except the lock.
	JobRemoved bool
}

// OSDsAreFull notes that OSDs are full. The clients' commands would wait for space, so the manager
// removes the data instead.
func (p *Progress) OSDsAreFull() { p.clientsFailed, p.backgroundFailed = true, true }

// OrphansRun notes that pods are running whose Job is gone.
func (p *Progress) OrphansRun(now time.Time) {
	if p.orphansSince.IsZero() {
		p.orphansSince = now
	}
}

// note records whether a part is complete. After a part that ends clients or pods, or waits for them,
// the removals and the release of the lock have to be repeated, because clients and pods may have
// undone the removals.
func (p *Progress) note(part Part, complete bool) {
	switch part {
	case PartWait, PartCancelBackground, PartCancelClients, PartCleanBackground, PartCleanClients, PartFinish, PartSuspend:
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
