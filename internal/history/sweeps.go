package history

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// plain matches values that a shell and the subcommand sweep take as they are. The latter separates values by commas.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/+-]*$`)

// sweeps returns the commands that would test the settings that differ between two environments: for OSDs, and for scratch
// pools. An option of a single OSD, and a value that a shell could misread, have none.
func sweeps(namespace string, a, b quiescence.Detail) (commands []string) {
	add := func(name, before, after, flags string) {
		before, after = cmp.Or(before, string(v1alpha1.Unset)), cmp.Or(after, string(v1alpha1.Unset))
		settings := fmt.Sprintf("%s=%s --baseline %s=%s%s", name, before, name, after, flags)
		if command := sweepspec.Command(namespace, settings); before != after && plain.MatchString(before) && plain.MatchString(after) && !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	was, is := osdOptions(a), osdOptions(b)
	for _, key := range sortedKeys(was, is) {
		name, mask, _ := strings.Cut(key, " ")
		if mask != "" {
			mask = " --mask " + mask
		}
		add(name, was[key], is[key], mask)
	}
	for _, pool := range b.Pools {
		if old := ceph.PoolNamed(a.Pools, pool.Name); old != nil && old.Type == pool.Type {
			addPool(add, *old, pool)
		}
	}
	return commands
}

// addPool adds the settings of a pool that differ.
func addPool(add func(name, before, after, flags string), old, pool ceph.Pool) {
	number := func(n int) string { return fmt.Sprint(n) }
	add("pg_num", number(old.PGNum), number(pool.PGNum), "")
	if old.ErasureCodeProfile == "" && pool.ErasureCodeProfile == "" {
		add("redundancy", number(old.Size), number(pool.Size), "")
	}
	for _, name := range sortedKeys(old.Options, pool.Options) {
		if slices.Contains(sweepspec.PoolOptions(), name) {
			add(name, old.Options[name], pool.Options[name], "")
		}
	}
}

// osdOptions returns the options of all OSDs, or of those of a mask that a sweep knows, which follows after a space.
func osdOptions(d quiescence.Detail) map[string]string {
	options := map[string]string{}
	for _, e := range d.Config {
		masked := strings.HasPrefix(e.Mask, "class:") || strings.HasPrefix(e.Mask, "host:")
		if e.Section == "osd" && sweepspec.IsOSDOption(e.Name) && (e.Mask == "" || masked && plain.MatchString(e.Mask)) {
			options[strings.TrimSpace(e.Name+" "+e.Mask)] = e.Value
		}
	}
	return options
}

func sortedKeys(a, b map[string]string) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
