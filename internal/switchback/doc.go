// Package switchback decides whether one setting of a storage cluster is faster than another, by a switchback
// experiment. Under one running load, settings are switched many times in random order, and windows of the
// load are compared.
//
// Data flow one way:
//
//	Assign → the order of settings, in groups: quads, or rounds of several candidates
//	→ Cut: windows without wash-out, from the switches and the clients' rows (one row for each second)
//	→ Faults: windows that void their groups, chosen without their figures
//	→ Session.Entries: a session as one Entry for each candidate
//	→ Judge: the verdict, from entries and the ratios of dwells
//
// The estimate is the mean over quads of ½(ΣB − ΣA) of ln(figure of a window), where A is the baseline and B
// the candidate. In rounds it is the mean of B − A. Within a session, the noise of the estimate is the
// variation between groups. The groups of one session do not show whether the effect differs between pools or
// hours. So a claim beyond the session, the general claim, uses Student's t over the means of sessions. Quick
// mode judges a single session instead, at several looks.
//
// The package also tests for effects that the means of windows hide. A setting may take effect only in the
// course of its window, or still have an effect in the next window (Carryover). Work that a setting defers
// appears only if a setting stays applied for minutes, in dwells.
//
// The package is pure: no clock, no input or output, no global randomness. Package session uses it.
//
// Sources: I. Bojinov, D. Simchi-Levi, J. Zhao, Design and analysis of switchback experiments (arXiv
// 2009.00148), for the design and its randomisation test; A. Abedi, T. Brecht, ICPE 2017, for randomised
// interleaving; L. Bulej et al., Duet benchmarking, ICPE 2020, for comparison under shared noise; H. Wang, A.
// Ramdas, Anytime-valid t-tests (arXiv 2310.03722), for the alternative to predefined looks.
package switchback
