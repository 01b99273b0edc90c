package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// significantDigits is the precision of a Decimal. No benchmark is repeatable to one part in a
// million, and more digits would not fit into maxDecimal.
const significantDigits = 7

// maxDecimal is the length of the longest Decimal that its schema allows.
const maxDecimal = 12

// Decimal writes a finite number that is 0 or more for the API, with up to seven
// significant digits, and fewer if the exponent needs three digits.
func Decimal(v float64) v1alpha1.Decimal {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', significantDigits-1, 64), 64)
	if err != nil {
		rounded = v // Rounding up would exceed the largest float64.
	}
	exponential := strconv.FormatFloat(rounded, 'e', -1, 64)
	if plain := strconv.FormatFloat(rounded, 'f', -1, 64); len(plain) <= maxDecimal {
		return v1alpha1.Decimal(plain)
	}
	for digits := significantDigits - 1; len(exponential) > maxDecimal; digits-- {
		exponential = strconv.FormatFloat(v, 'e', digits-1, 64)
	}
	return v1alpha1.Decimal(exponential)
}

// ParseDecimal reads a number from Decimal, or any other number of the API.
func ParseDecimal(d v1alpha1.Decimal) (float64, error) {
	v, err := strconv.ParseFloat(string(d), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a decimal number", d)
	}
	return v, nil
}

// Human writes a figure for people, with three significant digits and its unit:
// "412 MiB/s", "12.3k IOPS", "20.3ms".
func Human(metric v1alpha1.Metric, v float64) string {
	if metric == v1alpha1.MetricBandwidth {
		return humanBytes(v) + "/s"
	}
	if metric == v1alpha1.MetricIOPS {
		value, prefix := humanize.ComputeSI(v)
		if v < 1 { // SI prefixes would turn this into thousandths.
			value, prefix = v, ""
		}
		return significant(value) + prefix + " IOPS"
	}
	for _, unit := range []struct {
		symbol  string
		seconds float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if v >= unit.seconds {
			return significant(v/unit.seconds) + unit.symbol
		}
	}
	return significant(v*1e9) + "ns"
}

// HumanDecimal writes a figure of status as Human does; "" if the figure is unknown.
func HumanDecimal(metric v1alpha1.Metric, d v1alpha1.Decimal) string {
	v, err := ParseDecimal(d)
	if err != nil {
		return ""
	}
	return Human(metric, v)
}

// Exact writes a number for programs, with all its digits.
func Exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// humanBytes is like humanize.IBytes, but with three digits: one or two digits would hide
// differences between runs.
func humanBytes(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; i < len(units)-1 && v >= 1024; i++ {
		v /= 1024
	}
	return significant(v) + " " + units[i]
}

// significant writes a number with three significant digits, or with all digits before the point
// if those are more.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	text := strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
