package docs_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionsAreThoseThatArePinned compares the table of tested versions with the files that pin
// them.
func TestVersionsAreThoseThatArePinned(t *testing.T) {
	env := func(name string) string { return match(t, "test/lab/versions.env", `(?m)^`+name+`=(\S+)`) }
	module := func(file, path string) string {
		return match(t, file, `(?m)^\s*`+regexp.QuoteMeta(path)+` (v\S+)`)
	}
	want := map[string]string{
		"Kubernetes": env("KUBERNETES_VERSION"), "etcd": env("ETCD_VERSION"),
		"Kubernetes' client libraries": module("go.mod", "k8s.io/client-go"),
		"controller-runtime":           module("go.mod", "sigs.k8s.io/controller-runtime"),
		"Go":                           match(t, "go.mod", `(?m)^go (\S+)$`),
		"Prometheus":                   module("dashboards/go.mod", "github.com/prometheus/prometheus"),
	}
	got := map[string]string{}
	for _, row := range readPage(t, "docs/versions.md").tables[0].rows {
		got[row[0]] = row[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/versions.md (-pinned +page):\n%s", diff)
	}
}

// TestStacksAreThoseOfTheLab compares the table of stacks, and the default, with the files of the
// stacks.
func TestStacksAreThoseOfTheLab(t *testing.T) {
	type versions struct {
		Ceph, Rook string
		Default    bool
	}
	first := match(t, "test/lab/versions.env", `(?m)^DEFAULT_STACK=(\S+)`)
	want := map[string]versions{}
	files, err := filepath.Glob(filepath.Join(root(t), "test", "lab", "stacks", "*.env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		path := "test/lab/stacks/" + filepath.Base(file)
		env := func(name string) string { return match(t, path, `(?m)^`+name+`=(\S+)`) }
		name := strings.TrimSuffix(filepath.Base(file), ".env")
		want[name] = versions{env("CEPH_VERSION"), env("ROOK_VERSION"), name == first}
	}
	got := map[string]versions{}
	for _, row := range readPage(t, "docs/versions.md").tables[1].rows {
		got[row[0]] = versions{row[1], row[2], strings.HasPrefix(row[3], "the default")}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/versions.md (-pinned +page):\n%s", diff)
	}
}

// TestToolsImagesAreThoseOfTestedVersions compares what a release publishes with what the page calls tested.
func TestToolsImagesAreThoseOfTestedVersions(t *testing.T) {
	const references = "images/references.env"
	tested := map[string]bool{}
	for _, row := range readPage(t, "docs/versions.md").tables[1].rows {
		tested[row[1]] = true
	}
	lines := regexp.MustCompile(`(?m)^CEPH_IMAGE_(\d+)=quay\.io/ceph/ceph:v([\d.]+)(@sha256:[0-9a-f]{64})?$`).FindAllStringSubmatch(read(t, references), -1)
	published := map[string]bool{}
	for _, line := range lines {
		published[line[2]] = true
		if !strings.HasPrefix(line[2], line[1]+".") {
			t.Errorf("%s has Ceph %s as line %s", references, line[2], line[1])
		}
	}
	if diff := cmp.Diff(tested, published); diff != "" {
		t.Errorf("Ceph's versions (-tested +published):\n%s", diff)
	}
	stack := "test/lab/stacks/" + match(t, "test/lab/versions.env", `(?m)^DEFAULT_STACK=(\S+)`) + ".env"
	if line, ceph := match(t, references, `(?m)^CEPH_LINE=(\S+)`), match(t, stack, `(?m)^CEPH_VERSION=(\S+)`); !strings.HasPrefix(ceph, line+".") {
		t.Errorf("%s has the line %s by default, the lab Ceph %s", references, line, ceph)
	}
	page := read(t, "docs/versions.md")
	for _, list := range []string{"NODE_PLATFORMS", "USER_PLATFORMS"} {
		for platform := range strings.SplitSeq(match(t, references, `(?m)^`+list+`=(\S+)`), ",") {
			if !strings.Contains(page, "`"+platform+"`") {
				t.Errorf("docs/versions.md has no %s", platform)
			}
		}
	}
}

// TestRenovateFindsPinnedVersions checks that the update bot finds each version in env files, except those that a
// person updates, and the past versions of stacks.
func TestRenovateFindsPinnedVersions(t *testing.T) {
	var config struct {
		CustomManagers []struct{ ManagerFilePatterns, MatchStrings []string }
	}
	if err := json.Unmarshal([]byte(read(t, ".github/renovate.json")), &config); err != nil {
		t.Fatal(err)
	}
	byHand := regexp.MustCompile(`^(FIO|ETCD|GRAFANA|WIRE|CEPH)_VERSION=`) // CEPH_VERSION is Debian's
	pinned := regexp.MustCompile(`(?m)^\w+=\S*\d+\.\d+\.\d+\S*`)
	for _, file := range []string{"images/references.env", "test/lab/versions.env", "test/lab/stacks/tentacle.env"} {
		text := read(t, file)
		for _, m := range config.CustomManagers {
			if regexp.MustCompile(strings.Trim(m.ManagerFilePatterns[0], "/")).MatchString(file) {
				text = regexp.MustCompile(m.MatchStrings[0]).ReplaceAllString(text, "")
			}
		}
		for _, line := range pinned.FindAllString(text, -1) {
			if !byHand.MatchString(line) {
				t.Errorf("nothing updates %s in %s", line, file)
			}
		}
	}
}

// match returns the match of a pattern's group in a file.
func match(t *testing.T, file, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if found == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return found[1]
}
