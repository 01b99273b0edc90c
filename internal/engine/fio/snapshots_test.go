package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

func snapshots(t *testing.T, name string) []byte {
	t.Helper()
	output, err := os.ReadFile("testdata/snapshots-3.33/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// countedIn returns the counts that an output of reports contains, line by line.
func countedIn(output []byte) (all []*parse.Counted) {
	l := newLive()
	for line := range bytes.Lines(output) {
		if rate, ok := l.Line(bytes.TrimSuffix(line, []byte("\n"))); ok && rate.Counted != nil {
			all = append(all, rate.Counted)
		}
	}
	return all
}

// The counts of all seconds sum up to the last report, exactly and in each bin.
func TestSnapshotsAddUp(t *testing.T) {
	for name, reads := range map[string]int{"mixed.out": 4, "reads.out": 3, "stalled.out": 2} {
		t.Run(name, func(t *testing.T) {
			output := snapshots(t, name)
			all := countedIn(output)
			if len(all) < reads {
				t.Fatalf("%d seconds", len(all))
			}
			last, err := readSnapshot(lastReport(output))
			if err != nil {
				t.Fatal(err)
			}
			operations, histogram := resetAfterRamp(t, output)
			for i, c := range all {
				d := c.Read
				if d == nil {
					d = &c.Done
				}
				if d.Latencies == nil {
					continue // the ramp
				}
				operations += d.Operations
				if histogram, err = result.AddHistograms(histogram, d.Latencies); err != nil {
					t.Fatal(err)
				}
				if i > 0 && (c.Seconds < 0.1 || c.Seconds > 5) || (i == 0) != (c.Seconds == 0) || !c.Taken.After(time.UnixMilli(0)) {
					t.Errorf("%v s until %v", c.Seconds, c.Taken)
				}
			}
			if want := last.parts[result.Read].Latency; operations != float64(want.Moments.Count) || !cmp.Equal(histogram, want.Histogram) {
				t.Errorf("%v operations, want %d; histogram %s", operations, want.Moments.Count, cmp.Diff(want.Histogram, histogram))
			}
		})
	}
}

// resetAfterRamp returns the reads in the first report after fio has reset its counters, which yields no row: nobody
// knows when that was.
func resetAfterRamp(t *testing.T, output []byte) (operations float64, histogram *result.Histogram) {
	t.Helper()
	for i, part := range strings.SplitAfter(string(output), "\n}\n") {
		s, err := readSnapshot([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		switch d := s.parts[result.Read]; {
		case d.Latency != nil && i == 0:
			return 0, &result.Histogram{}
		case d.Latency != nil:
			return float64(d.Latency.Moments.Count), d.Latency.Histogram
		}
	}
	t.Fatal("there is none")
	return 0, nil
}

func lastReport(output []byte) []byte {
	k := newRestorer(io.Discard)
	_, _ = k.Write(output)
	return k.Last()
}

// The storage stalled 0.5 s after the first report. fio was stopped 1.6 s later, and could only end when the storage
// worked again, 2.2 s after that. The last row has all of that time, and the operations that were in flight.
func TestSnapshotsOfAStallAtTheEnd(t *testing.T) {
	all := countedIn(snapshots(t, "stalled.out"))
	if stalled := all[len(all)-1]; len(all) != 2 || stalled.Seconds < 4.2 || stalled.Operations != 362 || stalled.LatencySeconds < 3.8 {
		t.Errorf("%d rows, and last %+v", len(all), stalled)
	}
}

func TestSnapshotsOfAMixAreApart(t *testing.T) {
	all := countedIn(snapshots(t, "mixed.out"))
	c := all[len(all)-1]
	if c.Read == nil || c.Write == nil || c.Latencies != nil || c.Read.Latencies == nil ||
		c.Operations != c.Read.Operations+c.Write.Operations || c.Bytes != c.Read.Bytes+c.Write.Bytes {
		t.Errorf("%+v", c)
	}
}

// The last report counts until the jobs ended their work: fio says that they had worked for 2.661 s at the report before,
// and for 3.003 s in the end. It wrote the last report later.
func TestTheLastSnapshotEndsWithTheWork(t *testing.T) {
	output := string(snapshots(t, "killed.out"))
	want := countedIn([]byte(output))
	last := want[len(want)-1]
	stamps := regexp.MustCompile(`"timestamp_ms" : \d+`).FindAllString(output, -1)
	written, err := strconv.ParseInt(stamps[len(stamps)-1][len(`"timestamp_ms" : `):], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	late := strings.Replace(output, stamps[len(stamps)-1], fmt.Sprintf(`"timestamp_ms" : %d`, written+3000), 1)
	if got := countedIn([]byte(late)); !cmp.Equal(got, want) || last.Seconds < 0.3 || last.Seconds > 0.4 || last.Operations == 0 {
		t.Errorf("the last row is %+v, and of a report that came 3 s later %+v", last, got[len(got)-1])
	}
}

// A report that is incomplete, of another kind or late has no result, and neither do counters that
// start again.
func TestSnapshotsThatSayNothing(t *testing.T) {
	whole := string(snapshots(t, "reads.out"))
	first, rest, _ := strings.Cut(whole, "\n}\n")
	second, _, _ := strings.Cut(rest, "\n}\n")
	first, second = first+"\n}\n", second+"\n}\n"
	stampOf := regexp.MustCompile(`"timestamp_ms" : \d+`).FindString
	stamp := stampOf(first)
	for name, tc := range map[string]struct {
		output string
		want   int
	}{
		"the first":                 {first, 1},
		"two":                       {first + second, 2},
		"the same again":            {first + first, 1},
		"the same a bit later":      {first + strings.Replace(first, stamp, stamp[:len(stamp)-2]+"99", 1), 1},
		"more in less than 0.1 s":   {first + strings.Replace(second, stampOf(second), stampOf(first)[:len(stamp)-2]+"99", 1), 2},
		"backwards":                 {second + first, 1},
		"a message within":          {first + strings.Replace(second, "\n", "\nfio: a message\n", 1), 2},
		"cut off, and another one":  {first + second[:200] + "\n" + second, 1},
		"without an end":            {first + strings.TrimSuffix(second, "}\n"), 1},
		"of no end":                 {first + "{\n" + strings.Repeat(" \"a\": 1,\n", 200_000) + "}\n" + second, 2},
		"no numbers":                {first + strings.ReplaceAll(second, `"total_ios" : `, `"total_ios" : -`), 1},
		"fewer operations in a bin": {first + strings.Replace(second, `"bins" : {`, `"bins" : {"1" : 5},"nothing" : {`, 1), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := countedIn([]byte(tc.output)); len(got) != tc.want {
				t.Errorf("%d seconds, want %d", len(got), tc.want)
			}
		})
	}
}

func TestRestorerKeepsTheLastReport(t *testing.T) {
	output := snapshots(t, "killed.out")
	for _, size := range []int{7, 4096, len(output)} {
		around := &bytes.Buffer{}
		k := newRestorer(around)
		for rest := output; len(rest) > 0; {
			n, err := k.Write(rest[:min(size, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if strings.TrimSpace(around.String()) != "fio: terminating on signal 15" {
			t.Errorf("around: %q", around.String())
		}
		want := output[bytes.LastIndex(output, []byte("\n{\n"))+1:]
		if !bytes.Equal(k.Last(), want) {
			t.Errorf("writes of %d bytes: the last report has %d bytes, want %d", size, len(k.Last()), len(want))
		}
		// The kept part of the output has the same result as the whole output.
		_, err := ParseJSON(kept(around, k), parse.Options{})
		incomplete, ok := errors.AsType[*parse.IncompleteError](err)
		if !ok || incomplete.Reason != parse.Killed || incomplete.Partial == nil || incomplete.Partial.Write.Operations < 10 {
			t.Errorf("%v", err)
		}
	}
}

func kept(around *bytes.Buffer, k parse.Restorer) *bytes.Reader {
	return bytes.NewReader(append(bytes.Clone(around.Bytes()), k.Last()...))
}
