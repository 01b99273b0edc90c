package sweep

import (
	"errors"
	"fmt"
	"maps"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// ErrPlan is wrapped by errors about an invalid Plan.
var ErrPlan = errors.New("invalid plan")

// MaxCandidates is the maximum number of configurations besides the baseline. With
// many more, three blocks would not fit into the ledger.
const MaxCandidates = 64

// Bundle is a named set of values. A parameter without a value in the bundle has the baseline's value.
type Bundle struct {
	Name   string
	Values map[string]cephvalue.Value
	// Turn is the bundle's position if bundles are visited in turn. Bundles with the same Turn are visited in
	// random order.
	Turn int
}

// Space is the set of configurations that a sweep compares.
type Space struct {
	Bundles []Bundle
	// InTurn is for values that are hard to change, such as the pg_num of an existing pool. Blocks then visit
	// bundles up and down by their Turn instead of at random. This design is weaker, because a drift in the
	// direction of the visits is partly counted as an effect of the values. The conclusion says so.
	InTurn bool
	// BaselineTurn is the baseline's position among the bundles.
	BaselineTurn int
	// Baseline has the values of the baseline. A parameter without an entry is unset in the baseline.
	Baseline map[string]cephvalue.Value
}

// Configuration is one value for each parameter.
type Configuration struct {
	Name   string
	Values map[string]cephvalue.Value
	// turn is the position if configurations are visited in turn.
	turn int
}

// BaselineName is the name of configuration 0.
const BaselineName = "baseline"

// Configurations lists the measured configurations: the baseline at index 0, then the candidates in the order
// of their bundles. It omits bundles with the baseline's values.
//
// The error wraps ErrPlan for a space that is empty, ambiguous or larger than MaxCandidates, and for a bundle
// whose name is empty or BaselineName.
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
				return nil, fmt.Errorf("%w: configurations %q and %q have the same name or the same values", ErrPlan, other.Name, c.Name)
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

// completed returns the baseline with some values replaced. Parameters without a value are in the result as
// unset, so that configurations can be compared value by value.
func (s Space) completed(values map[string]cephvalue.Value) map[string]cephvalue.Value {
	out := map[string]cephvalue.Value{}
	for _, b := range s.Bundles {
		for name := range b.Values {
			out[name] = cephvalue.Unset()
		}
	}
	maps.Copy(out, s.Baseline)
	maps.Copy(out, values)
	return out
}
