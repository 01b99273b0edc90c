package analyze_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/cli/analyze"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
)

// exported is a sweep of the design Interleaved on Ceph 20.2.4: 4 KiB reads of an image, with
// osd_client_message_cap 1 against 256.
const exported = "../testdata/exports/message-cap.yaml"

func analyzed(t *testing.T, line string) clitest.Outcome {
	t.Helper()
	return clitest.Execute(t, analyze.NewCommand(), line, "")
}

// edited returns the export with a change.
func edited(t *testing.T, old, replacement string) string {
	t.Helper()
	text, err := os.ReadFile(exported)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("the export has no %q", old)
	}
	path := filepath.Join(t.TempDir(), "edited.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnExportGivesItsVerdictAgain(t *testing.T) {
	got := analyzed(t, exported)
	for _, want := range []string{"agrees with the ledger", "Inferior", "message_cap=1 is Inferior on this pool, in this hour"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got.Err != nil {
		t.Error(got.Err)
	}
}

func TestOtherExportsAreRefusedWithAdvice(t *testing.T) {
	for _, line := range []string{"../testdata/exports/gate.yaml", exported + " " + exported, "--baseline " + exported + " --candidate " + exported} {
		got := analyzed(t, line)
		if got.Code() != exit.Usage || !strings.Contains(fmt.Sprint(got.Err), "kubectl cephtune compare with two of them") {
			t.Errorf("%s: %v", line, got.Err)
		}
	}
}

// The session of the demonstration has two candidates: one is slower, and one has no effect.
func TestAnExportOfTwoCandidates(t *testing.T) {
	got := analyzed(t, "../testdata/exports/switched.yaml")
	for _, want := range []string{"message_cap=1    8       0.570  Valid   agrees with the ledger", "message_cap=512  0.994  0.862 to 1.146  Inconclusive"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got.Err != nil {
		t.Error(got.Err)
	}
}

// Each of these sweeps ran on Ceph 20.2.4: a profile of mClock whose effect was not found, a loss that unseen stalls could explain, and an option
// of a pool.
func TestExportsOfOtherSweeps(t *testing.T) {
	for name, want := range map[string]string{
		"small":     "0.902  0.822 to 0.989  Inconclusive",
		"profiles":  "0.995  0.667 to 1.483  Inconclusive",
		"fast-read": "0.733  0.584 to 0.919  Inferior",
	} {
		if got := analyzed(t, "../testdata/exports/"+name+".yaml"); got.Err != nil || !strings.Contains(got.Stdout, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// Sessions that were judged by other rules are not judged again.
func TestAnExportOfOtherRules(t *testing.T) {
	for _, name := range []string{"held", "alike-writes", "alike-reads"} {
		got := analyzed(t, "../testdata/exports/"+name+".yaml")
		if got.Code() != exit.Failure || !strings.Contains(got.String(), "was judged by rules of version 4, and this program has version 5") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAnExportAsJSON(t *testing.T) {
	got := analyzed(t, exported+" -o json")
	var out struct {
		Verdict  string
		Agrees   bool
		Sessions []struct {
			Evidence string
			Ratios   []struct{ Ratio float64 }
		}
	}
	if err := json.Unmarshal([]byte(got.Stdout), &out); err != nil {
		t.Fatal(err, got)
	}
	if out.Verdict != "Inferior" || !out.Agrees || len(out.Sessions) != 1 || out.Sessions[0].Evidence != "Kept" || !(out.Sessions[0].Ratios[0].Ratio < 0.9) {
		t.Errorf("got %+v", out)
	}
}

func TestAnExportThatWasChanged(t *testing.T) {
	for name, c := range map[string]struct {
		old, replacement string
		code             int
		want             string
	}{
		"another verdict":    {"\n  verdict: Inferior", "\n  verdict: Superior", exit.Failure, "differs from the sweep's status"},
		"another ledger":     {" -0.605616 ", " -0.790756 ", exit.Failure, "DIFFERS from the ledger"},
		"another sweep's":    {"kind: ConfigMap", "kind: Secret", 0, "missing: figures of the ledger"},
		"windows of more":    {"session.json.gz: ", "session.json.gz: AAAA", exit.Failure, "archive"},
		"not of that design": {"datasetSize: 816Mi\n    design: Interleaved", "datasetSize: 816Mi\n    design: Blocks", exit.Failure, "only a CephTuningSweep with the design Interleaved"},
	} {
		t.Run(name, func(t *testing.T) {
			got := analyzed(t, edited(t, c.old, c.replacement))
			if got.Code() != c.code || !strings.Contains(strings.Join(strings.Fields(got.String()), " "), c.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got.Code(), c.code, c.want, got)
			}
		})
	}
}

func TestAnExportMeetsExpectations(t *testing.T) {
	if got := analyzed(t, exported+" --expect Inferior"); got.Code() != 0 {
		t.Errorf("exit code %d: %v", got.Code(), got.Err)
	}
	for _, flag := range []string{"--metric iops", "--confidence 0.9", "--paired"} {
		if got := analyzed(t, exported+" "+flag); got.Code() != exit.Usage {
			t.Errorf("%s: exit code %d", flag, got.Code())
		}
	}
	if got := analyzed(t, exported+" --expect Superior"); got.Code() != exit.Unexpected {
		t.Errorf("exit code %d: %v", got.Code(), got.Err)
	}
}
