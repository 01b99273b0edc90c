package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/watch"
	"github.com/cephtune/cephtune/internal/schedule"
)

// removalTimeout bounds the removal of the object that was created for the plan.
const removalTimeout = 30 * time.Second

// longestName limits how many characters of an object's name the generated name of its copy keeps. It leaves
// room for -plan- and for the suffix of the API server, within 63 characters.
const longestName = 40

// planning has the flags of the subcommand plan.
type planning struct {
	file    string
	timeout time.Duration
	output  string
}

// NewPlanCommand returns the subcommand that shows the plan of a sweep, or the runs of a benchmark,
// without running it. It changes nothing in Ceph.
func NewPlanCommand(connect object.Connect) *cobra.Command {
	o := &planning{}
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what a sweep or a benchmark would do, and measure nothing",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return o.run(cmd, connect)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "file with a CephTuningSweep or a CephBenchmark; - is standard input")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait for the plan; 0 is without limit")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *planning) check(args []string) error {
	switch {
	case len(args) > 0:
		return exit.UsageErrorf("unexpected argument %q: name a file with -f", args[0])
	case o.file == "":
		return exit.UsageErrorf("name the file of a CephTuningSweep or a CephBenchmark with -f")
	case o.timeout < 0:
		return exit.UsageErrorf("--timeout %v: want a time such as 5m, or 0 for none", o.timeout)
	}
	return nil
}

func (o *planning) run(cmd *cobra.Command, connect object.Connect) error {
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	read, err := manifest.One(o.file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := load.FillCluster(cmd.Context(), c, read); err != nil {
		return err
	}
	if err := place(read, namespace, cmd.Flags().Changed("namespace")); err != nil {
		return err
	}
	switch read := read.(type) {
	case *v1alpha1.CephBenchmark:
		if err := planBenchmark(cmd.Context(), c, read, o.output, cmd.OutOrStdout()); err != nil {
			return err
		}
		return o.writeDue(read.Spec.Schedule, cmd.OutOrStdout())
	case *v1alpha1.CephTuningSweep:
		if err := o.ofSweep(cmd, c, read); err != nil {
			return err
		}
		return o.writeDue(read.Spec.Schedule, cmd.OutOrStdout())
	}
	return fmt.Errorf("%s has a %s, which has no plan", o.file, object.StateOf(read).Kind.Name)
}

// writeDue writes when the next runs are due. It fails if the operator would refuse the schedule.
func (o *planning) writeDue(spec *v1alpha1.Schedule, out io.Writer) error {
	if spec == nil {
		return nil
	}
	due, err := schedule.Upcoming(spec, time.Now(), 3)
	if err != nil {
		return exit.UnexpectedErrorf("the operator would refuse the schedule: %w", err)
	}
	if o.output != "table" {
		return nil
	}
	_, err = terminal.Printf(out, "The next runs are due at %s, %s and %s.\n", schedule.Clock(due[0]), schedule.Clock(due[1]), schedule.Clock(due[2]))
	return err
}

func (o *planning) ofSweep(cmd *cobra.Command, c client.WithWatch, sweep *v1alpha1.CephTuningSweep) error {
	plan, err := planSweep(cmd.Context(), c, sweep, planRequest{Timeout: o.timeout, Output: o.output}, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if len(plan.Refusals) > 0 {
		return exit.UnexpectedErrorf("the operator would refuse the sweep: see the plan")
	}
	return nil
}

// onlyPlanned returns a copy of a sweep that has a generated name and is only planned, not run.
func onlyPlanned(sweep *v1alpha1.CephTuningSweep) *v1alpha1.CephTuningSweep {
	planned := &v1alpha1.CephTuningSweep{Spec: *sweep.Spec.DeepCopy()}
	planned.Namespace = sweep.Namespace
	planned.GenerateName = prefixOf(sweep, "-plan-")
	planned.Spec.Mode, planned.Spec.Suspend, planned.Spec.Schedule = v1alpha1.SweepModePlan, false, nil
	return planned
}

// prefixOf returns the name prefix for a copy of an object: the object's own name, and an ending.
func prefixOf(original client.Object, ending string) string {
	name := original.GetName()
	if name == "" {
		name = strings.TrimSuffix(original.GetGenerateName(), "-")
	}
	return strings.TrimRight(name[:min(len(name), longestName)], "-.") + ending
}

// planRequest holds the options of a request for a plan.
type planRequest struct {
	// Timeout limits the wait for the plan; 0 means no limit.
	Timeout time.Duration
	// Output is table, json or yaml.
	Output string
	// Reword rewrites the refusals of a plan that is shown as a table; nil leaves them alone.
	Reword func(string) string
}

// report writes the plan of a sweep.
func (r planRequest) report(o client.Object, w io.Writer) error {
	s, ok := o.(*v1alpha1.CephTuningSweep)
	if !ok || s.Status.Plan == nil || r.Reword == nil {
		return results.WritePlan(o, w)
	}
	reworded := s.DeepCopy()
	for i, refusal := range reworded.Status.Plan.Refusals {
		reworded.Status.Plan.Refusals[i] = r.Reword(refusal)
	}
	return results.WritePlan(reworded, w)
}

// planSweep makes the operator plan a sweep, and writes and returns the plan. It creates a copy of the sweep
// for that, and removes the copy.
func planSweep(ctx context.Context, c client.WithWatch, sweep *v1alpha1.CephTuningSweep, r planRequest, out, errOut io.Writer) (plan *v1alpha1.SweepPlan, err error) {
	planned := onlyPlanned(sweep)
	if err := create(ctx, c, planned); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove(ctx, c, planned)) }()
	ended, err := watch.Follow(ctx, c, watch.Request{Object: planned, Timeout: r.Timeout, Output: r.Output, Quiet: true, Report: r.report}, out, errOut)
	if err != nil {
		return nil, err
	}
	s, ok := ended.(*v1alpha1.CephTuningSweep)
	if !ok || s.Status.Plan == nil {
		return nil, fmt.Errorf("the operator has made no plan: %s", object.StateOf(ended).Ready().Message)
	}
	return s.Status.Plan, nil
}

// remove deletes the object that was created for the plan, even after an interrupt by the user.
func remove(parent context.Context, c client.Client, planned *v1alpha1.CephTuningSweep) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), removalTimeout)
	defer cancel()
	if err := client.IgnoreNotFound(c.Delete(ctx, planned)); err != nil {
		return fmt.Errorf("the plan could not be removed, delete CephTuningSweep %s/%s: %w", planned.Namespace, planned.Name, err)
	}
	return nil
}
