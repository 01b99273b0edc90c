// Package apiserver gives tests a real kube-apiserver and etcd with the CRDs of this project.
package apiserver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// assetsVariable is the environment variable with the folder of envtest's binaries.
const assetsVariable = "KUBEBUILDER_ASSETS"

// startTimeout limits the start of the API server and of etcd, and their stop.
const startTimeout = 2 * time.Minute

// Start starts an API server, and stops it at the end of the test. It returns the configuration of an
// administrator. Without the binaries, the test fails, because a skipped test would prove nothing.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	config, _ := StartWithEtcd(t)
	return config
}

// StartWithEtcd is like Start, and also returns the URL of etcd.
func StartWithEtcd(t testing.TB) (config *rest.Config, etcd string) {
	t.Helper()
	if os.Getenv(assetsVariable) == "" {
		t.Fatalf(`%s is not set: run "make test", or export %s="$(hack/envtest-assets)"`, assetsVariable, assetsVariable)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(Root(t), "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// The default of 20 s is too short on a machine that also compiles.
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	// Some clusters have this admission plug-in. It demands a right for an owner reference that blocks
	// deletion. A manager without that right must fail in tests.
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
	return config, env.ControlPlane.Etcd.URL.String()
}

// Root returns the root folder of the project: the closest folder above the test that has a file PROJECT.
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

// Kubeconfig writes a kubeconfig for an API server, and returns its path.
func Kubeconfig(t testing.TB, server *rest.Config) string {
	t.Helper()
	written := clientcmdapi.NewConfig()
	written.Clusters["test"] = &clientcmdapi.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData}
	written.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.CertData, ClientKeyData: server.KeyData}
	written.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	written.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*written, file); err != nil {
		t.Fatal(err)
	}
	return file
}
