package sweepspec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
)

// mostNamed is the largest number of candidates that a recommendation names.
const mostNamed = 3

// useAdvice begins the advice to use the winner.
const useAdvice = "Use "

// recommendation is the first line of a summary: which configuration to use, and why: what the sweep found out
// about each candidate.
type recommendation struct {
	spec           *Spec
	plan           *v1alpha1.SweepPlan // nil for the design Blocks
	configurations []sweep.Configuration
	rows           []v1alpha1.ConfigurationResult // of all configurations, with verdicts
	leader, winner int                            // indexes of configurations; 0 for none
	scope          v1alpha1.SweepScope            // of the leader's verdict
	switched       []int                          // candidates whose verdict has the smaller scope Windows
}

// String returns the line without its end, which says whether everything is restored; see [WithRestored].
func (r recommendation) String() string {
	order := []int{}
	for c := 1; c < len(r.rows); c++ {
		order = append(order, c)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.rank(a), r.rank(b)) })
	parts := []string{r.advice()}
	for index, c := range order {
		if index == mostNamed-1 && len(order) > mostNamed {
			parts = append(parts, fmt.Sprintf("%d others: see the table.", len(order)-index))
			break
		}
		finding := r.finding(c, index == 0) + "."
		if use, winner := strings.CutSuffix(parts[0], r.name(c)+"."); winner && use == useAdvice { // The advice has named the winner.
			parts[0] = use + r.name(c) + ": " + finding
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %s", r.name(c), finding))
	}
	return strings.Join(parts, " ")
}

// rank puts the leader first.
func (r recommendation) rank(c int) int {
	if c == r.leader {
		return 0
	}
	return 1
}

// advice says which configuration to use. A verdict without a patch is no reason for a change, unless the spec
// names its scope.
func (r recommendation) advice() string {
	base := "the baseline"
	if len(r.spec.Parameters) == 1 {
		base = r.name(0)
	}
	switch {
	case r.winner == 0:
		return fmt.Sprintf("Keep %s.", base)
	case HasPatch(r.spec, r.scope), r.spec.OnCompletion == v1alpha1.CompletionKeepBest && MayKeep(r.spec, r.scope):
		return useAdvice + r.name(r.winner) + "."
	case r.scope == v1alpha1.ScopeWindows && DrawsCurves(r.spec):
		return fmt.Sprintf("Keep %s until whole curves confirm the gain.", base)
	case r.scope == v1alpha1.ScopeWindows:
		return fmt.Sprintf("Keep %s until long windows confirm the gain.", base)
	}
	return fmt.Sprintf("Keep %s until several pools confirm the gain.", base)
}

// name returns the value of the only parameter, or the name of a configuration with several.
func (r recommendation) name(c int) string {
	if len(r.spec.Parameters) == 1 && len(r.spec.Configurations) == 0 {
		return r.configurations[c].Values[string(r.spec.Parameters[0].Name)].String()
	}
	return NameOf(c, r.configurations[c])
}

// finding says what was found out about a candidate. The first candidate of a line also names the metric.
func (r recommendation) finding(c int, first bool) string {
	row := r.rows[c]
	switch row.Reason {
	case string(stats.Saturated):
		return saturatedFinding(row.Verdict)
	case string(sweep.CandidateBeaten):
		return "beaten in the race"
	case string(reasonNoRate):
		return "no verdict, because a curve gives no rate"
	}
	ratio, err := figure.ParseDecimal(row.Ratio)
	if err != nil || row.Verdict == v1alpha1.VerdictInvalid {
		return "no verdict"
	}
	metric := ""
	if first {
		metric = string(r.spec.Objective.Metric) + " "
	}
	interval := reach(row, metric)
	switch row.Verdict {
	case v1alpha1.VerdictSuperior, v1alpha1.VerdictBetter:
		text := r.speed(ratio) + r.where(c) + interval
		if c != r.winner && row.Reason == string(sweep.ConstraintBroken) {
			return text + ", but it breaks a constraint"
		}
		if row.Verdict == v1alpha1.VerdictBetter {
			return text + ", less than minimumEffect"
		}
		return text
	case v1alpha1.VerdictInferior:
		return r.speed(ratio) + r.where(c)
	case v1alpha1.VerdictEquivalent:
		return "no relevant difference" + interval
	case v1alpha1.VerdictInconclusive, v1alpha1.VerdictInvalid:
	}
	return r.open(row) + interval
}

// open says why nothing is proven about a candidate.
func (r recommendation) open(row v1alpha1.ConfigurationResult) string {
	switch row.Reason {
	case string(stats.Starved):
		return "not proven, because CPU was short"
	case string(stats.NotConfirmed):
		return "not confirmed"
	case string(reasonRuledOut), string(reasonShort):
		if r.below(row) {
			return fmt.Sprintf("no difference of %s or more", r.spec.Objective.MinimumEffect)
		}
	}
	return "no difference proven"
}

// below reports whether the interval of a ratio excludes a gain and a loss of the minimum effect.
func (r recommendation) below(row v1alpha1.ConfigurationResult) bool {
	low, errLow := figure.ParseDecimal(row.Low)
	high, errHigh := figure.ParseDecimal(row.High)
	minimum, err := fraction(r.spec.Objective.MinimumEffect)
	return errLow == nil && errHigh == nil && err == nil && low > 1-minimum && high < 1+minimum
}

// speed converts a ratio to words. A latency of 1.66 times the baseline's is 66 % slower, and so is a rate of 0.34
// times the baseline's.
func (r recommendation) speed(ratio float64) string {
	word := "slower"
	if (ratio > 1) != r.spec.Objective.Metric.LowerIsBetter() {
		word = "faster"
	}
	return percentText(math.Abs(ratio-1)) + " " + word
}

// where says that a candidate's verdict speaks for less than the leader's.
func (r recommendation) where(c int) string {
	if slices.Contains(r.switched, c) {
		return " in switched windows"
	}
	return ""
}

// reach returns the interval of a ratio as differences, in brackets and after the metric; "" for an unknown interval.
func reach(row v1alpha1.ConfigurationResult, metric string) string {
	low, err := figure.ParseDecimal(row.Low)
	if err != nil {
		return ""
	}
	high, err := figure.ParseDecimal(row.High)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%s%s to %s)", metric, signed(low-1), signed(high-1))
}

func signed(difference float64) string {
	if difference < 0 {
		return "−" + percentText(-difference)
	}
	return "+" + percentText(difference)
}

// percentText formats a fraction of at least 0 with two significant digits, or all digits before the point.
func percentText(fraction float64) string {
	percent := 100 * fraction
	if percent < 9.95 {
		return fmt.Sprintf("%.1f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", math.Min(percent, 999_999))
}

// roomForRestored is the number of bytes that [WithRestored] may add.
const roomForRestored = 28

// summaryOf returns a summary: the recommendation in a line of its own, the sentences that explain it, and notes.
// It shortens the sentences first.
func summaryOf(r recommendation, sentence, notes string) string {
	const mostOfLine = 420
	line := ellipsis.Cut(r.String(), mostOfLine) + "\n"
	const most = maxSummary - roomForRestored
	return ellipsis.Cut(line+ellipsis.Cut(sentence, max(most-len(line)-len(notes), 3))+notes, most)
}

// WithRestored adds to the first line of a summary what became of the settings. It leaves a summary alone that
// has the addition already, or has no room for it.
func WithRestored(summary, restored string) string {
	line, rest, ok := strings.Cut(summary, "\n")
	if restored == "" || !ok || strings.HasSuffix(line, restored) || len(summary)+len(restored)+1 > maxSummary {
		return summary
	}
	return line + " " + restored + "\n" + rest
}

// marked counts the trials of a sweep that count: all of them, those that were starved, and those of the
// baseline that had enough CPU, with and without the offered rate.
type marked struct{ all, starved, baselines, below int }

func (m *marked) add(mark fitness.Mark, baseline bool) {
	m.all++
	switch {
	case mark.Starves():
		m.starved++
	case baseline && mark == fitness.BelowRate:
		m.below++
		m.baselines++
	case baseline:
		m.baselines++
	}
}

// notes says whether a gain was withheld, whether most trials lacked CPU, and whether the offered rate is too
// high, because the baseline misses it in most trials.
func (m marked) notes(withheld bool, subject string) string {
	text, lacked := "", fmt.Sprintf("lients or their hosts lacked CPU in %d of %s. End other work on these hosts, and repeat the sweep.", m.starved, plural(m.all, subject))
	switch {
	case withheld:
		text = " The gain is not proven, because c" + lacked
	case 2*m.starved > m.all:
		text = " C" + lacked
	}
	if 2*m.below > m.baselines {
		text += " The baseline misses the offered rate, too: lower the rate."
	}
	return text
}
