package cephbenchmark

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/task"
)

// readLogs reads the logs of clients whose state only logs show: a standalone client, and clients whose
// pods have ended.
func (r *Reconciler) readLogs(ctx context.Context, seen *facts) error {
	for i := range seen.pods {
		pod := &seen.pods[i]
		index, ok := clientjob.ClientIndex(pod)
		if !ok || !seen.needsLog(pod) {
			continue
		}
		log := seen.memory.logs[pod.UID]
		if log == nil {
			log = clientview.NewLog(seen.live.Account)
			seen.memory.logs[pod.UID] = log
		}
		log.Read(ctx, r.logs, pod, seen.now)
		statuses, err := seen.statusesOf(log)
		if err != nil {
			return err
		}
		seen.logs[index] = log
		if log.Speaks() {
			seen.runners[index] = log.View(statuses)
		}
	}
	return nil
}

// needsLog reports whether the log of a pod must be read. The teardown reads only the log of a
// running standalone client, which shows when the client has removed its data.
func (f facts) needsLog(pod *corev1.Pod) bool {
	switch {
	case f.standalone() && pod.Status.Phase == corev1.PodRunning:
		return true
	case f.tearingDown() || f.benchmark.Spec.Suspend || f.allRunsEnded():
		return false
	}
	return clientview.PodEnded(pod)
}

// statusesOf returns the statuses of a client's tasks according to its log.
func (f *facts) statusesOf(log *clientview.Log) ([]task.Status, error) {
	from, alone := clientjob.StandaloneFrom(f.job)
	if !alone {
		return log.Statuses(), nil
	}
	if f.planned = f.memory.planned; f.planned == nil {
		planned, err := f.asStandalone(from).Tasks()
		if err != nil {
			return nil, err
		}
		f.planned = planned
	}
	return clientview.StandaloneStatuses(f.planned, log), nil
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
