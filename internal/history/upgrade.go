package history

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/stats"
)

// equivalence is the share up to which differences do not matter, as by default in sweeps.
const equivalence = 0.05

// UpgradeVerdict says what an upgrade did to a figure.
type UpgradeVerdict string

// The verdicts. Slower and Faster mean that the interval of the ratio excludes 1. Equivalent differences are at most 5 %.
const (
	Slower       UpgradeVerdict = "Slower"
	Faster       UpgradeVerdict = "Faster"
	Equivalent   UpgradeVerdict = "Equivalent"
	Inconclusive UpgradeVerdict = "Inconclusive"
)

// Upgrade has the nights before and after an upgrade, in order of time.
type Upgrade struct {
	Before, After []Night
}

// Shift is the difference of a figure in the first night after an upgrade. Who looks again later gets no other answer, and so has no
// further chance of a wrong one.
type Shift struct {
	Phase  v1alpha1.PhaseName `json:"phase"`
	Metric v1alpha1.Metric    `json:"metric"`
	// Days is how many days before the upgrade have the figure. Fewer than figure.ReferenceDays have no ratio.
	Days int `json:"days"`
	// Verdict is "" before the upgrade.
	Verdict UpgradeVerdict `json:"verdict,omitempty"`
	// Ratio is the value after divided by that before. Low and High are its interval. The intervals of all figures hold
	// together in 95 % of cases.
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	// Missing says that the night lacks the figure, or valid runs for it, unlike the last night before. For example, the storage
	// cannot take the rate any more.
	Missing bool `json:"missing,omitempty"`
}

// Split divides nights. The last night before the upgrade has the time lastBefore. On both sides, only nights with the
// versions of the latest one count, because another upgrade may be among them.
func Split(nights []Night, lastBefore time.Time) Upgrade {
	end := 0
	for end < len(nights) && !nights[end].Time.After(lastBefore) {
		end++
	}
	return Upgrade{Before: latestVersions(nights[:end]), After: latestVersions(nights[end:])}
}

func latestVersions(nights []Night) []Night {
	for i, n := range slices.Backward(nights) {
		if n.Versions() != nights[len(nights)-1].Versions() {
			return nights[i+1:]
		}
	}
	return nights
}

// Versions returns the versions of Ceph and Rook in words.
func (n Night) Versions() string {
	var d quiescence.Detail
	if json.Unmarshal(n.Environment, &d) != nil {
		return "unknown versions"
	}
	return fmt.Sprintf("Ceph %s, Rook %s", strings.Join(d.CephVersions, " and "), d.RookVersion)
}

// Differences lists what differs between the environments of the last night before and the first one after, versions first.
func (u Upgrade) Differences() []string {
	lines, _ := differences(u.Before[len(u.Before)-1], u.After[0])
	return lines
}

// Shifts compares the main figure of each phase. Without a night after, it compares a night that is like those before: the
// interval then says what will go unseen.
func (u Upgrade) Shifts(phases []v1alpha1.Phase) ([]Shift, error) {
	shifts, contrasts := []Shift{}, []stats.Contrast{}
	last := u.Before[len(u.Before)-1]
	night := last
	if len(u.After) > 0 {
		night = u.After[0]
	}
	for i := range phases {
		phase, wanted := phases[i].Name, mainMetric(&phases[i], last)
		was, had := last.figureIn(phase, wanted)
		now, measured := night.figureIn(phase, wanted)
		if !had && !measured {
			continue
		}
		s, contrast, err := Shift{Phase: phase, Metric: wanted, Verdict: Inconclusive, Missing: true}, stats.Contrast{}, error(nil)
		if measured && now.Runs >= min(was.Runs, figure.MinimumRuns) {
			s, contrast, err = u.shift(now, night.Time)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", phase, wanted, err)
		}
		shifts, contrasts = append(shifts, s), append(contrasts, contrast)
	}
	for i, c := range contrasts {
		shifts[i].judge(c, 1-0.05/float64(len(contrasts)))
		if len(u.After) == 0 {
			shifts[i].Verdict = ""
		}
	}
	return shifts, nil
}

// shift compares a figure with the days before by the differences between them. As in gates, the interval grows with their age.
func (u Upgrade) shift(now Figure, at time.Time) (Shift, stats.Contrast, error) {
	s := Shift{Phase: now.Phase, Metric: now.Metric, Verdict: Inconclusive}
	nights, err := u.like(now)
	var days [][]float64
	for i, n := range nights {
		f, _ := n.figureIn(now.Phase, now.Metric)
		if i == 0 || n.Time.Format(time.DateOnly) != nights[i-1].Time.Format(time.DateOnly) {
			days = append(days, nil)
		}
		days[len(days)-1] = append(days[len(days)-1], f.Value)
	}
	if s.Days = len(days); err != nil || s.Days < figure.ReferenceDays {
		return s, stats.Contrast{}, err
	}
	if len(u.After) == 0 {
		now.Value = stats.GeometricMean(slices.Concat(days...))
	}
	contrast, err := stats.NewDayLogRatio(days, []float64{now.Value}, figure.Growth(nights[0].Time, nights[len(nights)-1].Time, at))
	return s, contrast, err
}

// like returns the nights before the upgrade that measured the workload of a figure: those of the last two months, since the latest
// change point, because the level was another before that.
func (u Upgrade) like(now Figure) ([]Night, error) {
	since := u.Before[len(u.Before)-1].Time.AddDate(0, -2, 0)
	nights := slices.DeleteFunc(slices.Clone(u.Before), func(n Night) bool {
		f, ok := n.figureIn(now.Phase, now.Metric)
		return !ok || f.SpecDigest != now.SpecDigest || n.Time.Before(since)
	})
	if len(nights) == 0 {
		return nil, nil
	}
	series, err := seriesOf(now.Phase, now.Metric, nights, time.Time{})
	if err != nil || len(series.Changes) == 0 {
		return nights, err
	}
	change := series.Changes[len(series.Changes)-1].Since
	return slices.DeleteFunc(nights, func(n Night) bool { return n.Time.Before(change) }), nil
}

// judge fills in the verdict and its interval, unless the days are too few for one.
func (s *Shift) judge(c stats.Contrast, confidence float64) {
	if !c.HasNoise() {
		return
	}
	interval := c.RatioInterval(confidence)
	s.Ratio, s.Low, s.High = math.Exp(c.LogRatio), interval.Low, interval.High
	switch {
	case c.PEquivalent(math.Log1p(equivalence)) <= 1-confidence:
		s.Verdict = Equivalent
	case s.Low <= 1 && s.High >= 1:
	case s.Low > 1 == s.Metric.LowerIsBetter():
		s.Verdict = Slower
	default:
		s.Verdict = Faster
	}
}
