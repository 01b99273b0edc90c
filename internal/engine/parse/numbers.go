package parse

import (
	"math"
	"strconv"
)

// Int parses a non-negative whole number of at most 18 decimal digits.
func Int(field []byte) (int64, bool) {
	if len(field) == 0 || len(field) > 18 { // 19 digits may overflow int64.
		return 0, false
	}
	var n int64
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// Float parses a finite, non-negative decimal number, with or without an exponent. It refuses nan and inf,
// which C prints after a division by zero.
func Float(field []byte) (float64, bool) {
	if len(field) == 0 || !isDecimal(field) {
		return 0, false
	}
	if f, ok := shortFloat(field); ok {
		return f, true
	}
	f, err := strconv.ParseFloat(string(field), 64)
	return f, err == nil && f >= 0 && f <= math.MaxFloat64
}

// isDecimal refuses four forms that strconv accepts: hexadecimal numbers, underscores, "Inf" and "NaN".
func isDecimal(field []byte) bool {
	for _, c := range field {
		switch {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return false
		}
	}
	return true
}

// shortFloat parses digits and at most one point, up to 15 digits in all. A float64 holds such digits and
// their power of ten exactly, so the quotient is correctly rounded (Clinger 1990). For these numbers, the
// most frequent ones, shortFloat is several times faster than strconv.
func shortFloat(field []byte) (float64, bool) {
	if len(field) > 16 {
		return 0, false
	}
	var digits int64
	point := -1
	for i, c := range field {
		switch {
		case c >= '0' && c <= '9':
			digits = digits*10 + int64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	if point < 0 {
		return float64(digits), len(field) < 16
	}
	decimals := len(field) - 1 - point
	return float64(digits) / math.Pow10(decimals), len(field) > 1
}
