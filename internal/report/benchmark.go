package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

const benchmarkMethod = `Each repetition runs all phases in order. Rates and mean latencies of all runs together are geometric means. A percentile comes from the added histograms ` +
	`of all runs, because percentiles cannot be averaged. Percentiles in windows of an outage are medians of the runs, because windows differ in length. LatencyMax is the longest ` +
	`latency of all runs. The interval is Student's 95 % interval of a typical run, on the logarithms of the runs' values; it needs three valid runs. Invalid runs are excluded. A ramp is not measured.`

// Benchmark returns the report of a benchmark that has ended or is running. The argument runs has the archived
// runs, in the order of their numbers. Without archived runs, all figures in the report come from status.
func Benchmark(b *v1alpha1.CephBenchmark, runs []*archive.Run) (*Document, error) {
	yaml, err := manifest("CephBenchmark", b.ObjectMeta, b.Spec)
	if err != nil {
		return nil, err
	}
	if b.Spec.Diagnosis != nil {
		return diagnosisReport(b, yaml), nil
	}
	phases, err := phasesOf(b, runs)
	if err != nil {
		return nil, err
	}
	environment, err := environmentParts(b, runs)
	if err != nil {
		return nil, err
	}
	d := benchmarkHead(b)
	d.add("Expectations", Part{Table: expectations(b)})
	d.add("Phases", Part{Table: phaseTable(phases)}, Part{Text: marksText(phases)})
	d.add("Curve", curveParts(runs)...)
	d.add("Latency", latencyParts(phases, runs)...)
	d.add("Outage", outageParts(b, runs)...)
	d.add("Runs", append([]Part{{Table: runsOf(b, runs)}}, runPlots(b, phases, runs)...)...)
	d.add("OSDs slower than their peers", slowOSDs(b, runs)...)
	d.add("The course of each run", coursePlots(runs)...)
	d.add("Environment", environment...)
	d.add("Method", Part{Text: benchmarkMethod})
	d.add("To do it again", Part{Code: yaml})
	d.Figures = benchmarkFigures(phases, runs)
	return d, nil
}

func benchmarkHead(b *v1alpha1.CephBenchmark) *Document {
	status := b.Status
	d := &Document{
		Kind: "CephBenchmark", Namespace: b.Namespace, Name: b.Name, Verdict: string(status.Verdict), Tone: ToneNeutral,
		// The summary begins with the verdict, which the report shows separately.
		Sentence: strings.TrimPrefix(cmp.Or(status.Summary, status.Headline), string(status.Verdict)+": "),
	}
	switch status.Verdict {
	case v1alpha1.BenchmarkPassed:
		d.Tone = ToneGood
	case v1alpha1.BenchmarkFailed, v1alpha1.BenchmarkInvalid:
		d.Tone = ToneBad
	default:
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c != nil {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s", c.Reason, c.Message))
	} else if status.CompletionTime == nil {
		d.Warnings = append(d.Warnings, "The benchmark has not ended: everything below may still change.")
	}
	d.warnEdited(b)
	d.fact("Object", b.Namespace+"/"+b.Name+", run ID "+string(status.ObservedRunID))
	d.fact("Ceph cluster", b.Spec.ClusterRef.Namespace+"/"+b.Spec.ClusterRef.Name)
	d.fact("Software", software(b.Status.Environment))
	if b.Spec.Diagnosis == nil {
		d.fact("Load", Workload(b.Spec.Template))
	}
	d.fact("Headline", status.Headline)
	if b.Spec.Diagnosis == nil {
		d.fact("Clients", strconv.Itoa(max(int(b.Spec.Template.Clients.Count), 1)))
	}
	d.fact("Began", formatTime(status.StartTime))
	d.fact("Took", took(status.StartTime, status.CompletionTime))
	d.fact("Space", spaceTaken(status.SpaceEfficiency))
	return d
}

// spaceTaken compares the space that the data take on OSDs with theory, and the cluster's usage with its
// usage before the benchmark.
func spaceTaken(space *v1alpha1.SpaceEfficiency) string {
	if space == nil || space.StoredBytes <= 0 {
		return ""
	}
	share := func(bytes int64) float64 { return float64(bytes) / float64(space.StoredBytes) }
	text := fmt.Sprintf("%.2f bytes on OSDs for each byte stored", share(space.UsedBytes))
	if space.TheoreticalBytes > 0 {
		text += fmt.Sprintf(", %.2f in theory", share(space.TheoreticalBytes))
	}
	if space.ClusterUsedBytesBefore > 0 {
		text += fmt.Sprintf("; all OSDs together used %d MiB before the benchmark, and %d MiB with its data", space.ClusterUsedBytesBefore>>20, space.ClusterUsedBytes>>20)
	}
	return text
}

// phasesOf returns the figures over all valid runs: those in status or, if status lacks figures, those
// computed from the given runs.
func phasesOf(b *v1alpha1.CephBenchmark, runs []*archive.Run) ([]v1alpha1.PhaseResult, error) {
	if len(runs) == 0 || len(b.Status.Phases) > 0 {
		return b.Status.Phases, nil
	}
	var phases []v1alpha1.PhaseResult
	for _, name := range archive.PhaseNames(runs) {
		combined, err := figure.Combine(name, archive.Observations(runs, name))
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		phases = append(phases, combined)
	}
	return phases, nil
}

func expectations(b *v1alpha1.CephBenchmark) *Table {
	table := &Table{Header: []string{"Figure", "Limit", "Value", "Outcome"}}
	for i, r := range b.Status.Expectations {
		limit := ""
		if i < len(b.Spec.Expectations) {
			limit = Limit(b.Spec.Expectations[i])
		}
		outcome := string(r.Outcome)
		if r.Mark != "" {
			outcome += " (" + string(r.Mark) + ")"
		}
		table.Rows = append(table.Rows, []string{FigureName(r.MetricReference), limit, figure.HumanDecimal(r.Metric, r.Value), outcome})
	}
	return table
}

// Limit describes the limit of an expectation.
func Limit(e v1alpha1.Expectation) string {
	switch {
	case e.MaximumRegression != "":
		return fmt.Sprintf("at most %s worse than %s", e.MaximumRegression, e.Reference)
	case e.AtMost != "":
		return "at most " + string(e.AtMost)
	}
	return "at least " + string(e.AtLeast)
}

func phaseTable(phases []v1alpha1.PhaseResult) *Table {
	table := &Table{Header: []string{"Phase", "Operations", "Metric", "Value", "95 % interval", "Valid runs", "Marks"}}
	for _, p := range phases {
		for i, m := range p.Metrics {
			write := func(d v1alpha1.Decimal) string { return figure.HumanDecimal(m.Metric, d) }
			row := []string{"", cmp.Or(string(m.Direction), string(v1alpha1.DirectionTotal)), string(m.Metric), write(m.Value), Interval(m.Low, m.High, write), "", ""}
			if i == 0 {
				row[0], row[5], row[6] = string(p.Name), strconv.Itoa(int(p.ValidRuns)), figure.JoinMarks(p.Marks)
			}
			table.Rows = append(table.Rows, row)
		}
		if p.BackgroundIOPS != "" {
			table.Rows = append(table.Rows, []string{"", backgroundPhase, string(v1alpha1.MetricIOPS), figure.HumanDecimal(v1alpha1.MetricIOPS, p.BackgroundIOPS), "", "", ""})
		}
	}
	return table
}

// backgroundPhase replaces the direction in figures of the background load.
const backgroundPhase = "Background"

// marksText explains each mark that a phase has, once.
func marksText(phases []v1alpha1.PhaseResult) string {
	var lines []string
	for _, mark := range figure.Marks() {
		if slices.ContainsFunc(phases, func(p v1alpha1.PhaseResult) bool { return slices.Contains(p.Marks, mark) }) {
			lines = append(lines, string(mark)+": "+Meaning(mark)+".")
		}
	}
	return strings.Join(lines, " ")
}

// runsOf lists the archived runs or, without archived runs, the runs in status.
func runsOf(b *v1alpha1.CephBenchmark, runs []*archive.Run) *Table {
	table := &Table{Header: []string{"Run", "State", "Began", "Took", "Clients started within", "Reason"}}
	for _, run := range runs {
		within := ""
		if spread, known := run.StartSpread(); known {
			within = figure.Human(v1alpha1.MetricLatencyMax, spread)
		}
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(int(run.Number)), string(run.State), run.StartTime.UTC().Format(time.DateTime),
			run.EndTime.Sub(run.StartTime).Round(time.Second).String(), within, run.Reason,
		})
	}
	if len(runs) > 0 {
		return table
	}
	for _, run := range b.Status.Runs {
		table.Rows = append(table.Rows, []string{
			strconv.Itoa(int(run.Number)), string(run.State), formatTime(run.StartTime), "", figure.HumanDecimal(v1alpha1.MetricLatencyMax, run.StartSpread), run.Reason,
		})
	}
	return table
}

// slowOSDs lists the slow OSDs of each valid archived run or, without archived runs, those in status.
func slowOSDs(b *v1alpha1.CephBenchmark, runs []*archive.Run) []Part {
	table := &Table{Header: []string{"OSD", "Phase", "Run", "To commit", "Its peers", "Placement groups", "Its peers", "Work", "Its peers"}}
	for _, run := range runs {
		for _, phase := range run.Phases {
			for _, osd := range phase.SlowOSDs {
				if run.State != v1alpha1.RunValid {
					continue
				}
				work, peersWork := workOf(osd.Work)
				table.Rows = append(table.Rows, []string{
					"osd." + strconv.Itoa(osd.ID), string(phase.Name), strconv.Itoa(int(run.Number)),
					figure.Human(v1alpha1.MetricLatencyMean, osd.CommitSeconds),
					fmt.Sprintf("%s (%d others%s)", figure.Human(v1alpha1.MetricLatencyMean, osd.PeersSeconds), osd.Peers, ofClass(osd.DeviceClass)),
					strconv.Itoa(osd.PGs), figure.Exact(osd.PeersPGs), work, peersWork,
				})
			}
		}
	}
	if len(runs) == 0 {
		for _, osd := range b.Status.SlowOSDs {
			work := ""
			if osd.RelativeWork != "" {
				work = fmt.Sprintf("%s times its peers'", osd.RelativeWork)
			}
			table.Rows = append(table.Rows, []string{
				"osd." + strconv.Itoa(int(osd.OSD)), string(osd.Phase), fmt.Sprintf("in %d", osd.Runs),
				figure.HumanDecimal(v1alpha1.MetricLatencyMean, osd.CommitLatency), figure.HumanDecimal(v1alpha1.MetricLatencyMean, osd.PeersCommitLatency), "", "", work, "",
			})
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []Part{
		{Table: table},
		text("OSDs report a commit latency, of writes only. It is compared with the median of the OSDs of the same class that serve the target. An OSD with more placement groups than its " +
			"peers has more work, and its disk need not be slower. Work counts reads and writes of clients of all pools, without copies for other OSDs, recovery and scrubs. An OSD that took " +
			"longer but had no more work than its peers is slow; one with more work may only be busy."),
	}
}

// workOf formats the client I/O of an OSD, and the medians over the OSD and its peers.
func workOf(w *archive.Work) (work, peers string) {
	if w == nil {
		return "", ""
	}
	write := func(operations, bytes float64) string {
		return figure.Human(v1alpha1.MetricIOPS, operations) + ", " + figure.Human(v1alpha1.MetricBandwidth, bytes)
	}
	return write(w.OperationsPerSecond, w.BytesPerSecond), write(w.PeersOperationsPerSecond, w.PeersBytesPerSecond)
}

func ofClass(class string) string {
	if class == "" {
		return ""
	}
	return " of class " + class
}

// environmentParts returns the environment in status, the full environment of the first archived run that has
// it, and how later runs differ from that run.
func environmentParts(b *v1alpha1.CephBenchmark, runs []*archive.Run) ([]Part, error) {
	var differences []Part
	first, err := CompareEnvironments(runs, func(_, run *archive.Run, difference string) {
		differences = append(differences, text("Run %d differs: %s.", run.Number, difference))
	})
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	parts := []Part{{Table: environmentTable(b.Status.Environment)}}
	if first != nil {
		parts = append(parts, Part{Table: detailTable(first)})
	}
	return append(parts, differences...), nil
}

// CompareEnvironments calls the function differs with each difference between the first environment that the runs have
// recorded and that of a later run. It returns that environment; nil if no run has recorded one.
func CompareEnvironments(runs []*archive.Run, differs func(first, run *archive.Run, difference string)) (*quiescence.Detail, error) {
	var known *quiescence.Detail
	var first *archive.Run
	for _, run := range runs {
		if len(run.Environment) == 0 {
			continue
		}
		detail := &quiescence.Detail{}
		if err := json.Unmarshal(run.Environment, detail); err != nil {
			return nil, fmt.Errorf("environment of run %d: %w", run.Number, err)
		}
		if known == nil {
			known, first = detail, run
			continue
		}
		for _, difference := range quiescence.Compare(*known, *detail) {
			differs(first, run, difference)
		}
	}
	return known, nil
}

// detailTable lists the parts of the environment that can affect the result.
func detailTable(d *quiescence.Detail) *Table {
	table := &Table{Header: []string{"Setting", "Value"}, Folded: "Settings, pools, nodes and images"}
	for _, pool := range d.Pools {
		table.Rows = append(table.Rows, []string{"pool " + pool.Name, fmt.Sprintf("%s, size %d, pg_num %d", pool.Type, pool.Size, pool.PGNum)})
	}
	if len(d.ConfinedTo) > 0 {
		table.Rows = append(table.Rows, []string{"OSDs of the scratch pool", strings.Trim(fmt.Sprint(d.ConfinedTo), "[]")})
	}
	for _, class := range d.OSDs {
		table.Rows = append(table.Rows, []string{"OSDs of class " + cmp.Or(class.DeviceClass, "(none)"), fmt.Sprintf("%d, %.1f GiB together", class.Count, float64(class.TotalBytes)/(1<<30))})
	}
	for _, entry := range d.Config {
		section := entry.Section
		if entry.Mask != "" {
			section += "/" + entry.Mask
		}
		table.Rows = append(table.Rows, []string{section + " " + entry.Name, entry.Value})
	}
	for _, node := range d.Nodes {
		table.Rows = append(table.Rows, []string{"node of clients", node.Name})
	}
	table.fact("Kubernetes", d.KubernetesVersion)
	table.fact("kernel under OSDs", strings.Join(d.Kernels, ", "))
	table.fact("initial state of the data", string(d.InitialState))
	table.fact("OSD caches before each phase", string(d.OSDCaches))
	table.fact("background", d.Background)
	for _, node := range d.BackgroundNodes {
		table.Rows = append(table.Rows, []string{"node of the background load", node.Name})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Images)) {
		table.Rows = append(table.Rows, []string{"image " + name, d.Images[name]})
	}
	return table
}

// benchmarkFigures returns a row for each figure of each run, with the run's number in the first column.
// Figures of all runs together have "all" there.
func benchmarkFigures(phases []v1alpha1.PhaseResult, runs []*archive.Run) [][]string {
	rows := [][]string{{"run", "state", "phase", "direction", "metric", "unit", "value", "low", "high", "marks"}}
	for _, p := range phases {
		for _, m := range p.Metrics {
			rows = append(rows, []string{
				"all", "", string(p.Name), cmp.Or(string(m.Direction), string(v1alpha1.DirectionTotal)), string(m.Metric), figure.Unit(m.Metric),
				string(m.Value), string(m.Low), string(m.High), figure.JoinMarks(p.Marks),
			})
		}
	}
	for _, run := range runs {
		for _, phase := range run.Phases {
			if phase.Observation == nil {
				continue
			}
			for _, f := range phase.Observation.Figures {
				rows = append(rows, []string{
					strconv.Itoa(int(run.Number)), string(run.State), string(phase.Name), string(f.Direction), string(f.Metric), figure.Unit(f.Metric),
					figure.Exact(f.Value), "", "", figure.JoinMarks(phase.Observation.Marks),
				})
			}
			for _, f := range phase.Background {
				if f.Direction == v1alpha1.DirectionTotal {
					rows = append(rows, []string{
						strconv.Itoa(int(run.Number)), string(run.State), string(phase.Name), backgroundPhase, string(f.Metric), figure.Unit(f.Metric),
						figure.Exact(f.Value), "", "", "",
					})
				}
			}
		}
	}
	return rows
}
