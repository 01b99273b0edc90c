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

// take waits until a command of a cluster may have a process.
func take(ctx context.Context, p *processes, connection Connection) (func(), error) {
	leave, err := p.share(ctx, connection)
	if err != nil {
		return nil, err
	}
	end, err := p.begin(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { end(); leave() }, nil
}

// However many commands of one cluster hang, the others have room for questions and changes.
func TestADeadClusterLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcesses()
		dead, buried := context.WithCancel(t.Context())
		for range 10 {
			for _, ctx := range []context.Context{dead, urgent(dead)} {
				go func() {
					if end, err := take(ctx, p, clusterAt(0)); err == nil {
						<-dead.Done()
						end()
					}
				}()
			}
		}
		synctest.Wait()
		for cluster := 1; cluster < 10; cluster++ {
			for _, ctx := range []context.Context{t.Context(), urgent(t.Context())} {
				ctx, stop := context.WithTimeout(ctx, time.Second)
				end, err := take(ctx, p, clusterAt(cluster))
				stop()
				if err != nil {
					t.Fatalf("cluster %d, urgent %t: %v", cluster, isUrgent(ctx), err)
				}
				end()
			}
		}
		buried()
		synctest.Wait()
		if len(p.shares) != 0 {
			t.Errorf("%d clusters are remembered, want none", len(p.shares))
		}
	})
}

// The same with processes: nine clusters answer while all commands of the tenth hang.
func TestADeadClusterDelaysNoOther(t *testing.T) {
	cli := talkingCLI(t)
	t.Setenv("FAKE_HANG", "10m") // Only commands outside conversations hang.
	var hanging, asking sync.WaitGroup
	dead, buried := context.WithCancel(t.Context())
	for range 10 {
		hanging.Go(func() {
			if _, err := cli.ceph(dead, clusterAt(0), "osd dump"); !errors.Is(err, context.Canceled) {
				t.Errorf("the dead cluster: %v", err)
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); len(commands(t, cli)) < clusterQuestions; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the commands of the dead cluster do not start")
		}
	}
	for cluster := 1; cluster < 10; cluster++ {
		asking.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			for _, question := range []string{"status", "osd df", "osd dump"} {
				if _, ok := cli.converse(ctx, clusterAt(cluster), cli.rows[question].daemon, question); !ok {
					t.Errorf("cluster %d gives no answer to %s", cluster, question)
				}
			}
		})
	}
	asking.Wait()
	buried()
	hanging.Wait()
}

// clusterAt returns a connection to one of several Ceph clusters.
func clusterAt(cluster int) Connection {
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
					if _, ok := cli.converse(t.Context(), clusterAt(cluster), cli.rows[question].daemon, question); !ok {
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
		if _, ok := cli.converse(t.Context(), clusterAt(cluster), monitor, "status"); !ok {
			t.Fatalf("cluster %d gives no answer", cluster)
		}
	}
	runs := func(cluster int) bool {
		return cli.conversations.conversation(counterpart{clusterAt(cluster), monitor}).process != nil
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
	if _, ok := cli.converse(urgent(t.Context()), someone, monitor, "status"); ok {
		t.Error("it does")
	}
}
