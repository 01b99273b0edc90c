package stats

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// approx compares floats to a relative error of 1e-9 (SciPy and gonum differ in
// the last digits) and ignores the criteria that an Assessment carries.
var approx = cmp.Options{
	cmpopts.EquateApprox(1e-9, 1e-12),
	cmpopts.IgnoreUnexported(Assessment{}),
}

// rounded compares with rounded numbers in a document.
func rounded(digits float64) cmp.Option { return cmpopts.EquateApprox(0, digits) }

func readTable(t *testing.T, name string) []map[string]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, column := range rows[0] {
			m[column] = row[i]
		}
		out = append(out, m)
	}
	return out
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// observe turns the rows of one configuration into observations, block by the
// given columns, in the order of the table.
func observe(t *testing.T, rows []map[string]string, where map[string]string, value string, block ...string) []Observation {
	t.Helper()
	var out []Observation
rows:
	for _, row := range rows {
		for column, want := range where {
			if row[column] != want {
				continue rows
			}
		}
		keys := make([]string, len(block))
		for i, column := range block {
			keys[i] = row[column]
		}
		out = append(out, Observation{Block: strings.Join(keys, "/"), Value: number(t, row[value])})
	}
	return out
}

// radosBenchRows reads the columns "avg MB/s" and "cur MB/s" of a rados bench
// report, the row of second 0 included.
func radosBenchRows(t *testing.T, name string) (avg, cur []float64) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 8 {
			continue
		}
		if _, err := strconv.Atoi(fields[0]); err != nil {
			continue
		}
		avg = append(avg, number(t, fields[4]))
		cur = append(cur, number(t, fields[5]))
	}
	return avg, cur
}

func mustPairs(t *testing.T, baseline, candidate []Observation) []Pair {
	t.Helper()
	pairs, _, err := MakePairs(baseline, candidate)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func mustContrast(t *testing.T, pairs []Pair) Contrast {
	t.Helper()
	c, err := PairedLogRatio(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pairsOf(values ...float64) []Pair {
	pairs := make([]Pair, len(values)/2)
	for i := range pairs {
		pairs[i] = Pair{Baseline: values[2*i], Candidate: values[2*i+1]}
	}
	return pairs
}

func expAll(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Exp(x)
	}
	return out
}
