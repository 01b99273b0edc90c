package sweepspec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/ellipsis"
)

// Spec is the spec of a CephTuningSweep after admission, with its defaults.
type Spec = v1alpha1.CephTuningSweepSpec

// Present has the current values of parameters, by name.
type Present = map[v1alpha1.ParameterName]cephvalue.Value

// AskedOfCeph lists the parameters whose baseline has to be read from Ceph, because the spec does not contain
// it.
func AskedOfCeph(spec *Spec) []v1alpha1.ParameterName {
	given := givenBaseline(spec)
	var asked []v1alpha1.ParameterName
	for _, p := range spec.Parameters {
		if _, ok := given[p.Name]; !ok && changesCeph(spec, p) {
			asked = append(asked, p.Name)
		}
	}
	return asked
}

// givenBaseline returns the baseline values that the spec names.
func givenBaseline(spec *Spec) map[v1alpha1.ParameterName]v1alpha1.ParameterValue {
	given := map[v1alpha1.ParameterName]v1alpha1.ParameterValue{}
	if spec.Baseline == nil {
		return given
	}
	values := spec.Baseline.Values
	for _, c := range spec.Configurations {
		if c.Name == spec.Baseline.Configuration {
			values = c.Values
		}
	}
	for name, value := range values {
		given[v1alpha1.ParameterName(name)] = value
	}
	return given
}

// Baseline returns the baseline's value of each parameter, in the order of the parameters. The value comes
// from the spec's baseline, or else from the template, or else from Ceph. It has to be fixed when a sweep
// begins, since the sweep then changes the values in Ceph.
//
// A value that the spec spells in another way, or that acts like the baseline's by the function alike, gets the
// spec's spelling, so that the two count as one value. Without alike, only numbers of the load do.
func Baseline(spec *Spec, now Present, alike Alike) ([]v1alpha1.BaselineValue, error) {
	given := givenBaseline(spec)
	var all []v1alpha1.BaselineValue
	for _, p := range spec.Parameters {
		value, ok := given[p.Name]
		if !ok {
			present, err := presentValue(spec, p, now)
			if err != nil {
				return nil, err
			}
			value = apiValue(present)
		}
		all = append(all, v1alpha1.BaselineValue{Name: p.Name, Value: spelledAlike(spec, p, value, alike)})
	}
	return all, nil
}

// Alike reports whether OSDs act alike with two values of a parameter. For example, they do if one of them is unset,
// and the other is Ceph's default.
type Alike func(p v1alpha1.Parameter, a, b cephvalue.Value) bool

// SameAsBaseline says in a sentence each which values are the same as the baseline, although they differ in
// writing.
func SameAsBaseline(spec *Spec, now Present, alike Alike) (notes []string) {
	before, err := Baseline(spec, now, nil)
	if err != nil {
		return nil // A plan cannot be made either.
	}
	after, _ := Baseline(spec, now, alike)
	for i, b := range after {
		if b.Value != before[i].Value {
			notes = append(notes, fmt.Sprintf("%s=%s is the baseline: OSDs act alike with %s and %s.", b.Name, plannerValue(b.Value), plannerValue(b.Value), plannerValue(before[i].Value)))
		}
	}
	return notes
}

func presentValue(spec *Spec, p v1alpha1.Parameter, now Present) (cephvalue.Value, error) {
	if !changesCeph(spec, p) {
		return kindOf(p).inTemplate(spec)
	}
	value, ok := now[p.Name]
	if !ok {
		return cephvalue.Value{}, refuse("the current value of parameter %s is unknown", p.Name)
	}
	return value, nil
}

// spelledAlike returns a value in the spec's spelling: a number of the load, so that 4096 and 4Ki count as one
// value, or a value with which OSDs act alike.
func spelledAlike(spec *Spec, p v1alpha1.Parameter, value v1alpha1.ParameterValue, alike Alike) v1alpha1.ParameterValue {
	words := slices.Clone(p.Values)
	for _, c := range spec.Configurations {
		words = append(words, c.Values[string(p.Name)])
	}
	words = slices.DeleteFunc(words, func(word v1alpha1.ParameterValue) bool { return word == "" })
	if slices.Contains(words, value) {
		return value
	}
	for _, word := range words {
		if kindOf(p).equal(word, value) || alike != nil && changesCeph(spec, p) && alike(p, plannerValue(word), plannerValue(value)) {
			return word
		}
	}
	return value
}

// SpaceOf returns the space of configurations that a sweep compares. The names of configurations come from
// the spec, or else from their values. The seed determines the sample of a Latin hypercube.
//
// Errors wrap ErrSpec.
func SpaceOf(spec *Spec, baseline []v1alpha1.BaselineValue, seed uint64) (sweep.Space, error) {
	space := sweep.Space{Baseline: map[string]cephvalue.Value{}}
	for _, b := range baseline {
		space.Baseline[string(b.Name)] = plannerValue(b.Value)
	}
	candidates := grid(spec.Parameters)
	switch {
	case len(spec.Configurations) > 0:
		candidates = listed(spec)
	case spec.Strategy.Search == v1alpha1.SearchLatinHypercube && spec.Strategy.Samples != nil:
		candidates = sample(spec.Parameters, space.Baseline, int(*spec.Strategy.Samples), seed)
	}
	for _, c := range append([]sweep.Configuration{{Name: sweep.BaselineName, Values: space.Baseline}}, candidates...) {
		if err := checkValues(spec, c); err != nil {
			return sweep.Space{}, err
		}
	}
	space.Candidates = candidates
	orderSlow(spec, &space)
	return space, nil
}

// listed returns the configurations of the spec, except the configuration that is the baseline.
func listed(spec *Spec) []sweep.Configuration {
	var all []sweep.Configuration
	for _, c := range spec.Configurations {
		if spec.Baseline != nil && c.Name == spec.Baseline.Configuration {
			continue
		}
		values := map[string]cephvalue.Value{}
		for name, value := range c.Values {
			values[name] = plannerValue(value)
		}
		all = append(all, sweep.Configuration{Name: string(c.Name), Values: values})
	}
	return all
}

// gridSize returns the number of combinations of values. If that number exceeds the argument named most, the
// result is most+1.
func gridSize(parameters []v1alpha1.Parameter, most int) int {
	size := 1
	for _, p := range parameters {
		if size *= len(p.Values); size > most {
			return most + 1
		}
	}
	return size
}

// grid returns all combinations of values; the last parameter varies fastest. For more than
// 2*sweep.MaxCandidates combinations it returns nil, and the planner refuses the sweep.
func grid(parameters []v1alpha1.Parameter) []sweep.Configuration {
	size := gridSize(parameters, 2*sweep.MaxCandidates)
	if size > 2*sweep.MaxCandidates {
		return nil
	}
	all := make([]sweep.Configuration, size)
	for i := range all {
		levels, rest := make([]int, len(parameters)), i
		for k, p := range slices.Backward(parameters) {
			levels[k], rest = rest%len(p.Values), rest/len(p.Values)
		}
		all[i] = cell(parameters, levels)
	}
	return all
}

// cell returns the combination of one level of each parameter.
func cell(parameters []v1alpha1.Parameter, levels []int) sweep.Configuration {
	out := sweep.Configuration{Values: map[string]cephvalue.Value{}}
	labels := make([]string, len(parameters))
	for i, p := range parameters {
		value := plannerValue(p.Values[levels[i]])
		out.Values[string(p.Name)] = value
		labels[i] = string(p.Name) + "=" + value.String()
	}
	out.Name = strings.Join(labels, " ")
	return out
}

// sampleDraws is the maximum number of draws in the search for a Latin hypercube without the baseline and
// without duplicates.
const sampleDraws = 64

// sample returns a Latin hypercube of n combinations. In such a sample, all values of a parameter occur
// equally often, or some occur once more. Duplicates and the baseline are dropped, so sample draws up to
// sampleDraws times, and returns the draw that keeps the most combinations. If at most n combinations exist,
// sample returns them all.
func sample(parameters []v1alpha1.Parameter, baseline map[string]cephvalue.Value, n int, seed uint64) []sweep.Configuration {
	if gridSize(parameters, n) <= n {
		return grid(parameters)
	}
	var best []sweep.Configuration
	for draw := uint64(0); draw < sampleDraws && len(best) < n; draw++ {
		if drawn := hypercube(parameters, baseline, n, seed, draw); len(drawn) > len(best) {
			best = drawn
		}
	}
	return best
}

func hypercube(parameters []v1alpha1.Parameter, baseline map[string]cephvalue.Value, n int, seed, draw uint64) []sweep.Configuration {
	columns := make([][]int, len(parameters))
	for k, p := range parameters {
		columns[k] = make([]int, n)
		for i := range n {
			columns[k][i] = i * len(p.Values) / n
		}
		// A block's random stream has the block's number, which is at least 1, in its upper 32 bits. So no
		// block uses this stream.
		sweep.Shuffle(columns[k], seed, draw<<8|uint64(k))
	}
	var all []sweep.Configuration
	for i := range n {
		levels := make([]int, len(parameters))
		for k := range parameters {
			levels[k] = columns[k][i]
		}
		c := cell(parameters, levels)
		known := slices.ContainsFunc(all, func(b sweep.Configuration) bool { return b.Name == c.Name })
		if !known && !maps.Equal(c.Values, baseline) {
			all = append(all, c)
		}
	}
	return all
}

// orderSlow orders configurations by pg_num of existing pools, so that each block visits them in ascending or
// descending order. In ascending order, 32, 64 and 128 together take as many splits of PGs as 128 alone.
func orderSlow(spec *Spec, space *sweep.Space) {
	var slow []string
	for _, change := range Changes(spec, nil) {
		if change.MovesPGs() {
			slow = append(slow, string(change.Parameter))
		}
	}
	if len(slow) == 0 {
		return
	}
	place := func(values map[string]cephvalue.Value) []int {
		numbers := make([]int, len(slow))
		for i, name := range slow {
			value, given := values[name]
			if !given {
				value = space.Baseline[name]
			}
			numbers[i], _ = strconv.Atoi(value.Text) // An unset value becomes 0, and so comes first.
		}
		return numbers
	}
	places := [][]int{place(space.Baseline)}
	for _, b := range space.Candidates {
		places = append(places, place(b.Values))
	}
	slices.SortFunc(places, slices.Compare)
	places = slices.CompactFunc(places, slices.Equal)
	position := func(values map[string]cephvalue.Value) int {
		index, _ := slices.BinarySearchFunc(places, place(values), slices.Compare)
		return index
	}
	space.Ordered, space.BaselinePosition = true, position(space.Baseline)
	for i := range space.Candidates {
		space.Candidates[i].Position = position(space.Candidates[i].Values)
	}
}

// plannerValue and apiValue are the only conversions between v1alpha1.ParameterValue and cephvalue.Value. The
// planner, the tuner and the journal share cephvalue.Value.
func plannerValue(v v1alpha1.ParameterValue) cephvalue.Value {
	if v == v1alpha1.Unset || v == "" {
		return cephvalue.Unset()
	}
	return cephvalue.Of(string(v))
}

func apiValue(v cephvalue.Value) v1alpha1.ParameterValue {
	if !v.Set {
		return v1alpha1.Unset
	}
	return v1alpha1.ParameterValue(v.Text)
}

// maxName is the maximum length of a configuration's name in status.
const maxName = 64

// NameOf returns the name of a configuration in status. This is the planner's name or, if that is too long,
// its beginning and the index.
func NameOf(index int, c sweep.Configuration) string {
	if len(c.Name) <= maxName {
		return c.Name
	}
	mark := " #" + strconv.Itoa(index)
	return ellipsis.Cut(c.Name, maxName-len(mark)) + mark
}
