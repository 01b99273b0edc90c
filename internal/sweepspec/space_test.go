package sweepspec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

const inPlace = `{template: {target: {scratchPool: null, existingPool: {name: p, dataPool: d}}}, `

// show prints configurations as lines with name, position and the values that are set.
func show(t *testing.T, spec *Spec, now Present) []string {
	t.Helper()
	baseline, err := Baseline(spec, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	space, err := SpaceOf(spec, baseline, 42)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, b := range baseline {
		lines = append(lines, fmt.Sprintf("baseline %s=%s", b.Name, b.Value))
	}
	if space.Ordered {
		lines = append(lines, fmt.Sprintf("ordered, the baseline at %d", space.BaselinePosition))
	}
	for _, b := range space.Candidates {
		line := b.Name
		if space.Ordered {
			line += fmt.Sprintf(" at %d", b.Position)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSpaces(t *testing.T) {
	for name, tc := range map[string]struct {
		patch string
		now   Present
		want  []string
	}{
		"a grid, the last parameter fastest": {
			patch: `{parameters: [{name: pg_num, poolOption: {option: pg_num}, values: ["8", "16"]},
				{name: depth, workload: {phase: fio, field: ioDepth}, values: ["1", "4"]}], baseline: {values: {pg_num: "8"}}}`,
			want: []string{"baseline pg_num=8", "baseline depth=1", "pg_num=8 depth=1", "pg_num=8 depth=4", "pg_num=16 depth=1", "pg_num=16 depth=4"},
		},
		"an unset number of PGs": {
			patch: `{}`,
			want:  []string{"baseline pg_num=Unset", "pg_num=8", "pg_num=16"},
		},
		"the template is the baseline": {
			patch: `{template: {target: {scratchPool: {parameters: {pg_num: "16"}}}}}`,
			want:  []string{"baseline pg_num=16", "pg_num=8", "pg_num=16"},
		},
		"numbers of the load are what they mean": {
			patch: `{parameters: [{name: bs, workload: {phase: fio, field: blockSize}, values: ["4096", 64Ki]}]}`,
			want:  []string{"baseline bs=4096", "bs=4096", "bs=64Ki"},
		},
		"what Ceph has now, or unset": {
			patch: `{parameters: [{name: profile, config: {option: osd_mclock_profile}, values: [balanced, Unset]},
				{name: cap, config: {option: osd_client_message_cap}, values: ["10"]}]}`,
			now:  Present{"profile": cephvalue.Of("balanced"), "cap": cephvalue.Unset()},
			want: []string{"baseline profile=balanced", "baseline cap=Unset", "profile=balanced cap=10", "profile=unset cap=10"},
		},
		"configurations without the one that is the baseline": {
			patch: `{parameters: [{name: a, poolOption: {option: pg_num}}, {name: b, workload: {phase: fio, field: ioDepth}}],
				configurations: [{name: baseline, values: {a: "8"}}, {name: two, values: {a: "16", b: "4"}}], baseline: {configuration: baseline}}`,
			want: []string{"baseline a=8", "baseline b=1", "two"},
		},
		"pg_num in place goes up and down, the baseline in its place": {
			patch: inPlace + `parameters: [{name: pg_num, poolOption: {option: pg_num}, values: ["128", "16", "64"]},
				{name: depth, workload: {phase: fio, field: ioDepth}, values: ["1"]}]}`,
			now: Present{"pg_num": cephvalue.Of("32")},
			want: []string{
				"baseline pg_num=32", "baseline depth=1", "ordered, the baseline at 1",
				"pg_num=128 depth=1 at 3", "pg_num=16 depth=1 at 0", "pg_num=64 depth=1 at 2",
			},
		},
		"listed configurations are ordered, too": {
			patch: inPlace + `parameters: [{name: a, poolOption: {option: pg_num}}], configurations: [{name: more, values: {a: "64"}}, {name: less, values: {a: "9"}}]}`,
			now:   Present{"a": cephvalue.Of("10")},
			want:  []string{"baseline a=10", "ordered, the baseline at 1", "more at 2", "less at 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, show(t, &specOf(t, tc.patch).Spec, tc.now)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpacesThatAreRefused(t *testing.T) {
	const coded = `{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1}}}}, `
	listedOne := func(parameter, value string) string {
		return fmt.Sprintf(`parameters: [{name: a, %s}], configurations: [{name: one, values: {a: %q}}]}`, parameter, value)
	}
	for name, tc := range map[string]struct{ patch, want string }{
		"what Ceph has is not known": {`{parameters: [{name: p, config: {option: osd_mclock_profile}, values: [balanced]}]}`, "the current value of parameter p is unknown"},
		"PGs of a word":              {`{` + listedOne("poolOption: {option: pg_num}", "many"), "must be a whole number between 1 and 99999"},
		"no PGs":                     {`{` + listedOne("poolOption: {option: pg_num}", "0"), "must be a whole number"},
		"PGs unset in place":         {inPlace + listedOne("poolOption: {option: pg_num}", "Unset"), "has a=unset"},
		"a depth of a word":          {`{` + listedOne("workload: {phase: fio, field: ioDepth}", "deep"), "between 1 and 1024"},
		"a depth unset":              {`{` + listedOne("workload: {phase: fio, field: ioDepth}", "Unset"), "between 1 and 1024"},
		"sixty-five clients":         {`{` + listedOne("workload: {field: clients}", "65"), "between 1 and 64"},
		"a block of a byte":          {`{` + listedOne("workload: {phase: fio, field: blockSize}", "1"), "between 512 and 64Mi"},
		"min_size":                   {`{` + listedOne("poolOption: {option: min_size}", "1"), "left to Ceph"},
		"fast_read of a copy":        {`{` + listedOne("poolOption: {option: fast_read}", "1"), "only erasure-coded pools have it"},
		"fast_read of a word":        {coded + listedOne("poolOption: {option: fast_read}", "maybe"), "0, 1, false or true"},
		"a rate that there is not":   {`{parameters: [{name: r, workload: {phase: fio, field: rateIOPS}, values: ["100"]}]}`, "no rateIOPS that could be the baseline"},
		"copies of erasure-coded data": {
			coded + listedOne("poolOption: {option: size}", "2"),
			"dataChunks and codingChunks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, tc.patch).Spec
			_, err := Draft(spec, Facts{Present: Present{"a": cephvalue.Of("8")}})
			if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want ErrSpec with %q", err, tc.want)
			}
		})
	}
}

func TestALatinHypercubeCoversEveryValueEvenly(t *testing.T) {
	values := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"%d"`, i+1))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	spec := &specOf(t, `{parameters: [{name: a, poolOption: {option: pg_num}, values: `+values(16)+`},
		{name: b, workload: {phase: fio, field: ioDepth}, values: `+values(8)+`},
		{name: c, workload: {phase: fio, field: numJobs}, values: `+values(5)+`}],
		strategy: {search: LatinHypercube, samples: 16}}`).Spec
	baseline, err := Baseline(spec, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var orders [][]string
	for seed := range uint64(20) {
		names, counts := drawn(t, spec, baseline, seed)
		if len(names) != 16 || len(counts["a"]) != 16 || len(counts["b"]) != 8 || len(counts["c"]) != 5 {
			t.Fatalf("seed %d: %d configurations, values %v", seed, len(names), counts)
		}
		for value, n := range counts["c"] {
			if n < 3 || n > 4 {
				t.Errorf("seed %d: c=%s occurs %d times, want 3 or 4", seed, value, n)
			}
		}
		if again, _ := drawn(t, spec, baseline, seed); !slices.Equal(names, again) {
			t.Errorf("seed %d gives %v, and then %v", seed, names, again)
		}
		if slices.ContainsFunc(orders, func(o []string) bool { return slices.Equal(o, names) }) {
			t.Errorf("seed %d gives what another one gave", seed)
		}
		orders = append(orders, names)
	}
}

// drawn returns the names of a sample, and how often each value of a parameter occurs.
func drawn(t *testing.T, spec *Spec, baseline []v1alpha1.BaselineValue, seed uint64) (names []string, counts map[string]map[string]int) {
	t.Helper()
	space, err := SpaceOf(spec, baseline, seed)
	if err != nil {
		t.Fatal(err)
	}
	counts = map[string]map[string]int{}
	for _, b := range space.Candidates {
		names = append(names, b.Name)
		for p, v := range b.Values {
			if counts[p] == nil {
				counts[p] = map[string]int{}
			}
			counts[p][v.Text]++
		}
	}
	return names, counts
}

func TestASampleAsLargeAsTheGridIsTheGrid(t *testing.T) {
	spec := &specOf(t, `{strategy: {search: LatinHypercube, samples: 20}}`).Spec
	if diff := cmp.Diff([]string{"baseline pg_num=Unset", "pg_num=8", "pg_num=16"}, show(t, spec, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamesFitIntoStatus(t *testing.T) {
	long := sweep.Configuration{Name: strings.Repeat("ä", 80)}
	for index, c := range []sweep.Configuration{{Name: "pg_num=32 depth=16"}, long, long} {
		got := NameOf(index, c)
		if len(got) > maxName {
			t.Errorf("%q has %d bytes", got, len(got))
		}
	}
	if NameOf(1, long) == NameOf(2, long) {
		t.Error("two long names are the same")
	}
}

func TestChangesCoverExistingObjects(t *testing.T) {
	spec := &specOf(t, inPlace+`parameters: [
		{name: data, poolOption: {option: pg_num}, values: ["8"]},
		{name: meta, poolOption: {option: pg_num, role: Metadata}, values: ["8"]},
		{name: other, poolOption: {option: pg_num, pool: q}, values: ["8"]},
		{name: profile, config: {option: osd_mclock_profile, mask: "class:ssd"}, values: [Unset]},
		{name: depth, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`).Spec
	var got []string
	for _, c := range Changes(spec, map[string]cephvalue.Value{"data": cephvalue.Of("8"), "meta": cephvalue.Of("4"), "other": cephvalue.Of("2")}) {
		got = append(got, fmt.Sprintf("%s: %s=%s", c.Parameter, c.Setting, c.To))
	}
	want := []string{"data: pg_num of pool d=8", "meta: pg_num of pool p=4", "other: pg_num of pool q=2", "profile: osd/class:ssd osd_mclock_profile=unset"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.ParameterName{"data", "meta", "other", "profile"}, AskedOfCeph(spec)); diff != "" {
		t.Errorf("asked of Ceph (-want +got):\n%s", diff)
	}
}

// Unset and Ceph's default are one configuration.
func TestAValueThatIsAlikeIsTheBaseline(t *testing.T) {
	alike := func(_ v1alpha1.Parameter, a, b cephvalue.Value) bool {
		used := func(v cephvalue.Value) cephvalue.Value {
			if !v.Set {
				return cephvalue.Of("balanced")
			}
			return v
		}
		return used(a) == used(b)
	}
	const sentence = "profile=%s is the baseline: OSDs act alike with %s and %s."
	for name, c := range map[string]struct {
		values, baseline string
		now              cephvalue.Value
		want             []string // candidates
		note             string
	}{
		"unset now":           {`["balanced", "custom"]`, "", cephvalue.Unset(), []string{"profile=custom"}, fmt.Sprintf(sentence, "balanced", "balanced", "unset")},
		"set now":             {`["Unset", "custom"]`, "", cephvalue.Of("balanced"), []string{"profile=custom"}, fmt.Sprintf(sentence, "unset", "unset", "balanced")},
		"a given baseline":    {`["balanced", "custom"]`, "Unset", cephvalue.Of("custom"), []string{"profile=custom"}, fmt.Sprintf(sentence, "balanced", "balanced", "unset")},
		"written in the spec": {`["balanced", "custom"]`, "", cephvalue.Of("balanced"), []string{"profile=custom"}, ""},
		"none is alike":       {`["custom", "high_client_ops"]`, "", cephvalue.Unset(), []string{"profile=custom", "profile=high_client_ops"}, ""},
		"nothing is left":     {`["balanced"]`, "", cephvalue.Unset(), nil, fmt.Sprintf(sentence, "balanced", "balanced", "unset")},
	} {
		t.Run(name, func(t *testing.T) {
			patch := `{parameters: [{name: profile, config: {option: osd_mclock_profile}, values: ` + c.values + `}]}`
			if c.baseline != "" {
				patch = strings.Replace(patch, "{parameters", `{baseline: {values: {profile: "`+c.baseline+`"}}, parameters`, 1)
			}
			spec := &specOf(t, patch).Spec
			now := Present{"profile": c.now}
			if got := strings.Join(SameAsBaseline(spec, now, alike), " "); got != c.note {
				t.Errorf("notes %q, want %q", got, c.note)
			}
			plan, err := Draft(spec, Facts{Present: now, Alike: alike})
			if len(c.want) == 0 {
				if !errors.Is(err, sweep.ErrPlan) {
					t.Errorf("%v, want ErrPlan", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			planner, err := PlannerOf(spec, plan)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, configuration := range planner.Configurations()[1:] {
				got = append(got, configuration.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}
