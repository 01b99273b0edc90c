// Package quiescence judges the state of a Ceph cluster: whether it is fit to be
// measured, what disturbed it while it was, and whether two measurements were made
// in the same environment. It is pure: what is known of the cluster comes in, and
// decisions come out.
package quiescence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// healthError is the worst that Ceph says of itself.
const healthError = "HEALTH_ERR"

// flagsCode is the warning that Ceph makes of flags.
const flagsCode = "OSDMAP_FLAGS"

// AllowedWarnings are health codes that say nothing about speed, and are allowed
// before and during every run. A star stands for any ending.
func AllowedWarnings() []string {
	return []string{"AUTH_INSECURE_*", "MON_DISK_LOW", "PG_NOT_DEEP_SCRUBBED", "PG_NOT_SCRUBBED"}
}

// keyErrors are the errors that an upgrade to Ceph 20 leaves until all keys are rotated. They
// say nothing about data or speed.
func keyErrors() []string {
	return []string{"AUTH_INSECURE_SERVICE_KEY_TYPE", "AUTH_INSECURE_SERVICE_TICKETS"}
}

// muteKeyErrors says how an administrator allows a run with old keys, if no other errors
// exist; "" otherwise. Allowing it here would not be enough: Rook creates and removes no pool
// while Ceph is in HEALTH_ERR.
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
	return "as an administrator allow runs until then: " + strings.Join(mutes, " and ")
}

// OldWarnings are health codes about past events. They are allowed if they existed before the
// run; a new one reports an event during it.
func OldWarnings() []string {
	return []string{"BLUESTORE_SLOW_OP_ALERT", "RECENT_CRASH"}
}

// warnings are the checks of a health that are neither muted nor allowed, nor expected.
func warnings(h ceph.Health, allowed []string, expected []Expectation) []ceph.HealthCheck {
	return slices.DeleteFunc(slices.Clone(h.Checks), func(check ceph.HealthCheck) bool {
		return check.Muted || matches(check.Code, allowed) || isScrubFlags(check) ||
			slices.ContainsFunc(expected, func(e Expectation) bool { return e.explains(check) })
	})
}

// allowances are the codes allowed by default, by the spec, and by others.
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

// withoutScrubFlags leaves out the flags that make a cluster quieter.
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
