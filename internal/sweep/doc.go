// Package sweep plans a tuning sweep: which configuration to measure next, when to stop, and
// what the measurements show.
//
// The planner is a pure function of the plan (space, settings, seed) and the ledger of runs so
// far. It has no state: the same question has the same answer, so a restarted controller resumes
// by asking again. The planner checks every ledger entry against the run that it would have
// requested at that point, so history is never reinterpreted.
//
// A sweep has two stages:
//
//	race          blocks of all live candidates, those still in the race, and
//	              the baseline; candidates leave if their verdict is Equivalent,
//	              Better or Inferior, if they are beaten or break a constraint,
//	              or if their runs are invalid
//	confirmation  fresh pairs of the winner and the baseline. It ends when they
//	              lead to a verdict, or at a number of pairs that was fixed at
//	              the end of the race. Its verdict uses only these pairs
//
// A sweep with one candidate selects nothing and needs no confirmation: its race consists of
// pairs of the candidate and the baseline. It ends when they lead to a verdict, or at a number of
// pairs that was fixed before the first run.
//
// A block is one visit to each live candidate and to the baseline. Its order is drawn from the
// seed, so that no trend and no after-effect of a change favours any of them. Values that are hard
// to change are visited in ascending or descending order instead. Controls are further runs of the
// baseline. They stand between the candidates of a block that has many, or at both ends of a block
// that visits values in ascending or descending order. Candidates are then compared with the baseline
// interpolated between its runs.
//
// The package reads no clock and has no access to a cluster or to Kubernetes.
package sweep
