package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryLinkedModuleHasItsText collects the texts for each platform of a release. A new dependency without a licence
// fails here, before a release does.
func TestEveryLinkedModuleHasItsText(t *testing.T) {
	t.Chdir("../..")
	references, err := os.ReadFile("images/references.env")
	if err != nil {
		t.Fatal(err)
	}
	image := []string{"./cmd/manager", "./cmd/runner", "./cmd/generator"}
	for _, lists := range []struct {
		name     string
		programs []string
	}{{"NODE", append(image, "./cmd/kubectl-cephtune")}, {"USER", []string{"./cmd/kubectl-cephtune"}}} {
		platforms := regexp.MustCompile(`(?m)^` + lists.name + `_PLATFORMS=(.*)$`).FindSubmatch(references)
		for platform := range strings.SplitSeq(string(platforms[1]), ",") {
			var out bytes.Buffer
			if err := run(&out, platform, lists.programs); err != nil {
				t.Errorf("%s: %v", platform, err)
			}
			for _, want := range []string{"\ngolang.org/x/sys v", "\nGo's standard library go1", "Apache License", "Redistribution and use"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s: the texts have no %q", platform, want)
				}
			}
		}
	}
}

func TestTextsOfAModule(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"none":                       {[]string{"main.go", "license.go", "sub/LICENSE"}, ""},
		"empty":                      {[]string{"EMPTY/LICENSE"}, ""},
		"at the top":                 {[]string{"LICENSE", "NOTICE.txt"}, "LICENSE NOTICE.txt"},
		"British, of two licences":   {[]string{"LICENCE-MIT", "COPYING"}, "COPYING LICENCE-MIT"},
		"of the linked package":      {[]string{"LICENSE", "third_party/forked/LICENSE"}, "third_party/forked/LICENSE LICENSE"},
		"of a package not linked":    {[]string{"LICENSE", "other/LICENSE"}, "LICENSE"},
		"a folder of others' texts":  {[]string{"LICENSE", "THIRD_PARTY_LICENSES/Boost"}, "LICENSE THIRD_PARTY_LICENSES/Boost"},
		"another file of that start": {[]string{"LICENSE", "licensee", "noticeboard"}, "LICENSE"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, file := range c.files {
				path := filepath.Join(folder, file)
				text := file
				if strings.HasPrefix(file, "EMPTY/") {
					path, text = filepath.Join(folder, filepath.Base(file)), " \n"
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m := &module{name: "example.org/m v1.0.0", folder: folder, packages: []string{filepath.Join(folder, "third_party", "forked"), folder}}
			if err := os.MkdirAll(m.packages[0], 0o755); err != nil {
				t.Fatal(err)
			}
			texts, err := m.texts()
			if got := strings.Join(texts, " "); got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if err := write(&bytes.Buffer{}, []*module{m}); (err == nil) != (c.want != "") {
				t.Errorf("written with %v", err)
			}
		})
	}
}

// TestATextIsPrintedOnce checks that modules with the same text share it, under both names.
func TestATextIsPrintedOnce(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "LICENSE"), []byte("the text\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := func(name string) *module { return &module{name: name, folder: folder, packages: []string{folder}} }
	var out bytes.Buffer
	if err := write(&out, []*module{one("a v1"), one("b v2")}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "the text\n") != 1 || !strings.Contains(out.String(), "\na v1\nb v2\n") {
		t.Errorf("%s", &out)
	}
}
