package cephbenchmark

import (
	"context"

	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
)

// readLogs reads the logs of clients whose pods have ended. It reads one log for each client, because any user can make
// pods with the index of a client. [clientview.Lost] fails the execution for the others.
func (r *Reconciler) readLogs(ctx context.Context, seen *facts) {
	if seen.tearingDown() || seen.benchmark.Spec.Suspend || seen.allRunsEnded() {
		return
	}
	for i := range seen.pods {
		pod := &seen.pods[i]
		index, ok := clientjob.ClientIndex(pod, seen.clients())
		if !ok || seen.logs[index] != nil || !clientview.PodEnded(pod) {
			continue
		}
		log := seen.memory.logs[pod.UID]
		if log == nil {
			log = clientview.NewLog(seen.live.Account)
			seen.memory.logs[pod.UID] = log
		}
		log.Read(ctx, r.Logs, pod, seen.now)
		seen.logs[index] = log
		if log.Speaks() {
			seen.runners[index] = log.View()
		}
	}
}

// logsPending reports whether a log is not final. A log is final if its pod has ended and the log was read,
// or can no longer be read.
func (f facts) logsPending() bool {
	for _, log := range f.logs {
		if !log.Final {
			return true
		}
	}
	return false
}
