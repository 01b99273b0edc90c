package sweep

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestConfigurations(t *testing.T) {
	for name, tc := range map[string]struct {
		space Space
		want  []Configuration
	}{
		"a grid, the last parameter fastest, without the baseline's own cell": {
			space: Space{
				Parameters: []Parameter{
					{Name: "pg_num", Values: []Value{Set("16"), Set("32")}},
					{Name: "profile", Values: []Value{Unset(), Set("balanced")}},
				},
				Baseline: map[string]Value{"pg_num": Set("16"), "profile": Set("balanced")},
			},
			want: []Configuration{
				{Name: "baseline", Values: map[string]Value{"pg_num": Set("16"), "profile": Set("balanced")}},
				{Name: "pg_num=16 profile=unset", Values: map[string]Value{"pg_num": Set("16"), "profile": Unset()}},
				{Name: "pg_num=32 profile=unset", Values: map[string]Value{"pg_num": Set("32"), "profile": Unset()}},
				{Name: "pg_num=32 profile=balanced", Values: map[string]Value{"pg_num": Set("32"), "profile": Set("balanced")}},
			},
		},
		"unset is what a baseline has for a parameter that it does not mention": {
			space: Space{Parameters: []Parameter{{Name: "x", Values: []Value{Unset(), Set("")}}}},
			want: []Configuration{
				{Name: "baseline", Values: map[string]Value{"x": Unset()}},
				{Name: "x=", Values: map[string]Value{"x": Set("")}},
			},
		},
		"bundles leave alone what they do not mention": {
			space: Space{
				Bundles: []Bundle{
					{Name: "a", Values: map[string]Value{"x": Set("1")}},
					{Name: "b", Values: map[string]Value{"y": Set("2"), "x": Unset()}},
				},
				Baseline: map[string]Value{"x": Set("0")},
			},
			want: []Configuration{
				{Name: "baseline", Values: map[string]Value{"x": Set("0"), "y": Unset()}},
				{Name: "a", Values: map[string]Value{"x": Set("1"), "y": Unset()}},
				{Name: "b", Values: map[string]Value{"x": Unset(), "y": Set("2")}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.space.Configurations()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Configuration{})); diff != "" {
				t.Errorf("configurations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpacesThatCannotBeSwept(t *testing.T) {
	many := Parameter{Name: "many"}
	for i := range MaxCandidates + 1 {
		many.Values = append(many.Values, Set(fmt.Sprint(i)))
	}
	for name, s := range map[string]Space{
		"nothing":               {},
		"both kinds":            {Parameters: grid("1").Parameters, Bundles: []Bundle{{Name: "a"}}},
		"only the baseline":     grid("32"),
		"a parameter twice":     {Parameters: append(grid("1").Parameters, grid("2").Parameters...)},
		"a parameter unnamed":   {Parameters: []Parameter{{Values: []Value{Set("1")}}}},
		"a parameter unvalued":  {Parameters: []Parameter{{Name: "x"}}},
		"a value twice":         grid("16", "16"),
		"a stranger's baseline": {Parameters: grid("1").Parameters, Baseline: map[string]Value{"pgnum": Set("1")}},
		"a bundle twice":        {Bundles: []Bundle{{Name: "a", Values: map[string]Value{"x": Set("1")}}, {Name: "b", Values: map[string]Value{"x": Set("1")}}}},
		"two bundles, one name": {Bundles: []Bundle{{Name: "a", Values: map[string]Value{"x": Set("1")}}, {Name: "a", Values: map[string]Value{"x": Set("2")}}}},
		"a bundle as baseline":  {Bundles: []Bundle{{Name: "baseline", Values: map[string]Value{"x": Set("1")}}}},
		"too many":              {Parameters: []Parameter{many}},
		"far too many":          {Parameters: []Parameter{many, {Name: "b", Values: many.Values}, {Name: "c", Values: many.Values}}},
	} {
		if _, err := s.Configurations(); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
	}
}
