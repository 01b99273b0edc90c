package conclusion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clusterwatch/slowosd"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// Conclusion is the outcome of all runs of an execution.
type Conclusion struct {
	Phases   []v1alpha1.PhaseResult
	Gate     figure.Gate
	Headline string
	Summary  string
	// Valid counts the valid runs.
	Valid int

	space       *v1alpha1.SpaceEfficiency
	slow        []v1alpha1.SlowOSD
	environment v1alpha1.Environment
}

// AnyValid reports whether at least one run is valid.
func AnyValid(runs []Run) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.Reason == "" })
}

// Conclude combines all valid runs and judges the expectations. An expectation may compare this benchmark
// with another one, its reference.
func (s Execution) Conclude(runs []Run, references map[string]figure.Reference) (Conclusion, error) {
	c := Conclusion{space: s.spaceEfficiency()}
	observations, background := map[v1alpha1.PhaseName][]figure.Observation{}, map[v1alpha1.PhaseName][]figure.Observation{}
	var named []slowosd.Named
	for _, run := range runs {
		if run.Reason != "" {
			c.Summary = run.Reason
			continue
		}
		c.Valid++
		slow := slowosd.Named{}
		for _, p := range run.Phases {
			slow[p.Name] = p.SlowOSDs
			if p.Observation != nil {
				observations[p.Name] = append(observations[p.Name], *p.Observation)
			}
			if len(p.Background) > 0 {
				background[p.Name] = append(background[p.Name], figure.Observation{Figures: p.Background})
			}
		}
		named = append(named, slow)
	}
	c.slow = slowosd.InMost(named)
	var err error
	if c.environment, err = quiescence.Fingerprint(s.Detail); err != nil || c.Valid == 0 {
		return c, err
	}
	for _, p := range s.Script.Phases {
		combined, err := figure.Combine(p.Name, observations[p.Name])
		if err != nil {
			return Conclusion{}, fmt.Errorf("phase %s: %w", p.Name, err)
		}
		if combined.BackgroundIOPS, err = figure.CombinedIOPS(background[p.Name]); err != nil {
			return Conclusion{}, fmt.Errorf("phase %s: %w", p.Name, err)
		}
		for _, o := range observations[p.Name] {
			combined.Curve = cmp.Or(CurveResult(o.Curve), combined.Curve)
		}
		c.Phases = append(c.Phases, combined)
	}
	c.Gate, err = figure.Expect(s.Spec.Expectations, s.Spec.Repetitions, c.Phases, figure.Comparison{Runs: observations, References: references, Now: s.Now})
	if err != nil {
		return Conclusion{}, err
	}
	c.Headline = cmp.Or(ellipsis.Cut(c.Gate.Headline, 96), figure.Headline(&s.Spec.Template.Measured()[0], c.Phases[0]))
	c.Summary = ellipsis.Cut(c.Sentence(s.Spec), 512-len(s.Remark)) + s.Remark
	return c, nil
}

// spaceEfficiency returns the space efficiency at the moment when the execution stored the most data. It
// returns nil without such data, and for an outage or a rollback, because used and stored bytes then cannot
// be compared. OSDs that are down do not report their usage. A snapshot shares space with its image, but Ceph
// counts both as stored.
func (s Execution) spaceEfficiency() *v1alpha1.SpaceEfficiency {
	if t := &s.Spec.Template; t.Outage != nil || t.InitialState == v1alpha1.InitialStateRollback || len(s.Spec.OtherTargets) > 0 {
		return nil
	}
	space := s.Space(s.TargetPools, time.Time{}, s.Now)
	if space == nil {
		return nil
	}
	return &v1alpha1.SpaceEfficiency{
		StoredBytes: space.StoredBytes, UsedBytes: space.UsedBytes,
		TheoreticalBytes: int64(float64(space.StoredBytes) * s.Overhead),
		ClusterUsedBytes: space.ClusterUsedBytes, ClusterUsedBytesBefore: s.UsedBefore,
	}
}

// Sentence returns the conclusion in plain English for status, in at most 512 bytes.
func (c Conclusion) Sentence(spec v1alpha1.CephBenchmarkSpec) string {
	text := fmt.Sprintf("%d of %d runs are valid.", c.Valid, spec.Repetitions)
	if c.Gate.Sentence != "" {
		text = c.Gate.Sentence + " " + text
	}
	var marks []string
	for _, p := range c.Phases {
		for _, mark := range p.Marks {
			if !slices.Contains(marks, string(mark)) {
				marks = append(marks, string(mark))
			}
		}
	}
	if len(marks) > 0 {
		text += " Marked: " + strings.Join(marks, ", ") + "."
	}
	for _, p := range c.Phases {
		if p.Curve != nil {
			text += fmt.Sprintf(" %s: %s", p.Name, p.Curve.Reason)
		}
	}
	if len(c.slow) > 0 {
		text += " " + slowosd.Sentence(c.slow)
	}
	return ellipsis.Cut(text, 512)
}

// Write puts the conclusion into status, and sets the condition Complete or Failed.
func (c Conclusion) Write(status *v1alpha1.CephBenchmarkStatus, s Execution) {
	status.CompletionTime = new(metav1.NewTime(s.Now))
	status.Summary = ellipsis.Cut(c.Summary, 512)
	status.Environment, status.SpaceEfficiency, status.PoolOSDs = &c.environment, c.space, s.PoolOSDs
	if c.Valid == 0 {
		kstatus.Set(&status.Conditions, v1alpha1.ConditionFailed, metav1.ConditionTrue, status.ObservedGeneration, kstatus.Outcome{
			Reason:  v1alpha1.ReasonNoValidRun,
			Message: fmt.Sprintf("None of %d runs is valid. The last one: %s", s.Spec.Repetitions, c.Summary),
		})
		if len(s.Spec.Expectations) > 0 {
			status.Verdict = v1alpha1.BenchmarkInvalid
		}
		return
	}
	status.Phases, status.Headline, status.SlowOSDs = c.Phases, c.Headline, c.slow
	status.Verdict, status.Expectations = c.Gate.Verdict, c.Gate.Results
	kind, o := kstatus.Judge(status.Verdict, s.Spec.FailOn, c.Summary)
	kstatus.Set(&status.Conditions, kind, metav1.ConditionTrue, status.ObservedGeneration, o)
}
