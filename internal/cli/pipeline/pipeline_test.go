package pipeline

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/testing/judge"
)

// read returns the results that benchstat sees in a text, as it sees them.
func read(t *testing.T, text []byte) (all []*benchfmt.Result, units benchfmt.UnitMetadataMap) {
	t.Helper()
	reader := benchfmt.NewReader(bytes.NewReader(text), "b.txt")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			all = append(all, record.Clone())
		case *benchfmt.SyntaxError:
			t.Error(record)
		}
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	return all, reader.Units()
}

func detail(t *testing.T, versions ...string) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(quiescence.Detail{CephVersions: versions})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBenchstatReadsIt(t *testing.T) {
	values := map[v1alpha1.Metric]float64{}
	for i, metric := range figure.Metrics() {
		values[metric] = 1.5e6 / float64(1+i)
	}
	all := []Measurement{
		{RunID: "1", Environment: detail(t, "20.2.3"), Phase: "depth-16", Direction: v1alpha1.DirectionTotal, Runs: 3, Values: values},
		{RunID: "1", Environment: detail(t, "20.2.3"), Phase: "depth-16", Direction: v1alpha1.DirectionRead, Runs: 3, Values: values},
		{RunID: "2", Environment: detail(t, "20.2.3", "20.2.4"), Phase: "depth-32", Direction: v1alpha1.DirectionTotal, Runs: 1, Values: values},
		{RunID: "3", Phase: "depth-32", Direction: v1alpha1.DirectionTotal, Runs: 1, Values: map[v1alpha1.Metric]float64{v1alpha1.MetricIOPS: 7}},
	}
	var out bytes.Buffer
	if err := Benchstat(&out, all); err != nil {
		t.Fatal(err)
	}
	got, units := read(t, out.Bytes())
	if len(got) != len(all) {
		t.Fatalf("%d results in\n%s", len(got), out.String())
	}
	for i, version := range []string{"20.2.3", "20.2.3", "20.2.3 and 20.2.4", "unknown"} {
		wantResult(t, got[i], all[i], version)
	}
	for metric, value := range values {
		if v, has := got[0].Value(unit(metric)); !has || v != value {
			t.Errorf("%s is %v, want %v", metric, v, value)
		}
		if better := units.GetBetter(unit(metric)); better == 0 || (better < 0) != metric.LowerIsBetter() {
			t.Errorf("better of %s is %d", metric, better)
		}
	}
}

func wantResult(t *testing.T, r *benchfmt.Result, m Measurement, version string) {
	t.Helper()
	if r.GetConfig("run-id") != string(m.RunID) || r.GetConfig("ceph-version") != version || r.Iters != m.Runs || len(r.Values) != len(m.Values) {
		t.Errorf("got %+v, want %+v", r, m)
	}
	want := fmt.Sprintf("Phase/phase=%s/direction=%s", m.Phase, m.Direction)
	if _, parts := r.Name.Parts(); r.Name.String() != want || len(parts) != 2 {
		t.Errorf("name %s, want %s, of keys only: %q", r.Name, want, parts)
	}
}

// Nights may come from a file that a stranger has written.
func TestDataArePlain(t *testing.T) {
	for _, data := range judge.Hostile() {
		data += "\nBenchmarkForged 1 1 B/s\n</testcase>]]>"
		var out bytes.Buffer
		m := Measurement{RunID: v1alpha1.RunID(data), Environment: detail(t, data), Phase: "a", Direction: "Total", Runs: 1, Values: map[v1alpha1.Metric]float64{v1alpha1.MetricIOPS: 1}}
		if err := Benchstat(&out, []Measurement{m}); err != nil {
			t.Fatal(err)
		}
		if got, _ := read(t, out.Bytes()); len(got) != 1 || got[0].Name.String() != "Phase/phase=a/direction=Total" {
			t.Errorf("%q: got %v", data, got)
		}
		out.Reset()
		if err := JUnit(&out, data, []Case{{Name: data, State: Failed, Message: data, Text: data}, {Name: data, Message: data}}); err != nil {
			t.Fatal(err)
		}
		if err := judge.Terminal(out.String()); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		var back suite
		if err := xml.Unmarshal(out.Bytes(), &back); err != nil || len(back.Cases) != 2 || back.Failures != 1 || back.Cases[0].Failure == nil || !strings.Contains(back.Cases[1].Out, "</testcase>") {
			t.Errorf("%q: %v, %+v", data, err, back)
		}
	}
}
