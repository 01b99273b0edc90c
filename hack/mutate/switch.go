package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// mutant is the package that switched files import. Its variable of the environment chooses a mutation.
const (
	variable = "CEPHTUNE_MUTANT"
	mutant   = `// Package mutant knows which mutation this process has.
package mutant

import (
	"os"
	"strconv"
)

var chosen, _ = strconv.Atoi(os.Getenv("` + variable + `"))

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func Is(n int) bool { return n == chosen }

func Step(n, original int) int {
	if Is(n) {
		return -original
	}
	return original
}

func Negative[T number](n int, x T) T {
	if Is(n) {
		return x
	}
	return -x
}

func Sum[T number](n int, a, b T) T {
	if Is(n) {
		return a - b
	}
	return a + b
}

func Difference[T number](n int, a, b T) T {
	if Is(n) {
		return a + b
	}
	return a - b
}

func Product[T number](n int, a, b T) T {
	if Is(n) {
		return a / b
	}
	return a * b
}

func Quotient[T number](n int, a, b T) T {
	if Is(n) {
		return a * b
	}
	return a / b
}

func Remainder[T integer](n int, a, b T) T {
	if Is(n) {
		return a * b
	}
	return a % b
}
`
)

// swaps has the token that each mutation puts in the place of another.
func swaps() map[string]map[token.Token]token.Token {
	return map[string]map[token.Token]token.Token{
		"CONDITIONALS_NEGATION": {
			token.EQL: token.NEQ, token.NEQ: token.EQL, token.LEQ: token.GTR, token.GEQ: token.LSS, token.LSS: token.GEQ, token.GTR: token.LEQ,
		},
		"CONDITIONALS_BOUNDARY": {token.LEQ: token.LSS, token.GEQ: token.GTR, token.LSS: token.LEQ, token.GTR: token.GEQ},
		"ARITHMETIC_BASE":       {token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL},
		"INCREMENT_DECREMENT":   {token.INC: token.DEC, token.DEC: token.INC},
		"INVERT_NEGATIVES":      {token.SUB: token.ADD},
		"INVERT_LOGICAL":        {token.LAND: token.LOR, token.LOR: token.LAND},
		"INVERT_LOOPCTRL":       {token.CONTINUE: token.BREAK, token.BREAK: token.CONTINUE},
	}
}

// mutation is one replaced token.
type mutation struct {
	file         string
	line, column int
	kind         string
}

func (m mutation) String() string {
	return fmt.Sprintf("%s:%d:%d %s", m.file, m.line, m.column, m.kind)
}

// compare orders mutations by their places.
func compare(a, b mutation) int {
	return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), strings.Compare(a.kind, b.kind))
}

// site is an operator or a statement with mutations, by their numbers.
type site struct {
	from, to, begin, end int // the offsets of its token, and of the whole
	token                token.Token
	swapped              map[int]token.Token
	node                 ast.Node
}

// switcher writes a file in which a variable of the environment chooses one of several mutations.
type switcher struct {
	source string
	sites  []site
}

// sitesOf finds the sites of a file that have mutations. A constant cannot be switched, so its sites are missing.
func sitesOf(source string, mutations map[int]mutation) (*switcher, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &switcher{source: source}
	ast.Inspect(file, func(node ast.Node) bool {
		if declared, ok := node.(*ast.GenDecl); ok && declared.Tok == token.CONST {
			return false
		}
		position, operator := operatorOf(node)
		if !position.IsValid() {
			return true
		}
		place := set.Position(position)
		found := site{
			from: place.Offset, to: place.Offset + len(operator.String()), begin: set.Position(node.Pos()).Offset, end: set.Position(node.End()).Offset,
			token: operator, swapped: map[int]token.Token{}, node: node,
		}
		for n, m := range mutations {
			if other, known := swaps()[m.kind][operator]; known && m.line == place.Line && m.column == place.Column {
				found.swapped[n] = other
			}
		}
		if len(found.swapped) > 0 {
			s.sites = append(s.sites, found)
		}
		return true
	})
	return s, nil
}

// operatorOf returns the token of a node that a mutation may replace.
func operatorOf(node ast.Node) (token.Pos, token.Token) {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		return n.OpPos, n.Op
	case *ast.UnaryExpr:
		return n.OpPos, n.Op
	case *ast.IncDecStmt:
		return n.TokPos, n.Tok
	case *ast.BranchStmt:
		return n.TokPos, n.Tok
	}
	return token.NoPos, token.ILLEGAL
}

// text returns the switched text of a part of the file.
func (s *switcher) text(begin, end int) string {
	var b strings.Builder
	for _, found := range s.sites { // An outer site comes before the sites within it.
		if found.begin >= begin && found.end <= end {
			b.WriteString(s.source[begin:found.begin] + s.switched(found))
			begin = found.end
		}
	}
	return b.String() + s.source[begin:end]
}

// switched returns the text of a site.
func (s *switcher) switched(here site) string {
	rest := &switcher{source: s.source, sites: slices.DeleteFunc(slices.Clone(s.sites), func(other site) bool {
		return other.begin == here.begin && other.end == here.end && other.from == here.from
	})}
	before, after := rest.text(here.begin, here.from), rest.text(here.to, here.end)
	chosen := func(n int) string { return fmt.Sprintf("mutant.Is(%d)", n) }
	made := "(" + before + here.token.String() + after + ")"
	for _, n := range slices.Sorted(maps.Keys(here.swapped)) {
		other := here.swapped[n]
		switch {
		case here.token == token.CONTINUE || here.token == token.BREAK:
			return "if " + chosen(n) + " { " + other.String() + after + " } else { " + here.token.String() + after + " }"
		case here.token == token.INC:
			return before + fmt.Sprintf("+= mutant.Step(%d, 1)", n)
		case here.token == token.DEC:
			return before + fmt.Sprintf("+= mutant.Step(%d, -1)", n)
		case strings.TrimSpace(before) == "":
			return fmt.Sprintf("mutant.Negative(%d, %s)", n, after)
		case functions()[here.token] != "":
			return fmt.Sprintf("mutant.%s(%d, %s, %s)", functions()[here.token], n, before, after)
		}
		made = "(" + chosen(n) + " && (" + before + other.String() + after + ") || !" + chosen(n) + " && " + made + ")"
	}
	return made
}

// functions has the function of package mutant for each operator of arithmetic.
func functions() map[token.Token]string {
	return map[token.Token]string{token.ADD: "Sum", token.SUB: "Difference", token.MUL: "Product", token.QUO: "Quotient", token.REM: "Remainder"}
}

// contains reports whether a mutation has a site.
func (s *switcher) contains(n int) bool {
	return slices.ContainsFunc(s.sites, func(found site) bool { _, ok := found.swapped[n]; return ok })
}

// all returns the whole switched file.
func (s *switcher) all(module string) string {
	text := s.text(0, len(s.source))
	clause := strings.Index("\n"+text, "\npackage ")
	end := clause + strings.IndexByte(text[clause:], '\n')
	return text[:end] + "; import \"" + module + "/mutant\"" + text[end:]
}
