package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
	"github.com/cephtune/cephtune/internal/signature"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// startTimeout limits the requests of newPlatform, and the subcommand check-uninstall.
const startTimeout = 30 * time.Second

// platform has the clients and identities that both controllers use.
type platform struct {
	// namespace is the manager's own namespace, which contains its locks, its key and its journals.
	namespace string
	// direct reads Secrets, Rook's objects, locks and journals without a cache. It writes locks, journals, the
	// key, and Rook's objects for scratch pools, and it deletes pods of OSDs. In a namespace that is being
	// deleted, a request may be "forbidden". direct returns that error unchanged, because "not found" would
	// make a journal look missing.
	direct client.Client
	// benchmarks reads the objects of both controllers without a cache. In a namespace that is being
	// deleted, it returns "not found" instead of "forbidden", except for CRs.
	benchmarks client.Reader
	// core reads the logs of pods.
	core     *corev1client.CoreV1Client
	sidecar  *ceph.Sidecar
	lock     *lock.Both
	journals *journals.ConfigMaps
	places   *namespaces.Checker
	// kubernetes identifies this Kubernetes cluster in the records that cephtune stores in Ceph. It is the
	// UID of the manager's namespace.
	kubernetes types.UID
	// writer names this process in Leases and journals. No other process has the same name.
	writer string
	// doubts has this process's changes of Ceph whose outcome is unknown.
	doubts    *tuning.Doubts
	masterKey []byte
	counts    *exporter.Events
	rook      access
	// budget is the memory for what the clients of all benchmarks report.
	budget *limits.Budget
}

func newPlatform(ctx context.Context, mgr ctrl.Manager, config *rest.Config, opts *options) (*platform, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p := &platform{sidecar: ceph.NewSidecar(opts.cephSocket), doubts: &tuning.Doubts{}, budget: limits.NewBudget(clientsMemory(os.Getenv))}
	var err error
	if p.namespace, err = opts.ownNamespace("leader-elect-namespace"); err != nil {
		return nil, err
	}
	if p.direct, err = client.New(config, client.Options{Scheme: mgr.GetScheme()}); err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	p.benchmarks = namespaces.Tolerant(p.direct, p.direct)
	if p.core, err = corev1client.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	if p.masterKey, err = signature.LoadOrCreate(ctx, p.direct, p.namespace); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this manager: %w", err)
	}
	p.writer = host + "/" + string(uuid.NewUUID())
	if p.kubernetes, err = lock.ClusterID(ctx, p.direct, p.namespace); err != nil {
		return nil, err
	}
	p.lock = lock.NewBoth(lock.NewLeases(p.direct, p.direct, p.namespace, p.writer), lock.NewRecords(p.sidecar, p.kubernetes))
	p.rook = newRook(p.direct)
	p.sidecar.OnRefusal(p.rook.Forget)
	p.journals = journals.New(p.direct, p.direct, p.namespace)
	p.places = namespaces.New(p.direct, opts.namespaces...)
	p.places.Bar(p.namespace, "is the operator's own")
	for _, cluster := range opts.settings.Clusters {
		p.places.Bar(cluster.Namespace, "has a CephCluster and the keys of its administrator")
	}
	return p, nil
}

// namespaceFile is the file in a pod that contains the pod's namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the manager's own namespace: the value of a flag, or else the namespace of this pod.
// The argument is the flag's name, for the error message.
func (o *options) ownNamespace(flag string) (string, error) {
	if o.leaderNamespace != "" {
		return o.leaderNamespace, nil
	}
	name, err := os.ReadFile(namespaceFile)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("this process does not run in a pod: set --%s to the namespace of the manager, which has its locks and journals", flag)
	}
	if err != nil {
		return "", fmt.Errorf("find the manager's namespace: %w", err)
	}
	return strings.TrimSpace(string(name)), nil
}
