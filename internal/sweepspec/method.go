package sweepspec

import (
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
)

// method is a design before it has trials: how it plans, and how it is described.
type method struct {
	// fix adds the cost of a trial and of the restore to a plan, and describe what follows from the finished plan: the
	// number and the cost of trials, the smallest effect, and refusals.
	fix      func(e *estimator, plan *v1alpha1.SweepPlan)
	describe func(e *estimator, plan *v1alpha1.SweepPlan, planner *sweep.Planner, fixed sweep.Settings) error
	// open returns the design after the trials in status.
	open  func(spec *Spec, status *v1alpha1.CephTuningSweepStatus, planner *sweep.Planner) (Design, error)
	words func(spec *Spec, plan *v1alpha1.SweepPlan) Words
}

func methodOf(plan *v1alpha1.SweepPlan) method {
	if HasWindows(plan) {
		return method{fix: (*estimator).fixSessions, describe: describeSessions, open: openSessions, words: wordsOfSessions}
	}
	return method{fix: (*estimator).fix, describe: describeBlocks, open: openBlocks, words: wordsOfBlocks}
}

// HasWindows reports whether trials of a plan compare windows: they have ratios instead of figures, and their windows are
// archived. It returns false without a plan.
func HasWindows(plan *v1alpha1.SweepPlan) bool {
	return plan != nil && plan.Design == v1alpha1.DesignInterleaved
}

// Words describe a design to readers of plans and reports.
type Words struct {
	// Races says that the sweep evaluates its data several times, unless strategy.racing is false.
	Races bool
	// Name is the design with a phrase. Method explains it, and Superior the dashed line in a plot of ratios.
	Name, Method, Superior string
	// Changes says when settings change.
	Changes string
	// Trials is the planned number of trials. Time says how long the plan takes; "" without an estimate.
	Trials, Time string
}

// WordsOf describes the design of a plan; that of the design Blocks without a plan.
func WordsOf(spec *Spec, plan *v1alpha1.SweepPlan) Words {
	if plan == nil {
		plan = &v1alpha1.SweepPlan{}
	}
	words := methodOf(plan).words(spec, plan)
	if plan.EstimatedDuration == nil || plan.RunDuration == nil {
		return words
	}
	words.Time = "at most about " + figure.Time(plan.EstimatedDuration.Duration)
	if earliest := firstLook(plan); earliest > 0 && !DrawsCurves(spec) {
		words.Time += fmt.Sprintf("; about %s if the first look decides", figure.Time(earliest))
	} else {
		words.Time += fmt.Sprintf(", %s for each trial", figure.Time(plan.RunDuration.Duration))
	}
	return words
}

func wordsOfBlocks(_ *Spec, plan *v1alpha1.SweepPlan) Words {
	words := Words{
		Races: true, Name: "Blocks: each configuration has its own trials", Changes: "between trials",
		Method: blocksMethod, Superior: "If several configurations raced, one is Superior only if fresh blocks confirmed that its gain is beyond the dashed line.",
		Trials: trialsPlanned(plan),
	}
	if plan.DesignReason != "" {
		words.Name += ". Settings are not switched under a load: " + plan.DesignReason
	}
	return words
}

func trialsPlanned(plan *v1alpha1.SweepPlan) string {
	if plan.MinimumRuns == plan.MaximumRuns {
		return fmt.Sprint(plan.MinimumRuns)
	}
	return fmt.Sprintf("%d to %d", plan.MinimumRuns, plan.MaximumRuns)
}

func wordsOfSessions(spec *Spec, plan *v1alpha1.SweepPlan) Words {
	noun := NounOf(spec)
	words := Words{
		Name: fmt.Sprintf("Interleaved: %ss are switched under one running load", noun), Changes: "under the load, every few seconds or minutes",
		Method: fmt.Sprintf(windowsMethod, noun, noun.Upper(), noun.PoolsOfSession()), Superior: "If the whole interval is beyond the dashed line, the verdict is Superior.",
		Trials: trialsPlanned(plan) + ", with a pool each if the target is a scratch pool",
	}
	if DrawsCurves(spec) {
		words.Name = "Interleaved: two curves are drawn in turns, and settings are switched between their steps"
		words.Changes, words.Method = "between steps of seconds", turnsMethod
	}
	if noun == nounPool {
		words.Trials = trialsPlanned(plan) + ", with its own pools each"
	}
	if plan.Sessions == 1 {
		words.Trials = "1 of short windows, so the verdict holds for " + strings.TrimPrefix(ScopeNote(spec, plan, v1alpha1.ScopeWindows), "on ")
	}
	return words
}

const blocksMethod = `Configurations are compared within blocks. A block runs the baseline and each configuration that is still in the race, in ` +
	`random order. A block of many configurations repeats the baseline between them (controlInterval). If moving data would ` +
	`take too long, blocks run in rising and falling order in turn, and blocks of several configurations repeat the baseline ` +
	`at their ends. So changes of the cluster from hour to hour affect all configurations. The figure of a configuration is ` +
	`the geometric mean of its valid runs or, for a percentile, that of the median run. The ratio of a block compares with the ` +
	`baseline at the time of the run, interpolated between the baseline's runs. A ratio is the mean of the blocks' ratios on ` +
	`the scale of logarithms. Its interval is Student's, from the differences between blocks. Superior means better than the ` +
	`baseline by more than the minimum effect, Better means better by less than that, and Equivalent means within the ` +
	`equivalence margin. Inconclusive means that the runs do not decide. All configurations share the probability of an error ` +
	`(Holm). If several configurations raced, the winner and the baseline run in fresh blocks for a confirmation. The winner's ` +
	`verdict then rests on these alone, and it is Superior only if they confirm that. A single configuration needs no ` +
	`confirmation. One run alone decides nothing.`

const turnsMethod = `The closed loop is the baseline's. Then pairs of steps follow, one for each configuration, in random order. Before each ` +
	`step, its setting is switched, and proven while the step lasts. A step offers a rate as independent arrivals, which follows from ` +
	`the earlier steps of the same configuration. A step does not count if its setting was not proven or switched slowly, if the ` +
	`clients were late with their own schedule, or if the cluster was disturbed. The interval of the ratio follows from the intervals ` +
	`of both rates that keep the limit (Zou and Donner, 2008). A verdict speaks only of settings that stay for seconds.`

// windowsMethod takes the noun for what sessions compare, the same with a capital letter, and [Noun.PoolsOfSession].
const windowsMethod = `%[2]ss were switched while one load ran. With scratch pools, each session has its own %[3]s and data. In a session of ` +
	`short windows, windows of the baseline and of each candidate follow each other in random order, balanced within blocks. ` +
	`In a session of long windows, the baseline and one candidate stay applied for a long window each. The first part of a ` +
	`window, in which the %[1]s settles, does not count. The ratio of a session is that of the arithmetic means of its ` +
	`windows. With several sessions of standing targets, each has fresh ones, and compares all in short windows; the verdict on ` +
	`them, and that on long windows, comes from Student's t test of the ratios of sessions, at looks that are fixed ` +
	`beforehand. A verdict on one session of short windows speaks only of these. It needs both the same test of its blocks ` +
	`and a randomisation test. A block does not count if a %[1]s was not proven, was switched late or was not ` +
	`measured completely. Its figures play no part in that: a window in which no operation finished counts.`
