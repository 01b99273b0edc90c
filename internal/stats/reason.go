package stats

import (
	"fmt"
	"math"
	"strconv"
)

// Verdict is the statement about one candidate that the runs support. Verdict has no value for "not
// significant": such a candidate is Inconclusive.
type Verdict string

const (
	// Superior means: better than the baseline by more than the minimum effect.
	Superior Verdict = "Superior"
	// Better means: better than the baseline, but by less than the minimum effect.
	Better Verdict = "Better"
	// Equivalent means: any difference from the baseline is smaller than the equivalence margin.
	Equivalent Verdict = "Equivalent"
	// Inferior means: worse than the baseline.
	Inferior Verdict = "Inferior"
	// Inconclusive means: the runs are not enough for any of the verdicts above.
	Inconclusive Verdict = "Inconclusive"
	// Invalid means: the runs do not count.
	Invalid Verdict = "Invalid"
)

// ReasonCode names a reason. The comment on each code defines the fields Value, Limit and Count of the
// Reason. Fields that the comment does not mention are 0. Effects are fractions: 0.1 is 10%.
type ReasonCode string

// The reasons.
const (
	TooFewRuns ReasonCode = "TooFewRuns" // Count: runs. Limit: runs that are needed.
	NotSteady  ReasonCode = "NotSteady"  // Count: runs that never became steady.
	Drifted    ReasonCode = "Drifted"    // Count: attempts at a block that were rejected for drift. Value: ln(last/first control) of the last of them. Limit: maximum of |Value|.
	NoControls ReasonCode = "NoControls" // Count: attempts at a block that were rejected because a needed run of the baseline is not valid.
	Inert      ReasonCode = "Inert"      // Count: runs in which the setting had no effect on the cluster.
	RunsFailed ReasonCode = "RunsFailed" // Count: failed runs.

	OtherLoad   ReasonCode = "OtherLoad"   // The runs had different loads. Detail: how they differ.
	NotStorage  ReasonCode = "NotStorage"  // The figure cannot show the storage. Detail: the cause.
	HiddenWaits ReasonCode = "HiddenWaits" // The figure lacks waits. Detail: how many.
	Saturated   ReasonCode = "Saturated"   // The storage could not take the rate in runs of the candidate or of the baseline, so the figure is no number.
	ClosedLoop  ReasonCode = "ClosedLoop"  // The figure is a percentile of a closed loop. Detail: how to accept it.

	ThresholdExceeded ReasonCode = "ThresholdExceeded" // Value: p of a gain above the minimum effect, after Holm's correction. Limit: level.
	WithinEquivalence ReasonCode = "WithinEquivalence" // Value: p of the two one-sided tests (TOST). Limit: level.
	GainIsSmall       ReasonCode = "GainIsSmall"       // Value: p of any gain, after Holm's correction. Limit: level.
	LossShown         ReasonCode = "LossShown"         // Value: p of a loss, after Holm's correction. Limit: level.

	GainSizeOpen ReasonCode = "GainSizeOpen" // A gain is shown, but it may be below the minimum effect. Value: p of any gain, after Holm's correction. Limit: level.
	GainRuledOut ReasonCode = "GainRuledOut" // Value: largest gain in the interval. Limit: minimum effect.
	EffectOpen   ReasonCode = "EffectOpen"   // The data exclude neither a gain of 0 nor the minimum effect. Limit: minimum effect.
	AskedForMany ReasonCode = "AskedForMany" // Value: p of a gain above the minimum effect, before Holm's correction. This p would suffice for a single candidate. Limit: level. Count: candidates.
	NotConfirmed ReasonCode = "NotConfirmed" // Superior in the race, but not confirmed. Value: p of a gain above the minimum effect in the race, after Holm's correction. Limit: level.
	Starved      ReasonCode = "Starved"      // A gain, but trials whose clients and hosts had enough CPU do not show it.

	IdenticalRuns ReasonCode = "IdenticalRuns" // A warning. Count: runs, which show no noise at all.
)

// Reason is a reason for a verdict, as data.
type Reason struct {
	Code  ReasonCode
	Value float64
	Limit float64
	Count int
	// Detail is a clause of plain English, for reasons that concern the load of a run.
	Detail string
}

// colon returns a detail behind a colon.
func colon(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + detail
}

// String returns the reason as a clause of plain English.
func (r Reason) String() string {
	switch r.Code {
	case ThresholdExceeded, WithinEquivalence, GainIsSmall, LossShown:
		return fmt.Sprintf("p = %s at level %s", short(r.Value), short(r.Limit))
	case GainSizeOpen:
		return "a gain is shown, but not whether it exceeds the minimum effect"
	case GainRuledOut:
		return fmt.Sprintf("a gain of %s is ruled out, at most %s is possible", percent(r.Limit), percent(r.Value))
	case EffectOpen:
		return "both no gain and the minimum effect are possible"
	case AskedForMany:
		return fmt.Sprintf("its p-value %s would suffice for a single candidate, but not for one of %d", short(r.Value), r.Count)
	case NotConfirmed:
		return fmt.Sprintf("it passed in the race (p = %s) but was not confirmed in fresh blocks", short(r.Value))
	case Starved:
		return "it is better, but only in runs in which clients or their hosts lacked CPU"
	case IdenticalRuns:
		return fmt.Sprintf("all %d runs are identical: rounded values hide their noise", r.Count)
	default:
		return r.unusable()
	}
}

// unusable returns the clause of a reason why figures cannot be judged.
func (r Reason) unusable() string {
	switch r.Code {
	case TooFewRuns:
		return tooFew(r.Count, r.Limit)
	case NotSteady:
		return fmt.Sprintf("%s never became steady", plural(r.Count, "run"))
	case Drifted:
		return drifted(r.Count, percent(math.Expm1(r.Value)))
	case NoControls:
		return fmt.Sprintf("the baseline has no valid run where %s needed one", plural(r.Count, "block"))
	case Inert:
		return "the setting had no effect on the running cluster"
	case RunsFailed:
		return plural(r.Count, "run") + " failed"
	case OtherLoad:
		return "the loads differ" + colon(r.Detail)
	case NotStorage:
		return "the figure cannot show the storage" + colon(r.Detail)
	case HiddenWaits:
		return "the figure lacks waits" + colon(r.Detail)
	case Saturated:
		return "the storage could not take the rate"
	case ClosedLoop:
		return "a percentile of a closed loop hides stalls" + colon(r.Detail)
	default:
		return string(r.Code)
	}
}

func tooFew(runs int, least float64) string {
	if runs == 1 {
		return fmt.Sprintf("there is 1 run where %.0f are needed: it cannot predict the next one", least)
	}
	return fmt.Sprintf("there are %s where %.0f are needed", plural(runs, "run"), least)
}

func drifted(blocks int, change string) string {
	if blocks == 1 {
		return fmt.Sprintf("the baseline itself changed by %s inside a block", change)
	}
	return fmt.Sprintf("the baseline itself changed inside %s, by %s in the last of them", plural(blocks, "block"), change)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// percent formats a fraction in percent, rounded to three significant digits.
func percent(fraction float64) string { return short(100*fraction) + "%" }

func short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
