package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func window(start float64, count int64) LatencyWindow {
	return LatencyWindow{StartSeconds: start, EndSeconds: start + 5, Histogram: &Histogram{Bins: []Bin{{Nanoseconds: 1, Count: count}}}}
}

// Windows that one side lacks must be left out, because their sum would look like that of both
// sides.
func TestAddLatencyWindows(t *testing.T) {
	sum, err := AddLatencyWindows([]LatencyWindow{window(0, 1), window(5, 2), window(10, 3)}, []LatencyWindow{window(5, 7), window(10, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]LatencyWindow{window(5, 9), window(10, 4)}, sum); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLatencyWithin(t *testing.T) {
	d := &Direction{LatencyWindows: []LatencyWindow{window(0, 1), window(5, 10), window(10, 100)}}
	for _, tc := range []struct {
		from, to float64
		want     int64
	}{{0, 15, 111}, {3, 15, 111}, {5, 15, 110}, {0, 14, 11}, {6, 12, 10}, {0, 4, 0}, {20, 30, 0}} {
		h, err := d.LatencyWithin(tc.from, tc.to)
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		if h != nil {
			got = h.Count()
		}
		if got != tc.want {
			t.Errorf("from %v to %v: %d, want %d", tc.from, tc.to, got, tc.want)
		}
	}
}

func TestWindowsThatCannotBe(t *testing.T) {
	for name, windows := range map[string][]LatencyWindow{
		"without a histogram": {{StartSeconds: 0, EndSeconds: 5}},
		"backwards":           {window(5, 1), window(0, 1)},
		"of no length":        {{StartSeconds: 1, EndSeconds: 1, Histogram: &Histogram{}}},
		"of negative counts":  {window(0, -1)},
	} {
		if validateWindows(windows) == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := validateWindows([]LatencyWindow{window(0, 1), window(10, 1)}); err != nil {
		t.Error(err)
	}
}
