package watch

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// ending says how an object has ended.
type ending int

const (
	endNone   ending = iota // it has not ended
	endResult               // it has a result
	endFailed               // it is stalled: it has failed, or waits until a user changes something
)

// view holds the parts of an object's state that people follow.
type view struct {
	phase, message string
	progress, step string
	best           string    // the best configuration so far, with its effect
	ends           time.Time // when it is expected to end; zero if unknown
	// looks says that the object may end earlier than expected, at any look at its sessions.
	looks bool
	next  time.Time // when its schedule has the next run; zero without one
	end   ending
	// clients names the benchmark whose run is in progress, and the number of its clients; empty while no run
	// is in progress.
	clients live.Subject
	// live is the clients' rate as text.
	live string
	// unseen says that the operator has not reacted to the object yet, nor to an earlier spec of it. If asks is
	// true, the text of message asks the user to check the operator.
	unseen, asks bool
}

// viewOf returns the view of a sweep or a benchmark.
func viewOf(o client.Object) view {
	state := object.StateOf(o)
	ready := state.Ready()
	v := view{phase: ready.Reason, message: ready.Message, unseen: ready.Status == ""}
	if progress := state.Progress; progress != nil {
		v.progress, v.step = progress.Summary, progress.Step
		if estimate := progress.EstimatedCompletionTime; estimate != nil {
			v.ends = estimate.Time
		}
	}
	switch {
	case v.unseen || state.ObservedGeneration != o.GetGeneration():
		// Status is missing, or about an earlier spec.
		v.step, v.message = "", "The operator has not seen it yet."
	case !o.GetDeletionTimestamp().IsZero():
		v.step = "being deleted"
	case meta.IsStatusConditionTrue(state.Conditions, v1alpha1.ConditionStalled):
		v.end = endFailed
	case state.RunID == state.ObservedRunID && ready.Status == metav1.ConditionTrue && ready.Reason != v1alpha1.ReasonScheduled:
		v.end = endResult
	}
	if state.Next != nil && v.end != endNone {
		v.next = state.Next.Time
	}
	if sweep, ok := o.(*v1alpha1.CephTuningSweep); ok {
		v.best, v.looks = bestOf(sweep), sweepspec.HasWindows(sweep.Status.Plan)
	}
	if v.end == endNone && v.phase == v1alpha1.ReasonRunning {
		v.clients = clientsOf(o)
	}
	return v
}

// bestOf returns the best configuration of a sweep so far, with its figures.
func bestOf(s *v1alpha1.CephTuningSweep) string {
	best := s.Status.Best
	if best == "" {
		return ""
	}
	best += prefixed(" ", string(s.Status.Effect))
	return best + prefixed(", ", s.Status.Headline)
}

// clientsOf returns the clients that measure for an object now. Those of a sweep are its next trial's.
func clientsOf(o client.Object) live.Subject {
	switch o := o.(type) {
	case *v1alpha1.CephTuningSweep:
		return live.Subject{
			Namespace: o.Namespace, Benchmark: trial.NameOf(o, sweepspec.NextTrial(o)), Clients: int(o.Spec.Template.Clients.Count), Objective: o.Spec.Objective.Metric,
		}
	case *v1alpha1.CephBenchmark:
		return live.Subject{Namespace: o.Namespace, Benchmark: o.Name, Clients: int(o.Spec.Template.Clients.Count), Objective: figure.Objective(&o.Spec)}
	}
	return live.Subject{}
}

// detail returns the message. If the phase is Running or Settling, or the object is being deleted, the
// current step precedes the message. In these two phases, the message may begin with the number of the run or
// session, as the step does, and may repeat the step. detail then drops the number and the repetition from
// the message.
func (v view) detail() string {
	busy := v.phase == v1alpha1.ReasonRunning || v.phase == v1alpha1.ReasonSettling
	if v.step == "" || !busy {
		return strings.Join(words(onlyIf(v.step == "being deleted", v.step), v.message), ": ")
	}
	more := v.message
	if strings.HasPrefix(more, "Run ") || strings.HasPrefix(more, "Session ") {
		_, more, _ = strings.Cut(more, ". ")
	}
	if _, doing, _ := strings.Cut(v.step, ": "); strings.EqualFold(strings.TrimSuffix(more, "."), doing) {
		more = ""
	}
	return strings.Join(words(v.step, more), ". ")
}

// line returns the view as one line, which cannot control a terminal.
func (v view) line(now time.Time) string {
	parts := append(v.rates(now), prefixed("best so far ", onlyIf(v.end == endNone, v.best)), v.until(now), onlyIf(v.end == endNone, v.detail()))
	return lineOf(parts)
}

// liveLine is like line, but ends after the clients' rate.
func (v view) liveLine(now time.Time) string { return lineOf(v.rates(now)) }

// rates returns the beginning of a line. The most important figure comes first, because a narrow terminal shows no more.
func (v view) rates(now time.Time) []string {
	first, more, _ := strings.Cut(onlyIf(v.end == endNone, v.live), ", ")
	return []string{now.Format(time.TimeOnly), fmt.Sprintf("%-9s", cmp.Or(v.phase, "-")), first, v.progress, more}
}

func lineOf(parts []string) string {
	return strings.TrimRight(medium.Line(strings.Join(words(parts...), "  ")), " ")
}

// until says when the object is expected to end: the time of day, with the date unless it ends today. It
// returns "" if the end is unknown. If the object has ended, it says when its next run is due.
func (v view) until(now time.Time) string {
	if !v.next.IsZero() {
		return "next run on " + v.next.In(now.Location()).Format("Mon Jan _2 15:04")
	}
	if v.ends.IsZero() || v.end != endNone {
		return ""
	}
	moment, layout := v.ends.In(now.Location()), "15:04"
	if moment.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = "Mon Jan _2 15:04"
	}
	if v.looks {
		return "at the latest " + moment.Format(layout)
	}
	return "until about " + moment.Format(layout)
}

// landmark returns text that is equal for two views of one stage. When it changes, a terminal gets a
// new line.
func (v view) landmark() string {
	return strings.Join([]string{v.phase, v.progress, v.best, onlyIf(v.step == "being deleted", v.step)}, "\x00")
}

// news returns text whose change justifies a new line if lines cannot be redrawn. It leaves out the numbers of
// the message, such as how many PGs are not clean yet, because a line for each change would flood a log.
func (v view) news() string {
	numbers := regexp.MustCompile(`([0-9]+(\.[0-9]+)?(ms|s|m|h)?)+`)
	return strings.Join([]string{v.landmark(), v.step, numbers.ReplaceAllString(v.detail(), "0")}, "\x00")
}

// words returns the words that are not empty.
func words(all ...string) []string {
	var some []string
	for _, word := range all {
		if word != "" {
			some = append(some, word)
		}
	}
	return some
}

func onlyIf(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

func prefixed(prefix, text string) string { return onlyIf(text != "", prefix+text) }
