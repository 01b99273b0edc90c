package runner

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/task"
)

// report returns a report whose compressed size is a little more than this many bytes.
func report(id string, size int) task.Report {
	noise := make([]byte, size)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte('!' + source.IntN(90))
	}
	r := task.Report{Client: 1, Output: string(noise)}
	r.ID, r.State = id, task.Cancelled
	return r
}

func framed(t testing.TB, reports ...task.Report) string {
	t.Helper()
	var log bytes.Buffer
	w := newFrameWriter(&log)
	for _, r := range reports {
		encoded, err := encodeReport(&r)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.write(r.ID, encoded); err != nil {
			t.Fatal(err)
		}
	}
	return log.String()
}

func TestAFrameOfATest(t *testing.T) {
	want := report("a", 10)
	var log bytes.Buffer
	if err := WriteFrame(&log, &want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFrames(&log, nil); err != nil || len(got) != 1 || got[0].Output != want.Output {
		t.Errorf("got %+v, %v", got, err)
	}
}

func ids(reports []task.Report) string {
	var s []string
	for _, r := range reports {
		s = append(s, r.ID)
	}
	return strings.Join(s, " ")
}

func TestFramesComeBack(t *testing.T) {
	want := []task.Report{report("a", 10), report("b", 20_000), report("c", 0)}
	log := framed(t, want...)
	for line := range strings.Lines(log) {
		if len(line) > 8<<10 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	decorate := func(before, after string) string {
		return before + strings.ReplaceAll(strings.TrimSuffix(log, "\n"), "\n", after+"\n"+before) + after + "\n"
	}
	for name, log := range map[string]string{
		"as it is":          log,
		"with times":        decorate("2026-11-21T15:34:23.123456789Z stdout F ", ""),
		"with returns":      decorate("", "\r"),
		"among other lines": decorate("task x: run \"rados\"\n", "\nend id=a"),
		"without an end":    strings.TrimSuffix(log, "\n"),
		"after a long line": strings.Repeat("x", 100_000) + "\n" + log,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadFrames(strings.NewReader(log), nil)
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDamagedFramesAreReported(t *testing.T) {
	a, b := framed(t, report("a", 20_000)), framed(t, report("b", 10))
	lines := strings.SplitAfter(a, "\n") // begin, three of data or more, end
	without := func(i int) string { return strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "") }
	cases := map[string]struct {
		log         string
		want        string
		wantProblem string
	}{
		"cut at the end":       {b + a[:len(a)-10], "b", "cut off by the end"},
		"cut by the next":      {a[:len(a)/2] + "\n" + b, "b", ""},
		"cut at the beginning": {a[len(a)/2:] + b, "b", "lost its beginning"},
		"a line is lost":       {without(2) + b, "b", "lost lines"},
		"a letter is another":  {strings.Replace(a, "data H", "data I", 1) + b, "b", "digest"},
		"not base64":           {strings.Replace(a, "data H", "data %", 1) + b, "b", "damaged"},
		"twice the data":       {strings.Join(append(append([]string{}, lines[:len(lines)-2]...), lines[1:]...), "") + b, "b", "longer"},
		"a length too long":    {strings.Replace(a, "bytes=", "bytes=999999", 1) + b, "b", "says that it has"},
		"left out":             {frameMagic + "omitted id=a bytes=9\n" + b, "b", "left out"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ReadFrames(strings.NewReader(tc.log), nil)
			frame, ok := errors.AsType[*FrameError](err)
			if ids(got) != tc.want || !ok || frame.ID != "a" || !strings.Contains(frame.Problem, tc.wantProblem) {
				t.Errorf("got %q, %v, want %q and an error about a with %q", ids(got), err, tc.want, tc.wantProblem)
			}
			if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 1 {
				t.Errorf("errors: %v, want one", err)
			}
		})
	}
}

func TestTheLogHasRoomForAWhile(t *testing.T) {
	var reports []task.Report
	for i := range 100 {
		reports = append(reports, report(fmt.Sprint("t", i), 60_000))
	}
	log := framed(t, reports...)
	if len(log) > task.MaxReportBytes+100*100 {
		t.Errorf("the log has %d bytes", len(log))
	}
	got, err := ReadFrames(strings.NewReader(log), nil)
	frame, ok := errors.AsType[*FrameError](err)
	if n := len(got); n < 50 || n > 90 || !ok || frame.ID != fmt.Sprint("t", n) || !strings.Contains(err.Error(), "left out") {
		t.Errorf("got %d reports, and %v", n, err)
	}
}

func TestALogThatCannotBeReadKeepsWhatWasRead(t *testing.T) {
	broken := errors.New("broken")
	got, err := ReadFrames(&brokenReader{text: framed(t, report("a", 10), report("b", 10)), err: broken}, nil)
	if ids(got) != "a b" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", ids(got), err)
	}
}

type brokenReader struct {
	text string
	err  error
}

func (r *brokenReader) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, r.err
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// Whatever a log contains, ReadFrames must not crash and must return only valid reports.
func FuzzReadFrames(f *testing.F) {
	log := framed(f, report("a", 10), report("b", 20)) // Short, because the fuzzer needs a minute to shorten a long one.
	f.Add(log)
	f.Add(log[:len(log)/2] + log)
	f.Add(frameMagic + "begin id=a bytes=1 sha256=x lines=1\n" + frameMagic + "data !\n" + frameMagic + "end id=b\n")
	f.Add(frameMagic + "omitted id=a bytes=9\n")
	f.Fuzz(func(t *testing.T, log string) {
		reports, err := ReadFrames(strings.NewReader(log), nil)
		for _, r := range reports {
			if !isID(r.ID) || !r.State.Ended() {
				t.Errorf("got %+v", r)
			}
		}
		if err == nil && strings.Count(log, frameMagic+"end") == 0 && len(reports) > 0 {
			t.Errorf("%d reports of nowhere", len(reports))
		}
		// A complete frame must be found after any other text.
		behind, _ := ReadFrames(strings.NewReader(log+"\n"+framed(t, report("z", 10))), nil)
		if n := len(behind); n != len(reports)+1 || behind[n-1].ID != "z" {
			t.Errorf("got %q, then %q", ids(reports), ids(behind))
		}
	})
}
