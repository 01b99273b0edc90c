package changepoint

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func every(values []float64) []Night {
	nights := make([]Night, len(values))
	for i, v := range values {
		nights[i] = Night{Time: time.Date(2026, 1, 1+i, 2, 0, 0, 0, time.UTC), Value: v}
	}
	return nights
}

// answer is ours about a series, and why Otava has another one.
type answer struct {
	since  []int
	trends int
	why    string
}

func answers() map[string]answer {
	return map[string]answer{
		"noise 0":     {[]int{43, 52}, 0, "both take some nights by chance for a level; a level of ours has at least five nights, one of Otava's two"},
		"noise 1":     {[]int{}, 0, ""},
		"noise 2":     {[]int{}, 0, "Otava tests the best of many splits as if it were the only one"},
		"step 0":      {[]int{36, 60}, 0, "ours has a doubtful point besides, whose interval includes no change"},
		"step 1":      {[]int{60}, 0, ""},
		"step 2":      {[]int{62}, 0, ""},
		"up and down": {[]int{30, 60}, 1, "ours calls the nights until the first step a rise by chance, and so measures the step from its end"},
		"memory 0":    {[]int{}, 0, "Otava takes nights as independent, so a slow wave of noise is steps"},
		"memory 1":    {[]int{}, 0, ""},
		"trend 0":     {[]int{}, 1, "Otava knows no trends, so a trend is steps"},
		"trend 1":     {[]int{}, 1, "Otava knows no trends, so a trend is steps"},
		"outliers":    {[]int{}, 0, ""},
	}
}

// TestAgainstOtava compares with what Apache Otava 0.8.0 (E-Divisive, window 50, p 0.001) says of the same series.
func TestAgainstOtava(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "otava.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name   string
		Values []float64
		Otava  [][2]float64 // first night after the change, and ratio
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		got, err := Find(every(s.Values))
		if err != nil {
			t.Fatal(err)
		}
		want, known := answers()[s.Name]
		sinces, agree := []int{}, len(got.Points) == len(s.Otava)
		for i, p := range got.Points {
			sinces = append(sinces, p.Since)
			agree = agree && math.Abs(float64(p.Since)-s.Otava[i][0]) <= 3 && p.Low <= s.Otava[i][1] && s.Otava[i][1] <= p.High
		}
		if !known || !slices.Equal(sinces, want.since) || agree != (want.why == "") {
			t.Errorf("%s: %+v, want %v; Otava %v, known difference %q", s.Name, got.Points, want.since, s.Otava, want.why)
		}
		if len(got.Trends) != want.trends {
			t.Errorf("%s: trends %+v, want %d", s.Name, got.Trends, want.trends)
		}
	}
}

func TestRefused(t *testing.T) {
	values := make([]float64, LeastNights)
	for i := range values {
		values[i] = 100 + float64(i%3)
	}
	if _, err := Find(every(values)); err != nil {
		t.Error(err)
	}
	if _, err := Find(every(values[1:])); !errors.Is(err, ErrTooFew) {
		t.Errorf("%v, want ErrTooFew", err)
	}
	if _, err := Find(make([]Night, MostNights+1)); err == nil {
		t.Error("no error for too many nights")
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		nights := every(values)
		nights[5].Value = bad
		if _, err := Find(nights); err == nil {
			t.Errorf("no error for the value %v", bad)
		}
	}
	nights := every(values)
	nights[3].Time = nights[2].Time
	if _, err := Find(nights); err == nil {
		t.Error("no error for two nights at one time")
	}
}

// Nights without any noise are steps or nothing, never NaN; and a night's own standard error hides what it does not show.
func TestIdenticalNights(t *testing.T) {
	values := make([]float64, 30)
	for i := range values {
		values[i] = 100
	}
	got, err := Find(every(values))
	if err != nil || len(got.Points) != 0 || len(got.Trends) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for i := 20; i < 30; i++ {
		values[i] = 90
	}
	nights := every(values)
	got, err = Find(nights)
	if err != nil || len(got.Points) != 1 || got.Points[0].Since != 20 || math.Abs(got.Points[0].Ratio-0.9) > 1e-6 {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range nights {
		nights[i].StdErr = 0.2
	}
	if got, err = Find(nights); err != nil || len(got.Points) != 0 {
		t.Errorf("with standard errors of 20 %%: %+v, %v", got, err)
	}
}

func BenchmarkYear(b *testing.B) {
	nights, _ := series{nights: 365, noise: 0.05, step: 200, size: -0.1}.draw(1)
	for b.Loop() {
		if _, err := Find(nights); err != nil {
			b.Fatal(err)
		}
	}
}
