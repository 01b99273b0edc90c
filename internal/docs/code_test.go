package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/testing/constants"
)

// sourcesOf returns the names of a package's files, without tests.
func sourcesOf(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(names) == 0 {
		t.Fatalf("there is no Go in %s", dir)
	}
	return names
}

// sources returns the parsed files of a package, without tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range sourcesOf(t, dir) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// ofType returns the values of the constants of a type.
func ofType(t *testing.T, dir, kind string) []string {
	t.Helper()
	return valuesOf(t, dir, func(c constants.Constant) bool { return c.Type == kind })
}

// withPrefix returns the values of the constants whose names have a prefix.
func withPrefix(t *testing.T, dir, prefix string) []string {
	t.Helper()
	return valuesOf(t, dir, func(c constants.Constant) bool { return strings.HasPrefix(c.Name, prefix) })
}

func valuesOf(t *testing.T, dir string, wanted func(constants.Constant) bool) []string {
	t.Helper()
	var values []string
	for _, c := range constants.Of(t, sourcesOf(t, dir)...) {
		if wanted(c) {
			values = append(values, c.Value)
		}
	}
	if len(values) == 0 {
		t.Fatalf("found no constants in %s", dir)
	}
	slices.Sort(values)
	return values
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// TestThePlacesOfAnEngine checks that the page about adding an engine links to each file outside of
// the engines' folders that distinguishes engines.
func TestThePlacesOfAnEngine(t *testing.T) {
	linked := map[string]bool{}
	for _, link := range readPage(t, "docs/adding-an-engine.md").links {
		linked[strings.TrimPrefix(link, "../")] = true
	}
	found := 0
	for _, dir := range []string{"controllers/cephbenchmark", "controllers/cephtuningsweep", "internal/cli/load", "internal/conclusion", "internal/engine", "internal/figure", "internal/report", "internal/runner", "internal/sweepspec", "internal/target", "internal/workload"} {
		for _, name := range sourcesOf(t, dir) {
			below := dir + "/" + filepath.Base(name)
			if !knowsFio(t, name) {
				continue
			}
			found++
			if !linked[below] {
				t.Errorf("docs/adding-an-engine.md does not name %s, which knows fio", below)
			}
		}
	}
	if found < 2 { // the registry, and the flags
		t.Errorf("found %d files only", found)
	}
}

// knowsFio reports whether a file imports the engine or uses the phase's field for it.
func knowsFio(t *testing.T, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	knows := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			knows = knows || strings.HasSuffix(n.Path.Value, `/internal/engine/fio"`)
		case *ast.SelectorExpr:
			knows = knows || n.Sel.Name == "Fio" && types.ExprString(n.X) != "v1alpha1"
		}
		return !knows
	})
	return knows
}
