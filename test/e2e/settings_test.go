//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// settings say which cluster the tests use, and what of it.
type settings struct {
	rookNamespace  string
	cephCluster    string
	operatorImage  string // of which the runner is copied
	toolsImage     string // has rados, rbd and fio with its rbd engine
	failureDomain  string // that has room for three replicas
	storageClass   string // of local file systems and raw blocks; may be empty
	managerService types.NamespacedName
}

// settingsFromEnvironment reads what differs between the lab and other clusters.
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

// check fails early, and in words, where every test would fail late.
func (s settings) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := connect(s)
	if err != nil {
		return err
	}
	health, err := c.ceph(ctx, "health")
	if err != nil {
		return fmt.Errorf("Ceph does not answer through Rook's toolbox in namespace %s: %w", s.rookNamespace, err)
	}
	_, err = fmt.Println("Ceph says:", health)
	return err
}
