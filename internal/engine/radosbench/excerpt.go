package radosbench

import (
	"bytes"
	"io"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// ExcerptFormat is the name of the format of some lines of summaries.
const ExcerptFormat = "rados-bench-lines"

// detectExcerpt recognises lines of summaries, as of `rados bench … | grep Bandwidth` in a loop, or the last lines of an
// output. The whole summary has the number of operations and, at its end, the least latency.
func detectExcerpt(head []byte) bool {
	whole := containsAny(head, "Total writes made:", "Total reads made:") && bytes.Contains(head, []byte("Min latency"))
	return bytes.Contains(head, []byte("Bandwidth (MB/sec):")) && !whole && !containsAny(head, "Cur ops", "Maintaining ", "elapsed:")
}

// excerptLine returns the label and the value of a line of a summary. A name that grep or a script printed may
// precede the label.
func excerptLine(line []byte) (label string, value float64, ok bool) {
	for _, label := range []string{
		"Stddev Bandwidth", "Max bandwidth", "Min bandwidth", "Stddev IOPS", "Max IOPS", "Min IOPS", "Stddev Latency",
		"Bandwidth", "Average IOPS", "Average Latency", "Max latency",
	} {
		i := bytes.Index(line, []byte(label))
		if i < 0 {
			continue
		}
		for field, rest := parse.Field(line[i+len(label):]); field != nil; field, rest = parse.Field(rest) {
			if value, ok := parse.Float(field); ok { // Luminous prints "Average IOPS" without a colon.
				return label, value, true
			}
		}
		return "", 0, false
	}
	return "", 0, false
}

// splitExcerpt returns where the lines of each run begin: a label that was there before begins another run.
func splitExcerpt(text []byte) []int {
	seen := map[string]bool{}
	return parse.SplitLines(text, func(line []byte) bool {
		label, _, ok := excerptLine(line)
		if !ok {
			return false
		}
		begins := seen[label] || len(seen) == 0
		if begins {
			clear(seen)
		}
		seen[label] = true
		return begins
	})
}

func excerptParts(r io.Reader, _ parse.Options) ([]parse.Part, error) {
	lines := parse.NewLines(r)
	figures := &parse.Figures{}
	for lines.Next() {
		label, value, ok := excerptLine(lines.Bytes())
		if !ok {
			continue
		}
		switch label {
		case "Bandwidth":
			figures.BytesPerSecond = value * mebibyte
		case "Average IOPS":
			figures.OperationsPerSecond = value
		case "Average Latency":
			figures.MeanLatencySeconds = value
		case "Max latency":
			figures.MaxLatencySeconds = value
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return []parse.Part{parse.SomeFigures(result.ToolRadosBench, ExcerptFormat, figures)}, nil
}

// parseExcerpt refuses lines as the result of a run.
func parseExcerpt(r io.Reader, options parse.Options) (*result.Result, error) {
	return parse.OnlyPart(excerptParts(r, options))
}
