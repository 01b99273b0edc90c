package runner

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

func TestAnotherKeyIsRefused(t *testing.T) {
	r := run(t, options(t))
	stranger, err := Dial(r.address, newKey(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Finish(t.Context()); !errors.Is(err, errWrongKey) {
		t.Errorf("error is %v, want one about the key: nothing may be sent", err)
	}
	for name, key := range map[string][]byte{"none": nil, "a short one": make([]byte, 16)} {
		if _, err := Dial(r.address, key, nil); err == nil {
			t.Errorf("key: %s: want an error", name)
		}
	}
	if _, err := Dial("10.0.0.1", newKey(t), nil); err == nil {
		t.Error("an address without a port: want an error")
	}
}

func TestSecretsAreOnesOfTheirOwn(t *testing.T) {
	derive := func(key []byte) *secrets {
		s, err := deriveSecrets(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	key := newKey(t)
	a, again, b := derive(key), derive(key), derive(newKey(t))
	if a.token != again.token || !a.private.Equal(again.private) {
		t.Error("one key gives different secrets")
	}
	if a.token == b.token || a.private.Equal(b.private) || len(a.token) != 64 {
		t.Errorf("tokens %s and %s", a.token, b.token)
	}
}

// careless returns a client that accepts any certificate, to see what the server itself refuses.
func careless(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// served returns a client of a server with the execution's key that answers like this. An hour ago, the client started
// task a.
func served(t *testing.T, answer http.HandlerFunc) Client {
	t.Helper()
	c := servedWithin(t, nil, answer)
	startedAgo(t, c, time.Hour)
	return c
}

// startedAgo makes a client believe that it started task a some time ago.
func startedAgo(t *testing.T, c Client, ago time.Duration) {
	t.Helper()
	over, ok := c.(*client)
	if !ok {
		t.Fatalf("the client is a %T", c)
	}
	over.noteStart("a", time.Now().Add(-ago))
}

// servedWithin returns a client, which charges an account, of a server that answers like this.
func servedWithin(t *testing.T, memory *limits.Account, answer http.HandlerFunc) Client {
	t.Helper()
	key := newKey(t)
	secrets, err := deriveSecrets(key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	if server.TLS, err = secrets.serverTLS(); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := Dial(server.Listener.Addr().String(), key, memory)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Everyone who may create pods in a benchmark namespace can answer instead of a runner, with
// control characters for the terminal of a user who reads status.
func TestRunnerMessagesLoseControlCharacters(t *testing.T) {
	const failure = `"failure": {"reason": "A\u001b[1m", "message": "b\u001b[2J\u009b", "tail": "c\u0007\nd", "command": ["rados", "\u001b]0;e"]}`
	answer := `{"version": 1, "tasks": [{"id": "r1-a", "state": "Failed", ` + failure + `}]}`
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, answer)
		} else {
			_, _ = io.WriteString(w, `{"id": "r1-a", "state": "Failed", `+failure+`}`)
		}
	})
	want := &task.Failure{Reason: "A[1m", Message: "b[2J", Tail: "c\nd", Command: []string{"rados", "]0;e"}}
	snapshot, err := c.Snapshot(t.Context(), -1, 0)
	if err != nil || len(snapshot.Tasks) != 1 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	status, err := c.Put(t.Context(), task.Task{ID: "r1-a"})
	if err != nil {
		t.Fatal(err)
	}
	report, err := readReport(compressed(t, `{"id": "r1-a", "state": "Failed", `+failure+`}`), maxReportMemory, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*task.Failure{"a snapshot": snapshot.Tasks[0].Failure, "an answer": status.Failure, "a report": report.Failure} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A client without the key can make the server log its text, and the manager looks for frames in
// the log.
func TestAStrangerWritesNoFrames(t *testing.T) {
	r := run(t, options(t))
	message := frameMagic + "begin id=r1-a bytes=1 sha256=" + strings.Repeat("0", 64) + " lines=1"
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{message}}}
	if connection, err := dialer.DialContext(t.Context(), "tcp", r.address); err == nil {
		t.Fatal("it was let in", connection.Close())
	}
	for end := time.Now().Add(10 * time.Second); !strings.Contains(r.stderr.String(), "begin id=r1-a"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing was repeated:\n%s", r.stderr)
		}
	}
	if reports, err := ReadFrames(strings.NewReader(r.stderr.String()), nil); err != nil || len(reports) > 0 {
		t.Errorf("%d reports, %v, in\n%s", len(reports), err, r.stderr)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	r := run(t, options(t))
	secrets, err := deriveSecrets(r.key)
	if err != nil {
		t.Fatal(err)
	}
	right := "Bearer " + secrets.token
	cases := map[string]struct {
		method, path, token, body string
		want                      int
		code                      Code
	}{
		"no token":        {"GET", "/v1/snapshot", "", "", 401, Unauthorized},
		"another token":   {"GET", "/v1/snapshot", right[:len(right)-1] + "x", "", 401, Unauthorized},
		"a longer token":  {"POST", "/v1/finish", right + "0", "", 401, Unauthorized},
		"without Bearer":  {"POST", "/v1/finish", secrets.token, "", 401, Unauthorized},
		"another path":    {"GET", "/v2/snapshot", right, "", 404, NotFound},
		"another method":  {"DELETE", "/v1/snapshot", right, "", 404, NotFound},
		"a bad version":   {"GET", "/v1/snapshot?after=x", right, "", 400, Invalid},
		"a bad wait":      {"GET", "/v1/snapshot?wait=1", right, "", 400, Invalid},
		"no task":         {"GET", "/v1/tasks/none/report", right, "", 404, NotFound},
		"no JSON":         {"PUT", "/v1/tasks/a", right, "a", 400, Invalid},
		"unknown field":   {"PUT", "/v1/tasks/a", right, `{"id":"a","shell":"x"}`, 400, Invalid},
		"a field twice":   {"PUT", "/v1/tasks/a", right, `{"id":"a","id":"a"}`, 400, Invalid},
		"something after": {"PUT", "/v1/tasks/a", right, `{"id":"a","steps":[]} {}`, 400, Invalid},
		"another ID":      {"PUT", "/v1/tasks/a", right, `{"id":"b"}`, 400, Invalid},
		"a long body":     {"PUT", "/v1/tasks/a", right, `{"id":"` + strings.Repeat("a", maxBodyBytes), 400, Invalid},
	}
	client := careless(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tc.method, "https://"+r.address+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", tc.token)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tc.want || !bytes.Contains(body, []byte(`{"code":"`+string(tc.code)+`","message":"`)) {
				t.Errorf("got %d, %s, want %d and %s", response.StatusCode, body, tc.want, tc.code)
			}
			if response.ProtoMajor != 1 || response.TLS.Version != tls.VersionTLS13 {
				t.Errorf("spoken was %s over TLS %x", response.Proto, response.TLS.Version)
			}
		})
	}
}

// Requests without the key must not keep a runner alive.
func TestRefusedRequestsAreNoSignOfLife(t *testing.T) {
	s := newExecution(t.TempDir())
	s.touched = time.Now().Add(-time.Hour)
	handler := (&server{execution: s, token: "right"}).handler()
	ask := func(token string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/snapshot", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(&discard{}, request)
	}
	if ask("wrong"); s.idle() < time.Hour {
		t.Errorf("idle for %v after a request that was refused", s.idle())
	}
	if ask("right"); s.idle() > time.Minute {
		t.Errorf("idle for %v after a request", s.idle())
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (*discard) Write(p []byte) (int, error) { return len(p), nil }
func (*discard) WriteHeader(int)             {}

func TestErrorsHaveCodes(t *testing.T) {
	err := errors.Join(errors.New("x"), refuse(Busy, "task %s is at work", "a"))
	if !HasCode(err, Busy) || HasCode(err, NotFound) || HasCode(errors.New("x"), Busy) {
		t.Errorf("the code of %v", err)
	}
	if diff := cmp.Diff("runner: task a is at work (Busy)", refuse(Busy, "task %s is at work", "a").Error()); diff != "" {
		t.Error(diff)
	}
}
