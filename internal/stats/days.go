package stats

import (
	"fmt"
	"math"
)

// NewDayLogRatio contrasts the runs of a new day with those of earlier days. Runs of one day resemble each
// other more than runs of different days. So each day counts once, by the mean of its runs' logarithms. The
// method assumes that a new day differs from the D earlier days as they differ from each other, or more: growth
// is the factor, at least 1, by which its variance exceeds theirs because time has passed.
//
// The interval is LogRatio ± t·s·√(growth+1/D), with D−1 degrees of freedom, where s is the standard deviation
// between the earlier days. If the variance v of the new day's mean exceeds growth·s², the interval is
// LogRatio ± t·√(v+s²/D).
//
// For one earlier day, the result has a LogRatio but no estimate of noise (DF 0). The error wraps ErrTooFew
// without an earlier day, or if any day has no runs. For a value that has no finite logarithm, it is a
// *ValueError.
func NewDayLogRatio(days [][]float64, newDay []float64, growth float64) (Contrast, error) {
	if len(days) == 0 || len(newDay) == 0 {
		return Contrast{}, fmt.Errorf("contrast: %w: %d days and %d runs of a new day", ErrTooFew, len(days), len(newDay))
	}
	if err := checkPositive("run of the new day", newDay); err != nil {
		return Contrast{}, err
	}
	means := make([]float64, len(days))
	for i, runs := range days {
		if len(runs) == 0 {
			return Contrast{}, fmt.Errorf("contrast: %w: day %d has no run", ErrTooFew, i)
		}
		if err := checkPositive(fmt.Sprintf("run of day %d", i), runs); err != nil {
			return Contrast{}, err
		}
		means[i], _ = meanStdDev(logs(runs))
	}
	mean, sd := meanStdDev(means)
	newMean, newSD := meanStdDev(logs(newDay))
	out := Contrast{LogRatio: newMean - mean, Runs: min(len(days), len(newDay))}
	if len(days) < 2 {
		return out, nil
	}
	varDays, varNew := sd*sd, sd*sd*max(growth, 1)
	if len(newDay) > 1 {
		varNew = max(varNew, newSD*newSD/float64(len(newDay)))
	}
	out.StdErr = math.Sqrt(varNew + varDays/float64(len(days)))
	out.StdDev = out.StdErr * math.Sqrt(float64(out.Runs))
	out.DF = float64(len(days) - 1)
	return out, nil
}
