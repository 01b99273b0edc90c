package sweepspec

import (
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const digested = `{runID: "1", objective: {phase: fio, metric: LatencyP99, minimumEffect: 2.5%, equivalence: 1%}, budget: {duration: 4h, bytesWritten: 2Ti}}`

// The status of running sweeps contains the digest of their spec. If this digest changes, for
// example because of a new field with a default, digestVersion has to change too.
func TestTheDigestOfASpecStays(t *testing.T) {
	const want = "v4:fcc6abb11cd75f314bbf18e3ab8667d44665792d5ab2bd55ab64a41f20fa34b5"
	got, err := Digest(&specOf(t, digested).Spec)
	if err != nil || got != want {
		t.Errorf("digest %s (%v), want %s: raise digestVersion", got, err, want)
	}
}

func TestEdited(t *testing.T) {
	spec := &specOf(t, digested).Spec
	digest, err := Digest(spec)
	if err != nil {
		t.Fatal(err)
	}
	planned := &v1alpha1.SweepPlan{SpecDigest: digest}
	for name, test := range map[string]struct {
		edit    func(*Spec)
		planned *v1alpha1.SweepPlan
		want    bool
	}{
		"the same": {edit: func(*Spec) {}, planned: planned},
		"resumed, in another window": {edit: func(s *Spec) {
			s.Suspend, s.RunID, s.MaintenanceWindow, s.HistoryLimit = true, "2", &v1alpha1.MaintenanceWindow{}, 3
		}, planned: planned},
		"other values":                {edit: func(s *Spec) { s.Parameters[0].Values[0] = "999" }, planned: planned, want: true},
		"another phase":               {edit: func(s *Spec) { s.Template.Phases[0].Name = "x" }, planned: planned, want: true},
		"the confidence as before":    {edit: func(s *Spec) { s.Confidence = "0.95" }, planned: planned},
		"another confidence":          {edit: func(s *Spec) { s.Confidence = "99.9%" }, planned: planned, want: true},
		"another budget":              {edit: func(s *Spec) { s.Budget.Duration = nil }, planned: planned, want: true},
		"another number of failures":  {edit: func(s *Spec) { s.Guardrails.MaxFailedRuns = new(int32(77)) }, planned: planned, want: true},
		"no plan":                     {edit: func(s *Spec) { s.Confidence = "0.9" }},
		"a plan of an older operator": {edit: func(s *Spec) { s.Confidence = "0.9" }, planned: &v1alpha1.SweepPlan{}},
		"a plan of other rules":       {edit: func(s *Spec) { s.Confidence = "0.9" }, planned: &v1alpha1.SweepPlan{SpecDigest: "v0:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			other := specOf(t, digested).Spec
			test.edit(&other)
			if got, err := Edited(&other, test.planned); got != test.want || err != nil {
				t.Errorf("edited %v (%v), want %v", got, err, test.want)
			}
		})
	}
}
