package ellipsis_test

import (
	"testing"

	"github.com/cephtune/cephtune/internal/ellipsis"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		given          string
		most           int
		want, wantRear string
	}{
		{"", 3, "", ""},
		{"short", 5, "short", "short"},
		{"longer", 5, "lo…", "…er"},
		{"longer", 3, "…", "…"},
		{"äöü", 6, "äöü", "äöü"},
		{"äöü", 5, "ä…", "…ü"},
		{"äöüß", 6, "ä…", "…ß"}, // There is room for half of another character.
	} {
		if got := ellipsis.Cut(c.given, c.most); got != c.want || len(got) > c.most {
			t.Errorf("%q, cut at its end to %d bytes, became %q, want %q", c.given, c.most, got, c.want)
		}
		if got := ellipsis.CutFront(c.given, c.most); got != c.wantRear || len(got) > c.most {
			t.Errorf("%q, cut at its beginning to %d bytes, became %q, want %q", c.given, c.most, got, c.wantRear)
		}
	}
}
