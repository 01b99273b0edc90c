// Package stats decides whether one configuration of a storage cluster is faster than another, as far as the
// measurements allow a decision.
//
// The unit of evidence is one run: one application of a configuration and one execution of the benchmark.
// Seconds inside a run are not runs. They share the run's placement, caches and neighbours, so more seconds
// cannot replace another run. Seconds show the warm-up and the quality of a run. A run's rate comes from the
// totals of its seconds.
//
// Data flow one way:
//
//	intervals → Summarize (warm-up by MSER, rate from totals)
//	          → Pairs within blocks → PairedLogRatio
//	            (or PairedDifferences, WelchLogRatio, NewDayLogRatio)
//	          → Judge: superiority against a margin, equivalence, Holm
//	          → Assessment: a verdict, its reasons as data, one plain sentence
//
// All effects are differences of natural logarithms. So "20 % faster" means the same for a slow baseline as
// for a fast one. Drift that multiplies all runs of a block by one factor cancels. Ratios are for display, and
// for constraints: a constraint limits the ratio to the baseline, or the metric itself.
//
// The package is pure: no clock, no input or output, no global randomness. It never changes its inputs.
// Values that cannot be the result of a run (NaN, infinities, zero or negative rates) are errors. They are
// never silently dropped.
//
// docs/statistics.md explains the method in words. docs/statistics-error-rates.md reports its error rates.
// The files simulation_test.go of this package and of internal/design/sweep, and weather_test.go there, measure these
// rates.
package stats
