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

// Space is the set of configurations that a sweep compares.
type Space struct {
	// Candidates may lack values: a parameter without a value has the baseline's.
	Candidates []Configuration
	// Ordered is for values that are hard to change, such as the pg_num of an existing pool. Blocks then visit
	// configurations up and down by their Position instead of at random. This design is weaker, because a drift in the
	// direction of the visits is partly counted as an effect of the values. The conclusion says so.
	Ordered bool
	// BaselinePosition is the baseline's Position.
	BaselinePosition int
	// Baseline has the values of the baseline. A parameter without an entry is unset in the baseline.
	Baseline map[string]cephvalue.Value
}

// Configuration is one value for each parameter.
type Configuration struct {
	Name   string
	Values map[string]cephvalue.Value
	// Position is the place in an ordered Space. Configurations with the same Position are visited in random order.
	Position int
}

// BaselineName is the name of configuration 0.
const BaselineName = "baseline"

// Configurations lists the measured configurations: the baseline at index 0, then the candidates in the order
// of the Space. It omits those with the baseline's values.
//
// The error wraps ErrPlan for a space that is empty, ambiguous or larger than MaxCandidates, and for a candidate
// whose name is empty or BaselineName.
func (s Space) Configurations() ([]Configuration, error) {
	baseline := Configuration{Name: BaselineName, Values: s.completed(nil), Position: s.BaselinePosition}
	all := []Configuration{baseline}
	for _, c := range s.Candidates {
		if c.Name == "" || c.Name == BaselineName {
			return nil, fmt.Errorf("%w: a configuration cannot be named %q", ErrPlan, c.Name)
		}
		c.Values = s.completed(c.Values)
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
	for _, c := range s.Candidates {
		for name := range c.Values {
			out[name] = cephvalue.Unset()
		}
	}
	maps.Copy(out, s.Baseline)
	maps.Copy(out, values)
	return out
}
