package rbdbench

import (
	"bytes"
	"io"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

func detectExcerpt(head []byte) bool {
	return bytes.Contains(head, []byte("elapsed:")) && bytes.Contains(head, []byte("ops/sec:")) && !detect(head)
}

// splitExcerpt returns where the line of each run begins.
func splitExcerpt(text []byte) []int {
	return parse.SplitLines(text, func(line []byte) bool { return bytes.HasPrefix(line, []byte("elapsed:")) })
}

// excerptParts reads the last line of a run. Its bytes per second are too coarse if they have a unit.
func excerptParts(r io.Reader, _ parse.Options) ([]parse.Part, error) {
	p := &parser{lines: parse.NewLines(r)}
	err := p.lines.Each(func(line []byte) error {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("elapsed:")); ok {
			return p.elapsedLine(rest)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.total == nil || p.total.operations == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Detail: "it reports no operations"}
	}
	return []parse.Part{parse.SomeFigures(result.ToolRBDBench, ExcerptFormat, &parse.Figures{
		OperationsPerSecond: p.total.operationsPerSecond, BytesPerSecond: p.total.bytesPerSecond,
	})}, nil
}

// parseExcerpt refuses the last line as the result of a run.
func parseExcerpt(r io.Reader, options parse.Options) (*result.Result, error) {
	return parse.OnlyPart(excerptParts(r, options))
}
