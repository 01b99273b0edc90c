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
		"a percentile without a rate": {`{` + profile + `, ` + p99 + `}`, "without an offered rate, a percentile falls when fewer operations are in flight: fio LatencyP99.", ""},
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
