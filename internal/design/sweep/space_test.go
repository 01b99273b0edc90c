package sweep

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

func TestConfigurations(t *testing.T) {
	for name, tc := range map[string]struct {
		space Space
		want  []Configuration
	}{
		"all but the baseline itself": {
			space: grid("16", "32", "64"),
			want: []Configuration{
				{Name: "baseline", Values: map[string]cephvalue.Value{"pg_num": cephvalue.Of("32")}, Position: 2},
				{Name: "pg_num=16", Values: map[string]cephvalue.Value{"pg_num": cephvalue.Of("16")}, Position: 1},
				{Name: "pg_num=64", Values: map[string]cephvalue.Value{"pg_num": cephvalue.Of("64")}, Position: 3},
			},
		},
		"unset is what a baseline has for a parameter that it does not mention": {
			space: Space{Candidates: []Configuration{
				{Name: "x=unset", Values: map[string]cephvalue.Value{"x": cephvalue.Unset()}}, {Name: "x=", Values: map[string]cephvalue.Value{"x": cephvalue.Of("")}},
			}},
			want: []Configuration{
				{Name: "baseline", Values: map[string]cephvalue.Value{"x": cephvalue.Unset()}},
				{Name: "x=", Values: map[string]cephvalue.Value{"x": cephvalue.Of("")}},
			},
		},
		"configurations leave alone what they do not mention": {
			space: Space{
				Candidates: []Configuration{
					{Name: "a", Values: map[string]cephvalue.Value{"x": cephvalue.Of("1")}},
					{Name: "b", Values: map[string]cephvalue.Value{"y": cephvalue.Of("2"), "x": cephvalue.Unset()}},
				},
				Baseline: map[string]cephvalue.Value{"x": cephvalue.Of("0")},
			},
			want: []Configuration{
				{Name: "baseline", Values: map[string]cephvalue.Value{"x": cephvalue.Of("0"), "y": cephvalue.Unset()}},
				{Name: "a", Values: map[string]cephvalue.Value{"x": cephvalue.Of("1"), "y": cephvalue.Unset()}},
				{Name: "b", Values: map[string]cephvalue.Value{"x": cephvalue.Unset(), "y": cephvalue.Of("2")}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.space.Configurations()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("configurations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpacesThatCannotBeSwept(t *testing.T) {
	var many []string
	for i := range MaxCandidates + 1 {
		many = append(many, fmt.Sprint(100+i))
	}
	for name, s := range map[string]Space{
		"nothing":           {},
		"only the baseline": grid("32"),
		"a value twice":     grid("16", "16"),
		"the same values twice": {Candidates: []Configuration{
			{Name: "a", Values: map[string]cephvalue.Value{"x": cephvalue.Of("1")}},
			{Name: "b", Values: map[string]cephvalue.Value{"x": cephvalue.Of("1")}},
		}},
		"two configurations, one name": {Candidates: []Configuration{
			{Name: "a", Values: map[string]cephvalue.Value{"x": cephvalue.Of("1")}},
			{Name: "a", Values: map[string]cephvalue.Value{"x": cephvalue.Of("2")}},
		}},
		"a configuration named baseline": {Candidates: []Configuration{{Name: "baseline", Values: map[string]cephvalue.Value{"x": cephvalue.Of("1")}}}},
		"a configuration without a name": {Candidates: []Configuration{{Values: map[string]cephvalue.Value{"x": cephvalue.Of("1")}}}},
		"too many":                       grid(many...),
	} {
		if _, err := s.Configurations(); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}
