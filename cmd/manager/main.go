// Command manager runs the controllers of cephtune. Its subcommands are checks for the Helm chart's hook
// and test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/cephbenchmark"
	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/version"
)

func main() {
	if limit := memoryLimit(os.Getenv); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	if chosen, asked := commandOf(os.Args[1:]); asked {
		os.Exit(runCommand(ctrl.SetupSignalHandler(), chosen, os.Args[2:], os.Stderr))
	}
	opts := &options{}
	logging := zap.Options{TimeEncoder: zapcore.RFC3339TimeEncoder}
	opts.bind(flag.CommandLine)
	logging.BindFlags(flag.CommandLine)
	flag.Parse()

	logger := zap.New(zap.UseFlagOptions(&logging))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // client-go logs the election of the leader through klog.
	logger.Info("Starting the manager", "version", version.Version())

	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		logger.Error(err, "The manager ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, opts *options) error {
	if err := opts.load(); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w; run in a cluster, or set KUBECONFIG", err)
	}
	mgr, err := newManager(ctx, config, opts, ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newManager returns a manager that is ready to start, with all controllers, metrics and health checks.
func newManager(ctx context.Context, config *rest.Config, opts *options, registerer prometheus.Registerer) (ctrl.Manager, error) {
	counts := exporter.NewEvents(registerer)
	config = rest.CopyConfig(config)
	config.Wrap(counts.OfAPI)
	mgr, err := ctrl.NewManager(config, opts.forManager(newScheme()))
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	p, err := newPlatform(ctx, mgr, config, opts)
	if err != nil {
		return nil, err
	}
	p.counts = counts
	p.sidecar.WithTransport(counts.OfSidecar)
	if err := registerer.Register(newCollector(mgr, opts, p)); err != nil {
		return nil, fmt.Errorf("register the metrics of CRs: %w", err)
	}
	benchmarks, err := addBenchmarks(mgr, opts, p)
	if err != nil {
		return nil, fmt.Errorf("set up controller %s: %w", cephbenchmark.Name, err)
	}
	if err := addSweeps(mgr, opts, p, benchmarks); err != nil {
		return nil, fmt.Errorf("set up controller %s: %w", cephtuningsweep.Name, err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache())); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("sidecar", sidecarAnswers(opts.cephSocket)); err != nil {
		return nil, fmt.Errorf("add the readiness check of the sidecar: %w", err)
	}
	return mgr, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// sidecarAnswers returns a check of the path to all Ceph clusters. It asks no cluster: with several, a dead one must
// not make the manager of the others unready. What uses a dead cluster has the reason ClusterUnreachable.
func sidecarAnswers(socket string) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		return ceph.Probe(ctx, socket, ceph.Live)
	}
}

// cachesSynced returns a check that passes once the caches have synced. It also passes in a manager that is
// not the leader, because that manager watches nothing yet.
func cachesSynced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
