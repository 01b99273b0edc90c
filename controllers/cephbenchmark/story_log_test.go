package cephbenchmark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// podPrinter has the logs of a world's pods, by name.
type podPrinter struct {
	mu    sync.Mutex
	texts map[string]string
}

func (p *podPrinter) Read(_ context.Context, _, name, _ string) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return io.NopCloser(strings.NewReader(p.texts[name])), nil
}

// pod waits for the running pod of a benchmark with one client.
func (w *world) pod() *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.eventually(func() string {
		var pods corev1.PodList
		if err := w.List(w.t.Context(), &pods, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		if len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("%d pods, not one that runs", len(pods.Items))
		}
		*pod = pods.Items[0]
		return ""
	})
	return pod
}

// end sets the final phase of a pod.
func (w *world) end(pod *corev1.Pod, phase corev1.PodPhase) {
	w.t.Helper()
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err.Error()
		}
		pod.Status.Phase = phase
		if err := w.Status().Update(w.t.Context(), pod); err != nil {
			return err.Error()
		}
		return ""
	})
}

// Stories of results in logs, and of networks that keep the manager out.
func logStories() map[string]story {
	return map[string]story{
		"a pod ends without a manager":      aPodEndsWithoutAManager,
		"the network keeps the manager out": theNetworkKeepsTheManagerOut,
	}
}

// buildWall keeps the manager from all runners.
func (w *world) buildWall() {
	w.kubelet.set(func(k *kubelet) { k.wall = errors.New("i/o timeout") })
}

func theNetworkKeepsTheManagerOut(w *world) {
	w.buildWall()
	b := w.benchmark("b", oneWrite)
	w.eventually(func() string {
		execution, known := w.reconciler.live.Followed(client.ObjectKeyFromObject(b))
		if !known {
			return "there is no execution"
		}
		for _, view := range execution.Runners.Views() {
			if view.Err != nil {
				return ""
			}
		}
		return "no runner is out of reach"
	})
	w.wait(30 * time.Second)
	w.untilReason(b, v1alpha1.ReasonClientsUnreachable, "i/o timeout", "TCP port 7480")
	w.wait(unreachableAfter)
	w.untilFailed(b, v1alpha1.ReasonClientsUnreachable, "i/o timeout", "TCP port 7480", "kubectl get networkpolicy -n "+w.namespace)
	w.wantClean()
}

func (w *world) wantSummary(b *v1alpha1.CephBenchmark, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(b.Status.Summary, part) {
			w.t.Errorf("the summary is %q, without %q", b.Status.Summary, part)
		}
	}
}

// A runner's measurement must not be lost if its pod ends while no manager runs.
func aPodEndsWithoutAManager(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite)
	w.untilTask(0, "r1-write", task.Measuring) // The run is in status before its task starts.
	pod := w.pod()
	w.stop()
	w.kubelet.proceed("r1-")
	var log bytes.Buffer
	report, err := w.kubelet.client(0).Report(w.t.Context(), "r1-write")
	if err == nil {
		err = runner.WriteFrame(&log, report)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.logs.texts = map[string]string{pod.Name: log.String()}
	w.end(pod, corev1.PodFailed)
	w.start()
	w.untilReason(b, v1alpha1.ReasonComplete)
	w.wantSummary(b, "from the logs of pods that had ended")
}
