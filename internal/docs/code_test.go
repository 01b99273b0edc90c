package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
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
	for _, dir := range []string{
		"controllers/cephbenchmark", "controllers/cephtuningsweep", "internal/cli/load", "internal/conclusion", "internal/engine", "internal/figure",
		"internal/report", "internal/runner", "internal/sweepspec", "internal/loadtarget", "internal/workload",
	} {
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

// logSearch matches a search in the manager's log. It captures the options of grep, and the pattern
// with or without quotes.
var logSearch = regexp.MustCompile(`logs deploy(?:ment)?/cephtune-manager[^|\n]*\| grep ((?:-\w+ )*)(?:'([^']*)'|(\S+))`)

// TestLogSearchesFindMessages checks that each pattern that a runbook searches for in the manager's
// log occurs in the code that writes the log. A string elsewhere does not count: the message of a
// condition looks alike, and is not in the log.
func TestLogSearchesFindMessages(t *testing.T) {
	logged := loggedBelow(t, "cmd", "controllers", "internal")
	found := 0
	for name, p := range pages(t) {
		if path.Dir(name) != "docs/runbooks" && name != "docs/troubleshooting.md" {
			continue
		}
		for _, b := range p.blocks {
			for _, match := range logSearch.FindAllStringSubmatch(b.text, -1) {
				found++
				in, pattern := logged, match[2]+match[3]
				if strings.Contains(match[1], "i") {
					in, pattern = strings.ToLower(in), strings.ToLower(pattern)
				}
				for alternative := range strings.SplitSeq(pattern, `\|`) {
					if !strings.Contains(in, alternative) {
						t.Errorf("%s searches the manager's log for %q, which no message in the code contains", name, alternative)
					}
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d searches only", found)
	}
}

// loggedBelow returns the string literals in calls of loggers, in the Go files below folders, without
// tests. The literals keep their quotes, because messages have quotes in the log, too.
func loggedBelow(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(root(t)), folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && isLog(call) {
					for _, argument := range call.Args {
						if basic, ok := argument.(*ast.BasicLit); ok && basic.Kind == token.STRING {
							all.WriteString(basic.Value + "\n")
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// isLog reports whether a call is one of a method Info or Error.
func isLog(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (method.Sel.Name == "Info" || method.Sel.Name == "Error")
}
