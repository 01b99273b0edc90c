// Package curve finds the knee of a load curve: the highest rate (operations a second) at which a percentile of the latency stays
// at or below a limit. Operations arrive at random times that do not depend on the storage (an open loop), and their latency
// counts from when they were due.
//
// Data flow one way:
//
//	the maximum of a closed loop → Next: a rate → the step, which others measure → Next … → Decision.Done → Judge: the knee
//
// A course has three parts. A grid of rates in random order finds where the limit is crossed. Blocks of four rates around the knee,
// in random order, measure it; the random order keeps changes of the cluster apart from the effect of the rate. Fresh steps at the
// lower end of the interval confirm it.
//
// The unit of evidence is a step: seconds of a step depend on each other, because an operation waits for those before it, and steps
// at one rate differ by more than their seconds explain. A step gives u = r/(1+r), where r is its share of slow operations,
// divided by the share that the percentile allows. u is ½ where the percentile equals the limit. A saturated step has u = 1, which is the same as
// a latency beyond any limit. The share of slow operations far below the knee, as of an idle cluster, is first taken off.
// The mean of u is modelled as a logistic curve near the knee, as in a dose-response experiment
// whose ED50 is sought. It is fitted by quasi-likelihood, because u is a fraction, not a yes or no, and its scatter is
// estimated from the steps. The interval has the knees whose profile of the quasi-likelihood is near its maximum.
//
// The package is pure: no clock, no input or output, no global randomness.
//
// Sources: L. Papke, J. Wooldridge, Journal of Applied Econometrics 11, 1996, for the regression of fractions; P. McCullagh, J. Nelder,
// Generalized Linear Models, 1989, for quasi-likelihood and dispersion; D. Finney, Probit Analysis, 1971, for the ED50 and the
// heterogeneity factor; D. Williams, Biometrics 42, 1986, for its interval by likelihood ratio, which behaves better than Fieller's where the
// slope is uncertain; R. Barlow et al., Statistical Inference under Order Restrictions, 1972, for the isotonic start.
package curve
