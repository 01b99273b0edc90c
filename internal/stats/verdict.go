package stats

import (
	"fmt"
	"math"
	"slices"
)

// Criteria are the thresholds of verdicts. They are fixed before the first run: a threshold that is chosen
// after a look at the data proves nothing.
type Criteria struct {
	Direction     Direction
	MinimumEffect float64 // δ: 0.10 asks for a rate above 1.10 of the baseline, or a latency below 0.90
	Equivalence   float64 // ε: with 0.05, ratios between 1/1.05 and 1.05 are equivalent
	Confidence    float64 // 1−α, such as 0.95
	// UnseenStalls is a share of the time, such as 0.04. A gain or a loss only counts if stalls for this share of the
	// time, which the data do not have, would not undo it.
	UnseenStalls float64
	Looks        Looks // zero: the data are judged once
	MaxRuns      int   // an effect that needs more runs is "too close" to a threshold; 0 sets no limit
}

// Validate returns an error about the first meaningless value. The error wraps ErrParameter.
func (c Criteria) Validate() error {
	if err := checkOpenUnit("confidence", c.Confidence); err != nil {
		return err
	}
	if err := checkOpenUnit("equivalence margin", c.Equivalence); err != nil {
		return err
	}
	if !(c.MinimumEffect >= 0) || math.IsInf(c.MinimumEffect, 1) || (c.Direction == LowerIsBetter && c.MinimumEffect >= 1) {
		return fmt.Errorf("%w: minimum effect %v", ErrParameter, c.MinimumEffect)
	}
	if !(c.UnseenStalls >= 0 && c.UnseenStalls < 1) {
		return fmt.Errorf("%w: a share of %v for unseen stalls", ErrParameter, c.UnseenStalls)
	}
	if k := c.Looks; k != (Looks{}) && (k.First < 1 || k.Last < k.First) {
		return fmt.Errorf("%w: looks after %d to %d runs", ErrParameter, k.First, k.Last)
	}
	return nil
}

// Margin returns the gain on the log scale that a superior candidate exceeds: ln(1+δ) for a rate, −ln(1−δ)
// for a latency.
func (c Criteria) Margin() float64 {
	if c.Direction == LowerIsBetter {
		return -math.Log1p(-c.MinimumEffect)
	}
	return math.Log1p(c.MinimumEffect)
}

// unseen returns by how much, on the log scale, unseen stalls may distort a difference.
func (c Criteria) unseen() float64 { return -math.Log1p(-c.UnseenStalls) }

// Comparison is one candidate to judge. Any Faults make it Invalid: its runs then do not count.
type Comparison struct {
	Name     string
	Contrast Contrast
	Faults   []Reason
	// Beaten says that the candidate has left the race because it lagged behind the leader. Too few runs are
	// then not a fault: the candidate is Inconclusive, and still counts in the number of comparisons.
	Beaten bool
}

func (c Comparison) faults() []Reason {
	faults := append([]Reason(nil), c.Faults...)
	if c.Contrast.Runs < MinRuns && !c.Beaten {
		faults = append(faults, Reason{Code: TooFewRuns, Count: c.Contrast.Runs, Limit: MinRuns})
	}
	return faults
}

// PValues are the one-sided p-values of one candidate.
type PValues struct {
	Superior float64 // against "the gain is at most the minimum effect"
	AnyGain  float64 // against "there is no gain"
	Loss     float64 // against "there is no loss"
	Small    float64 // against "the gain is at least the minimum effect"
}

// Assessment is the verdict on one candidate, with all its evidence.
type Assessment struct {
	Name     string
	Verdict  Verdict
	Reasons  []Reason // the first one decided
	Warnings []Reason

	Ratio    float64 // candidate ÷ baseline, of geometric means; 0 without comparable runs
	Interval Bounds  // of Ratio; 0 to +Inf where noise is unknown
	Runs     int     // Contrast.Runs

	P           PValues // unadjusted; 1 where noise is unknown
	Holm        PValues // adjusted for the number of valid candidates; 1 if the candidate is Invalid
	PEquivalent float64 // p-value of the two one-sided tests against "the ratio is outside of the equivalence margin"
	Level       float64 // the level for p-values of gains: α, or less with several looks

	criteria Criteria
	contrast Contrast
	levels   levels
	family   int // number of valid candidates, at least 1
}

// levels are the levels for p-values.
type levels struct {
	full, half float64 // full is for questions at α, half for questions at α/2: losses and small gains
	equivalent float64 // for PEquivalent
	late       int     // the smallest number of runs at which Equivalent is tested
}

func (c Criteria) levels(family int) levels {
	alpha, late := 1-c.Confidence, c.Looks.late()
	return levels{
		full: c.Looks.Level(alpha, family), half: c.Looks.Level(alpha/2, family),
		equivalent: late.Level(alpha, 1), late: late.First,
	}
}

// Judge gives each candidate its verdict, in the order of the input. The first rule that applies decides:
//
//	Invalid       any fault, or fewer than 3 runs of a candidate that is not Beaten
//	Inconclusive  fewer than 3 runs of a Beaten candidate
//	Superior      p of "gain > minimum effect" after Holm ≤ level
//	Equivalent    the 1−2·level interval lies inside ±ln(1+ε)
//	Better        p of "any gain" after Holm ≤ level, and p of "gain < minimum
//	              effect" after Holm ≤ half
//	Inferior      p of "a loss" after Holm ≤ half: the interval excludes 1
//	Inconclusive  otherwise
//
// A gain or a loss has to exceed its threshold by as much as Criteria.UnseenStalls may distort it.
//
// level is α, and half is α/2. With several looks, they are the parts of α and α/2 that each look may spend.
// Equivalent is tested at fewer looks than the other verdicts, so its level differs.
//
// The probability of any false Superior among all candidates is at most 1−Confidence, and so is that of any
// Better for a candidate without a gain. The probability of any false Inferior is at most half of 1−Confidence. For Equivalent, the
// error is bounded for each candidate separately.
func Judge(criteria Criteria, comparisons []Comparison) ([]Assessment, error) {
	if err := criteria.Validate(); err != nil {
		return nil, err
	}
	valid := 0
	for _, c := range comparisons {
		if len(c.faults()) == 0 {
			valid++
		}
	}
	out := make([]Assessment, len(comparisons))
	for i, c := range comparisons {
		out[i] = criteria.describe(c, max(valid, 1))
	}
	if err := adjustForMany(out); err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Verdict != Invalid {
			out[i].decide()
		}
	}
	return out, nil
}

// describe returns an assessment that lacks the p-values after Holm's correction and, for a valid candidate,
// the verdict.
func (c Criteria) describe(cmp Comparison, family int) Assessment {
	levels, unseen := c.levels(family), c.unseen()
	gain := c.Gain(cmp.Contrast)
	out := Assessment{
		Name: cmp.Name, criteria: c, contrast: cmp.Contrast, levels: levels, family: family, Runs: cmp.Contrast.Runs, Level: levels.full,
		Ratio: cmp.Contrast.ratio(), Interval: cmp.Contrast.RatioInterval(1 - 2*levels.half),
		P: PValues{
			Superior: gain.PGreater(c.Margin() + unseen), AnyGain: gain.PGreater(unseen),
			Loss: gain.PLess(-unseen), Small: gain.PLess(c.Margin()),
		},
		Holm:        PValues{1, 1, 1, 1},
		PEquivalent: gain.PEquivalent(math.Log1p(c.Equivalence)),
	}
	if cmp.Contrast.HasNoise() && cmp.Contrast.StdErr == 0 {
		out.Warnings = append(out.Warnings, Reason{Code: IdenticalRuns, Count: cmp.Contrast.Runs})
	}
	if faults := cmp.faults(); len(faults) > 0 {
		out.Verdict, out.Reasons = Invalid, faults
	}
	return out
}

// Gain returns a contrast with the sign that makes an improvement positive.
func (c Criteria) Gain(k Contrast) Contrast {
	if c.Direction == LowerIsBetter {
		return k.Negated()
	}
	return k
}

// adjustForMany applies Holm's correction to each question over the valid candidates. Invalid candidates get
// no verdict that can be false, so the correction does not count them.
func adjustForMany(as []Assessment) error {
	questions := []func(*PValues) *float64{
		func(p *PValues) *float64 { return &p.Superior },
		func(p *PValues) *float64 { return &p.AnyGain },
		func(p *PValues) *float64 { return &p.Loss },
		func(p *PValues) *float64 { return &p.Small },
	}
	for _, question := range questions {
		var ps []float64
		for i := range as {
			if as[i].Verdict != Invalid {
				ps = append(ps, *question(&as[i].P))
			}
		}
		adjusted, err := Holm(ps)
		if err != nil {
			return err
		}
		for i := range as {
			if as[i].Verdict != Invalid {
				*question(&as[i].Holm), adjusted = adjusted[0], adjusted[1:]
			}
		}
	}
	return nil
}

func (a *Assessment) decide() {
	switch {
	case a.Runs < MinRuns:
		a.conclude(Inconclusive, Reason{Code: TooFewRuns, Count: a.Runs, Limit: MinRuns})
	case a.Holm.Superior <= a.Level:
		a.conclude(Superior, Reason{Code: ThresholdExceeded, Value: a.Holm.Superior, Limit: a.Level})
	case a.Runs >= a.levels.late && a.PEquivalent <= a.levels.equivalent:
		a.conclude(Equivalent, Reason{Code: WithinEquivalence, Value: a.PEquivalent, Limit: a.levels.equivalent})
		if a.levels.late > 0 { // Equivalent has its own level, which the interval must match.
			a.Interval = a.contrast.RatioInterval(1 - 2*a.levels.equivalent)
		}
	case a.Holm.AnyGain <= a.Level && a.Holm.Small <= a.levels.half:
		a.conclude(Better, Reason{Code: GainIsSmall, Value: a.Holm.AnyGain, Limit: a.Level})
	case a.Holm.Loss <= a.levels.half:
		a.conclude(Inferior, Reason{Code: LossShown, Value: a.Holm.Loss, Limit: a.levels.half})
	default:
		a.conclude(Inconclusive, a.whyOpen())
		if a.family > 1 && a.P.Superior <= a.Level {
			a.Reasons = append(a.Reasons, Reason{Code: AskedForMany, Value: a.P.Superior, Limit: a.Level, Count: a.family})
		}
	}
}

// UnseenStalls returns the share of the time for which stalls may have gone unseen without undoing the verdict; 0 for
// a verdict that claims no difference.
func (a Assessment) UnseenStalls() float64 {
	switch a.Verdict {
	case Superior, Better, Inferior:
		return a.criteria.UnseenStalls
	case Equivalent, Inconclusive, Invalid:
	}
	return 0
}

func (a *Assessment) conclude(v Verdict, reason Reason) {
	a.Verdict, a.Reasons = v, []Reason{reason}
}

// Unconfirmed returns the assessment of a candidate that was not confirmed after the race. The winner has the
// best value in the race, which may be luck and does not prove a large effect. So Superior becomes
// Inconclusive. Other verdicts stay.
func (a Assessment) Unconfirmed() Assessment {
	if a.Verdict == Superior {
		a.conclude(Inconclusive, Reason{Code: NotConfirmed, Value: a.Holm.Superior, Limit: a.Level})
	}
	return a
}

// Withheld returns the assessment of a candidate of whose trials some were starved: their clients or hosts lacked
// CPU. The parameter without is the assessment without these trials. A gain has to be shown by them, too, so a
// verdict that says more becomes that verdict or Inconclusive. Other verdicts stay.
func (a Assessment) Withheld(without Assessment) Assessment {
	gain := func(v Verdict) bool { return v == Superior || v == Better }
	switch {
	case !gain(a.Verdict):
	case !gain(without.Verdict):
		a.conclude(Inconclusive, Reason{Code: Starved})
	case without.Verdict == Better:
		return without
	}
	return a
}

// Confirmed reports for each assessment whether a second test supports its verdict at the same levels, after
// Holm's correction. p has the unadjusted p-values of the second test. A verdict needs both tests, so each
// p-value is the larger one. A verdict that rests on other p-values counts as confirmed.
func Confirmed(as []Assessment, p []PValues) ([]bool, error) {
	both := slices.Clone(as)
	for i := range both {
		larger := &both[i].P
		*larger = PValues{
			Superior: max(larger.Superior, p[i].Superior), AnyGain: max(larger.AnyGain, p[i].AnyGain),
			Loss: max(larger.Loss, p[i].Loss), Small: max(larger.Small, p[i].Small),
		}
	}
	if err := adjustForMany(both); err != nil {
		return nil, err
	}
	out := make([]bool, len(as))
	for i, a := range both {
		switch a.Verdict {
		case Superior:
			out[i] = a.Holm.Superior <= a.Level
		case Better:
			out[i] = a.Holm.AnyGain <= a.Level && a.Holm.Small <= a.levels.half
		case Inferior:
			out[i] = a.Holm.Loss <= a.levels.half
		default:
			out[i] = true
		}
	}
	return out, nil
}

// EffectRuledOut reports whether an open assessment excludes a gain and a loss of the minimum effect: its interval
// lies within both. Smaller effects stay open.
func (a Assessment) EffectRuledOut() bool {
	minimum := a.criteria.MinimumEffect
	return a.Verdict == Inconclusive && a.Interval.Low > 1-minimum && a.Interval.High < 1+minimum
}

func (a *Assessment) whyOpen() Reason {
	minimum := a.criteria.MinimumEffect
	small := a.P.Small <= a.levels.half // The interval then excludes the minimum effect.
	switch {
	case a.Holm.AnyGain <= a.Level:
		return Reason{Code: GainSizeOpen, Value: a.Holm.AnyGain, Limit: a.Level}
	case small && a.criteria.Direction == LowerIsBetter:
		return Reason{Code: GainRuledOut, Value: 1 - a.Interval.Low, Limit: minimum}
	case small:
		return Reason{Code: GainRuledOut, Value: a.Interval.High - 1, Limit: minimum}
	}
	return Reason{Code: EffectOpen, Limit: minimum}
}
