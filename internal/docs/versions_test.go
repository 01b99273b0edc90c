package docs_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionsAreThoseThatArePinned compares the table of what was tested with the files
// that say what is.
func TestVersionsAreThoseThatArePinned(t *testing.T) {
	env := func(name string) string { return match(t, "test/lab/versions.env", `(?m)^`+name+`=(\S+)`) }
	module := func(file, path string) string {
		return match(t, file, `(?m)^\s*`+regexp.QuoteMeta(path)+` (v\S+)`)
	}
	want := map[string]string{
		"Ceph": env("CEPH_VERSION"), "Rook": env("ROOK_VERSION"), "Kubernetes": env("KUBERNETES_VERSION"), "etcd": env("ETCD_VERSION"),
		"Kubernetes' client libraries": module("go.mod", "k8s.io/client-go"),
		"controller-runtime":           module("go.mod", "sigs.k8s.io/controller-runtime"),
		"Go":                           match(t, "go.mod", `(?m)^go (\S+)$`),
		"Prometheus":                   module("dashboards/go.mod", "github.com/prometheus/prometheus"),
	}
	got := map[string]string{}
	for _, table := range readPage(t, "docs/versions.md").tables {
		for _, row := range table.rows {
			got[row[0]] = row[1]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/versions.md (-pinned +page):\n%s", diff)
	}
}

// match is what the group of a pattern matches in a file.
func match(t *testing.T, file, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if found == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return found[1]
}
