package ceph_test

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

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

var someone = ceph.Connection{MonHost: "10.0.0.1", User: "cephtune", Key: "AQAhugFrAAAAABAA=="}

// sidecar returns a client of a server that answers with to, and the server's log.
func sidecar(t *testing.T, to ceph.Client) (*ceph.Sidecar, *safeBuffer) {
	t.Helper()
	log := &safeBuffer{}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/{verb}", ceph.NewHandler(to, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
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
	return ceph.NewSidecar(socket), log
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

// everything has an answer for each verb.
func everything() cephtest.Answers {
	return cephtest.Answers{
		Status:     ceph.Status{FSID: "f", PGsByState: map[string]int{"active+clean": 3}},
		OSDMap:     ceph.OSDMap{FSID: "f", Pools: []ceph.Pool{{Name: "p"}}},
		OSDs:       []ceph.OSD{{ID: 1}},
		DF:         ceph.DF{TotalBytes: 9, Pools: []ceph.PoolDF{{Name: "p"}}},
		OSDPerf:    []ceph.OSDLatency{{ID: 1, CommitSeconds: 0.5}},
		OSDIO:      []ceph.OSDIO{{ID: 1, WriteOperationsPerSecond: 40, WriteBytesPerSecond: 4096}},
		PGs:        []ceph.PG{{ID: "2.1f", PoolID: 2, Acting: []int{1, 0}, Primary: 1}},
		OSDTree:    []ceph.OSDLocation{{ID: 1, Up: true, In: true, Buckets: map[string]string{"host": "node-1"}}},
		Strays:     ceph.Strays{OSDs: 3, PGs: 48},
		PoolIO:     []ceph.PoolIO{{Name: "p", ReadBytesPerSecond: 7}},
		Versions:   ceph.Versions{Overall: map[string]int{"18.2.7": 5}},
		ConfigDump: []ceph.ConfigEntry{{Section: "osd", Name: "n", Value: "v"}},
		ConfigShow: map[string]string{"osd.2 osd_memory_target": "4096"},
		Keys:       map[string]string{"cephtune/a": "x"},
		Images:     map[string][]string{"p": {"cephtune-1"}},
		Objects:    map[string][]string{"p/cephtune-ns": {"o1", "o2", "o3"}},
	}
}

// Every verb arrives with its arguments, and its answer comes back.
func TestVerbsCrossTheSocket(t *testing.T) {
	answers := everything()
	tests := map[string]struct {
		do   func(context.Context, ceph.Client) (any, error)
		want any
		args string
	}{
		"Status":     {func(ctx context.Context, c ceph.Client) (any, error) { return c.Status(ctx, someone) }, &answers.Status, ""},
		"OSDMap":     {func(ctx context.Context, c ceph.Client) (any, error) { return c.OSDMap(ctx, someone) }, &answers.OSDMap, ""},
		"OSDs":       {func(ctx context.Context, c ceph.Client) (any, error) { return c.OSDs(ctx, someone) }, answers.OSDs, ""},
		"OSDTree":    {func(ctx context.Context, c ceph.Client) (any, error) { return c.OSDTree(ctx, someone) }, answers.OSDTree, ""},
		"DF":         {func(ctx context.Context, c ceph.Client) (any, error) { return c.DF(ctx, someone) }, &answers.DF, ""},
		"OSDPerf":    {func(ctx context.Context, c ceph.Client) (any, error) { return c.OSDPerf(ctx, someone) }, answers.OSDPerf, ""},
		"OSDIO":      {func(ctx context.Context, c ceph.Client) (any, error) { return c.OSDIO(ctx, someone) }, answers.OSDIO, ""},
		"PGs":        {func(ctx context.Context, c ceph.Client) (any, error) { return c.PGs(ctx, someone) }, answers.PGs, ""},
		"PGsOn":      {func(ctx context.Context, c ceph.Client) (any, error) { return c.PGsOn(ctx, someone, 1) }, answers.PGs, "[1]"},
		"Strays":     {func(ctx context.Context, c ceph.Client) (any, error) { return c.Strays(ctx, someone) }, &answers.Strays, ""},
		"PoolIO":     {func(ctx context.Context, c ceph.Client) (any, error) { return c.PoolIO(ctx, someone) }, answers.PoolIO, ""},
		"Versions":   {func(ctx context.Context, c ceph.Client) (any, error) { return c.Versions(ctx, someone) }, &answers.Versions, ""},
		"ConfigDump": {func(ctx context.Context, c ceph.Client) (any, error) { return c.ConfigDump(ctx, someone) }, answers.ConfigDump, ""},
		"ConfigShow": {func(ctx context.Context, c ceph.Client) (any, error) {
			return c.ConfigShow(ctx, someone, 2, "osd_memory_target")
		}, "4096", "2 osd_memory_target"},
		"DropOSDCaches": {func(ctx context.Context, c ceph.Client) (any, error) { return nil, c.DropOSDCaches(ctx, someone) }, nil, ""},
		"GetKey": {func(ctx context.Context, c ceph.Client) (any, error) {
			value, found, err := c.GetKey(ctx, someone, "cephtune/a")
			return fmt.Sprint(value, " ", found), err
		}, "x true", "cephtune/a"},
		"SetKey": {func(ctx context.Context, c ceph.Client) (any, error) {
			return nil, c.SetKey(ctx, someone, "cephtune/b", "<\x00\n>")
		}, nil, "cephtune/b <\x00\n>"},
		"RemoveKey": {func(ctx context.Context, c ceph.Client) (any, error) {
			return nil, c.RemoveKey(ctx, someone, "cephtune/b")
		}, nil, "cephtune/b"},
		"Images": {func(ctx context.Context, c ceph.Client) (any, error) { return c.Images(ctx, someone, "p", "cephtune") }, []string{"cephtune-1"}, "p cephtune"},
		"RemoveImage": {func(ctx context.Context, c ceph.Client) (any, error) {
			return nil, c.RemoveImage(ctx, someone, "p", "cephtune-1")
		}, nil, "p cephtune-1"},
		"Objects": {func(ctx context.Context, c ceph.Client) (any, error) {
			return c.Objects(ctx, someone, "p", "cephtune-ns", "o", 2)
		}, []string{"o1", "o2"}, "p cephtune-ns o 2"},
		"RemoveObjects": {func(ctx context.Context, c ceph.Client) (any, error) {
			return nil, c.RemoveObjects(ctx, someone, "p", "cephtune-ns", []string{"o1"})
		}, nil, "p cephtune-ns [o1]"},
	}
	for verb, test := range tests {
		t.Run(verb, func(t *testing.T) {
			fake := &cephtest.Fake{Answers: everything()}
			client, log := sidecar(t, fake)
			got, err := test.do(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			want := []cephtest.Call{{Verb: verb, At: someone, Args: test.args}}
			if diff := cmp.Diff(want, fake.Calls("")); diff != "" {
				t.Errorf("calls, -want +got:\n%s", diff)
			}
			if strings.Contains(log.String(), someone.Key) {
				t.Errorf("the key is in the log: %s", log)
			}
		})
	}
}

func TestErrorsCrossTheSocket(t *testing.T) {
	tests := map[string]struct {
		err  error
		want error
		text string
	}{
		"what Ceph said": {&ceph.Error{Verb: "status", Errno: 13, Message: "Error EACCES: access denied"}, fs.ErrPermission, "ceph status: Error EACCES: access denied"},
		"a key that was replaced": {
			&ceph.Error{Verb: "status", Errno: 13, Message: "[errno 13] RADOS permission denied (error connecting to the cluster)"}, fs.ErrPermission,
			"ceph status: [errno 13] RADOS permission denied (error connecting to the cluster)",
		},
		"Ceph timed out": {&ceph.Error{Verb: "status", Errno: 110, Message: "timed out"}, context.DeadlineExceeded, "ceph status: timed out"},
		"a busy image":   {&ceph.Error{Verb: "rbd rm", Errno: 16, Message: "watchers"}, syscall.EBUSY, "rbd rm: watchers"},
		"a deadline":     {fmt.Errorf("ceph status did not end in time: %w", context.DeadlineExceeded), context.DeadlineExceeded, "ceph status did not end in time: context deadline exceeded"},
		"an unreadable key": {
			&ceph.UnreadableKeyError{User: "u", Version: "18.2.7", Image: "ceph:20"}, nil,
			"the tools image has Ceph 18.2.7, which cannot read the newer type of key of client.u; use a tools image built from ceph:20, in the manager's Deployment and in the operator config",
		},
		"something else":  {errors.New("no such program"), nil, "no such program"},
		"without a word ": {&ceph.Error{Verb: "config show", Errno: 2, Message: "Error ENOENT:"}, fs.ErrNotExist, "ceph config show: refused without a message (errno 2)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, _ := sidecar(t, &cephtest.Fake{Answers: cephtest.Answers{Errors: map[string]error{"Status": test.err}}})
			var refused []ceph.Connection
			client.OnRefusal(func(at ceph.Connection) { refused = append(refused, at) })
			_, err := client.Status(t.Context(), someone)
			if err == nil || err.Error() != test.text {
				t.Errorf("error is %v, want %q", err, test.text)
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v is not %v", err, test.want)
			}
			var wantRefused []ceph.Connection
			if errors.Is(test.want, fs.ErrPermission) {
				wantRefused = []ceph.Connection{someone}
			}
			if diff := cmp.Diff(wantRefused, refused); diff != "" {
				t.Errorf("told of refusals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorNamesMissingSidecar(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none")
	_, err := ceph.NewSidecar(socket).Status(t.Context(), someone)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "the ceph sidecar does not answer on "+socket) {
		t.Errorf("error is %v", err)
	}
}

// blocking blocks Status until the verb's context ends or let is closed.
type blocking struct {
	cephtest.Fake

	entered chan struct{}
	let     chan struct{}
}

func (b *blocking) Status(ctx context.Context, _ ceph.Connection) (*ceph.Status, error) {
	b.entered <- struct{}{}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("ceph status did not end in time: %w", ctx.Err())
	case <-b.let:
		return &ceph.Status{FSID: "f"}, nil
	}
}

func TestTheDeadlineOfTheContextIsThatOfTheVerb(t *testing.T) {
	client, _ := sidecar(t, &blocking{entered: make(chan struct{}, 1)})
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
		"well":                          {"/v1/status", `{` + connection + `,"timeoutMilliseconds":1000}`, http.StatusOK},
		"an unknown verb":               {"/v1/rm-rf", `{}`, http.StatusNotFound},
		"an unknown field":              {"/v1/status", `{` + connection + `,"timeoutMilliseconds":1000,"x":1}`, http.StatusBadRequest},
		"an unknown argument":           {"/v1/getKey", `{` + connection + `,"timeoutMilliseconds":1000,"args":{"keys":"a"}}`, http.StatusBadRequest},
		"an argument of a verb without": {"/v1/status", `{` + connection + `,"timeoutMilliseconds":1000,"args":{"key":"a"}}`, http.StatusBadRequest},
		"two documents":                 {"/v1/status", `{` + connection + `,"timeoutMilliseconds":1000}{}`, http.StatusBadRequest},
		"no timeout":                    {"/v1/status", `{` + connection + `}`, http.StatusBadRequest},
		"more than can be allowed":      {"/v1/setKey", `{"args":{"value":"` + strings.Repeat("x", 5<<20) + `"}}`, http.StatusBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("POST /v1/{verb}", ceph.NewHandler(&cephtest.Fake{}, slog.New(slog.DiscardHandler)))
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, test.path, strings.NewReader(test.body)))
			if answer.Code != test.want {
				t.Errorf("answered %d %s, want %d", answer.Code, answer.Body, test.want)
			}
		})
	}
}

func TestServeReplacesAnOldSocketAndEnds(t *testing.T) {
	folder := t.TempDir()
	socket := filepath.Join(folder, "ceph.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	cli, err := ceph.NewCLI(folder)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	if err := ceph.Serve(t.Context(), socket, cli, quiet); err == nil || !strings.Contains(err.Error(), "another process answers") {
		t.Errorf("beside another: %v", err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil { // as if it had been killed
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ceph.Serve(ctx, socket, cli, quiet) }()
	client := ceph.NewSidecar(socket)
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := client.Images(t.Context(), someone, "p", "")
		if _, answered := errors.AsType[*ceph.InvalidError](err); answered {
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
