package history

import (
	"fmt"
	"strings"
	"time"

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
	var worse, short, steady []string
	for _, s := range all {
		switch {
		case s.Regressed:
			worse = append(worse, s.worse())
		case s.TooFew != "":
			short = append(short, fmt.Sprintf("%s has %s with the present workload.", s.name(), s.TooFew))
		default:
			steady = append(steady, s.steady())
		}
	}
	switch {
	case len(worse) > 0:
		return regressed(metav1.ConditionTrue, v1alpha1.ReasonGotWorse, worse...)
	case len(short) > 0:
		return regressed(metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, short...)
	}
	return regressed(metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, steady...)
}

func regressed(status metav1.ConditionStatus, reason string, sentences ...string) metav1.Condition {
	return metav1.Condition{
		Type: v1alpha1.ConditionRegressed, Status: status, Reason: reason, Message: ellipsis.Cut(strings.Join(sentences, " "), maxMessage),
	}
}

func (s Series) name() string { return fmt.Sprintf("%s %s", s.Phase, s.Metric) }

// nights says on which nights an answer rests.
func (s Series) nights() string {
	return fmt.Sprintf("%d nights from %s to %s", s.Nights, s.First.Format(time.DateOnly), s.Last.Format(time.DateOnly))
}

// worse describes the latest change of a series that has regressed.
func (s Series) worse() string {
	c := s.Changes[len(s.Changes)-1]
	return fmt.Sprintf("%s is %s; the first such night is one of %s to %s (90 %%), by %s.",
		s.name(), c.Text, c.First.Format(time.DateOnly), c.Last.Format(time.DateOnly), s.nights())
}

// steady describes a series that is not known to have regressed. A trend is no change since a certain night, but worth a word.
func (s Series) steady() string {
	text := fmt.Sprintf("%s has no known change for the worse in %s", s.name(), s.nights())
	if len(s.Trends) > 0 {
		text += ", but a trend: " + s.Trends[len(s.Trends)-1].Text
	}
	return text + "."
}
