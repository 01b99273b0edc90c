package clusterwatch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// Every sample has a status, because judges of samples rely on it.
func TestALookThatCephDoesNotAnswerIsNone(t *testing.T) {
	fake := cephtest.NewCluster()
	fake.Change(func(a *cephtest.Answers) {
		a.Status, a.OSDs, a.Errors = ceph.Status{OSDs: 3}, nil, map[string]error{}
		a.PoolIO = []ceph.PoolIO{{Name: "open"}}
	})
	for _, verb := range []string{"Status", "PoolIO", "Strays", "DF", "OSDPerf", "OSDMap", ""} {
		w := &Watch{
			ceph: fake, now: time.Now, asks: Asks{BetweenRuns: true, Strays: true},
			connect: func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, nil },
		}
		w.look(t.Context()) // with the survey
		fake.Change(func(a *cephtest.Answers) { a.Errors[verb] = errors.New("no monitor answers") })
		if verb == "OSDMap" { // only the survey asks for it
			w.survey = nil
		}
		w.look(t.Context())
		fake.Change(func(a *cephtest.Answers) { clear(a.Errors) })
		seen, want := w.View(), 1
		if verb == "" {
			want = 2
		}
		if len(seen.Samples) != want || (seen.Err == nil) != (verb == "") {
			t.Errorf("without an answer to %q there are %d samples, %v, want %d", verb, len(seen.Samples), seen.Err, want)
		}
		for _, sample := range seen.Samples {
			if sample.Status == nil || sample.PoolIO == nil {
				t.Errorf("without an answer to %q: a sample %+v", verb, sample)
			}
		}
	}
}

// A flag that a user unsets is seen, although samples do not show flags.
func TestSurveyAgain(t *testing.T) {
	fake, now := cephtest.NewCluster(), time.Now()
	fake.Change(func(a *cephtest.Answers) {
		a.Status, a.OSDs, a.PoolIO, a.OSDMap.Flags = ceph.Status{OSDs: 3}, nil, []ceph.PoolIO{{Name: "open"}}, []string{"noout"}
	})
	w := New(fake, func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, nil }, func() time.Time { return now }, func() {})
	if w.look(t.Context()); w.View().Survey == nil {
		t.Fatal(w.View().Err)
	}
	fake.Change(func(a *cephtest.Answers) { a.OSDMap.Flags = nil })
	flags := func(after time.Duration, again bool) int {
		now = now.Add(after)
		if again {
			w.SurveyAgain()
		}
		w.look(t.Context())
		return len(w.View().Survey.OSDMap.Flags)
	}
	for i, step := range []struct {
		after time.Duration
		again bool
		want  int
	}{{time.Minute, false, 1}, {0, true, 0}} {
		if got := flags(step.after, step.again); got != step.want {
			t.Errorf("step %d: %d flags, want %d", i, got, step.want)
		}
	}
	fake.Change(func(a *cephtest.Answers) { a.OSDMap.Flags = []string{"noout"} })
	if flags(surveyEvery-time.Second, true) != 0 || flags(time.Second, false) != 1 {
		t.Error("two surveys are not surveyEvery apart, or the second request was lost")
	}
}

// A request that arrives during a survey is not lost: that survey may have read the flags before.
func TestSurveyAgainDuringASurvey(t *testing.T) {
	now := time.Now()
	w := &Watch{now: func() time.Time { return now }, survey: &Survey{}, surveyAgain: true}
	if !w.startSurvey() {
		t.Fatal("a requested survey does not start")
	}
	w.SurveyAgain()
	if w.surveyedAt = now; w.startSurvey() {
		t.Error("two surveys are not surveyEvery apart")
	}
	if now = now.Add(surveyEvery); !w.startSurvey() {
		t.Error("the request during the survey was lost")
	}
}

// The longest phase lasts 24 hours, and a disturbance in its first minute still spoils it at its end.
func TestKeepsSamplesOfTheLongestPhase(t *testing.T) {
	fake, began := cephtest.NewCluster(), time.Now()
	now := began
	fake.Change(func(a *cephtest.Answers) {
		a.Status, a.OSDs = ceph.Status{OSDs: 3}, nil
		a.PoolIO = []ceph.PoolIO{{Name: "idle"}, {Name: "busy", ReadOperationsPerSecond: 7}}
	})
	w := New(fake, func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, nil }, func() time.Time { return now }, func() {})
	for ; now.Sub(began) < 24*time.Hour; now = now.Add(SampleEvery) {
		w.samples = latest(append(w.samples, quiescence.Sample{Time: now}), int(maxSamples))
	}
	for range maxSamples / 8 {
		w.look(t.Context())
		now = now.Add(SampleEvery)
	}
	samples := w.View().Samples
	if oldest := now.Sub(samples[0].Time); oldest < 24*time.Hour || len(samples) != int(maxSamples) {
		t.Errorf("%d samples, the oldest %v old: want %d of more than 24 hours", len(samples), oldest, maxSamples)
	}
	if io := samples[len(samples)-1].PoolIO; len(io) != 1 || io[0].Name != "busy" {
		t.Errorf("a sample has the I/O of %v, want only that of busy pools", io)
	}
}

// A day in a cluster with a thousand OSDs must leave memory for everything else in the manager.
func TestMemoryOfALargeCluster(t *testing.T) {
	const osds = 1000
	var all []Extra
	began := time.Now()
	for i := range int(24 * time.Hour / ExtraEvery) {
		x := Extra{time: began.Add(time.Duration(i) * ExtraEvery), latencies: make([]ceph.OSDLatency, osds), io: make([]ceph.OSDIO, osds)}
		all = thinned(latest(append(all, x), int(maxExtras)))
	}
	bytes := 0
	for _, x := range all {
		bytes += 8 * x.words()
	}
	t.Logf("%d Extras, %d MiB", len(all), bytes>>20)
	if bytes > 32<<20 {
		t.Errorf("a day takes %d MiB, want at most 32", bytes>>20)
	}
	last := began.Add(24*time.Hour - ExtraEvery)
	if !all[len(all)-1].time.Equal(last) || last.Sub(all[0].time) < 6*time.Hour {
		t.Errorf("they are from %v to %v", all[0].time.Sub(began), all[len(all)-1].time.Sub(began))
	}
}

// A monitor that has died cannot tell who was connected to it, so addresses stay, and a list that fails takes none away.
func TestClientsAreRemembered(t *testing.T) {
	fake := cephtest.NewCluster()
	fake.Change(func(a *cephtest.Answers) {
		a.Status, a.OSDs, a.Errors = ceph.Status{OSDs: 3}, nil, map[string]error{}
		a.PoolIO = []ceph.PoolIO{{Name: "open"}}
	})
	now := time.Unix(0, 0)
	w := New(fake, func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, nil }, func() time.Time { return now }, nil)
	lists := 0
	for _, step := range []struct {
		after  time.Duration
		listed []string
		err    error
		lists  int
		want   []string
	}{
		{listed: []string{"a", "b"}, lists: 1, want: []string{"a", "b"}},
		{after: SampleEvery, listed: []string{"c"}, lists: 1, want: []string{"a", "b"}},
		{after: clientsEvery, listed: []string{"b", "c"}, lists: 2, want: []string{"a", "b", "c"}},
		{after: clientsEvery, err: context.DeadlineExceeded, lists: 3, want: []string{"a", "b", "c"}},
	} {
		now = now.Add(step.after)
		w.Ask(Asks{Clients: func(context.Context) ([]string, error) {
			lists++
			return step.listed, step.err
		}})
		w.look(t.Context())
		if view := w.View(); view.Err != nil || lists != step.lists || !slices.Equal(view.Clients, step.want) {
			t.Errorf("at %v: %d lists, %v, %v", now, lists, view.Clients, view.Err)
		}
	}
}
