package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarkers(t *testing.T) {
	for text, want := range map[string]string{
		"Nobody knows":                      "Nobody",
		"the lock is put\nback":             "put back",
		"puts the balancer and pg_num back": "puts the balancer and pg_num back",
		"lets OSDs up":                      "lets OSDs up",
		"It has none.":                      "has none",
		"it does not go any\nmore":          "any more",
		"What is left stays":                "What",
		"It ends. What is left stays.":      "What",
		"so is there one":                   "is there",

		"somebodyElse":                            "",
		"says what is left":                       "",
		"Prints What":                             "",
		"puts a key; comes back":                  "",
		"The input of a run":                      "",
		"The controller restores the autoscaler.": "",
	} {
		var got string
		if found := find(text); len(found) > 0 {
			got = plain(text[found[0][0]:found[0][1]])
		}
		if got != want {
			t.Errorf("find(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestComments(t *testing.T) {
	const source = `// Package p is of
// what nobody, and
//
// somebody needs.
package p

//go:generate told
//nolint:told
var s = "told" // told

/*
whom
*/
`
	got, err := ofComments("p/p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	want := count{"p/p.go", 5, []place{
		{"p/p.go", 1, "of what", "Package p is of"},
		{"p/p.go", 2, "nobody", "what nobody, and"},
		{"p/p.go", 4, "somebody", "somebody needs."},
		{"p/p.go", 9, "told", "told"},
		{"p/p.go", 12, "whom", "whom"},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(count{}, place{})); diff != "" {
		t.Error(diff)
	}
}

func TestCommentsOfBrokenSource(t *testing.T) {
	if _, err := ofComments("p.go", []byte("package")); err == nil {
		t.Error("no error")
	}
}

func TestPage(t *testing.T) {
	const source = "# What to do\n\nOne. Two, `told`\nand somebody. Three!\n\n```\nnobody\n```\n\n" +
		"- An item\n\n| head | whom |\n|---|---|\n| cell | beside |\n"
	want := count{"p.md", 9, []place{
		{"p.md", 1, "What", "What to do"},
		{"p.md", 3, "somebody", "Two, CODE and somebody."},
		{"p.md", 12, "whom", "whom"},
		{"p.md", 14, "beside", "beside"},
	}}
	if diff := cmp.Diff(want, ofPage("p.md", []byte(source)), cmp.AllowUnexported(count{}, place{})); diff != "" {
		t.Error(diff)
	}
}

func TestFiles(t *testing.T) {
	root := tree(t, map[string]string{
		"README.md": "", "CHANGELOG.md": "", "docs/a/b.md": "", "docs/cli.md": "", "charts/README.md": "",
		"a.go": "", "a_test.go": "", "zz_generated.deepcopy.go": "", ".git/a.go": "", "x/testdata/a.go": "", "bin/a.go": "",
	})
	got, err := filesBelow(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"README.md", "a.go", "docs/a/b.md"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	root := tree(t, map[string]string{
		"a.go":      "// nobody\n// reads\npackage a\n",
		"README.md": "One is told. Two is not.\n",
	})
	for name, test := range map[string]struct {
		limits options
		want   string
	}{
		"at the limits": {options{comments: 50, sentences: 50, pageWords: 6}, ""},
		"comments":      {options{comments: 49.9, sentences: 50, pageWords: 6}, "50.00 % of comment lines"},
		"sentences":     {options{comments: 50, sentences: 49.9, pageWords: 6}, "50.00 % of sentences"},
		"a long page":   {options{comments: 50, sentences: 50, pageWords: 5}, "README.md has 6 words"},
	} {
		test.limits.root = root
		err := run(&bytes.Buffer{}, test.limits)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestVerboseListsPlacesAndRates(t *testing.T) {
	root := tree(t, map[string]string{"p/a.go": "// nobody\n// reads\npackage a\n"})
	var out bytes.Buffer
	if err := run(&out, options{root: root, comments: 50, sentences: 50, pageWords: 5, verbose: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"p/a.go:1: \"nobody\": nobody\n", "p: 1 of 2 comment lines, 50.0 %\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
