package sweep

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Parameter is one axis of a grid.
type Parameter struct {
	Name   string
	Values []Value // in the order in which InTurn visits them
	// InTurn is for parameters that are hard to change, such as pg_num in place:
	// blocks visit its values up and down in turn instead of at random. Drift
	// that runs with the values is then partly taken for their effect; this is
	// the weaker design, and the conclusion says so.
	InTurn bool
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

// Space is what a sweep chooses from: a grid of parameters, or bundles.
type Space struct {
	Parameters []Parameter
	Bundles    []Bundle
	// BundlesInTurn visits bundles up and down by their Turn, see Parameter.InTurn.
	// BaselineTurn is the place of the baseline among them.
	BundlesInTurn bool
	BaselineTurn  int
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
// candidates, with the last parameter of a grid varying fastest. A candidate
// with the baseline's values is the baseline, and not listed again.
//
// It returns an error wrapping ErrPlan for a space that is empty, ambiguous or
// larger than MaxCandidates.
func (s Space) Configurations() ([]Configuration, error) {
	if (len(s.Parameters) == 0) == (len(s.Bundles) == 0) {
		return nil, fmt.Errorf("%w: want either parameters or bundles", ErrPlan)
	}
	candidates, err := s.bundles()
	if len(s.Parameters) > 0 {
		candidates, err = s.grid()
	}
	if err != nil {
		return nil, err
	}
	baseline := Configuration{Name: BaselineName, Values: s.completed(nil), turn: s.baselineTurn()}
	all := []Configuration{baseline}
	for _, c := range candidates {
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

func (s Space) grid() ([]Configuration, error) {
	size, names := 1, map[string]bool{}
	for _, p := range s.Parameters {
		if p.Name == "" || names[p.Name] {
			return nil, fmt.Errorf("%w: parameter %q is unnamed or named twice", ErrPlan, p.Name)
		}
		names[p.Name] = true
		// Multiplying before comparing could overflow on a hostile spec.
		if size *= len(p.Values); size == 0 || size > 2*MaxCandidates {
			return nil, fmt.Errorf("%w: parameter %q makes the grid empty or larger than %d", ErrPlan, p.Name, MaxCandidates)
		}
	}
	for name := range s.Baseline {
		if !names[name] {
			return nil, fmt.Errorf("%w: the baseline sets %q, which is no parameter", ErrPlan, name)
		}
	}
	all := make([]Configuration, size)
	for i := range all {
		all[i] = s.cell(i)
	}
	return all, nil
}

// cell is the i-th point of the grid, with the last parameter varying fastest.
func (s Space) cell(i int) Configuration {
	c := Configuration{Values: map[string]Value{}}
	labels := make([]string, len(s.Parameters))
	stride := 1
	for k, p := range slices.Backward(s.Parameters) {
		level := i % len(p.Values)
		i /= len(p.Values)
		c.Values[p.Name] = p.Values[level]
		labels[k] = p.Name + "=" + p.Values[level].String()
		if p.InTurn {
			c.turn += stride * (level + 1)
			stride *= len(p.Values) + 1
		}
	}
	c.Name = strings.Join(labels, " ")
	return c
}

func (s Space) bundles() ([]Configuration, error) {
	all := make([]Configuration, len(s.Bundles))
	for i, b := range s.Bundles {
		if b.Name == "" || b.Name == BaselineName {
			return nil, fmt.Errorf("%w: a configuration cannot be named %q", ErrPlan, b.Name)
		}
		all[i] = Configuration{Name: b.Name, Values: s.completed(b.Values), turn: b.Turn}
	}
	return all, nil
}

// completed is the baseline with some values replaced. Parameters that neither
// mentions are unset, so that configurations can be compared value by value.
func (s Space) completed(values map[string]Value) map[string]Value {
	out := map[string]Value{}
	for _, p := range s.Parameters {
		out[p.Name] = Unset()
	}
	for _, b := range s.Bundles {
		for name := range b.Values {
			out[name] = Unset()
		}
	}
	maps.Copy(out, s.Baseline)
	maps.Copy(out, values)
	return out
}

// baselineTurn is the place of the baseline among values visited in turn; in a
// grid 0, before the first, for a value that is not among them.
func (s Space) baselineTurn() int {
	if len(s.Bundles) > 0 {
		return s.BaselineTurn
	}
	turn, stride := 0, 1
	for _, p := range slices.Backward(s.Parameters) {
		if p.InTurn {
			turn += stride * (slices.Index(p.Values, s.Baseline[p.Name]) + 1)
			stride *= len(p.Values) + 1
		}
	}
	return turn
}

func (s Space) inTurn() bool {
	if len(s.Bundles) > 0 {
		return s.BundlesInTurn
	}
	return slices.ContainsFunc(s.Parameters, func(p Parameter) bool { return p.InTurn })
}
