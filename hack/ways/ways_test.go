package main

import (
	"fmt"
	"strings"
	"testing"
)

// program has a file for each letter: the function ax calls those of its list.
func program() *graph {
	g := &graph{functions: map[string]function{"wrapper": {short: "wrapper"}}, callees: map[string][]string{
		"a1": {"b1", "c1"}, "b1": {"d1"}, "c1": {"c2"}, "c2": {"c3"}, "c3": {"wrapper"}, "wrapper": {"e1"}, "d1": {"f1"}, "f1": {"e1"},
		"e1": {"a1"},
	}}
	for name := range g.callees {
		if name != "wrapper" {
			g.functions[name] = function{short: name, file: name[:1] + ".go"}
		}
	}
	g.functions["g1"] = function{short: "g1", file: "g.go"}
	return g
}

func TestTheWayCrossesFewFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		chains [][]string
		want   string
	}{
		"more calls, but fewer files":     {[][]string{{"a1", "e1"}}, "a.go a1, c.go c1 c2 c3, e.go e1"},
		"through a named function":        {[][]string{{"a1", "d1", "e1"}}, "a.go a1, b.go b1, d.go d1, f.go f1, e.go e1"},
		"a file counts once":              {[][]string{{"c1", "c2"}, {"e1", "c3"}}, "c.go c1 c2 c3, e.go e1, a.go a1"},
		"a chain may begin where it ends": {[][]string{{"a1", "a1"}}, "a.go a1"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := way{name, tc.chains}.files(program())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range files {
				got = append(got, f.file+" "+strings.Join(f.functions, " "))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("got  %s\nwant %s", text, tc.want)
			}
		})
	}
}

func TestAWayThatDoesNotExist(t *testing.T) {
	for want, chain := range map[string][]string{
		"no function nowhere": {"a1", "nowhere"},
		"a1 does not call g1": {"a1", "g1"},
	} {
		if files, err := (way{"", [][]string{chain}}).files(program()); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, %v, want an error with %q", files, err, want)
		}
	}
}
