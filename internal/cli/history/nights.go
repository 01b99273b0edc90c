package history

import (
	"context"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	"github.com/cephtune/cephtune/internal/history"
)

// Open reads a benchmark and its nights.
func Open(ctx context.Context, connect object.Connect, name string) (*v1alpha1.CephBenchmark, []history.Night, error) {
	c, found, err := object.OpenKind(ctx, connect, object.Benchmark(), name)
	if err != nil {
		return nil, nil, err
	}
	return nightsOf(ctx, c, found)
}

func nightsOf(ctx context.Context, reader client.Reader, found client.Object) (*v1alpha1.CephBenchmark, []history.Night, error) {
	b, ok := found.(*v1alpha1.CephBenchmark)
	if !ok {
		return nil, nil, fmt.Errorf("got a %T", found)
	}
	nights, err := inCluster(ctx, reader, b)
	return b, nights, err
}

// inCluster returns the nights that status records: those that the operator keeps, and that of the execution in status,
// which may not be among them yet.
func inCluster(ctx context.Context, c client.Reader, b *v1alpha1.CephBenchmark) ([]history.Night, error) {
	runs, err := results.Runs(ctx, c, b)
	if err != nil {
		return nil, err
	}
	cm, err := results.HistoryOf(ctx, c, b)
	if err != nil || cm == nil { // Somebody deleted it. The operator makes another one after the next run.
		return history.Of(runs), err
	}
	kept, err := history.FromConfigMap(b, cm)
	if err != nil {
		return nil, err
	}
	return history.Merge(kept, history.Of(runs))
}

// read reads files that writeNights or "export" wrote.
func read(ctx context.Context, files []string) (nights []history.Night, err error) {
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.UsageErrorf("-f: %w", err)
		}
		some, err := history.Decode(file)
		_ = file.Close() // It was only read.
		if err != nil {
			exported, exportErr := exported(ctx, path)
			if exportErr != nil {
				return nil, exit.UsageErrorf("-f: reading %s: %w; it is no export either: %w", path, err, exportErr)
			}
			some = exported
		}
		nights = append(nights, some...)
	}
	return nights, nil
}

// exported returns the nights of the benchmark in a file that "export" wrote.
func exported(ctx context.Context, path string) ([]history.Night, error) {
	reader, found, err := manifest.Open(path, nil)
	if err != nil {
		return nil, err
	}
	_, nights, err := nightsOf(ctx, reader, found)
	return nights, err
}

func writeNights(w io.Writer, path string, nights []history.Night) error {
	text, err := history.Encode(nights)
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
