package cephbenchmark

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/teardown"
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

func TestDecisionIsLoggedWhenItChanges(t *testing.T) {
	var lines []string
	ctx := logf.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	r := &Reconciler{}
	said := func(seen facts) int {
		lines = nil
		r.logDecision(ctx, seen, decide(seen))
		return len(lines)
	}
	if n := said(atWork()); n != 1 || !strings.Contains(lines[0], `"rule"="waitForQuiet"`) || !strings.Contains(lines[0], `"step"="Wait"`) {
		t.Errorf("the first decision: %q", lines)
	}
	if n := said(atWork()); n != 0 {
		t.Errorf("the same decision again: %q", lines)
	}
	renewing := atWork(func(f *facts) { f.locked, f.memory.turn.Grant = false, &lock.Grant{} })
	if n := said(renewing); n != 0 || decide(renewing).step != stepLock {
		t.Errorf("a lock that is renewed: %q", lines)
	}
	if n := said(atWork()); n != 0 {
		t.Errorf("the same decision after that: %q", lines)
	}
	if n := said(atWork(deleted)); n != 1 {
		t.Errorf("another decision: %q", lines)
	}
}
