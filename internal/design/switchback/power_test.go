package switchback

import (
	"errors"
	"testing"

	"github.com/cephtune/cephtune/internal/stats"
)

func TestSmallestProvableShrinksWithWindowsAndSessions(t *testing.T) {
	q := Question{Criteria: stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}, Candidates: 1, Quick: true, LastLook: LastLook}
	general := q
	general.Quick, general.MaxSessions = false, 3
	more := general
	more.MaxSessions = 6
	provable := func(q Question, pairs int) float64 {
		t.Helper()
		ratio, err := q.SmallestProvable(0.05, 0.02, pairs)
		if err != nil {
			t.Fatal(err)
		}
		return ratio
	}
	short, several := q, q
	short.LastLook, several.Candidates = 8, 2
	if few, many := provable(short, 8), provable(q, 60); !(few > many && many > 1.1) {
		t.Errorf("quick: %v with one look at 8 pairs, %v with looks up to 60", few, many)
	}
	if one, all := provable(short, 8), provable(q, 8); one >= all {
		t.Errorf("8 pairs prove %v at their only look, %v at the first of six", one, all)
	}
	if one, two := provable(q, 60), provable(several, 60); one >= two {
		t.Errorf("60 pairs prove %v of one candidate, %v of two", one, two)
	}
	never := q
	never.LastLook = 10
	if _, err := never.SmallestProvable(0.05, 0.02, 10); !errors.Is(err, stats.ErrParameter) {
		t.Errorf("there is no look at 10 pairs: %v", err)
	}
	if three, six := provable(general, 8), provable(more, 8); !(three > six && six > 1.1) {
		t.Errorf("general: %v in 3 sessions, %v in 6", three, six)
	}
	lower := q
	lower.Criteria.Direction = stats.LowerIsBetter
	if ratio := provable(lower, 60); ratio >= 0.9 {
		t.Errorf("a latency would have to fall to %v", ratio)
	}
}
