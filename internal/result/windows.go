package result

import (
	"fmt"
	"slices"
)

// LatencyWindow is the latency histogram of a part of a phase.
type LatencyWindow struct {
	StartSeconds float64 `json:"startSeconds"`
	EndSeconds   float64 `json:"endSeconds"`
	// Histogram counts the operations that completed in the window. Without such operations, it has no bins.
	Histogram *Histogram `json:"histogram"`
}

// maxWindows is the maximum number of windows of a direction: a day of five-second windows.
const maxWindows = 24 * 3600 / 5

// AddLatencyWindows adds the windows of clients or jobs that started together, window by window. The result
// has the windows that both arguments have; nil without a common window.
func AddLatencyWindows(a, b []LatencyWindow) ([]LatencyWindow, error) {
	var sum []LatencyWindow
	for _, w := range a {
		index := slices.IndexFunc(b, func(o LatencyWindow) bool { return o.StartSeconds == w.StartSeconds && o.EndSeconds == w.EndSeconds })
		if index < 0 {
			continue
		}
		both, err := AddHistograms(w.Histogram, b[index].Histogram)
		if err != nil {
			return nil, err
		}
		sum = append(sum, LatencyWindow{StartSeconds: w.StartSeconds, EndSeconds: w.EndSeconds, Histogram: both})
	}
	return sum, nil
}

// LatencyWithin adds up the histograms of the windows that end after fromSeconds, but not after toSeconds;
// nil without such a window.
func (d *Direction) LatencyWithin(fromSeconds, toSeconds float64) (*Histogram, error) {
	var sum *Histogram
	for _, w := range d.LatencyWindows {
		if w.EndSeconds <= fromSeconds || w.EndSeconds > toSeconds {
			continue
		}
		if sum == nil {
			sum = &Histogram{}
		}
		var err error
		if sum, err = AddHistograms(sum, w.Histogram); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func validateWindows(windows []LatencyWindow) error {
	if len(windows) > maxWindows {
		return fmt.Errorf("latency windows: %d, more than %d", len(windows), maxWindows)
	}
	previous := 0.0
	for i, w := range windows {
		if !isQuantity(w.StartSeconds) || !isQuantity(w.EndSeconds) || w.StartSeconds < previous || w.EndSeconds <= w.StartSeconds || w.Histogram == nil {
			return fmt.Errorf("latency windows: window %d is from %v to %v s, after %v s", i, w.StartSeconds, w.EndSeconds, previous)
		}
		if err := w.Histogram.validate(); err != nil {
			return fmt.Errorf("latency windows: window %d: %w", i, err)
		}
		previous = w.EndSeconds
	}
	return nil
}

// WithoutCourse returns a copy without series and latency windows. The copy shares everything else
// with r.
func (r *Result) WithoutCourse() *Result {
	plain := r.WithoutLatencyWindows()
	for _, d := range plain.Directions() {
		d.Series = nil // This changes only the copy.
	}
	return plain
}

// WithoutLatencyWindows returns a copy without latency windows, which are large and used only once.
// The copy shares everything else with r.
func (r *Result) WithoutLatencyWindows() *Result {
	plain := *r
	for _, d := range r.Directions() {
		direction := *d.Direction
		direction.LatencyWindows = nil
		plain.SetDirection(d.Name, &direction)
	}
	return &plain
}
