package docs_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const api = "api/v1alpha1"

// TestWordsAreExplained checks that the page explains exactly the words that the code can print.
func TestWordsAreExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		page, heading string
		want          []string
	}{
		"conditions":         {"docs/troubleshooting.md", "Conditions", withPrefix(t, api, "Condition")},
		"events":             {"docs/troubleshooting.md", "Events", eventWords(t)},
		"failures of tools":  {"docs/failures.md", "PhaseFailed", slices.Concat(ofType(t, "internal/task", "FailureReason"), ofType(t, "internal/engine/parse", "Reason"))},
		"obstacles":          {"docs/disturbances.md", "Before a run", obstacles(t)},
		"disturbances":       {"docs/disturbances.md", "During a phase", ofType(t, "internal/quiescence", "Kind")},
		"verdicts of sweeps": {"docs/reading-a-verdict.md", "Of a sweep", ofType(t, api, "SweepVerdict")},
		"verdicts, by rule":  {"docs/statistics.md", "The method", ofType(t, "internal/stats", "Verdict")},
		"verdicts of gates":  {"docs/reading-a-verdict.md", "Of a benchmark", ofType(t, api, "BenchmarkVerdict")},
		"reasons of verdicts": {
			"docs/reading-a-verdict.md", "The table",
			slices.Concat(ofType(t, "internal/stats", "ReasonCode"), ofType(t, "internal/sweepspec", "windowsReason"), []string{"CandidateBeaten", "ConstraintBroken"}),
		},
		"marks":             {"docs/reading-a-verdict.md", "Marks", ofType(t, api, "ResultMark")},
		"invalid trials":    {"docs/sweeps-reference.md", "When a trial is invalid", ofType(t, api, "TrialReason")},
		"kinds of settings": {"docs/safety.md", "By hand", ofType(t, "internal/tuning", "Kind")},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(tc.want)
			got := readPage(t, tc.page).words(t, tc.heading)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, under %q (-what the code says +what the page has):\n%s", tc.page, tc.heading, diff)
			}
		})
	}
}
