package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinksLeadSomewhere checks that the files and headings in links exist.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for _, p := range all {
		for _, link := range p.links {
			if problem := broken(t, all, p, link); problem != "" {
				t.Errorf("%s: %s: %s", p.path, link, problem)
			}
		}
	}
}

// broken returns the problem of a link; "" for a valid link, or one out of this repository.
func broken(t *testing.T, all map[string]*page, from *page, link string) string {
	t.Helper()
	to, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case to.Scheme != "":
		return ""
	}
	target := from.path
	if to.Path != "" {
		target = path.Join(path.Dir(from.path), to.Path)
	}
	if strings.HasPrefix(target, "../") {
		return "leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(target))); err != nil {
		return "there is no such file"
	}
	if to.Fragment == "" {
		return ""
	}
	on, known := all[target]
	if !known || !on.anchors[to.Fragment] {
		return "there is no such heading"
	}
	return ""
}

// TestLinksOfCommandsLeadSomewhere checks the links to pages that commands print.
func TestLinksOfCommandsLeadSomewhere(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "internal", "cli", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`https://github\.com/cephtune/cephtune/blob/main/([\w./#-]+)`)
	all, found := pages(t), 0
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(code), -1) {
			found++
			if problem := broken(t, all, &page{path: "README.md"}, match[1]); problem != "" {
				t.Errorf("%s: %s: %s", filepath.Base(file), match[0], problem)
			}
		}
	}
	if found == 0 {
		t.Error("found no links")
	}
}

// TestEveryPageCanBeFound checks that links from the index lead to every page of docs.
func TestEveryPageCanBeFound(t *testing.T) {
	all := pages(t)
	found := map[string]bool{}
	for queue := []string{"docs/README.md"}; len(queue) > 0; queue = queue[1:] {
		p := all[queue[0]]
		if p == nil || found[p.path] {
			continue
		}
		found[p.path] = true
		for _, link := range p.links {
			if to, err := url.Parse(link); err == nil && to.Scheme == "" {
				queue = append(queue, path.Join(path.Dir(p.path), to.Path))
			}
		}
	}
	for name := range all {
		if !found[name] && strings.HasPrefix(name, "docs/") {
			t.Errorf("nobody who begins at docs/README.md comes to %s", name)
		}
	}
}

// TestPagesArePlain checks that pages have no links in HTML, which the other tests would not check.
func TestPagesArePlain(t *testing.T) {
	for _, p := range pages(t) {
		for _, html := range p.html {
			if !strings.HasPrefix(html, "<!--") {
				t.Errorf("%s has HTML: %s", p.path, html)
			}
		}
	}
}

func TestAnchorsAreGitHubs(t *testing.T) {
	for title, want := range map[string]string{
		"At 3 a.m.: NotRestored":         "at-3-am-notrestored",
		"kubectl cephtune compare":       "kubectl-cephtune-compare",
		"Is Ceph as it was?":             "is-ceph-as-it-was",
		"Größe, pg_num & co":             "größe-pg_num--co",
		"Options that OSDs take - later": "options-that-osds-take---later",
	} {
		if got := anchor(title); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}
