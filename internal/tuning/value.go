package tuning

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
)

// The types of values, by Ceph's names.
const (
	typeString = "str"
	typeInt    = "int"
	typeUint   = "uint"
	typeFloat  = "float"
	typeBool   = "bool"
	typeSize   = "size"
)

// PoolOptionType is the type of an option of a pool, or false for one that is not known
// well enough to be put back. Those that alter stored data are not among them.
func PoolOptionType(name string) (string, bool) {
	switch name {
	case optionPGNum, "recovery_priority", "recovery_op_priority", "scrub_priority", "read_ratio":
		return typeInt, true
	case "scrub_min_interval", "scrub_max_interval", "deep_scrub_interval":
		return typeFloat, true
	case "fast_read":
		return typeBool, true
	}
	return "", false
}

// Canonical is the form in which Ceph keeps a value of a type, as far as is known, or an
// error if it is none of the type. Ceph keeps 4M of a size as 4194304, yes as true, 0.95
// as 0.950000. A K is 1000 of an int and 1024 of a size.
func Canonical(valueType, text string) (string, error) {
	switch valueType {
	case typeInt, typeUint:
		return whole(text, 1000, valueType == typeUint)
	case typeSize:
		return whole(text, 1024, true)
	case typeFloat:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return "", fmt.Errorf("%q is not a number", text)
		}
		// All that Ceph keeps: 0.0000001 becomes 0.
		return strconv.FormatFloat(number, 'f', 6, 64), nil
	case typeBool:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return yes, nil
		case "false", "no", "off", "0":
			return no, nil
		}
		return "", fmt.Errorf("%q is not true or false", text)
	}
	return text, nil
}

var withUnit = regexp.MustCompile(`^(-?\d+)(?:([KMGTPE])(i?))?B?$`)

// whole reads a whole number with one of Ceph's units.
func whole(text string, base int64, positive bool) (string, error) {
	wrong := fmt.Errorf("%q is not a whole number", text)
	parts := withUnit.FindStringSubmatch(text)
	if parts == nil || parts[3] != "" && base != 1024 {
		return "", wrong
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return "", wrong
	}
	if parts[2] != "" {
		for range strings.Index("KMGTPE", parts[2]) + 1 {
			if number > math.MaxInt64/base || number < math.MinInt64/base {
				return "", fmt.Errorf("%q is too large", text)
			}
			number *= base
		}
	}
	if positive && number < 0 {
		return "", fmt.Errorf("%q is below 0", text)
	}
	return strconv.FormatInt(number, 10), nil
}

// same tells whether two values of a setting are one for Ceph.
func same(of Setting, valueType string, a, b Value) bool {
	return canonical(of, valueType, a) == canonical(of, valueType, b)
}

// canonical is a value as Ceph has it after it was set. Many an option of a pool is unset
// by a value of its own, such as 0.
func canonical(of Setting, valueType string, v Value) Value {
	if !v.Set {
		return v
	}
	if of.Kind == KindPoolOption && unsets(of.Option, v.Text) {
		return Unset()
	}
	text, err := Canonical(valueType, v.Text)
	if err != nil {
		return v
	}
	return Of(text)
}

// unsets tells whether a pool forgets an option that is set to the value.
func unsets(option, text string) bool {
	by, possible := ceph.UnsetBy(option)
	if !possible {
		return false
	}
	number, err := strconv.ParseFloat(text, 64)
	return text == by || by == "0" && (err == nil && number == 0 || text == no)
}

// number is a value of any numeric type as one, for bounds.
func number(valueType, text string) (float64, bool) {
	switch valueType {
	case typeInt, typeUint, typeSize, typeFloat:
	default:
		return 0, false
	}
	canonical, err := Canonical(valueType, text)
	if err != nil && valueType == typeInt || err != nil && valueType == typeUint {
		// An administrator may write a bound of 4Ki.
		canonical, err = Canonical(typeSize, text)
	}
	if err != nil {
		return 0, false
	}
	parsed, err := strconv.ParseFloat(canonical, 64)
	return parsed, err == nil
}
