package loadfacts

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/result"
)

// Side is the loads of the runs of one configuration.
type Side struct {
	Name  string
	Loads []Load
}

// formatTerse is the format of fio's option --minimal.
const formatTerse = "fio-terse"

// The names of differences that are no options.
const (
	optionTool  = "tool"
	optionJobs  = "jobs"
	optionHosts = "hosts"
	optionSize  = "operation-size"
)

// Differences returns a line for each option in which loads differ: those of one side, and those of the two
// sides. Each line begins with the name of the option.
func Differences(a, b Side) []string {
	lines := append(Within(a), Within(b)...)
	lines = append(lines, a.Loads[0].differences(b.Loads[0], a.Name, b.Name, "")...)
	return append(lines, locationDifferences(a, b)...)
}

// Within returns a line for each option, and each of its values, in which a run of a side differs from the first
// run.
func Within(side Side) []string {
	var lines []string
	seen := map[string]bool{}
	first := side.Loads[0]
	for _, next := range side.Loads[1:] {
		for _, line := range first.differences(next, first.Source, next.Source, fmt.Sprintf(" (within %s)", side.Name)) {
			if value := strings.Replace(line, next.Source, "", 1); !seen[value] {
				seen[value] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Matches reports whether a line of Differences is about an option. The option may have any of its names.
func Matches(option, line string) bool {
	names := []string{option, cmp.Or(synonyms()[option], option)}
	switch option {
	case "buffered":
		names = append(names, "direct")
	case "rwmixwrite":
		names = append(names, "rwmixread")
	}
	return slices.ContainsFunc(names, func(name string) bool {
		rest, found := strings.CutPrefix(line, name)
		return found && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " of job "))
	})
}

// Notes says what the outputs do not tell: other versions of a tool, and options that a format does not carry.
func Notes(sides ...Side) []string {
	var notes []string
	note := func(format string, values ...any) {
		if text := fmt.Sprintf(format, values...); !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	first := sides[0].Loads[0]
	for _, side := range sides {
		for _, l := range side.Loads {
			if l.tool == first.tool && l.version != first.version {
				note("%s comes from %s and %s from %s", first.Source, cmp.Or(first.version, "an unknown version"), l.Source, cmp.Or(l.version, "an unknown version"))
			}
			if text := l.unknown(); text != "" {
				note("%s", text)
			}
		}
	}
	return notes
}

// unknown says which options the output does not carry; "" if it carries all.
func (l Load) unknown() string {
	i := slices.IndexFunc(l.jobs, func(j job) bool { return j.partial })
	switch {
	case l.format == formatTerse:
		return "terse output of fio has a line for each process, and says nothing about the load: lines of one run are processes whose figures add up, and count as runs here; use " +
			"--output-format=json+, or --group_reporting"
	case math.IsNaN(l.opBytes):
		return fmt.Sprintf("lines of %s say nothing about the load: whether the runs had the same one is unknown", l.tool)
	case len(l.jobs) == 0 || i < 0 && l.tool == result.ToolFIO:
		return ""
	case l.tool == result.ToolFIO && len(l.jobs[i].options) == 0:
		return l.format + " without job options: whether the runs had the same ones, or limits, is unknown"
	case l.tool == result.ToolFIO:
		return fmt.Sprintf("%s carries no job options except %s: whether others differ, or limit the figure, is unknown; use --output-format=json+",
			l.format, strings.Join(slices.Sorted(maps.Keys(l.jobs[i].options)), ", "))
	case l.tool == result.ToolRadosBench && l.reads:
		return l.unknownReads(l.jobs[i])
	}
	return ""
}

// unknownReads says what the output of reads of rados bench does not tell; "" if it tells all.
func (l Load) unknownReads(j job) string {
	var notes []string
	if j.options["cur_ops"].value != "" {
		notes = append(notes, "reads of rados bench do not print -t: the largest number of operations in flight (Cur ops) is compared")
	}
	if j.options["mode"].value == "" {
		notes = append(notes, "reads of rados bench do not print whether they are sequential (seq) or random (rand): whether all runs read alike is unknown, unless the file has their commands")
	}
	return strings.Join(notes, "; ")
}

// differences compares two loads. The names stand for the loads, and the end follows each line.
func (l Load) differences(other Load, name, otherName, end string) []string {
	line := func(option, value, otherValue string) string {
		return fmt.Sprintf("%s: %s in %s, %s in %s%s", option, value, name, otherValue, otherName, end)
	}
	if l.tool != other.tool {
		lines := []string{line(optionTool, string(l.tool), string(other.tool))}
		return append(lines, l.sizeDifference(other, line)...)
	}
	var lines []string
	if l.hosts != other.hosts {
		lines = append(lines, line(optionHosts, strconv.Itoa(l.hosts), strconv.Itoa(other.hosts)))
	}
	if len(l.jobs) != len(other.jobs) {
		return append(lines, line(optionJobs, strconv.Itoa(len(l.jobs)), strconv.Itoa(len(other.jobs))))
	}
	sized := false
	for i, pair := range pairs(l.jobs, other.jobs) {
		mine, theirs := pair[0], pair[1]
		suffix := ""
		if len(l.jobs) > 1 {
			suffix = fmt.Sprintf(" of job %s", cmp.Or(mine.name, strconv.Itoa(i+1)))
		}
		for _, option := range optionNames(mine, theirs) {
			value, otherValue, differ := mine.compare(theirs, option, l.tool)
			if differ {
				lines = append(lines, line(option+suffix, value, otherValue))
			}
		}
		sized = sized || mine.sized(l.tool) && theirs.sized(l.tool)
	}
	if !sized {
		lines = append(lines, l.sizeDifference(other, line)...)
	}
	return lines
}

// sizeDifference compares the measured sizes of operations.
func (l Load) sizeDifference(other Load, line func(option, value, otherValue string) string) []string {
	// An output that was not kept as a whole has no size.
	if ratio := l.opBytes / other.opBytes; math.IsNaN(ratio) || math.Abs(math.Log(ratio)) <= 0.01 {
		return nil
	}
	return []string{line(optionSize, fmt.Sprintf("%.0f bytes", l.opBytes), fmt.Sprintf("%.0f bytes", other.opBytes))}
}

// sized reports whether the options name the sizes of operations.
func (j job) sized(tool result.Tool) bool {
	for _, name := range []string{"bs", "bsrange", "bssplit", "io_size", "op_size"} {
		if _, ok := j.options[name]; ok && (tool == result.ToolFIO) == (name[0] == 'b') {
			return true
		}
	}
	return tool == result.ToolFIO && !j.partial
}

// pairs matches jobs by name if both outputs have the same names, each once, and otherwise by position.
func pairs(a, b []job) [][2]job {
	byName := map[string]job{}
	for _, j := range b {
		byName[j.name] = j
	}
	names := map[string]bool{}
	for _, j := range a {
		if _, ok := byName[j.name]; ok {
			names[j.name] = true
		}
	}
	out := make([][2]job, len(a))
	for i, j := range a {
		out[i] = [2]job{j, b[i]}
		if len(names) == len(a) {
			out[i][1] = byName[j.name]
		}
	}
	return out
}

func optionNames(a, b job) []string {
	all := maps.Clone(a.options)
	maps.Copy(all, b.options)
	for _, name := range Locations() {
		delete(all, name)
	}
	return slices.Sorted(maps.Keys(all))
}

// compare returns both values of an option as shown, and whether they differ. An option that may have been set,
// but is not in the output, does not differ.
func (j job) compare(other job, name string, tool result.Tool) (value, otherValue string, differ bool) {
	mine, there := j.options[name]
	theirs, otherThere := other.options[name]
	if !there && j.partial || !otherThere && other.partial {
		return "", "", false
	}
	if tool == result.ToolFIO {
		mine, theirs = withDefault(mine, there, name), withDefault(theirs, otherThere, name)
	}
	if name == "cur_ops" {
		a, b := number(j.options, name, 0), number(other.options, name, 0)
		return mine.shown, theirs.shown, math.Abs(a-b) > max(1, 0.1*max(a, b))
	}
	return mine.shown, theirs.shown, mine.value != theirs.value
}

func withDefault(o option, there bool, name string) option {
	if there {
		if o.shown == "" {
			o.shown = o.value
		}
		return o
	}
	value, known := defaults()[name]
	if !known {
		return option{value: "", shown: "absent"}
	}
	return option{value: value, shown: value + " (default)"}
}

// locationDifferences compares the data that both sides used.
func locationDifferences(a, b Side) []string {
	var lines []string
	for _, name := range Locations() {
		ofA, ofB := a.locations(name), b.locations(name)
		if len(ofA) == 0 || len(ofB) == 0 || namedByRun(name, ofA, ofB) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s in %s, %s in %s", name, ofA[0], a.Name, ofB[0], b.Name))
	}
	return lines
}

// locations returns the value of an option in each run; nil if the outputs do not carry the option.
func (s Side) locations(name string) []string {
	var all []string
	for _, l := range s.Loads {
		var values []string
		for _, j := range l.jobs {
			o, ok := j.options[name]
			if !ok && j.partial {
				return nil
			}
			values = append(values, cmp.Or(o.shown, "absent"))
		}
		slices.Sort(values)
		all = append(all, strings.Join(slices.Compact(values), ", "))
	}
	return all
}

// namedByRun reports whether the names of data say nothing but the run: both sides share a name, each run has a
// name of its own, or the names of runs differ only in a number. Numbers of pools and devices count.
func namedByRun(option string, a, b []string) bool {
	varyA, varyB := distinct(a), distinct(b)
	switch {
	case overlap(a, b), len(a) > 1 && varyA == len(a) && len(b) > 1 && varyB == len(b):
		return true
	case option == "pool", len(a) > 1 && varyA == 1 && len(b) > 1 && varyB == 1:
		return false // Each side has one place, which is part of the comparison.
	}
	return overlap(withoutNumbers(a), withoutNumbers(b))
}

func distinct(names []string) int {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted))
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

func withoutNumbers(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if !strings.Contains(name, "/dev/") {
			out[i] = regexp.MustCompile(`[0-9]+`).ReplaceAllString(name, "#")
		}
	}
	return out
}
