package tuning

import (
	"strconv"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// PoolOptionType returns the type of a pool option, or false if cephtune cannot restore the option. Options
// that alter stored data cannot be restored.
func PoolOptionType(name string) (string, bool) {
	switch name {
	case optionPGNum, "recovery_priority", "recovery_op_priority", "scrub_priority", "read_ratio":
		return cephvalue.Int, true
	case "scrub_min_interval", "scrub_max_interval", "deep_scrub_interval":
		return cephvalue.Float, true
	case "fast_read":
		return cephvalue.Bool, true
	}
	return "", false
}

// same reports whether Ceph treats two values of a setting as equal.
func same(setting Setting, valueType string, a, b cephvalue.Value) bool {
	return canonical(setting, valueType, a) == canonical(setting, valueType, b)
}

// canonical returns a value in the form in which Ceph stores it; a value that cephvalue.Canonical refuses is
// returned unchanged. Many pool options have a special value, such as 0, that unsets them.
func canonical(setting Setting, valueType string, v cephvalue.Value) cephvalue.Value {
	if !v.Set {
		return v
	}
	if setting.Kind == KindPoolOption && unsets(setting.Option, v.Text) {
		return cephvalue.Unset()
	}
	text, err := cephvalue.Canonical(valueType, v.Text)
	if err != nil {
		return v
	}
	return cephvalue.Of(text)
}

// unsets reports whether setting a pool option to this value unsets the option.
func unsets(option, text string) bool {
	unsetter, possible := ceph.UnsetBy(option)
	if !possible {
		return false
	}
	number, err := strconv.ParseFloat(text, 64)
	return text == unsetter || unsetter == "0" && (err == nil && number == 0 || text == no)
}
