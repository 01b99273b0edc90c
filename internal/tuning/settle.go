package tuning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Deadline says how long the cluster may take to settle after a change, and how long it has to stay
// settled.
type Deadline struct {
	// Polls is the number of consecutive samples in which the cluster has to be settled.
	Polls int
	// Soak is the minimum time from the first to the last of the settled samples.
	Soak time.Duration
	// Deadline is the maximum time of the whole wait.
	Deadline time.Duration
}

// DefaultDeadline returns the deadline for changes. A change of a number of PGs moves data, so it gets a
// longer deadline than other changes.
func DefaultDeadline(changes []Change) Deadline {
	p := Deadline{Polls: 5, Soak: 30 * time.Second, Deadline: 15 * time.Minute}
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Setting.isPGNum() }) {
		p.Deadline = 2 * time.Hour
	}
	return p
}

// Sample is the state of the cluster at one moment.
type Sample struct {
	At    time.Time
	Facts Facts
	// Status was read at about the same time as Facts.
	Status *ceph.Status
}

// Settling is the state of waiting for a change to take effect. The zero value is ready for the first sample.
// If Agreeing and Since are lost, the polls and the soak start over. If Began is lost too, the deadline also
// starts over.
type Settling struct {
	Began time.Time `json:"began"`
	// Agreeing is the number of consecutive settled samples up to the latest sample, and Since is the time of
	// the first of these settled samples.
	Agreeing int       `json:"agreeing"`
	Since    time.Time `json:"since,omitzero"`
}

// Settled is the result of a sample.
type Settled struct {
	// Done reports that the cluster has the settings, and has been quiescent for as long as Deadline requires.
	Done bool
	// Failed reports that the deadline has passed without Done.
	Failed bool
	// Inert lists the changes whose value Ceph no longer has, and those whose value in Ceph is unknown. If it
	// is not empty, waiting longer does not help.
	Inert []Inert
	// Progress says what the wait is for, or how it ended.
	Progress string
}

// Next judges a sample, and returns the new state and the result.
func (s Settling) Next(sample Sample, want []Change, deadline Deadline, known Known) (Settling, Settled) {
	if s.Began.IsZero() {
		s.Began = sample.At
	}
	known.Facts = sample.Facts
	if lost := lostValues(want, known); len(lost) > 0 {
		return s, Settled{Inert: lost, Progress: lost[0].Message}
	}
	pending := unsettled(sample, want)
	if len(pending) > 0 {
		s.Agreeing, s.Since = 0, time.Time{}
	} else {
		if s.Agreeing == 0 {
			s.Since = sample.At
		}
		s.Agreeing++
	}
	return s, s.verdict(sample.At, pending, deadline)
}

func (s Settling) verdict(now time.Time, pending []string, deadline Deadline) Settled {
	soaked := now.Sub(s.Since)
	waited := now.Sub(s.Began).Round(time.Second)
	switch {
	case len(pending) == 0 && s.Agreeing >= deadline.Polls && soaked >= deadline.Soak:
		return Settled{Done: true, Progress: fmt.Sprintf("settled after %s", waited)}
	case now.Sub(s.Began) >= deadline.Deadline:
		reason := "the cluster was not quiescent for long enough"
		if len(pending) > 0 {
			reason = strings.Join(pending, "; ")
		}
		return Settled{Failed: true, Progress: fmt.Sprintf("not settled within %s: %s", deadline.Deadline, reason)}
	case len(pending) > 0:
		return Settled{Progress: strings.Join(pending, "; ")}
	default:
		return Settled{Progress: fmt.Sprintf("quiescent for %s (samples: %d)", soaked.Round(time.Second), s.Agreeing)}
	}
}

// unsettled lists why a sample is not settled, with the most important reason first.
func unsettled(sample Sample, want []Change) []string {
	var pending []string
	for _, change := range want {
		if change.Setting.isPGNum() {
			pending = append(pending, splitting(sample, change)...)
		}
	}
	return append(pending, unrest(sample.Status, len(pending) == 0)...)
}

// Unrest says why a cluster is not quiescent; "" if it is.
func Unrest(status *ceph.Status) string { return strings.Join(unrest(status, true), "; ") }

// unrest lists why a cluster is not quiescent. If `counts` is true and no other reason was found, it also
// reports how many PGs have an unknown state.
func unrest(status *ceph.Status, counts bool) []string {
	var pending []string
	if texts := status.ListPGs(ceph.PGState.IsUnclean); texts != "" {
		pending = append(pending, fmt.Sprintf("PGs that are not active+clean: %s", texts))
	}
	if status.MisplacedObjects > 0 {
		pending = append(pending, fmt.Sprintf("copies of objects to move: %d", status.MisplacedObjects))
	}
	if status.DegradedObjects > 0 {
		pending = append(pending, fmt.Sprintf("copies of objects to create: %d", status.DegradedObjects))
	}
	if counted := total(status.PGsByState); counts && len(pending) == 0 && counted != status.PGs {
		pending = append(pending, fmt.Sprintf("the state of %d of %d PGs is unknown yet", status.PGs-counted, status.PGs))
	}
	return pending
}

// splitting describes a pool's progress towards a change's number of PGs; nil if the pool has reached that
// number. Ceph changes five numbers of the pool one after another, and all five have to match.
func splitting(sample Sample, change Change) []string {
	pool, found := sample.Facts.Pool(change.Setting.Pool)
	wanted, err := strconv.Atoi(change.To.Text)
	if !found || err != nil {
		return []string{fmt.Sprintf("there is no pool %s for %s", change.Setting.Pool, change)}
	}
	numbers := []int{pool.PGNum, pool.PGNumTarget, pool.PGNumPending, pool.PGPlacementNum, pool.PGPlacementTarget}
	if !slices.ContainsFunc(numbers, func(n int) bool { return n != wanted }) {
		return nil
	}
	text := fmt.Sprintf("pool %s has %d PGs and pgp_num %d, on the way to %d", pool.Name, pool.PGNum, pool.PGPlacementNum, wanted)
	if !sample.Status.ManagerActive {
		text += ", and no active manager continues it"
	}
	return []string{text}
}

func total(byState map[string]int) int {
	sum := 0
	for _, n := range byState {
		sum += n
	}
	return sum
}
