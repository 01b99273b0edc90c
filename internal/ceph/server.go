package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	// shutdownTime is how long commands may still run after Serve was asked to stop.
	shutdownTime = 5 * time.Second
	// headerTime and idleTime end connections without requests, so that the connections of a dead manager do
	// not pile up.
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
)

// Handler executes the commands in requests.
type Handler struct {
	executor Executor
	log      *slog.Logger
	rows     map[string]row
}

// NewHandler returns a handler of POST /v2/{prefix}: the path has the prefix of the command, and the body the rest.
func NewHandler(executor Executor, log *slog.Logger) *Handler {
	return &Handler{executor: executor, log: log, rows: rows()}
}

// ServeHTTP implements http.Handler. It answers 200 with the output of the command, 422 with the error of Ceph, 504
// after the deadline, and 500 with any other error. In the other cases it has not changed Ceph: 400 for an invalid
// request, 409 if the fence forbids the change, and 412 if Ceph's commands cannot read the key.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	var body request
	err := decodeStrictly(http.MaxBytesReader(w, r.Body, maxRequest), &body)
	body.Command.Prefix = r.PathValue("prefix")
	var out []byte
	if err == nil {
		out, err = h.execute(r.Context(), body)
	} else {
		err = &InvalidError{"the request cannot be read: " + err.Error()}
	}
	log := h.log.With("command", body.Command.Prefix, "permission", h.rows[body.Command.Prefix].permission, "connection", body.Connection, "seconds", time.Since(began).Seconds())
	if err != nil {
		log.Info("failed", "error", err)
		h.refuse(w, failedBy(err))
		return
	}
	log.Debug("done")
	if _, err := w.Write(out); err != nil {
		h.log.Info("the answer did not arrive", "error", err)
	}
}

func (h *Handler) execute(ctx context.Context, r request) ([]byte, error) {
	var fence *Fence
	if r.Fence != nil {
		fence = new(r.Fence.fence(time.Now()))
	}
	timeout, err := r.timeout()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return h.executor.Execute(ctx, r.Connection, r.Command, fence)
}

func statusOf(f failed) int {
	switch {
	case f.Ceph != nil:
		return http.StatusUnprocessableEntity
	case f.Timeout:
		return http.StatusGatewayTimeout
	case f.Invalid:
		return http.StatusBadRequest
	case f.Fenced:
		return http.StatusConflict
	case f.UnreadableKey != nil:
		return http.StatusPreconditionFailed
	default:
		return http.StatusInternalServerError
	}
}

func (h *Handler) refuse(w http.ResponseWriter, failure failed) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf(failure))
	if err := json.NewEncoder(w).Encode(failure); err != nil {
		h.log.Info("the answer did not arrive", "error", err)
	}
}

// Serve answers requests on a Unix socket that only its owner may use. When the context ends, Serve waits at
// most shutdownTime for commands to end, and then kills them.
func Serve(ctx context.Context, socket string, cli *CLI, log *slog.Logger) error {
	listener, err := listen(ctx, socket)
	if err != nil {
		return err
	}
	defer cli.Close()
	mux := http.NewServeMux()
	mux.Handle("POST "+pathPrefix+"{prefix}", NewHandler(cli, log))
	cli.answerProbes(mux)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}

	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	log.Info("listening", "socket", socket)
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case err := <-stopped:
			return fmt.Errorf("serve on %s: %w", socket, err)
		case <-tick.C:
			if err := cli.RemoveIdle(); err != nil {
				log.Warn("unused keys could not be removed", "error", err)
			}
		case <-ctx.Done():
			return shutdown(ctx, server)
		}
	}
}

func shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // Close ends the contexts of requests, and so kills their commands.
	}
	return err
}

// listen creates the socket. It replaces an existing socket only if no process answers on it.
func listen(ctx context.Context, socket string) (net.Listener, error) {
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("check for an old socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s exists and is not a socket", socket)
	default:
		if other, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket); err == nil {
			return nil, errors.Join(fmt.Errorf("another process answers on %s", socket), other.Close())
		}
		if err := os.Remove(socket); err != nil {
			return nil, fmt.Errorf("remove the old socket: %w", err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("restrict access to the socket: %w", err), listener.Close())
	}
	return listener, nil
}
