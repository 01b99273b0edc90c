package cephtuningsweep

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/stages"
	"github.com/cephtune/cephtune/internal/testing/storm"
)

const (
	// samenessFile has the behaviour that a rebuild must keep: the decisions in the stories of the storm, and those
	// for each prefix of each ledger. renamedFile has the words that were renamed since, as "old new".
	samenessFile = "testdata/sameness.txt"
	renamedFile  = "testdata/renamed.txt"
	// sameStories is the number of stories that are compared.
	sameStories = 12
)

// TestSameness compares decisions and verdicts with the recorded ones. UPDATE_GOLDEN=1 records them.
func TestSameness(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	var now []string
	kinds := memapi.CompileKinds(t, apiserver.Root(t))
	plot := stormPlot(func(t *testing.T) storm.Server { return storm.InMemory(t, kinds) })
	for seed := range uint64(sameStories) {
		now = append(now, fmt.Sprintf("# story %d", seed+1))
		now = append(now, decisionsIn(plot.Course(t, seed+1))...)
	}
	now = append(now, archivedLedgers(t)...)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(samenessFile, []byte(compressed(now)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(samenessFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(renamed(t, expanded(string(text))), now); diff != "" {
		t.Errorf("decisions differ from the recorded ones (-recorded +now); if a word was renamed, add it to %s:\n%s", renamedFile, diff)
	}
}

// decided matches a logged decision about an object. Run IDs are drawn, and messages are no decisions.
var decided = regexp.MustCompile(`"object"="([^"]*)".* "rule"="(\w*)" "step"="(\w*)" "detail"="([^"]*)" "reason"="(\w*)"`)

// decisionsIn returns the decisions about each object of a story in their order, and then the ledgers. The order between
// objects is that of goroutines.
func decisionsIn(course []string) (lines []string) {
	byObject := map[string][]string{}
	var ledgers []string
	for _, line := range course {
		switch {
		case strings.Contains(line, `"Decided"`):
			found := decided.FindStringSubmatch(line)
			byObject[found[1]] = append(byObject[found[1]], strings.TrimSpace(strings.Join(found[2:], " ")))
		case strings.HasPrefix(line, "prefix "):
			ledgers = append(ledgers, line)
		}
	}
	for _, object := range slices.Sorted(maps.Keys(byObject)) {
		lines = append(lines, byObject[object]...)
	}
	return append(lines, ledgers...)
}

// archivedLedgers returns the decisions for the sweeps in the folder with the stages of sweeps, and for those that were
// exported after they had run on real clusters.
func archivedLedgers(t *testing.T) (lines []string) {
	t.Helper()
	for _, folder := range []string{stages.Dir(t, "CephTuningSweep"), filepath.Join(apiserver.Root(t), "internal", "cli", "testdata", "exports")} {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files in %s, %v", len(files), folder, err)
		}
		for _, file := range files {
			for _, s := range sweepsIn(t, file) {
				lines = append(lines, "# archived "+filepath.Base(file))
				lines = append(lines, prefixes(s)...)
			}
		}
	}
	return lines
}

// sweepsIn returns the sweeps in a file with YAML documents.
func sweepsIn(t *testing.T, file string) (sweeps []*v1alpha1.CephTuningSweep) {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close() //nolint:errcheck // The file was only read.
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(text)); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return sweeps
		}
		s := &v1alpha1.CephTuningSweep{}
		if err := errors.Join(err, yaml.Unmarshal(document, &s.TypeMeta)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if s.Kind != "CephTuningSweep" {
			continue
		}
		if err := yaml.Unmarshal(document, s); err != nil { // An earlier version may have written it, with other fields.
			t.Fatalf("%s: %v", file, err)
		}
		sweeps = append(sweeps, s)
	}
}

// prefixes returns the decision of the planner after each prefix of a sweep's ledger, and its verdict at the end.
func prefixes(s *v1alpha1.CephTuningSweep) (lines []string) {
	if s.Status.Plan == nil || s.Status.Plan.Seed == nil {
		return nil
	}
	trials, runs := s.Status.Trials, s.Status.Runs // Archived sweeps have runs, as earlier versions wrote them.
	for n := range max(len(trials), len(runs)) + 1 {
		seen := facts{sweep: s.DeepCopy()}
		seen.sweep.Status.Trials, seen.sweep.Status.Runs = trials[:min(n, len(trials))], runs[:min(n, len(runs))]
		seen.observePlan()
		line := fmt.Sprintf("prefix %d %s", n, seen.next.Action)
		if seen.planErr != nil {
			line += " error"
		} else if seen.design != nil {
			line += " " + seen.configuration().Name
		}
		lines = append(lines, line)
	}
	return append(lines, strings.TrimSpace(fmt.Sprintf("prefix verdict %s %s", s.Status.Verdict, s.Status.Best)))
}

// compressed returns lines with a dictionary: first each distinct line, then the numbers of the lines in order. A line
// with # begins a new line of numbers.
func compressed(lines []string) string {
	var words, numbers []string
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			numbers = append(numbers, "\n"+line+"\n")
			continue
		}
		index := slices.Index(words, line)
		if index < 0 {
			index = len(words)
			words = append(words, line)
		}
		numbers = append(numbers, fmt.Sprint(index))
	}
	return strings.Join(words, "\n") + "\n---" + strings.ReplaceAll(strings.Join(numbers, " "), "\n ", "\n") + "\n"
}

// expanded is the inverse of compressed.
func expanded(text string) (lines []string) {
	dictionary, rest, _ := strings.Cut(text, "\n---")
	words := strings.Split(dictionary, "\n")
	for line := range strings.SplitSeq(rest, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			lines = append(lines, line)
			continue
		}
		for number := range strings.FieldsSeq(line) {
			index := 0
			if _, err := fmt.Sscan(number, &index); err == nil && index < len(words) {
				lines = append(lines, words[index])
			}
		}
	}
	return lines
}

// renamed returns recorded lines with the words of today.
func renamed(t *testing.T, lines []string) []string {
	t.Helper()
	file, err := os.Open(renamedFile)
	if errors.Is(err, os.ErrNotExist) {
		return lines
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // The file was only read.
	words := map[string]string{}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if old, now, both := strings.Cut(strings.TrimSpace(scanner.Text()), " "); both && !strings.HasPrefix(old, "#") {
			words[old] = now
		}
	}
	for i, line := range lines {
		fields := strings.Split(line, " ")
		for index, word := range fields {
			if now, ok := words[word]; ok {
				fields[index] = now
			}
		}
		lines[i] = strings.Join(fields, " ")
	}
	return lines
}
