package ceph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Question is what a probe asks the sidecar. No probe talks to a Ceph cluster: the sidecar serves several, and one
// that is dead must neither restart the sidecar nor make the manager of the others unready.
type Question string

const (
	// Live asks whether the sidecar answers on its socket at all.
	Live Question = "live"
	// Ready asks whether the sidecar can also start Ceph's programs.
	Ready Question = "ready"
)

// startTime is how long each of Ceph's programs may take to print its version.
const startTime = 10 * time.Second

// Probe asks the sidecar on a socket. It has a connection of its own, which metrics of requests do not count.
func Probe(ctx context.Context, socket string, question Question) error {
	transport := socketTransport(socket)
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ceph/"+string(question), nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return fmt.Errorf("the ceph sidecar does not answer on %s: %w", socket, err)
	}
	defer answer.Body.Close() //nolint:errcheck // The body was only read, so a failed close loses no data.
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxMessage))
	if err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the ceph sidecar is not %s: %s: %s", question, answer.Status, strings.TrimSpace(string(text))), err)
	}
	return nil
}

// answerProbes adds the answers to probes.
func (c *CLI) answerProbes(mux *http.ServeMux) {
	mux.HandleFunc("GET /"+string(Live), func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /"+string(Ready), func(w http.ResponseWriter, r *http.Request) {
		if err := c.ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}

// ready returns an error if one of Ceph's programs cannot print its version, for example in a wrong tools image. A
// program that has started once will start again, so ready then starts none: the room for processes belongs to
// commands, and a busy node must not make the sidecar unready.
func (c *CLI) ready(ctx context.Context) error {
	if c.started.Load() {
		return nil
	}
	end, err := c.processes.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, p := range []program{cephProgram, rbdProgram, radosProgram} {
		if err := c.starts(ctx, p); err != nil {
			return fmt.Errorf("%s cannot start: %w: check the tools image", p, err)
		}
	}
	c.started.Store(true)
	return nil
}

func (c *CLI) starts(ctx context.Context, p program) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var said bytes.Buffer
	cmd := c.process(ctx, p, []string{"--version"})
	cmd.Stdout = io.Discard
	cmd.Stderr = &limited{writer: &said, left: maxMessage}
	if err := cmd.Run(); err != nil {
		return errors.Join(err, ctx.Err(), errors.New(strings.TrimSpace(said.String())))
	}
	return nil
}
