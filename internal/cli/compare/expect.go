package compare

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/cli/exit"
)

// expectation is a difference that the user expects.
type expectation = difference.Expectation

// kinds returns the kinds of differences that --expect-difference accepts, which the help describes. A test checks that they
// cover every field of an environment.
func kinds() (all []expectation) {
	for _, k := range []struct{ name, lines string }{
		{"cluster", `^cluster:`},
		{"ceph-version", `^Ceph version:`},
		{"rook-version", `^Rook version:`},
		{"kubernetes-version", `^Kubernetes version:`},
		{"kernels", `^kernel `},
		{"osds", `^OSDs of |^config osd\.[0-9]+ osd_mclock_max_capacity_iops_`},
		{"pools", `^pool `},
		{"config", `^config `},
		{"initial-state", `^initial state |^OSD caches `},
		{"images", `^image `},
		{"nodes", `^node `},
		{"phases", `^phase `},
		{"background-load", `^background:`},
	} {
		all = append(all, expectation{Name: k.name, Matches: regexp.MustCompile(k.lines).MatchString})
	}
	return all
}

func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Sort marks the lines that are of some kinds of differences, by the names that --expect-difference accepts. It also returns the
// names of which there is no line.
func Sort(lines, names []string) (found []difference.Difference, missing []string, err error) {
	expect, err := expectations(names, nil)
	if err == nil {
		found, missing = difference.Sort(lines, expect)
	}
	return found, missing, err
}

// expectations parses --expect-difference (names of kinds) and --expect (beginnings of lines).
func expectations(names, beginnings []string) ([]expectation, error) {
	var all []expectation
	for _, name := range names {
		index := slices.IndexFunc(kinds(), func(k expectation) bool { return k.Name == name })
		if index < 0 {
			return nil, exit.UsageErrorf("--expect-difference %q: want some of %s", name, strings.Join(kindNames(), ", "))
		}
		all = append(all, kinds()[index])
	}
	for _, beginning := range beginnings {
		if beginning == "" {
			return nil, exit.UsageErrorf("--expect is empty: name what differs, such as \"Ceph version\"")
		}
		all = append(all, expectation{Name: beginning, Matches: func(line string) bool { return strings.HasPrefix(line, beginning) }})
	}
	return all, nil
}

// expected reports whether a line describes an expected difference.
func expected(line string, expect []expectation) bool {
	return slices.ContainsFunc(expect, func(e expectation) bool { return e.Matches(line) })
}
