package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/loadfacts"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

// waitEntry describes, in JSON, a run at a fixed rate whose latencies lack waits.
type waitEntry struct {
	Configuration    string      `json:"configuration"`
	Source           string      `json:"source"`
	Operations       string      `json:"operations"`
	RatePerSecond    float64     `json:"ratePerSecond"`
	InFlight         float64     `json:"inFlight"`
	LongestSeconds   float64     `json:"longestSeconds"`
	HiddenOperations float64     `json:"hiddenOperations"`
	HiddenShare      float64     `json:"hiddenShare"`
	SecondsBehind    float64     `json:"secondsBehind,omitempty"`
	Bounds           []waitBound `json:"bounds"`
}

// waitBound is what a latency may be if it counts from when each operation was due.
type waitBound struct {
	Metric          string  `json:"metric"`
	ReportedSeconds float64 `json:"reportedSeconds"`
	BoundSeconds    float64 `json:"boundSeconds"`
	// Spoiled says that the reported latency says too little for a verdict.
	Spoiled bool `json:"spoiled"`
}

// examine records what the output says about the load of a run, and about the figures of the given directions.
func (m metric) examine(r *run, res *result.Result, ds []result.NamedDirection) {
	r.Load = loadfacts.New("", res)
	for _, d := range ds {
		if text := r.Load.Doubt(m.figure, d); text != "" && r.Doubt == "" {
			r.Doubt = text
		}
		r.ClosedLoop = r.ClosedLoop || m.percent > 0 && r.Load.ClosedLoop(d)
		if w, ok := r.Load.HiddenWaits(d); ok {
			r.Waits = append(r.Waits, newWaitEntry(w, d))
		}
	}
}

func newWaitEntry(w loadfacts.Waits, d result.NamedDirection) waitEntry {
	entry := waitEntry{
		Operations: string(d.Name), RatePerSecond: w.Rate, InFlight: w.InFlight, LongestSeconds: w.Longest,
		HiddenOperations: w.Hidden, HiddenShare: w.Share(), SecondsBehind: w.Behind,
	}
	for _, m := range metrics() {
		if m.figure != loadfacts.Latency {
			continue
		}
		found, _, ok := d.LatencyOf(m.latency)
		if !ok || found.AtLeast { // A lower bound is not a value.
			continue
		}
		reported := found.Seconds
		bound := w.Percentile(m.percent, reported)
		switch m.name {
		case "latencyMean":
			bound = w.Mean(reported)
		case "latencyMax":
			bound = max(reported, w.Behind)
		}
		entry.Bounds = append(entry.Bounds, waitBound{m.name, reported, bound, loadfacts.Spoils(bound, reported)})
	}
	return entry
}

// String describes the hidden waits, and the bound of a metric. For a metric that is not spoiled, it takes the
// first percentile that is.
func (w waitEntry) String(metric string) string {
	text := fmt.Sprintf("its longest latency of %s × %.0f %ss due a second hides the waits of up to %.0f operations (%.2g%%)",
		milliseconds(w.LongestSeconds), w.RatePerSecond, w.Operations, w.HiddenOperations, 100*w.HiddenShare)
	if w.SecondsBehind > 0 {
		text = fmt.Sprintf("it missed its rate of %.0f %ss a second: at the end, operations were %.3g s late", w.RatePerSecond, w.Operations, w.SecondsBehind)
	}
	i := slices.IndexFunc(w.Bounds, func(b waitBound) bool { return b.Metric == metric && b.Spoiled })
	if i < 0 {
		i = slices.IndexFunc(w.Bounds, func(b waitBound) bool { return b.Spoiled && b.Metric != "latencyMean" })
	}
	if i < 0 {
		return text
	}
	b := w.Bounds[i]
	return fmt.Sprintf("%s; counted from when they were due, %s may be %s instead of %s", text, b.Metric, milliseconds(b.BoundSeconds), milliseconds(b.ReportedSeconds))
}

func milliseconds(seconds float64) string { return number(1000*seconds) + " ms" }

// spoiled returns why the metric lacks waits; "" if it does not.
func (r run) spoiled(metric string) string {
	for _, w := range r.Waits {
		if slices.ContainsFunc(w.Bounds, func(b waitBound) bool { return b.Metric == metric && b.Spoiled }) {
			return w.String(metric)
		}
	}
	return ""
}

func (c configuration) side() loadfacts.Side {
	side := loadfacts.Side{Name: c.Name}
	for _, r := range c.Runs {
		load := r.Load
		load.Source = r.Source
		side.Loads = append(side.Loads, load)
	}
	return side
}

// compareLoads finds the differences between the loads, the figures that cannot show the storage, and percentiles of
// closed loops. All are faults of a candidate, unless the user expects the differences, or accepts closed loops.
func (s *study) compareLoads(expect []difference.Expectation, closedLoop bool) {
	sides := []loadfacts.Side{s.baseline.side()}
	for _, c := range s.candidates {
		side := c.side()
		sides = append(sides, side)
		s.differ(c.Name, loadfacts.Differences(sides[0], side), expect)
		for _, r := range append(slices.Clone(s.baseline.Runs), c.Runs...) {
			if r.Doubt != "" {
				s.fault(c.Name, stats.NotStorage, r.Doubt)
			}
			if r.ClosedLoop && !closedLoop {
				s.fault(c.Name, stats.ClosedLoop, "measure at a rate, or accept that with --closed-loop")
			}
			if text := r.spoiled(s.metric); text != "" {
				s.fault(c.Name, stats.HiddenWaits, r.Source+": "+text)
			}
		}
	}
	if closedLoop && slices.ContainsFunc(s.all(), func(c configuration) bool {
		return slices.ContainsFunc(c.Runs, func(r run) bool { return r.ClosedLoop })
	}) {
		s.warn("closed loop: %s hides stalls, because fio sends nothing while it waits", s.metric)
	}
	for _, note := range loadfacts.Notes(sides...) {
		s.warn("%s", note)
	}
	s.finishDifferences(expect)
	s.markWaits()
}

// differ records the differences of a candidate. One that is not expected is a fault.
func (s *study) differ(candidate string, lines []string, expect []difference.Expectation) {
	var names []string
	found, _ := difference.Sort(lines, expect)
	for _, d := range found {
		name, _, _ := strings.Cut(d.Text, ":")
		if !d.Expected && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if !slices.Contains(s.differences, d) {
			s.differences = append(s.differences, d)
		}
	}
	if len(names) > 0 {
		s.fault(candidate, stats.OtherLoad, strings.Join(names, ", "))
	}
}

// finishDifferences finds the expected differences that no candidate has. They are a fault of all candidates.
func (s *study) finishDifferences(expect []difference.Expectation) {
	lines := make([]string, len(s.differences))
	for i, d := range s.differences {
		lines[i] = d.Text
		if d.Expected {
			s.warn("expected difference: %s", d.Text)
		} else {
			s.warn("different load: %s", d.Text)
		}
	}
	if _, s.missing = difference.Sort(lines, expect); len(s.missing) > 0 {
		for _, c := range s.candidates {
			s.fault(c.Name, stats.OtherLoad, "expected differences are missing: "+strings.Join(s.missing, ", "))
		}
	}
}

// fault records the first fault of each kind of a candidate.
func (s *study) fault(candidate string, code stats.ReasonCode, detail string) {
	if s.faults == nil {
		s.faults = map[string][]stats.Reason{}
	}
	if !slices.ContainsFunc(s.faults[candidate], func(r stats.Reason) bool { return r.Code == code }) {
		s.faults[candidate] = append(s.faults[candidate], stats.Reason{Code: code, Detail: detail})
	}
}

// markWaits records all hidden waits, and warns of the worst run of each configuration.
func (s *study) markWaits() {
	for _, c := range s.all() {
		var worst waitEntry
		marked := 0
		for _, r := range c.Runs {
			for _, w := range r.Waits {
				w.Configuration, w.Source = c.Name, r.Source
				s.waits = append(s.waits, w)
				marked++
				if marked == 1 || w.HiddenShare+w.SecondsBehind > worst.HiddenShare+worst.SecondsBehind {
					worst = w
				}
			}
		}
		switch {
		case marked == 1:
			s.warn("%s: %s", worst.Source, worst.String(s.metric))
		case marked > 1:
			s.warn("%s: %s (worst of %d)", worst.Source, worst.String(s.metric), marked)
		}
	}
}

// compareColumns does for a table what compareLoads does for outputs: a column without a role that has other
// values for a candidate than for the baseline is a difference.
func (s *study) compareColumns(expect []difference.Expectation) {
	for _, c := range s.candidates {
		s.differ(c.Name, s.columnDifferences[c.Name], expect)
	}
	s.finishDifferences(expect)
}

// roleOf reports whether a flag gives a column a role.
func (c columns) roleOf(i int) bool {
	return i == c.configuration || i == c.value || slices.Contains(c.block, i) || slices.Contains(c.where, i)
}

// differences returns, for each candidate, the columns without a role that have one value in all rows of the
// baseline, and another in all rows of the candidate.
func (t *table) differences(s *study, c columns) map[string][]string {
	all := map[string][]string{}
	for i, name := range t.header {
		if c.roleOf(i) {
			continue
		}
		usual, ok := t.constant(i, c.configuration, s.baseline.Name)
		for _, candidate := range s.candidates {
			value, constant := t.constant(i, c.configuration, candidate.Name)
			if ok && constant && loadfacts.Canonical(name, value) != loadfacts.Canonical(name, usual) {
				all[candidate.Name] = append(all[candidate.Name], fmt.Sprintf("%s: %s in %s, %s in %s", name, usual, s.baseline.Name, value, candidate.Name))
			}
		}
	}
	return all
}

// constant returns the value of a column in the rows of a configuration. It returns false if the rows have
// several values, or if there is only one row, whose value may be a date or a figure.
func (t *table) constant(column, configuration int, name string) (string, bool) {
	value, rows := "", 0
	for _, r := range t.rows {
		if r.cells[configuration] != name {
			continue
		}
		if rows++; rows > 1 && r.cells[column] != value {
			return "", false
		}
		value = r.cells[column]
	}
	return value, rows > 1
}
