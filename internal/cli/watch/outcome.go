package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/report/medium"
)

// writeOutcome writes the outcome of a sweep or a benchmark.
func writeOutcome(ctx context.Context, reader client.Reader, w io.Writer, o client.Object) error {
	switch o := o.(type) {
	case *v1alpha1.CephTuningSweep:
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		return results.WriteSweep(w, o)
	case *v1alpha1.CephBenchmark:
		return writeBenchmark(ctx, reader, w, o)
	}
	return fmt.Errorf("got a %T", o)
}

// writeBenchmark writes the outcome of a benchmark: its headline, the reason if it is stalled, and, if
// results are kept, the output of `kubectl cephtune results`. Of a diagnosis, it writes the findings.
func writeBenchmark(ctx context.Context, reader client.Reader, w io.Writer, b *v1alpha1.CephBenchmark) error {
	text := "\n"
	if b.Status.Diagnosis != nil {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		return results.WriteDiagnosis(w, b)
	}
	kept := slices.ContainsFunc(b.Status.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.Results != "" })
	if answer := results.Answer(b); answer != "" && !kept {
		text += medium.Line(answer) + "\n" // Otherwise the results begin with it.
	}
	if stalled := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		text += medium.Format(medium.Line, "%s: %s\n", stalled.Reason, stalled.Message)
	}
	if _, err := terminal.WriteString(w, text); err != nil || !kept {
		return err
	}
	var details bytes.Buffer
	if err := results.Write(ctx, reader, b, &details); err != nil {
		// Status has the outcome, even if the user may not read the details.
		_, err = terminal.Printf(w, "%s\nIts details cannot be shown: %v\n", b.Status.Summary, err)
		return err
	}
	_, err := terminal.WriteString(w, details.String())
	return err
}
