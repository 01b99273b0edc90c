package fio

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// ParseJSON reads the output of fio --output-format=json or json+, of fio 2.2 or later.
//
// Messages of fio around and within the document become warnings. With --status-interval, an output has
// several cumulative documents, and the last complete one counts. ParseJSON adds up the jobs that ran together,
// and refuses an output whose jobs did not. [parse.Format] describes the errors.
func ParseJSON(r io.Reader, options parse.Options) (*result.Result, error) {
	return parse.OnlyPart(jsonParts(r, options))
}

func jsonParts(r io.Reader, options parse.Options) ([]parse.Part, error) {
	documents, err := readDocuments(r)
	if err != nil {
		return nil, err
	}
	if documents.complete == 0 {
		return nil, documents.missing()
	}
	report, err := readReport(documents.last, documents.lastLine)
	if err != nil {
		return nil, err
	}
	documents.otherRun(report)
	report.warnings = documents.warnings()
	parts, err := report.parts(options)
	for i := range parts {
		parts[i].Result, parts[i].Err = documents.check(parts[i].Result, parts[i].Err)
	}
	return parts, err
}

// readReport reads a document that begins on the given line.
func readReport(document []byte, line int) (*report, error) {
	r := &report{format: JSONFormat}
	d := &decoder{Decoder: parse.NewJSONDecoder(document), document: document, firstLine: line}
	if err := d.report(r); err != nil {
		return nil, err
	}
	if !isVersion([]byte(r.version)) {
		return nil, &parse.SyntaxError{Line: line, Want: "the JSON of fio 2 or 3", Found: parse.Quote([]byte(r.version))}
	}
	for _, j := range append(slices.Clone(r.jobs), r.sum) {
		if j == nil {
			continue
		}
		for _, name := range []result.DirectionName{result.Read, result.Write, result.Trim, result.Mixed} {
			if d := j.directions[name]; d != nil {
				if err := d.finish(r.version); err != nil {
					return nil, &parse.SyntaxError{Line: j.line, Want: err.Error(), Found: "a report of " + parse.Quote([]byte(r.version))}
				}
			}
		}
	}
	return r, nil
}

// check returns a part, or an error that follows from fio's messages or from the end of the output: a signal
// stopped fio, or a later report was cut off.
func (d *documents) check(res *result.Result, err error) (*result.Result, error) {
	var incomplete *parse.IncompleteError
	if err != nil && !errors.As(err, &incomplete) {
		return nil, err
	}
	switch {
	case d.killedLine > 0:
		return nil, killed(d.killedLine, res, incomplete)
	case err != nil:
		return nil, err
	case d.cut:
		return nil, &parse.IncompleteError{
			Reason: parse.Truncated, Line: d.line, Partial: res,
			Detail: "the output ends within a report; an earlier report is complete, but does not cover the whole run",
		}
	}
	return res, nil
}

// killed returns the error for a run that a signal stopped. The error replaces inner, which may be a
// consequence of the signal, such as a short duration.
func killed(line int, res *result.Result, inner *parse.IncompleteError) error {
	if inner != nil {
		res = inner.Partial
	}
	return &parse.IncompleteError{Reason: parse.Killed, Line: line, Detail: "fio was told to stop", Partial: res}
}

// decoder reads one document. The errors of its methods contain the line number.
type decoder struct {
	*jsontext.Decoder
	document  []byte
	firstLine int

	// countedLines is the number of lines in the first countedBytes of the document. The method line
	// continues there, because counting from the start each time would take quadratic time for many jobs.
	countedBytes, countedLines int
}

func (d *decoder) failed(err error) error { return parse.JSONError(err, d.document, d.firstLine) }

// line returns the line number of the decoder's position.
func (d *decoder) line() int {
	offset := int(d.InputOffset())
	d.countedLines += bytes.Count(d.document[d.countedBytes:offset], []byte("\n"))
	d.countedBytes = offset
	return d.firstLine + d.countedLines
}

func (d *decoder) unexpected(want string, found []byte) error {
	return &parse.SyntaxError{Line: d.line(), Want: want, Found: parse.Quote(found)}
}

// object reads a JSON object. For each member of the object, it calls the given function with the member's
// name. The function must read the member's value. The name is valid until the function reads.
func (d *decoder) object(member func(name []byte) error) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return d.failed(err)
		}
		if err := member(parse.Unquoted(name)); err != nil {
			return err
		}
	}
	return d.close()
}

// array reads a JSON array. It calls the given function once for each element, and the function must read that
// element.
func (d *decoder) array(element func() error) error {
	if err := d.open('[', "an array"); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	return d.close()
}

func (d *decoder) open(kind jsontext.Kind, want string) error {
	if d.PeekKind() != kind {
		value, err := d.ReadValue()
		if err != nil {
			return d.failed(err)
		}
		return d.unexpected(want, value)
	}
	_, err := d.ReadToken()
	if err != nil {
		return d.failed(err)
	}
	return nil
}

func (d *decoder) close() error {
	if _, err := d.ReadToken(); err != nil {
		return d.failed(err)
	}
	return nil
}

func (d *decoder) skip() error {
	if err := d.SkipValue(); err != nil {
		return d.failed(err)
	}
	return nil
}

func (d *decoder) text(target *string) error {
	token, err := d.ReadToken()
	if err != nil {
		return d.failed(err)
	}
	if token.Kind() != '"' {
		return d.unexpected("a string", []byte(token.String()))
	}
	*target = token.String()
	return nil
}

// int reads a whole number that is not negative.
func (d *decoder) int(target *int64) error {
	value, err := d.ReadValue()
	if err != nil {
		return d.failed(err)
	}
	n, ok := parse.Int(value)
	if !ok {
		return d.unexpected("a whole number, not negative, of at most 18 digits", value)
	}
	*target = n
	return nil
}

// seconds reads a number of ns or µs, and converts it to seconds.
func (d *decoder) seconds(target *float64, unitsPerSecond float64) error {
	value, err := d.ReadValue()
	if err != nil {
		return d.failed(err)
	}
	units, ok := parse.Float(value)
	if !ok {
		return d.unexpected("a number, not negative", value)
	}
	*target = units / unitsPerSecond
	return nil
}

func (d *decoder) report(r *report) error {
	global := map[string]map[string]string{} // by client; "" for all
	err := d.object(func(name []byte) error {
		switch string(name) {
		case "fio version":
			return d.text(&r.version)
		case "timestamp_ms":
			return d.int(&r.milliseconds)
		case "global options":
			return d.globalOptions(global)
		case "jobs", "client_stats": // Servers of fio report to a client, which prints "client_stats".
			served := string(name) == "client_stats"
			return d.array(func() error {
				if len(r.jobs) == maxJobs {
					return d.unexpected(fmt.Sprintf("at most %d jobs", maxJobs), []byte("more"))
				}
				j := &job{line: d.line(), options: map[string]string{}, directions: map[result.DirectionName]*direction{}}
				r.jobs = append(r.jobs, j)
				err := d.job(j)
				j.sum = served && j.name == "All clients"
				return err
			})
		}
		return d.skip()
	})
	if err == nil {
		err = d.nothingElse()
	}
	if i := slices.IndexFunc(r.jobs, func(j *job) bool { return j.sum }); i >= 0 && len(r.jobs) > 1 {
		r.sum = r.jobs[i]
		r.jobs = slices.DeleteFunc(r.jobs, func(j *job) bool { return j.sum })
	}
	for _, j := range r.jobs {
		common := global[j.client]
		if common == nil {
			common = global[""]
		}
		// Without any option, the output was shortened, or an old fio wrote it.
		j.load = result.Job{Name: j.name, Options: j.options, Global: common, Partial: len(j.options)+len(common) == 0}
		j.options = maps.Clone(common)
		if j.options == nil {
			j.options = map[string]string{}
		}
		maps.Copy(j.options, j.load.Options)
	}
	return err
}

// globalOptions reads the options of all jobs: an object, or an array with an object for each client.
func (d *decoder) globalOptions(byClient map[string]map[string]string) error {
	read := func() error {
		options := map[string]string{}
		if err := d.options(options); err != nil {
			return err
		}
		client := options["hostname"]
		delete(options, "hostname")
		byClient[client] = options
		return nil
	}
	if d.PeekKind() == '[' {
		return d.array(read)
	}
	err := read()
	for client, options := range byClient { // The object holds for all clients.
		delete(byClient, client)
		byClient[""] = options
	}
	return err
}

// nothingElse returns an error if more text follows the object of a document, as on the same line.
func (d *decoder) nothingElse() error {
	value, err := d.ReadValue()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return d.failed(err)
	}
	return d.unexpected("the end of the document", value)
}

// options reads an object of options and their values. fio prints "" or null for an option without a value.
// Values of another kind are omitted.
func (d *decoder) options(options map[string]string) error {
	return d.object(func(name []byte) error {
		key := string(name)
		switch d.PeekKind() {
		case '"':
		case 'n':
			options[key] = ""
			return d.skip()
		default:
			return d.skip()
		}
		var value string
		if err := d.text(&value); err != nil {
			return err
		}
		options[key] = value
		return nil
	})
}

func (d *decoder) job(j *job) error {
	return d.object(func(name []byte) error {
		switch string(name) {
		case "jobname":
			return d.text(&j.name)
		case "groupid":
			var group int64
			err := d.int(&group)
			j.group = int(group)
			return err
		case "elapsed":
			return d.int(&j.elapsed)
		case "eta":
			value, err := d.ReadValue()
			if err != nil {
				return d.failed(err)
			}
			seconds, ok := parse.Int(value)
			j.runs = ok && seconds > 0
			return nil
		case "job_start": // since fio 3.36
			return d.int(&j.startMilliseconds)
		case "error":
			return d.errorCode(&j.errorCode)
		case "total_err":
			return d.int(&j.errorCount)
		case "job options":
			return d.options(j.options)
		case "read", "write", "trim", "mixed":
			dir := &direction{}
			j.directions[result.DirectionName(name)] = dir
			return d.direction(dir)
		case "hostname":
			return d.text(&j.client)
		case "sync":
			dir := &direction{}
			if err := d.direction(dir); err != nil {
				return err
			}
			dir.count()
			j.syncLatency = dir.Latency
			return nil
		}
		return d.skip()
	})
}

// errorCode reads an errno without its sign. A value that is not a number becomes 1.
func (d *decoder) errorCode(target *int64) error {
	value, err := d.ReadValue()
	if err != nil {
		return d.failed(err)
	}
	if string(value) != "0" {
		*target = 1
		digits := value
		if value[0] == '-' {
			digits = value[1:]
		}
		if n, ok := parse.Int(digits); ok && n > 0 {
			*target = n
		}
	}
	return nil
}

// direction reads the figures of one direction. It ignores the rates, which follow from the totals.
func (d *decoder) direction(dir *direction) error {
	return d.object(func(name []byte) error {
		switch string(name) {
		case "io_bytes":
			return d.int(&dir.Bytes)
		case "io_kbytes":
			dir.inBytes = true
		case "total_ios":
			dir.counted = true
			return d.int(&dir.Operations)
		case "short_ios":
			return d.int(&dir.shortIOs)
		case "drop_ios":
			return d.int(&dir.droppedIOs)
		case "runtime":
			var milliseconds int64
			err := d.int(&milliseconds)
			dir.Seconds = float64(milliseconds) / 1e3
			return err
		case "slat_ns", "clat_ns", "lat_ns":
			return d.latency(dir.latency(string(name[:len(name)-3])), 1e9)
		case "slat", "clat", "lat": // In fio 2, latencies are in µs.
			if d.PeekKind() == '{' {
				return d.latency(dir.latency(string(name)), 1e6)
			}
		}
		return d.skip()
	})
}

// latency reads the figures of one latency. If the latency has no samples, *target remains nil. fio prints zeros
// for such a latency, for example with gtod_reduce.
func (d *decoder) latency(target **result.Latency, unitsPerSecond float64) error {
	count := int64(uncounted)
	var mean, stddev, minimum, maximum float64
	l := &result.Latency{}
	err := d.object(func(name []byte) error {
		switch string(name) {
		case "N":
			return d.int(&count)
		case "mean":
			return d.seconds(&mean, unitsPerSecond)
		case "stddev":
			return d.seconds(&stddev, unitsPerSecond)
		case "min":
			return d.seconds(&minimum, unitsPerSecond)
		case "max":
			return d.seconds(&maximum, unitsPerSecond)
		case "percentile":
			return d.percentiles(l, unitsPerSecond)
		case "bins":
			if unitsPerSecond == 1e9 { // The bins of fio 2 are others.
				return d.bins(l)
			}
		}
		return d.skip()
	})
	if err != nil || count == 0 || maximum == 0 && count == uncounted {
		return err
	}
	l.Moments = result.MomentsFromStddev(count, mean, stddev)
	if count == uncounted {
		l.Moments = result.MomentsFromStddev(2, mean, stddev) // The sum of squares is that of one degree of freedom.
		l.Moments.Count = uncounted
	}
	l.Moments.MinSeconds, l.Moments.MaxSeconds = &minimum, &maximum
	if l.Histogram != nil {
		l.Percentiles = nil // They follow from the histogram.
	}
	*target = l
	return nil
}

// percentiles reads an object with a latency for each percentage. fio 2 fills the object with 0 %.
func (d *decoder) percentiles(latency *result.Latency, unitsPerSecond float64) error {
	err := d.object(func(name []byte) error {
		percent, ok := parse.Float(name)
		if !ok {
			return d.unexpected("a percentile", name)
		}
		var units int64
		if err := d.int(&units); err != nil || percent == 0 {
			return err
		}
		latency.Percentiles = append(latency.Percentiles, result.Percentile{
			Percent: percent, Seconds: float64(units) / unitsPerSecond,
			AtLeast: units == result.BinNanoseconds(result.NumBins-1),
		})
		return nil
	})
	slices.SortFunc(latency.Percentiles, func(a, b result.Percentile) int { return cmp.Compare(a.Percent, b.Percent) })
	latency.Percentiles = slices.CompactFunc(latency.Percentiles, func(a, b result.Percentile) bool { return a.Percent == b.Percent })
	return err
}

// usualBins is the number of bins for which memory is allocated in advance. Bins are most of the output, so
// this saves time.
const usualBins = 256

// bins reads an object with a count for each bin. The name of a bin is a latency in nanoseconds.
func (d *decoder) bins(latency *result.Latency) error {
	bins := make([]result.Bin, 0, usualBins)
	err := d.object(func(name []byte) error {
		nanoseconds, ok := parse.Int(name)
		if !ok {
			return d.unexpected("nanoseconds as the name of a bin", name)
		}
		value, err := d.ReadValue()
		if err != nil {
			return d.failed(err)
		}
		count, ok := parse.Int(value)
		if !ok || count == 0 {
			return d.unexpected("the count of a bin", value)
		}
		bins = append(bins, result.Bin{Nanoseconds: nanoseconds, Count: count})
		return nil
	})
	if err != nil {
		return err
	}
	if len(bins) == 0 {
		return nil
	}
	latency.Histogram, err = result.NewHistogram(bins)
	if err != nil {
		return d.unexpected("a histogram of fio", []byte(err.Error()))
	}
	return nil
}
