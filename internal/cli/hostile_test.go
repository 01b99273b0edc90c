package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/testing/judge"
)

// execute runs a command line, of which standard error and, unless it is for a file, standard output must be
// harmless to a terminal.
func execute(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Run(append([]string{"kubectl-cephtune"}, args...), &out, &errOut)
	for name, text := range map[string]string{"stdout": out.String(), "stderr": errOut.String()} {
		// Tabs are in scripts for completion, in YAML, and in the code of a report.
		if err := judge.Terminal(strings.ReplaceAll(text, "\t", " ")); err != nil {
			t.Errorf("%.200q: %s: %v", args, name, err)
		}
		if strings.Count("\n"+text, "\nerror: ") > 1 || strings.Contains(text, "\nerror: forged") {
			t.Errorf("%.200q: a forged error on %s:\n%s", args, name, text)
		}
	}
	return out.String(), code
}

// elements returns the elements of the page that a text is, or describes.
func elements(t *testing.T, form, text string) []string {
	t.Helper()
	parse := judge.HTML
	if form == "markdown" {
		parse = judge.Markdown
	}
	page, err := parse([]byte(text))
	if err != nil {
		t.Errorf("%s: %v in\n%.3000s", form, err, text)
	}
	return page.Elements
}

func TestNamesInATableAreData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table.csv")
	analyze := func(form, data string) (string, int) {
		var table bytes.Buffer
		w := csv.NewWriter(&table)
		rows := [][]string{{"config", "block", "n", "<b>" + data}}
		for _, n := range []string{"1", "2", "3"} {
			rows = append(rows, []string{"old", "b" + data, "100" + n, "r" + n}, []string{"n" + data, "b" + data, "101" + n, "r1"})
		}
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, table.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return execute(t, "analyze", "--table", file, "--configuration", "config", "--value", "n", "--baseline", "old", "-o", form, "--expect", "Superior")
	}
	harmless, _ := analyze("markdown", "x")
	want := elements(t, "markdown", harmless)
	for _, data := range judge.Hostile() {
		for _, form := range outputsOfAnalyze {
			got, code := analyze(form, data)
			if code != 3 {
				t.Errorf("%q: exit code %d", data, code)
			}
			if form == "json" && !json.Valid([]byte(got)) {
				t.Errorf("%q: no JSON: %s", data, got)
			}
			if form != "markdown" {
				continue
			}
			if found := elements(t, form, got); !slices.Equal(found, want) {
				t.Errorf("%q: got %v, want %v", data, found, want)
			}
		}
	}
}

var outputsOfAnalyze = []string{"table", "json", "yaml", "markdown"}

// The name of a file, and an unknown line in it, are data in errors and in warnings.
func TestNamesOfFilesAreData(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(osds + "1osd-write.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"\x1b[31mred", "a\nerror: forged", "\u202etxt.exe", "\u009b2J", "<img src=x>", "[x](http:__evil.example)", "@user", "\xff"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, good, 0o600); err != nil {
			t.Fatal(err)
		}
		broken := filepath.Join(dir, string(rune('a'+i))+name)
		if err := os.WriteFile(broken, []byte("kind: Ceph"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, form := range outputsOfAnalyze {
			for _, line := range [][]string{{file}, {file, osds + "2osd-write.txt"}} {
				if _, code := execute(t, append(append([]string{"analyze"}, line...), "-o", form)...); code != 0 {
					t.Errorf("%q: exit code %d", line, code)
				}
			}
		}
		for _, line := range [][]string{
			{"analyze", broken},
			{"analyze", file, broken},
			{"analyze", "--table", broken, "--configuration", name, "--value", "v", "--baseline", name},
			{"report", "-f", broken},
			{"report", "-f", file + "/x"},
			{"compare", broken + ".yaml", broken + ".yaml"},
			{"compare", name, "--" + name},
			{"analyze", file, "--metric", name},
			{name},
			{"report", "-f", file, "--to", "x." + name},
		} {
			if _, code := execute(t, line...); code == 0 {
				t.Errorf("%q: exit code 0", line)
			}
		}
	}
}

// hostileExport writes a copy of an export in which status and names have a text of a stranger.
func hostileExport(t *testing.T, name, data string) string {
	t.Helper()
	text := readFile(t, filepath.Join("testdata", "exports", name))
	var out bytes.Buffer
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object == nil {
			continue // a comment
		}
		metadata, _ := object["metadata"].(map[string]any)
		if labels, _ := metadata["labels"].(map[string]any); labels[archive.LabelBenchmark] != nil {
			labels[archive.LabelBenchmark] = archive.Labels("n" + data)[archive.LabelBenchmark]
		}
		if object["kind"] != "ConfigMap" {
			metadata["name"] = "n" + data
			withData(object["status"], data)
		}
		encoded, err := medium.YAML(object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(encoded)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// withData appends data to all texts for people in a status.
func withData(status any, data string) {
	switch status := status.(type) {
	case map[string]any:
		for key, value := range status {
			if text, ok := value.(string); ok && slices.Contains([]string{"message", "summary", "headline", "cephVersion", "rookVersion", "fsid"}, key) || key == "reason" {
				status[key] = text + data
				continue
			}
			withData(value, data)
		}
	case []any:
		for _, value := range status {
			withData(value, data)
		}
	}
}

func TestTextsOfAnExportAreData(t *testing.T) {
	all := strings.ToValidUTF8(strings.Join(judge.Hostile(), " "), "")
	for _, data := range []string{all, "\nerror: forged\n"} {
		for _, name := range []string{"gate.yaml", "switched.yaml"} {
			// A summary has its reasons after the first line, so both have a second line.
			file, harmless := hostileExport(t, name, data), hostileExport(t, name, "\nx")
			for _, form := range []string{"html", "markdown", "csv"} {
				got, code := execute(t, "report", "-f", file, "-o", form)
				want, _ := execute(t, "report", "-f", harmless, "-o", form)
				if code != 0 || form != "csv" && !slices.Equal(elements(t, form, got), elements(t, form, want)) {
					t.Errorf("%.20q in %s as %s: exit code %d:\n%.3000s", data, name, form, code, got)
				}
			}
		}
		gate, other := hostileExport(t, "gate.yaml", data), hostileExport(t, "gate.yaml", "x")
		for _, form := range []string{"table", "markdown", "html", "json", "yaml"} {
			if _, code := execute(t, "compare", gate, other, "-o", form); code != 0 && code != 3 {
				t.Errorf("compare -o %s: exit code %d", form, code)
			}
		}
		for _, form := range []string{"table", "markdown"} {
			execute(t, "analyze", hostileExport(t, "switched.yaml", data), "-o", form)
		}
	}
}
