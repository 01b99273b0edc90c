package archive

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
)

// switched returns a session of eight pairs, in which the candidate has this ratio to the baseline.
func switched(t *testing.T, clients int, ratio float64) (*SwitchedSession, session.Question) {
	t.Helper()
	q := session.Question{
		Question: switchback.Question{
			Criteria: stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}, Candidates: 1, Quick: true, LastLook: switchback.LastLook,
		},
		Objective: session.Figure{Metric: v1alpha1.MetricIOPS},
	}
	plan, err := session.Quick(3, 1, 1, switchback.LastLook, session.DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	record := session.Record{Began: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	for _, block := range plan.Order[:4] {
		for _, setting := range block {
			from := record.End + 300*time.Millisecond
			record.End = from + plan.Window
			record.Switches = append(record.Switches, switchback.Switch{Treatment: setting, Sent: record.End - plan.Window - 300*time.Millisecond, Acknowledged: from, Ended: record.End, Proven: true})
		}
	}
	rate := func(moment time.Duration) float64 {
		for i, s := range record.Switches {
			if moment < s.Ended {
				noise := 1 + 0.02*float64((i*7)%5)
				return noise * []float64{1000, 1000 * ratio}[s.Treatment]
			}
		}
		return 1000
	}
	e := session.Evidence{Plan: plan, Record: record}
	for range clients {
		c := session.Client{Error: time.Millisecond}
		for moment := time.Duration(0); moment < record.End; moment += time.Second {
			n := rate(moment + time.Second)
			c.Seconds = append(c.Seconds, result.Second{
				FromNanoseconds: int64(moment), ToNanoseconds: int64(moment + time.Second),
				Done: result.Done{Operations: n, Bytes: 4096 * n, LatencySeconds: 1},
			})
		}
		e.Clients = append(e.Clients, c)
	}
	counted, ok, err := e.Session(q, q.Objective)
	if err != nil || !ok {
		t.Fatalf("no look: %v", err)
	}
	return &SwitchedSession{Configurations: []string{"baseline", "cap=16"}, Objective: q.Objective, Evidence: e, Counted: &counted}, q
}

func summarized(t *testing.T, s *SwitchedSession, q session.Question) session.Summary {
	t.Helper()
	summary, ok, err := s.Summarize(q)
	if err != nil || !ok {
		t.Fatalf("has %v: %v", ok, err)
	}
	return summary
}

func TestASessionGivesTheSameEntriesFromItsArchive(t *testing.T) {
	s, q := switched(t, 2, 0.6)
	whole, err := MarshalSession(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limit int
		want  []SessionPart
	}{
		"kept whole":      {len(whole), nil},
		"without seconds": {len(whole) - 1, []SessionPart{DropWindowHistograms, DropSeconds}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := marshalSession(s, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			back, err := UnmarshalSession(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, back.Dropped); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(summarized(t, s, q), summarized(t, back, q)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if len(s.Evidence.Clients) != 2 {
				t.Error("the session has been changed")
			}
		})
	}
}

func TestAVoidSessionSaysWhy(t *testing.T) {
	s, q := switched(t, 1, 1)
	s.Evidence.Record.Invalid, s.Counted = "switch 3: the answer is lost", nil
	data, err := MarshalSession(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := UnmarshalSession(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := back.Summarize(q); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "the answer is lost") {
		t.Errorf("got %v", err)
	}
}

func TestSessionsOfOthersArePassedOver(t *testing.T) {
	recorded := &v1alpha1.CephTuningSweep{}
	recorded.Namespace, recorded.Name, recorded.UID, recorded.Status.ObservedRunID = "bench", "mclock", "1-2-3", "first"
	other := recorded.DeepCopy()
	other.UID = "4-5-6"
	earlier := recorded.DeepCopy()
	earlier.Status.ObservedRunID = "earlier"
	s, _ := switched(t, 1, 1)
	var maps []corev1.ConfigMap
	for i, sweep := range []*v1alpha1.CephTuningSweep{other, recorded, earlier} {
		cm, err := SessionMap(sweep, s, []string{"a", "b", "c"}[i], map[string]string{"cephtune.dev/sweep": "x"})
		if err != nil {
			t.Fatal(err)
		}
		maps = append(maps, *cm)
	}
	found, err := SessionsIn(recorded, maps)
	if err != nil || len(found) != 1 || found[0].Sweep.UID != recorded.UID || found[0].RunID != "first" {
		t.Errorf("found %d sessions, %v", len(found), err)
	}
	if len(maps[0].BinaryData[SessionKey]) == 0 || maps[0].Labels[LabelSwitchedSession] != "1" || maps[0].Labels["cephtune.dev/sweep"] != "x" {
		t.Errorf("labels %v", maps[0].Labels)
	}
}

func TestASessionThatCannotBeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*SwitchedSession)
		want   string
	}{
		"without a number":        {func(s *SwitchedSession) { s.Evidence.Plan.Number = 0 }, "number 0"},
		"without names":           {func(s *SwitchedSession) { s.Configurations = nil }, "has 0 configurations"},
		"of more than it says":    {func(s *SwitchedSession) { s.Evidence.Plan.Candidates = 3 }, "of 3 candidates has 2"},
		"without its faults":      {func(s *SwitchedSession) { s.Counted.Faults = nil }, "16 windows and 0 faults"},
		"with a setting too many": {func(s *SwitchedSession) { s.Evidence.Record.Switches[2].Treatment = 2 }, "configuration 2 in window 3"},
		"with a negative setting": {func(s *SwitchedSession) { s.Evidence.Record.Switches[0].Treatment = -1 }, "configuration -1 in window 1"},
		"with a row of no length": {func(s *SwitchedSession) { s.Evidence.Clients[0].Seconds[0].ToNanoseconds = 0 }, "client 0: a second"},
		"with a negative number":  {func(s *SwitchedSession) { s.Evidence.Plan.Number, s.Configurations = -1, nil }, "number -1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := switched(t, 1, 1)
			c.change(s)
			if _, err := MarshalSession(s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it was written: %v, want %q", err, c.want)
			}
			s.SchemaVersion = SchemaVersion
			data, _, err := encode(s, MaxBytes)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := UnmarshalSession(data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
