package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/testing/judge"
)

// FuzzTable writes data into a table, and colors its verdicts. The terminal gets only our escape sequences, and
// a line for each row.
func FuzzTable(f *testing.F) {
	for _, text := range judge.Hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var out strings.Builder
		table := func(columns int) string {
			out.Reset()
			WriteTable(&out, columns, []string{"A", "B", "C"}, [][]string{{data, "x", "Superior"}, {"x", data, data}})
			return Colored(out.String())
		}
		if err := judge.Terminal(table(Narrow), red, green, yellow, reset); err != nil {
			t.Error(err)
		}
		text := table(1 << 30)
		if err := judge.Terminal(text, red, green, yellow, reset); err != nil {
			t.Error(err)
		}
		if lines := strings.Count(text, "\n"); lines != 3 {
			t.Errorf("%d lines:\n%s", lines, text)
		}
	})
}

func TestALongCellDoesNotPadAllOthers(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("x", 1<<20)
	WriteTable(&out, Narrow, []string{"A", "B"}, [][]string{{long, "1"}, {"a", "2"}, {"b", long}})
	if !strings.HasSuffix(out.String(), long+"\n") || out.Len() > len(long)+5*maxCell {
		t.Errorf("%d bytes: the last column is whole, others are not", out.Len())
	}
}

// All that is written to an Output is data, but the colors of WriteString are ours.
func FuzzOutput(f *testing.F) {
	for _, text := range judge.Hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var got bytes.Buffer
		out := NewOutput(&got)
		if n, err := out.Write([]byte(data)); n != len(data) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		for _, write := range []func() (int, error){
			func() (int, error) { return WriteString(out, data) },
			func() (int, error) { return Printf(out, "%s\n", data) },
		} {
			if _, err := write(); err != nil {
				t.Error(err)
			}
		}
		if err := judge.Terminal(strings.ReplaceAll(got.String(), "\t", " ")); err != nil {
			t.Error(err)
		}
		got.Reset()
		if _, err := ForFile(out).Write([]byte(data)); err != nil || got.String() != data {
			t.Errorf("a file gets %q, want %q", got.String(), data)
		}
	})
}

func TestPrintfKeepsData(t *testing.T) {
	var got strings.Builder
	if _, err := Printf(&got, "%s: %d\n", "wrong\nok  operator", 3); err != nil || got.String() != "wrong ok  operator: 3\n" {
		t.Errorf("%q, %v", got.String(), err)
	}
}
