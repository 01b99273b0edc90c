package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/changepoint"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// Series is the history of one figure.
type Series struct {
	Phase  v1alpha1.PhaseName `json:"phase"`
	Metric v1alpha1.Metric    `json:"metric"`
	// Nights counts the nights with the present workload, and Others those with another one.
	Nights int `json:"nights"`
	Others int `json:"others,omitempty"`
	// First and Last are the times of the first and the last of these nights.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// TooFew says why there is no answer.
	TooFew string `json:"tooFew,omitempty"`
	// Noise is the standard deviation between nights, and Memory the correlation of one night with the next.
	Noise  float64 `json:"noise,omitempty"`
	Memory float64 `json:"memory,omitempty"`
	// Regressed says that the latest change is for the worse, that its interval excludes no change, and that it is not
	// acknowledged.
	Regressed bool     `json:"regressed"`
	Changes   []Change `json:"changes,omitempty"`
	Trends    []Trend  `json:"trends,omitempty"`
	// often says that a date may have several nights.
	often bool
}

// Date names a night: by its date, or by its time if a date may have several nights.
func (s Series) Date(t time.Time) string {
	if s.often {
		return t.UTC().Format("2006-01-02 15:04Z")
	}
	return t.Format(time.DateOnly)
}

// Change is a change point.
type Change struct {
	Since time.Time `json:"since"`
	// First and Last are the ends of the range that has the first night in at least 90 % of cases. Before is the last night
	// before them. Where nights are missing between Before and First, the cluster may have changed since Before.
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Before time.Time `json:"before"`
	Worse  bool      `json:"worse"`
	// Acknowledged says that spec.acknowledgedUntil covers this change for the worse.
	Acknowledged bool `json:"acknowledged,omitempty"`
	// Ratio is the level after divided by the level before, Low and High its 95 % interval.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Text is the change in words.
	Text string `json:"text"`
	// Differences are those of the environments before and after the range. They need not be the cause.
	Differences []string `json:"differences,omitempty"`
	// Sweeps are commands that would test settings among them.
	Sweeps []string `json:"sweeps,omitempty"`
}

// Trend is a steady change.
type Trend struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Worse bool      `json:"worse"`
	Ratio float64   `json:"ratio"`
	Text  string    `json:"text"`
}

// AcknowledgedBefore returns the end of the date in spec.acknowledgedUntil; zero for none, and for a date in the future: a
// wrong year must not hide what is yet to come.
func AcknowledgedBefore(spec v1alpha1.CephBenchmarkSpec, now time.Time) time.Time {
	date, err := time.Parse(time.DateOnly, spec.AcknowledgedUntil)
	if err != nil || date.After(now) {
		return time.Time{}
	}
	return date.AddDate(0, 0, 1)
}

// Judge describes the history of each phase that has a figure, by a metric or by its main figure. Changes for the worse that
// may have begun before a time are acknowledged. Not the most likely night decides, which moves from night to night, but
// the first one of the range: a later one excludes the date with 95 % confidence.
func Judge(phases []v1alpha1.Phase, nights []Night, metric v1alpha1.Metric, acknowledgedBefore time.Time) ([]Series, error) {
	all := []Series{}
	for _, phase := range phases {
		for _, wanted := range metricsOf(&phase, nights, metric) {
			s, err := seriesOf(phase.Name, wanted, nights, acknowledgedBefore)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no nights with such a figure: wait for the first execution, or see `kubectl cephtune results`")
	}
	return all, nil
}

// metricsOf returns the metrics by which the nights of a phase are judged. It is one, unless a night lacks it: nights at too
// high a rate have no latencies, and then also the operations per second count. Without the latencies, the answer would
// change with such a night; without the operations, no number of such nights would be a change.
func metricsOf(phase *v1alpha1.Phase, nights []Night, metric v1alpha1.Metric) (all []v1alpha1.Metric) {
	for _, n := range slices.Backward(nights) {
		if _, ok := n.figureIn(phase.Name, metric); !ok {
			continue
		}
		if metric != "" {
			return []v1alpha1.Metric{metric}
		}
		if main := mainMetric(phase, n); !slices.Contains(all, main) {
			all = append(all, main)
		}
	}
	return all
}

// mainMetric returns the metric that shows how fast a phase was in a night.
func mainMetric(phase *v1alpha1.Phase, n Night) v1alpha1.Metric {
	var have v1alpha1.PhaseResult
	for _, f := range n.Figures {
		if f.Phase == phase.Name {
			have.Metrics = append(have.Metrics, v1alpha1.MetricResult{Metric: f.Metric, Direction: v1alpha1.DirectionTotal})
		}
	}
	return figure.MainMetric(phase, have)
}

// seriesOf describes the nights that measured the workload of the latest night.
func seriesOf(phase v1alpha1.PhaseName, metric v1alpha1.Metric, nights []Night, acknowledgedBefore time.Time) (Series, error) {
	s := Series{Phase: phase, Metric: metric}
	var same []Night
	var values []changepoint.Night
	digest := ""
	for _, n := range slices.Backward(nights) {
		f, ok := n.figureIn(phase, metric)
		if !ok {
			continue
		}
		if digest == "" {
			digest = f.SpecDigest
		}
		if f.SpecDigest != digest {
			s.Others++
			continue
		}
		same = append(same, n)
		values = append(values, changepoint.Night{Time: n.Time, Value: f.Value, StdErr: f.StandardError})
	}
	slices.Reverse(same)
	slices.Reverse(values)
	s.Nights, s.First, s.Last = len(same), same[0].Time, same[len(same)-1].Time
	for i := range same[1:] {
		s.often = s.often || same[i].Time.Format(time.DateOnly) == same[i+1].Time.Format(time.DateOnly)
	}
	found, err := changepoint.Find(values)
	if errors.Is(err, changepoint.ErrTooFew) {
		s.TooFew = err.Error()
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("%s %s: %w", phase, metric, err)
	}
	s.Noise, s.Memory = found.Noise, found.Memory
	for _, p := range found.Points {
		c := Change{
			Since: same[p.Since].Time, First: same[p.First].Time, Last: same[p.Last].Time, Before: same[p.First-1].Time,
			Ratio: p.Ratio, Low: p.Low, High: p.High, Worse: p.Ratio > 1 == metric.LowerIsBetter(),
		}
		c.Text = fmt.Sprintf("%s since %s", size(c.Worse, p.Ratio, p.Low, p.High), s.Date(c.Since))
		regressed := c.Worse && (c.Low > 1) == (c.High > 1)
		if c.Acknowledged = regressed && c.First.Before(acknowledgedBefore); c.Acknowledged {
			c.Text += ", acknowledged"
		}
		c.Differences, c.Sweeps = differences(same[p.First-1], same[p.Last])
		s.Changes, s.Regressed = append(s.Changes, c), regressed && !c.Acknowledged
	}
	for _, t := range found.Trends {
		one := Trend{First: same[t.First].Time, Last: same[t.Last].Time, Ratio: t.Ratio, Worse: t.Ratio > 1 == metric.LowerIsBetter()}
		one.Text = fmt.Sprintf("%s %s steadily, from %s to %s", word(one.Worse), percent(t.Ratio), s.Date(one.First), s.Date(one.Last))
		s.Trends = append(s.Trends, one)
	}
	return s, nil
}

func word(worse bool) string {
	if worse {
		return "worse by"
	}
	return "better by"
}

func percent(ratio float64) string { return fmt.Sprintf("%.0f %%", 100*math.Abs(ratio-1)) }

// RangeOf says between which nights a change began.
func (s Series) RangeOf(c Change) string {
	return fmt.Sprintf("the first such night is one of %s to %s (90 %%), after that of %s", s.Date(c.First), s.Date(c.Last), s.Date(c.Before))
}

// size describes a change, such as "worse by 12 % (8–16 %)". An interval that includes no change is written with its signs.
func size(worse bool, ratio, low, high float64) string {
	ends := fmt.Sprintf("%+.0f to %+.0f %%", 100*(low-1), 100*(high-1))
	if (low > 1) == (high > 1) {
		a, b := 100*math.Abs(low-1), 100*math.Abs(high-1)
		ends = fmt.Sprintf("%.0f–%.0f %%", min(a, b), max(a, b))
	}
	return fmt.Sprintf("%s %s (%s)", word(worse), percent(ratio), ends)
}

// plausible orders differences: versions and settings of Ceph change its speed most directly.
func plausible(difference string) int {
	order := []string{"Ceph version", "config ", "OSDs ", "pool ", "kernel ", "image ", "Rook version", "Kubernetes version", "node ", "background"}
	i := slices.IndexFunc(order, func(prefix string) bool { return strings.HasPrefix(difference, prefix) })
	if i < 0 {
		return len(order)
	}
	return i
}

// differences lists what differs between the environments of two nights, the most plausible first, and commands for sweeps that
// would test settings among them.
func differences(before, after Night) (lines, commands []string) {
	var a, b quiescence.Detail
	if json.Unmarshal(before.Environment, &a) != nil || json.Unmarshal(after.Environment, &b) != nil {
		return []string{"unknown: an environment was not recorded"}, nil
	}
	lines = quiescence.Compare(a, b)
	slices.SortStableFunc(lines, func(x, y string) int { return plausible(x) - plausible(y) })
	return lines, sweeps(after.Benchmark.Namespace, a, b)
}
