package fio

import (
	"bytes"
	"errors"
	"os"
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
	for name, reads := range map[string]int{"mixed.out": 3, "reads.out": 2} {
		t.Run(name, func(t *testing.T) {
			output := snapshots(t, name)
			all := countedIn(output)
			if len(all) < reads {
				t.Fatalf("%d seconds", len(all))
			}
			first := firstAfterRamp(t, output)
			last, err := ParseJSON(bytes.NewReader(output), parse.Options{})
			if err != nil {
				t.Fatal(err)
			}
			operations, histogram := float64(first.Latency.Moments.Count), first.Latency.Histogram
			for _, c := range all {
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
				if c.Seconds < 0.1 || c.Seconds > 1.5 || !c.Taken.After(time.UnixMilli(0)) {
					t.Errorf("%v s until %v", c.Seconds, c.Taken)
				}
			}
			if want := last.Read.Latency; operations != float64(want.Moments.Count) || !cmp.Equal(histogram, want.Histogram) {
				t.Errorf("%v operations, want %d; histogram %s", operations, want.Moments.Count, cmp.Diff(want.Histogram, histogram))
			}
		})
	}
}

// firstAfterRamp returns the reads in the first report after fio has reset its counters.
func firstAfterRamp(t *testing.T, output []byte) direction {
	t.Helper()
	parts := strings.SplitAfter(string(output), "\n}\n")
	for _, part := range parts {
		s, err := readSnapshot([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		if d := s.parts[result.Read]; d.Latency != nil {
			return d
		}
	}
	t.Fatal("there is none")
	return direction{}
}

func TestSnapshotsOfAMixAreApart(t *testing.T) {
	all := countedIn(snapshots(t, "mixed.out"))
	c := all[len(all)-1]
	if c.Read == nil || c.Write == nil || c.Latencies != nil || c.Read.Latencies == nil ||
		c.Operations != c.Read.Operations+c.Write.Operations || c.Bytes != c.Read.Bytes+c.Write.Bytes {
		t.Errorf("%+v", c)
	}
}

// A report that is incomplete, of another kind or late has no result, and neither do counters that
// start again.
func TestSnapshotsThatSayNothing(t *testing.T) {
	whole := string(snapshots(t, "reads.out"))
	first, rest, _ := strings.Cut(whole, "\n}\n")
	second, _, _ := strings.Cut(rest, "\n}\n")
	first, second = first+"\n}\n", second+"\n}\n"
	for name, tc := range map[string]struct {
		output string
		want   int
	}{
		"the first":                 {first, 0},
		"two":                       {first + second, 1},
		"the same again":            {first + first, 0},
		"backwards":                 {second + first, 0},
		"a message within":          {first + strings.Replace(second, "\n", "\nfio: a message\n", 1), 1},
		"cut off, and another one":  {first + second[:200] + "\n" + second, 0},
		"without an end":            {first + strings.TrimSuffix(second, "}\n"), 0},
		"of no end":                 {first + "{\n" + strings.Repeat(" \"a\": 1,\n", 200_000) + "}\n" + second, 1},
		"no numbers":                {first + strings.ReplaceAll(second, `"total_ios" : `, `"total_ios" : -`), 0},
		"fewer operations in a bin": {first + strings.Replace(second, `"bins" : {`, `"bins" : {"1" : 5},"nothing" : {`, 1), 0},
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
