// Package fio makes the command lines of phases that run fio, and reads the output of fio 2 and 3. It reads JSON,
// JSON+, the plain output ("normal"), and the logs of --write_bw_log, --write_iops_log and --write_lat_log with
// windows of a second. The parsers follow fio's HOWTO, stat.c and iolog.c.
//
// Runs should request JSON+, because only this report has histograms. Combining the percentiles of several
// clients needs histograms.
package fio

import (
	"bytes"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// These are the names of the formats.
const (
	JSONFormat = "fio-json" // for JSON and JSON+
	TextFormat = "fio-normal"
	LogFormat  = "fio-log"
	// TerseFormat and ExcerptFormat have a few figures of a run.
	TerseFormat   = "fio-terse"
	ExcerptFormat = "fio-lines"
)

// Formats lists the output formats of fio.
func Formats() []parse.Format {
	return []parse.Format{
		// JSON comes first, because --output-format=normal,json writes plain lines before the JSON.
		{
			Name: JSONFormat, Tool: result.ToolFIO, Words: []string{"fio version"}, Detect: detectJSON, Parse: ParseJSON, Parts: jsonParts, Split: splitJSON, NewLive: newLive,
			NewRestorer: newRestorer, AttachLogs: attachLogs,
		},
		{Name: TextFormat, Tool: result.ToolFIO, Detect: detectText, Parse: ParseText, Parts: textParts, Split: splitText, NewLive: newLive},
		{Name: LogFormat, Tool: result.ToolFIO, Detect: detectLog, Parse: refuseLog},
		{Name: TerseFormat, Tool: result.ToolFIO, Detect: detectTerse, Parse: parseTerse, Parts: terseParts, Split: splitTerse},
		{Name: ExcerptFormat, Tool: result.ToolFIO, Detect: detectExcerpt, Parse: parseExcerpt, Parts: excerptParts, Split: splitExcerpt},
		generated(),
	}
}

func detectJSON(head []byte) bool { return bytes.Contains(head, []byte(`"fio version"`)) }

func detectText(head []byte) bool {
	return bytes.Contains(head, []byte(": (groupid=")) || bytes.Contains(head, []byte(": (g="))
}
