package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

func TestNamespaces(t *testing.T) {
	cases := map[string]struct {
		args        []string
		want        map[string]cache.Config
		wantRefusal bool
	}{
		"no flag is all namespaces":      {want: nil},
		"one":                            {args: []string{"--namespaces=a"}, want: map[string]cache.Config{"a": {}}},
		"several in one flag":            {args: []string{"--namespaces=a, b"}, want: map[string]cache.Config{"a": {}, "b": {}}},
		"several flags, one of it twice": {args: []string{"--namespaces=a", "--namespaces=b,a"}, want: map[string]cache.Config{"a": {}, "b": {}}},
		"a name that cannot be one":      {args: []string{"--namespaces=A"}, wantRefusal: true},
		"nothing":                        {args: []string{"--namespaces="}, wantRefusal: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opts := &options{}
			flags := flag.NewFlagSet("manager", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			opts.bind(flags)
			err := flags.Parse(tc.args)
			if (err != nil) != tc.wantRefusal {
				t.Fatalf("error %v, want one: %t", err, tc.wantRefusal)
			}
			if err != nil {
				return
			}
			got := opts.forManager(newScheme()).Cache.DefaultNamespaces
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCacheKeepsNoManagedFields(t *testing.T) {
	options := (&options{}).forManager(newScheme()).Cache
	for object, config := range options.ByObject {
		if config.Transform != nil {
			t.Errorf("%T has a transform of its own, which replaces the one for all", object)
		}
	}
	kept, err := options.DefaultTransform(&v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{
		Name: "b", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, kept); diff != "" {
		t.Errorf("what the cache keeps (-want +got):\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	parse := func(t *testing.T, args ...string) (*options, error) {
		t.Helper()
		opts := &options{}
		flags := flag.NewFlagSet("manager", flag.ContinueOnError)
		opts.bind(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		return opts, opts.load()
	}
	t.Run("without a file nothing is allowed", func(t *testing.T) {
		opts, err := parse(t)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(settings.Settings{}, opts.settings); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		if opts.cephSocket != "/run/cephtune/ceph.sock" {
			t.Errorf("socket %s", opts.cephSocket)
		}
	})
	t.Run("the file that is deployed allows the cluster of the samples", func(t *testing.T) {
		opts, err := parse(t, "--config="+filepath.Join(apiserver.Root(t), "config", "manager", "config.yaml"), "--ceph-socket=/s")
		if err != nil {
			t.Fatal(err)
		}
		if _, allowed := opts.settings.Cluster(v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}); !allowed {
			t.Errorf("it is not allowed by %+v", opts.settings)
		}
		if opts.cephSocket != "/s" {
			t.Errorf("socket %s", opts.cephSocket)
		}
	})
	t.Run("the manager does not start with a file that is wrong", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte("clusters: [{name: x}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := run(t.Context(), &options{configFile: path})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "clusters[0].namespace") {
			t.Errorf("error %v, want one that names file and field", err)
		}
	})
}
