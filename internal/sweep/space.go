package sweep

import (
	"errors"
	"fmt"
	"maps"
)

// ErrPlan is wrapped by errors about a space or settings that cannot be swept.
var ErrPlan = errors.New("invalid plan")

// MaxCandidates bounds the configurations besides the baseline. The ledger
// could not hold three blocks of many more.
const MaxCandidates = 64

// Value is what a parameter is set to. The zero value is "unset": the option is
// removed, so that the cluster's own default applies, which is not the same as
// setting it to what the default happens to be.
type Value struct {
	Text  string
	IsSet bool
}

// Set is the value with a text.
func Set(text string) Value { return Value{Text: text, IsSet: true} }

// Unset is the value of an option that is not there.
func Unset() Value { return Value{} }

func (v Value) String() string {
	if !v.IsSet {
		return "unset"
	}
	return v.Text
}

// Bundle is a named set of values. Parameters that it does not mention stay as
// they are in the baseline.
type Bundle struct {
	Name   string
	Values map[string]Value
	// Turn is its place where bundles are visited in turn; those of one place are
	// visited in random order.
	Turn int
}

// Space is what a sweep chooses from.
type Space struct {
	Bundles []Bundle
	// InTurn is for values that are hard to change, such as pg_num in place: blocks
	// visit bundles up and down by their Turn instead of at random. Drift that runs
	// with the values is then partly taken for their effect; this is the weaker
	// design, and the conclusion says so.
	InTurn bool
	// BaselineTurn is the place of the baseline among them.
	BaselineTurn int
	// Baseline is what others are compared with. A parameter that it does not
	// mention is unset in it.
	Baseline map[string]Value
}

// Configuration is one value for each parameter.
type Configuration struct {
	Name   string
	Values map[string]Value
	// turn is the place among values that are visited in turn.
	turn int
}

// BaselineName is the name of configuration 0.
const BaselineName = "baseline"

// Configurations lists what is measured: the baseline at index 0, then the
// candidates in the order of their bundles. A candidate with the baseline's values
// is the baseline, and not listed again.
//
// It returns an error wrapping ErrPlan for a space that is empty, ambiguous or
// larger than MaxCandidates.
func (s Space) Configurations() ([]Configuration, error) {
	baseline := Configuration{Name: BaselineName, Values: s.completed(nil), turn: s.BaselineTurn}
	all := []Configuration{baseline}
	for _, b := range s.Bundles {
		if b.Name == "" || b.Name == BaselineName {
			return nil, fmt.Errorf("%w: a configuration cannot be named %q", ErrPlan, b.Name)
		}
		c := Configuration{Name: b.Name, Values: s.completed(b.Values), turn: b.Turn}
		if maps.Equal(c.Values, baseline.Values) {
			continue
		}
		for _, other := range all[1:] {
			if maps.Equal(c.Values, other.Values) || c.Name == other.Name {
				return nil, fmt.Errorf("%w: %q and %q are the same", ErrPlan, other.Name, c.Name)
			}
		}
		all = append(all, c)
	}
	switch n := len(all) - 1; {
	case n == 0:
		return nil, fmt.Errorf("%w: no configuration differs from the baseline", ErrPlan)
	case n > MaxCandidates:
		return nil, fmt.Errorf("%w: %d configurations besides the baseline, at most %d", ErrPlan, n, MaxCandidates)
	}
	return all, nil
}

// completed is the baseline with some values replaced. Parameters that neither
// mentions are unset, so that configurations can be compared value by value.
func (s Space) completed(values map[string]Value) map[string]Value {
	out := map[string]Value{}
	for _, b := range s.Bundles {
		for name := range b.Values {
			out[name] = Unset()
		}
	}
	maps.Copy(out, s.Baseline)
	maps.Copy(out, values)
	return out
}
