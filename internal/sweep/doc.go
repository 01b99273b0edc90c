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
//	race          blocks of all live candidates and the baseline; candidates
//	              leave as soon as they have a verdict or are beaten
//	confirmation  fresh pairs of the winner and the baseline, until they decide or
//	              there are as many as were fixed at the end of the race; its
//	              verdict rests on them alone
//
// One candidate has nothing to be picked from, and so no confirmation: its race is
// made of pairs, and ends when they decide.
//
// A block is one visit to each live configuration and to the baseline. Its order
// is drawn from the seed, so that no trend and no after-effect of a change favours
// either; controls, which are further runs of the baseline, stand between many candidates, or at
// both ends if values are visited in turn. Candidates are then compared with the baseline
// interpolated between them.
//
// The package knows no clock, no cluster and no Kubernetes.
package sweep
