package sweepspec

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure/fitness"
)

// KeptSession is a session with archived evidence.
type KeptSession interface {
	Number() int
	Summarize(q session.Question) (summary session.Summary, ok bool, err error)
	// Long returns the candidate of a session of long windows; 0 for a session of short windows.
	Long() int
	// Marked returns the mark of the session.
	Marked(q session.Question) fitness.Mark
}

// Replayed is an interleaved sweep that was judged again from the evidence of its sessions.
type Replayed struct {
	Outcome  Outcome
	Sessions []ReplayedSession
}

// ReplayedSession is one session of a replayed sweep.
type ReplayedSession struct {
	Trial v1alpha1.Trial // recomputed from the evidence if Kept is true, otherwise that of the ledger
	Why   string         // why the session is invalid according to its evidence; "" otherwise
	// Kept reports whether Trial was recomputed. Same reports whether it equals that of the ledger.
	Kept, Same bool
}

// Replay recomputes the trials of an interleaved sweep from their evidence, and the verdicts from these trials.
// Interrupted trials stay as in the ledger, since their evidence may look complete, and they would then count. Trials
// without archived evidence stay, too, as do trials whose archive lacks figures that the summary needs.
func Replay[K KeptSession](s *v1alpha1.CephTuningSweep, kept []K) (*Replayed, error) {
	if !HasWindows(s.Status.Plan) {
		return nil, fmt.Errorf("CephTuningSweep %s is not of the design Interleaved", s.Name)
	}
	if wrote := int(s.Status.Plan.PlannerVersion); wrote != sweep.Version {
		return nil, fmt.Errorf("CephTuningSweep %s was judged by rules of version %d, and this program has version %d: judge it with the version of cephtune that ran it", s.Name, wrote, sweep.Version)
	}
	ledger, err := Trials(&s.Status)
	if err != nil {
		return nil, err
	}
	before, err := SessionsOf(&s.Spec, s.Status.Plan, ledger)
	if err != nil {
		return nil, err
	}
	question, err := before.Question()
	if err != nil {
		return nil, err
	}
	out := &Replayed{}
	again := make([]v1alpha1.Trial, len(ledger))
	for i, t := range ledger {
		one := replaySession(NounOf(&s.Spec), question, t, kept)
		out.Sessions = append(out.Sessions, one)
		again[i] = one.Trial
	}
	after, err := SessionsOf(&s.Spec, s.Status.Plan, again)
	if err != nil {
		return nil, err
	}
	out.Outcome, err = after.Judge(nil)
	return out, err
}

func replaySession[K KeptSession](noun Noun, q session.Question, t v1alpha1.Trial, kept []K) ReplayedSession {
	out := ReplayedSession{Trial: t}
	index := slices.IndexFunc(kept, func(k K) bool { return k.Number() == int(t.Number) })
	if index < 0 || t.Reason == v1alpha1.TrialInterrupted {
		return out
	}
	summary, ok, err := kept[index].Summarize(q)
	if errors.Is(err, session.ErrNotKept) {
		return out
	}
	summary.Mark = kept[index].Marked(q)
	cost := SessionCost{Seconds: int(t.DurationSeconds), MiB: t.WrittenMebibytes}
	if t.EndTime != nil {
		cost.Ended = t.EndTime.Time
	}
	out.Trial, out.Why = NewSessionTrial(noun, int(t.Number), kept[index].Long() > 0, summary, ok, err, cost)
	compared := out.Trial
	if t.BaselineObjective == "" {
		compared = withoutFigures(compared) // An earlier version wrote the ledger.
	}
	out.Kept, out.Same = true, equality.Semantic.DeepEqual(compared, t)
	return out
}

// withoutFigures returns a trial without the typical figures of its settings.
func withoutFigures(t v1alpha1.Trial) v1alpha1.Trial {
	plain := *t.DeepCopy()
	plain.BaselineObjective = ""
	for i := range plain.Comparisons {
		plain.Comparisons[i].Objective = ""
	}
	return plain
}
