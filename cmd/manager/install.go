package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	// metricsPrefix begins the name of every metric of cephtune.
	metricsPrefix = "cephtune_"
	// maxMetricsBytes is the size at which reading of the metrics stops.
	maxMetricsBytes = 4 << 20
)

// installCheck checks that an installation works, as far as this is possible without a Ceph cluster.
type installCheck struct {
	config *rest.Config
	// namespace and service are the namespace and the name of the metrics' Service. If service is empty,
	// metrics are not checked.
	namespace, service string
	// interval is the time between two attempts of a check.
	interval time.Duration
	out      io.Writer
}

// run waits until all checks pass. If the context ends earlier, it returns the error of the failing check.
func (c installCheck) run(ctx context.Context) error {
	type step struct {
		message string
		check   func(context.Context) error
	}
	steps := []step{{"The API server knows CephBenchmark and CephTuningSweep.", c.crdsServed}}
	if c.service != "" {
		steps = append(steps, step{"The manager serves its metrics.", c.metricsServed})
	}
	for _, step := range steps {
		if err := c.until(ctx, step.check); err != nil {
			return err
		}
		if err := say(c.out, step.message); err != nil {
			return err
		}
	}
	return nil
}

// until repeats a check until it passes. If the context ends earlier, until returns the check's latest
// error.
func (c installCheck) until(ctx context.Context, check func(context.Context) error) error {
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(c.interval):
		}
	}
}

func (c installCheck) crdsServed(context.Context) error {
	api, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	served, err := api.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil {
		return fmt.Errorf("find %s in the API server: %w; install the CRDs with crds.enabled or `make install`", v1alpha1.GroupVersion, err)
	}
	for _, kind := range []string{v1alpha1.KindCephBenchmark, v1alpha1.KindCephTuningSweep} {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind }) {
			return fmt.Errorf("the API server knows %s without %s: install all CRDs with crds.enabled or `make install`", v1alpha1.GroupVersion, kind)
		}
	}
	return nil
}

func (c installCheck) metricsServed(ctx context.Context) error {
	url, err := c.metricsURL(ctx)
	if err != nil {
		return err
	}
	return c.metricsAt(ctx, url)
}

func (c installCheck) metricsAt(ctx context.Context, url string) error {
	text, err := c.get(ctx, url)
	if err != nil {
		return fmt.Errorf("%w; check the manager: kubectl -n %s get pods", err, c.namespace)
	}
	if !strings.Contains(text, "\n"+metricsPrefix) {
		return fmt.Errorf("%s serves no metric of cephtune: check which pods Service %s/%s selects", url, c.namespace, c.service)
	}
	return nil
}

// metricsURL returns the address of the metrics. It uses the Service's IP address, so that the check does
// not depend on DNS. The name of the Service's first port is the scheme: http or https.
func (c installCheck) metricsURL(ctx context.Context) (string, error) {
	api, err := client.New(c.config, client.Options{Scheme: newScheme()})
	if err != nil {
		return "", fmt.Errorf("reach the API server: %w", err)
	}
	service := &corev1.Service{}
	if err := api.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.service}, service); err != nil {
		return "", fmt.Errorf("read the Service of the metrics: %w", err)
	}
	if len(service.Spec.Ports) == 0 || service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", fmt.Errorf("service %s/%s has no cluster IP or no port, so metrics cannot be checked", c.namespace, c.service)
	}
	port := service.Spec.Ports[0]
	address := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port.Port)))
	return port.Name + "://" + address + "/metrics", nil
}

// get reads a URL. It sends this process's token for the API server, because the manager may serve metrics
// only to authorized clients.
func (c installCheck) get(ctx context.Context, url string) (string, error) {
	config := rest.CopyConfig(c.config)
	// The certificate is not verified, because it may be self-signed. The token goes only to cephtune's own
	// Service.
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
	asker, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", fmt.Errorf("create a client for the metrics: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("ask for the metrics: %w", err)
	}
	response, err := asker.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for the metrics: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMetricsBytes))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return "", fmt.Errorf("read the metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask for the metrics at %s: %s", url, response.Status)
	}
	return string(text), nil
}
