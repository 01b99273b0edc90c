package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// significantDigits is the precision of a Decimal. No benchmark is repeatable to one part in a
// million, and more digits would not fit into maxDecimal.
const significantDigits = 7

// maxDecimal is the maximum length that the schema of Decimal allows, in characters.
const maxDecimal = 12

// Decimal formats a number for the API with up to seven significant digits, or with fewer if the exponent has
// three digits. The number must be finite.
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

// ParseDecimal parses a Decimal. It returns an error for infinities and NaN.
func ParseDecimal(d v1alpha1.Decimal) (float64, error) {
	v, err := strconv.ParseFloat(string(d), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a decimal number", d)
	}
	return v, nil
}

// Unit returns the unit of a metric in machine-readable tables.
func Unit(metric v1alpha1.Metric) string {
	switch metric {
	case v1alpha1.MetricBandwidth:
		return "bytesPerSecond"
	case v1alpha1.MetricIOPS, v1alpha1.MetricSustainableIOPS:
		return "operationsPerSecond"
	default:
		return "seconds"
	}
}

// Human formats a figure for people, with its unit and three significant digits, or with all digits before the
// point if it has more of these: "412 MiB/s", "12.3k IOPS", "20.3ms".
func Human(metric v1alpha1.Metric, v float64) string {
	if metric == v1alpha1.MetricBandwidth {
		return humanBytes(v) + "/s"
	}
	if metric == v1alpha1.MetricIOPS || metric == v1alpha1.MetricSustainableIOPS {
		value, prefix := humanize.ComputeSI(v)
		if v < 1 { // An SI prefix would turn 0.5 IOPS into 500m IOPS.
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

// HumanDecimal formats a figure of status like [Human]; "" if the figure is unknown.
func HumanDecimal(metric v1alpha1.Metric, d v1alpha1.Decimal) string {
	v, err := ParseDecimal(d)
	if err != nil {
		return ""
	}
	return Human(metric, v)
}

// Time formats a duration for people, such as 4h, 3h18m or 2m30s: to the second, from ten minutes on to the minute.
func Time(d time.Duration) string {
	step := time.Second
	if d >= 10*time.Minute {
		step = time.Minute
	}
	text := d.Round(step).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Exact formats a number for programs, with all its digits.
func Exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// humanBytes formats bytes like humanize.IBytes, but with at least three significant digits, because fewer
// digits would hide differences between runs.
func humanBytes(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; i < len(units)-1 && v >= 1024; i++ {
		v /= 1024
	}
	return significant(v) + " " + units[i]
}

// significant formats a number with three significant digits, or with all digits before the point if it has
// more of these.
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
