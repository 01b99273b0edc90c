// Package constants reads string constants from Go source. A test then needs no hand-written list, in which
// a constant could be missing. The package imports only the standard library, because modules without the
// operator's dependencies use the package.
package constants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"testing"
)

// Constant is a string constant. Type is "" if the declaration has no type.
type Constant struct{ Name, Type, Value string }

// Of returns the string constants of files, in order. It omits constants inside functions, and those whose
// declaration has no string of its own, such as a copy of another constant. It fails the test if it finds no
// constant. It also fails the test for a value that is an expression with strings, because only a compiler
// can evaluate expressions.
func Of(t testing.TB, files ...string) []Constant {
	t.Helper()
	var all []Constant
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.CONST {
				all = append(all, ofGroup(t, group)...)
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no texts are declared as constants in %q", files)
	}
	return all
}

// ofGroup returns the string constants of one declaration, which may be a group.
func ofGroup(t testing.TB, group *ast.GenDecl) []Constant {
	t.Helper()
	var all []Constant
	for _, line := range group.Specs {
		spec, ok := line.(*ast.ValueSpec)
		if !ok {
			continue
		}
		kind := ""
		if spec.Type != nil {
			kind = types.ExprString(spec.Type)
		}
		for i, value := range spec.Values {
			if text, found := textOf(t, spec.Names[i].Name, value); found {
				all = append(all, Constant{Name: spec.Names[i].Name, Type: kind, Value: text})
			}
		}
	}
	return all
}

// textOf returns the value of a constant, and whether the value is a string. A long value may be
// written as literals that + joins.
func textOf(t testing.TB, name string, value ast.Expr) (text string, isText bool) {
	t.Helper()
	switch value := value.(type) {
	case *ast.BasicLit:
		if value.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			t.Fatalf("the value of constant %s: %v", name, err)
		}
		return text, true
	case *ast.BinaryExpr:
		left, leftIsText := textOf(t, name, value.X)
		right, rightIsText := textOf(t, name, value.Y)
		if leftIsText && rightIsText && value.Op == token.ADD {
			return left + right, true
		}
	}
	ast.Inspect(value, func(n ast.Node) bool {
		if part, isLiteral := n.(*ast.BasicLit); isLiteral && part.Kind == token.STRING {
			t.Fatalf("the value of constant %s is an expression: write it as literals that + joins", name)
		}
		return true
	})
	return "", false
}
