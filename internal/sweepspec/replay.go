package sweepspec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/fitness"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/sweep"
)

// EnterSession returns the ledger entries of a session. The arguments named summary, has and err are the
// results of [session.Evidence.Summarize] or, in a replay, of KeptSession.Summarize. The second result is the
// reason why the session is void; "" if it is valid. A session is void for reasons that do not depend on its
// figures. Long says that it has long windows.
func EnterSession(number int, long bool, summary session.Summary, has bool, err error, seconds int, mib int64) (entries []SessionEntry, why string) {
	void := func(validity v1alpha1.SweepSessionValidity, why string) ([]SessionEntry, string) {
		return []SessionEntry{VoidSession(number, validity, seconds, mib)}, why
	}
	switch {
	case err != nil:
		return void(v1alpha1.SweepSessionFailed, err.Error())
	case !has || summary.Objective[0].Groups < leastGroups(long):
		return void(v1alpha1.SweepSessionTooShort, "too few of its windows count")
	}
	validity := v1alpha1.SweepSessionValid
	if long {
		validity = v1alpha1.SweepSessionLong
	}
	for i, entry := range summary.Objective {
		if entry.Void {
			return void(v1alpha1.SweepSessionUneven, "windows of one setting were void more often than chance allows")
		}
		entries = append(entries, SessionEntry{Entry: entry, Seconds: seconds, MiB: mib, Validity: validity})
		for k, own := range summary.Constraints {
			entries = append(entries, SessionEntry{Entry: own[i], Constraint: k + 1, Seconds: seconds, MiB: mib, Validity: v1alpha1.SweepSessionConstraint})
		}
	}
	return entries, ""
}

// Marked adds the mark of a session to its entries. A void session has no mark, because it does not count, and
// the lines of constraints have none, because they follow a line that has.
func Marked(entries []SessionEntry, mark fitness.Mark) []SessionEntry {
	for i := range entries {
		switch e := &entries[i]; {
		case mark == "":
		case e.Validity == v1alpha1.SweepSessionValid:
			e.Validity = v1alpha1.SweepSessionValidity(mark)
		case e.Validity == v1alpha1.SweepSessionLong:
			e.Validity = v1alpha1.SweepSessionValidity(mark) + v1alpha1.SweepSessionLong
		}
	}
	return entries
}

// leastGroups returns the smallest number of groups in a valid session. Fewer quads or rounds give no estimate of
// the noise.
func leastGroups(long bool) int {
	if long {
		return 1
	}
	return 2
}

// KeptSession is a session with archived evidence.
type KeptSession interface {
	Number() int
	Summarize(q session.Question) (summary session.Summary, has bool, err error)
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
	Number  int
	Entries []SessionEntry // recomputed from the evidence if Kept is true, otherwise the entries of the ledger
	Why     string         // why the session is void according to its evidence; "" otherwise
	// Kept reports whether Entries were recomputed. Same reports whether recomputed entries equal those of
	// the ledger.
	Kept, Same bool
}

// Replay recomputes the entries of sessions from their evidence, and the verdicts from these entries.
// Interrupted sessions keep their entries of the ledger, since their evidence may look complete, and they would
// then count. Sessions without archived evidence also keep their entries, as do sessions whose archive lacks
// figures that the summary needs.
func Replay(s *v1alpha1.CephTuningSweep, kept []KeptSession) (*Replayed, error) {
	if !IsInterleaved(s.Status.Plan) {
		return nil, fmt.Errorf("CephTuningSweep %s is not of the design Interleaved", s.Name)
	}
	if wrote := int(s.Status.Plan.PlannerVersion); wrote != sweep.Version {
		return nil, fmt.Errorf("CephTuningSweep %s was judged by rules of version %d, and this program has version %d: judge it with the version of cephtune that ran it", s.Name, wrote, sweep.Version)
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
	if errors.Is(err, session.ErrNotKept) {
		return out
	}
	out.Entries, out.Why = EnterSession(first.Session, kept[at].Long() > 0, summary, has, err, first.Seconds, first.MiB)
	out.Entries = EndedAt(Marked(out.Entries, kept[at].Marked(q)), first.Ended)
	out.Kept = true
	out.Same = slices.Equal(WriteSessions(out.Entries), WriteSessions(own))
	return out
}

func verdictsOf(s *v1alpha1.CephTuningSweep, entries []SessionEntry) (Outcome, error) {
	sessions, err := SessionsOf(&s.Spec, s.Status.Plan, entries)
	if err != nil {
		return Outcome{}, err
	}
	planner, err := PlannerOf(&s.Spec, s.Status.Plan)
	if err != nil {
		return Outcome{}, err
	}
	return sessions.Outcome(planner, nil)
}
