package fio

import (
	"bytes"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// splitText returns where runs begin in a text with the plain output of one or several runs.
func splitText(text []byte) []int {
	var starts []int
	run := newTextRun()
	index := 0
	for line := range bytes.Lines(text) {
		if start, begins := run.take(bytes.TrimRight(line, "\r\n"), index); begins {
			starts = append(starts, start)
		}
		index += len(line)
	}
	return starts
}

// textRun is what the plain output of one run showed so far.
type textRun struct {
	begun      bool
	servers    bool
	heads      map[string]bool    // by name and group
	reports    map[string]printed // the last reports, by name, group and process
	summarised bool               // whether the summary of a group followed them

	key    string // of the current report
	offset int    // the offset of that report
}

// printed is the first direction of a report.
type printed struct {
	milliseconds int64
	line         string
}

func newTextRun() *textRun {
	return &textRun{heads: map[string]bool{}, reports: map[string]printed{}}
}

// take takes the line at an offset. If the line shows that a run has begun, it returns the offset of the first line
// of that run, and forgets the run before.
//
// fio prints the heads of all jobs before the first report. A report behind a summary is a later one of the same
// run only if it is about the same process, and about a longer time.
func (r *textRun) take(line []byte, index int) (start int, begins bool) {
	server, rest := cutServer(line)
	switch {
	case len(rest) == 0 && server != "":
		begins = r.begin(len(r.reports) > 0)
		r.servers = true
		return index, begins
	case server != "":
		r.servers = true
	}
	line = bytes.TrimSpace(rest)
	if name, group, ok := bytes.Cut(line, []byte(": (g=")); ok {
		begins = r.begin(len(r.reports) > 0)
		if group, _, _ = bytes.Cut(group, []byte(")")); len(r.heads) < maxJobs {
			r.heads[string(name)+"/"+string(group)] = true
		}
		return index, begins
	}
	if name, rest, ok := bytes.Cut(line, []byte(": (groupid=")); ok {
		return index, r.report(string(name), rest, index)
	}
	if bytes.HasPrefix(line, []byte("Run status group ")) {
		r.summarised = true
	}
	return r.direction(line)
}

// begin begins the first run, or another one if the current one has ended. It returns whether it did.
func (r *textRun) begin(ended bool) bool {
	begins := ended || !r.begun
	if begins {
		*r = *newTextRun()
		r.begun = true
	}
	return begins
}

// report takes the first line of a report. It returns whether the report is that of another run.
func (r *textRun) report(name string, rest []byte, index int) bool {
	group, rest, _ := bytes.Cut(rest, []byte(","))
	_, pid, _ := bytes.Cut(rest, []byte("pid="))
	pid, _, _ = bytes.Cut(pid, []byte(":"))
	job := name + "/" + string(group)
	key := job + "/" + string(pid)
	_, again := r.reports[key]
	begins := r.begin(r.summarised && !again && !r.servers && !r.starts(job))
	r.key, r.offset = key, index
	if !again && len(r.reports) < maxJobs {
		r.reports[key] = printed{}
	}
	return begins
}

// starts reports whether a job with a head has no report yet, as in a later group of the same run.
func (r *textRun) starts(job string) bool {
	if !r.heads[job] {
		return false
	}
	for key := range r.reports {
		if len(key) > len(job) && key[:len(job)+1] == job+"/" {
			return false
		}
	}
	return true
}

// direction takes a line within a report. The first direction shows whether an earlier report of the same process
// is one of the same run.
func (r *textRun) direction(line []byte) (start int, begins bool) {
	i := bytes.LastIndex(line, []byte("msec"))
	if r.key == "" || i < 0 {
		return 0, false
	}
	digits := i
	for digits > 0 && line[digits-1] >= '0' && line[digits-1] <= '9' {
		digits--
	}
	milliseconds, ok := parse.Int(line[digits:i])
	if !ok {
		return 0, false
	}
	key, now := r.key, printed{milliseconds, string(line)}
	before := r.reports[key]
	start = r.offset
	ended := !r.servers && (before.milliseconds > now.milliseconds || before.milliseconds == now.milliseconds && before.line != now.line)
	begins = r.begin(ended)
	r.reports[key], r.key = now, ""
	return start, begins
}
