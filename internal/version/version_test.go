package version

import "testing"

func TestVersionIsThatOfTheRelease(t *testing.T) {
	release = "v1.2.3"
	t.Cleanup(func() { release = "" })
	if got := Version(); got != "v1.2.3" {
		t.Errorf("got %q", got)
	}
}

func TestVersionWithoutReleaseIsNeverEmpty(t *testing.T) {
	if got := Version(); got == "" {
		t.Error("got nothing")
	}
}
