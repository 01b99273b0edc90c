// Package progress formats and parses those lines of a runner's log that have the current speed of its
// engine. With these lines, a reader of the log needs no connection to the runner.
package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// magic begins the text of a line, after any prefix that the log adds. Change its number when the format
// changes, because the runner and the command line may have different versions.
const magic = "cephtune-progress-1"

// Line is one line of a log, with the current speed of a client's engine.
type Line struct {
	// Task is the ID of the task, such as r1-write-4m.
	Task string
	// Elapsed is the time for which the engine has run, including its ramp.
	Elapsed time.Duration
	Rate    parse.Rate
}

// String returns the line, which both [Parse] and people can read.
func (l Line) String() string {
	text := fmt.Sprintf("%s task=%s seconds=%.0f MiB/s=%s IOPS=%s", magic, l.Task, l.Elapsed.Seconds(),
		number(l.Rate.BytesPerSecond/(1<<20)), number(l.Rate.OperationsPerSecond))
	if l.Rate.MeanLatencySeconds > 0 {
		text += " latencyMs=" + number(l.Rate.MeanLatencySeconds*1000)
	}
	return text
}

// number formats a number with four significant digits. A rate over one second is less accurate than that.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// Parse parses a line of a log, and reports whether the line has this format. It ignores unknown words,
// which later versions may add.
func Parse(text string) (Line, bool) {
	_, text, found := strings.Cut(text, magic+" ")
	if !found {
		return Line{}, false
	}
	var l Line
	var seconds, mebibytes, milliseconds float64
	figures := map[string]*float64{"seconds": &seconds, "MiB/s": &mebibytes, "IOPS": &l.Rate.OperationsPerSecond, "latencyMs": &milliseconds}
	missing := map[string]bool{"task": true, "seconds": true, "MiB/s": true, "IOPS": true}
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		delete(missing, key)
		if key == "task" {
			l.Task = value
			continue
		}
		if figure := figures[key]; figure != nil {
			var ok bool
			if *figure, ok = parse.Float([]byte(value)); !ok {
				return Line{}, false
			}
		}
	}
	l.Elapsed = time.Duration(seconds * float64(time.Second))
	l.Rate.BytesPerSecond, l.Rate.MeanLatencySeconds = mebibytes*(1<<20), milliseconds/1000
	return l, len(missing) == 0 && l.Task != ""
}
