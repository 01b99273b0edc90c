package history

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
)

// maxMessage is the maximum length of a condition's message, in bytes.
const maxMessage = 1024

// Regressed returns the condition Regressed of a benchmark, of which [Judge] returned the series or an error. It is True if
// a figure has got worse. Otherwise it is Unknown if a figure has no answer: False is a claim about all figures that the message lists.
func Regressed(all []Series, err error) metav1.Condition {
	if err != nil {
		return regressed(metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, err.Error())
	}
	texts := map[string][]string{}
	for _, s := range all {
		texts[s.reason()] = append(texts[s.reason()], s.Sentence())
	}
	worse, short, known, steady := texts[v1alpha1.ReasonGotWorse], texts[v1alpha1.ReasonNotJudged], texts[v1alpha1.ReasonAcknowledged], texts[v1alpha1.ReasonNoChangeFound]
	switch {
	case len(worse) > 0:
		return regressed(metav1.ConditionTrue, v1alpha1.ReasonGotWorse, worse...)
	case len(short) > 0:
		return regressed(metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, short...)
	case len(known) > 0:
		return regressed(metav1.ConditionFalse, v1alpha1.ReasonAcknowledged, append(known, steady...)...)
	}
	return regressed(metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, steady...)
}

func regressed(status metav1.ConditionStatus, reason string, sentences ...string) metav1.Condition {
	return metav1.Condition{
		Type: v1alpha1.ConditionRegressed, Status: status, Reason: reason, Message: ellipsis.Cut(strings.Join(sentences, " "), maxMessage),
	}
}

// Name returns the phase and the metric.
func (s Series) Name() string { return fmt.Sprintf("%s %s", s.Phase, s.Metric) }

// nights says on which nights an answer rests.
func (s Series) nights() string {
	return fmt.Sprintf("%d nights from %s to %s", s.Nights, s.Date(s.First), s.Date(s.Last))
}

// reason returns the reason that the condition would have if the series were the only one.
func (s Series) reason() string {
	switch {
	case s.Regressed:
		return v1alpha1.ReasonGotWorse
	case s.TooFew != "":
		return v1alpha1.ReasonNotJudged
	case len(s.Changes) > 0 && s.Changes[len(s.Changes)-1].Acknowledged:
		return v1alpha1.ReasonAcknowledged
	}
	return v1alpha1.ReasonNoChangeFound
}

// Sentence describes a series: its latest change if that is for the worse and known. A trend is no change since a certain
// night, but worth a word.
func (s Series) Sentence() string {
	text := s.Name()
	switch s.reason() {
	case v1alpha1.ReasonNotJudged:
		return fmt.Sprintf("%s has %s with the present workload.", text, s.TooFew)
	case v1alpha1.ReasonGotWorse:
		return text + s.latest() + "."
	case v1alpha1.ReasonAcknowledged:
		text += s.latest() + ", and spec.acknowledgedUntil covers it"
	default:
		text += " has no known change for the worse in " + s.nights()
	}
	if len(s.Trends) > 0 {
		text += ", but a trend: " + s.Trends[len(s.Trends)-1].Text
	}
	return text + "."
}

func (s Series) latest() string {
	c := s.Changes[len(s.Changes)-1]
	return fmt.Sprintf(" is %s; %s, by %s", c.Text, s.RangeOf(c), s.nights())
}
