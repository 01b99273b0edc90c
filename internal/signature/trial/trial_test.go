package trial_test

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/signature"
	"github.com/cephtune/cephtune/internal/signature/trial"
)

var key = make([]byte, 32)

// signed returns a sweep in its third run, and the signed benchmark of that run.
func signed(t *testing.T) (*v1alpha1.CephTuningSweep, *v1alpha1.CephBenchmark) {
	t.Helper()
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "pg-num", UID: "sweep-uid"}}
	s.Status.ObservedRunID = "1"
	s.Status.Trial = trial.Next(s, 3, &v1alpha1.SharedPool{Key: "1/1/1"})
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))},
	}}
	b.Spec = v1alpha1.CephBenchmarkSpec{RunID: "1.1.0.0", Repetitions: 1, HistoryLimit: 1}
	if err := trial.Sign(key, s, b); err != nil {
		t.Fatal(err)
	}
	b.UID = "benchmark-uid"
	return s, b
}

func TestWhatASignatureCovers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CephTuningSweep, *v1alpha1.CephBenchmark)
		valid  bool
	}{
		"as it was made":    {func(*v1alpha1.CephTuningSweep, *v1alpha1.CephBenchmark) {}, true},
		"suspended":         {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true }, true},
		"kept for longer":   {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Spec.HistoryLimit = 9 }, true},
		"another run ID":    {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Spec.RunID = "2" }, false},
		"another load":      {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Spec.Template.Clients.Count = 2 }, false},
		"another cluster":   {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Spec.ClusterRef.Name = "b" }, false},
		"another name":      {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Name = "mine" }, false},
		"another namespace": {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Namespace = "mine" }, false},
		"no signature":      {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Annotations = nil }, false},
		"no owner":          {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.OwnerReferences = nil }, false},
		"another sweep":     {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.UID = "other" }, false},
		"another nonce": {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) {
			s.Status.Trial.Nonce = signature.NewNonce()
		}, false},
		"another run":        {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.Status.Trial.Number = 4 }, false},
		"the next execution": {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.Status.ObservedRunID = "2" }, false},
		"no trial":           {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.Status.Trial = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := signed(t)
			c.change(s, b)
			if got, err := trial.IsSigned(key, s, b); err != nil || got != c.valid {
				t.Errorf("signed is %t, %v, want %t", got, err, c.valid)
			}
		})
	}
	s, b := signed(t)
	if got, err := trial.IsSigned(bytes.Repeat([]byte{1}, 32), s, b); err != nil || got {
		t.Errorf("signed is %t, %v, with another master key", got, err)
	}
}

// A foreign object is a fact, never an error.
func TestStateOf(t *testing.T) {
	edited := func(b *v1alpha1.CephBenchmark) { b.Spec.RunID = "mine" }
	for name, c := range map[string]struct {
		recorded             bool
		change               func(*v1alpha1.CephBenchmark)
		there                bool
		child, taken, spoilt bool
	}{
		"not created yet":                    {},
		"created, and not recorded yet":      {there: true, child: true},
		"another object has the name":        {there: true, change: edited, taken: true},
		"recorded":                           {recorded: true, there: true, child: true},
		"deleted":                            {recorded: true, spoilt: true},
		"replaced by a copy":                 {recorded: true, there: true, change: func(b *v1alpha1.CephBenchmark) { b.UID = "copy" }, spoilt: true},
		"edited":                             {recorded: true, there: true, change: edited, spoilt: true},
		"replaced by something of that name": {recorded: true, there: true, change: func(b *v1alpha1.CephBenchmark) { b.UID, b.Annotations = "other", nil }, spoilt: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := signed(t)
			if c.recorded {
				s.Status.Trial.UID = b.UID
			}
			if c.change != nil {
				c.change(b)
			}
			if !c.there {
				b = nil
			}
			got, err := trial.StateOf(key, s, b)
			if err != nil || (got.Benchmark != nil) != c.child || got.Taken != c.taken || (got.Spoilt != "") != c.spoilt {
				t.Errorf("%+v, %v", got, err)
			}
			if left := name == "edited"; (got.Left != nil) != left {
				t.Errorf("the benchmark to remove is %v", got.Left)
			}
		})
	}
}

func TestAdmit(t *testing.T) {
	const waits, runs, refused = "waits", "runs", "is refused"
	for name, c := range map[string]struct {
		change func(*v1alpha1.CephTuningSweep, *v1alpha1.CephBenchmark)
		want   string
	}{
		"recorded":           {func(*v1alpha1.CephTuningSweep, *v1alpha1.CephBenchmark) {}, runs},
		"not recorded yet":   {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.Status.Trial.UID = "" }, waits},
		"a copy":             {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.UID = "copy" }, refused},
		"edited":             {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Spec.RunID = "mine" }, refused},
		"the sweep is gone":  {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.UID, s.Status.Trial = "", nil }, refused},
		"another run is on":  {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.Status.Trial = trial.Next(s, 4, nil) }, refused},
		"another sweep's":    {func(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) { s.UID = "other" }, refused},
		"unsigned, recorded": {func(_ *v1alpha1.CephTuningSweep, b *v1alpha1.CephBenchmark) { b.Annotations = nil }, refused},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := signed(t)
			s.Status.Trial.UID = b.UID
			c.change(s, b)
			got, err := trial.Admit(key, s, b)
			given := map[string]bool{waits: got.Waits, runs: got.Trial != nil, refused: got.Refusal != ""}
			for _, answer := range []string{waits, runs, refused} {
				if err != nil || given[answer] != (answer == c.want) {
					t.Errorf("%+v, %v: want that it %s", got, err, c.want)
				}
			}
		})
	}
}

func TestWhatABenchmarkRecords(t *testing.T) {
	s, b := signed(t)
	s.Status.Trial.UID = b.UID
	got, err := trial.Admit(key, s, b)
	if err != nil || got.Trial == nil {
		t.Fatalf("%+v, %v: want its trial", got, err)
	}
	b.Status.Trial = got.Trial
	if r := got.Trial; r.UID != s.UID || r.Number != 3 || r.Pool.Key != "1/1/1" || r.Design != v1alpha1.DesignBlocks {
		t.Errorf("it records %+v", r)
	}
	if holder, borrows := trial.Holder(b); !borrows || holder.Identity() != "CephTuningSweep/bench/pg-num/sweep-uid" {
		t.Errorf("%s holds the lock", holder)
	}
	if !trial.IsOfRun(b, s, 3) || trial.IsOfRun(b, s, 2) {
		t.Error("want it to be that of run 3")
	}
}

func TestNamesAreBounded(t *testing.T) {
	s, _ := signed(t)
	taken := map[string]bool{s.Status.Trial.Name: true}
	for n := 1; ; n++ {
		next, may := trial.Renamed(s)
		if taken[next.Name] || next.Nonce == s.Status.Trial.Nonce || next.Number != 3 || next.Pool == nil || len(next.Name) > 52 {
			t.Errorf("attempt %d is %+v", n, next)
		}
		if !may {
			if n != 5 {
				t.Errorf("it gives up after %d names, want 5", n)
			}
			return
		}
		taken[next.Name], s.Status.Trial = true, next
	}
}

func TestNameOf(t *testing.T) {
	s, _ := signed(t)
	plain := trial.NameOf(s, 3)
	s.Status.Trial, _ = trial.Renamed(s)
	if got := trial.NameOf(s, 3); got == plain || got != s.Status.Trial.Name || trial.NameOf(s, 2) == got {
		t.Errorf("the name is %s, and was %s before", got, plain)
	}
}
