package ceph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// gatherFor is how long a question waits for others to share a process with.
const gatherFor = 5 * time.Millisecond

// serverOf returns which daemon answers a question; false if the question needs a process of its
// own. Questions to monitors never share a process with questions to the manager daemon: while
// that daemon is down, they would have to wait for it.
func serverOf(verb string) (string, bool) {
	switch verb {
	case "status", "osd dump", "osd tree", "df detail", "versions", "config dump":
		return "mon", true
	case "osd df", "osd perf", "osd status", "osd pool stats", "pg dump pgs_brief", "pg dump pgs_brief osds":
		return "mgr", true
	}
	return "", false
}

// gathering answers questions that arrive at the same time with one process. Starting `ceph`
// takes a third of a second of a core: more than most answers take, and time that the measured
// load may need. Without a command, `ceph` reads one from each line of its standard input, and
// prints each answer as a JSON document. It only prints the error of a command, so the answers
// count only if the output has one for each question and nothing else. Otherwise, each caller
// asks again in a process of its own.
type gathering struct {
	mu   sync.Mutex
	open map[gatherKey]*round // rounds that have not begun
}

type gatherKey struct {
	at     Connection
	server string
}

// round is a group of questions for one process.
type round struct {
	verbs   []string
	askers  int
	until   time.Time // the latest deadline of its callers
	answers map[string][]byte
	done    chan struct{}
	stop    context.CancelFunc
}

// together asks a question together with others and returns the answer, or false if the caller
// has to ask in a process of its own.
func (c *CLI) together(ctx context.Context, at Connection, verb string) ([]byte, bool) {
	server, ok := serverOf(verb)
	if !ok {
		return nil, false
	}
	r := c.gathering.join(ctx, gatherKey{at, server}, verb, c.askRound)
	defer c.gathering.leave(r)
	select {
	case <-r.done:
		answer, ok := r.answers[verb]
		return answer, ok
	case <-ctx.Done():
		return nil, false // The deadline has passed. The caller's own process fails with an error that says so.
	}
}

// join adds a question to the open round, or opens a round.
func (g *gathering) join(ctx context.Context, key gatherKey, verb string, ask func(context.Context, Connection, []string) map[string][]byte) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.open[key]
	if r == nil {
		r = &round{done: make(chan struct{})}
		g.open[key] = r
		time.AfterFunc(gatherFor, func() { g.begin(key, r, ask) }) //nolint:contextcheck // Other callers share the request, and may wait longer.
	}
	r.askers++
	deadline, bounded := ctx.Deadline()
	if !bounded {
		deadline = time.Now().Add(DefaultTimeout)
	}
	if deadline.After(r.until) {
		r.until = deadline
	}
	if !slices.Contains(r.verbs, verb) {
		r.verbs = append(r.verbs, verb)
	}
	return r
}

// begin closes a round and asks its questions.
func (g *gathering) begin(key gatherKey, r *round, ask func(context.Context, Connection, []string) map[string][]byte) {
	defer close(r.done)
	g.mu.Lock()
	delete(g.open, key)
	ctx, stop := context.WithDeadline(context.Background(), r.until)
	r.stop = stop
	abandoned := r.askers == 0
	g.mu.Unlock()
	defer stop()
	if len(r.verbs) > 1 && !abandoned {
		r.answers = ask(ctx, key.at, r.verbs)
	}
}

// leave ends a round when its last waiting caller has left.
func (g *gathering) leave(r *round) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.askers--; r.askers == 0 && r.stop != nil {
		r.stop()
	}
}

// askRound asks several questions in one process. It returns nothing if it cannot tell which
// answer belongs to which question.
func (c *CLI) askRound(ctx context.Context, at Connection, verbs []string) map[string][]byte {
	var complaints bytes.Buffer
	out, err := c.run(ctx, at, command{
		program: cephProgram, verb: strings.Join(verbs, ", "), args: []string{"--format=json"},
		stdin: strings.Join(verbs, "\n") + "\n", stderr: &complaints,
	})
	if err != nil || strings.Contains(complaints.String(), "Error") {
		return nil
	}
	documents, err := documentsIn(out)
	if err != nil || len(documents) != len(verbs) {
		return nil
	}
	answers := make(map[string][]byte, len(verbs))
	for i, verb := range verbs {
		answers[verb] = documents[i]
	}
	return answers
}

// documentsIn splits output into its consecutive JSON documents.
func documentsIn(out []byte) ([]json.RawMessage, error) {
	var all []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var document json.RawMessage
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, document)
	}
}
