package curve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A change of the method shows in every step of a course. UPDATE_GOLDEN=1 writes it anew.
func TestGoldenCourse(t *testing.T) {
	c := &cluster{law: laws()[3], k: 8, capacity: 1000, noise: 0.03, multiple: 3, rng: rand.New(rand.NewPCG(2026, 7))}
	o, steps := c.course(question(), readTruths(t))
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "%2d %-7s %7.1f/s", i+1, s.Purpose, s.OfferedPerSecond)
		if s.Saturated {
			b.WriteString(" saturated\n")
			continue
		}
		fmt.Fprintf(&b, " %5d of %5d over the limit\n", s.Over, s.Count)
	}
	fmt.Fprintf(&b, "truth %.0f/s\n%s: %s\n", o.truth, o.knee.State, o.knee.Reason)
	path := filepath.Join("testdata", "course.txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the course changed:\n%s\nwant:\n%s", b.String(), want)
	}
}
