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
	"syscall"
	"testing"
	"time"
)

func TestQuestionsShareProcesses(t *testing.T) {
	tests := map[string]struct {
		ask       []string
		refuses   string
		twice     string
		want      []string // the questions with an answer
		processes int
	}{
		"of the monitors":               {ask: []string{"status", "osd dump", "status"}, want: []string{"status", "osd dump", "status"}, processes: 1},
		"of monitors and manager apart": {ask: []string{"status", "osd df", "osd dump", "osd perf"}, want: []string{"status", "osd df", "osd dump", "osd perf"}, processes: 2},
		"with arguments": {
			ask:  []string{"config show-with-defaults osd.0", "config show-with-defaults osd.1"},
			want: []string{"config show-with-defaults osd.0", "config show-with-defaults osd.1"}, processes: 1,
		},
		"not what prints no document":    {ask: []string{"config-key get", "config show"}},
		"again after one was refused":    {ask: []string{"status", "osd dump", "versions"}, refuses: "osd dump", want: []string{"status", "versions"}, processes: 2},
		"again after one printed double": {ask: []string{"status", "osd dump", "versions"}, twice: "osd dump", want: []string{"status", "versions"}, processes: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli := talkingCLI(t)
			t.Setenv("FAKE_REFUSES", test.refuses)
			t.Setenv("FAKE_TWICE", test.twice)
			var answered []string
			for _, question := range test.ask {
				if converseWith(t, cli, question) {
					answered = append(answered, question)
				}
			}
			if !slices.Equal(answered, test.want) {
				t.Errorf("answered are %q, want %q", answered, test.want)
			}
			if got := processesOf(t); len(got) != test.processes {
				t.Errorf("%d processes were asked, want %d", len(got), test.processes)
			}
		})
	}
}

// talkingCLI returns a CLI whose ceph answers questions.
func talkingCLI(t *testing.T) *CLI {
	t.Helper()
	cli, _ := fakeCLI(t, fake{})
	t.Setenv("FAKE_ECHO", "yes")
	t.Cleanup(cli.Close)
	return cli
}

// converseWith asks a question, checks that an answer is to that question, and reports whether
// there was one.
func converseWith(t *testing.T, cli *CLI, question string) bool {
	t.Helper()
	prefix, _, _ := strings.Cut(question, " osd.")
	with := cli.rows[prefix].daemon
	if with == noDaemon {
		return false
	}
	answer, ok := cli.converse(t.Context(), someone, with, question)
	if want := fmt.Sprintf(`{"asked": %q}`, question); ok && string(answer) != want {
		t.Errorf("%s is answered %q, want %q", question, answer, want)
	}
	return ok
}

// processesOf returns the identifiers of the processes that were asked.
func processesOf(t *testing.T) []string {
	t.Helper()
	noted, err := os.ReadFile(os.Getenv("FAKE_NOTE") + ".asked")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var pids []string
	for line := range strings.Lines(string(noted)) {
		pid, _, _ := strings.Cut(line, " ")
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

func TestConcurrentCallersGetTheirOwnAnswers(t *testing.T) {
	cli := talkingCLI(t)
	var asking sync.WaitGroup
	for range 5 {
		for _, question := range []string{"status", "osd dump", "versions", "osd df"} {
			asking.Go(func() {
				if !converseWith(t, cli, question) {
					t.Errorf("%s has no answer", question)
				}
			})
		}
	}
	asking.Wait()
	if got := processesOf(t); len(got) != 2 {
		t.Errorf("%d processes were asked, want 2", len(got))
	}
}

// The late answer to a caller that stopped waiting must not pass for an answer to the next.
func TestLateAnswerIsNotTheNextOne(t *testing.T) {
	cli := talkingCLI(t)
	t.Setenv("FAKE_SLOW", "osd dump")
	hasty, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if answer, ok := cli.converse(hasty, someone, monitor, "osd dump"); ok {
		t.Errorf("the answer is %q, want none in time", answer)
	}
	if !converseWith(t, cli, "status") {
		t.Error("the next question has no answer")
	}
}

// A caller gets an answer even if a conversation is impossible.
func TestWithoutConversationACommandAnswers(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stdout: `{"fsid": "f"}`})
	if status, err := cli.Status(t.Context(), someone); err != nil || status.FSID != "f" {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestProcessesEnd(t *testing.T) {
	ends := map[string]func(*CLI, *conversation){
		"when nothing was asked for a while": func(_ *CLI, talk *conversation) { talk.endUnused() },
		"with the CLI":                       func(cli *CLI, _ *conversation) { cli.Close() },
		"after the longest conversation": func(cli *CLI, talk *conversation) {
			talk.process.began = time.Now().Add(-longestConversation)
			converseWith(t, cli, "status")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			cli := talkingCLI(t)
			if !converseWith(t, cli, "status") {
				t.Fatal("there is no answer")
			}
			var pid int
			if _, err := fmt.Sscan(processesOf(t)[0], &pid); err != nil {
				t.Fatal(err)
			}
			end(cli, cli.conversations.conversation(counterpart{someone, "mon"}))
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d still exists: %v", pid, err)
			}
			cli.conversations.removeUnused()
			if left := len(cli.conversations.with); left != 0 {
				t.Errorf("%d conversations are remembered, want none", left)
			}
		})
	}
}
