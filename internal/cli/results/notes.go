package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
)

// notes are what has to be known about the figures, one sentence each.
func notes(runs []*archive.Run) ([]string, error) {
	var lines []string
	for _, name := range phaseNames(runs) {
		lines = append(lines, phaseNotes(v1alpha1.PhaseName(name), runs)...)
	}
	differences, err := environmentNotes(runs)
	if err != nil {
		return nil, err
	}
	lines = append(lines, differences...)
	for _, run := range runs {
		if len(run.Dropped) > 0 {
			parts := make([]string, len(run.Dropped))
			for i, part := range run.Dropped {
				parts[i] = string(part)
			}
			lines = append(lines, fmt.Sprintf("run %d: left out because of its size: %s", run.Number, strings.Join(parts, ", ")))
		}
	}
	return lines, nil
}

// phaseNotes names each mark and each warning of a phase once, with the runs that it
// is about.
func phaseNotes(name v1alpha1.PhaseName, runs []*archive.Run) []string {
	var order []string
	about := map[string][]string{}
	note := func(run *archive.Run, text string) {
		number := strconv.Itoa(int(run.Number))
		if about[text] == nil {
			order = append(order, text)
		}
		if !slices.Contains(about[text], number) {
			about[text] = append(about[text], number)
		}
	}
	for _, run := range runs {
		for _, phase := range run.Phases {
			if phase.Name != name || phase.Observation == nil {
				continue
			}
			for _, mark := range phase.Observation.Marks {
				note(run, string(mark)+": "+meaning(mark))
			}
			if phase.Observation.Result != nil {
				for _, warning := range phase.Observation.Result.Warnings {
					note(run, string(warning.Code)+": "+warning.Message)
				}
			}
		}
	}
	lines := make([]string, len(order))
	for i, text := range order {
		which := "run " + about[text][0]
		if len(about[text]) > 1 {
			which = "runs " + strings.Join(about[text], ", ")
		}
		lines[i] = fmt.Sprintf("%s, %s: %s", name, which, text)
	}
	return lines
}

func meaning(mark v1alpha1.ResultMark) string {
	switch mark {
	case v1alpha1.MarkCached:
		return "the dataset fits into the caches of the OSDs"
	case v1alpha1.MarkClosedLoop:
		return "latencies were measured without an offered rate: who waits for the cluster asks for less while it is slow"
	case v1alpha1.MarkSharedImage:
		return "clients shared an image and its lock"
	case v1alpha1.MarkThrottled:
		return "a client was kept from running by its CPU limit: raise clients.resources.cpu"
	case v1alpha1.MarkNotSteady:
		return "the rate was still changing in the second half: raise ramp or duration"
	case v1alpha1.MarkDisturbed:
		return "something else went on in the cluster; see the disturbances with -o yaml"
	}
	return "unknown to this version"
}

// environmentNotes name what differs from the environment of the first run.
func environmentNotes(runs []*archive.Run) ([]string, error) {
	var lines []string
	var first map[string]string
	for _, run := range runs {
		flat, err := flatten(run.Environment)
		if err != nil {
			return nil, fmt.Errorf("run %d: environment: %w", run.Number, err)
		}
		if first == nil {
			first = flat
			continue
		}
		for _, path := range allKeys(first, flat) {
			if first[path] != flat[path] {
				lines = append(lines, fmt.Sprintf("run %d: environment differs from that of run %d: %s is %s, not %s",
					run.Number, runs[0].Number, path, orAbsent(flat[path]), orAbsent(first[path])))
			}
		}
	}
	return lines, nil
}

func allKeys(a, b map[string]string) []string {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

func orAbsent(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}

// flatten turns a document into its leaves by their paths, such as "osds[3].class".
func flatten(document json.RawMessage) (map[string]string, error) {
	leaves := map[string]string{}
	if len(document) == 0 {
		return leaves, nil
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // A float64 would make neighbours of long numbers the same.
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	addLeaves(leaves, "", tree)
	return leaves, nil
}

func addLeaves(leaves map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			addLeaves(leaves, strings.TrimPrefix(path+"."+key, "."), member)
		}
	case []any:
		for i, member := range v {
			addLeaves(leaves, fmt.Sprintf("%s[%d]", path, i), member)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v) // It came from JSON, so this does not happen.
		}
		leaves[path] = string(text)
	}
}
