package history

import "testing"

func TestSizesInWords(t *testing.T) {
	for want, ratios := range map[string][3]float64{
		"worse by 12 % (8–16 %)":      {0.88, 0.84, 0.92},
		"worse by 12 % (-2 to +26 %)": {1.12, 0.98, 1.26},
		"worse by 100 % (50–150 %)":   {2, 1.5, 2.5},
	} {
		if got := size(true, ratios[0], ratios[1], ratios[2]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
