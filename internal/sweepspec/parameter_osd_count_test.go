package sweepspec

import (
	"errors"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

const onOSDs = `{template: {target: {scratchPool: {replicated: {size: 1}, osdSelection: {count: 1}}}}, parameters: [{name: osds, osdCount: {}, values: ["2", "3"]}]}`

func TestBaselineOfOSDs(t *testing.T) {
	for name, tc := range map[string]struct {
		patch, want string // a part of the refusal, if there is no baseline
	}{
		"that of the template": {onOSDs, "1"},
		"that of the baseline": {`{parameters: [{name: osds, osdCount: {}, values: ["3"]}], baseline: {values: {osds: "5"}}}`, "5"},
		"the baseline counts":  {strings.TrimSuffix(onOSDs, "}") + `, baseline: {values: {osds: "3"}}}`, "3"},
		"none": {
			`{parameters: [{name: osds, osdCount: {}}], configurations: [{name: a, values: {osds: "1"}}]}`, "parameter osds has no baseline: set target.scratchPool.osdSelection.count",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, tc.patch).Spec
			if asked := AskedOfCeph(spec); len(asked) > 0 {
				t.Errorf("Ceph is to be asked for %v", asked)
			}
			baseline, err := Baseline(spec, nil, nil)
			if errors.Is(err, ErrSpec) {
				if !strings.Contains(err.Error(), tc.want) {
					t.Errorf("refused: %v, want %q", err, tc.want)
				}
				return
			}
			if err != nil || len(baseline) != 1 || string(baseline[0].Value) != tc.want {
				t.Errorf("baseline %v, %v, want %s", baseline, err, tc.want)
			}
		})
	}
}

func TestFewestOSDs(t *testing.T) {
	six := `{template: {target: {scratchPool: {replicated: {size: 1}, osdSelection: {count: 6}}}}, parameters: [{name: osds, osdCount: {}, values: ["4", "3"]}]`
	for name, tc := range map[string]struct {
		patch string
		want  int
	}{
		"all":                      {`{}`, 0},
		"those of the template":    {onOSDs, 1},
		"those of a value":         {six + "}", 3},
		"those of the baseline":    {six + `, baseline: {values: {osds: "2"}}}`, 2},
		"those of a configuration": {`{parameters: [{name: osds, osdCount: {}}], configurations: [{name: a, values: {osds: "7"}}, {name: b}]}`, 7},
	} {
		if got := FewestOSDs(&specOf(t, tc.patch).Spec); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// A number of OSDs changes no existing object, and its patch has nothing for Git.
func TestOSDsAreNoSetting(t *testing.T) {
	spec := &specOf(t, onOSDs).Spec
	values := map[string]cephvalue.Value{"osds": cephvalue.Of("3")}
	if changes := Changes(spec, values); len(changes) > 0 {
		t.Errorf("it changes %v", changes)
	}
	if patches, err := Patches(spec, values, nil, ""); err != nil || len(patches) > 0 {
		t.Errorf("patches %v, %v", patches, err)
	}
	for value, fine := range map[string]bool{"1": true, "1000": true, "0": false, "1001": false, "some": false, "": false} {
		if want := kindOf(spec.Parameters[0]).wanted(spec, plannerValue(v1alpha1.ParameterValue(value))); (want == "") != fine {
			t.Errorf("%q: it wants %q", value, want)
		}
	}
}

func TestTheWinnerOfOSDsHasNoPatch(t *testing.T) {
	spec := &specOf(t, onOSDs).Spec
	_, planner := draft(t, spec, Facts{})
	for name, tc := range map[string]struct {
		winner  int
		noPatch bool
	}{"a winner": {1, true}, "none": {0, false}} {
		sentence := strings.Repeat("osds=2 wins. ", 60)
		out, err := Conclude(spec, planner, nil, &sweep.Conclusion{Standing: sweep.Standing{Best: tc.winner}, Winner: tc.winner, Sentence: sentence}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(out.Summary, kindOf(spec.Parameters[0]).traits().noPatch) != tc.noPatch || len(out.Summary) > maxSummary {
			t.Errorf("%s: the summary is %q", name, out.Summary)
		}
	}
}

// All runs of an attempt at a block use OSDs of the same draw. Other attempts use other draws.
func TestDrawsOfOSDs(t *testing.T) {
	seedOf := func(s *v1alpha1.CephTuningSweep, planSeed int64, block, attempt, position int) *int64 {
		s.Status.Plan = &v1alpha1.SweepPlan{Seed: &planSeed}
		b, err := Child{
			Sweep: s, Trial: sweep.Trial{Block: block, Attempt: attempt, Position: position, LengthFactor: 1}, Run: 1,
			Configuration: sweep.Configuration{Values: map[string]cephvalue.Value{"osds": cephvalue.Of("2")}},
		}.Benchmark()
		if err != nil {
			t.Fatal(err)
		}
		return b.Spec.Template.Target.ScratchPool.OSDSelection.Seed
	}
	const largest = 1<<53 - 1
	drawn, varied := map[int64]bool{}, specOf(t, onOSDs)
	for _, planSeed := range []int64{0, 42, largest} {
		for block := 1; block <= 20; block++ {
			for attempt := 1; attempt <= 3; attempt++ {
				first, last := seedOf(varied, planSeed, block, attempt, 0), seedOf(varied, planSeed, block, attempt, 5)
				if *first != *last || *first < 0 || *first > largest {
					t.Fatalf("seeds %d and %d in one block", *first, *last)
				}
				drawn[*first] = true
			}
		}
	}
	if len(drawn) != 180 {
		t.Errorf("%d draws for 180 blocks", len(drawn))
	}
	seeded := specOf(t, strings.Replace(onOSDs, "count: 1", "count: 1, seed: 7", 1))
	if first, other := seedOf(seeded, 42, 1, 1, 0), seedOf(seeded, 42, 9, 1, 0); *first != 7 || *other != 7 {
		t.Errorf("seeds %d and %d, want the 7 that was asked for", *first, *other)
	}
}
