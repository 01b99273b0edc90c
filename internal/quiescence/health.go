// Package quiescence judges the state of a Ceph cluster: whether it can be measured now, what disturbed a
// measurement, and whether two measurements were made in the same environment. It decides only from the
// observations that callers pass.
package quiescence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// healthError is Ceph's worst health status.
const healthError = "HEALTH_ERR"

// flagsCode is the code of Ceph's warning about flags.
const flagsCode = "OSDMAP_FLAGS"

// AllowedWarnings returns health codes that do not concern performance, and are allowed before and during every
// run: as warnings, but not as errors (see keyErrors). A star matches any ending.
func AllowedWarnings() []string {
	return []string{"AUTH_INSECURE_*", "MON_DISK_LOW", "PG_NOT_DEEP_SCRUBBED", "PG_NOT_SCRUBBED"}
}

// keyErrors returns the errors that remain after an upgrade to Ceph 20 until all keys are
// rotated. They do not concern data or performance.
func keyErrors() []string {
	return []string{"AUTH_INSECURE_SERVICE_KEY_TYPE", "AUTH_INSECURE_SERVICE_TICKETS"}
}

// muteKeyErrors says how an administrator allows runs with old keys; "" without errors, or if any of them is
// not one of keyErrors.
// cephtune cannot allow such runs itself: while Ceph is in HEALTH_ERR, Rook neither creates nor removes a
// pool.
func muteKeyErrors(errors []ceph.HealthCheck) string {
	mutes := make([]string, 0, len(errors))
	for _, check := range errors {
		if !slices.Contains(keyErrors(), check.Code) {
			return ""
		}
		mutes = append(mutes, fmt.Sprintf("`ceph health mute %s`", check.Code))
	}
	if len(mutes) == 0 {
		return ""
	}
	slices.Sort(mutes)
	return "let an administrator allow runs until then: " + strings.Join(mutes, " and ")
}

// OldWarnings returns health codes about past events. They are allowed if they existed before
// the run; a new one reports an event during the run.
func OldWarnings() []string {
	return []string{"BLUESTORE_SLOW_OP_ALERT", "RECENT_CRASH"}
}

// warnings returns the health checks, except those that are muted, allowed, expected, or only about the
// flags that pause scrubs.
func warnings(h ceph.Health, allowed []string, expected []Expectation) []ceph.HealthCheck {
	return slices.DeleteFunc(slices.Clone(h.Checks), func(check ceph.HealthCheck) bool {
		return check.Muted || matches(check.Code, allowed) || isScrubFlags(check) ||
			slices.ContainsFunc(expected, func(e Expectation) bool { return e.explains(check) })
	})
}

// allowances returns the codes that are allowed by default, by the spec, and by any further lists.
func allowances(spec v1alpha1.Quiescence, others ...[]string) []string {
	allowed := AllowedWarnings()
	for _, code := range spec.AllowedWarnings {
		allowed = append(allowed, string(code))
	}
	return append(allowed, slices.Concat(others...)...)
}

func matches(code string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		beginning, open := strings.CutSuffix(pattern, "*")
		return pattern == code || open && strings.HasPrefix(code, beginning)
	})
}

// isScrubFlags reports whether a warning is only about the flags that pause scrubs, as in
// "noscrub,nodeep-scrub flag(s) set".
func isScrubFlags(check ceph.HealthCheck) bool {
	names, found := strings.CutSuffix(check.Summary, " flag(s) set")
	return check.Code == flagsCode && found && len(withoutScrubFlags(strings.Split(names, ","))) == 0
}

// withoutScrubFlags drops the flags that pause scrubs, because they make a cluster quieter.
func withoutScrubFlags(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		return flag == "noscrub" || flag == "nodeep-scrub"
	})
}

// describe lists checks as "CODE (summary)".
func describe(checks []ceph.HealthCheck) string {
	texts := make([]string, 0, len(checks))
	for _, check := range checks {
		texts = append(texts, fmt.Sprintf("%s (%s)", check.Code, check.Summary))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
