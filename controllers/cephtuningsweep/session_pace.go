package cephtuningsweep

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/stats"
)

// sessionPace is the progress of one session.
type sessionPace struct {
	pairs, goal int           // valid pairs of windows so far, and those after which the session may end
	ratio       stats.Bounds  // the interval of the only candidate's ratio so far; zero if unknown
	left        time.Duration // until the goal
	long        bool          // long windows
}

// String describes the pace in a few words, such as "0.71–0.94 × baseline so far, pair 5 of 8, about 2 min".
func (p sessionPace) String() string {
	parts := []string{fmt.Sprintf("pair %d of %d", min(p.pairs+1, p.goal), p.goal)}
	if p.long {
		parts[0] = "long windows"
	}
	if p.ratio.Low > 0 && p.ratio.High < 100 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("%.2f–%.2f × baseline so far", p.ratio.Low, p.ratio.High))
	}
	if p.left > 0 {
		parts = append(parts, fmt.Sprintf("about %.0f min", math.Ceil(p.left.Minutes())))
	}
	return strings.Join(parts, ", ")
}

// paceAt returns the pace of a session with the given number of valid pairs. The time that is left follows from the
// pairs so far or, before the first, from the plan.
func (p loopPlan) paceAt(pairs int, ended time.Duration) sessionPace {
	out := sessionPace{pairs: pairs, goal: p.goalAfter(pairs), long: p.plan.Long > 0}
	left := out.goal - pairs
	switch {
	case pairs > 0:
		out.left = ended / time.Duration(pairs) * time.Duration(left)
	case len(p.plan.Order) > 0:
		each := p.plan.Lasts() / time.Duration(len(p.plan.Order))
		out.left = each * time.Duration((left+p.plan.PairsOfBlock()-1)/p.plan.PairsOfBlock())
	}
	return out
}

// goalAfter returns the number of valid pairs at which the session may end next.
func (p loopPlan) goalAfter(pairs int) int {
	switch {
	case p.plan.Long > 0:
		return 1
	case !p.question.Quick, p.question.Curves:
		return p.pairs
	}
	for _, look := range switchback.QuickLooks(p.question.LastLook) {
		if look > pairs {
			return look
		}
	}
	return p.question.LastLook
}

// ratioSoFar returns the interval of the only candidate's ratio, from all valid windows so far; zero if it is unknown.
// It is for people who wait. No decision depends on it, because a decision between looks would err too often.
func (p loopPlan) ratioSoFar(e session.Evidence) stats.Bounds {
	if p.question.Candidates != 1 || p.plan.Long > 0 {
		return stats.Bounds{}
	}
	all := p.question
	all.Quick = false // Summarize then counts all windows.
	summary, known, err := e.Summarize(all)
	if err != nil || !known {
		return stats.Bounds{}
	}
	found, err := session.Judge(p.question, []session.Summary{summary}, nil)
	if err != nil || found[0].Assessment.Ratio == 0 {
		return stats.Bounds{}
	}
	return found[0].Assessment.Interval
}
