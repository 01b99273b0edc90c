package stats

import (
	"fmt"
	"math"
)

// Noise is how far the same configuration, measured again, differs from itself.
type Noise struct {
	StdDev float64 // of ln(value) from run to run
	DF     int     // degrees of freedom behind it; 0 means unknown
}

// NoiseFloor pools the spread of the baseline's runs within blocks: each inner
// slice holds one block's baseline and control values. Changes between blocks
// are taken out, drift inside a block is not, because a candidate suffers it
// too. Blocks with one value add nothing; without any spread to see, DF is 0.
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

// CV is the noise as a coefficient of variation, exact for log-normal noise:
// 0.05 means that runs scatter by 5%.
func (n Noise) CV() float64 { return math.Sqrt(math.Expm1(n.StdDev * n.StdDev)) }

// LogStdDev is the inverse of Noise.CV.
func LogStdDev(cv float64) float64 { return math.Sqrt(math.Log1p(cv * cv)) }
