package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/controllers/cephbenchmark"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/masterkey"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
)

// startTimeout bounds what the manager asks the API server before it starts.
const startTimeout = 30 * time.Second

// addBenchmarks adds the controller of CephBenchmarks.
func addBenchmarks(ctx context.Context, mgr ctrl.Manager, config *rest.Config, opts *options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	namespace, err := opts.ownNamespace()
	if err != nil {
		return err
	}
	// Secrets, and what Rook has, are read by name and never kept.
	direct, err := client.New(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	key, err := masterkey.LoadOrCreate(ctx, direct, namespace)
	if err != nil {
		return err
	}
	id, err := lock.ClusterID(ctx, direct, namespace)
	if err != nil {
		return err
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	sidecar := ceph.NewSidecar(opts.cephSocket)
	return cephbenchmark.New(cephbenchmark.Options{
		Client:     mgr.GetClient(),
		Reader:     direct,
		Recorder:   mgr.GetEventRecorder(cephbenchmark.Name),
		Settings:   &opts.settings,
		Rook:       newRook(direct),
		Ceph:       sidecar,
		Lock:       lock.NewBoth(lock.NewLeases(direct, direct, namespace), lock.NewRecords(sidecar, id)),
		Dial:       runner.Dial,
		Logs:       podLogs{core},
		MasterKey:  key,
		Now:        time.Now,
		PoolSettle: cephbenchmark.PoolSettle,
	}).SetupWithManager(mgr)
}

// access is Rook's objects, and the keys that it makes.
type access struct {
	*rook.Access
	*rook.Connections
}

func newRook(direct client.Client) access {
	return access{Access: rook.New(direct, direct, time.Now), Connections: rook.NewConnections(direct, time.Now)}
}

// podLogs reads logs through the API server: controller-runtime's client cannot.
type podLogs struct{ corev1client.PodsGetter }

// Read implements [cephbenchmark.Logs].
func (l podLogs) Read(ctx context.Context, namespace, pod, container string) (io.ReadCloser, error) {
	return l.Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container}).Stream(ctx)
}

// namespaceFile names the namespace of a pod, in the pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is that of the manager's pod, where its locks and its key are.
func (o *options) ownNamespace() (string, error) {
	if o.leaderNamespace != "" {
		return o.leaderNamespace, nil
	}
	name, err := os.ReadFile(namespaceFile)
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("say with --leader-elect-namespace in which namespace the manager keeps its locks, since it does not run in a pod")
	}
	if err != nil {
		return "", fmt.Errorf("find the manager's namespace: %w", err)
	}
	return strings.TrimSpace(string(name)), nil
}
