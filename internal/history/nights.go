package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/changepoint"
	"github.com/cephtune/cephtune/internal/figure"
)

// schemaVersion is the version of the lines that this package writes, and the only one that it reads.
const schemaVersion = 1

// mostLineBytes bounds a line: a night has an environment of some KiB.
const mostLineBytes = 4 << 20

// sameEnvironment stands for the environment of the line before.
const sameEnvironment = `"same"`

// Night has the figures of one execution.
type Night struct {
	SchemaVersion int               `json:"schemaVersion"`
	Benchmark     archive.Benchmark `json:"benchmark"`
	RunID         v1alpha1.RunID    `json:"runID"`
	// Time is when the execution began, in whole seconds. It identifies the night.
	Time    time.Time `json:"time"`
	Figures []Figure  `json:"figures"`
	// Environment is that of the last valid run: the JSON form of quiescence.Detail.
	Environment json.RawMessage `json:"environment,omitempty"`
}

// Figure is the typical value of an execution's valid runs.
type Figure struct {
	Phase      v1alpha1.PhaseName `json:"phase"`
	SpecDigest string             `json:"specDigest"`
	Metric     v1alpha1.Metric    `json:"metric"`
	Unit       string             `json:"unit"`
	Value      float64            `json:"value"` // six significant digits
	// StandardError is that of the value's logarithm, by the scatter of the runs; 0 with one run. It has three
	// significant digits.
	StandardError float64 `json:"standardError,omitempty"`
	Runs          int     `json:"runs"`
}

// Of returns the nights of runs, in order of time. The runs of an execution are in the order of their numbers. Executions
// without a figure are no nights.
func Of(runs []*archive.Run) []Night {
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
		if len(night.Figures) > 0 {
			nights = append(nights, night)
		}
	}
	slices.SortFunc(nights, byTime)
	return nights
}

func byTime(a, b Night) int { return a.Time.Compare(b.Time) }

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
		Phase: phase.Name, SpecDigest: phase.SpecDigest, Metric: metric, Unit: figure.Unit(metric),
		Value: rounded(figure.Typical(metric, values), 6), Runs: len(values),
	}
	if len(values) > 1 {
		out.StandardError = rounded(stat.StdDev(logarithms, nil)/math.Sqrt(float64(len(values))), 3)
	}
	return out, true
}

// rounded returns a value with some significant digits: the other ones are noise, which does not compress.
func rounded(v float64, digits int) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64) // It was just formatted.
	return short
}

// Light returns a run with only the parts that [Of] reads. The other parts may take MiB.
func Light(run *archive.Run) *archive.Run {
	light := *run
	light.Background, light.Placement, light.Phases = nil, nil, nil
	for _, p := range run.Phases {
		phase := archive.Phase{Name: p.Name, SpecDigest: p.SpecDigest}
		if p.Observation != nil {
			phase.Observation = &figure.Observation{Figures: p.Observation.Figures}
		}
		light.Phases = append(light.Phases, phase)
	}
	return &light
}

// Merge returns the nights of two histories of a benchmark in order of time: at most [changepoint.MostNights], the latest
// ones. A night in both is that of the second. Merge returns an error for nights of different benchmarks.
func Merge(first, second []Night) ([]Night, error) {
	merged := map[int64]Night{}
	name := ""
	for _, n := range slices.Concat(first, second) {
		if name = cmp.Or(name, n.Benchmark.Name); n.Benchmark.Name != name {
			return nil, fmt.Errorf("a night is of benchmark %s, and another of %s", name, n.Benchmark.Name)
		}
		merged[n.Time.Unix()] = n
	}
	nights := make([]Night, 0, len(merged))
	for _, n := range merged {
		nights = append(nights, n)
	}
	slices.SortFunc(nights, byTime)
	return nights[max(0, len(nights)-changepoint.MostNights):], nil
}

// Encode returns nights as JSON lines.
func Encode(nights []Night) ([]byte, error) {
	var text []byte
	for _, n := range nights {
		line, err := json.Marshal(n)
		if err != nil {
			return nil, fmt.Errorf("write the night of %s: %w", n.Time, err)
		}
		text = append(append(text, line...), '\n')
	}
	return text, nil
}

// Decode reads the lines that Encode wrote, also if environments were abridged.
func Decode(r io.Reader) ([]Night, error) {
	var nights []Night
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostLineBytes)
	for lines.Scan() {
		var night Night
		err := json.Unmarshal(lines.Bytes(), &night)
		if err == nil && (night.SchemaVersion != schemaVersion || night.Time.IsZero()) {
			err = fmt.Errorf("it has version %d and time %v", night.SchemaVersion, night.Time)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is no night that \"history -o jsonl\" of this version wrote: %w", len(nights)+1, err)
		}
		if string(night.Environment) == sameEnvironment {
			night.Environment = nil
			if len(nights) > 0 {
				night.Environment = nights[len(nights)-1].Environment
			}
		}
		if nights = append(nights, night); len(nights) > changepoint.MostNights {
			return nil, fmt.Errorf("more than %d nights: remove the oldest lines", changepoint.MostNights)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(nights)+1, err)
	}
	return nights, nil
}

// figureIn returns a night's figure.
func (n Night) figureIn(phase v1alpha1.PhaseName, metric v1alpha1.Metric) (Figure, bool) {
	i := slices.IndexFunc(n.Figures, func(f Figure) bool { return f.Phase == phase && cmp.Or(metric, f.Metric) == f.Metric })
	if i < 0 {
		return Figure{}, false
	}
	return n.Figures[i], true
}
