package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// ParseText reads the plain output of fio 2 or 3 (--output-format=normal).
//
// Bytes and latencies in this output are rounded, and the result has warnings about that. Operations and run
// times are exact. If all operations have the same size and were neither short nor dropped, ParseText normally
// computes the exact bytes from the operations. The output has no histograms, so the percentiles of several
// jobs cannot be combined. It does not have the number of latency samples either, so ParseText uses the number
// of operations. [parse.Format] describes the errors that ParseText returns.
func ParseText(r io.Reader, options parse.Options) (*result.Result, error) {
	return parse.OnlyPart(textParts(r, options))
}

func textParts(r io.Reader, options parse.Options) ([]parse.Part, error) {
	p := &textParser{
		lines:      parse.NewLines(r),
		report:     report{format: TextFormat},
		heads:      map[jobKey]*head{},
		openGroups: map[int]bool{},
		servers:    map[string]bool{},
	}
	if err := p.lines.Each(p.line); err != nil {
		return nil, err
	}
	return p.parts(options)
}

// maxPercentiles limits a list of percentiles. fio's own limit is 20.
const maxPercentiles = 64

// jobKey holds the fields by which a report is matched with the head of its job.
type jobKey struct {
	name  string
	group int
}

// head is the line that fio prints about a job before the job starts.
type head struct {
	settings   map[string]string
	blockBytes [3]int64 // sizes for reads, writes and trims; 0 if the size varies or is unknown
	several    bool     // whether the head is that of jobs with several sizes
}

// A jobReport is the printed report of a job.
type jobReport struct {
	*job
	pid        string // distinguishes jobs with the same name and group
	directions map[result.DirectionName]*printedDirection
	syncs      printedLatency
	issued     *issued // nil until the line "issued" was read
	copies     int64   // the number of processes that the report covers
}

// A printedDirection is the printed report of a direction, with rounded bytes and latencies.
type printedDirection struct {
	size                          size
	milliseconds                  int64
	submission, completion, total *printedLatency
}

// A printedLatency is a line of latencies and its list of percentiles.
type printedLatency struct {
	seconds        [4]float64 // minimum, maximum, mean and standard deviation
	known          bool       // whether fio printed these four values
	percentiles    []result.Percentile
	unitsPerSecond float64 // how many units of the percentiles a second has
}

// issued has the exact numbers of operations, each for reads, writes and trims.
type issued struct {
	total, short, dropped [3]int64
	syncs                 int64
}

type textParser struct {
	lines *parse.Lines
	notes parse.Notes

	report
	heads      map[jobKey]*head
	reports    []*jobReport
	snapshots  int          // the number of reports that a later report of the same job replaced
	openGroups map[int]bool // the groups whose summary was not read yet
	anySummary bool
	killedLine int
	servers    map[string]bool // the hosts of the servers of fio, if a client printed the output

	job       *jobReport        // the report that is being read
	direction *printedDirection // the direction that is being read
	// percentilesOf is the latency whose percentiles are being read; nil if these percentiles are ignored.
	percentilesOf *printedLatency
}

func (p *textParser) line(line []byte) error {
	server, line := cutServer(line)
	if server != "" && len(p.servers) < maxJobs {
		p.servers[server] = true
	}
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		return nil
	case bytes.Contains(line, []byte(": (groupid=")):
		return p.jobLine(line)
	case bytes.Contains(line, []byte(": (g=")):
		return p.headLine(line)
	case isVersion(text):
		p.version = parse.Excerpt(text)
		return nil
	case isKill(line):
		p.killedLine = p.lines.Number()
		return nil
	case bytes.HasPrefix(line, []byte("Run status group ")):
		return p.summaryLine(line)
	case p.job != nil && (line[0] == ' ' || line[0] == '\t' || isReportLine(text)):
		return p.within(text)
	}
	if !isProgress(line) {
		p.notes.Add(result.WarnUnrecognizedLine, p.lines.Number(), text)
	}
	return nil
}

// cutServer cuts the name of a server of fio from a line of a client: "<host> " before a line, or the line
// "hostname=host, be=0, …" about the connection.
func cutServer(line []byte) (server string, rest []byte) {
	if name, ok := bytes.CutPrefix(line, []byte("hostname=")); ok && bytes.Contains(name, []byte(", be=")) {
		name, _, _ = bytes.Cut(name, []byte(","))
		return string(name), nil
	}
	if name, rest, ok := bytes.Cut(line, []byte("> ")); ok && len(name) > 1 && name[0] == '<' && !bytes.ContainsAny(name[1:], "< ") {
		return string(name[1:]), rest
	}
	return "", line
}

// isReportLine recognises a line within a report that lost its indentation, as in some forums and mails.
func isReportLine(text []byte) bool {
	for _, start := range []string{
		"read:", "read :", "write:", "trim:", "trim :", "mixed:", "slat (", "clat (", "lat (", "sync (", "clat percentiles", "lat percentiles",
		"|", "bw (", "iops ", "cpu ", "IO depths ", "submit ", "complete ", "issued ", "latency ", "errors ",
	} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}

// isProgress recognises lines outside of the reports, such as progress and disk statistics.
func isProgress(line []byte) bool {
	for _, start := range []string{"...", "Starting ", "Jobs: ", "Disk stats (", "  "} {
		if bytes.HasPrefix(line, []byte(start)) {
			return true
		}
	}
	return bytes.Contains(line, []byte(": Laying out IO file"))
}

// headLine reads "name: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B,
// ioengine=libaio, iodepth=32". The copies of a job share one such line.
func (p *textParser) headLine(line []byte) error {
	name, rest, _ := bytes.Cut(line, []byte(": (g="))
	group, rest, _ := bytes.Cut(rest, []byte("): "))
	number, ok := parse.Int(group)
	if !ok || number > math.MaxInt32 {
		return p.unexpected("the number of a group")
	}
	h := &head{settings: map[string]string{}}
	for part := range bytes.SplitSeq(rest, []byte(", ")) {
		part = bytes.TrimPrefix(part, []byte("bs="))
		switch {
		case bytes.HasPrefix(part, []byte("(R) ")):
			h.blockBytes[0] = blockBytes(part[4:])
		case bytes.HasPrefix(part, []byte("(W) ")):
			h.blockBytes[1] = blockBytes(part[4:])
		case bytes.HasPrefix(part, []byte("(T) ")):
			h.blockBytes[2] = blockBytes(part[4:])
		case bytes.Count(part, []byte("/")) == 2: // In fio 2, it is "bs=4K-4K/4K-4K/4K-4K".
			for i, sizes := range bytes.Split(part, []byte("/")) {
				from, to, _ := bytes.Cut(sizes, []byte("-"))
				if bytes.Equal(from, to) {
					h.blockBytes[i] = parseBytes(string(from))
				}
			}
		default:
			if key, value, ok := bytes.Cut(part, []byte("=")); ok {
				h.settings[string(key)] = parse.Excerpt(value)
			}
		}
	}
	key := jobKey{parse.Excerpt(name), int(number)}
	if other := p.heads[key]; other != nil && other.blockBytes != h.blockBytes {
		h.blockBytes = [3]int64{} // A report does not show to which of the two heads it belongs.
	}
	if len(p.heads) < maxJobs {
		p.heads[key] = h
	}
	return nil
}

// blockBytes reads "4096B-4096B". It returns 0 if the two sizes differ, cannot be read, are not a whole number
// of bytes, or exceed 1 TiB. A size that is not a power of two may be rounded, such as "66.0kB".
func blockBytes(text []byte) int64 {
	from, to, _ := bytes.Cut(text, []byte("-"))
	size, ok := parseSize(from)
	if !ok || !bytes.Equal(from, to) || size.bytes != math.Trunc(size.bytes) || size.bytes > 1<<40 {
		return 0
	}
	return int64(size.bytes)
}

// jobLine reads "name: (groupid=0, jobs=6): err= 0: pid=107996: Mon Aug …".
func (p *textParser) jobLine(line []byte) error {
	name, rest, _ := bytes.Cut(line, []byte(": (groupid="))
	group, rest, _ := bytes.Cut(rest, []byte(","))
	number, ok := parse.Int(group)
	copies, rest, okErr := bytes.Cut(rest, []byte("err="))
	copies, _, _ = bytes.Cut(bytes.TrimPrefix(copies, []byte(" jobs=")), []byte(")"))
	code, rest, okCode := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(":"))
	if !ok || !okErr || !okCode || number > math.MaxInt32 {
		return p.unexpected("a group and an err= in the head of a report")
	}
	code, _ = parse.Field(code) // "5 (file:io_u.c:1889, func=io_u error, …)" in case of an error.
	_, pid, _ := bytes.Cut(rest, []byte("pid="))
	pid, _, _ = bytes.Cut(pid, []byte(":"))
	j := &jobReport{
		job: &job{
			name: parse.Excerpt(name), line: p.lines.Number(), group: int(number),
			options: map[string]string{}, directions: map[result.DirectionName]*direction{},
		},
		pid:        string(pid),
		directions: map[result.DirectionName]*printedDirection{},
	}
	j.copies, _ = parse.Int(copies)
	if n, ok := parse.Int(code); !ok || n != 0 {
		j.errorCode = max(n, 1)
	}
	return p.begin(j)
}

// begin starts the report of a job, and drops an earlier report of that job. With --status-interval, fio
// prints several reports of a job, and each is cumulative.
func (p *textParser) begin(j *jobReport) error {
	p.job, p.direction, p.percentilesOf = j, nil, nil
	p.openGroups[j.group] = true
	j.sum = len(p.servers) > 0 && j.name == "All clients"
	if n := len(p.reports); n > 0 && p.reports[n-1].sum { // The sum ends the report of a client of fio.
		p.snapshots += n
		p.reports = nil
	}
	for i, earlier := range p.reports {
		if len(p.servers) == 0 && earlier.name == j.name && earlier.group == j.group && earlier.pid == j.pid {
			p.reports[i] = j
			p.snapshots++
			return nil
		}
	}
	if len(p.reports) == maxJobs {
		return p.unexpected(fmt.Sprintf("at most %d jobs", maxJobs))
	}
	p.reports = append(p.reports, j)
	return nil
}

// summaryLine reads "Run status group 0 (all jobs):", which follows the reports of all jobs of a group.
func (p *textParser) summaryLine(line []byte) error {
	field, _ := parse.Field(line[len("Run status group "):])
	group, ok := parse.Int(field)
	if !ok || group > math.MaxInt32 {
		return p.unexpected("the number of a group")
	}
	delete(p.openGroups, int(group))
	p.anySummary = true
	p.job = nil
	return nil
}

// within reads a line inside the report of a job.
func (p *textParser) within(text []byte) error {
	if text[0] == '|' {
		return p.percentileLine(text[1:])
	}
	for _, name := range []result.DirectionName{result.Read, result.Write, result.Trim, result.Mixed} {
		rest, ok := bytes.CutPrefix(text, []byte(name))
		switch rest = bytes.TrimLeft(rest, " "); {
		case ok && bytes.HasPrefix(rest, []byte(": IOPS=")):
			return p.directionLine(name, rest)
		case ok && bytes.HasPrefix(rest, []byte(": io=")):
			return p.oldDirectionLine(name, rest[len(": io="):])
		}
	}
	label, rest, _ := bytes.Cut(text, []byte(" "))
	switch string(label) {
	case "issued":
		return p.issuedLine(rest)
	case "errors":
		return p.errorsLine(rest)
	case "slat", "clat", "lat", "sync":
		return p.latencyLine(string(label), rest)
	}
	if bytes.Contains(text, []byte("percentiles (")) {
		p.percentilesOf = nil // The following percentiles are of one priority, and are ignored.
	}
	return nil
}

// directionLine reads ": IOPS=36.1k, BW=141MiB/s (148MB/s)(1200MiB/8508msec)". It reads only the totals in
// the last pair of parentheses, because the rates follow from the totals.
func (p *textParser) directionLine(name result.DirectionName, rest []byte) error {
	totals, _, ok := bytes.Cut(rest, []byte("msec)"))
	totals = totals[bytes.LastIndexByte(totals, '(')+1:]
	size, time, okTotals := bytes.Cut(totals, []byte("/"))
	parsed, okSize := parseSize(size)
	milliseconds, okTime := parse.Int(time)
	if !ok || !okTotals || !okSize || !okTime {
		return p.unexpected("the totals of a direction, such as (1200MiB/8508msec)")
	}
	p.direction, p.percentilesOf = &printedDirection{size: parsed, milliseconds: milliseconds}, nil
	p.job.directions[name] = p.direction
	return nil
}

// oldDirectionLine reads the line of fio 2 behind "write: io=": "120000KB, bw=4000.0KB/s, iops=1000, runt=
// 30000msec". Its KB are KiB.
func (p *textParser) oldDirectionLine(name result.DirectionName, rest []byte) error {
	total, rest, _ := bytes.Cut(rest, []byte(","))
	_, time, _ := bytes.Cut(rest, []byte("runt="))
	time, okUnit := bytes.CutSuffix(bytes.TrimSpace(time), []byte("msec"))
	milliseconds, okTime := parse.Int(bytes.TrimSpace(time))
	parsed, okSize := oldSize(total)
	if !okUnit || !okTime || !okSize {
		return p.unexpected("the totals of a direction, such as io=120000KB, … runt= 30000msec")
	}
	p.direction, p.percentilesOf = &printedDirection{size: parsed, milliseconds: milliseconds}, nil
	p.job.directions[name] = p.direction
	return nil
}

// oldSize reads a size of fio 2, such as "120000KB", whose KB are KiB.
func oldSize(text []byte) (size, bool) {
	digits := bytes.TrimRight(text, "KMGTPB")
	if unit := text[len(digits):]; len(unit) == 2 {
		text = append(slices.Clone(text[:len(digits)+1]), "iB"...)
	}
	return parseSize(text)
}

// latencyLine reads "(usec): min=64, max=79418, avg=5299.94, stdev=7130.13" or "percentiles (usec):". It
// ignores the line "lat (usec) : 50=0.25%, …", which is a coarse distribution over all directions.
func (p *textParser) latencyLine(kind string, rest []byte) error {
	if after, ok := bytes.CutPrefix(rest, []byte("percentiles (")); ok {
		return p.percentilesHead(kind, after)
	}
	unit, values, _ := bytes.Cut(rest, []byte("):"))
	scale, known := unitsPerSecond(bytes.TrimPrefix(unit, []byte("(")))
	values = bytes.TrimSpace(values)
	l := p.latency(kind)
	if !known || !bytes.HasPrefix(values, []byte("min=")) || l == nil {
		return nil
	}
	for i, name := range []string{"min=", "max=", "avg=", "stdev="} {
		var field []byte
		field, values, _ = bytes.Cut(values, []byte(","))
		number, ok := bytes.CutPrefix(bytes.TrimSpace(field), []byte(name))
		value, okValue := parseScaled(bytes.TrimSpace(number))
		if !ok || !okValue {
			return p.unexpected(name + " in a line of latencies")
		}
		l.seconds[i] = value / scale
	}
	l.known = true
	return nil
}

// latency returns the latency "slat", "clat" or "lat" of the current direction, and creates it if necessary. It
// returns nil without a direction. The latency "sync" is one of the job.
func (p *textParser) latency(kind string) *printedLatency {
	if kind == "sync" {
		return &p.job.syncs
	}
	if p.direction == nil {
		return nil
	}
	target := &p.direction.total
	switch kind {
	case "slat":
		target = &p.direction.submission
	case "clat":
		target = &p.direction.completion
	}
	if *target == nil {
		*target = &printedLatency{}
	}
	return *target
}

// percentilesHead reads the end of a line such as "clat percentiles (usec):".
func (p *textParser) percentilesHead(kind string, rest []byte) error {
	unit, _, _ := bytes.Cut(rest, []byte(")"))
	scale, ok := unitsPerSecond(unit)
	if !ok {
		return p.unexpected("percentiles in nsec, usec or msec")
	}
	if p.percentilesOf = p.latency(kind); p.percentilesOf == nil {
		return nil
	}
	p.percentilesOf.unitsPerSecond, p.percentilesOf.percentiles = scale, nil
	return nil
}

// percentileLine reads "  1.00th=[  363],  5.00th=[  865],".
func (p *textParser) percentileLine(rest []byte) error {
	l := p.percentilesOf
	if l == nil {
		return nil
	}
	for part := range bytes.SplitSeq(rest, []byte(",")) {
		if part = bytes.TrimSpace(part); len(part) == 0 {
			continue
		}
		name, value, _ := bytes.Cut(part, []byte("th=["))
		percent, ok := parse.Float(name)
		number, okEnd := bytes.CutSuffix(value, []byte("]"))
		units, okValue := parse.Int(bytes.TrimSpace(number))
		if n := len(l.percentiles); n > 0 && percent <= l.percentiles[n-1].Percent {
			ok = false
		}
		if !ok || !okEnd || !okValue || len(l.percentiles) == maxPercentiles {
			return p.unexpected("rising percentiles, such as 99.00th=[ 3608]")
		}
		l.percentiles = append(l.percentiles, result.Percentile{
			Percent: percent, Seconds: float64(units) / l.unitsPerSecond,
			AtLeast: float64(units) == math.Ceil(float64(result.BinNanoseconds(result.NumBins-1))/1e9*l.unitsPerSecond),
		})
	}
	return nil
}

// issuedLine reads "rwts: total=0,1200,0,0 short=0,0,0,0 dropped=0,0,0,0". Before fio 3.7, the line was "rwt:
// total=0,1200,0, short=0,0,0, dropped=0,0,0", and in fio 2 ": total=r=0/w=1200/d=0, short=r=0/w=0/d=0,
// drop=r=0/w=0/d=0". Only this line has the exact number of operations.
func (p *textParser) issuedLine(rest []byte) error {
	counts := &issued{}
	if bytes.Contains(rest, []byte("total=r=")) {
		rest = []byte(strings.NewReplacer("drop=r=", "dropped=", "=r=", "=", "/w=", ",", "/d=", ",").Replace(string(rest)))
		if !bytes.Contains(rest, []byte("dropped=")) { // before fio 2.1
			rest = append(rest, ", dropped=0,0,0"...)
		}
	}
	for _, part := range []struct {
		label  string
		target *[3]int64
	}{{"total=", &counts.total}, {"short=", &counts.short}, {"dropped=", &counts.dropped}} {
		_, values, ok := bytes.Cut(rest, []byte(part.label))
		for k := range part.target {
			var value []byte
			value, values, _ = bytes.Cut(values, []byte(","))
			n, okValue := parse.Int(bytes.TrimSpace(value))
			if !ok || !okValue {
				return p.unexpected("three whole numbers after " + part.label)
			}
			part.target[k] = n
		}
	}
	if _, values, ok := bytes.Cut(rest, []byte("total=")); ok { // Since fio 3.7, a fourth number counts the syncs.
		values, _, _ = bytes.Cut(values, []byte(" "))
		if fields := bytes.Split(values, []byte(",")); len(fields) == 4 {
			counts.syncs, _ = parse.Int(fields[3])
		}
	}
	p.job.issued = counts
	return nil
}

// errorsLine reads ": total=3, first_error=5/<Input/output error>".
func (p *textParser) errorsLine(rest []byte) error {
	_, value, _ := bytes.Cut(rest, []byte("total="))
	value, _, _ = bytes.Cut(value, []byte(","))
	n, ok := parse.Int(value)
	if !ok {
		return p.unexpected("a number of errors")
	}
	p.job.errorCount = n
	return nil
}

func (p *textParser) unexpected(want string) error {
	return &parse.SyntaxError{Line: p.lines.Number(), Want: want, Found: parse.Quote(p.lines.Bytes())}
}

func (p *textParser) parts(options parse.Options) ([]parse.Part, error) {
	noted := &result.Result{}
	for _, j := range p.reports {
		if j.issued == nil {
			return nil, p.incomplete(nil)
		}
		if err := p.complete(j, noted); err != nil {
			return nil, err
		}
		if j.sum && len(p.reports) > 1 {
			p.sum = j.job
			continue
		}
		p.jobs = append(p.jobs, j.job)
	}
	if !p.anySummary {
		return nil, p.incomplete(nil)
	}
	if len(p.servers) > 1 && p.sum == nil {
		return nil, p.incomplete(nil)
	}
	p.notes.AppendTo(noted)
	if p.snapshots > 0 {
		noted.Warn(result.Warning{
			Code:    result.WarnSnapshots,
			Message: fmt.Sprintf("%d earlier reports of the same jobs were left out; each is cumulative", p.snapshots),
		})
	}
	p.warnings, p.hosts = noted.Warnings, len(p.servers)
	parts, err := p.report.parts(options)
	for i := range parts {
		parts[i].Result, parts[i].Err = p.check(parts[i].Result, parts[i].Err)
	}
	return parts, err
}

// check returns a part, or an error that follows from fio's messages or from the end of the output.
func (p *textParser) check(res *result.Result, err error) (*result.Result, error) {
	var inner *parse.IncompleteError
	switch {
	case err != nil && !errors.As(err, &inner):
		return nil, err
	case p.killedLine > 0:
		return nil, killed(p.killedLine, res, inner)
	case err != nil:
		return nil, err
	case len(p.openGroups) > 0:
		return nil, p.incomplete(res)
	}
	return res, nil
}

func (p *textParser) incomplete(partial *result.Result) error {
	if p.killedLine > 0 {
		return killed(p.killedLine, partial, nil)
	}
	return &parse.IncompleteError{
		Reason: parse.Truncated, Line: p.lines.Number(), Partial: partial,
		Detail: "the output ends before the summary of all groups",
	}
}

// complete sets the options and the figures of a job from its head and its report. It adds warnings about
// rounded figures to the given result.
func (p *textParser) complete(j *jobReport, noted *result.Result) error {
	h := p.headOf(j)
	if h != nil {
		j.options = h.settings
	}
	j.load = j.describe(h)
	j.syncLatency = j.syncs.latency(j.issued.syncs)
	for _, name := range []result.DirectionName{result.Read, result.Write, result.Trim, result.Mixed} {
		printed := j.directions[name]
		if printed == nil {
			continue
		}
		d := &direction{}
		blockBytes := j.count(name, d, h)
		if d.Operations == 0 {
			continue // With unified_rw_reporting=both, count finds no operations for "mixed".
		}
		d.Seconds = float64(printed.milliseconds) / 1e3
		var warning *result.Warning
		var err error
		if d.Bytes, warning, err = printed.bytes(d, blockBytes); err != nil {
			return &parse.SyntaxError{Line: j.line, Want: string(name) + ": " + err.Error(), Found: fmt.Sprintf("about %.0f", printed.size.bytes)}
		}
		if warning != nil {
			noted.Warn(result.Warning{Code: warning.Code, Message: string(name) + ": " + warning.Message, Line: j.line})
		}
		if h != nil && h.several {
			noted.Warn(result.Warning{Code: result.WarnBlockSizes, Line: j.line, Message: fmt.Sprintf(
				"%s: one report of operations of several block sizes, %d bytes on average", name, d.Bytes/d.Operations)})
		}
		d.SubmissionLatency = printed.submission.latency(d.Operations)
		d.CompletionLatency = printed.completion.latency(d.Operations)
		d.Latency = printed.total.latency(d.Operations)
		if d.SubmissionLatency != nil || d.CompletionLatency != nil || d.Latency != nil {
			noted.Warn(result.Warning{
				Code:    result.WarnRoundedLatency,
				Message: "fio printed rounded latencies; it rounds percentiles up to the next unit",
			})
		}
		j.job.directions[name] = d
	}
	return nil
}

// headOf returns what the heads of all jobs say in common that a report covers; nil without a head. With
// group_reporting, the report of a group has the name of its first job.
func (p *textParser) headOf(j *jobReport) *head {
	first := p.heads[jobKey{j.name, j.group}]
	if first == nil || j.copies < 2 {
		return first
	}
	common := &head{settings: maps.Clone(first.settings), blockBytes: first.blockBytes}
	for key, other := range p.heads {
		reported := func(r *jobReport) bool { return r.name == key.name && r.group == key.group }
		if key.group != j.group || slices.ContainsFunc(p.reports, reported) {
			continue
		}
		maps.DeleteFunc(common.settings, func(name, value string) bool { return other.settings[name] != value })
		for i, size := range other.blockBytes {
			if size != common.blockBytes[i] {
				common.blockBytes[i], common.several = 0, true
			}
		}
	}
	return common
}

// describe returns what the head and the report say about the load. Both lack most options.
func (j *jobReport) describe(h *head) result.Job {
	load := result.Job{Name: j.name, Options: map[string]string{"numjobs": strconv.FormatInt(max(j.copies, 1), 10)}, Partial: true}
	if j.copies > 1 {
		load.Options["group_reporting"] = ""
	}
	if h == nil {
		return load
	}
	maps.Copy(load.Options, h.settings)
	if b := h.blockBytes; b[0] > 0 && b[1] > 0 && b[2] > 0 {
		load.Options["bs"] = fmt.Sprintf("%d,%d,%d", b[0], b[1], b[2])
	}
	return load
}

// count sets the numbers of operations of a direction: all, short and dropped ones. It returns the size of
// each operation; 0 if the size varies or is unknown. For "mixed", it adds up the directions that the report
// does not list separately.
func (j *jobReport) count(name result.DirectionName, d *direction, h *head) int64 {
	blockBytes := int64(-1)
	for k, kind := range []result.DirectionName{result.Read, result.Write, result.Trim} {
		if kind != name && (name != result.Mixed || j.directions[kind] != nil) {
			continue
		}
		d.Operations += j.issued.total[k]
		d.shortIOs += j.issued.short[k]
		d.droppedIOs += j.issued.dropped[k]
		if h == nil || (blockBytes >= 0 && blockBytes != h.blockBytes[k]) {
			blockBytes = 0
		} else if blockBytes != 0 {
			blockBytes = h.blockBytes[k]
		}
	}
	return max(blockBytes, 0)
}

// bytes returns operations times block size if that product agrees with the printed, rounded sum. The product is
// exact unless fio rounded the block size. bytes returns the printed sum, with a warning, if operations differ in
// size or have an unknown size, were short or were dropped. It does the same if product and sum differ by at
// most about 1 %, for example because of an incomplete block. A larger difference is an error.
func (d *printedDirection) bytes(counted *direction, blockBytes int64) (int64, *result.Warning, error) {
	exact := float64(counted.Operations) * float64(blockBytes)
	off := math.Abs(exact - d.size.bytes)
	if blockBytes > 0 && counted.shortIOs == 0 && counted.droppedIOs == 0 {
		switch {
		case off <= d.size.slack:
			return counted.Operations * blockBytes, nil, nil
		case off > d.size.slack+0.01*exact:
			return 0, nil, fmt.Errorf("the bytes of %d operations of %d bytes", counted.Operations, blockBytes)
		}
	}
	warning := &result.Warning{Code: result.WarnRoundedBytes, Message: "fio printed rounded bytes"}
	return int64(d.size.bytes), warning, nil
}

// latency returns the printed latency, or nil if fio printed none. fio does not print the number of samples.
// latency uses the number of operations instead: apart from failed operations, the two numbers differ by a few
// at most.
func (l *printedLatency) latency(operations int64) *result.Latency {
	if l == nil || !l.known || operations == 0 {
		return nil
	}
	moments := result.MomentsFromStddev(operations, l.seconds[2], l.seconds[3])
	moments.MinSeconds, moments.MaxSeconds = &l.seconds[0], &l.seconds[1]
	return &result.Latency{Moments: moments, Percentiles: l.percentiles}
}
