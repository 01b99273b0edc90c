package ceph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"
)

// dialTime is the timeout of connecting to the Unix socket.
const dialTime = 2 * time.Second

// Sidecar is an Executor, and so a Client and a Tuner, that sends commands to the server on a Unix socket. It is safe
// for concurrent use.
type Sidecar struct {
	verbs

	socket  string
	http    *http.Client
	refused func(Connection)
}

var (
	_ Client = (*Sidecar)(nil)
	_ Tuner  = (*Sidecar)(nil)
)

// NewSidecar returns a Sidecar for the socket with this path. The socket need not exist yet.
func NewSidecar(socket string) *Sidecar {
	s := &Sidecar{socket: socket, refused: func(Connection) {}, http: &http.Client{Transport: socketTransport(socket)}}
	s.verbs = verbs{s}
	return s
}

func socketTransport(socket string) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime}
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		IdleConnTimeout: time.Minute,
	}
}

// WithTransport wraps the HTTP transport to the socket, for example to measure requests. Call it before the
// first request.
func (s *Sidecar) WithTransport(wrap func(http.RoundTripper) http.RoundTripper) {
	s.http.Transport = wrap(s.http.Transport)
}

// OnRefusal sets a function that Sidecar calls after a permission error, with the connection of the request.
// The key of that connection may have been replaced. Call OnRefusal before the first request.
func (s *Sidecar) OnRefusal(refused func(Connection)) { s.refused = refused }

// Execute implements Executor. The call ends at the deadline of the fence at the latest.
func (s *Sidecar) Execute(ctx context.Context, conn Connection, command Command, fence *Fence) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	message := request{Connection: conn, Command: command}
	if fence != nil {
		if err := fence.valid(); err != nil {
			return nil, err
		}
		if err := fence.inTime(time.Now()); err != nil {
			return nil, err
		}
		wire := fence.wire()
		message.Fence = &wire
		var end context.CancelFunc
		ctx, end = changing(ctx, *fence)
		defer end()
	}
	return s.exchange(ctx, message)
}

// exchange sends a request, and returns the output of the command.
func (s *Sidecar) exchange(ctx context.Context, message request) ([]byte, error) {
	body, err := encode(ctx, message)
	if err != nil {
		return nil, err
	}
	prefix := message.Command.Prefix
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ceph"+pathPrefix+url.PathEscape(prefix), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.http.Do(r)
	if err != nil {
		return nil, s.unanswered(ctx, prefix, err)
	}
	defer answer.Body.Close() //nolint:errcheck // The body was only read, so a failed close loses no data.
	out, err := readAnswer(answer)
	if err != nil {
		err = s.unanswered(ctx, prefix, err)
		if errors.Is(err, fs.ErrPermission) {
			s.refused(message.Connection)
		}
		return nil, err
	}
	return out, nil
}

// bounded adds DefaultTimeout to a context without a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, set := ctx.Deadline(); set {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// encode makes the body of a request. It gives the sidecar less time than the caller has. So the error of
// the sidecar arrives before the caller's deadline, and says what Ceph waited for.
func encode(ctx context.Context, message request) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	left -= min(left/10, 500*time.Millisecond)
	message.TimeoutMilliseconds = max(1, left.Milliseconds())
	return json.Marshal(message)
}

// readAnswer returns the output of the command, or the error that the answer contains.
func readAnswer(answer *http.Response) ([]byte, error) {
	if answer.StatusCode == http.StatusOK {
		out, err := io.ReadAll(io.LimitReader(answer.Body, maxOutput+1))
		if err == nil && len(out) > maxOutput {
			err = errors.New("its output is too long")
		}
		return out, err
	}
	var failure failed
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxRequest)).Decode(&failure); err != nil {
		return nil, fmt.Errorf("it answered %s", answer.Status)
	}
	return nil, &answered{failure.err()}
}

// answered is an error that the sidecar sent.
type answered struct{ error }

// unanswered returns the error that the sidecar sent. If the sidecar sent no error, unanswered says why the
// request failed.
func (s *Sidecar) unanswered(ctx context.Context, prefix string, err error) error {
	if sent, found := errors.AsType[*answered](err); found {
		return sent.error
	}
	dial, failedAtNetwork := errors.AsType[*net.OpError](err)
	switch {
	case failedAtNetwork && dial.Op == "dial":
		return &unsentError{s.socket, dial.Err}
	case ctx.Err() != nil:
		return fmt.Errorf("the ceph sidecar did not answer to %s in time: %w", prefix, ctx.Err())
	default:
		return fmt.Errorf("no valid answer of the ceph sidecar on %s to %s: %w", s.socket, prefix, err)
	}
}
