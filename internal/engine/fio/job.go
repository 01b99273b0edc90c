package fio

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
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
	// elapsed is in whole seconds. startMilliseconds is the time of the start, since 1970; 0 if unknown.
	elapsed, startMilliseconds int64
	// runs says that fio expected the job to go on when it wrote the report.
	runs bool
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

	counted bool // whether the report has the number of operations
	inBytes bool // whether io_bytes is in bytes; in fio 2, it is in KiB
}

// uncounted is the count of a latency whose number of samples fio did not print (before 3.18).
const uncounted = -1

// latency returns the place of the latency "slat", "clat" or "lat".
func (d *direction) latency(name string) **result.Latency {
	switch name {
	case "slat":
		return &d.SubmissionLatency
	case "clat":
		return &d.CompletionLatency
	}
	return &d.Latency
}

// count sets the missing counts of latencies: each operation has one latency.
func (d *direction) count() {
	for _, place := range []**result.Latency{&d.SubmissionLatency, &d.CompletionLatency, &d.Latency} {
		l := *place
		switch {
		case l == nil || l.Moments.Count != uncounted:
		case d.Operations == 0:
			*place = nil
		default:
			m := result.MomentsFromStddev(d.Operations, l.Moments.MeanSeconds, math.Sqrt(*l.Moments.M2SecondsSquared))
			m.MinSeconds, m.MaxSeconds = l.Moments.MinSeconds, l.Moments.MaxSeconds
			l.Moments = m
		}
	}
}

// finish completes the figures of a direction of JSON. The error says what a report of this version lacks.
func (d *direction) finish(version string) error {
	old := strings.HasPrefix(version, "fio-2.")
	switch {
	case d.Bytes > 0 && !d.counted:
		return errors.New("the number of operations (total_ios)")
	case old && d.inBytes:
		return errors.New("KiB and µs, the units of fio 2, without io_kbytes")
	case old && d.Bytes > math.MaxInt64/1024:
		return errors.New("a number of bytes that fits into 63 bits")
	case old:
		d.Bytes *= 1024
	}
	d.count()
	return nil
}

// A report holds the report of one run, from JSON or from plain output.
type report struct {
	format       string
	version      string
	milliseconds int64 // the time of the report, since 1970
	jobs         []*job
	sum          *job // what a client of fio added up over all servers; nil without servers
	hosts        int  // the number of hosts, if the jobs do not name them; 0 if unknown
	warnings     []result.Warning
}

// parts returns what the selected jobs did, in parts that each ran together. fio's option stonewall separates
// groups, which run one after the other; so do jobs that start at other times. Their rates cannot be added up.
func (r *report) parts(options parse.Options) ([]parse.Part, error) {
	if len(r.jobs) == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Detail: "it reports no jobs"}
	}
	var parts []parse.Part
	for _, jobs := range together(r.jobs) {
		group := "group " + strconv.Itoa(jobs[0].group)
		if options.Job != "" && options.Job != group {
			jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.name != options.Job })
		}
		if len(jobs) > 0 {
			parts = append(parts, r.part(group, jobs, options)...)
		}
	}
	if len(parts) == 0 {
		return nil, &parse.NoJobError{Job: options.Job, Found: "those named " + r.names()}
	}
	return parts, nil
}

// names lists the names of all jobs and groups.
func (r *report) names() string {
	var names []string
	for _, j := range r.jobs {
		for _, name := range []string{strconv.Quote(j.name), strconv.Quote("group " + strconv.Itoa(j.group))} {
			if !slices.Contains(names, name) && len(names) < maxNames {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// maxNames limits a list of names in a message.
const maxNames = 16

// together divides jobs by their groups and their starts, in the order of the report.
func together(jobs []*job) [][]*job {
	var all [][]*job
	for _, j := range jobs {
		i := slices.IndexFunc(all, func(others []*job) bool { return others[0].startsWith(j) })
		if i < 0 {
			all = append(all, []*job{j})
		} else {
			all[i] = append(all[i], j)
		}
	}
	return all
}

// startsWith reports whether two jobs start together, give or take a second.
func (j *job) startsWith(other *job) bool {
	if j.group != other.group || j.options["wait_for"] != other.options["wait_for"] {
		return false
	}
	between := j.delay() - other.delay()
	if j.startMilliseconds > 0 && other.startMilliseconds > 0 && j.client == other.client {
		between = float64(j.startMilliseconds-other.startMilliseconds) / 1e3
	}
	return math.Abs(between) <= 1
}

// delay returns the time in seconds for which a job waits before it starts. For a range, it is the earliest.
func (j *job) delay() float64 {
	text, _, _ := strings.Cut(cmp.Or(j.options["startdelay"], j.options["start_delay"]), "-")
	return parseSeconds(text)
}

// part returns what jobs did that started together, as one part or as two: the reads of a job that only writes
// are those of its verification, which follows the writes.
func (r *report) part(group string, jobs []*job, options parse.Options) []parse.Part {
	all := parse.Part{Group: group, Jobs: namesOf(jobs)}
	all.Result, all.Err = r.result(jobs, options)
	verifies := slices.ContainsFunc(jobs, (*job).verifies)
	if !verifies || all.Err != nil {
		return []parse.Part{all}
	}
	for _, j := range jobs {
		if !j.verifies() && j.directions[result.Read] != nil && j.directions[result.Read].Operations > 0 {
			all.Err = &parse.SyntaxError{Line: j.line, Want: "the choice of a job", Found: "jobs that read, next to the reads of a verification"}
			return []parse.Part{all}
		}
	}
	reads, writes := *all.Result, *all.Result
	reads.Write, reads.Trim, writes.Read = nil, nil, nil
	reads.SyncLatency = nil
	verification := parse.Part{Group: group, Jobs: all.Jobs, Verification: true, Result: &reads}
	all.Result = &writes
	return []parse.Part{all, verification}
}

// verifies reports whether a job only writes, and yet has reads. Plain output does not name the option verify, and
// in JSON, the report of a group has the options of its first job alone.
func (j *job) verifies() bool {
	pattern, _, _ := strings.Cut(cmp.Or(j.options["rw"], j.options["readwrite"]), ":")
	if method := j.options["verify"]; !j.load.Partial && (method == "" || method == "0" || method == "none") {
		return false
	}
	did := func(name result.DirectionName) bool {
		d := j.directions[name]
		return d != nil && d.Operations > 0
	}
	return (pattern == "write" || pattern == "randwrite") && did(result.Read) && did(result.Write)
}

func namesOf(jobs []*job) []string {
	var names []string
	for _, j := range jobs {
		if !slices.Contains(names, j.name) {
			names = append(names, j.name)
		}
	}
	return names
}

// result adds up jobs.
func (r *report) result(jobs []*job, options parse.Options) (*result.Result, error) {
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
	merged.Clients = max(len(clients), r.hosts)
	if r.sum != nil && len(jobs) == len(r.jobs) {
		r.sum.addPercentiles(merged)
	}
	merged.Warnings = append(slices.Clone(r.warnings), merged.Warnings...)
	if incomplete != nil {
		return nil, withPartial(incomplete, merged)
	}
	return merged, nil
}

// addPercentiles adds the percentiles of the sum to the merged result, which lacks them without histograms.
func (j *job) addPercentiles(merged *result.Result) {
	for _, d := range merged.Directions() {
		dir := j.directions[d.Name]
		if dir == nil {
			continue
		}
		for _, pair := range [][2]*result.Latency{
			{d.Latency, dir.Latency}, {d.CompletionLatency, dir.CompletionLatency}, {d.SubmissionLatency, dir.SubmissionLatency},
		} {
			latency, source := pair[0], pair[1]
			if latency == nil || source == nil || latency.Histogram != nil || latency.Moments.Count != source.Moments.Count || len(source.Percentiles) == 0 {
				continue
			}
			latency.Percentiles = source.Percentiles
			merged.Warnings = slices.DeleteFunc(merged.Warnings, func(w result.Warning) bool {
				return w.Code == result.WarnHistogramDropped && strings.HasPrefix(w.Message, string(d.Name)+":")
			})
		}
	}
}

// withPartial sets the measurements in a [parse.IncompleteError] to those of all jobs, instead of one job.
func withPartial(err error, partial *result.Result) error {
	if incomplete, ok := errors.AsType[*parse.IncompleteError](err); ok {
		incomplete.Partial = partial
	}
	return err
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
		j.checkBlocks(res, name, &d.Direction)
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

// checkBlocks warns if a report of a group covers operations of several sizes, although its options, those of the
// first job, name one.
func (j *job) checkBlocks(res *result.Result, name result.DirectionName, d *result.Direction) {
	_, grouped := j.options["group_reporting"]
	block := parseBytes(cmp.Or(j.options["bs"], j.options["blocksize"]))
	mean := float64(d.Bytes) / float64(d.Operations)
	if grouped && block > 0 && math.Abs(mean-float64(block)) > 0.01*float64(block) {
		res.Warn(result.Warning{Code: result.WarnBlockSizes, Line: j.line, Message: fmt.Sprintf(
			"%s: one report of operations of several block sizes, %.0f bytes on average", name, mean)})
	}
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

// isVersion reports whether a text is the version of fio 2 or 3, such as fio-3.33, fio-3.42-12-gabcdef or
// fio-2.16.
func isVersion(text []byte) bool {
	return bytes.HasPrefix(text, []byte("fio-3.")) || bytes.HasPrefix(text, []byte("fio-2."))
}
