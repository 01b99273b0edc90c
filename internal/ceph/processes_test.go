package ceph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestProcessesHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcesses()
		var ends []func()
		begin := func(ctx context.Context) error {
			ctx, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			end, err := p.begin(ctx)
			if err == nil {
				ends = append(ends, end)
			}
			return err
		}
		for range MaxProcesses - urgentProcesses {
			if err := begin(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range urgentProcesses {
			if err := begin(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "busy with 7 other commands") {
				t.Errorf("a question takes the room of changes: %v", err)
			}
			if err := begin(urgent(t.Context())); err != nil {
				t.Errorf("a change waits for questions: %v", err)
			}
		}
		if err := begin(urgent(t.Context())); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there is no bound: %v", err)
		}
		ends[0]()
		if err := begin(t.Context()); err != nil {
			t.Errorf("after the end of one: %v", err)
		}
	})
}

// at returns a connection to one of several Ceph clusters.
func at(cluster int) Connection {
	there := someone
	there.MonHost = fmt.Sprintf("[v2:10.0.0.%d:3300]", cluster+1)
	return there
}

// alive returns how many of the processes that were asked still exist.
func alive(t *testing.T) (n int) {
	t.Helper()
	for _, text := range processesOf(t) {
		var pid int
		if _, err := fmt.Sscan(text, &pid); err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			n++
		}
	}
	return n
}

func TestTenClustersHaveFewProcesses(t *testing.T) {
	const clusters = 10
	cli := talkingCLI(t)
	var asking sync.WaitGroup
	for cluster := range clusters {
		for _, question := range []string{"status", "osd df"} {
			asking.Go(func() {
				for range 3 {
					if _, ok := cli.converse(t.Context(), at(cluster), questionOf(question)); !ok {
						t.Errorf("cluster %d gives no answer to %s", cluster, question)
					}
					if n := alive(t); n > MaxProcesses-urgentProcesses {
						t.Errorf("%d processes exist", n)
					}
				}
			})
		}
	}
	asking.Wait()
	if n := alive(t); n > MaxProcesses-urgentProcesses {
		t.Errorf("%d processes are left", n)
	}
}

func TestTheLongestIdleProcessEndsFirst(t *testing.T) {
	const room = MaxProcesses - urgentProcesses
	cli := talkingCLI(t)
	ask := func(cluster int) {
		t.Helper()
		if _, ok := cli.converse(t.Context(), at(cluster), statusVerb.question); !ok {
			t.Fatalf("cluster %d gives no answer", cluster)
		}
	}
	runs := func(cluster int) bool {
		return cli.conversations.of(counterpart{at(cluster), monitor}).process != nil
	}
	for cluster := range room {
		ask(cluster)
	}
	ask(0) // Now the process of cluster 1 is idle for the longest time.
	ask(room)
	if !runs(0) || runs(1) || !runs(2) || !runs(room) {
		t.Errorf("processes of clusters 0 to 2 run: %t, %t, %t", runs(0), runs(1), runs(2))
	}
	if n := alive(t); n != room {
		t.Errorf("%d processes exist, want %d", n, room)
	}
}

// A change must not wait until a conversation is idle, and leaves no process behind.
func TestAChangeTalksInNoConversation(t *testing.T) {
	cli := talkingCLI(t)
	if _, ok := cli.converse(urgent(t.Context()), someone, statusVerb.question); ok {
		t.Error("it does")
	}
}
