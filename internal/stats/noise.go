package stats

import (
	"fmt"
	"math"
)

// Noise is the variation between runs of the same configuration.
type Noise struct {
	StdDev float64 // of ln(value) from run to run
	DF     int     // degrees of freedom behind it; 0 means unknown
}

// NoiseFloor pools the spread of the baseline's runs within blocks. Each inner slice holds the values of all
// runs of the baseline in one block, including controls (additional runs of the baseline). The result
// excludes changes between blocks. It includes drift inside a block, because such drift affects candidates
// too. Blocks with one value add nothing. If no block has two values, DF is 0. For a value that has no finite
// logarithm, the error is a *ValueError.
func NoiseFloor(blocks [][]float64) (Noise, error) {
	var squares float64
	var df int
	for i, block := range blocks {
		if err := checkPositive(fmt.Sprintf("block %d: control", i), block); err != nil {
			return Noise{}, err
		}
		if len(block) < 2 {
			continue
		}
		_, sd := meanStdDev(logs(block))
		squares += sd * sd * float64(len(block)-1)
		df += len(block) - 1
	}
	if df == 0 {
		return Noise{}, nil
	}
	return Noise{StdDev: math.Sqrt(squares / float64(df)), DF: df}, nil
}

// CV returns the noise as a coefficient of variation: 0.05 means that runs scatter by 5%. It is exact for
// log-normal noise.
func (n Noise) CV() float64 { return math.Sqrt(math.Expm1(n.StdDev * n.StdDev)) }

// LogStdDev returns the StdDev of noise with a given CV.
func LogStdDev(cv float64) float64 { return math.Sqrt(math.Log1p(cv * cv)) }
