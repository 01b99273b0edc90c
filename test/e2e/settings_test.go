//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// prefix begins the names of all objects that the tests create.
const prefix = "cephtune-e2e"

// settings say which cluster the tests use, and which resources of it.
type settings struct {
	rookNamespace  string
	cephCluster    string
	operatorImage  string // the source of the runner
	toolsImage     string // has rados, rbd and fio with its rbd engine
	failureDomain  string // with room for three replicas
	storageClass   string // of local file systems and raw blocks; may be empty
	managerService types.NamespacedName
}

// settingsFromEnvironment reads the settings that differ between the lab and other clusters.
func settingsFromEnvironment(lookup func(string) (string, bool)) (settings, error) {
	var errs []error
	value := func(name, otherwise string) string {
		if v, ok := lookup(name); ok && v != "" {
			return v
		}
		if otherwise == "" {
			errs = append(errs, fmt.Errorf("%s is not set: run the tests by \"make e2e\"", name))
		}
		return otherwise
	}
	storageClass, _ := lookup("E2E_STORAGE_CLASS")
	s := settings{
		rookNamespace:  value("E2E_ROOK_NAMESPACE", "rook-ceph"),
		cephCluster:    value("E2E_CEPH_CLUSTER", "my-cluster"),
		operatorImage:  value("E2E_OPERATOR_IMAGE", ""),
		toolsImage:     value("E2E_TOOLS_IMAGE", ""),
		failureDomain:  value("E2E_FAILURE_DOMAIN", "host"),
		storageClass:   storageClass,
		managerService: types.NamespacedName{Namespace: "cephtune-system", Name: "cephtune-manager"},
	}
	return s, errors.Join(errs...)
}

// check fails early and with a clear message, instead of each test failing late.
func (s settings) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := connect(s)
	if err != nil {
		return err
	}
	health, err := c.ceph(ctx, "health")
	if err != nil {
		return fmt.Errorf("Ceph does not answer through Rook's toolbox in namespace %s: %w", s.rookNamespace, err)
	}
	if err := c.awaitNothingLeft(ctx); err != nil {
		return err
	}
	_, err = fmt.Println("Ceph says:", health)
	return err
}

// awaitNothingLeft waits until nothing remains of an earlier run of the tests. Otherwise the tests
// would take the leftovers for the original state of the cluster.
func (c *cluster) awaitNothingLeft(ctx context.Context) error {
	var seen []string
	for {
		left, err := c.leftovers(ctx)
		switch {
		case err == nil && len(left) == 0:
			return nil
		case err == nil:
			seen = left
		case len(seen) == 0:
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("an earlier run, or somebody else, has left %s: remove it first", strings.Join(seen, ", "))
		case <-time.After(time.Second):
		}
	}
}

// leftovers returns objects and changes of the operator and of the tests. It must not be called
// while a test runs.
func (c *cluster) leftovers(ctx context.Context) ([]string, error) {
	left, err := c.tracesInCeph(ctx)
	if err != nil {
		return nil, err
	}
	left = slices.DeleteFunc(left, func(trace string) bool { return strings.HasSuffix(trace, " cephtune/lock") }) // The lock expires.
	var pools []string
	if err := c.cephJSON(ctx, &pools, "osd", "pool", "ls"); err != nil {
		return nil, err
	}
	for _, pool := range pools {
		if strings.HasPrefix(pool, prefix) {
			left = append(left, "pool "+pool)
		}
	}
	for _, list := range []client.ObjectList{&v1alpha1.CephBenchmarkList{}, &v1alpha1.CephTuningSweepList{}} {
		if err := c.List(ctx, list, client.InNamespace(benchNamespace)); err != nil {
			return nil, err
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if o, ok := object.(client.Object); ok && strings.HasPrefix(o.GetName(), prefix) {
				left = append(left, fmt.Sprintf("%T %s", o, o.GetName()))
			}
		}
	}
	return left, nil
}
