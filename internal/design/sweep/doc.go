// Package sweep plans a tuning sweep: which configuration to measure next, when to stop, and how to judge the
// measurements.
//
// The planner is a pure function of the plan (Space and Settings, with the seed) and the ledger of runs so
// far. It has no state: the same question has the same answer, so a restarted controller resumes by asking
// again. The planner checks every ledger entry against the run that it would have requested at that point. So
// it never reads an entry as a different run.
//
// A sweep has two stages:
//
//	race          blocks of the baseline and all live candidates, those still in
//	              the race; candidates leave if their verdict is Equivalent,
//	              Better or Inferior, if they are beaten or break a constraint,
//	              or if their runs are invalid. Without Settings.Racing, only
//	              invalid runs remove a candidate
//	confirmation  fresh pairs of the winner and the baseline. It ends when these
//	              pairs decide the verdict and, for Superior, the constraints,
//	              when they show that a constraint is broken, or at a number of
//	              pairs that was fixed at the end of the race. Its verdict uses
//	              only these pairs
//
// A sweep with one candidate selects nothing and needs no confirmation. Its race consists of pairs of the
// candidate and the baseline. The race ends when the pairs decide the verdict and, for Superior, the
// constraints, when they show that a constraint is broken, or at a number of pairs that was fixed before the
// first run.
//
// A block visits each live candidate and the baseline once. Its order is drawn from the seed, so that no
// trend and no after-effect of a change favours any configuration. Values that are hard to change are visited
// in ascending or descending order instead.
//
// Controls are further runs of the baseline. In a block with many candidates, controls stand between the
// candidates. In a block that visits the values of several candidates in ascending or descending order, they
// stand at both ends. Each candidate is compared with a value that is interpolated between the baseline's runs
// before and after it. If the baseline has no run on one side of the candidate, the nearest run on the other
// side counts.
//
// The package reads no clock and has no access to a cluster or to Kubernetes.
package sweep
