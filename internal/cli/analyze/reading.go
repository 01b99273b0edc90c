package analyze

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/loadfacts"
	document "github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

// run is one run of a configuration, and its JSON form. In a paired study, several runs of a configuration in the same
// block count as one observation. Other runs have no block.
type run struct {
	Source string  `json:"source"` // its file, or file and line
	Value  float64 `json:"value"`
	Block  string  `json:"block,omitempty"`

	// The following fields are only for outputs of engines, apart from Steady.
	Format     string `json:"format,omitempty"`
	Directions string `json:"operations,omitempty"` // such as "write", or "read+write"
	Steady     bool   `json:"steady"`               // if false, the run is shown but does not count
	Window     window `json:"window,omitzero"`

	Tool        result.Tool        `json:"-"`
	LatencyKind result.LatencyKind `json:"-"`
	Course      []document.Second  `json:"-"`
	Load        loadfacts.Load     `json:"-"`
	ClosedLoop  bool               `json:"-"` // the value is a percentile of a closed loop
	Doubt       string             `json:"-"` // why the value cannot show the storage; "" if it can
	Waits       []waitEntry        `json:"-"` // the waits that the latencies lack, by direction
}

// window is the part of a run that the run's value describes.
type window struct {
	FromSeconds float64 `json:"fromSeconds"`
	ToSeconds   float64 `json:"toSeconds"`
	RunSeconds  float64 `json:"runSeconds"` // of the whole run
	Why         string  `json:"description"`
	// Skipped and Whole are the rates of the time before the window, and of the whole run.
	Skipped float64 `json:"-"`
	Whole   float64 `json:"-"`
}

// total is the value of --direction for the sum of all directions.
const total = "total"

func selectDirections(res *result.Result, name string) ([]result.NamedDirection, error) {
	all := res.Directions()
	if name == total {
		return all, nil
	}
	d := res.Direction(result.DirectionName(name))
	if d == nil {
		return nil, fmt.Errorf("it has no %s operations, only %s", name, joinDirections(all))
	}
	return []result.NamedDirection{{Name: result.DirectionName(name), Direction: d}}, nil
}

func joinDirections(ds []result.NamedDirection) string {
	names := make([]string, len(ds))
	for i, d := range ds {
		names[i] = string(d.Name)
	}
	return strings.Join(names, "+")
}

// hasDirection returns an error if a part lacks the wanted operations.
func hasDirection(p engine.Part, name string) error {
	if p.Figures != nil {
		switch {
		case name == total || name == string(p.Figures.Direction):
			return nil
		case p.Figures.Direction == "":
			return errors.New("its lines do not say which operations they are about, so --direction cannot be used")
		}
		return fmt.Errorf("it has no %s operations, only %s", name, p.Figures.Direction)
	}
	_, err := selectDirections(p.Result, name)
	return err
}

// read reduces a part of a run to the value of the metric, and records which part of the run's time the value
// describes.
func (m metric) read(p engine.Part, direction string) (run, error) {
	if p.Figures != nil {
		return m.readFigures(p)
	}
	res := p.Result
	ds, err := selectDirections(res, direction)
	if err != nil {
		return run{}, err
	}
	r := run{
		Tool: res.Source.Tool, Format: res.Source.Format, Directions: joinDirections(ds), Steady: true,
		Window: wholeRun(ds, "whole run"),
	}
	m.examine(&r, res, ds)
	if m.figure == loadfacts.SyncLatency {
		return m.readSyncs(r, res.SyncLatency)
	}
	if len(ds) == 1 {
		r.Course = course(ds[0].Direction, m.column())
	}
	if m.amount == nil {
		return m.readLatency(r, ds)
	}
	return m.readRate(r, ds)
}

// readFigures takes the value from the lines that are left of an output.
func (m metric) readFigures(p engine.Part) (run, error) {
	r := run{
		Value: map[string]float64{
			"bandwidth": p.Figures.BytesPerSecond, "iops": p.Figures.OperationsPerSecond,
			"latencyMean": p.Figures.MeanLatencySeconds, "latencyMax": p.Figures.MaxLatencySeconds,
		}[m.name],
		Tool: p.Result.Source.Tool, Format: p.Result.Source.Format, Directions: cmp.Or(string(p.Figures.Direction), "unknown operations"), Steady: true,
		Window: window{Why: "whole run: only lines of the summary were kept"}, Load: loadfacts.New("", p.Result),
	}
	if r.Value == 0 {
		return run{}, fmt.Errorf("the lines that were kept of %s lack %s; keep the whole output", r.Tool, m.name)
	}
	if m.figure == loadfacts.Latency {
		r.LatencyKind = result.TotalLatency
	}
	return r, nil
}

// column returns a function that reads the metric's rates from a series. For a latency, that is the
// bandwidth, because plots of latencies show the bandwidth over time.
func (m metric) column() func(*result.Series) []float64 {
	if m.amount == nil {
		return func(s *result.Series) []float64 { return s.BytesPerSecond }
	}
	_, column := m.amount(&result.Direction{})
	return column
}

// readSyncs takes the latency of syncs from the totals of the whole run.
func (m metric) readSyncs(r run, syncs *result.Latency) (run, error) {
	if syncs == nil {
		return run{}, m.missing(r.Tool)
	}
	found, ok := m.latency(syncs)
	if !ok || found.AtLeast {
		return run{}, m.missing(r.Tool)
	}
	r.Value, r.LatencyKind = found.Seconds, result.CompletionLatency
	r.Window.Why = "whole run: latencies are totals"
	return r, nil
}

// readLatency takes the latency from the totals of the whole run, because no engine's summary has the
// latency of a part of a run.
func (m metric) readLatency(r run, ds []result.NamedDirection) (run, error) {
	if len(ds) > 1 {
		return run{}, fmt.Errorf("it has %s, whose latencies are not comparable; choose one with --direction", r.Directions)
	}
	found, kind, ok := ds[0].LatencyOf(m.latency)
	switch {
	case !ok:
		return run{}, m.missing(r.Tool)
	case found.AtLeast: // Ratios of bounds mean nothing.
		return run{}, fmt.Errorf("its %s is above %.4g s, where the last bin of fio's histogram begins: compare latencyMean or latencyMax", m.name, found.Seconds)
	}
	r.Value, r.LatencyKind = found.Seconds, kind
	r.Window.Why = "whole run: latencies are totals"
	if !r.Tool.HasRollingRows() && len(r.Course) > 0 {
		// If the rates are not steady, the latencies are not either.
		rate := r
		if err := rate.truncate(); err != nil {
			return run{}, err
		}
		if !rate.Steady {
			r.Steady, r.Window.Why = false, rate.Window.Why
		}
	}
	return r, nil
}

func (m metric) readRate(r run, ds []result.NamedDirection) (run, error) {
	sum := 0.0
	for _, d := range ds {
		amount, _ := m.amount(d.Direction)
		sum += amount
	}
	r.Value = sum / r.Window.RunSeconds
	switch {
	case r.Tool.HasRollingRows():
		// The rows of rbd bench are means over several seconds, which smear a warm-up. MSER, the rule
		// that finds the end of a warm-up, would fail, so no warm-up is removed.
		r.Window.Why = "whole run: rows of rbd bench are rolling averages"
	case len(r.Course) == 0:
		r.Window.Why = "whole run: no values over time in the output"
	default:
		return r, r.truncate()
	}
	return r, nil
}

// truncate sets the value of a run to its rate without the warm-up. It marks a run that stalled or
// never became steady. Such a run, and a run that is too short, keeps the value of the whole run.
func (r *run) truncate() error {
	rows := make([]stats.Interval, len(r.Course))
	for i, row := range r.Course {
		rows[i] = stats.Interval{Amount: row.Rate * row.Seconds(), Seconds: row.Seconds()}
	}
	summary, err := stats.Summarize(rows)
	switch {
	case errors.Is(err, stats.ErrTooFew):
		r.Window.Why = "whole run: too short to find a warm-up"
		return nil
	case errors.Is(err, stats.ErrStalled):
		r.Steady, r.Window.Why = false, "whole run: stalled for good"
		return nil
	case err != nil:
		return err
	case !summary.Steady:
		// A run that still changes after half its time describes no state of the cluster.
		r.Steady, r.Window.Why = false, "whole run: never became steady (MSER)"
		return nil
	}
	before := stats.Interval{}
	for _, row := range rows[:summary.Dropped] {
		before.Amount += row.Amount
		before.Seconds += row.Seconds
	}
	if summary.Dropped > 0 {
		r.Window.Whole, r.Window.Skipped = r.Value, before.Amount/before.Seconds
	}
	r.Value = summary.Rate
	r.Window.FromSeconds = r.Course[summary.Dropped].Start
	r.Window.ToSeconds = r.Course[len(r.Course)-1].End
	r.Window.Why = "without warm-up (MSER)"
	if summary.Dropped == 0 {
		r.Window.Why = "no warm-up found (MSER)"
	}
	return nil
}

func wholeRun(ds []result.NamedDirection, reason string) window {
	seconds := 0.0
	for _, d := range ds {
		seconds = max(seconds, d.Seconds)
	}
	return window{ToSeconds: seconds, RunSeconds: seconds, Why: reason}
}

// course returns the intervals of a run, with nearly equal lengths. MSER counts each interval as one
// observation, and the rate of a short interval scatters more than that of a long one.
func course(d *result.Direction, column func(*result.Series) []float64) []document.Second {
	s := d.Series
	if s == nil || len(column(s)) == 0 {
		return nil
	}
	usual := usualSeconds(intervals(s, column(s)))
	if usual < 0.5 {
		s = s.PerSecond()
		usual = 1
	}
	if s == nil || len(column(s)) == 0 {
		return nil
	}
	out := intervals(s, column(s))
	if len(out) > 1 && out[0].Seconds() < usual/2 {
		out[1] = joined(out[0], out[1])
		out = out[1:]
	}
	if last := len(out) - 1; last > 0 && out[last].Seconds() < usual/2 {
		out[last-1] = joined(out[last-1], out[last])
		out = out[:last]
	}
	return out
}

func intervals(s *result.Series, rates []float64) []document.Second {
	out := make([]document.Second, s.Len())
	for i := range out {
		out[i] = document.Second{Start: s.StartSeconds[i], End: s.EndSeconds[i], Rate: rates[i]}
	}
	return out
}

func usualSeconds(rows []document.Second) float64 {
	lengths := make([]float64, len(rows))
	for i, r := range rows {
		lengths[i] = r.Seconds()
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

// joined returns one interval that covers a and b. If a gap separates a and b, it returns only the
// longer one, because the rate in the gap is unknown.
func joined(a, b document.Second) document.Second {
	if b.Start-a.End > 0.01 {
		if a.Seconds() < b.Seconds() {
			return b
		}
		return a
	}
	moved := a.Rate*a.Seconds() + b.Rate*b.Seconds()
	return document.Second{Start: a.Start, End: b.End, Rate: moved / (b.End - a.Start)}
}
