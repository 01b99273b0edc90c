package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
)

// leaseName names the Lease that the leading manager holds.
const leaseName = "manager.cephtune.dev"

// shutdownTimeout is the time that controllers have to finish their work when the manager stops. The pod's
// terminationGracePeriodSeconds has to be longer.
const shutdownTimeout = 20 * time.Second

// options has the manager's flags and its operator config.
type options struct {
	namespaces      namespaceList
	probeAddress    string
	leaderElect     bool
	leaderNamespace string

	metricsAddress string
	metricsSecure  bool
	metricsCertDir string

	configFile string
	cephSocket string
	// settings is the operator config. Without a config file, it is empty, and no cluster may be measured.
	settings settings.Settings
}

func (o *options) bind(fs *flag.FlagSet) {
	fs.Var(&o.namespaces, "namespaces",
		"The namespaces whose CephBenchmarks and CephTuningSweeps are handled, separated by commas. "+
			"The flag may be repeated. Without it, the manager handles all namespaces, which needs a ClusterRoleBinding.")
	fs.StringVar(&o.configFile, "config", "",
		"The operator config: the clusters that may be measured, and how. Without it, no cluster may be measured.")
	fs.StringVar(&o.cephSocket, "ceph-socket", "/run/cephtune/ceph.sock",
		"The Unix socket of the sidecar with Ceph's command line.")
	fs.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"The address that serves /healthz and /readyz. 0 serves neither.")
	fs.BoolVar(&o.leaderElect, "leader-elect", false,
		"Elect a leader, so that several managers can run while only one is active.")
	fs.StringVar(&o.leaderNamespace, "leader-elect-namespace", "",
		"The manager's own namespace, with its Leases, journals and key. In a cluster, the default is the pod's namespace.")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", "0",
		"The address that serves /metrics, such as :8443. 0 serves none.")
	fs.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"Serve /metrics by HTTPS to authorized clients. With false, by HTTP to everyone.")
	fs.StringVar(&o.metricsCertDir, "metrics-cert-dir", "",
		"The folder with tls.crt and tls.key for /metrics. Without it the certificate is self-signed.")
}

// load reads the operator config. A later change of the file needs a restart of the manager.
func (o *options) load() error {
	if o.configFile == "" {
		return nil
	}
	s, err := settings.Load(o.configFile)
	if err != nil {
		return err
	}
	o.settings = *s
	return nil
}

func (o *options) forManager(scheme *runtime.Scheme) ctrl.Options {
	timeout, skip := shutdownTimeout, true
	return ctrl.Options{
		Scheme:                  scheme,
		Cache:                   o.forCache(),
		NewCache:                namespaces.NewCache,
		NewClient:               namespaces.NewClient,
		Metrics:                 o.forMetrics(),
		HealthProbeBindAddress:  o.probeAddress,
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.leaderNamespace,
		// Releasing the Lease is safe, because the process ends as soon as the manager has ended.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &timeout,
		// controller-runtime's check for unique names of controllers would fail in tests, which run several
		// managers in one process. The names are different constants.
		Controller: config.Controller{SkipNameValidation: &skip},
	}
}

// forCache limits the manager's cache to the namespaces in the flag --namespaces, if the flag is set. The
// cache has only those Jobs and pods that belong to benchmarks. It drops managedFields, which are large and
// not used. CephClusters are not cached, but read from the API server.
func (o *options) forCache() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{
		settings.LabelManagedBy: settings.ManagedBy,
		settings.LabelComponent: settings.ComponentBenchmark,
	})}
	return cache.Options{
		DefaultNamespaces: o.namespaces.forCache(),
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject:          map[client.Object]cache.ByObject{&batchv1.Job{}: ours, &corev1.Pod{}: ours},
	}
}

func (o *options) forMetrics() metricsserver.Options {
	m := metricsserver.Options{
		BindAddress:   o.metricsAddress,
		SecureServing: o.metricsSecure,
		CertDir:       o.metricsCertDir,
		// HTTP/2 has denial-of-service defects (CVE-2023-44487, CVE-2023-39325).
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if o.metricsSecure {
		m.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return m
}

// namespaceList is the value of a flag that may be repeated. Each value may have several names, separated
// by commas.
type namespaceList []string

var _ flag.Value = (*namespaceList)(nil)

// String returns the names, separated by commas.
func (l *namespaceList) String() string { return strings.Join(*l, ",") }

// Set adds the names in a value, without duplicates. It returns an error for an invalid name.
func (l *namespaceList) Set(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("%q is not the name of a namespace: %s", name, problems[0])
		}
		if !slices.Contains(*l, name) {
			*l = append(*l, name)
		}
	}
	return nil
}

// forCache returns the namespaces for the cache; nil means all namespaces.
func (l namespaceList) forCache() map[string]cache.Config {
	if len(l) == 0 {
		return nil
	}
	all := make(map[string]cache.Config, len(l))
	for _, name := range l {
		all[name] = cache.Config{}
	}
	return all
}
