// Command generator makes the load of a phase at a rate, and measures latencies from the time at which each operation
// is due. It is not a part of the runner, because it loads Ceph's libraries: it needs the C library of the tools image,
// whereas the runner is static and also runs in an image without a C library.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/engine/openloop/device"
	"github.com/cephtune/cephtune/internal/result"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1) //nolint:gocritic // The process ends, so nothing needs the signals.
	}
}

// run generates a load and writes its result to a file. It writes a line with the work of each second.
func run(ctx context.Context, arguments []string, lines io.Writer) error {
	flags := flag.NewFlagSet("generator", flag.ContinueOnError)
	load := flags.String("load", "", "the load, as JSON")
	output := flags.String("output", "", "file for the result, as JSON (default: print percentiles)")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var l openloop.Load
	decoder := json.NewDecoder(strings.NewReader(*load))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return fmt.Errorf("--load: %w", err)
	}
	if err := l.Validate(); err != nil {
		return fmt.Errorf("--load: %w", err)
	}
	backend, err := device.Open(&l)
	if err != nil {
		return err
	}
	res, err := openloop.Run(ctx, &l, backend, device.NewClock(), lines)
	if err != nil {
		return err // Operations may still be submitted, so the images stay open.
	}
	if err := write(res, *output, lines); err != nil {
		return err
	}
	if images, ok := backend.(io.Closer); ok {
		if err := images.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "generator:", err) // The result is good all the same.
		}
	}
	return nil
}

// write writes a result to a file, or prints its percentiles if the path is empty.
func write(res *result.Result, path string, lines io.Writer) error {
	if path == "" {
		return summarise(res, lines)
	}
	encoded, err := json.Marshal(res)
	if err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	return os.WriteFile(path, encoded, 0o600)
}

// summarise prints percentiles, and why they are missing.
func summarise(res *result.Result, out io.Writer) error {
	for _, d := range res.Directions() {
		words := []string{fmt.Sprintf("%s: %.1f operations a second", d.Name, d.OperationsPerSecond())}
		for _, percent := range []float64{50, 95, 99, 99.9} {
			if p, _, ok := d.LatencyOf(func(l *result.Latency) (result.Percentile, bool) { return l.Percentile(percent) }); ok {
				words = append(words, fmt.Sprintf("p%v %.3f ms", percent, 1e3*p.Seconds))
			}
		}
		if _, err := fmt.Fprintln(out, strings.Join(words, ", ")); err != nil {
			return err
		}
	}
	for _, w := range res.Warnings {
		if _, err := fmt.Fprintln(out, w.Message); err != nil {
			return err
		}
	}
	return nil
}
