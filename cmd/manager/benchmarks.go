package main

import (
	"context"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/controllers/cephbenchmark"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
)

// addBenchmarks adds the controller of CephBenchmarks to the manager, and returns the controller.
func addBenchmarks(mgr ctrl.Manager, opts *options, p *platform) (*cephbenchmark.Reconciler, error) {
	r := cephbenchmark.New(cephbenchmark.Options{
		Shared:     p.shared(mgr, opts, cephbenchmark.Name, outage.KeepEvery),
		Rook:       p.rook,
		Namespaces: p.places,
		Dial:       runner.Dial,
		Logs:       podLogs{core: p.core, direct: p.direct},
		PoolSettle: scratchpool.Settle,

		KubernetesVersion: (&serverVersion{api: p.core.RESTClient(), now: time.Now}).get,
	})
	return r, r.SetupWithManager(mgr)
}

// shared returns the dependencies of a controller that do not depend on its kind.
func (p *platform) shared(mgr ctrl.Manager, opts *options, name string, keepEvery time.Duration) dependencies.Shared {
	return dependencies.Shared{
		Client: mgr.GetClient(), Reader: p.benchmarks, Recorder: mgr.GetEventRecorder(name), Settings: &opts.settings,
		Ceph: p.sidecar, Lock: p.lock, Journals: p.journals, Outages: p.journals.ForOutages(), Writer: p.writer, Doubts: p.doubts,
		KeepEvery: keepEvery, MasterKey: p.masterKey, Budget: p.budget, Counts: p.counts, Now: time.Now,
	}
}

// access combines the access to Rook's objects with the access to the keys that Rook creates.
type access struct {
	*rook.Access
	*rook.Connections
}

func newRook(direct client.Client) access {
	return access{Access: rook.New(direct, direct, time.Now), Connections: rook.NewConnections(direct, time.Now)}
}

// podLogs reads logs of pods with client-go's client, because controller-runtime's client cannot read them.
type podLogs struct {
	core   corev1client.PodsGetter
	direct client.Reader
}

// Read implements [clientview.Logs].
func (l podLogs) Read(ctx context.Context, namespace, pod, container string) (io.ReadCloser, error) {
	text, err := l.core.Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container}).Stream(ctx)
	return text, namespaces.NotFoundIfGone(ctx, l.direct, namespace, err)
}
