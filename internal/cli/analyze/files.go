package analyze

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/result"
)

// maxFile is the most bytes of a file. A run of an hour with a line for each second has less than 1 MiB, and
// one of fio with all its histograms some MiB.
const maxFile = 64 << 20

// fileReader reads the outputs of engines. It leaves out copies of an output within a configuration.
type fileReader struct {
	metric    metric
	direction string
	study     *study
	owners    map[[sha256.Size]byte]string // maps the hash of an output to the name of its configuration
	places    int                          // the number of outputs of the current configuration, including copies
}

// studyOfFiles reads runs from files. A file may have the outputs of several runs.
func studyOfFiles(o *options) (*study, error) {
	m, err := lookupMetric(o.metric)
	if err != nil {
		return nil, err
	}
	candidates, err := o.candidates.list()
	if err != nil {
		return nil, err
	}
	s := &study{source: "files", metric: m.name, unit: m.unit, higherIsBetter: m.higherIsBetter, paired: o.paired}
	reader := fileReader{metric: m, direction: o.direction, study: s, owners: map[[sha256.Size]byte]string{}}
	if s.baseline, err = reader.configuration(group{o.baselineName, o.baseline}); err != nil {
		return nil, err
	}
	pairs := reader.places
	for _, g := range candidates {
		if g.name == o.baselineName {
			return nil, exit.UsageErrorf("baseline and candidate are both named %s", g.name)
		}
		c, err := reader.configuration(g)
		if err != nil {
			return nil, err
		}
		if o.paired && reader.places != pairs {
			return nil, exit.UsageErrorf("--paired: %s has %d runs and %s has %d; pairs need the same number, in the same order",
				o.baselineName, pairs, g.name, reader.places)
		}
		s.candidates = append(s.candidates, c)
	}
	return s, s.checkComparable()
}

func (f *fileReader) configuration(g group) (configuration, error) {
	c := configuration{Name: g.name}
	seen := map[[sha256.Size]byte]string{}
	f.places = 0
	for _, file := range g.files {
		data, err := wholefile.Read(file, nil, maxFile)
		if err != nil {
			return c, err
		}
		for _, p := range parts(data) {
			f.places++
			if err := f.add(&c, seen, file, p); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (f *fileReader) add(c *configuration, seen map[[sha256.Size]byte]string, file string, p part) error {
	source := position(file, p.line())
	// A copy of an output does not count as a run.
	sum := sha256.Sum256(p.data)
	if first, ok := seen[sum]; ok {
		f.study.warn("%s has the same content as %s, so it counts once", source, first)
		return nil
	}
	r, err := f.run(file, p)
	if err != nil {
		return err
	}
	if owner, ok := f.owners[sum]; ok {
		f.study.warn("%s is a run of both %s and %s, so it shows no difference between them", source, owner, c.Name)
	}
	seen[sum], f.owners[sum] = source, c.Name
	r.Source = source
	r.Block = strconv.Itoa(f.places) // The position in the list of outputs; copies that are left out have positions, too.
	c.Runs = append(c.Runs, r)
	return nil
}

func (f *fileReader) run(file string, p part) (run, error) {
	if isObject(p.data) {
		return run{}, exit.UsageErrorf("%s has Kubernetes objects, not the output of a tool: analyze judges one exported sweep of design Interleaved; for other exports, use kubectl cephtune report -f %s, or kubectl cephtune compare with two of them", file, file)
	}
	res, err := engine.Parse(bytes.NewReader(p.data), engine.Options{})
	if err != nil {
		return run{}, located(file, p.before, err)
	}
	r, err := f.metric.read(res, f.direction)
	if err != nil {
		return run{}, fmt.Errorf("%s: %w", position(file, p.line()), err)
	}
	for _, w := range res.Warnings {
		line := w.Line
		if line > 0 {
			line += p.before
		}
		f.study.warn("%s: %s", position(file, line), describe(w))
	}
	return r, nil
}

func describe(w result.Warning) string {
	if w.Code == result.WarnUnrecognizedLine && w.Line > 0 {
		return fmt.Sprintf("not a line of the tool, ignored: %q", w.Message)
	}
	return fmt.Sprintf("%s (%s)", w.Message, w.Code)
}

// located begins an error with the file name and, if the error has a line number, with that number after the
// name, as compilers do.
func located(file string, before int, err error) error {
	if syntax, ok := errors.AsType[*engine.SyntaxError](err); ok {
		moved := *syntax
		moved.Line = 0
		return fmt.Errorf("%s: %w", position(file, syntax.Line+before), &moved)
	}
	if incomplete, ok := errors.AsType[*engine.IncompleteError](err); ok {
		moved := *incomplete
		moved.Line = 0
		return fmt.Errorf("%s: no result: %w", position(file, incomplete.Line+before), &moved)
	}
	return fmt.Errorf("%s: %w", file, err)
}

func position(file string, line int) string {
	if line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

// checkComparable refuses runs that no ratio can compare.
func (s *study) checkComparable() error {
	first := s.baseline.Runs[0]
	for _, c := range s.all() {
		for _, r := range c.Runs {
			switch {
			case r.Directions != first.Directions:
				return fmt.Errorf("%s has %s and %s has %s: they cannot be compared; choose with --direction", first.Source, first.Directions, r.Source, r.Directions)
			case r.LatencyKind != first.LatencyKind:
				return fmt.Errorf("%s has %s latencies and %s %s latencies: they cannot be compared", first.Source, first.LatencyKind, r.Source, r.LatencyKind)
			case !(r.Value > 0):
				return fmt.Errorf("%s: its %s is %v, which has no ratio", r.Source, s.metric, r.Value)
			}
		}
	}
	return nil
}
