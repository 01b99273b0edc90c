package object_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/object"
)

func TestNamesAreCompleted(t *testing.T) {
	sweep, other, nightly := clitest.Sweep(t, "pg_num"), clitest.Sweep(t, "pg_num"), clitest.Benchmark(t, "lab")
	sweep.Name, sweep.Namespace = "pg-num", clitest.Namespace
	other.Name, other.Namespace = "elsewhere", "another"
	nightly.Name, nightly.Namespace = "nightly", clitest.Namespace
	c := clitest.Holding(t, sweep, other, nightly)
	broken := func() (client.WithWatch, string, error) { return nil, "", errors.New("no kubeconfig") }
	refusing := interceptor.NewClient(c, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("forbidden")
		},
	})
	for name, tc := range map[string]struct {
		complete cobra.CompletionFunc
		args     []string
		typed    string
		want     []string
	}{
		"both kinds":                {object.Complete(clitest.Connecting(c), 1), nil, "", []string{"pg-num", "cephbenchmark/nightly"}},
		"what was begun":            {object.Complete(clitest.Connecting(c), 1), nil, "ceph", []string{"cephbenchmark/nightly"}},
		"no more than one":          {object.Complete(clitest.Connecting(c), 1), []string{"pg-num"}, "", nil},
		"benchmarks alone":          {object.CompleteBenchmarks(clitest.Connecting(c), 2), nil, "", []string{"nightly"}},
		"not the same once more":    {object.CompleteBenchmarks(clitest.Connecting(c), 2), []string{"nightly"}, "", []string{}},
		"without a kubeconfig":      {object.Complete(broken, 1), nil, "", nil},
		"where nothing may be read": {object.Complete(clitest.Connecting(refusing), 1), nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, directive := tc.complete(&cobra.Command{}, tc.args, tc.typed)
			if diff := cmp.Diff(tc.want, got); diff != "" || directive != cobra.ShellCompDirectiveNoFileComp {
				t.Errorf("%v\n%s", directive, diff)
			}
		})
	}
}

func TestANameAlone(t *testing.T) {
	sweep, benchmark := clitest.Sweep(t, "pg_num"), clitest.Benchmark(t, "lab")
	twin := benchmark.DeepCopy()
	for name, o := range map[string]client.Object{"pg-num": sweep, "nightly": benchmark} {
		o.SetName(name)
		o.SetNamespace(clitest.Namespace)
	}
	twin.Name, twin.Namespace = "pg-num", clitest.Namespace
	for name, c := range map[string]struct {
		objects       []client.Object
		named         string
		want, message string
	}{
		"a sweep":     {[]client.Object{sweep, benchmark}, "pg-num", "CephTuningSweep", ""},
		"a benchmark": {[]client.Object{sweep, benchmark}, "nightly", "CephBenchmark", ""},
		"neither":     {[]client.Object{sweep, benchmark}, "other", "", "there is no CephTuningSweep or CephBenchmark other in namespace"},
		"both":        {[]client.Object{sweep, twin}, "pg-num", "", "write cephtuningsweep/pg-num or cephbenchmark/pg-num"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := object.Get(t.Context(), clitest.Holding(t, c.objects...), object.Kind{}, client.ObjectKey{Namespace: clitest.Namespace, Name: c.named})
			kind := object.StateOf(found).Kind
			if kind.Name != c.want || (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("got %q, %v", kind.Name, err)
			}
		})
	}
}
