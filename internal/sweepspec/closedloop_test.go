package sweepspec

import (
	"fmt"
	"strings"
	"testing"
)

func TestClosedLoopNote(t *testing.T) {
	const (
		profile = `parameters: [{name: a, config: {option: osd_mclock_profile}, values: [balanced]}]`
		p99     = `objective: {phase: fio, metric: LatencyP99}`
	)
	for name, c := range map[string]struct{ patch, want, more string }{
		"a percentile without a rate": {`{` + profile + `, ` + p99 + `}`, "without an offered rate, a percentile hides stalls, and falls when fewer operations are in flight: fio LatencyP99.", ""},
		"a percentile at a rate": {
			`{` + profile + `, ` + p99 + `, template: {phases: [{name: fio, fio: {pattern: RandRead, rateIOPS: 500}}]}}`, "", "",
		},
		"a rate that is the parameter": {
			`{` + p99 + `, parameters: [{name: a, workload: {phase: fio, field: rateIOPS}, values: ["500"]}]}`, "", "",
		},
		"a depth that is the parameter": {
			`{` + p99 + `, parameters: [{name: depth, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`,
			"fio LatencyP99", "Parameter depth varies the number of operations in flight",
		},
		"a rate of operations": {`{` + profile + `, objective: {phase: fio, metric: IOPS}}`, "", ""},
		"a constraint": {
			`{` + profile + `, objective: {phase: fio, metric: IOPS}, constraints: [{phase: fio, metric: LatencyP99, maximumRegression: 10%}]}`,
			"fio LatencyP99", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := closedLoopNote(&specOf(t, c.patch).Spec)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || !strings.Contains(got, c.more) {
				t.Errorf("got %q, want one with %q and %q", got, c.want, c.more)
			}
		})
	}
}

// The API server refuses such a sweep. One that an earlier version accepted gets a plan with a refusal.
func TestPlanRefusesAPercentileOfAClosedLoopWithoutItsName(t *testing.T) {
	const rule = `objective: {phase: fio, metric: LatencyP99%s}, constraints: [{phase: fio, metric: LatencyP50, maximumRegression: 10%%%s}, {phase: fio, metric: LatencyMean, maximumRegression: 10%%}]`
	for name, c := range map[string]struct {
		patch string
		want  int
	}{
		"a closed loop":           {fmt.Sprintf(`{`+rule+`}`, "", ""), 2},
		"one of two is named":     {fmt.Sprintf(`{`+rule+`}`, ", closedLoop: true", ""), 1},
		"both are named":          {fmt.Sprintf(`{`+rule+`}`, ", closedLoop: true", ", closedLoop: true"), 0},
		"a rate":                  {fmt.Sprintf(`{`+rule+`, template: {phases: [{name: fio, fio: {pattern: RandRead, rateIOPS: 500}}]}}`, "", ""), 0},
		"a rate that is compared": {fmt.Sprintf(`{`+rule+`, parameters: [{name: a, workload: {phase: fio, field: rateIOPS}, values: ["500"]}]}`, "", ""), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := closedLoopRefusals(&specOf(t, c.patch).Spec)
			if len(got) != c.want || c.want > 0 && !strings.Contains(got[len(got)-1], "fio LatencyP50 is a percentile of a closed loop") {
				t.Errorf("got %q, want %d", got, c.want)
			}
			if plan, _ := draft(t, &specOf(t, `{objective: {phase: fio, metric: LatencyP99}}`).Spec, Facts{Present: Present{}}); len(plan.Refusals) != 1 {
				t.Errorf("refusals of the plan: %q", plan.Refusals)
			}
		})
	}
}

// The depth of a phase that is not compared does not change the compared latency.
func TestClosedLoopNoteIgnoresOtherPhases(t *testing.T) {
	const patch = `{objective: {phase: fio, metric: LatencyP99}, parameters: [{name: depth, workload: {phase: %s, field: ioDepth}, values: ["2"]}],
		template: {phases: [{name: fio, fio: {pattern: RandRead}}, {name: other, fio: {pattern: RandRead}}]}}`
	for phase, want := range map[string]bool{"fio": true, "other": false} {
		if got := closedLoopNote(&specOf(t, fmt.Sprintf(patch, phase)).Spec); strings.Contains(got, "Parameter depth") != want || !strings.Contains(got, "fio LatencyP99") {
			t.Errorf("a depth of phase %s: %q", phase, got)
		}
	}
}
