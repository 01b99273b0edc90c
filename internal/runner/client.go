package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// The limits of the manager's requests.
const (
	// requestTimeout limits a request and its answer, even if the caller's context allows more time. A
	// snapshot may take the requested wait in addition.
	requestTimeout = 10 * time.Second
	// maxAnswerBytes exceeds the size of any snapshot. An execution has fewer tasks than maxTasks. In each of its
	// runs (20 at most), at most one task fails, with a status of up to 4 KiB. Any other status has less than
	// 256 bytes.
	maxAnswerBytes  = maxTasks * 256
	maxRefusalBytes = 8 << 10
	maxHeaderBytes  = 16 << 10
)

// answerLimits limits an answer of a number of bytes.
func (c *client) answerLimits(most int64) limits.Limits {
	return limits.Limits{TextBytes: most, ValueBytes: maxStatusBytes, StringBytes: maxStatusBytes, MemoryBytes: 2 * most, Depth: 8, Account: c.memory}
}

// client is a Client over HTTPS.
type client struct {
	http   *http.Client
	server string
	token  string
	memory *limits.Account

	mu      sync.Mutex
	started map[string]time.Time // when the manager first sent the start signal, by task
}

var _ Client = (*client)(nil)

// Dial returns an API client for the runner at an address (host:port). The parameter key is the key of the
// execution. The API client connects with its first request. Later requests reuse connections that are still
// open, so that a start signal seldom needs a handshake. Keep the API client for as long as the runner is
// needed. Answers are charged to the parameter memory while they are read; it may be nil. A caller that keeps an answer
// holds memory of its own for it.
//
// If the runner refuses a request, the error wraps an [*Error], see [HasCode]. After any other error, or with
// the code Internal, the runner may or may not have executed the request.
func Dial(address string, key []byte, memory *limits.Account) (Client, error) {
	secrets, err := deriveSecrets(key)
	if err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("the address of a runner: %w", err)
	}
	dialer := &net.Dialer{Timeout: requestTimeout / 2, KeepAlive: 15 * time.Second}
	return &client{
		memory: memory, started: map[string]time.Time{},
		server: "https://" + address,
		token:  secrets.token,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:         dialer.DialContext, // No proxy, because the address is a pod's.
				TLSClientConfig:     secrets.clientTLS(),
				TLSHandshakeTimeout: requestTimeout / 2,
				// One connection waits for changes, one sends commands, and one is spare.
				MaxIdleConnsPerHost: 3,
				IdleConnTimeout:     4 * time.Minute, // The runner closes idle connections after 5 min.
				DisableCompression:  true,            // Reports are compressed already.

				MaxResponseHeaderBytes: maxHeaderBytes,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("a runner does not redirect") },
		},
	}, nil
}

// Snapshot implements [Client]. It waits for 30 s at most.
func (c *client) Snapshot(ctx context.Context, after int64, wait time.Duration) (Snapshot, error) {
	wait = min(max(wait, 0), maxWait)
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "wait": {wait.String()}}
	var snapshot Snapshot
	err := c.exchange(ctx, wait, http.MethodGet, "/v1/snapshot?"+query.Encode(), nil, &snapshot, maxAnswerBytes)
	if err == nil {
		err = validateTasks(snapshot.Tasks)
	}
	if err != nil {
		return Snapshot{}, err
	}
	for i := range snapshot.Tasks {
		cleanFailure(snapshot.Tasks[i].Failure)
	}
	return snapshot.byOurClock(time.Now()), nil
}

// validateTasks returns an error for tasks that no runner has.
func validateTasks(tasks []task.Status) error {
	if len(tasks) > maxTasks {
		return violation("it has %d tasks, more than %d", len(tasks), maxTasks)
	}
	for i := range tasks {
		if !isID(tasks[i].ID) {
			return violation("it has a task with the invalid ID %.100q", tasks[i].ID)
		}
	}
	return nil
}

func (c *client) Put(ctx context.Context, t task.Task) (task.Status, error) {
	var status task.Status
	err := c.exchange(ctx, 0, http.MethodPut, taskPath(t.ID, ""), t, &status, maxRefusalBytes)
	cleanFailure(status.Failure)
	return status, err
}

func (c *client) Start(ctx context.Context, id string) (Started, error) {
	sent := &atomic.Pointer[time.Time]{}
	now := time.Now()
	sent.Store(&now)
	c.noteStart(id, now)
	// The engine cannot start before the connection exists, and connecting may take a while. So the earliest
	// start is the time of the connection, not of the call.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		now := time.Now()
		sent.Store(&now)
	}})
	var answer started
	err := c.exchange(ctx, 0, http.MethodPost, taskPath(id, "/start"), nil, &answer, maxRefusalBytes)
	received := time.Now()
	if err != nil {
		return Started{}, err
	}
	return bound(*sent.Load(), received, time.Duration(answer.RunningNanoseconds)), nil
}

// noteStart records when the start signal was first sent. It may have arrived even if its answer is an error.
func (c *client) noteStart(id string, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.started[id]; !known {
		c.started[id] = sent
	}
}

// startOf returns when this process sent the start signal of a task, or false.
func (c *client) startOf(id string) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, known := c.started[id]
	return sent, known
}

// bound computes the interval in which an engine began. NotBefore is the time of the request. NotAfter is the
// time of the answer minus the engine's running time, or NotBefore if that is later.
func bound(sent, received time.Time, running time.Duration) Started {
	began := received.Add(-max(running, 0))
	if began.Before(sent) {
		began = sent
	}
	return Started{NotBefore: sent, NotAfter: began}
}

func (c *client) Cancel(ctx context.Context, id string) error {
	return c.exchange(ctx, 0, http.MethodPost, taskPath(id, "/cancel"), nil, nil, 0)
}

func (c *client) Report(ctx context.Context, id string) (*task.Report, error) {
	var report *task.Report
	err := c.request(ctx, 0, http.MethodGet, taskPath(id, "/report"), nil, func(body io.Reader) (err error) {
		report, err = readReport(body, c.reportMemory(id), c.memory)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case report.ID != id:
		return nil, fmt.Errorf("asked for the report of task %s, got that of %s", id, report.ID)
	}
	return report, nil
}

// reportMemory returns the maximum memory of the report on a task. The length of its time series depends on how long
// the task has been running. A manager that was restarted does not know that.
func (c *client) reportMemory(id string) int64 {
	signalled, known := c.startOf(id)
	if !known {
		return maxReportMemory
	}
	return min(maxReportMemory, reportBytes+reportBytesEachSecond*int64(time.Since(signalled)/time.Second))
}

func (c *client) Finish(ctx context.Context) error {
	defer c.http.CloseIdleConnections()
	return c.exchange(ctx, 0, http.MethodPost, "/v1/finish", nil, nil, 0)
}

func taskPath(id, verb string) string { return "/v1/tasks/" + url.PathEscape(id) + verb }

// exchange sends the parameter value as JSON, and decodes the answer into the variable to which the parameter
// into points. If value is nil, the request has no body. If into is nil, exchange discards the answer. Otherwise the
// answer has at most the bytes that the parameter limit says.
func (c *client) exchange(ctx context.Context, wait time.Duration, method, path string, value, target any, limit int64) error {
	var body []byte
	if value != nil {
		var err error
		if body, err = json.Marshal(value); err != nil {
			return fmt.Errorf("encode the request to %s: %w", path, err)
		}
	}
	return c.request(ctx, wait, method, path, body, func(answer io.Reader) error {
		if target == nil { // The connection can be reused only if the body was read.
			_, err := readBounded(answer, maxRefusalBytes)
			return err
		}
		return limits.Decode(answer, target, c.answerLimits(limit)) // Unknown fields are allowed, because a newer runner may send more.
	})
}

// request sends a request. If the status of the answer is 200 OK, it calls the function read with the body.
// Otherwise it returns an error.
func (c *client) request(ctx context.Context, wait time.Duration, method, path string, body []byte, read func(io.Reader) error) (err error) {
	ctx, stop := context.WithTimeout(ctx, wait+requestTimeout)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask the runner: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return c.refusal(response, path)
	}
	if err := read(response.Body); err != nil {
		return fmt.Errorf("read the answer of %s to %s: %w", c.server, path, err)
	}
	return nil
}

// refusal returns the runner's reason for refusing a request. If the answer is not from a runner, it returns
// an error with the beginning of the answer. If the answer is too long or cannot be read, the error says so.
func (c *client) refusal(response *http.Response, path string) error {
	data, err := readBounded(response.Body, maxRefusalBytes)
	if err != nil {
		return fmt.Errorf("read the answer of %s to %s: %w", c.server, path, err)
	}
	refusal := &Error{}
	if err := json.Unmarshal(data, refusal); err != nil || refusal.Code == "" {
		return fmt.Errorf("%s answered %s to %s with %s", c.server, ellipsis.Cut(response.Status, maxMessageBytes), path, ellipsis.Cut(clean(data), maxMessageBytes))
	}
	return refusal
}
