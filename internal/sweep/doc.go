// Package sweep plans a tuning sweep: which configuration to measure next, when
// to stop, and what follows from what was measured.
//
// The planner is a pure function of the plan (space, settings, seed) and the
// ledger of runs so far. It keeps nothing: asking again gives the same answer,
// and a controller that was killed resumes by asking. Every entry of the ledger
// is checked against what the planner would have asked for at that point, so
// that history is never reinterpreted.
//
// A sweep has two stages:
//
//	race          blocks of all live candidates and the baseline, with controls;
//	              candidates leave as soon as they have a verdict or are beaten
//	confirmation  fresh blocks of the winner and the baseline, as many as were
//	              fixed at the end of the race; its verdict rests on them alone
//
// A block is one visit to each live configuration. Its order is drawn from the
// seed; control runs of the baseline at both ends and at most four runs apart
// show drift, and candidates are compared with the baseline interpolated
// between them.
//
// The package knows no clock, no cluster and no Kubernetes.
package sweep
