// Package loadfacts says what outputs of engines tell about the load that they measured: in which options two
// outputs differ, whether a figure can show the storage at all, and how many waits a run at a fixed rate hides.
package loadfacts

import (
	"maps"
	"strconv"

	"github.com/cephtune/cephtune/internal/result"
)

// Load is what one output says about its load.
type Load struct {
	// Source is the output's file, or its file and line.
	Source string

	tool    result.Tool
	version string
	format  string
	hosts   int
	jobs    []job
	syncs   bool    // whether the output has latencies of syncs
	reads   bool    // whether all operations are reads
	opBytes float64 // the mean size of an operation
}

// job is the load of equal jobs of fio, or of another tool.
type job struct {
	name string
	// options have one name and one form for each option and value, whatever the output calls them.
	options map[string]option
	// partial says that an absent option may have been set.
	partial bool
	// processes is the number of processes with these options.
	processes int
}

// option is the value of an option.
type option struct {
	value string // in the form that is compared
	shown string // as the output has it
}

// New returns the load of an output.
func New(source string, res *result.Result) Load {
	l := Load{
		Source: source, tool: res.Source.Tool, version: res.Source.ToolVersion, format: res.Source.Format,
		hosts: res.Clients, syncs: res.SyncLatency != nil, opBytes: bytesPerOperation(res),
	}
	ds := res.Directions()
	l.reads = len(ds) == 1 && ds[0].Name == result.Read
	for _, reported := range res.Jobs {
		l.add(reported)
	}
	l.finish()
	return l
}

func bytesPerOperation(res *result.Result) float64 {
	var bytes, operations int64
	for _, d := range res.Directions() {
		bytes += d.Bytes
		operations += d.Operations
	}
	return float64(bytes) / float64(operations)
}

// add adds the entry of a job. The entries of processes with one name and the same options are one job.
func (l *Load) add(reported result.Job) {
	options := plain(reported.Options)
	if l.tool == result.ToolFIO {
		options = canonical(reported.Global, reported.Options)
	}
	processes := 1
	_, grouped := reported.Options["group_reporting"]
	if _, all := reported.Global["group_reporting"]; grouped || all {
		processes = max(1, int(number(options, "numjobs", 1)))
	}
	for i := range l.jobs {
		j := &l.jobs[i]
		if j.name == reported.Name && maps.EqualFunc(j.options, options, sameValue) {
			j.processes += processes
			return
		}
	}
	l.jobs = append(l.jobs, job{name: reported.Name, options: options, partial: reported.Partial, processes: processes})
}

// finish sets what follows from all entries.
func (l *Load) finish() {
	for i := range l.jobs {
		j := &l.jobs[i]
		if l.tool != result.ToolFIO {
			continue
		}
		if j.partial && len(j.options) > 0 { // Plain output has an entry for each process, or one for all.
			count := strconv.Itoa(j.processes)
			j.options["numjobs"] = option{count, count}
		}
		j.processes = max(j.processes, int(number(j.options, "numjobs", 1)))
	}
}

func sameValue(a, b option) bool { return a.value == b.value }

// plain returns the options of a tool that prints each option in one form.
func plain(reported map[string]string) map[string]option {
	options := map[string]option{}
	for name, value := range reported {
		options[name] = option{value, value}
	}
	if pattern, ok := options["pattern"]; ok { // rbd bench-write, the older command, shortened these words.
		switch pattern.value {
		case "seq":
			pattern.value = "sequential"
		case "rand":
			pattern.value = "random"
		}
		options["pattern"] = pattern
	}
	return options
}

// number returns the value of an option, or the given one if the option is absent or no number.
func number(options map[string]option, name string, absent float64) float64 {
	n, err := strconv.ParseFloat(options[name].value, 64)
	if err != nil {
		return absent
	}
	return n
}
