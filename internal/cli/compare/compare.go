package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/stats"
)

// comparison is the outcome, and its JSON form.
type comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Comparable says that every environment was recorded, and that the differences are exactly the
	// expected ones. Of diagnoses, it says that pools and loads of layers are the same.
	Comparable bool `json:"comparable"`
	// Differences lists the differences between environments and between specifications.
	Differences []difference.Difference `json:"differences"`
	// Missing lists the expected differences that do not exist.
	Missing []string `json:"missing,omitempty"`
	// Notes hold facts that readers of the figures must know.
	Notes   []string `json:"notes,omitempty"`
	Figures []Ratio  `json:"figures"`
	// Findings and Layers are those of diagnoses; Findings is nil for benchmarks, and Layers without layers that compare.
	Findings []diagnosis.Change      `json:"findings,omitzero"`
	Layers   []diagnosis.LayerChange `json:"layers,omitempty"`
	// Regressions is nil without --max-regression.
	Regressions []Judgement `json:"regressions,omitempty"`

	curves []report.Part
	limit  string // the value of --max-regression
	// unjudged lists the metrics of --metric without a judged figure: B lacks them, or has them only in phases
	// that A lacks, as the user expects.
	unjudged []string
}

// Side says which runs a side has, and when the first of them began.
type Side struct {
	Name  string         `json:"name"`
	RunID v1alpha1.RunID `json:"runID"`
	Runs  []int32        `json:"runs"`
	Began string         `json:"began"`
}

// Ratio compares one figure of both sides.
type Ratio struct {
	Phase     v1alpha1.PhaseName `json:"phase"`
	Direction v1alpha1.Direction `json:"direction"`
	Metric    v1alpha1.Metric    `json:"metric"`
	// A and B are geometric means of the runs, in the unit of the metric.
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	Ratio float64 `json:"ratio"`
	// Low and High are the ends of the interval of Ratio; nil if the runs are too few for an interval.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Note says why the interval is missing.
	Note string `json:"note,omitempty"`
}

// compare compares the environments, the specifications and the figures of two sides.
func compare(a, b side, expect []expectation) (*comparison, error) {
	if (a.diagnosis() == nil) != (b.diagnosis() == nil) {
		return nil, exit.UsageErrorf("only one of %s and %s is a diagnosis", a.name, b.name)
	}
	c := &comparison{A: describe(a), B: describe(b), Differences: []difference.Difference{}, Figures: []Ratio{}}
	texts, err := differences(a, b)
	if err != nil {
		return nil, err
	}
	found, missing := difference.Sort(texts, expect)
	c.Differences, c.Missing = append(c.Differences, found...), missing
	if a.diagnosis() != nil {
		return c, c.diagnose(a, b)
	}
	c.ratios(a, b)
	for _, name := range archive.PhaseNames([]*archive.Run{a.runs[0], b.runs[0]}) {
		if part, ok := report.CurvesTogether([2]string{"A", "B"}, [2][]*archive.Run{a.runs, b.runs}, name); ok {
			c.curves = append(c.curves, part)
		}
	}
	known := len(unknown(a, b)) == 0
	c.Comparable = known && len(c.Missing) == 0 && !difference.Any(c.Differences)
	c.note(a, b)
	return c, nil
}

func describe(s side) Side {
	d := Side{Name: s.name, RunID: s.runs[0].RunID, Began: s.runs[0].StartTime.UTC().Format("2006-01-02 15:04 UTC")}
	for _, run := range s.runs {
		d.Runs = append(d.Runs, run.Number)
	}
	return d
}

// differences returns the differences between environments and between the specifications of phases. It
// compares each environment with the first one that was recorded, usually that of A's first run. So it
// also finds differences between the runs of one side; it marks those within A.
func differences(a, b side) ([]string, error) {
	var all []string
	_, err := report.CompareEnvironments(append(slices.Clone(a.runs), b.runs...), func(_, run *archive.Run, text string) {
		if slices.Contains(a.runs, run) {
			text = fmt.Sprintf("%s (within %s, in run %d)", text, a.name, run.Number)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	})
	return append(all, specDifferences(a, b)...), err
}

// specDifferences returns the phases that one side lacks, and those whose specifications differ,
// according to the first run of each side.
func specDifferences(a, b side) []string {
	var all []string
	digests := func(s side) map[v1alpha1.PhaseName]string {
		byPhase := map[v1alpha1.PhaseName]string{}
		for _, phase := range s.runs[0].Phases {
			byPhase[phase.Name] = phase.SpecDigest
		}
		return byPhase
	}
	ofA, ofB := digests(a), digests(b)
	for _, name := range archive.PhaseNames([]*archive.Run{a.runs[0], b.runs[0]}) {
		digestA, inA := ofA[name]
		digestB, inB := ofB[name]
		switch {
		case !inB:
			all = append(all, onlyIn(name, a))
		case !inA:
			all = append(all, onlyIn(name, b))
		case digestA != digestB:
			all = append(all, otherSpec(name))
		}
	}
	return all
}

func onlyIn(phase v1alpha1.PhaseName, s side) string {
	return fmt.Sprintf("phase %s: only %s has it", phase, s.name)
}

func otherSpec(phase v1alpha1.PhaseName) string {
	return fmt.Sprintf("phase %s: its spec differs (the phase, clients, data, image, claim or outage)", phase)
}

// unknown returns the sides that have a run without an environment.
func unknown(sides ...side) []string {
	var names []string
	for _, s := range sides {
		if slices.ContainsFunc(s.runs, func(run *archive.Run) bool { return len(run.Environment) == 0 }) {
			names = append(names, s.name)
		}
	}
	return names
}

// ratios compares every figure for which ratioOf finds a ratio, with three exceptions. LatencyMax and
// LatencyMin say nothing about the next run. LatencyStdDev, the scatter of operations, is not a speed.
func (c *comparison) ratios(a, b side) {
	for _, name := range archive.PhaseNames([]*archive.Run{a.runs[0], b.runs[0]}) {
		for _, direction := range figure.Directions() {
			for _, metric := range figure.Metrics() {
				if metric == v1alpha1.MetricLatencyMax || metric == figure.LatencyMin || metric == figure.LatencyStdDev {
					continue
				}
				if r, ok := ratioOf(a, b, name, direction, metric); ok {
					c.Figures = append(c.Figures, r)
				}
			}
		}
	}
}

// ratioOf returns the ratio of one figure. It returns false if a run lacks the figure, if a value is
// only a lower bound, or if the latencies are of different kinds.
func ratioOf(a, b side, name v1alpha1.PhaseName, direction v1alpha1.Direction, metric v1alpha1.Metric) (Ratio, bool) {
	figures := func(s side) []figure.Figure {
		var all []figure.Figure
		for _, run := range s.runs {
			f, ok := run.Figure(name, metric, direction)
			if !ok || f.AtLeast {
				return nil
			}
			all = append(all, f)
		}
		return all
	}
	ofA, ofB := figures(a), figures(b)
	if ofA == nil || ofB == nil {
		return Ratio{}, false
	}
	kind := ofA[0].LatencyKind
	for _, f := range append(slices.Clone(ofA), ofB...) {
		if f.LatencyKind != kind {
			return Ratio{}, false // The two latencies cover different parts of an operation.
		}
	}
	contrast, err := stats.WelchLogRatio(values(ofA), values(ofB))
	if err != nil {
		return Ratio{}, false // This cannot happen, because figures are above 0 and finite.
	}
	r := Ratio{Phase: name, Direction: direction, Metric: metric, A: stats.GeometricMean(values(ofA)), B: stats.GeometricMean(values(ofB))}
	r.Ratio = r.B / r.A
	if metric == v1alpha1.MetricSustainableIOPS {
		if between, ok := betweenCurves(a, b, name); ok {
			r.Low, r.High = &between.Low, &between.High
			return r, true
		}
	}
	if contrast.Runs < figure.MinimumRuns {
		r.Note = fmt.Sprintf("%d and %d runs: an interval needs %d of each", len(ofA), len(ofB), figure.MinimumRuns)
		return r, true
	}
	bounds := contrast.RatioInterval(figure.Confidence)
	r.Low, r.High = &bounds.Low, &bounds.High
	return r, true
}

// betweenCurves compares one curve with one other. A curve has many steps, so it has an interval of its own.
func betweenCurves(a, b side, name v1alpha1.PhaseName) (stats.Estimate, bool) {
	ofA, ofB := archive.Observations(a.runs, name), archive.Observations(b.runs, name)
	if len(ofA) != 1 || len(ofB) != 1 {
		return stats.Estimate{}, false
	}
	return curve.Ratio(ofA[0].Curve, ofB[0].Curve)
}

func values(figures []figure.Figure) []float64 {
	all := make([]float64, len(figures))
	for i, f := range figures {
		all[i] = f.Value
	}
	return all
}

// note adds caveats for readers of the ratios.
func (c *comparison) note(a, b side) {
	c.noteUnknown(a, b)
	if ofA, ofB := dataStates(a), dataStates(b); len(ofA) > 0 && len(ofB) > 0 && !slices.Equal(ofA, ofB) {
		c.Notes = append(c.Notes, fmt.Sprintf("The data of %s %s, those of %s %s: a different initial state may change results.", a.name, found(ofA), b.name, found(ofB)))
	}
	c.noteMarks(a, b)
	c.noteOrigins(a, b)
	intervals := 0
	for _, f := range c.Figures {
		if f.Low != nil {
			intervals++
		}
	}
	if intervals > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("Each of the %d intervals is at 95 %%: even without a difference, about one in twenty excludes 1. Bandwidth, IOPS and mean latency of a "+
			"phase are mostly one observation, not three.", intervals))
	}
	if intervals < len(c.Figures) {
		c.Notes = append(c.Notes, fmt.Sprintf("A ratio without an interval may be chance: an interval needs %d runs of each side.", figure.MinimumRuns))
	}
	if len(c.Figures) > 0 {
		c.Notes = append(c.Notes, "The runs of both sides did not alternate, so the ratios include what changed in the cluster meanwhile.")
	}
	for _, s := range []side{a, b} {
		for _, run := range s.runs {
			if run.State != v1alpha1.RunValid {
				c.Notes = append(c.Notes, fmt.Sprintf("Run %d of %s is %s, and is compared only because you named it: %s", run.Number, s.name, run.State, run.Reason))
			}
		}
	}
}

func (c *comparison) noteUnknown(a, b side) {
	for _, name := range unknown(a, b) {
		c.Notes = append(c.Notes, fmt.Sprintf("The environment of %s was not recorded, so it is unknown whether they can be compared.", name))
	}
}

// noteOrigins adds a note about each side whose results the operator's status does not vouch for.
func (c *comparison) noteOrigins(sides ...side) {
	for _, s := range sides {
		switch {
		case s.file:
			c.Notes = append(c.Notes, fmt.Sprintf("The results of %s come from a file, so they are only as trustworthy as the file.", s.name))
		case slices.ContainsFunc(s.runs, func(run *archive.Run) bool { return run.Unsigned }):
			c.Notes = append(c.Notes, fmt.Sprintf("Results of %s are unsigned: an earlier version of the operator wrote them, so nothing proves that no other user has changed them.", s.name))
		}
	}
}

// noteMarks adds a note about each mark that a phase has on one side only. A mark is a caveat: for
// example, reads from memory cannot be compared with reads from disks.
func (c *comparison) noteMarks(a, b side) {
	for _, name := range archive.PhaseNames([]*archive.Run{a.runs[0], b.runs[0]}) {
		ofA, ofB := marksOf(a, name), marksOf(b, name)
		for _, only := range []struct {
			name          string
			marks, others []v1alpha1.ResultMark
		}{{a.name, ofA, ofB}, {b.name, ofB, ofA}} {
			for _, mark := range only.marks {
				if !slices.Contains(only.others, mark) {
					c.Notes = append(c.Notes, fmt.Sprintf("Phase %s is marked %s in %s alone: see `kubectl cephtune results`.", name, mark, only.name))
				}
			}
		}
	}
}

// marksOf returns the marks that a phase has in any valid run of a side, without duplicates.
func marksOf(s side, name v1alpha1.PhaseName) []v1alpha1.ResultMark {
	var marks []v1alpha1.ResultMark
	for _, observation := range archive.Observations(s.runs, name) {
		marks = append(marks, observation.Marks...)
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}

// dataStates returns the recorded states in which the runs of a side found their data, without
// duplicates.
func dataStates(s side) []v1alpha1.DataState {
	var states []v1alpha1.DataState
	for _, run := range s.runs {
		if run.InitialState != "" {
			states = append(states, run.InitialState)
		}
	}
	slices.Sort(states)
	return slices.Compact(states)
}

// found describes data states in words.
func found(states []v1alpha1.DataState) string {
	texts := make([]string, len(states))
	for i, state := range states {
		texts[i] = report.Found(state)
	}
	return strings.Join(texts, ", or ")
}

// verdict returns an error, which sets the exit code, unless the sides are comparable.
func (c *comparison) verdict() error {
	if c.Findings != nil {
		return c.findingsVerdict()
	}
	if c.Comparable {
		return nil
	}
	if err := difference.Check(c.Differences, c.Missing); err != nil {
		return err
	}
	return exit.UndecidedErrorf("it is unknown whether they can be compared: see the notes")
}
