package terminal

import (
	"os"
	"strings"
	"testing"
)

func TestColored(t *testing.T) {
	for text, want := range map[string]string{
		"cap=1  0.57  Inferior":        "cap=1  0.57  " + red + "Inferior" + reset,
		"cap=512 Inconclusive: few":    "cap=512 " + yellow + "Inconclusive" + reset + ": few",
		"ok       operator\nwrong x":   green + "ok" + reset + "       operator\n" + red + "wrong" + reset + " x",
		"all is ok, nothing is wrong":  "all is ok, nothing is wrong",
		"FailedOnVerdict, Superiority": "FailedOnVerdict, Superiority",
	} {
		if got := Colored(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestOnlyTerminalsAreColored(t *testing.T) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // the master of a new pseudoterminal
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pty.Close() }()
	environment := func(pairs ...string) func(string) string {
		return func(name string) string {
			for _, pair := range pairs {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		}
	}
	var memory strings.Builder
	for name, c := range map[string]struct{ got, want bool }{
		"a terminal":               {isColored(pty, environment("TERM=xterm")), true},
		"a terminal, NO_COLOR":     {isColored(pty, environment("TERM=xterm", "NO_COLOR=1")), false},
		"a terminal without color": {isColored(pty, environment("TERM=dumb")), false},
		"memory":                   {isColored(&memory, environment("TERM=xterm")), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: colored is %v, want %v", name, c.got, c.want)
		}
	}
	if _, err := WriteString(&memory, "Superior"); err != nil || memory.String() != "Superior" {
		t.Errorf("got %q, %v, want plain text", memory.String(), err)
	}
}
