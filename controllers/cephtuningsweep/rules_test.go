package cephtuningsweep

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/reconcile"
)

func TestRulesAreNamedOnceAndAsTheirFunctions(t *testing.T) {
	names := map[string]bool{}
	check := func(name string, rule any) {
		if names[name] {
			t.Errorf("there are two rules %s", name)
		}
		names[name] = true
		full := runtime.FuncForPC(reflect.ValueOf(rule).Pointer()).Name()
		if function := full[strings.LastIndex(full, ".")+1:]; function != name {
			t.Errorf("rule %s is function %s: who reads the log would not find it", name, function)
		}
	}
	for _, r := range rules() {
		check(r.Name, r.Func)
	}
	for _, r := range restoreParts() {
		check(r.Name, r.Func)
	}
}

func TestDecisionIsLoggedWhenItChanges(t *testing.T) {
	var lines []string
	ctx := logf.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	decisions := &reconcile.Log{}
	linesAbout := func(seen facts) int {
		lines = nil
		decisions.Note(ctx, seen.sweep, seen.describe(decide(seen)))
		return len(lines)
	}
	if n := linesAbout(atWork(t)); n != 1 || !strings.Contains(lines[0], `"rule"="applyConfiguration"`) || !strings.Contains(lines[0], `"step"="Apply"`) {
		t.Errorf("the first decision: %q", lines)
	}
	if n := linesAbout(atWork(t)); n != 0 {
		t.Errorf("the same decision again: %q", lines)
	}
	renewing := atWork(t, func(f *facts) { f.locked = false })
	if n := linesAbout(renewing); n != 0 || decide(renewing).Step != reconcile.StepLock {
		t.Errorf("a lock that is renewed: %q", lines)
	}
	if n := linesAbout(atWork(t)); n != 0 {
		t.Errorf("the same decision after that: %q", lines)
	}
	if n := linesAbout(atWork(t, deletedNow)); n != 1 {
		t.Errorf("another decision: %q", lines)
	}
}
