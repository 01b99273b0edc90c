package switchback

import (
	"testing"

	"github.com/cephtune/cephtune/internal/stats"
)

func TestSmallestProvableShrinksWithWindowsAndSessions(t *testing.T) {
	q := Question{Criteria: stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}, Candidates: 1, Quick: true}
	general := q
	general.Quick, general.MaxSessions = false, 3
	more := general
	more.MaxSessions = 6
	of := func(q Question, pairs int) float64 {
		t.Helper()
		ratio, err := q.SmallestProvable(0.05, 0.02, pairs)
		if err != nil {
			t.Fatal(err)
		}
		return ratio
	}
	if few, many := of(q, 8), of(q, 60); !(few > many && many > 1.1) {
		t.Errorf("quick: %v at 8 pairs, %v at 60", few, many)
	}
	if three, six := of(general, 8), of(more, 8); !(three > six && six > 1.1) {
		t.Errorf("general: %v in 3 sessions, %v in 6", three, six)
	}
	lower := q
	lower.Criteria.Direction = stats.LowerIsBetter
	if ratio := of(lower, 60); ratio >= 0.9 {
		t.Errorf("a latency would have to fall to %v", ratio)
	}
}
