package place

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *Place)
		want   string // "" if it is valid
	}{
		"a pool":                         {func(*Place) {}, ""},
		"an erasure-coded pool":          {func(p *Place) { p.DataPool = "ec" }, ""},
		"a folder":                       {func(p *Place) { p.Pool, p.Directory = "", "/data" }, ""},
		"a device":                       {func(p *Place) { p.Pool, p.Device = "", "/dev/bench" }, ""},
		"nothing":                        {func(p *Place) { *p = Place{} }, "no owner is set"},
		"a pool and a folder":            {func(p *Place) { p.Directory = "/data" }, "exactly one of Pool, Directory and Device"},
		"a folder and a device":          {func(p *Place) { p.Pool, p.Directory, p.Device = "", "/data", "/dev/bench" }, "exactly one of"},
		"a pool without a user":          {func(p *Place) { p.CephUser = "" }, "CephUser must be set"},
		"a pool of two lines":            {func(p *Place) { p.Pool = "p\nq" }, "must match"},
		"a pool that is an option":       {func(p *Place) { p.Pool = "-p" }, "must match"},
		"a pool that fio would expand":   {func(p *Place) { p.Pool = "$ncpus" }, "must match"},
		"folders, which colons part":     {func(p *Place) { p.Pool, p.Directory = "", "/data:/etc" }, "must match"},
		"a folder above":                 {func(p *Place) { p.Pool, p.Directory = "", "/data/../etc" }, "must match"},
		"a folder by its own":            {func(p *Place) { p.Pool, p.Directory = "", "data" }, "must match"},
		"an owner that is too long":      {func(p *Place) { p.Owner = strings.Repeat("a", 25) }, "at most 24"},
		"a client that there is not":     {func(p *Place) { p.Client = 3 }, "the client's index is 3, and must be from 0 to 2"},
		"a namespace of two words":       {func(p *Place) { p.Namespace = "a b" }, "must match"},
		"a dataset of less than nothing": {func(p *Place) { p.DatasetBytes = -1 }, "must not be negative"},
		"a user with a null byte":        {func(p *Place) { p.CephUser = "client.io\x00" }, "must match"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Place{CephUser: "io", Pool: "p", Owner: "cephtune-1", Client: 2, Clients: 3}
			tc.change(&p)
			err := p.Validate()
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	p := Place{Pool: "p", Owner: "o", Client: 1}
	if got := []string{p.Name("x"), p.ObjectNamespace("x"), p.ObjectPool()}; !cmp.Equal(got, []string{"o-1-x", "o-1-x", "p"}) {
		t.Errorf("got %q", got)
	}
	p.Namespace, p.DataPool = "space", "ec"
	if got := []string{p.Name("x"), p.ObjectNamespace("x"), p.ObjectPool()}; !cmp.Equal(got, []string{"o-1-x", "space-1-x", "ec"}) {
		t.Errorf("got %q", got)
	}
}

func TestImageOf(t *testing.T) {
	got := ImageOf(v1alpha1.Image{
		Size: resource.MustParse("10Gi"), ObjectSize: resource.MustParse("64Ki"), Sharing: v1alpha1.ImageSharingClients,
	})
	want := Image{
		SizeBytes: 10 << 30, ObjectSizeBytes: 64 << 10, Shared: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
