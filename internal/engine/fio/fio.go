// Package fio makes the command lines of phases of fio, and reads the output of fio 3: JSON and
// JSON+, the plain "normal" output, and the logs of --write_bw_log, --write_iops_log,
// --write_lat_log and --write_hist_log, as fio's stat.c and iolog.c write them and its HOWTO
// describes them.
//
// Runs should request JSON+: of all reports, only JSON+ has histograms, which are needed to combine
// the percentiles of several clients.
package fio

import (
	"bytes"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// These are the names of the formats.
const (
	JSONFormat = "fio-json" // JSON+ is the same format plus bins.
	TextFormat = "fio-normal"
	LogFormat  = "fio-log"
)

// Formats lists the formats of fio.
func Formats() []parse.Format {
	return []parse.Format{
		// JSON comes first: --output-format=normal,json writes the head of the plain output
		// before the JSON.
		{Name: JSONFormat, Tool: result.ToolFIO, Detect: detectJSON, Parse: ParseJSON, NewLive: newLive, NewKeeper: newKeeper, AttachLogs: attachLogs},
		{Name: TextFormat, Tool: result.ToolFIO, Detect: detectText, Parse: ParseText, NewLive: newLive},
		{Name: LogFormat, Tool: result.ToolFIO, Detect: detectLog, Parse: refuseLog},
	}
}

func detectJSON(head []byte) bool { return bytes.Contains(head, []byte(`"fio version"`)) }

func detectText(head []byte) bool {
	return bytes.Contains(head, []byte(": (groupid=")) || bytes.Contains(head, []byte(": (g="))
}
