package parse

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/result"
)

func TestFloatIsThatOfStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		text := strconv.FormatFloat(math.Exp(random.NormFloat64()*20), 'g', 1+random.IntN(17), 64)
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Float([]byte(text)); !ok || got != want {
			t.Fatalf("Float(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
}

func TestFloatTakesDecimalQuantitiesOnly(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "12": 12, "1.5": 1.5, ".5": 0.5, "5.": 5, "1.2e+06": 1.2e6, "6.89e-05": 6.89e-5, "1.79769e+308": 1.79769e308,
		"123456789012345": 123456789012345, "1234567890123456": 1234567890123456, "0.000000000000001": 1e-15,
	} {
		if got, ok := Float([]byte(text)); !ok || got != want {
			t.Errorf("Float(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".", "-", "-1", "-0.5", "+-1", "nan", "-nan", "inf", "Infinity", "0x1p4", "1_000", "1,5", "1e999", "1 ", "1.2.3", "e5"} {
		if got, ok := Float([]byte(text)); ok {
			t.Errorf("Float(%q) = %v, want none", text, got)
		}
	}
}

func TestIntTakesWholeNumbersOnly(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "007": 7, "999999999999999999": 999999999999999999} {
		if got, ok := Int([]byte(text)); !ok || got != want {
			t.Errorf("Int(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.0", "1e3", " 1", "9999999999999999999"} {
		if got, ok := Int([]byte(text)); ok {
			t.Errorf("Int(%q) = %v, want none", text, got)
		}
	}
}

func TestLinesHaveNoEndsAndNumbers(t *testing.T) {
	long := strings.Repeat("x", bufferSize+100)
	lines := NewLines(strings.NewReader("one\ntwo\r\n\nprogress 1\rprogress 2\r\n" + long + "\nlast"))
	var got []string
	for lines.Next() {
		if lines.Number() != len(got)+1 {
			t.Errorf("line %d has the number %d", len(got)+1, lines.Number())
		}
		got = append(got, string(lines.Bytes()))
	}
	if diff := cmp.Diff([]string{"one", "two", "", "progress 2", long, "last"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := lines.Err(); err != nil || lines.Next() {
		t.Errorf("at the end there is %v", err)
	}
}

func TestLinesAreBounded(t *testing.T) {
	lines := NewLines(strings.NewReader("short\n" + strings.Repeat("x", MaxLine+1) + "\n"))
	for lines.Next() {
	}
	var syntax *SyntaxError
	if err := lines.Err(); !errors.As(err, &syntax) || syntax.Line != 2 {
		t.Errorf("got %v, want a SyntaxError on line 2", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestErrorsOfTheReaderAreNotThoseOfTheFormat(t *testing.T) {
	lines := NewLines(io.MultiReader(strings.NewReader("one\ntw"), brokenReader{}))
	for lines.Next() {
	}
	if err := lines.Err(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want that of the reader", err)
	}
	if _, err := ReadDocument(brokenReader{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want that of the reader", err)
	}
}

func TestErrorsAboutALineThatIsCutOffAreExplained(t *testing.T) {
	wrong := &SyntaxError{Line: 2, Want: "a number", Found: "x"}
	for text, want := range map[string]bool{"one\ntw": true, "one\ntwo\n": false} {
		lines := NewLines(strings.NewReader(text))
		for lines.Next() && lines.Number() < 2 {
		}
		var incomplete *IncompleteError
		if err := lines.Explain(wrong); errors.As(err, &incomplete) != want || err.Error() == "" {
			t.Errorf("%q: got %v, incomplete should be %v", text, err, want)
		}
	}
	if err := NewLines(strings.NewReader("")).Explain(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestExcerptsAreShortAndPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\x00c":              "a b c",
		strings.Repeat("ä", 100): strings.Repeat("ä", 60) + "…",
		"\xff\xfe":               "",
	} {
		if got := Excerpt([]byte(text)); got != want {
			t.Errorf("Excerpt(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Quote(nil); got != "nothing" {
		t.Errorf("Quote(nil) = %q", got)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var notes Notes
	for i := range 100 {
		notes.Add(result.WarnToolMessage, i+1, []byte("again"))
	}
	r := &result.Result{}
	notes.AppendTo(r)
	if len(r.Warnings) != maxNotes+1 || !strings.HasSuffix(r.Warnings[maxNotes].Message, ": 84") {
		t.Errorf("got %d warnings, the last one %v", len(r.Warnings), r.Warnings[len(r.Warnings)-1])
	}
}

func TestCheckDuration(t *testing.T) {
	partial := &result.Result{}
	if err := CheckDuration(partial, 57, 60); err != nil {
		t.Errorf("57 of 60 s: %v", err)
	}
	var incomplete *IncompleteError
	if err := CheckDuration(partial, 56, 60); !errors.As(err, &incomplete) || incomplete.Reason != EndedEarly || incomplete.Partial != partial {
		t.Errorf("56 of 60 s: %v", err)
	}
	if err := CheckDuration(partial, 1, 0); err != nil {
		t.Errorf("of an unknown time: %v", err)
	}
}

func TestDelay(t *testing.T) {
	now := time.UnixMilli(1e12)
	for ago, want := range map[time.Duration]time.Duration{
		200 * time.Millisecond: 200 * time.Millisecond, -time.Second: 0, time.Hour: 0,
	} {
		if got := (&Counted{Taken: now.Add(-ago)}).Delay(now); got != want {
			t.Errorf("%v ago: %v, want %v", ago, got, want)
		}
	}
	if got := (&Counted{}).Delay(now); got != 0 {
		t.Errorf("of a report that does not say when it was taken: %v", got)
	}
}
