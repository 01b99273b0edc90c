// Package changepoint finds the nights since which a figure is higher or lower, in a series of one value a night.
//
// The logarithms of the values are described by pieces, each with a level or a straight line, and by noise between nights whose
// autocorrelation decays with time (so a missing night costs nothing). A change point is the first night of a piece. Among all
// descriptions, the package takes the one with the least sum of squares and penalties, exactly, by optimal partitioning. A slope costs less
// than a change point, so a slow trend is called a trend, and not a staircase. For each autocorrelation of a grid there is a best description,
// and the likelihood chooses among them, because noise with a memory looks like steps. Single nights far from their neighbours are
// first pulled to a limit: one night is no evidence.
//
// The date of a point is a range of nights that has nearly all of its likelihood, and the interval of its size averages over that range.
// A point appears when its evidence suffices, and is judged anew each night: later nights may move or remove it.
//
// The package is pure: no clock, no input or output, no randomness.
//
// Sources: B. Jackson et al., IEEE Signal Processing Letters 12, 2005, for optimal partitioning; J. Bai, P. Perron, Econometrica 66, 1998, for
// pieces of regressions; C. Beaulieu, R. Killick, Journal of Climate 31, 2018, for the choice between steps, trends and memory; G. Cobb,
// Biometrika 65, 1978, for the likelihood of the date. E-Divisive (D. Matteson, N. James, JASA 109, 2014), as in Apache Otava, finds
// differences of any kind between independent nights. It calls trends and memory steps, and has no interval; testdata has its answers.
package changepoint
