package sweepspec

import (
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
)

// SessionCost has the duration of a session, the bytes that it wrote, and its end.
type SessionCost struct {
	Seconds int
	MiB     int64
	Ended   time.Time
}

// InvalidSession returns the trial of a session that does not count.
func InvalidSession(number int, reason v1alpha1.TrialReason, cost SessionCost) v1alpha1.Trial {
	t := newTrial(number, reason, "", cost.Seconds, cost.MiB)
	t.EndTime = &metav1.Time{Time: cost.Ended.UTC().Truncate(time.Second)}
	return t
}

// NewSessionTrial returns the trial of a session. The arguments named summary, has and err are the results of
// [session.Evidence.Summarize] or, in a replay, of KeptSession.Summarize. The second result says in words why the trial
// is invalid; "" if it is valid. A session is invalid for reasons that do not depend on its figures. Long says that it
// has long windows.
func NewSessionTrial(noun Noun, number int, long bool, summary session.Summary, ok bool, err error, cost SessionCost) (t v1alpha1.Trial, reason string) {
	switch {
	case err != nil:
		return InvalidSession(number, v1alpha1.TrialFailed, cost), err.Error()
	case !ok || slices.ContainsFunc(summary.Objective, func(e switchback.Entry) bool { return !e.Unknown && e.Blocks < leastBlocks(long) }):
		return InvalidSession(number, v1alpha1.TrialTooShort, cost), "too few of its windows count"
	case summary.Objective[0].Invalid: // The entries of a session are all invalid, or none is.
		return InvalidSession(number, v1alpha1.TrialUneven, cost), fmt.Sprintf("windows of one %s were invalid more often than chance allows", noun)
	}
	t = newTrial(number, "", summary.Mark, cost.Seconds, cost.MiB)
	t.EndTime, t.Windows = &metav1.Time{Time: cost.Ended.UTC().Truncate(time.Second)}, v1alpha1.WindowsShort
	if long {
		t.Windows = v1alpha1.WindowsLong
	}
	t.BaselineObjective = typicalDecimal(summary, switchback.Baseline)
	for i, e := range summary.Objective {
		if e.Unknown {
			continue
		}
		c := v1alpha1.TrialComparison{
			Configuration: int32(e.Candidate), Blocks: int32(e.Blocks), //nolint:gosec // At most 64, and the number of windows.
			Objective: typicalDecimal(summary, e.Candidate), Ratio: figure.Decimal(math.Exp(e.Mean)), Deviation: figure.Decimal(e.StdDev),
		}
		switch {
		case e.StdDevAbove > 0: // Curves have no order of windows to test.
			c.DeviationAbove = figure.Decimal(e.StdDevAbove)
		case !long:
			c.Randomization = &v1alpha1.TrialRandomization{
				PSuperior: figure.Decimal(e.P.Superior), PGain: figure.Decimal(e.P.AnyGain), PLoss: figure.Decimal(e.P.Loss), PSmall: figure.Decimal(e.P.Small),
				LateScore: figure.Decimal(e.Late), LagScore: figure.Decimal(e.Lag),
			}
		}
		for _, entries := range summary.Constraints {
			c.Constraints = append(c.Constraints, v1alpha1.TrialConstraint{Value: figure.Decimal(math.Exp(entries[i].Mean)), Deviation: figure.Decimal(entries[i].StdDev)})
		}
		t.Comparisons = append(t.Comparisons, c)
	}
	return t, ""
}

// typicalDecimal returns the typical figure of a setting; "" if it is unknown.
func typicalDecimal(sum session.Summary, setting int) v1alpha1.Decimal {
	if v, known := sum.Typical[setting]; known {
		return figure.Decimal(v)
	}
	return ""
}

// leastBlocks returns the smallest number of blocks in a valid session. Fewer short blocks give no estimate of the noise.
func leastBlocks(long bool) int {
	if long {
		return 1
	}
	return 2
}

// summaryOfTrial returns the summary of a valid session. Without comparisons, its curves gave no ratio.
func summaryOfTrial(t *v1alpha1.Trial, constraints int, curves bool) (session.Summary, error) {
	sum := session.Summary{Constraints: make([][]switchback.Entry, constraints), Mark: fitness.Mark(t.Mark)}
	if len(t.Comparisons) == 0 && curves {
		sum.Objective = []switchback.Entry{{Candidate: 1, Unknown: true}}
		return sum, nil
	}
	if len(t.Comparisons) == 0 {
		return sum, fmt.Errorf("it is %s and has no comparisons", t.Validity())
	}
	var read decimals
	for _, c := range t.Comparisons {
		if len(c.Constraints) != constraints {
			return sum, fmt.Errorf("it has figures of %d constraints, want %d", len(c.Constraints), constraints)
		}
		e := switchback.Entry{
			Candidate: int(c.Configuration), Blocks: int(c.Blocks), Mean: math.Log(read.number(c.Ratio)), StdDev: read.number(c.Deviation),
			P: stats.PValues{Superior: 1, AnyGain: 1, Loss: 1, Small: 1},
		}
		if c.DeviationAbove != "" {
			e.StdDevAbove = read.number(c.DeviationAbove)
		}
		if r := c.Randomization; r != nil {
			e.P = stats.PValues{Superior: read.number(r.PSuperior), AnyGain: read.number(r.PGain), Loss: read.number(r.PLoss), Small: read.number(r.PSmall)}
			e.Late, e.Lag = read.number(r.LateScore), read.number(r.LagScore)
		}
		sum.Objective = append(sum.Objective, e)
		for k, constraint := range c.Constraints {
			e.Mean, e.StdDev = math.Log(read.number(constraint.Value)), read.number(constraint.Deviation)
			sum.Constraints[k] = append(sum.Constraints[k], e)
		}
	}
	return sum, read.err
}

// decimals reads numbers. It keeps the first error.
type decimals struct{ err error }

func (r *decimals) number(d v1alpha1.Decimal) float64 {
	v, err := figure.ParseDecimal(d)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}
