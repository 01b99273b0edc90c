package stats

// PEquivalent returns the p-value of two one-sided tests against "the true
// log-ratio lies outside ±margin" (Schuirmann 1987). It is at most α if and only if
// the two-sided interval with confidence 1−2α lies inside the margins.
// R: max(t.test(d, mu=-m, alternative="greater")$p.value,
//
//	t.test(d, mu=m, alternative="less")$p.value)
//
// A small PEquivalent is evidence of equivalence. A large p-value of a test for a difference is not.
func (c Contrast) PEquivalent(margin float64) float64 {
	return max(c.PGreater(-margin), c.PLess(margin))
}
