package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestListingsClaimWhatTheCodeDoes checks the texts that people read before they install cephtune. Each sentence
// about a restore has to name its exception, and the number of OSDs that are asked is the one of the code. In
// Artifact Hub, the descriptions of kinds are those of the CRDs, which hack/chart compares.
func TestListingsClaimWhatTheCodeDoes(t *testing.T) {
	asked := match(t, "internal/tuning/prove.go", `(?m)^\tsomeOSDs = (\d+)$`)
	if every := match(t, "internal/tuning/prove.go", `(?m)^\teveryOSD = (\d+)$`); every != asked {
		t.Errorf("the code asks all of at most %s OSDs, but %s of more: the pages name one number", every, asked)
	}
	exception := regexp.MustCompile(`KeepBest|by default|that you ask it to keep`)
	for name, listing := range map[string]struct{ text, proof string }{
		"README.md":            {match(t, "README.md", `(?s)^# cephtune\n(.*?)\n## What it looks like`), "at most " + asked + " of them"},
		"README.md, the table": {match(t, "README.md", `(?s)\n## Compared with other tools\n(.*?)\n## `), "at most " + asked + " OSDs"},
		"docs/sweeps.md":       {section(t, "docs/sweeps.md", "## How settings are proven"), "or " + asked + " if more are up"},
		"Chart.yaml":           {match(t, "charts/cephtune/Chart.yaml", `(?m)^description: (.*)$`), ""},
		"CephBenchmark":        {described(t, "cephbenchmarks"), ""},
		"CephTuningSweep":      {described(t, "cephtuningsweeps"), ""},
	} {
		text := strings.Join(strings.Fields(listing.text), " ")
		if !strings.Contains(text, listing.proof) {
			t.Errorf("%s does not say that cephtune asks %q", name, listing.proof)
		}
		for _, sentence := range regexp.MustCompile(`[.;:|] `).Split(text, -1) {
			if regexp.MustCompile(`\brestores (the|your|every|all|them)`).MatchString(sentence) && !exception.MatchString(sentence) {
				t.Errorf("%s promises without the exception: %q", name, sentence)
			}
			if regexp.MustCompile(`(?i)\b(every|each|all) OSDs?\b`).MatchString(sentence) {
				t.Errorf("%s claims too much: %q", name, sentence)
			}
		}
	}
}

// described returns the description of a kind in its CRD.
func described(t *testing.T, plural string) string {
	t.Helper()
	return match(t, "config/crd/bases/cephtune.dev_"+plural+".yaml", `(?s)openAPIV3Schema:\n\s+description: (?:\|-\n)?(.*?)\n\s+properties:`)
}
