package cephbenchmark

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/clients/teardown"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/signature/trial"
)

func TestRulesAreNamedOnceAndAsTheirFunctions(t *testing.T) {
	names := map[string]bool{}
	check := func(name string, function any) {
		if names[name] {
			t.Errorf("there are two rules %s", name)
		}
		names[name] = true
		full := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
		if function := full[strings.LastIndex(full, ".")+1:]; function != name {
			t.Errorf("rule %s is function %s: who reads the log would not find it", name, function)
		}
	}
	for _, r := range rules() {
		check(r.Name, r.Func)
	}
	for _, r := range teardown.Rules() {
		check(r.Name, r.Func)
	}
	for _, r := range scratchpool.Rules() {
		check(r.Name, r.Func)
	}
}

// Anybody may create benchmarks that wait for a sweep, and each look at one asks the API server for the sweep.
func TestABenchmarkUnderASweepIsLookedAtAtGrowingIntervals(t *testing.T) {
	for _, c := range []struct{ age, refused, waits time.Duration }{
		{time.Second, time.Minute, 100 * time.Millisecond},
		{time.Hour, 6 * time.Minute, time.Minute},
		{24 * time.Hour, time.Hour, time.Minute},
	} {
		seen := atWork(idle, func(f *facts) { f.benchmark.CreationTimestamp.Time = today().Add(-c.age) })
		seen.admission = trial.Admission{Refusal: "Not yours."}
		refused := decide(seen)
		seen.admission = trial.Admission{Waits: true}
		if waits := decide(seen); refused.Again != c.refused || waits.Again != c.waits {
			t.Errorf("after %v: %v and %v, want %v and %v", c.age, refused.Again, waits.Again, c.refused, c.waits)
		}
	}
}

func TestDecisionIsLoggedWhenItChanges(t *testing.T) {
	var lines []string
	ctx := logf.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	decisions := &reconcile.Log{}
	linesAbout := func(seen facts) int {
		lines = nil
		decisions.Note(ctx, seen.benchmark, seen.describe(decide(seen)))
		return len(lines)
	}
	if n := linesAbout(atWork()); n != 1 || !strings.Contains(lines[0], `"rule"="waitForQuiet"`) || !strings.Contains(lines[0], `"step"="Wait"`) {
		t.Errorf("the first decision: %q", lines)
	}
	if n := linesAbout(atWork()); n != 0 {
		t.Errorf("the same decision again: %q", lines)
	}
	renewing := atWork(func(f *facts) { f.locked, f.memory.turn.Grant = false, &lock.Grant{} })
	if n := linesAbout(renewing); n != 0 || decide(renewing).Step != reconcile.StepLock {
		t.Errorf("a lock that is renewed: %q", lines)
	}
	if n := linesAbout(atWork()); n != 0 {
		t.Errorf("the same decision after that: %q", lines)
	}
	if n := linesAbout(atWork(deleted)); n != 1 {
		t.Errorf("another decision: %q", lines)
	}
}
