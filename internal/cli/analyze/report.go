package analyze

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/stats"
)

// schemaVersion is the version of the JSON form, which docs/analyze.md describes.
const schemaVersion = 1

// report is the outcome of the analysis, and its JSON form. It omits values that do not exist, such as
// the interval of a single run.
type report struct {
	SchemaVersion  int              `json:"schemaVersion"`
	Source         string           `json:"source"`
	Metric         string           `json:"metric"`
	Unit           string           `json:"unit,omitempty"`
	HigherIsBetter bool             `json:"higherIsBetter"`
	Confidence     float64          `json:"confidence"`
	MinimumEffect  float64          `json:"minimumEffect"`
	Equivalence    float64          `json:"equivalence"`
	Method         string           `json:"method"`
	Baseline       summary          `json:"baseline"`
	Candidates     []candidateEntry `json:"candidates"`
	Warnings       []string         `json:"warnings"`

	Differences        []difference.Difference `json:"differences"`
	MissingDifferences []string                `json:"missingDifferences,omitempty"`
	HiddenWaits        []waitEntry             `json:"hiddenWaits,omitempty"`
}

// summary describes the runs of one configuration. Mean, GeometricMean, Min and Max cover the steady
// runs, or all runs if no run is steady.
type summary struct {
	Name          string  `json:"name"`
	Runs          int     `json:"runs"`
	SteadyRuns    int     `json:"steadyRuns"`
	Mean          float64 `json:"mean"`
	GeometricMean float64 `json:"geometricMean"`
	Min           float64 `json:"min"`
	Max           float64 `json:"max"`
	RunValues     []run   `json:"runValues"`
}

type candidateEntry struct {
	summary

	ComparedRuns     int           `json:"comparedRuns"`
	Ratio            *float64      `json:"ratio,omitempty"`
	RatioLow         *float64      `json:"ratioLow,omitempty"`
	RatioHigh        *float64      `json:"ratioHigh,omitempty"`
	PValueSuperior   *float64      `json:"pValueSuperior,omitempty"`
	PValueAnyGain    *float64      `json:"pValueAnyGain,omitempty"`
	PValueLoss       *float64      `json:"pValueLoss,omitempty"`
	PValueEquivalent *float64      `json:"pValueEquivalent,omitempty"`
	PValueHolm       *float64      `json:"pValueHolm,omitempty"`
	Verdict          string        `json:"verdict"`
	Reason           string        `json:"reason"`
	Reasons          []reasonEntry `json:"reasons"`
	MoreRunsNeeded   *int          `json:"moreRunsNeeded,omitempty"`
	MoreRunsToward   string        `json:"moreRunsToward,omitempty"`
	TooClose         bool          `json:"tooClose,omitempty"`
}

type reasonEntry struct {
	Code    string   `json:"code"`
	Value   *float64 `json:"value,omitempty"`
	Limit   *float64 `json:"limit,omitempty"`
	Count   int      `json:"count,omitempty"`
	Message string   `json:"message"`
}

func newReport(s *study, criteria stats.Criteria, assessments []stats.Assessment) *report {
	r := &report{
		SchemaVersion: schemaVersion, Source: s.source, Metric: s.metric, Unit: s.unit.name, HigherIsBetter: s.higherIsBetter,
		Confidence: criteria.Confidence, MinimumEffect: criteria.MinimumEffect, Equivalence: criteria.Equivalence,
		Method: "unpaired", Baseline: summarize(s.baseline), Warnings: append([]string{}, s.warnings...),
		Differences: append([]difference.Difference{}, s.differences...), MissingDifferences: s.missing, HiddenWaits: s.waits,
	}
	if s.paired {
		r.Method = "paired"
	}
	for i, a := range assessments {
		r.Candidates = append(r.Candidates, newEntry(summarize(s.candidates[i]), a, r.Baseline))
		for _, w := range a.Warnings {
			r.Warnings = append(r.Warnings, a.Name+": "+w.String())
		}
	}
	return r
}

func summarize(c configuration) summary {
	values := c.evidence().values()
	return summary{
		Name: c.Name, Runs: len(c.Runs), SteadyRuns: len(c.steadyRuns()),
		Mean: stat.Mean(values, nil), GeometricMean: stats.GeometricMean(values),
		Min: slices.Min(values), Max: slices.Max(values), RunValues: c.Runs,
	}
}

func newEntry(s summary, a stats.Assessment, baseline summary) candidateEntry {
	out := candidateEntry{summary: s, ComparedRuns: a.Runs, Verdict: string(a.Verdict), Reason: a.Sentence()}
	for _, reason := range a.Reasons {
		out.Reasons = append(out.Reasons, newReasonEntry(reason))
	}
	if a.Runs > 0 {
		out.Ratio = finite(a.Ratio)
	}
	// Without an estimate of noise, the interval is infinite and is left out.
	if !math.IsInf(a.Interval.High, 1) && a.Interval.High > 0 {
		out.RatioLow, out.RatioHigh = finite(a.Interval.Low), finite(a.Interval.High)
		out.PValueSuperior, out.PValueAnyGain = finite(a.P.Superior), finite(a.P.AnyGain)
		out.PValueLoss, out.PValueEquivalent = finite(a.P.Loss), finite(a.PEquivalent)
		if a.Verdict != stats.Invalid { // An invalid candidate makes no claim, so it has no adjusted p-value.
			out.PValueHolm = finite(a.Holm.Superior)
		}
	}
	out.describeMissing(a, min(s.SteadyRuns, baseline.SteadyRuns))
	return out
}

// describeMissing records how many more runs would decide the verdict. The parameter steady is the number of
// steady runs on the side that has fewer.
func (e *candidateEntry) describeMissing(a stats.Assessment, steady int) {
	more := a.MoreRuns()
	if a.Verdict == stats.Invalid {
		more.Needed = max(more.Needed, stats.MinRuns-steady)
	}
	e.TooClose = more.TooClose
	if !more.TooClose {
		e.MoreRunsNeeded = &more.Needed
	}
	if a.Verdict == stats.Inconclusive {
		e.MoreRunsToward = string(more.Toward)
	}
}

func newReasonEntry(r stats.Reason) reasonEntry {
	out := reasonEntry{Code: string(r.Code), Count: r.Count, Message: r.String()}
	if r.Value != 0 || r.Limit != 0 {
		out.Value, out.Limit = finite(r.Value), finite(r.Limit)
	}
	return out
}

// finite returns a pointer to x, or nil if x is not finite.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
