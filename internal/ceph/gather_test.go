package ceph

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestQuestionsAreAskedTogether(t *testing.T) {
	tests := map[string]struct {
		ask     []string
		refuses string
		want    []string // the questions with an answer
		calls   int
	}{
		"of the monitors":                   {ask: []string{"status", "osd dump", "versions"}, want: []string{"status", "osd dump", "versions"}, calls: 1},
		"of monitors and manager apart":     {ask: []string{"status", "osd dump", "osd df", "osd perf"}, want: []string{"status", "osd dump", "osd df", "osd perf"}, calls: 2},
		"of the manager":                    {ask: []string{"osd pool stats", "pg dump pgs_brief osds", "pg dump pgs_brief"}, want: []string{"osd pool stats", "pg dump pgs_brief osds", "pg dump pgs_brief"}, calls: 1},
		"of the OSDs' latencies and work":   {ask: []string{"osd pool stats", "osd perf", "osd status"}, want: []string{"osd pool stats", "osd perf", "osd status"}, calls: 1},
		"once, though two want to know":     {ask: []string{"status", "status", "osd dump"}, want: []string{"status", "osd dump"}, calls: 1},
		"not a single one":                  {ask: []string{"status"}},
		"not what is not among them":        {ask: []string{"health", "time-sync-status"}},
		"alone, if one of them was refused": {ask: []string{"status", "osd dump"}, refuses: "osd dump", calls: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, _ := fakeCLI(t, fake{})
			t.Setenv("FAKE_ECHO", "yes")
			t.Setenv("FAKE_REFUSES", test.refuses)

			answers := askAll(t, cli, test.ask)

			for _, verb := range test.ask {
				want := ""
				if slices.Contains(test.want, verb) {
					want = fmt.Sprintf(`{"asked": %q}`, verb)
				}
				if got := answers[verb]; got != want {
					t.Errorf("%s is answered %q, want %q", verb, got, want)
				}
			}
			if calls := callsOf(t); len(calls) != test.calls {
				t.Errorf("%d processes were asked, want %d: %q", len(calls), test.calls, calls)
			}
		})
	}
}

// askAll asks all questions at nearly the same time, so that they form one round. It returns the
// answers.
func askAll(t *testing.T, cli *CLI, verbs []string) map[string]string {
	t.Helper()
	var mu sync.Mutex
	var asking sync.WaitGroup
	answers := map[string]string{}
	for _, verb := range verbs {
		asking.Go(func() {
			answer, _ := cli.together(t.Context(), someone, verb)
			mu.Lock()
			defer mu.Unlock()
			answers[verb] = string(answer)
		})
	}
	asking.Wait()
	return answers
}

func callsOf(t *testing.T) []string {
	t.Helper()
	noted, err := os.ReadFile(os.Getenv("FAKE_NOTE") + ".calls")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(noted)))
}

// A caller gets an answer even if another question in the same round was refused.
func TestRefusedRoundIsRetriedAlone(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stdout: `{"fsid": "f"}`}) // it answers every question with one document
	var asking sync.WaitGroup
	asking.Go(func() {
		if status, err := cli.Status(t.Context(), someone); err != nil || status.FSID != "f" {
			t.Errorf("%+v, %v", status, err)
		}
	})
	asking.Go(func() { cli.together(t.Context(), someone, "versions") })
	asking.Wait()
}

// A caller that stops waiting must not end the round of the others.
func TestCancelledCallerDoesNotEndTheRound(t *testing.T) {
	cli, _ := fakeCLI(t, fake{})
	t.Setenv("FAKE_ECHO", "yes")
	hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() { cli.together(hasty, someone, "osd dump") })
	answers := askAll(t, cli, []string{"status", "versions"})
	asking.Wait()
	if answers["status"] == "" || answers["versions"] == "" {
		t.Errorf("answers are %q", answers)
	}
}

// A round without waiting callers ends, together with its process.
func TestRoundWithoutCallersIsNotRun(t *testing.T) {
	cli, _ := fakeCLI(t, fake{hang: "1m"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	var asking sync.WaitGroup
	for _, verb := range []string{"status", "versions"} {
		asking.Go(func() { cli.together(ctx, someone, verb) })
	}
	asking.Wait()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
