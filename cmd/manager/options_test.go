package main

import (
	"flag"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
