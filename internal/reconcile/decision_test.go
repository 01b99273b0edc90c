package reconcile

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

func object(uid types.UID) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", UID: uid}}
}

func TestDecisionsLogChangesOnly(t *testing.T) {
	first := Decision{RunID: "1", Run: 1, Rule: "waitForQuiet", Step: "Wait", Reason: "WaitingForQuiescence"}
	changed := func(change func(*Decision)) Decision {
		d := first
		change(&d)
		return d
	}
	rests := Decision{Rule: "leaveEndedAlone", Step: "None", Rests: true}
	for name, c := range map[string]struct {
		before *Decision
		now    Decision
		want   int
	}{
		"the first":                         {now: first, want: 1},
		"the same again":                    {before: &first, now: first},
		"another rule":                      {before: &first, now: changed(func(d *Decision) { d.Rule = "failWithJob" }), want: 1},
		"another step":                      {before: &first, now: changed(func(d *Decision) { d.Step = "Fail" }), want: 1},
		"another reason":                    {before: &first, now: changed(func(d *Decision) { d.Reason = "Queued" }), want: 1},
		"another run":                       {before: &first, now: changed(func(d *Decision) { d.Run = 2 }), want: 1},
		"another run ID":                    {before: &first, now: changed(func(d *Decision) { d.RunID = "2" }), want: 1},
		"another detail":                    {before: &first, now: changed(func(d *Decision) { d.Detail = "start r1-p1" }), want: 1},
		"one that rests from the beginning": {now: rests},
		"one that rests after it worked":    {before: &first, now: rests, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			ctx := logf.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
			var decisions Log
			if c.before != nil {
				decisions.Note(ctx, object("u"), *c.before)
				lines = nil
			}
			decisions.Note(ctx, object("u"), c.now)
			if len(lines) != c.want {
				t.Errorf("logged %q, want %d lines", lines, c.want)
			}
		})
	}
}

// What a step finds is logged once, also if the same decision is noted in between.
func TestFoundReasonsAreLoggedOnce(t *testing.T) {
	var lines []string
	ctx := logf.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	decisions, o := &Log{}, object("u")
	lock := Decision{RunID: "1", Rule: "takeLock", Step: "Lock"}
	decisions.Found(ctx, o, "Queued", "before any decision")
	for _, reason := range []string{"Queued", "Queued", "", "LockLost"} {
		decisions.Note(ctx, o, lock)
		decisions.Found(ctx, o, reason, "it waits")
	}
	decisions.Note(ctx, o, Decision{RunID: "1", Rule: "waitForQuiet", Step: "Wait", Reason: "Queued"})
	decisions.Found(ctx, o, "Queued", "as planned")
	if len(lines) != 4 || !strings.Contains(lines[1], `"Found"`) || !strings.Contains(lines[1], `"reason"="Queued"`) ||
		!strings.Contains(lines[1], `"rule"="takeLock"`) || !strings.Contains(lines[2], `"reason"="LockLost"`) || !strings.Contains(lines[3], `"Decided"`) {
		t.Errorf("logged %q", lines)
	}
}

func TestDecisionLogsAllFields(t *testing.T) {
	var line string
	ctx := logf.IntoContext(t.Context(), funcr.New(func(_, message string) { line = message }, funcr.Options{}))
	(&Log{}).Note(ctx, object("u"), Decision{RunID: "a", Run: 2, Rule: "nextMove", Step: "Move", Detail: "Start r2-p1", Reason: "Running"})
	for _, want := range []string{
		`"object"="ns/b"`, `"runID"="a"`, `"run"=2`, `"rule"="nextMove"`, `"step"="Move"`, `"detail"="Start r2-p1"`, `"reason"="Running"`,
	} {
		if !strings.Contains(line, want) {
			t.Errorf("the line has no %s: %s", want, line)
		}
	}
}

func TestFirstRuleThatAppliesDecides(t *testing.T) {
	rules := []Rule[int, string]{
		{Name: "negative", Func: func(n int) (string, bool) { return "below", n < 0 }},
		{Name: "small", Func: func(n int) (string, bool) { return "few", n < 10 }},
	}
	for n, want := range map[int]string{-1: "below by negative", 3: "few by small", 12: ""} {
		plan, name, applies := First(rules, n)
		if got := plan + " by " + name; applies != (want != "") || applies && got != want {
			t.Errorf("%d: %s, %v; want %q", n, got, applies, want)
		}
	}
}
