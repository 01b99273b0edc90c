package session

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/switchback"
)

// Evidence is all that a verdict rests on, so that it can be given again from an archive.
type Evidence struct {
	Plan      Plan                `json:"plan"`
	Record    Record              `json:"record"`
	Clients   []switchback.Client `json:"clients"` // what they did by the second
	Disturbed []switchback.Span   `json:"disturbed,omitempty"`
}

// Quick is the verdict of the last look of a session of one candidate; false before the first
// look.
func (e Evidence) Quick(criteria stats.Criteria, writes bool) (switchback.Finding, bool, error) {
	if e.Record.Void != "" {
		return switchback.Finding{}, false, fmt.Errorf("the session is void: %s", e.Record.Void)
	}
	s, err := e.windows()
	if err != nil {
		return switchback.Finding{}, false, err
	}
	s, has := atLook(s)
	if !has {
		return switchback.Finding{}, false, nil
	}
	entries, err := s.Entries()
	if err != nil {
		return switchback.Finding{}, false, err
	}
	findings, err := switchback.Judge(switchback.Question{Criteria: criteria, Candidates: 1, Quick: true, Writes: writes}, entries, nil)
	if err != nil {
		return switchback.Finding{}, false, err
	}
	return findings[0], true, nil
}

// AtLook tells whether as many pairs count as at one of the looks, for whose sake alone figures
// may be looked at.
func (e Evidence) AtLook() (bool, error) {
	s, err := e.windows()
	if err != nil {
		return false, err
	}
	return slices.Contains(switchback.QuickLooks(), 2*counted(s, len(s.Order))), nil
}

// windows cuts the session.
func (e Evidence) windows() (switchback.Session, error) {
	windows, covered, err := switchback.Cut(e.Record.Switches, e.Record.End, e.Clients, e.Plan.Timing)
	if err != nil {
		return switchback.Session{}, err
	}
	return switchback.Session{
		Number: 1, Seed: e.Plan.Seed, Candidates: 1, Order: e.Plan.Order, Windows: windows,
		Faults: switchback.Faults(e.Record.Switches, e.Record.End, covered, e.Disturbed, e.Plan.Timing),
	}, nil
}

// counted are how many of the first groups were measured to their end and have no fault.
func counted(s switchback.Session, groups int) int {
	n, at := 0, 0
	for _, g := range s.Order[:groups] {
		if at+len(g) > len(s.Windows) {
			break
		}
		if !slices.Contains(s.Faults[at:at+len(g)], true) {
			n++
		}
		at += len(g)
	}
	return n
}

// atLook leaves out what came after the last look.
func atLook(s switchback.Session) (switchback.Session, bool) {
	for groups := len(s.Order); groups > 0; groups-- {
		windows := 4 * groups
		if windows > len(s.Windows) || counted(s, groups) == counted(s, groups-1) {
			continue
		}
		if slices.Contains(switchback.QuickLooks(), 2*counted(s, groups)) {
			s.Windows, s.Faults = s.Windows[:windows], s.Faults[:windows]
			return s, true
		}
	}
	return s, false
}
