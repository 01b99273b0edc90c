package fio

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// maxJobs is the largest number of jobs in one output.
const maxJobs = 4096

// A job is fio's report of one job, or of a whole group if group_reporting was set.
type job struct {
	name   string
	client string // the host of the server that ran the job; "" without a server
	sum    bool   // whether it is the sum of all servers
	line   int    // the line on which the report begins
	group  int
	// errorCode is the error number that fio reports for the job, without its sign; 0 without an error.
	// errorCount counts the errors after which the job continued (continue_on_error).
	errorCode, errorCount int64
	options               map[string]string
	directions            map[result.DirectionName]*direction
	syncLatency           *result.Latency
	load                  result.Job
}

// A direction is fio's report of one direction of a job.
type direction struct {
	result.Direction
	shortIOs, droppedIOs int64
}

// A report holds the report of one run, from JSON or from plain output.
type report struct {
	format       string
	version      string
	milliseconds int64 // the time of the report, since 1970
	jobs         []*job
	warnings     []result.Warning
}

// result adds up the jobs of the selected group. The jobs of a group start together.
func (r *report) result(options parse.Options) (*result.Result, error) {
	jobs, err := r.selectGroup(options)
	if err != nil {
		return nil, err
	}
	var results []*result.Result
	var incomplete error
	for _, j := range jobs {
		res, err := r.jobResult(j)
		if err != nil {
			return nil, err
		}
		results = append(results, res)
		if incomplete == nil {
			incomplete = j.check(res, options)
		}
	}
	merged, err := result.Merge(results...)
	if err != nil {
		return nil, &parse.SyntaxError{Want: "jobs that can be added up", Found: err.Error()}
	}
	// One process of fio ran all jobs of a host.
	clients := map[string]bool{}
	for _, j := range jobs {
		clients[j.client] = true
	}
	merged.Clients = len(clients)
	merged.Warnings = append(r.warnings, merged.Warnings...)
	if incomplete != nil {
		return nil, withPartial(incomplete, merged)
	}
	return merged, nil
}

// withPartial sets the measurements in a [parse.IncompleteError] to those of all jobs, instead of one job.
func withPartial(err error, partial *result.Result) error {
	if incomplete, ok := errors.AsType[*parse.IncompleteError](err); ok {
		incomplete.Partial = partial
	}
	return err
}

// selectGroup returns the jobs of the requested group. Without a request, the output must have only one
// group: groups that fio's option stonewall separates run one after another, so their rates cannot be added
// up.
func (r *report) selectGroup(options parse.Options) ([]*job, error) {
	groups := map[int]bool{}
	var selected []*job
	for _, j := range r.jobs {
		groups[j.group] = true
		if options.Group == nil || *options.Group == j.group {
			selected = append(selected, j)
		}
	}
	found := fmt.Sprintf("those of groups %v", slices.Sorted(maps.Keys(groups)))
	switch {
	case len(r.jobs) == 0:
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Detail: "it reports no jobs"}
	case options.Group == nil && len(groups) > 1:
		return nil, &parse.SyntaxError{Want: "jobs of one group, or the choice of a group", Found: found}
	case len(selected) == 0:
		return nil, &parse.SyntaxError{Want: "jobs of group " + strconv.Itoa(*options.Group), Found: found}
	}
	return selected, nil
}

// jobResult returns the result of one job. It returns an error if the job failed, did no I/O, did I/O in one
// direction for less than a millisecond, or has impossible figures.
func (r *report) jobResult(j *job) (*result.Result, error) {
	if j.errorCode != 0 || j.errorCount != 0 {
		return nil, &parse.IncompleteError{
			Reason: parse.ToolError, Line: j.line,
			Detail: fmt.Sprintf("job %q: error code %d, ignored errors: %d", j.name, j.errorCode, j.errorCount),
		}
	}
	res := &result.Result{
		SchemaVersion: result.SchemaVersion,
		Source:        result.Source{Tool: result.ToolFIO, ToolVersion: r.version, Format: r.format, Settings: j.settings()},
		Clients:       1,
		SyncLatency:   j.syncLatency,
		Jobs:          []result.Job{j.load},
	}
	for _, name := range []result.DirectionName{result.Read, result.Write, result.Trim, result.Mixed} {
		d := j.directions[name]
		if d == nil || d.Operations == 0 {
			continue
		}
		if d.Seconds == 0 {
			return nil, &parse.IncompleteError{
				Reason: parse.EndedEarly, Line: j.line,
				Detail: fmt.Sprintf("job %q did not last a millisecond", j.name),
			}
		}
		d.ShortestSeconds = d.Seconds
		res.SetDirection(name, &d.Direction)
		if d.shortIOs > 0 || d.droppedIOs > 0 {
			res.Warn(result.Warning{
				Code: result.WarnShortIO, Line: j.line,
				Message: fmt.Sprintf("%s: short operations: %d, dropped operations: %d", name, d.shortIOs, d.droppedIOs),
			})
		}
		checkHistograms(res, name, &d.Direction, j.line)
	}
	// With unified_rw_reporting=both, "mixed" repeats the sum of the other directions.
	if len(res.Directions()) > 1 {
		res.Mixed = nil
	}
	if len(res.Directions()) == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Line: j.line, Detail: fmt.Sprintf("job %q did no I/O", j.name)}
	}
	if err := res.Validate(); err != nil {
		return nil, &parse.SyntaxError{Line: j.line, Want: "possible figures", Found: err.Error()}
	}
	return res, nil
}

// checkHistograms warns if the bins and the moments have different numbers of samples.
func checkHistograms(res *result.Result, name result.DirectionName, d *result.Direction, line int) {
	for _, l := range []*result.Latency{d.Latency, d.SubmissionLatency, d.CompletionLatency} {
		if l != nil && l.Histogram != nil && l.Histogram.Count() != l.Moments.Count {
			res.Warn(result.Warning{
				Code: result.WarnHistogramCount, Line: line,
				Message: fmt.Sprintf("%s: the histogram has %d operations, its moments %d", name, l.Histogram.Count(), l.Moments.Count),
			})
		}
	}
}

// check returns an error if a job was much shorter than requested, or moved fewer bytes than requested. If no
// duration was requested, check uses the job's option runtime, unless another limit may have ended the job.
func (j *job) check(res *result.Result, options parse.Options) error {
	var seconds float64
	var done int64
	for _, d := range res.Directions() {
		seconds = max(seconds, d.Seconds)
		done += d.Bytes
	}
	requested := options.RequestedSeconds
	if requested == 0 && !j.endedByItself(done) {
		requested = parseSeconds(j.options["runtime"])
	}
	if err := parse.CheckDuration(res, seconds, requested); err != nil {
		return err
	}
	if done < options.RequestedBytes {
		return &parse.IncompleteError{
			Reason: parse.EndedEarly, Line: j.line,
			Detail: fmt.Sprintf("job %q did %d of the %d bytes requested", j.name, done, options.RequestedBytes),
		}
	}
	return nil
}

// endedByItself reports whether a job may have ended before its runtime because its work was done, or because
// of another limit, such as a steady state or the end of another job. It ignores the option time_based, which
// makes a job last for its whole runtime.
func (j *job) endedByItself(done int64) bool {
	for _, limit := range []string{"number_ios", "steadystate", "ss", "exitall", "loops", "exit_what"} {
		if _, ok := j.options[limit]; ok {
			return true
		}
	}
	size := parseBytes(j.options["io_size"])
	if size == 0 {
		size = parseBytes(j.options["size"])
	}
	members, _ := strconv.ParseInt(j.options["numjobs"], 10, 32)
	// fio skips an incomplete last block. 1 % allows for that.
	near := func(whole float64) bool { return float64(done) <= whole && float64(done) >= 0.99*whole }
	return size > 0 && (near(float64(size)) || near(float64(size)*float64(members)))
}

// settings returns the job's options that describe the load; nil if the job has no such option.
func (j *job) settings() map[string]string {
	settings := map[string]string{}
	for _, name := range []string{
		"rw", "readwrite", "rwmixread", "rwmixwrite", "bs", "blocksize", "bsrange", "bssplit", "ioengine", "iodepth",
		"numjobs", "direct", "size", "io_size", "runtime", "ramp_time", "rate", "rate_iops", "fsync", "fdatasync",
		"pool", "rbdname", "unified_rw_reporting", "percentile_list",
	} {
		if value, ok := j.options[name]; ok {
			settings[name] = value
		}
	}
	if len(settings) == 0 {
		return nil
	}
	return settings
}

// parseSeconds reads the value of a time option, such as "60", "60s" or "5m". It returns 0 for a value in
// another form.
func parseSeconds(text string) float64 {
	number, unit := cutUnit(text)
	value, ok := parse.Float([]byte(number))
	if !ok {
		return 0
	}
	switch unit {
	case "", "s":
		return value
	case "us":
		return value / 1e6
	case "ms":
		return value / 1e3
	case "m":
		return value * 60
	case "h":
		return value * 3600
	case "d":
		return value * 86400
	}
	return 0
}

// parseBytes reads the value of a size option, such as "64M". It takes "k", "kb" and "kib" as 1024, although
// fio takes "kib" as 1000 with its default kb_base=1024. It returns 0 for a value in another form, and for a
// size of 2⁶² bytes or more.
func parseBytes(text string) int64 {
	number, unit := cutUnit(text)
	value, ok := parse.Float([]byte(number))
	if !ok {
		return 0
	}
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i")
	power := strings.Index("kmgtp", unit)
	if unit == "" {
		power = -1
	} else if power < 0 || len(unit) != 1 {
		return 0
	}
	for range power + 1 {
		value *= 1024
	}
	if value >= 1<<62 {
		return 0
	}
	return int64(value)
}

// cutUnit splits "64M" into "64" and "m".
func cutUnit(text string) (number, unit string) {
	text = strings.ToLower(strings.TrimSpace(text))
	i := strings.LastIndexAny(text, "0123456789.") + 1
	return text[:i], text[i:]
}

// isFIO3 reports whether a version, such as fio-3.33 or fio-3.42-12-gabcdef, is of fio 3. Earlier versions
// print latencies in µs and io_bytes in KiB.
func isFIO3(version []byte) bool { return bytes.HasPrefix(version, []byte("fio-3.")) }
