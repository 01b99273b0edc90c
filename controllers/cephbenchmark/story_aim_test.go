package cephbenchmark

import (
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// aimedAtAnotherLoad is a benchmark whose phase continues with another load. A manager that was restarted does not know
// the state of the clients, and aims none.
func aimedAtAnotherLoad(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Hour})
	b := w.benchmark("b", oneWrite)
	w.untilTask(client0, "r1-write", task.Measuring)
	load := b.Spec.Template.Phases[0]
	load.Fio.IODepth = 64
	window := live.Window{Target: 1, Phase: load, Again: 1}
	aim := func() error { return w.reconciler.Aim(w.t.Context(), client.ObjectKeyFromObject(b), 1, window) }
	w.eventually(func() string { // The manager may not have the answer to its signal yet.
		if err := aim(); err != nil {
			return err.Error()
		}
		return ""
	})
	aims := w.kubelet.client(client0).Aims("r1-write")
	if len(aims) != 1 || aims[0].Target != 1 || !slices.Contains(aims[0].Command.Argv, "--iodepth=64") {
		w.t.Errorf("aimed %+v", aims)
	}
	w.restart()
	w.untilReason(b, v1alpha1.ReasonRunning)
	if err := aim(); !errors.Is(err, live.ErrNotMeasuring) {
		w.t.Errorf("after a restart: %v", err)
	}
	w.kubelet.client(client0).Proceed("r1-")
	w.untilComplete(b)
	w.wantClean()
}
