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

// gatherFor is how long a question waits for others to be asked together with.
const gatherFor = 5 * time.Millisecond

// serverOf says who answers a question that can be asked together with others; false, if it
// cannot. Those of monitors do not wait for a manager daemon that is away.
func serverOf(verb string) (string, bool) {
	switch verb {
	case "status", "osd dump", "osd tree", "df detail", "versions", "config dump":
		return "mon", true
	case "osd df", "osd perf", "osd status", "osd pool stats", "pg dump pgs_brief", "pg dump pgs_brief osds":
		return "mgr", true
	}
	return "", false
}

// gathering has questions that are asked at the same time answered by one process. To start
// `ceph` takes a core a third of a second, which is more than most answers do, and which is
// taken from what is measured. Without a command, `ceph` reads one from each line of its
// standard input, and prints each answer as a JSON document; what a command complains of it
// only prints, so that answers count only if there is one for each question and nothing
// else. If not, everybody asks alone.
type gathering struct {
	mu   sync.Mutex
	open map[gatherKey]*round // not begun yet
}

type gatherKey struct {
	at     Connection
	server string
}

// round is what is asked together.
type round struct {
	verbs   []string
	askers  int
	until   time.Time // the latest of the askers' deadlines
	answers map[string][]byte
	done    chan struct{}
	stop    context.CancelFunc
}

// together returns the answer to a question that was asked with others, and false if it
// has to be asked alone.
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
		return nil, false // Asked alone there is no time left either, and that says so.
	}
}

// join adds a question to the round that is open, or opens one.
func (g *gathering) join(ctx context.Context, key gatherKey, verb string, ask func(context.Context, Connection, []string) map[string][]byte) *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.open[key]
	if r == nil {
		r = &round{done: make(chan struct{})}
		g.open[key] = r
		time.AfterFunc(gatherFor, func() { g.begin(key, r, ask) }) //nolint:contextcheck // It is for others too, who may wait for longer.
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

// begin closes a round to others, and asks.
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

// leave ends a round without waiters.
func (g *gathering) leave(r *round) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.askers--; r.askers == 0 && r.stop != nil {
		r.stop()
	}
}

// askRound asks several questions of one process, and returns nothing if it is not sure
// which answer belongs to which.
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

// documentsIn returns the JSON documents that follow one another.
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
