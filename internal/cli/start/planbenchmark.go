package start

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// BenchmarkPlan describes the runs of a benchmark; a diagnosis has none. Times and bytes are estimates.
type BenchmarkPlan struct {
	Runs              int32              `json:"runs"`
	RunDuration       metav1.Duration    `json:"runDuration"`
	EstimatedDuration metav1.Duration    `json:"estimatedDuration"`
	Phases            []PlannedPhase     `json:"phases"`
	Dataset           string             `json:"dataset,omitempty"`
	RunBytesWritten   *resource.Quantity `json:"runBytesWritten,omitempty"`
	RunBytesPrefilled *resource.Quantity `json:"runBytesPrefilled,omitempty"`
	// Refusal says why the operator would refuse the benchmark; "" if this command finds no reason.
	Refusal string `json:"refusal,omitempty"`
}

// PlannedPhase has the durations of the ramp and of the measurement of a phase.
type PlannedPhase struct {
	Name     v1alpha1.PhaseName `json:"name"`
	Ramp     metav1.Duration    `json:"ramp"`
	Measured metav1.Duration    `json:"measured"`
}

// planBenchmark makes the API server validate a benchmark without creating it, and writes its plan.
func planBenchmark(ctx context.Context, c client.Client, benchmark *v1alpha1.CephBenchmark, output string, out io.Writer) error {
	checked := benchmark.DeepCopy()
	// An object with the benchmark's name may exist, and must not affect the plan.
	checked.Name, checked.GenerateName = "", prefixOf(benchmark, "-plan-")
	if err := create(ctx, client.NewDryRunClient(c), checked); err != nil {
		return err
	}
	plan, err := benchmarkPlanOf(checked.Spec)
	if err != nil {
		return err
	}
	plan.Refusal = load.RefusedDomains(ctx, c, checked.Spec.ClusterRef, checked.Spec.Template.Target.ScratchPool)
	if output == "table" {
		_, err = io.WriteString(out, plan.table())
	} else {
		err = terminal.WriteData(out, output, plan)
	}
	if err != nil || plan.Refusal == "" {
		return err
	}
	return exit.UnexpectedErrorf("the operator would refuse the benchmark: %s", plan.Refusal)
}

// benchmarkPlanOf plans a benchmark in which the API server has filled in the defaults.
func benchmarkPlanOf(spec v1alpha1.CephBenchmarkSpec) (*BenchmarkPlan, error) {
	if d := spec.Diagnosis; d != nil {
		plan := &BenchmarkPlan{EstimatedDuration: d.Duration}
		if d.Layers != nil {
			plan.EstimatedDuration.Duration += diagnosis.Time(d.Layers)
			plan.RunBytesPrefilled = resource.NewQuantity(diagnosis.PrefilledBytes, resource.BinarySI)
		}
		return plan, nil
	}
	plan := &BenchmarkPlan{Runs: spec.Repetitions}
	for _, phase := range spec.Template.Measured() {
		ramp, measured, err := sweepspec.PhaseTiming(phase)
		if err != nil {
			return nil, err
		}
		plan.Phases = append(plan.Phases, PlannedPhase{phase.Name, metav1.Duration{Duration: ramp}, metav1.Duration{Duration: measured}})
	}
	datasetBytes := int64(0)
	if size, err := resource.ParseQuantity(string(spec.Template.Dataset.Size)); err == nil { // "Auto" is not a quantity.
		datasetBytes = size.Value()
	}
	outline, err := sweepspec.OutlineOf(spec.Template, datasetBytes)
	if err != nil {
		return nil, err
	}
	plan.RunDuration.Duration = outline.Duration
	plan.EstimatedDuration.Duration = time.Duration(spec.Repetitions) * outline.Duration
	switch {
	case !sweepspec.NeedsDataset(spec.Template):
	case datasetBytes == 0:
		plan.Dataset = "Auto"
		return plan, nil // The amount to write is unknown.
	default:
		plan.Dataset = string(spec.Template.Dataset.Size)
	}
	plan.RunBytesWritten = resource.NewQuantity(outline.BytesWritten, resource.BinarySI)
	plan.RunBytesPrefilled = resource.NewQuantity(outline.BytesPrefilled, resource.BinarySI)
	return plan, nil
}

func (p *BenchmarkPlan) table() string {
	var out strings.Builder
	if p.Runs == 0 {
		does, written := "watches Ceph, and sends no load", "nothing"
		if p.RunBytesPrefilled != nil {
			does = "watches Ceph, and then sends one operation at a time to two scratch pools"
			written = mebibytes(p.RunBytesPrefilled) + " to prefill, and small writes, before copies"
		}
		terminal.WriteTable(&out, terminal.Narrow, []string{"THE PLAN", ""}, [][]string{
			{"diagnosis", does}, {"time", "about " + figure.Time(p.EstimatedDuration.Duration)}, {"written", written},
		})
		return out.String()
	}
	phases := make([]string, len(p.Phases))
	for i, phase := range p.Phases {
		phases[i] = fmt.Sprintf("%s: %s", phase.Name, figure.Time(phase.Measured.Duration))
		if phase.Ramp.Duration > 0 {
			phases[i] += fmt.Sprintf(" after a ramp of %s", figure.Time(phase.Ramp.Duration))
		}
	}
	duration := "about " + figure.Time(p.EstimatedDuration.Duration)
	if p.Runs > 1 {
		duration += fmt.Sprintf(", %s for each run", figure.Time(p.RunDuration.Duration))
	}
	if p.Dataset == "Auto" {
		duration += ", and the prefill"
	}
	rows := [][]string{
		{"runs", strconv.Itoa(int(p.Runs))},
		{"phases of a run", strings.Join(phases, "; ")},
		{"time", duration},
	}
	switch {
	case p.Dataset == "Auto":
		rows = append(rows, []string{"data", "twice the size of the OSDs' caches, decided when it begins"})
	case p.Dataset != "":
		rows = append(rows, []string{"data", p.Dataset + " for each client"})
	}
	if p.RunBytesWritten != nil {
		written := "nothing"
		if p.RunBytesWritten.Sign() > 0 {
			written = "at most about " + mebibytes(p.RunBytesWritten) + " by each run, before replication"
			if p.RunBytesPrefilled.Sign() > 0 {
				written += "; " + mebibytes(p.RunBytesPrefilled) + " of it to prefill"
			}
		}
		rows = append(rows, []string{"written", written})
	}
	terminal.WriteTable(&out, terminal.Narrow, []string{"THE PLAN", ""}, rows)
	return out.String()
}

// mebibytes rounds up to whole MiB, because the estimate is not more precise.
func mebibytes(q *resource.Quantity) string {
	const mebi = 1 << 20
	return resource.NewQuantity((q.Value()+mebi-1)/mebi*mebi, resource.BinarySI).String()
}
