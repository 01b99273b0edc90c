package runner

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/memory"
)

// askVerb calls one method of a client, about task a.
type askVerb func(context.Context, Client) error

// verbsOfClient returns all methods of a client.
func verbsOfClient() map[string]askVerb {
	return map[string]askVerb{
		"Snapshot": func(ctx context.Context, c Client) error { _, err := c.Snapshot(ctx, -1, 0); return err },
		"Put": func(ctx context.Context, c Client) error {
			_, err := c.Put(ctx, task.Task{ID: "a"})
			return err
		},
		"Start":  func(ctx context.Context, c Client) error { _, err := c.Start(ctx, "a"); return err },
		"Cancel": func(ctx context.Context, c Client) error { return c.Cancel(ctx, "a") },
		"Aim":    func(ctx context.Context, c Client) error { return c.Aim(ctx, "a", Aim{}) },
		"Course": func(ctx context.Context, c Client) error { _, err := c.Course(ctx, "a", 0); return err },
		"Report": func(ctx context.Context, c Client) error { _, err := c.Report(ctx, "a"); return err },
		"Finish": func(ctx context.Context, c Client) error { return c.Finish(ctx) },
	}
}

// endless writes a piece until the client closes the connection, or the request ends.
func endless(r *http.Request, w io.Writer, before, piece string) {
	_, err := io.WriteString(w, before)
	for chunk := strings.Repeat(piece, 1+(32<<10)/len(piece)); err == nil && r.Context().Err() == nil; {
		_, err = io.WriteString(w, chunk)
	}
}

// hostileAnswers returns answers that no runner gives. They are endless, so a client has to end each.
func hostileAnswers() map[string]func(w http.ResponseWriter, r *http.Request) {
	listOf := func(before, piece string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) { endless(r, w, before, piece) }
	}
	const bins = `{"fromNanoseconds":0,"toNanoseconds":1,"latencies":{"nanosecondBins":[[1,1]`
	return map[string]func(http.ResponseWriter, *http.Request){
		"nothing but spaces": listOf(`{`, ` `),
		"an unknown list":    listOf(`{"x":[0`, `,0`),
		"an unknown string":  listOf(`{"x":"`, `x`),
		"names":              listOf(`{"x":0`, `,"xxxxxxxx":0`),
		"brackets":           listOf(`{"tasks":`, `[`),
		"objects in objects": listOf(``, `{"failure":`),
		"tasks":              listOf(`{"version":1,"tasks":[{}`, `,{}`),
		"commands":           listOf(`{"id":"a","failure":{"command":[""`, `,""`),
		"rows":               listOf(`{"runningNanoseconds":1,"more":true,"rows":[{}`, `,{}`),
		"rows of the future": listOf(`{"rows":[{"fromNanoseconds":0,"toNanoseconds":9000000000000000000}`, `,{"fromNanoseconds":9000000000000000000,"toNanoseconds":9000000000000000001}`),
		"rows of two kinds":  listOf(`{"rows":[{}`, `,{"read":{},"write":{}}`),
		"bins":               listOf(`{"rows":[`+bins, `,[1,1]`),
		"a wide bin":         listOf(`{"rows":[{"latencies":{"nanosecondBins":[[0`, `,1`),
		"a refusal": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusConflict)
			endless(r, w, `{"code":"Busy","message":"`, `x`)
		},
		"a strange refusal": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			endless(r, w, ``, "\x1b[2J")
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"a header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) },
		"more, again": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, answeredCourse{More: true, RunningNanoseconds: int64(time.Hour)})
		},
		"a bomb":             zipped(`{"id":"a","state":"Done","x":[0`, `,0`),
		"warnings in a bomb": zipped(`{"id":"a","state":"Done","result":{"warnings":[{}`, `,{}`),
		"a series in a bomb": zipped(`{"id":"a","state":"Done","result":{"write":{"series":{"startSeconds":[0`, `,0`),
		"nothing, for a time": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // Otherwise the server does not notice that the client is gone.
			<-r.Context().Done()
		},
		"one byte at a time": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for tick := time.NewTicker(10 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			}
		},
	}
}

func zipped(before, piece string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		z := gzip.NewWriter(w)
		endless(r, z, before, piece)
	}
}

// walkVerbs asks four times with each verb, all at the same time. The time limit is that of a caller in a hurry.
func walkVerbs(t *testing.T, hostile http.HandlerFunc, harmless func(verb string) bool) {
	t.Helper()
	budget := limits.NewBudget(memory.ForClients)
	var all sync.WaitGroup
	for verb, ask := range verbsOfClient() {
		c := servedWithin(t, budget.Open(), hostile)
		patient(t, c)
		startedAgo(t, c, 10*time.Second)
		for range 4 {
			all.Go(func() {
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
				defer stop()
				err := ask(ctx, c)
				if err == nil && !harmless(verb) {
					t.Errorf("%s: the answer is accepted", verb)
				}
				if err != nil && len(err.Error()) > maxRefusalBytes {
					t.Errorf("%s: an error of %d bytes", verb, len(err.Error()))
				}
				if end, _ := ctx.Deadline(); time.Since(end) > 5*time.Second {
					t.Errorf("%s ended %v after its deadline", verb, time.Since(end))
				}
			})
		}
	}
	all.Wait()
	if budget.Free() != memory.ForClients {
		t.Errorf("%d bytes of the budget are lost", memory.ForClients-budget.Free())
	}
}

// Everyone with the key of an execution can answer instead of its runners.
func TestHostileAnswersToEachVerb(t *testing.T) {
	for name, hostile := range hostileAnswers() {
		t.Run(name, func(t *testing.T) {
			memory.Within(t, func(t *testing.T) {
				walkVerbs(t, hostile, func(verb string) bool {
					return name == "more, again" && verb != "Report" // It is an answer without any value.
				})
			})
		})
	}
}

// A verb without a row in this test may have answers without a limit.
func TestAllVerbsAreWalked(t *testing.T) {
	if methods := reflect.TypeFor[Client]().NumMethod(); methods != len(verbsOfClient()) {
		t.Errorf("%d verbs are tested of %d", len(verbsOfClient()), methods)
	}
}

// hostileCourse answers each request for a course with new rows, with a histogram of many bins in each. It is fast, so
// that a client reads many answers.
func hostileCourse(rows, bins int, since time.Time) http.HandlerFunc {
	var list []string
	for i := range bins {
		list = append(list, fmt.Sprintf("[%d,1]", result.BinNanoseconds(i)))
	}
	histogram := `,"operations":1,"latencies":{"nanosecondBins":[` + strings.Join(list, ",") + `]}}`
	return func(w http.ResponseWriter, r *http.Request) {
		var from int
		_, _ = fmt.Sscan(r.URL.Query().Get("from"), &from)
		answer := bufio.NewWriter(w)
		_, _ = fmt.Fprintf(answer, `{"more":true,"runningNanoseconds":%d,"rows":[`, time.Since(since))
		for i := from; i < from+rows; i++ {
			_, _ = fmt.Fprintf(answer, `{"fromNanoseconds":%d,"toNanoseconds":%d%s`, i, i+1, histogram)
			if i < from+rows-1 {
				_ = answer.WriteByte(',')
			}
		}
		_, _ = answer.WriteString("]}")
		_ = answer.Flush()
	}
}

// Each answer is within its limits, and the sum of all would fill the manager's memory. The caller keeps all rows.
func TestHostileCoursesAreShort(t *testing.T) {
	for name, tc := range map[string]struct{ rows, bins int }{
		"histograms": {120, result.NumBins}, "rows": {1000, 0}, "one row at a time": {1, result.NumBins},
	} {
		t.Run(name, func(t *testing.T) {
			memory.Within(t, func(t *testing.T) {
				budget := limits.NewBudget(memory.ForClients)
				since := time.Now().Add(-time.Minute)
				var kept [4][]Course
				var all sync.WaitGroup
				for i := range kept {
					account := budget.Open()
					c := servedWithin(t, account, hostileCourse(tc.rows, tc.bins, since))
					startedAgo(t, c, time.Since(since))
					held := account.Hold()
					all.Go(func() {
						ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
						defer stop()
						var size int64
						for from := 0; ctx.Err() == nil; {
							course, err := c.Course(ctx, "a", from)
							_, hostile := errors.AsType[*ViolationError](err)
							_, full := errors.AsType[*limits.Error](err)
							_, exhausted := errors.AsType[*limits.BudgetError](err)
							if hostile || full || exhausted {
								return
							}
							if err != nil {
								t.Error(err)
								return
							}
							size += limits.Size(course.Rows)
							err = held.Resize(size)
							if course.Held.Release(); err != nil {
								return
							}
							kept[i], from = append(kept[i], course), from+len(course.Rows)
						}
						t.Error("it ended only with its time")
					})
				}
				all.Wait()
				_, _ = fmt.Fprint(io.Discard, len(kept))
			})
		})
	}
}

func TestWhatAClientCannotHaveIsRefused(t *testing.T) {
	row := func(from, to time.Duration) result.Second {
		return result.Second{FromNanoseconds: int64(from), ToNanoseconds: int64(to)}
	}
	rows := func(n int) (all []result.Second) {
		for i := range n {
			all = append(all, row(time.Duration(i)*time.Millisecond, time.Duration(i+1)*time.Millisecond))
		}
		return all
	}
	const elapsed = 80 * time.Second
	for name, tc := range map[string]struct {
		course answeredCourse
		from   int
		want   string // "" if the course is believed
	}{
		"a row each second":       {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: rows(80)}, 0, ""},
		"a few more":              {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: rows(maxRows(elapsed))}, 0, ""},
		"too many":                {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: rows(maxRows(elapsed) + 5)}, 0, "rows of task a after 1m20s"},
		"too many in all":         {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: rows(100)}, 100, "it has 200 rows of task a after 1m20s"},
		"longer than since start": {answeredCourse{RunningNanoseconds: int64(elapsed + 10*time.Second)}, 0, "it was started 1m20"},
		"a negative time":         {answeredCourse{RunningNanoseconds: -1}, 0, "running for -1ns"},
		"a row of the future":     {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: []result.Second{row(0, elapsed+3*time.Second)}}, 0, "in the future"},
		"a row that ends at once": {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: []result.Second{row(5, 5)}}, 0, "cannot last"},
		"a row again":             {answeredCourse{RunningNanoseconds: int64(elapsed), Rows: []result.Second{row(0, 9), row(0, 9)}}, 0, "before its previous row"},
	} {
		t.Run(name, func(t *testing.T) {
			c := servedWithin(t, nil, func(w http.ResponseWriter, _ *http.Request) { answer(w, tc.course) })
			startedAgo(t, c, elapsed)
			_, err := c.Course(t.Context(), "a", tc.from)
			_, ok := errors.AsType[*ViolationError](err)
			if ok != (tc.want != "") || !ok && err != nil || ok && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestACourseOfAnotherProcessIsNotRead(t *testing.T) {
	c := servedWithin(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("it is asked for") })
	if _, err := c.Course(t.Context(), "a", 0); !HasCode(err, NotReady) {
		t.Errorf("%v, want that the task was not started", err)
	}
}

// The report on a task of ten seconds cannot be as long as one on a task of hours.
func TestAReportIsAsLongAsItsTask(t *testing.T) {
	text := `{"id":"a","state":"Failed","failure":{"command":[""` + strings.Repeat(`,""`, 60_000) + `]}}`
	server := func(w http.ResponseWriter, _ *http.Request) {
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
	}
	for ago, want := range map[time.Duration]bool{time.Second: false, time.Hour: true} {
		c := servedWithin(t, nil, server)
		startedAgo(t, c, ago)
		if _, err := c.Report(t.Context(), "a"); (err == nil) != want {
			t.Errorf("%v after its start: %v", ago, err)
		}
	}
}

// An object whose clients answer too much at once fails; another one works.
func TestTheBudgetIsShared(t *testing.T) {
	budget := limits.NewBudget(3 << 20)
	greedy, modest := budget.Open(), budget.Open()
	if err := greedy.Hold().Resize(2 << 20); err != nil {
		t.Fatal(err)
	}
	list := answeredCourse{RunningNanoseconds: int64(time.Minute)}
	for i := range int64(60) {
		list.Rows = append(list.Rows, result.Second{FromNanoseconds: i, ToNanoseconds: i + 1})
	}
	server := func(w http.ResponseWriter, _ *http.Request) { answer(w, list) }
	for account, want := range map[*limits.Account]bool{greedy: false, modest: true} {
		c := servedWithin(t, account, server)
		startedAgo(t, c, time.Hour)
		course, err := c.Course(t.Context(), "a", 0)
		if _, full := errors.AsType[*limits.BudgetError](err); full == want || want && err != nil {
			t.Errorf("%v, want that it is read: %t", err, want)
		}
		if held := 1<<20 - budget.Free(); want != (held > 0) {
			t.Errorf("%d bytes are held for a course, and it was read: %t", held, want)
		}
		if course.Held.Release(); budget.Free() != 1<<20 {
			t.Errorf("%d bytes are free after its release", budget.Free())
		}
	}
}
