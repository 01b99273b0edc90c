package main

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// filesBelow returns the Go files and pages to read, as paths relative to root, with slashes.
func filesBelow(root string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || name == "bin"):
			return fs.SkipDir
		case !entry.IsDir() && (isSource(name) || isPage(name)):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

func isSource(name string) bool {
	return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(path.Base(name), "zz_generated")
}

// isPage reports whether a file is a hand-written page in the root or in docs. The changelog does not
// count, because history does not change. The pages that "make generate" writes do not count either.
func isPage(name string) bool {
	exceptions := []string{"CHANGELOG.md", "docs/api.md", "docs/cli.md", "docs/metrics.md"}
	if path.Ext(name) != ".md" || slices.Contains(exceptions, name) {
		return false
	}
	return path.Dir(name) == "." || strings.HasPrefix(name, "docs/")
}
