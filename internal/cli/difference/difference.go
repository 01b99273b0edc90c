// Package difference sorts differences between two sides into those that the user expects and all others. The
// flag --expect-difference means the same wherever sides are compared.
package difference

import (
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// Expectation is a difference that the user expects.
type Expectation struct {
	Name string
	// Matches reports whether a line describes the expected difference.
	Matches func(line string) bool
}

// Difference is one line about one difference.
type Difference struct {
	Text     string `json:"text"`
	Expected bool   `json:"expected"`
}

// Sort marks the lines that are expected. It also returns the names of expectations that no line meets.
func Sort(lines []string, expect []Expectation) (found []Difference, missing []string) {
	met := map[string]bool{}
	for _, line := range lines {
		d := Difference{Text: line}
		for _, e := range expect {
			if e.Matches(line) {
				d.Expected, met[e.Name] = true, true
			}
		}
		found = append(found, d)
	}
	for _, e := range expect {
		if !met[e.Name] {
			missing = append(missing, e.Name)
		}
	}
	return found, missing
}

// Any reports whether a difference is not expected.
func Any(found []Difference) bool {
	return slices.ContainsFunc(found, func(d Difference) bool { return !d.Expected })
}

// Check returns an error with the exit code for an unexpected difference, or for an expected one that is
// missing: the change that the user wants to compare did not happen.
func Check(found []Difference, missing []string) error {
	unexpected := 0
	for _, d := range found {
		if !d.Expected {
			unexpected++
		}
	}
	switch {
	case unexpected > 0:
		return exit.UnexpectedErrorf("they cannot be compared; unexpected differences: %d of %d; see --expect-difference", unexpected, len(found))
	case len(missing) > 0:
		return exit.UnexpectedErrorf("expected differences are missing: %s", strings.Join(missing, ", "))
	}
	return nil
}
