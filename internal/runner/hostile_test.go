package runner

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/memory"
)

// repeat writes a text that repeats one piece many times.
func repeat(w io.Writer, before, piece, after string, times int) {
	_, _ = io.WriteString(w, before)
	chunk := strings.Repeat(piece, 1000)
	for range times / 1000 {
		if _, err := io.WriteString(w, chunk); err != nil {
			return // The client has closed the connection.
		}
	}
	_, _ = io.WriteString(w, after)
}

// patient returns a client without a short connect deadline. On a busy machine, 64 connections to a
// server in the same process may take longer than one connection to a runner.
func patient(t *testing.T, c Client) {
	t.Helper()
	over, ok := c.(*client)
	if !ok {
		t.Fatalf("the client is a %T", c)
	}
	transport, ok := over.http.Transport.(*http.Transport)
	if !ok {
		t.Fatalf("its transport is a %T", over.http.Transport)
	}
	transport.DialContext, transport.TLSHandshakeTimeout = (&net.Dialer{}).DialContext, 0
}

// Everyone with the key of an execution can answer instead of all of its runners.
func TestHostileAnswersCostLittle(t *testing.T) {
	const many = 5_000_000
	for name, answer := range map[string]func(io.Writer){
		"tasks":    func(w io.Writer) { repeat(w, `{"version":1,"tasks":[{}`, `,{}`, `]}`, many) },
		"failures": func(w io.Writer) { repeat(w, `{"version":1,"tasks":[{}`, `,{"failure":{}}`, `]}`, many) },
		"commands": func(w io.Writer) { repeat(w, `{"tasks":[{"failure":{"command":[""`, `,""`, `]}}]}`, many) },
		"a tail":   func(w io.Writer) { repeat(w, `{"tasks":[{"failure":{"tail":"`, `x`, `"}}]}`, many) },
		"spaces":   func(w io.Writer) { repeat(w, `{`, ` `, `}`, 10*many) },
		"within bounds": func(w io.Writer) {
			repeat(w, `{"tasks":[{"id":"a","failure":{"command":[""`, `,"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"`, `]}}]}`, 9_000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			memory.Within(t, func(t *testing.T) {
				var kept [64]Snapshot // as those of 64 clients
				var asked, all sync.WaitGroup
				asked.Add(len(kept))
				c := served(t, func(w http.ResponseWriter, _ *http.Request) {
					asked.Done()
					asked.Wait() // All of them are read at the same time.
					answer(w)
				})
				patient(t, c)
				for i := range kept {
					all.Go(func() {
						var err error
						kept[i], err = c.Snapshot(t.Context(), -1, maxWait)
						if _, exceeded := errors.AsType[*limits.Error](err); !exceeded && name != "within bounds" {
							t.Errorf("got %v, want a limit", err)
						} else if err != nil && name == "within bounds" {
							t.Error(err)
						}
					})
				}
				all.Wait()
				_, _ = fmt.Fprint(io.Discard, len(kept[0].Tasks))
			})
		})
	}
}

func TestHostileReportsCostLittle(t *testing.T) {
	const head, many = `{"id":"a","state":"Done",`, 2_000_000
	const write = head + `"result":{"schemaVersion":1,"clients":1,"source":{"tool":"fio","format":"x"},"write":{"operations":1,"seconds":1,"shortestSeconds":1,`
	for name, answer := range map[string]func(io.Writer){
		"numbers": func(w io.Writer) { repeat(w, write+`"series":{"startSeconds":[0`, `,0`, `]}}}}`, many) },
		"bins": func(w io.Writer) {
			repeat(w, write+`"latency":{"histogram":{"nanosecondBins":[[0,1]`, `,[1,1]`, `]}}}}}`, many/4)
		},
		"a wide bin": func(w io.Writer) {
			repeat(w, write+`"latency":{"histogram":{"nanosecondBins":[[0`, `,1`, `]]}}}}}`, many)
		},
		"windows":     func(w io.Writer) { repeat(w, write+`"latencyWindows":[{}`, `,{}`, `]}}}`, many/2) },
		"warnings":    func(w io.Writer) { repeat(w, head+`"result":{"warnings":[{}`, `,{}`, `]}}`, many/2) },
		"settings":    func(w io.Writer) { repeat(w, head+`"result":{"source":{"settings":{"":""`, `,"":""`, `}}}}`, many/4) },
		"an output":   func(w io.Writer) { repeat(w, head+`"output":"`, `x`, `"}`, many) },
		"a bomb":      func(w io.Writer) { repeat(w, head, ` `, `"x":0}`, 100*many) },
		"percentiles": func(w io.Writer) { repeat(w, write+`"latency":{"percentiles":[{}`, `,{}`, `]}}}}`, many/2) },
	} {
		t.Run(name, func(t *testing.T) {
			memory.Within(t, func(t *testing.T) {
				c := served(t, func(w http.ResponseWriter, _ *http.Request) {
					z := gzip.NewWriter(w)
					answer(z)
					_ = z.Close()
				})
				var all sync.WaitGroup
				for range 4 { // of as many benchmarks
					all.Go(func() {
						if got, err := c.Report(t.Context(), "a"); err == nil {
							t.Errorf("it is read: %+v", got.Status)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

func TestHostileLogsCostLittle(t *testing.T) {
	memory.Within(t, func(t *testing.T) {
		var log strings.Builder
		for i := range 100 { // Each of them may be a report.
			id := fmt.Sprint("t", i)
			var text strings.Builder
			repeat(&text, `{"id":"`+id+`","state":"Failed","failure":{"command":[""`, `,""`, `]}}`, 50_000)
			encoded, err := compress([]byte(text.String()))
			if err != nil {
				t.Fatal(err)
			}
			log.Write(encodeFrame(id, encoded))
		}
		reports, err := ReadFrames(strings.NewReader(log.String()), nil)
		if len(reports) == 0 || len(reports) > 20 || err == nil || !strings.Contains(err.Error(), "bytes of values") {
			t.Errorf("%d reports, %.200v", len(reports), err)
		}
	})
}

// This is the snapshot of the longest execution, in which one task of each run has failed.
func TestTheLargestSnapshotIsRead(t *testing.T) {
	moment := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	var want Snapshot
	for i := range 1500 {
		status := task.Status{ID: fmt.Sprintf("tidy-r20-%063d", i), State: task.Done, StartTime: &moment, EndTime: &moment}
		if i%75 == 0 {
			c := newCapture(task.MaxOutputBytes)
			_, _ = io.WriteString(c, strings.Repeat("some words\n", 10_000))
			status.State, status.Failure = task.Failed, &task.Failure{
				Reason: task.ToolFailed, Message: strings.Repeat("x", 1000),
				Command: strings.Split(strings.Repeat("a ", 5000), " "), Tail: c.lastLines(maxTailBytes),
			}
			boundFailure(status.Failure)
		}
		want.Tasks = append(want.Tasks, status)
	}
	c := served(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, want) })
	got, err := c.Snapshot(t.Context(), -1, 0)
	if err != nil || len(got.Tasks) != len(want.Tasks) {
		t.Errorf("%d tasks, %v", len(got.Tasks), err)
	}
}
