// Package switchback decides whether one treatment of a storage cluster is faster than another, by a switchback
// experiment. Under one running load, treatments are switched many times in random order, and windows of the
// load are compared.
//
// Data flow one way:
//
//	Assign → the order of treatments, in blocks
//	→ Cut: windows without wash-out, from the switches and the clients' rows (one row for each second)
//	→ Faults: windows that invalidate their blocks, chosen without their figures
//	→ Session.Entries: a session as one Entry for each candidate
//	→ Judge: the verdict, from the entries of short and of long windows
//
// The estimate is the mean over blocks of ½(ΣB − ΣA) of ln(figure of a window), where A is the baseline and B
// the candidate. With several candidates, it is the mean of B − A. Within a session of short windows, the noise of the estimate
// is the variation between blocks. The blocks of one session do not show whether the effect differs between
// pools or hours, nor how a treatment acts after a few seconds. So a verdict beyond the session uses Student's t
// over sessions of long windows, each with one pair. Quick mode judges a single session of short windows
// instead, at several looks.
//
// The package also tests for effects that the means of short windows hide. A treatment may take effect only in the
// course of its window, or still have an effect in the next window (Carryover).
//
// The package is pure: no clock, no input or output, no global randomness. Package session uses it.
//
// Sources: I. Bojinov, D. Simchi-Levi, J. Zhao, Design and analysis of switchback experiments (arXiv
// 2009.00148), for the design and its randomisation test; A. Abedi, T. Brecht, ICPE 2017, for randomised
// interleaving; L. Bulej et al., Duet benchmarking, ICPE 2020, for comparison under shared noise; H. Wang, A.
// Ramdas, Anytime-valid t-tests (arXiv 2310.03722), for the alternative to predefined looks.
package switchback
