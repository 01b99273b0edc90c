package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	"github.com/cephtune/cephtune/internal/design/changepoint"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report"
)

// schemaVersion is the version of the lines that this package writes, and the only one that it reads.
const schemaVersion = 1

// mostLineBytes bounds a line of a file: a night has an environment of some KiB.
const mostLineBytes = 4 << 20

// Night has the figures of one execution.
type Night struct {
	SchemaVersion int               `json:"schemaVersion"`
	Benchmark     archive.Benchmark `json:"benchmark"`
	RunID         v1alpha1.RunID    `json:"runID"`
	Time          time.Time         `json:"time"`
	Figures       []Figure          `json:"figures"`
	// Environment is that of the last valid run: the JSON form of quiescence.Detail.
	Environment json.RawMessage `json:"environment,omitempty"`
}

// Figure is the typical value of an execution's valid runs.
type Figure struct {
	Phase      v1alpha1.PhaseName `json:"phase"`
	SpecDigest string             `json:"specDigest"`
	Metric     v1alpha1.Metric    `json:"metric"`
	Unit       string             `json:"unit"`
	Value      float64            `json:"value"`
	// StandardError is that of the value's logarithm, by the scatter of the runs; 0 with one run.
	StandardError float64 `json:"standardError,omitempty"`
	Runs          int     `json:"runs"`
}

// nightsOf returns the nights of a benchmark's kept runs, which are sorted by number.
func nightsOf(runs []*archive.Run) []Night {
	executions := map[int64][]*archive.Run{}
	for _, run := range runs {
		if run.State == v1alpha1.RunValid {
			executions[run.ExecutionTime.Unix()] = append(executions[run.ExecutionTime.Unix()], run)
		}
	}
	var nights []Night
	for _, valid := range executions {
		last := valid[len(valid)-1]
		night := Night{SchemaVersion: schemaVersion, Benchmark: last.Benchmark, RunID: last.RunID, Time: last.ExecutionTime.UTC(), Environment: last.Environment}
		for _, phase := range last.Phases {
			for _, metric := range figure.Metrics() {
				if f, ok := figureOf(valid, phase, metric); ok {
					night.Figures = append(night.Figures, f)
				}
			}
		}
		nights = append(nights, night)
	}
	return nights
}

// figureOf returns a figure of all operations of a phase, if each run has it.
func figureOf(runs []*archive.Run, phase archive.Phase, metric v1alpha1.Metric) (Figure, bool) {
	if metric == v1alpha1.MetricLatencyMax || metric == figure.LatencyMin || metric == figure.LatencyStdDev {
		return Figure{}, false // They say nothing about the next night.
	}
	var values, logarithms []float64
	for _, o := range archive.Observations(runs, phase.Name) {
		one, ok := figure.Find(o.Figures, metric, v1alpha1.DirectionTotal)
		if !ok || one.AtLeast {
			return Figure{}, false
		}
		values, logarithms = append(values, one.Value), append(logarithms, math.Log(one.Value))
	}
	if len(values) == 0 {
		return Figure{}, false
	}
	out := Figure{
		Phase: phase.Name, SpecDigest: phase.SpecDigest, Metric: metric, Unit: report.Unit(metric),
		Value: figure.Typical(metric, values), Runs: len(values),
	}
	if len(values) > 1 {
		out.StandardError = stat.StdDev(logarithms, nil) / math.Sqrt(float64(len(values)))
	}
	return out, true
}

// read reads files that writeNights wrote.
func read(files []string) (nights []Night, err error) {
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.UsageErrorf("-f: %w", err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, mostLineBytes)
		for n := 1; lines.Scan(); n++ {
			var night Night
			if err := json.Unmarshal(lines.Bytes(), &night); err != nil || night.SchemaVersion != schemaVersion || night.Time.IsZero() {
				_ = file.Close()
				return nil, exit.UsageErrorf("-f: line %d of %s is no night that \"history -o jsonl\" of this version wrote (%v)", n, path, err)
			}
			if nights = append(nights, night); len(nights) > changepoint.MostNights {
				_ = file.Close()
				return nil, exit.UsageErrorf("-f: more than %d nights: remove the oldest lines of %s", changepoint.MostNights, path)
			}
		}
		err = lines.Err()
		_ = file.Close() // It was only read.
		if err != nil {
			return nil, exit.UsageErrorf("-f: reading %s: %w", path, err)
		}
	}
	return nights, nil
}

// merge returns the nights of files and of the cluster in order of time. A night in both is that of the cluster.
func merge(files, cluster []Night) ([]Night, error) {
	byTime := map[int64]Night{}
	for _, n := range append(slices.Clone(files), cluster...) {
		byTime[n.Time.Unix()] = n
	}
	nights := make([]Night, 0, len(byTime))
	for _, n := range byTime {
		if len(cluster) > 0 && n.Benchmark.Name != cluster[0].Benchmark.Name {
			return nil, exit.UsageErrorf("-f: a night is of benchmark %s, and not of %s", n.Benchmark.Name, cluster[0].Benchmark.Name)
		}
		nights = append(nights, n)
	}
	slices.SortFunc(nights, func(a, b Night) int { return a.Time.Compare(b.Time) })
	return nights[max(0, len(nights)-changepoint.MostNights):], nil
}

func writeNights(w io.Writer, path string, nights []Night) error {
	text, err := encode(nights)
	if err != nil {
		return err
	}
	if path == "" {
		_, err = terminal.ForFile(w).Write(text)
		return err
	}
	if err := wholefile.Write(path, text); err != nil {
		return fmt.Errorf("writing the nights: %w", err)
	}
	return nil
}

// figureIn returns a night's figure.
func (n Night) figureIn(phase v1alpha1.PhaseName, metric v1alpha1.Metric) (Figure, bool) {
	i := slices.IndexFunc(n.Figures, func(f Figure) bool { return f.Phase == phase && cmp.Or(metric, f.Metric) == f.Metric })
	if i < 0 {
		return Figure{}, false
	}
	return n.Figures[i], true
}
