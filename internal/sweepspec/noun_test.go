package sweepspec

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
)

func TestNounOf(t *testing.T) {
	parameter := func(p v1alpha1.Parameter) *Spec { return &Spec{Parameters: []v1alpha1.Parameter{p}} }
	for want, spec := range map[Noun]*Spec{
		nounSetting: parameter(v1alpha1.Parameter{Name: "cap", Config: &v1alpha1.ConfigParameter{Option: "osd_client_message_cap"}}),
		nounDepth:   parameter(v1alpha1.Parameter{Name: "depth", Workload: &v1alpha1.WorkloadParameter{Phase: "read", Field: v1alpha1.WorkloadIODepth}}),
	} {
		if got := NounOf(spec); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestScopesOfNouns(t *testing.T) {
	for noun, want := range map[Noun][3]string{
		nounSetting: {"on this pool, in this hour, in switched windows", "on this pool, in this hour", "on several pools, in this hour"},
		nounDepth:   {"on this pool, in this hour, in switched windows", "on this pool, in this hour", "on several pools, in this hour"},
		nounPool:    {"on these pools, in this hour, in switched windows", "on these pools, in this hour", "on several pools of each value, in this hour"},
	} {
		for i, scope := range []v1alpha1.SweepScope{v1alpha1.ScopeWindows, v1alpha1.ScopePool, v1alpha1.ScopePools} {
			if got := noun.scopeNote(scope); got != want[i] {
				t.Errorf("%s, %s: %q, want %q", noun, scope, got, want[i])
			}
		}
	}
}

// A session of loads does not speak of settings.
func TestSentencesOfDepthsDoNotSpeakOfSettings(t *testing.T) {
	spec := &Spec{Parameters: []v1alpha1.Parameter{{Name: "depth", Workload: &v1alpha1.WorkloadParameter{Phase: "read", Field: v1alpha1.WorkloadIODepth}}}}
	plan := &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved, Sessions: 1}
	words, s := WordsOf(spec, plan), &Sessions{spec: spec, plan: plan}
	sentences := []string{words.Name, words.Method, words.Superior, words.Trials}
	for _, f := range []session.Finding{
		{Finding: switchback.Finding{CarryOver: true}}, {Finding: switchback.Finding{NeedsLong: true}}, {Finding: switchback.Finding{Scope: switchback.Windows}},
		{Finding: switchback.Finding{Scope: switchback.Pool, Sessions: 3}},
	} {
		sentences = append(sentences, s.caveat(f), s.scopeText(f), s.amount(f, 1))
	}
	for _, sentence := range sentences {
		if strings.Contains(strings.ToLower(sentence), "setting") || strings.Contains(sentence, "%!") {
			t.Errorf("%q", sentence)
		}
	}
	if !strings.Contains(words.Name, "depths are switched") || !strings.HasPrefix(words.Method, "Depths were switched") {
		t.Errorf("%q: %q", words.Name, words.Method)
	}
}
