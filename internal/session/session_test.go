package session

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/switchback"
)

// cluster is one whose load has a rate for each setting.
type cluster struct {
	setting  int
	switches int
	proves   bool
	fails    map[int]error // by the number of the switch
}

func (c *cluster) Switch(_ context.Context, from, to int) (told, acknowledged time.Time, err error) {
	if from != c.setting {
		return told, acknowledged, errors.New("the window before had another setting")
	}
	time.Sleep(200 * time.Millisecond) // the look before
	if err := c.fails[c.switches]; err != nil {
		return told, acknowledged, err
	}
	c.switches++
	told = time.Now()
	time.Sleep(100 * time.Millisecond)
	c.setting = to
	return told, time.Now(), nil
}

func (c *cluster) Proven(_ context.Context, setting int) (bool, error) {
	time.Sleep(300 * time.Millisecond)
	return c.proves && setting == c.setting, nil
}

// load is a client that does I/O in each second of a session.
func load(so Record, ratio float64) switchback.Client {
	var client switchback.Client
	rng, setting, at := rand.New(rand.NewPCG(1, 2)), switchback.Baseline, 0
	for from := time.Duration(0); from+time.Second <= so.End; from += time.Second {
		for at < len(so.Switches) && so.Switches[at].Told <= from {
			setting, at = so.Switches[at].Setting, at+1
		}
		rate := 1000 * (1 + 0.05*rng.NormFloat64())
		if setting == 1 {
			rate *= ratio
		}
		client.Rows = append(client.Rows, switchback.Row{From: from, To: from + time.Second, Amount: rate})
	}
	return client
}

// play is a session, with a look after each quad.
func play(ctx context.Context, t *testing.T, c *cluster, ratio float64) (Evidence, switchback.Finding) {
	t.Helper()
	p, err := Quick(7)
	if err != nil {
		t.Fatal(err)
	}
	e := Evidence{Plan: p}
	var found switchback.Finding
	e.Record = Run(ctx, p, c, func(_ context.Context, so Record) (bool, error) {
		e.Record, e.Clients = so, []switchback.Client{load(so, ratio)}
		if at, err := e.AtLook(); err != nil || !at {
			return false, err
		}
		var err error
		found, _, err = e.Quick(criteria(), false)
		return found.Verdict != stats.Inconclusive, err
	})
	return e, found
}

func criteria() stats.Criteria {
	return stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}
}

func TestSessionComesToItsVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		ratio   float64
		want    stats.Verdict
		minutes float64
	}{
		"a third of the rate": {0.33, stats.Inferior, 4},
		"half as much again":  {1.5, stats.Superior, 4},
		"the same":            {1, stats.Inconclusive, 30}, // Equivalent needs dwells
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, found := play(t.Context(), t, &cluster{proves: true}, c.ratio)
				if found.Verdict != c.want || found.Claim != switchback.ThisHour || e.Record.Void != "" || e.Record.End.Minutes() > c.minutes {
					t.Errorf("%+v after %v, void %q", found, e.Record.End, e.Record.Void)
				}
				again := offline(t, e)
				if diff := cmp.Diff(found, again, cmpopts.IgnoreUnexported(stats.Assessment{})); diff != "" {
					t.Errorf("from the archive, -then +again:\n%s", diff)
				}
			})
		})
	}
}

// offline is the verdict from what an archive has.
func offline(t *testing.T, e Evidence) switchback.Finding {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var read Evidence
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	found, has, err := read.Quick(criteria(), false)
	if err != nil || !has {
		t.Fatalf("a verdict: %t, %v", has, err)
	}
	return found
}

func TestSessionIsVoid(t *testing.T) {
	lost := errors.New("the answer was lost")
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{proves: true, fails: map[int]error{5: lost}}
		e, found := play(t.Context(), t, c, 1.5)
		if e.Record.Void == "" || c.switches != 5 || found.Verdict != "" {
			t.Errorf("%d switches, %+v, void %q", c.switches, found, e.Record.Void)
		}
		if _, _, err := e.Quick(criteria(), false); err == nil {
			t.Error("a void session has a verdict")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		c := &cluster{proves: true}
		if e, _ := play(ctx, t, c, 1.5); e.Record.Void == "" || e.Record.End > time.Minute+time.Second {
			t.Errorf("interrupted after a minute: %v, void %q", e.Record.End, e.Record.Void)
		}
	})
}

func TestSessionWithoutProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, found := play(t.Context(), t, &cluster{}, 1.5)
		if found.Verdict != "" || e.Record.Void != "" {
			t.Errorf("nothing was proven: %+v, void %q", found, e.Record.Void)
		}
	})
}

func TestProofHoldsForAGroup(t *testing.T) {
	switches := []switchback.Switch{{Setting: 0}, {Setting: 1}, {Setting: 1, Proven: true}, {Setting: 0}}
	proveGroup(switches)
	want := []switchback.Switch{{Setting: 0}, {Setting: 1, Proven: true}, {Setting: 1, Proven: true}, {Setting: 0}}
	if diff := cmp.Diff(want, switches); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
