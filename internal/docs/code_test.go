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
)

// sources are the files of a package without its tests, parsed.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("there is no Go in %s", dir)
	}
	return files
}

// constant is one of a string.
type constant struct{ name, kind, value string }

// constants are those of a package.
func constants(t *testing.T, dir string) []constant {
	t.Helper()
	var found []constant
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, value := range spec.Values {
				if text, ok := literal(value); ok {
					c := constant{name: spec.Names[i].Name, value: text}
					if spec.Type != nil {
						c.kind = types.ExprString(spec.Type)
					}
					found = append(found, c)
				}
			}
			return true
		})
	}
	return found
}

// ofType are the values of the constants of a type.
func ofType(t *testing.T, dir, kind string) []string {
	t.Helper()
	return valuesOf(t, dir, func(c constant) bool { return c.kind == kind })
}

// withPrefix are the values of the constants whose names begin so.
func withPrefix(t *testing.T, dir, prefix string) []string {
	t.Helper()
	return valuesOf(t, dir, func(c constant) bool { return strings.HasPrefix(c.name, prefix) })
}

func valuesOf(t *testing.T, dir string, wanted func(constant) bool) []string {
	t.Helper()
	var values []string
	for _, c := range constants(t, dir) {
		if wanted(c) {
			values = append(values, c.value)
		}
	}
	if len(values) == 0 {
		t.Fatalf("found no constants in %s", dir)
	}
	slices.Sort(values)
	return values
}

// literal is the value of a string that is written out.
func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// TestThePlacesOfAnEngine: the page about adding an engine links to each file that tells
// one engine from another.
func TestThePlacesOfAnEngine(t *testing.T) {
	linked := map[string]bool{}
	for _, link := range readPage(t, "docs/adding-an-engine.md").links {
		linked[strings.TrimPrefix(link, "../")] = true
	}
	found := 0
	for _, dir := range []string{"controllers/cephbenchmark", "controllers/cephtuningsweep", "internal/cli/run", "internal/engine", "internal/figure", "internal/runner", "internal/sweepspec"} {
		names, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(dir), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			below := dir + "/" + filepath.Base(name)
			if strings.HasSuffix(name, "_test.go") || !knowsFio(t, name) {
				continue
			}
			found++
			if !linked[below] {
				t.Errorf("docs/adding-an-engine.md does not name %s, which knows fio", below)
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d files only", found)
	}
}

// knowsFio reports whether a file imports the engine, or looks at the phase's field.
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
