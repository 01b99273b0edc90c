// Package stats decides whether one configuration of a storage cluster is
// faster than another, and says so only as far as the measurements allow.
//
// The unit of evidence is one run: one application of a configuration and one execution of the
// benchmark. Seconds inside a run are not runs. They share the run's placement, caches and
// neighbours, so no correction inside a run can replace another run. They serve to find the warm-up
// and to judge the quality of a run. A run's rate comes from their totals.
//
// Data flow one way:
//
//	intervals → Summarize (warm-up by MSER, rate from totals)
//	          → Pairs within blocks → PairedLogRatio
//	            (or PairedDifferences, WelchLogRatio, NewDayLogRatio)
//	          → Judge: superiority against a margin, equivalence, Holm
//	          → Assessment: a verdict, its reasons as data, one plain sentence
//
// All effects are differences of natural logarithms, so "20 % faster" means the same at every level
// of the baseline, and blocks that drift by a common factor cancel. Ratios are only for display.
//
// The package is pure: no clock, no input or output, no global randomness.
// It never changes its inputs. Values that cannot be the result of a run (NaN,
// infinities, zero or negative rates) are errors, never silently dropped.
//
// docs/statistics.md explains the method in words. docs/statistics-error-rates.md
// reports its error rates; simulation_test.go, here and in internal/sweep, measures them.
package stats
