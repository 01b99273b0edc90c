package changepoint

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// series is a simulated benchmark.
type series struct {
	nights     int
	noise      float64
	memory     float64
	step       int // the first night after the step; 0 for none
	size       float64
	trend      float64 // over the whole series
	outliers   float64 // probability of a night that is a third slower
	noWeekends bool
	missing    float64 // probability that a night has no result
	gap        [2]int  // the first night without results, and the next with one
}

func (s series) draw(seed uint64) (nights []Night, step int) {
	rng := rand.New(rand.NewPCG(2026, seed))
	begin := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	z := rng.NormFloat64()
	for i := range s.nights {
		z = s.memory*z + math.Sqrt(1-s.memory*s.memory)*rng.NormFloat64()
		y := s.noise*z + s.trend*float64(i)/float64(s.nights)
		if s.step > 0 && i >= s.step {
			y += s.size
		}
		if rng.Float64() < s.outliers {
			y -= 0.4
		}
		at := begin.AddDate(0, 0, i)
		if day := at.Weekday(); s.noWeekends && (day == time.Saturday || day == time.Sunday) {
			continue
		}
		if s.missing > 0 && rng.Float64() < s.missing || i >= s.gap[0] && i < s.gap[1] {
			continue
		}
		if i < s.step {
			step++
		}
		nights = append(nights, Night{Time: at, Value: 1000 * math.Exp(y)})
	}
	return nights, step
}

func long() bool { return os.Getenv("CEPHTUNE_SIMULATION") == "long" }

// looks calls a function with the answer after each night.
func looks(t *testing.T, nights []Night, from int, look func(last int, a Answer) (done bool)) {
	t.Helper()
	for n := max(from, LeastNights); n <= len(nights); n++ {
		a, err := Find(nights[:n])
		if err != nil {
			t.Fatal(err)
		}
		if look(n, a) {
			return
		}
	}
}

// atMost allows three standard errors of a count.
func atMost(t *testing.T, name string, got, n int, want float64) {
	t.Helper()
	t.Logf("%s: %.2f", name, float64(got)/float64(n))
	if most := want + 3*math.Sqrt(want/float64(n)); float64(got)/float64(n) > most {
		t.Errorf("%s: %.2f, want at most %v", name, float64(got)/float64(n), want)
	}
}

func atLeast(t *testing.T, name string, got, n int, want float64) {
	t.Helper()
	t.Logf("%s: %.3f", name, float64(got)/float64(n))
	if least := want - 3*math.Sqrt(want*(1-want)/float64(n)); float64(got)/float64(n) < least {
		t.Errorf("%s: %.3f, want at least %v", name, float64(got)/float64(n), want)
	}
}

// A point that a look after any night shows is a false point, however short it lasts. Two points at most five nights apart are one.
func TestSimulatedFalsePoints(t *testing.T) {
	n, first := 8, uint64(0)
	if long() {
		n, first = 400, 1<<20 // not the series on which the method was tuned
	}
	for _, c := range []struct {
		name   string
		series series
		most   float64 // in 100 nights
	}{
		{"independent", series{nights: 100, noise: 0.05}, 1},
		{"no weekends", series{nights: 140, noise: 0.05, noWeekends: true}, 1},
		{"one in ten is missing", series{nights: 110, noise: 0.05, missing: 0.1}, 1},
		{"a week, and one in ten, are missing", series{nights: 117, noise: 0.05, missing: 0.1, gap: [2]int{57, 64}}, 1},
		{"outliers", series{nights: 100, noise: 0.05, outliers: 0.05}, 1.5},
		{"10 % slower in 100 nights", series{nights: 100, noise: 0.05, trend: -0.10}, 2},
		{"25 % slower in 100 nights", series{nights: 100, noise: 0.05, trend: -0.25}, 2},
		{"memory .3", series{nights: 100, noise: 0.05, memory: 0.3}, 2.5},
		{"memory .5", series{nights: 100, noise: 0.05, memory: 0.5}, 3.5},
	} {
		points, left, trends := 0, 0, 0
		for i := range n {
			nights, _ := c.series.draw(first + uint64(i))
			var known []int
			looks(t, nights, 0, func(last int, a Answer) bool {
				for _, p := range a.Points {
					isNew := true
					for _, k := range known {
						isNew = isNew && (p.Since < k-5 || p.Since > k+5)
					}
					if isNew {
						known = append(known, p.Since)
					}
				}
				if last == len(nights) && len(a.Points) > 0 {
					left++
				}
				if last == len(nights) && len(a.Trends) > 0 {
					trends++
				}
				return false
			})
			points += len(known)
		}
		t.Logf("%s: after all nights, %.2f have a point and %.2f a trend", c.name, float64(left)/float64(n), float64(trends)/float64(n))
		atMost(t, c.name, points, n, c.most)
	}
}

// near returns the point within a week of a night that goes up, or down.
func (a Answer) near(night int, up bool) (Point, bool) {
	for _, p := range a.Points {
		if p.Since >= night-7 && p.Since <= night+7 && (p.Ratio > 1) == up {
			return p, true
		}
	}
	return Point{}, false
}

func TestSimulatedSteps(t *testing.T) {
	n, first := 60, uint64(1000)
	if long() {
		n, first = 800, 1<<21
	}
	for _, c := range []struct {
		name        string
		series      series
		five, ten   float64 // shares found within as many nights
		date, sizes float64 // coverage after 30 nights
	}{
		{"independent", series{nights: 90, noise: 0.05, step: 60, size: -0.10}, 0.9, 0.95, 0.9, 0.95},
		{"faster", series{nights: 90, noise: 0.05, step: 60, size: 0.10}, 0.9, 0.95, 0.9, 0.95},
		{"memory .5", series{nights: 90, noise: 0.05, memory: 0.5, step: 60, size: -0.10}, 0.65, 0.8, 0.8, 0.92},
		{"outliers", series{nights: 90, noise: 0.05, outliers: 0.05, step: 60, size: -0.10}, 0.6, 0.85, 0.9, 0.95},
		{"one in ten is missing", series{nights: 100, noise: 0.05, missing: 0.1, step: 66, size: -0.10}, 0.9, 0.95, 0.9, 0.95},
		{"the week of the step is missing", series{nights: 97, noise: 0.05, gap: [2]int{57, 64}, step: 60, size: -0.10}, 0.85, 0.95, 0.9, 0.95},
		{"the week, and one in ten, are missing", series{nights: 107, noise: 0.05, missing: 0.1, gap: [2]int{63, 70}, step: 66, size: -0.10}, 0.85, 0.95, 0.9, 0.95},
		{"30 %", series{nights: 90, noise: 0.05, step: 60, size: -0.36}, 0.99, 0.99, 0.9, 0.95},
	} {
		five, ten, found, date, sizes, width := 0, 0, 0, 0, 0, 0
		for i := range n {
			nights, step := c.series.draw(first + uint64(i))
			isIt := func(a Answer) (Point, bool) { return a.near(step, c.series.size > 0) }
			looks(t, nights[:step+10], step+1, func(last int, a Answer) bool {
				_, ok := isIt(a)
				if ok {
					ten++
				}
				if ok && last <= step+5 {
					five++
				}
				return ok
			})
			a, err := Find(nights)
			if err != nil {
				t.Fatal(err)
			}
			p, ok := isIt(a)
			if !ok {
				continue
			}
			found++
			width += p.Last - p.First + 1
			if p.First <= step && step <= p.Last {
				date++
			}
			if truth := math.Exp(c.series.size); p.Low <= truth && truth <= p.High {
				sizes++
			}
		}
		atLeast(t, c.name+", within 5 nights", five, n, c.five)
		atLeast(t, c.name+", within 10 nights", ten, n, c.ten)
		atLeast(t, c.name+", coverage of the date", date, found, c.date)
		atLeast(t, c.name+", coverage of the size", sizes, found, c.sizes)
		t.Logf("%s: after 30 nights, %.3f found, the range has %.1f nights", c.name, float64(found)/float64(n), float64(width)/float64(found))
	}
}
