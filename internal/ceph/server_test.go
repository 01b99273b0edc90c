package ceph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// served returns a client of a server that executes commands with to, and the server's log.
func served(t *testing.T, to Executor) (*Sidecar, *safeBuffer) {
	t.Helper()
	log := &safeBuffer{}
	mux := http.NewServeMux()
	mux.Handle("POST /v2/{prefix}", NewHandler(to, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	server := httptest.NewUnstartedServer(mux)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return NewSidecar(socket), log
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// answering is an Executor with one answer. It keeps the last command.
type answering struct {
	out []byte
	err error

	mu         sync.Mutex
	connection Connection
	asked      []Command
	fence      *Fence
}

func (a *answering) Execute(_ context.Context, connection Connection, do Command, fence *Fence) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connection, a.fence = connection, fence
	a.asked = append(a.asked, do)
	return a.out, a.err
}

// A command arrives as it was sent, and its output comes back byte by byte.
func TestCommandsCrossTheSocket(t *testing.T) {
	for _, sent := range []Command{
		{Prefix: "status"},
		{Prefix: "tell osd.* cache drop"},
		{Prefix: "osd pool set", Args: []string{"p", "pg_num", "64"}},
		{Prefix: "config-key set", Args: []string{"cephtune/b"}, Input: "<\x00\n>\xe4"},
		{Prefix: "../a/b?c=d%20e"},
	} {
		t.Run(sent.Prefix, func(t *testing.T) {
			to := &answering{out: []byte("<\x00\xff\n>")}
			client, log := served(t, to)
			out, err := client.Execute(t.Context(), someone, sent, nil)
			if err != nil || string(out) != string(to.out) {
				t.Errorf("the output is %q, %v, want %q", out, err, to.out)
			}
			want := sent
			want.Input = strings.ToValidUTF8(sent.Input, "\uFFFD")
			if diff := cmp.Diff([]Command{want}, to.asked); diff != "" || to.connection != someone || to.fence != nil {
				t.Errorf("as %v with fence %v (-want +got):\n%s", to.connection, to.fence, diff)
			}
			if strings.Contains(log.String(), someone.Key) {
				t.Errorf("the key is in the log: %s", log)
			}
		})
	}
}

func TestFencesCrossTheSocket(t *testing.T) {
	for _, restores := range []bool{false, true} {
		to := &answering{}
		client, _ := served(t, to)
		sent := inHours(7)
		sent.Restores = restores
		if err := client.SetBalancer(t.Context(), someone, sent, true); err != nil {
			t.Fatal(err)
		}
		got := *to.fence
		if off := sent.Until.Sub(got.Until); off > time.Second || off < -time.Second {
			t.Errorf("it ends at %s, want %s", got.Until, sent.Until)
		}
		if got.Until = sent.Until; got != sent {
			t.Errorf("got %+v, want %+v", got, sent)
		}
	}
}

// The sidecar refuses what a former holder of the lock sends, and what was delayed on its way, before it asks Ceph.
func TestChangesOfAFormerHolderAreRefused(t *testing.T) {
	const valid = 300 * time.Millisecond
	soon := func() Fence { return Fence{FSID: fsid, Epoch: 2, Until: time.Now().Add(valid)} }
	for name, test := range map[string]struct {
		fence Fence
		delay time.Duration
	}{
		"an earlier epoch":       {fence: inHours(1)},
		"one whose time is over": {fence: Fence{FSID: fsid, Epoch: 2, Until: time.Now().Add(-time.Millisecond)}},
		"one that was held up":   {fence: soon(), delay: 2 * valid},
		"one without an epoch":   {fence: inHours(0)},
		"one of no Ceph cluster": {fence: Fence{FSID: "ceph", Epoch: 2, Until: time.Now().Add(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			cli, _ := fakeCLI(t, fake{})
			client, _ := served(t, cli)
			if err := client.SetBalancer(t.Context(), someone, inHours(2), false); err != nil {
				t.Fatal(err)
			}
			if test.delay > 0 {
				test.fence = soon()
				client.WithTransport(func(way http.RoundTripper) http.RoundTripper { return delayed{RoundTripper: way, delay: test.delay} })
			}
			if err := client.SetBalancer(t.Context(), someone, test.fence, true); err == nil {
				t.Error("it was admitted")
			}
			if got := commands(t, cli); len(got) != 1 {
				t.Errorf("Ceph was told %q", got)
			}
		})
	}
}

// delayed delays requests, as if the manager were paused right before it writes them.
type delayed struct {
	http.RoundTripper

	delay time.Duration
}

func (d delayed) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(d.delay)
	return d.RoundTripper.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
}

func TestErrorsCrossTheSocket(t *testing.T) {
	tests := map[string]struct {
		err  error
		want error
		text string
	}{
		"what Ceph said": {&Error{Verb: "status", Errno: 13, Message: "Error EACCES: access denied"}, fs.ErrPermission, "ceph status: Error EACCES: access denied"},
		"a key that was replaced": {
			&Error{Verb: "status", Errno: 13, Message: "[errno 13] RADOS permission denied (error connecting to the cluster)"}, fs.ErrPermission,
			"ceph status: [errno 13] RADOS permission denied (error connecting to the cluster)",
		},
		"Ceph timed out": {&Error{Verb: "status", Errno: 110, Message: "timed out"}, context.DeadlineExceeded, "ceph status: timed out"},
		"a busy image":   {&Error{Verb: "rbd rm", Errno: 16, Message: "watchers"}, syscall.EBUSY, "rbd rm: watchers"},
		"a deadline":     {fmt.Errorf("ceph status did not end in time: %w", context.DeadlineExceeded), context.DeadlineExceeded, "ceph status did not end in time: context deadline exceeded"},
		"an unreadable key": {
			&UnreadableKeyError{User: "u", Version: "18.2.7", Image: "ceph:20"}, nil,
			"the tools image has Ceph 18.2.7, which cannot read the newer type of key of client.u; use a tools image built from ceph:20, in the manager's Deployment and in the operator config",
		},
		"something else":  {errors.New("no such program"), nil, "no such program"},
		"without a word ": {&Error{Verb: "config show", Errno: 2, Message: "Error ENOENT:"}, fs.ErrNotExist, "ceph config show: refused without a message (errno 2)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, _ := served(t, &answering{err: test.err})
			var refused []Connection
			client.OnRefusal(func(connection Connection) { refused = append(refused, connection) })
			_, err := client.Status(t.Context(), someone)
			if err == nil || err.Error() != test.text {
				t.Errorf("error is %v, want %q", err, test.text)
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v is not %v", err, test.want)
			}
			var wantRefused []Connection
			if errors.Is(test.want, fs.ErrPermission) {
				wantRefused = []Connection{someone}
			}
			if diff := cmp.Diff(wantRefused, refused); diff != "" {
				t.Errorf("told of refusals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorNamesMissingSidecar(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none")
	_, err := NewSidecar(socket).Status(t.Context(), someone)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "the ceph sidecar does not answer on "+socket) {
		t.Errorf("error is %v", err)
	}
}

// blocking blocks each command until its context ends.
type blocking struct{}

func (blocking) Execute(ctx context.Context, _ Connection, do Command, _ *Fence) ([]byte, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("ceph %s did not end in time: %w", do.Prefix, ctx.Err())
}

func TestTheDeadlineOfTheContextIsThatOfTheCommand(t *testing.T) {
	client, _ := served(t, blocking{})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // A tenth of it remains for the answer, which is enough on a busy machine.
	defer cancel()
	_, err := client.Status(ctx, someone)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ceph status did not end in time") {
		t.Errorf("error is %v, want the sidecar's own", err)
	}
}

func TestRequestsAreReadStrictly(t *testing.T) {
	connection := `"connection":{"monHost":"a","user":"u","key":"AAAA"}`
	tests := map[string]struct {
		path, body string
		want       int
	}{
		"well":                        {"/v2/status", `{` + connection + `,"timeoutMilliseconds":1000}`, http.StatusOK},
		"an unknown command":          {"/v2/osd%20rm", `{` + connection + `,"timeoutMilliseconds":1000}`, http.StatusBadRequest},
		"an unknown field":            {"/v2/status", `{` + connection + `,"timeoutMilliseconds":1000,"x":1}`, http.StatusBadRequest},
		"a prefix within the command": {"/v2/status", `{` + connection + `,"timeoutMilliseconds":1000,"command":{"prefix":"osd rm"}}`, http.StatusBadRequest},
		"an argument of one without":  {"/v2/status", `{` + connection + `,"timeoutMilliseconds":1000,"command":{"args":["a"]}}`, http.StatusBadRequest},
		"an option as an argument":    {"/v2/config%20help", `{` + connection + `,"timeoutMilliseconds":1000,"command":{"args":["--help"]}}`, http.StatusBadRequest},
		"a change without a fence":    {"/v2/balancer%20off", `{` + connection + `,"timeoutMilliseconds":1000}`, http.StatusBadRequest},
		"a change with an empty fence": {"/v2/balancer%20off", `{` + connection +
			`,"timeoutMilliseconds":1000,"fence":{"fsid":"","epoch":0,"untilUnixMilliseconds":0,"validForMilliseconds":0}}`, http.StatusBadRequest},
		"an argument that is not a word": {"/v2/config%20help", `{` + connection + `,"timeoutMilliseconds":1000,"command":{"args":[1]}}`, http.StatusBadRequest},
		"two documents":                  {"/v2/status", `{` + connection + `,"timeoutMilliseconds":1000}{}`, http.StatusBadRequest},
		"no timeout":                     {"/v2/status", `{` + connection + `}`, http.StatusBadRequest},
		"more than can be allowed":       {"/v2/config-key%20set", `{"command":{"input":"` + strings.Repeat("x", 5<<20) + `"}}`, http.StatusBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, note := fakeCLI(t, fake{})
			mux := http.NewServeMux()
			mux.Handle("POST /v2/{prefix}", NewHandler(cli, slog.New(slog.DiscardHandler)))
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, test.path, strings.NewReader(test.body)))
			if answer.Code != test.want {
				t.Errorf("answered %d %s, want %d", answer.Code, answer.Body, test.want)
			}
			if called := note() != ""; called != (test.want == http.StatusOK) {
				t.Errorf("a program was called: %t", called)
			}
		})
	}
}

func TestServeReplacesAnOldSocketAndEnds(t *testing.T) {
	folder := t.TempDir()
	socket := filepath.Join(folder, "sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	cli, err := NewCLI(folder)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	if err := Serve(t.Context(), socket, cli, quiet); err == nil || !strings.Contains(err.Error(), "another process answers") {
		t.Errorf("beside another: %v", err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil { // as if it had been killed
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, socket, cli, quiet) }()
	client := NewSidecar(socket)
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, _, err := client.GetKey(t.Context(), someone, "a key of others")
		if _, answered := errors.AsType[*InvalidError](err); answered {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not answer: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v, want mode 0600", info, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there (%v)", err)
	}
}
