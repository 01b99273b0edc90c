package watch

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/live"
)

// ending is how an object has ended.
type ending int

const (
	endNone   ending = iota // it has not
	endResult               // with a result
	endFailed               // without results, or it waits until a user changes something
)

// view is what people care about of an object at work.
type view struct {
	phase, message string
	progress, step string
	best           string    // configuration so far, with its effect
	ends           time.Time // when it is expected to; zero if that is not known
	end            ending
	// clients measure at present; the name is empty if no clients do.
	clients live.Subject
	// live is how fast they are.
	live string
}

// detail is what goes on. While runs are made the message begins with what the step says
// as well.
func (v view) detail() string {
	busy := v.phase == v1alpha1.ReasonRunning || v.phase == v1alpha1.ReasonSettling
	if v.step == "" || !busy {
		return strings.Join(words(onlyIf(v.step == "being deleted", v.step), v.message), ": ")
	}
	more := v.message
	if strings.HasPrefix(more, "Run ") {
		_, more, _ = strings.Cut(more, ". ")
	}
	return strings.Join(words(v.step, more), ". ")
}

// line is the view on one line.
func (v view) line(now time.Time) string {
	phase := v.phase
	if phase == "" {
		phase = "-"
	}
	parts := words(
		now.Format(time.TimeOnly), fmt.Sprintf("%-15s", phase), v.progress, onlyIf(v.end == endNone, v.live),
		prefixed("best so far ", onlyIf(v.end == endNone, v.best)),
		prefixed("until about ", v.until(now)), onlyIf(v.end == endNone, v.detail()),
	)
	return strings.TrimRight(strings.Join(parts, "  "), " ")
}

// liveLine is how fast the clients are, on a line of its own.
func (v view) liveLine(now time.Time) string {
	return strings.Join(words(now.Format(time.TimeOnly), fmt.Sprintf("%-15s", v.phase), v.progress, v.live), "  ")
}

// until is when it is expected to end: the time of day, and the day if that is another.
func (v view) until(now time.Time) string {
	if v.ends.IsZero() || v.end != endNone {
		return ""
	}
	at, layout := v.ends.In(now.Location()), "15:04"
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = "Mon Jan _2 15:04"
	}
	return at.Format(layout)
}

// landmark is what two views of the same stage have in common. Views that differ only in
// numbers, such as how many PGs are not clean yet, are the same: a line for each would flood a
// log.
func (v view) landmark() string {
	return strings.Join([]string{v.phase, v.progress, v.best, onlyIf(v.step == "being deleted", v.step)}, "\x00")
}

// news is what makes a line of its own where lines cannot be redrawn.
func (v view) news() string {
	numbers := regexp.MustCompile(`([0-9]+(\.[0-9]+)?(ms|s|m|h)?)+`)
	return strings.Join([]string{v.landmark(), v.step, numbers.ReplaceAllString(v.detail(), "0")}, "\x00")
}

// words are those that are not empty.
func words(all ...string) []string {
	var some []string
	for _, word := range all {
		if word != "" {
			some = append(some, word)
		}
	}
	return some
}

func onlyIf(so bool, text string) string {
	if so {
		return text
	}
	return ""
}

func prefixed(prefix, text string) string { return onlyIf(text != "", prefix+text) }
