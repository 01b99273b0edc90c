// Package sentinel is the subcommand that measures before and after an upgrade, and says what the upgrade did to the speed. It
// stores nothing: the run IDs and versions in the history of a benchmark say which nights were before the upgrade.
package sentinel

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/compare"
	"github.com/cephtune/cephtune/internal/cli/exit"
	clihistory "github.com/cephtune/cephtune/internal/cli/history"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/history"
)

// The moments of an upgrade. They begin the run IDs that this command sets.
const (
	before = "before"
	after  = "after"
)

type options struct {
	connect object.Connect
	now     func() time.Time
	pace    object.Pace

	moment, name string
	since        time.Time
	thisHour     bool
	expect       []string
	timeout      time.Duration
	output       string

	benchmark *v1alpha1.CephBenchmark
	split     history.Upgrade
}

// NewCommand returns the subcommand.
func NewCommand(connect object.Connect, pace object.Pace, now func() time.Time) *cobra.Command {
	o := &options{connect: connect, pace: pace, now: now}
	cmd := &cobra.Command{
		Use:   "sentinel (before | after) [cephbenchmark/]NAME",
		Short: "Measure before and after an upgrade, and say whether it made Ceph slower",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{before, after}, cobra.ShellCompDirectiveNoFileComp
			}
			return object.CompleteBenchmarks(connect, 1)(cmd, args[1:], typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			ctx, stop := object.Bounded(cmd.Context(), o.timeout)
			defer stop()
			return o.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.TimeVar(&o.since, "since", time.Time{}, []string{time.RFC3339}, "when the upgrade began, such as 2026-03-14T09:00:00Z, if neither Ceph nor Rook has another version")
	flags.BoolVar(&o.thisHour, "this-hour", false, "accept fewer than three days before the upgrade: the verdict then holds for this hour only")
	flags.StringSliceVar(&o.expect, "expect-difference", []string{"ceph-version", "rook-version", "images"}, "kinds of differences that belong to the upgrade, as in compare")
	flags.DurationVar(&o.timeout, "timeout", 6*time.Hour, "how long to wait for Rook and for the benchmark; 0 is without limit")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *options) read(args []string) (err error) {
	if len(args) == 0 || args[0] != before && args[0] != after {
		return exit.UsageErrorf("want before or after, and a benchmark, such as: sentinel before nightly")
	}
	if o.timeout < 0 {
		return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
	}
	o.moment = args[0]
	if o.name, err = clihistory.NameOf(args[1:]); err != nil {
		return err
	}
	_, _, err = compare.Sort(nil, o.expect)
	return err
}

func (o *options) run(ctx context.Context, out, errOut io.Writer) error {
	if err := o.look(ctx); err != nil {
		return err
	}
	// Nights of a schedule are compared only with each other, because the hour may matter.
	older, newer := len(o.split.Before), len(o.split.After)
	switch {
	case o.moment == after && older+newer == 0, o.benchmark.Spec.Schedule != nil, o.moment == after && older > 0 && newer > 0:
		return o.conclude(ctx, out)
	}
	if err := o.measure(ctx, errOut); err != nil {
		return err
	}
	if err := o.look(ctx); err != nil {
		return err
	}
	return o.conclude(ctx, out)
}

// look reads the benchmark and its nights, and finds out which of them were before the upgrade.
func (o *options) look(ctx context.Context) error {
	b, nights, err := clihistory.Open(ctx, o.connect, o.name)
	lastBefore := o.since
	switch {
	case o.moment == before && len(nights) > 0: // Not now: this machine's clock may be another than the cluster's.
		lastBefore = nights[len(nights)-1].Time
	case o.since.IsZero():
		lastBefore = lastNightBefore(nights)
	}
	o.benchmark, o.split = b, history.Split(nights, lastBefore)
	return err
}

// lastNightBefore returns the time of the last night before the upgrade: the last one that sentinel before has measured, or
// that has other versions than the latest night. It is zero without such a night.
func lastNightBefore(nights []history.Night) (last time.Time) {
	for _, n := range nights {
		if strings.HasPrefix(string(n.RunID), before+"-") || n.Versions() != nights[len(nights)-1].Versions() {
			last = n.Time
		}
	}
	return last
}
