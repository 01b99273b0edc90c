package fio

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// documents separates the JSON documents of an output from the messages before, between and within them. fio
// writes warnings and errors to the same file or stream as the JSON, even with --output (fio#731). With
// --status-interval, fio writes several documents.
type documents struct {
	notes parse.Notes

	last     []byte // the last complete document; an empty line replaces a message within it
	lastLine int    // the line on which that document begins
	complete int    // the number of complete documents

	line       int  // the number of the current line, and at the end that of the last one
	cut        bool // whether the last document is not complete
	killedLine int  // the line about the signal that stopped fio, or 0

	plain []plainCounts // those of plain output around the JSON
}

// plainCounts are the operations of a job in plain output.
type plainCounts struct {
	line  int
	total [3]int64
}

func readDocuments(r io.Reader) (*documents, error) {
	text, err := parse.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	d := &documents{}
	if len(text) > 0 {
		d.line = 1
	}
	behind := 0
	for _, found := range parse.Documents(text) {
		d.around(text[behind:found.Start])
		behind = found.End
		line := d.line
		document := d.within(text[found.Start:found.End])
		if d.cut = !found.Complete; found.Complete {
			d.last, d.lastLine = document, line
			d.complete++
		}
	}
	d.around(text[behind:])
	if len(text) > 0 && text[len(text)-1] == '\n' {
		d.line--
	}
	return d, nil
}

// around reads the text before, between or behind documents.
func (d *documents) around(text []byte) {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if i > 0 {
			d.line++
		}
		d.message(bytes.TrimRight(line, "\r"))
	}
}

// within returns a document without the messages in it.
func (d *documents) within(text []byte) []byte {
	var clean bytes.Buffer
	clean.Grow(len(text))
	for line := range bytes.Lines(text) {
		text := bytes.TrimRight(line, "\r\n")
		if parse.IsMessage(text) {
			d.message(text)
			text = nil
		}
		clean.Write(withoutNaN(text))
		if line[len(line)-1] == '\n' {
			clean.WriteByte('\n')
			d.line++
		}
	}
	return clean.Bytes()
}

// withoutNaN replaces a number that JSON does not have: fio prints nan and inf after a division by zero, for
// example in a steady state that was never measured.
func withoutNaN(line []byte) []byte {
	start := bytes.LastIndexByte(line, ':') + 1
	value := string(bytes.Trim(line[start:], " \t,"))
	switch value {
	case "nan", "-nan", "inf", "-inf", "NaN", "Infinity", "-Infinity":
		return bytes.Replace(line, []byte(value), []byte("null"), 1)
	}
	return line
}

func (d *documents) message(line []byte) {
	d.countPlain(line)
	if _, line = cutServer(line); isPlainOutput(line) || string(line) == "," { // Reports in an array have commas between them.
		return
	}
	if isKill(line) {
		d.killedLine = d.line
	}
	d.notes.Add(result.WarnToolMessage, d.line, line)
}

// countPlain keeps the operations of a job if a line of plain output has them.
func (d *documents) countPlain(line []byte) {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("issued "))
	if !ok || len(d.plain) == maxJobs {
		return
	}
	p := &textParser{lines: parse.NewLines(bytes.NewReader(nil)), job: &jobReport{}}
	if p.issuedLine(rest) == nil {
		d.plain = append(d.plain, plainCounts{d.line, p.job.issued.total})
	}
}

// otherRun warns of plain output that is not that of a report. Both belong to one run with
// --output-format=normal,json; scripts also append runs in different formats.
func (d *documents) otherRun(r *report) {
	known := map[[3]int64]bool{}
	for _, j := range append(slices.Clone(r.jobs), r.sum) {
		if j == nil {
			continue
		}
		var total [3]int64
		for i, name := range []result.DirectionName{result.Read, result.Write, result.Trim} {
			if figures := j.directions[name]; figures != nil {
				total[i] = figures.Operations
			}
		}
		known[total] = true
	}
	for _, counts := range d.plain {
		if _, mixed := known[[3]int64{}]; !mixed && !known[counts.total] {
			d.notes.Add(result.WarnToolMessage, counts.line, []byte("plain output of another run beside the JSON, which is left out: put it into a file of its own"))
		}
	}
}

// isPlainOutput recognises lines of the plain output, which --output-format=normal,json writes around the
// JSON.
func isPlainOutput(line []byte) bool {
	return len(bytes.TrimSpace(line)) == 0 || line[0] == ' ' || isProgress(line) || detectText(line) || isVersion(line) ||
		bytes.HasPrefix(line, []byte("Run status group "))
}

// isKill recognises the line that fio writes when a signal stops it.
func isKill(line []byte) bool { return bytes.HasPrefix(line, []byte("fio: terminating on signal")) }

// splitJSON returns where runs begin in a text with the JSON of one or several runs. A later report of the
// same run, as with --status-interval, is not one.
func splitJSON(text []byte) []int {
	var starts []int
	var last *report
	for _, found := range parse.Documents(text) {
		if !found.HasWord("fio version") {
			continue
		}
		next, err := readReport((&documents{}).within(text[found.Start:found.End]), 1)
		if err != nil {
			next = &report{} // The parser of the run reports the error.
		}
		if last == nil || !next.continues(last) {
			starts = append(starts, found.Start)
		}
		last = next
	}
	return starts
}

// continues reports whether a report is a later one of the same run, or the same again: no counter is lower, and
// as much time has passed as the jobs have run. After a ramp, fio begins to count again.
func (r *report) continues(before *report) bool {
	if len(r.jobs) == 0 || !slices.EqualFunc(r.jobs, before.jobs, (*job).isThat) {
		return false
	}
	sum := change{same: true, more: true}
	for i, j := range r.jobs {
		sum.add(j, before.jobs[i])
	}
	passed := float64(r.milliseconds-before.milliseconds) / 1e3
	switch {
	case sum.same: // fio prints the last report twice.
		return math.Abs(passed) < 2
	case r.milliseconds == 0 || before.milliseconds == 0:
		return sum.more && sum.ran >= shortestSnapshot
	case !sum.more: // fio's elapsed counts whole seconds, begun ones included.
		_, ramp := r.jobs[0].options["ramp_time"]
		return ramp && passed > 0 && math.Abs(passed-float64(r.jobs[0].elapsed-before.jobs[0].elapsed)) <= 1.5
	}
	return passed > 0 && math.Abs(passed-sum.ran) <= 0.25+0.2*sum.ran
}

func (j *job) isThat(other *job) bool {
	return j.name == other.name && j.group == other.group && j.client == other.client
}

// change is the difference of two reports of the same jobs.
type change struct {
	same, more bool    // whether all counters are equal, and whether none is lower
	ran        float64 // the longest time, in seconds, that a job ran in between
}

func (c *change) add(j, before *job) {
	for name, d := range j.directions {
		previous := before.directions[name]
		if previous == nil {
			previous = &direction{}
		}
		c.same = c.same && d.Operations == previous.Operations && d.Bytes == previous.Bytes && d.Seconds == previous.Seconds
		c.more = c.more && d.Operations >= previous.Operations && d.Bytes >= previous.Bytes
		c.ran = max(c.ran, d.Seconds-previous.Seconds)
	}
}

// missing returns the error for an output without a complete document.
func (d *documents) missing() error {
	switch {
	case d.killedLine > 0:
		return &parse.IncompleteError{Reason: parse.Killed, Line: d.killedLine, Detail: "fio was told to stop, and there is no complete report"}
	case d.cut || d.line == 0:
		return &parse.IncompleteError{Reason: parse.Truncated, Line: d.line, Detail: "the output ends before the JSON document is complete"}
	}
	return &parse.SyntaxError{Line: d.line, Want: "a JSON document, which begins with {", Found: "the end"}
}

func (d *documents) warnings() []result.Warning {
	noted := &result.Result{}
	d.notes.AppendTo(noted)
	if d.complete > 1 {
		noted.Warn(result.Warning{
			Code: result.WarnSnapshots, Line: d.lastLine,
			Message: fmt.Sprintf("the output has %d reports; the last one, which begins here, was used", d.complete),
		})
	}
	return noted.Warnings
}
