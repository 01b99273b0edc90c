package sweepspec

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/sweep"
)

// minGroups is how many groups of windows a session has at least that counts: less have no noise.
const minGroups = 2

// EnterSession makes the entries of a session from what [session.Evidence.Summarize] says of it. Why is
// empty unless the session is void.
func EnterSession(number int, summary session.Summary, has bool, err error, seconds int, mib int64) (entries []SessionEntry, why string) {
	void := func(validity v1alpha1.SweepSessionValidity, why string) ([]SessionEntry, string) {
		return []SessionEntry{VoidSession(number, validity, seconds, mib)}, why
	}
	switch {
	case err != nil:
		return void(v1alpha1.SweepSessionFailed, err.Error())
	case !has || summary.Objective[0].Groups < minGroups:
		return void(v1alpha1.SweepSessionTooShort, "too few of its windows count")
	}
	for _, entry := range summary.Objective {
		if entry.Void {
			return void(v1alpha1.SweepSessionUneven, "windows of one setting were void more often than chance allows")
		}
		entries = append(entries, SessionEntry{Entry: entry, Seconds: seconds, MiB: mib, Validity: v1alpha1.SweepSessionValid})
	}
	return entries, ""
}

// KeptSession is a session whose evidence was kept.
type KeptSession interface {
	Number() int
	Summarize(q session.Question) (summary session.Summary, has bool, err error)
}

// Replayed is an interleaved sweep whose sessions were judged again from their evidence.
type Replayed struct {
	Outcome  Outcome
	Sessions []ReplayedSession
}

// ReplayedSession is one session of it.
type ReplayedSession struct {
	Number  int
	Entries []SessionEntry // as they were computed again, or of the ledger without evidence
	Why     string         // it is void
	// Kept says that its evidence is there, Same that this gives what the ledger has.
	Kept, Same bool
}

// Replay computes the entries of sessions again from what was kept of them, and the verdicts from those. The
// ledger decides which sessions were interrupted: evidence of these may look complete.
func Replay(s *v1alpha1.CephTuningSweep, kept []KeptSession) (*Replayed, error) {
	if !IsInterleaved(s.Status.Plan) {
		return nil, fmt.Errorf("CephTuningSweep %s is not of the design Interleaved", s.Name)
	}
	ledger, err := ReadSessions(s.Status.Runs)
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
	var again []SessionEntry
	for _, own := range bySession(ledger) {
		one := replaySession(question, own, kept)
		out.Sessions = append(out.Sessions, one)
		again = append(again, one.Entries...)
	}
	out.Outcome, err = verdictsOf(s, again)
	return out, err
}

func bySession(ledger []SessionEntry) (sessions [][]SessionEntry) {
	for i, e := range ledger {
		if i == 0 || ledger[i-1].Session != e.Session {
			sessions = append(sessions, nil)
		}
		sessions[len(sessions)-1] = append(sessions[len(sessions)-1], e)
	}
	return sessions
}

func replaySession(q session.Question, own []SessionEntry, kept []KeptSession) ReplayedSession {
	first := own[0]
	out := ReplayedSession{Number: first.Session, Entries: own}
	at := slices.IndexFunc(kept, func(k KeptSession) bool { return k.Number() == first.Session })
	if at < 0 || first.Validity == v1alpha1.SweepSessionInterrupted {
		return out
	}
	summary, has, err := kept[at].Summarize(q)
	out.Kept = true
	out.Entries, out.Why = EnterSession(first.Session, summary, has, err, first.Seconds, first.MiB)
	out.Same = slices.Equal(WriteSessions(out.Entries), WriteSessions(own))
	return out
}

func verdictsOf(s *v1alpha1.CephTuningSweep, entries []SessionEntry) (Outcome, error) {
	sessions, err := SessionsOf(&s.Spec, s.Status.Plan, entries)
	if err != nil {
		return Outcome{}, err
	}
	planned, err := PlanOf(&s.Spec, s.Status.Plan)
	if err != nil {
		return Outcome{}, err
	}
	planner, err := sweep.New(planned)
	if err != nil {
		return Outcome{}, err
	}
	return sessions.Outcome(planner, nil)
}
