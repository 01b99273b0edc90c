package sweepspec

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
)

func TestNouns(t *testing.T) {
	scratch := v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}}
	messages := v1alpha1.Parameter{Name: "cap", Config: &v1alpha1.ConfigParameter{Option: "osd_client_message_cap"}}
	depth := v1alpha1.Parameter{Name: "depth", Workload: &v1alpha1.WorkloadParameter{Phase: "read", Field: v1alpha1.WorkloadIODepth}}
	image := v1alpha1.Parameter{Name: "image", ImageObjectSize: &v1alpha1.ImageObjectSizeParameter{}}
	class := v1alpha1.Parameter{Name: "class", StorageClass: &v1alpha1.StorageClassParameter{}}
	redundancy := v1alpha1.Parameter{Name: "redundancy", Redundancy: &v1alpha1.RedundancyParameter{}}
	for _, c := range []struct {
		noun, hour string
		parameters []v1alpha1.Parameter
	}{
		{"setting", "on this pool, in this hour", []v1alpha1.Parameter{messages}},
		{"depth", "on this pool, in this hour", []v1alpha1.Parameter{depth}},
		{"image", "on this pool, in this hour", []v1alpha1.Parameter{image}},
		{"volume", "on these volumes, in this hour", []v1alpha1.Parameter{class}},
		{"pool", "on these pools, in this hour", []v1alpha1.Parameter{depth, redundancy, image}},
	} {
		spec := &Spec{Parameters: c.parameters, Template: scratch}
		if noun := NounOf(spec); string(noun) != c.noun || noun.HourNote() != c.hour || ScopeNote(spec, nil, v1alpha1.ScopeWindows) != c.hour+", in switched windows" {
			t.Errorf("%s: %s", noun, ScopeNote(spec, nil, v1alpha1.ScopeWindows))
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
		{Finding: switchback.Finding{CarryOver: true}},
		{Finding: switchback.Finding{NeedsLong: true}},
		{Finding: switchback.Finding{Scope: switchback.Windows}},
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
