package analyze

import (
	"cmp"
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
	direction, job string
	summary        bool // whether several parts of a run are wanted, each on its own
	study          *study
	owners         map[[sha256.Size]byte]string // maps the hash of an output to the name of its configuration
	places         int                          // the number of outputs of the current configuration, including copies
}

func newFileReader(o *options, s *study) *fileReader {
	return &fileReader{direction: o.direction, job: o.job, summary: o.summarised, study: s, owners: map[[sha256.Size]byte]string{}}
}

// output is a part of a run that was read from a file.
type output struct {
	engine.Part

	source  string // its file, or file and line
	block   string
	several bool // whether the run has other parts
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
	reader := newFileReader(o, s)
	if s.baseline, err = reader.configuration(m, group{o.baselineName, o.baseline}); err != nil {
		return nil, err
	}
	pairs := reader.places
	for _, g := range candidates {
		if g.name == o.baselineName {
			return nil, exit.UsageErrorf("baseline and candidate are both named %s", g.name)
		}
		c, err := reader.configuration(m, g)
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

func (f *fileReader) configuration(m metric, g group) (configuration, error) {
	outputs, err := f.outputs(g)
	if err != nil {
		return configuration{Name: g.name}, err
	}
	if err := checkParts(outputs); err != nil {
		return configuration{Name: g.name}, err
	}
	c, err := m.configuration(g.name, outputs, f.direction)
	for i := range c.Runs {
		if f.study.paired {
			c.Runs[i].Block = outputs[i].block
		}
	}
	return c, err
}

// configuration reduces outputs to the values of a metric.
func (m metric) configuration(name string, outputs []output, direction string) (configuration, error) {
	c := configuration{Name: name}
	for _, o := range outputs {
		r, err := m.read(o.Part, direction)
		if err != nil {
			return c, fmt.Errorf("%s: %w", o.source, err)
		}
		r.Source = o.source
		c.Runs = append(c.Runs, r)
	}
	return c, nil
}

// outputs reads the files of a group.
func (f *fileReader) outputs(g group) ([]output, error) {
	var all []output
	seen := map[[sha256.Size]byte]string{}
	f.places = 0
	var absent error
	without := 0
	for _, file := range g.files {
		data, err := wholefile.Read(file, nil, maxFile)
		if err != nil {
			return nil, err
		}
		if isObject(data) {
			return nil, exit.UsageErrorf("%s has Kubernetes objects, not the output of a tool: analyze judges one exported sweep of design Interleaved; for other exports, use kubectl "+
				"cephtune report -f %s, or kubectl cephtune compare with two of them", file, file)
		}
		for _, run := range engine.Outputs(data) {
			f.places++ // The position in the list of outputs; copies that are left out have positions, too.
			source := place{file, run.Place, run.Before}
			parts, err := f.parts(source, run)
			if _, other := errors.AsType[*engine.NoJobError](err); other {
				absent = cmp.Or(absent, err)
				without++
				continue
			}
			if err != nil {
				return nil, err
			}
			if parts[0].Figures == nil && f.copied(seen, g.name, source.String(), run) { // A few figures may well be equal.
				continue
			}
			f.warn(source, run, parts)
			chosen, err := f.choose(source, parts)
			if err != nil {
				absent = cmp.Or(absent, err)
				without++
			}
			all = append(all, chosen...)
		}
	}
	switch {
	case len(all) == 0:
		return nil, absent
	case without > 0:
		f.study.warn("%s: runs without the wanted job or direction, which are left out: %d", g.name, without)
	}
	return all, nil
}

// copied reports whether an output is a copy of another one of the same configuration, which does not count.
func (f *fileReader) copied(seen map[[sha256.Size]byte]string, name, source string, run engine.Output) bool {
	sum := sha256.Sum256(run.Text)
	if first, ok := seen[sum]; ok {
		f.study.warn("%s has the same content as %s, so it counts once", source, first)
		return true
	}
	if owner, ok := f.owners[sum]; ok {
		f.study.warn("%s is a run of both %s and %s, so it shows no difference between them", source, owner, name)
	}
	seen[sum], f.owners[sum] = source, name
	return false
}

// parts parses an output. The summary shows a run that ended early, with a warning.
func (f *fileReader) parts(source place, run engine.Output) ([]engine.Part, error) {
	parts, err := run.Parts(engine.Options{Job: f.job})
	if err != nil {
		if parts = f.endedEarly(source, err); parts == nil {
			return nil, source.located(err)
		}
	}
	for i := range parts {
		if parts[i].Err == nil {
			continue
		}
		early := f.endedEarly(source, parts[i].Err)
		if early == nil {
			return nil, source.located(parts[i].Err)
		}
		parts[i].Result = early[0].Result
	}
	return parts, nil
}

// warn adds what a reader of the figures of a run has to know.
func (f *fileReader) warn(source place, run engine.Output, parts []engine.Part) {
	if run.Pods {
		f.study.warn("%s: the log has the lines of several pods, each of which is a run of its own; if they ran at the same time, add their figures up", source)
	}
	for _, p := range parts {
		for _, w := range p.Result.Warnings {
			f.study.warn("%s: %s", source.line(w.Line), describe(w))
		}
		for _, d := range p.Result.Directions() {
			if still := idle(d.Series); still >= 1 {
				f.study.warn("%s: %s of %s s had no %ss at all", source, seconds(still), seconds(d.Seconds), d.Name)
			}
		}
	}
}

// idle returns the seconds of a run in which no operation finished.
func idle(s *result.Series) float64 {
	still := 0.0
	if s == nil {
		return 0
	}
	for i, rate := range s.OperationsPerSecond {
		if rate == 0 {
			still += s.EndSeconds[i] - s.StartSeconds[i]
		}
	}
	return still
}

// endedEarly returns the part of a run that was shorter than requested, for a summary; otherwise nil.
func (f *fileReader) endedEarly(source place, err error) []engine.Part {
	incomplete, ok := errors.AsType[*engine.IncompleteError](err)
	if !ok || !f.summary || incomplete.Reason != engine.EndedEarly || incomplete.Partial == nil {
		return nil
	}
	f.study.warn("%s: the run ended early: %s; such a run gets no verdict", source, incomplete.Detail)
	return []engine.Part{{Result: incomplete.Partial}}
}

// choose returns the parts of a run that have the wanted operations. A comparison needs exactly one.
func (f *fileReader) choose(source place, parts []engine.Part) ([]output, error) {
	var chosen []output
	var absent error
	for _, p := range parts {
		if err := hasDirection(p, f.direction); err != nil {
			absent = cmp.Or(absent, err)
			continue
		}
		chosen = append(chosen, output{Part: p, source: source.String(), block: strconv.Itoa(f.places), several: len(parts) > 1})
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%s: %w", source, absent)
	}
	return chosen, nil
}

// checkParts refuses a run with several parts, whose figures cannot be added up.
func checkParts(outputs []output) error {
	for i := 1; i < len(outputs); i++ {
		if o, next := outputs[i-1], outputs[i]; o.block == next.block {
			return exit.UsageErrorf("%s has parts that did not run together: %s; %s; choose one with --job or --direction", o.source, o.Name(), next.Name())
		}
	}
	return nil
}

func describe(w result.Warning) string {
	if w.Code == result.WarnUnrecognizedLine && w.Line > 0 {
		return fmt.Sprintf("not a line of the tool, ignored: %q", w.Message)
	}
	return fmt.Sprintf("%s (%s)", w.Message, w.Code)
}

// place is where an output begins.
type place struct {
	file   string
	inside string // the place within a wrapper, such as data.fio.json of a ConfigMap; "" if there is none
	before int    // the number of lines before the output
}

// String returns the file, and the first line of the output unless the output begins the file.
func (p place) String() string {
	if p.before == 0 {
		return p.line(0)
	}
	return p.line(1)
}

// line returns the position of a line of the output; 0 for none.
func (p place) line(number int) string {
	name := p.file
	if p.inside != "" {
		name += " (" + p.inside + ")"
	}
	if number > 0 {
		name += ":" + strconv.Itoa(number+p.before)
	}
	return name
}

// located begins an error with the file name and, if the error has a line number, with that number after the
// name, as compilers do.
func (p place) located(err error) error {
	if syntax, ok := errors.AsType[*engine.SyntaxError](err); ok {
		moved := *syntax
		moved.Line = 0
		return fmt.Errorf("%s: %w", p.line(syntax.Line), &moved)
	}
	if incomplete, ok := errors.AsType[*engine.IncompleteError](err); ok {
		moved := *incomplete
		moved.Line = 0
		return fmt.Errorf("%s: no result: %w", p.line(incomplete.Line), &moved)
	}
	return fmt.Errorf("%s: %w", p.file, err)
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
