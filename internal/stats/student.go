package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// negligible is the limit between rounding and noise on the scale of logarithms. Values that differ only by
// rounding give standard errors near 1e-16. The runs of a benchmark are either identical, or they differ by
// more than a part in 1e12.
const negligible = 1e-12

// tUpperTail returns P(T > t) for Student's t with df degrees of freedom.
func tUpperTail(t, df float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: df}.Survival(t)
}

// tUpperQuantile returns the t that is exceeded with probability p.
func tUpperQuantile(p, df float64) float64 {
	// The distribution is symmetric, so the lower tail serves. 1-p would lose the digits of a small p.
	return -distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p)
}

// meanStdDev returns the mean and the sample standard deviation (n-1), which is NaN for one value. A
// deviation within rounding becomes exactly 0, so that identical runs have no noise.
func meanStdDev(xs []float64) (mean, sd float64) {
	mean, sd = stat.MeanStdDev(xs, nil)
	if sd <= negligible*math.Max(1, math.Abs(mean)) {
		sd = 0
	}
	return mean, sd
}

func logs(xs []float64) []float64 {
	zs := make([]float64, len(xs))
	for i, x := range xs {
		zs[i] = math.Log(x)
	}
	return zs
}
