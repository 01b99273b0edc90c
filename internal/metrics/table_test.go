package metrics

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/testing/constants"
)

func TestEveryNameIsDescribedOnce(t *testing.T) {
	described := map[string]int{}
	for _, group := range Table() {
		for _, d := range group.Descriptions {
			described[d.Name]++
			if d.Help == "" || d.Example == "" || d.Answers == "" || !strings.Contains(d.Example, d.Name) {
				t.Errorf("%s: help %q, example %q, which answers %q", d.Name, d.Help, d.Example, d.Answers)
			}
			if got, found := Describe(d.Name); !found || got.Help != d.Help {
				t.Errorf("Describe(%s) gives %v, %t", d.Name, got, found)
			}
		}
	}
	names := 0
	for _, c := range constants.Of(t, "names.go") {
		if !strings.HasPrefix(c.Value, "cephtune_") {
			continue
		}
		if names++; described[c.Value] != 1 {
			t.Errorf("%s is described %d times", c.Name, described[c.Value])
		}
	}
	if names != len(described) {
		t.Errorf("%d names and %d descriptions", names, len(described))
	}
}

func TestEveryLabelIsUsedAndExplained(t *testing.T) {
	used := map[string]bool{}
	for _, group := range Table() {
		for _, d := range group.Descriptions {
			for _, label := range d.Labels {
				used[label] = true
			}
		}
	}
	page, err := os.ReadFile(filepath.Join("reference", "page.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range constants.Of(t, "names.go") {
		if strings.HasPrefix(c.Name, "Label") && (!used[c.Value] || !strings.Contains(string(page), "\n| `"+c.Value+"` | ")) {
			t.Errorf("%s is used: %t; page.md.tmpl has to explain it", c.Name, used[c.Value])
		}
	}
	if explained := strings.Count(string(page), "\n| `"); explained != len(used) {
		t.Errorf("%d labels are used and %d explained", len(used), explained)
	}
}

// If two descriptions shared a slice, appending to one would change the other.
func TestLabelsDiffer(t *testing.T) {
	for _, group := range Table() {
		for _, d := range group.Descriptions {
			if sorted := slices.Compact(slices.Sorted(slices.Values(d.Labels))); len(sorted) != len(d.Labels) {
				t.Errorf("%s has a label twice: %v", d.Name, d.Labels)
			}
		}
	}
	if d, _ := Describe(BenchmarkIOPS); slices.Contains(d.Labels, LabelStatistic) {
		t.Errorf("%s has the label of latencies: %v", d.Name, d.Labels)
	}
}

func TestDescribeKnowsNoOthers(t *testing.T) {
	if d, found := Describe("cephtune_nothing"); found {
		t.Errorf("it found %v", d)
	}
}

// The modules of dashboards and alerts import this package and the one that reads constants. They
// should not get the operator's dependencies through them.
func TestNothingOfOthersIsImported(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	files = append(files, "../testing/constants/constants.go")
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if strings.Contains(i.Path.Value, ".") && !strings.HasSuffix(i.Path.Value, `/internal/testing/constants"`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}
