package analyze

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/loadfacts"
	"github.com/cephtune/cephtune/internal/result"
)

// overview holds the figures of one configuration: all metrics that its outputs have, or only the
// metric of --metric. It is also the JSON form of the summary.
type overview struct {
	SchemaVersion int             `json:"schemaVersion"`
	Source        string          `json:"source"`
	Name          string          `json:"name"`
	Tool          string          `json:"tool"`
	Operations    string          `json:"operations"`
	Clients       int             `json:"clients"`
	Runs          int             `json:"runs"`
	Metrics       []overviewEntry `json:"metrics"`
	Warnings      []string        `json:"warnings"`
	HiddenWaits   []waitEntry     `json:"hiddenWaits,omitempty"`

	doubts map[string][]string // the metrics that cannot show the storage, by reason
}

type overviewEntry struct {
	Metric  string   `json:"metric"`
	Unit    string   `json:"unit"`
	Runs    int      `json:"runs"`
	Mean    float64  `json:"mean"`
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Windows []window `json:"windows"`

	shown unit
}

// overviews is the JSON form of the summary of several workloads.
type overviews struct {
	SchemaVersion int         `json:"schemaVersion"`
	Source        string      `json:"source"`
	Name          string      `json:"name"`
	Workloads     []*overview `json:"workloads"`
}

// summarise writes an overview of the only argument, or one of each workload in it.
func (o *options) summarise(w io.Writer) error {
	reading := &study{}
	outputs, err := newFileReader(o, reading).outputs(group{o.baselineName, o.baseline})
	if err != nil {
		return err
	}
	all := overviews{SchemaVersion: schemaVersion, Source: "files", Name: o.baselineName}
	divided := workloads(outputs)
	for _, same := range divided {
		v, err := o.overview(same)
		if err != nil {
			return err
		}
		if label := same[0].label(); label != "" && (len(divided) > 1 || same[0].several) {
			v.Name += ", " + label
		}
		all.Workloads = append(all.Workloads, v)
	}
	last := all.Workloads[len(all.Workloads)-1]
	for _, v := range all.Workloads[:len(all.Workloads)-1] { // What both warn of is about the whole file.
		v.Warnings = slices.DeleteFunc(v.Warnings, func(text string) bool { return slices.Contains(last.Warnings, text) })
	}
	last.Warnings = append(reading.warnings, last.Warnings...)
	var shown any = all
	if len(all.Workloads) == 1 {
		shown = last
	}
	return terminal.Write(w, o.output, shown, func(p *terminal.Page) {
		for i, v := range all.Workloads {
			if i > 0 {
				p.WriteString("\n")
			}
			v.show(p)
		}
	})
}

// workloads divides outputs into those of each workload. The parts of one run are different workloads. Runs with
// the same directions are the same one if their jobs have the same names or the same options.
func workloads(outputs []output) [][]output {
	var all [][]output
	for _, o := range outputs {
		i := slices.IndexFunc(all, func(others []output) bool { return o.repeats(others[0]) })
		if i < 0 {
			all = append(all, []output{o})
		} else {
			all[i] = append(all[i], o)
		}
	}
	return all
}

func (o output) repeats(other output) bool {
	a, b := o.Result, other.Result
	if a.Source.Tool != b.Source.Tool || o.directions() != other.directions() ||
		o.Verification != other.Verification || o.several != other.several {
		return false
	}
	named := slices.Equal(o.Jobs, other.Jobs)
	if o.several {
		return named && o.Group == other.Group
	}
	return named || len(loadfacts.Within(loadfacts.Side{Loads: []loadfacts.Load{loadfacts.New("", a), loadfacts.New("", b)}})) == 0
}

// label names a workload among others of the same file.
func (o output) label() string {
	p := o.Part
	if !o.several {
		p.Group = ""
	}
	return p.Name()
}

func (o output) directions() string {
	if o.Figures != nil {
		return "lines, " + string(o.Figures.Direction)
	}
	return joinDirections(o.Result.Directions())
}

// overview returns the figures of a workload.
func (o *options) overview(outputs []output) (*overview, error) {
	all := metrics()
	if o.metricGiven {
		m, err := lookupMetric(o.metric)
		if err != nil {
			return nil, err
		}
		all = []metric{m}
	}
	out := &overview{SchemaVersion: schemaVersion, Source: "files", Name: o.baselineName, Metrics: []overviewEntry{}, Warnings: []string{}, doubts: map[string][]string{}}
	var absent error
	for _, m := range all {
		if out.Tool != "" && !slices.Contains(m.tools, result.Tool(out.Tool)) {
			continue
		}
		if err := out.add(o, m, outputs); err != nil {
			if m.figure != loadfacts.SyncLatency {
				absent = cmp.Or(absent, err)
			}
		}
	}
	if len(out.Metrics) == 0 {
		return nil, absent
	}
	if absent != nil && !slices.ContainsFunc(out.Metrics, func(e overviewEntry) bool { return e.Unit == "seconds" }) {
		out.Warnings = append(out.Warnings, absent.Error())
	}
	for _, doubt := range slices.Sorted(maps.Keys(out.doubts)) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s cannot show the storage: %s", strings.Join(out.doubts[doubt], ", "), doubt))
	}
	return out, nil
}

// add reads a metric of all runs. It returns an error if a run lacks the metric, or if the runs cannot be compared.
func (v *overview) add(o *options, m metric, outputs []output) error {
	s := &study{source: "files", metric: m.name, unit: m.unit, higherIsBetter: m.higherIsBetter}
	c, err := m.configuration(o.baselineName, outputs, o.direction)
	if err != nil {
		return err
	}
	s.baseline = c
	if err := s.checkComparable(); err != nil {
		return err
	}
	s.warnAboutRuns()
	s.warnAboutWindows()
	v.examine(s)
	for _, warning := range s.warnings {
		if !slices.Contains(v.Warnings, warning) {
			v.Warnings = append(v.Warnings, warning)
		}
	}
	for _, o := range outputs {
		v.Clients = max(v.Clients, o.Result.Clients)
	}
	counted := c.evidence()
	values := counted.values()
	v.Runs, v.Tool, v.Operations = len(c.Runs), string(c.Runs[0].Tool), c.Runs[0].Directions
	entry := overviewEntry{
		Metric: m.name, Unit: m.unit.name, Runs: len(values),
		Mean: stat.Mean(values, nil), Min: slices.Min(values), Max: slices.Max(values), shown: m.unit,
	}
	for _, r := range counted.Runs {
		entry.Windows = append(entry.Windows, r.Window)
	}
	v.Metrics = append(v.Metrics, entry)
	return nil
}

// warnAboutWindows says what a figure leaves out of a run.
func (s *study) warnAboutWindows() {
	for _, r := range s.baseline.Runs {
		if r.Window.FromSeconds == 0 || s.unit.name != "bytesPerSecond" {
			continue
		}
		s.warn("%s: the first %s of %s s are left out as a warm-up: %s %s there, %s over the whole run", r.Source,
			seconds(r.Window.FromSeconds), seconds(r.Window.RunSeconds), number(r.Window.Skipped/s.unit.scale), s.unit.symbol,
			number(r.Window.Whole/s.unit.scale))
	}
}

// examine warns of runs with different loads, of hidden waits, and of a figure that cannot show the storage.
func (v *overview) examine(s *study) {
	side := s.baseline.side()
	for _, line := range loadfacts.Within(side) {
		s.warn("different load: %s", line)
	}
	if len(side.Loads) > 1 {
		for _, note := range loadfacts.Notes(side) {
			s.warn("%s", note)
		}
	}
	for _, r := range s.baseline.Runs {
		if r.Doubt != "" && !slices.Contains(v.doubts[r.Doubt], s.metric) {
			v.doubts[r.Doubt] = append(v.doubts[r.Doubt], s.metric)
		}
	}
	if v.HiddenWaits == nil {
		s.markWaits()
		v.HiddenWaits = s.waits
	}
}

func (v *overview) show(p *terminal.Page) {
	header := []string{"METRIC", "UNIT", "RUNS", "MEAN", "MIN", "MAX", "WINDOW"}
	rows := make([][]string, len(v.Metrics))
	for i, m := range v.Metrics {
		scale := m.shown.scale
		rows[i] = []string{m.Metric, m.shown.symbol, strconv.Itoa(m.Runs), number(m.Mean / scale), number(m.Min / scale), number(m.Max / scale), describeWindows(m.Windows)}
	}
	runs := "1 run"
	if v.Runs != 1 {
		runs = strconv.Itoa(v.Runs) + " runs"
	}
	tool := v.Tool
	if v.Clients > 1 {
		tool = fmt.Sprintf("%s on %d clients", tool, v.Clients)
	}
	p.Printf("%s: %s of %s, %s\n\n", v.Name, runs, tool, v.Operations)
	p.Table(header, rows)
	if v.Runs < 3 {
		p.WriteString("\nWith fewer than 3 runs the noise is unknown: another run may differ by any amount.\n")
	}
	for _, warning := range v.Warnings {
		if p.Markdown {
			p.WriteString("\n") // a paragraph for each warning
		}
		p.Printf("warning: %s\n", warning)
	}
}
