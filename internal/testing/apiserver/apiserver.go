// Package apiserver gives tests a real kube-apiserver and etcd with the CRDs of
// this project.
package apiserver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// assetsVariable names the folder of the binaries for envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

// startTimeout is the deadline for the API server, and for etcd, to start and to stop.
const startTimeout = 2 * time.Minute

// Start starts an API server that stops at the end of the test. It returns the configuration of an
// administrator.
//
// Without the binaries, the test fails: a skipped test would prove nothing.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	if os.Getenv(assetsVariable) == "" {
		t.Fatalf(`%s is not set: run "make test", or export %s="$(hack/envtest-assets)"`, assetsVariable, assetsVariable)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(Root(t), "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// The default of 20 s is too short on a machine that compiles at the same time.
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	// Some clusters have this plug-in. With it, an owner reference that blocks deletion needs a
	// right. A manager without the right must fail in tests.
	env.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	return config
}

// Root returns the root folder of the project: the closest one above the test with a file PROJECT.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "PROJECT")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no folder above the test holds a PROJECT file")
		}
		dir = parent
	}
}
