package main

import (
	"strings"
	"testing"
)

func TestSwitch(t *testing.T) {
	for name, test := range map[string]struct {
		line   string
		tokens []string // the tokens with a mutation, with what precedes them, and its kind
		want   string
	}{
		"comparison": {"return a == b", []string{"a |== CONDITIONALS_NEGATION"}, "return (mutant.Is(1) && (a != b) || !mutant.Is(1) && (a == b))"},
		"two of one operator": {
			"return a < b",
			[]string{"a |< CONDITIONALS_NEGATION", "a |< CONDITIONALS_BOUNDARY"},
			"return (mutant.Is(2) && (a <= b) || !mutant.Is(2) && (mutant.Is(1) && (a >= b) || !mutant.Is(1) && (a < b)))",
		},
		"nested": {
			"return a && b != 0",
			[]string{"a |&& INVERT_LOGICAL", "b |!= CONDITIONALS_NEGATION"},
			"return (mutant.Is(1) && (a || (mutant.Is(2) && (b == 0) || !mutant.Is(2) && (b != 0))) || " +
				"!mutant.Is(1) && (a && (mutant.Is(2) && (b == 0) || !mutant.Is(2) && (b != 0))))",
		},
		"sum":                  {"x = a + 1", []string{"a |+ ARITHMETIC_BASE"}, "x = mutant.Sum(1, a ,  1)"},
		"step":                 {"for ; a < b; a++ {", []string{"; a|++ INCREMENT_DECREMENT"}, "for ; a < b; a+= mutant.Step(1, 1) {"},
		"negative":             {"x = -a", []string{"= |- INVERT_NEGATIVES"}, "x = mutant.Negative(1, a)"},
		"continue":             {"continue", []string{"|continue INVERT_LOOPCTRL"}, "if mutant.Is(1) { break } else { continue }"},
		"other kind":           {"return a == b", []string{"a |== ARITHMETIC_BASE"}, ""},
		"constant":             {"const c = 2 * 3", []string{"2 |* ARITHMETIC_BASE"}, ""},
		"token of no operator": {"return a == b", []string{"|return INVERT_LOGICAL"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			end := ""
			if strings.HasSuffix(test.line, "{") {
				end = "\n}"
			}
			source := "package p\n\nfunc f() {\n" + test.line + end + "\n}\n"
			mutations := map[int]mutation{}
			for i, token := range test.tokens {
				place, kind, _ := cutLast(token)
				before, token, _ := strings.Cut(place, "|")
				mutations[i+1] = mutation{line: 4, column: strings.Index(test.line, before+token) + len(before) + 1, kind: kind}
			}
			s, err := sitesOf(source, mutations)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if s.contains(1) {
					t.Errorf("it is switched: %s", s.all("m"))
				}
				return
			}
			want := "package p; import \"m/mutant\"\n\nfunc f() {\n" + test.want + end + "\n}\n"
			if got := s.all("m"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func cutLast(text string) (before, after string, found bool) {
	index := strings.LastIndex(text, " ")
	return text[:index], text[index+1:], index >= 0
}
