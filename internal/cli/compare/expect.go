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

// kind is a kind of difference that --expect-difference accepts.
type kind struct {
	name string
	// description describes the kind in help.
	description string
	lines       *regexp.Regexp
}

// kinds returns all kinds. A test checks that they cover every field of an environment.
func kinds() []kind {
	return []kind{
		{"cluster", "another Ceph cluster", regexp.MustCompile(`^cluster:`)},
		{"ceph-version", "an upgrade of Ceph", regexp.MustCompile(`^Ceph version:`)},
		{"rook-version", "an upgrade of Rook", regexp.MustCompile(`^Rook version:`)},
		{
			"osds", "device classes, number and size of OSDs, for example after disks were replaced; the OSDs of the pool; the capacity that each OSD has measured",
			regexp.MustCompile(`^OSDs of |^config osd\.[0-9]+ osd_mclock_max_capacity_iops_`),
		},
		{"pools", "settings of the target's pools", regexp.MustCompile(`^pool `)},
		{"config", "Ceph's central configuration", regexp.MustCompile(`^config `)},
		{"initial-state", "initial state of the data, and of the OSDs' caches", regexp.MustCompile(`^initial state |^OSD caches `)},
		{"images", "images of the clients", regexp.MustCompile(`^image `)},
		{"nodes", "nodes of the clients and of the background load", regexp.MustCompile(`^node `)},
		{"phases", "specs of phases, clients, data and outage", regexp.MustCompile(`^phase `)},
		{"background-load", "the background load", regexp.MustCompile(`^background:`)},
	}
}

func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
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
		index := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name })
		if index < 0 {
			return nil, exit.UsageErrorf("--expect-difference %q: want some of %s", name, strings.Join(kindNames(), ", "))
		}
		all = append(all, expectation{Name: name, Matches: kinds()[index].lines.MatchString})
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
