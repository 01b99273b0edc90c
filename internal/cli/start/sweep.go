package start

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// planTimeout bounds the wait for the plan.
const planTimeout = 5 * time.Minute

// sweeping has the flags of the subcommand sweep.
type sweeping struct {
	starter
	load      load.Flags
	objective string
	effect    string
	baseline  []string
	mask      string
	budget    time.Duration
	design    design
	planOnly  bool
	yes       bool

	metric   v1alpha1.Metric
	settings []setting
	base     map[string]v1alpha1.ParameterValue
	// asks reports whether the input is a terminal, at which a person can answer.
	asks func(io.Reader) bool
}

// IsTerminal reports whether the input is a terminal.
func IsTerminal(in io.Reader) bool {
	file, isFile := in.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// NewSweepCommand returns the subcommand that makes a sweep from flags, shows its plan, asks for confirmation, and runs it.
func NewSweepCommand(connect object.Connect, logs live.Logs, asks func(io.Reader) bool) *cobra.Command {
	o := &sweeping{starter: starter{logs: logs}, asks: asks}
	o.build, o.confirm = o.sweep, o.plan
	cmd := &cobra.Command{
		Use:   "sweep SETTING=VALUE,… [SETTING=VALUE,…]",
		Short: "Find the best value of a setting for a load, from flags",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return inFlags(o.start(cmd, connect))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.objective, "objective", "", "metric to compare, such as p99, iops or bandwidth")
	flags.StringVar(&o.effect, "minimum-effect", "", "smallest improvement that matters (default 10%)")
	flags.StringSliceVar(&o.baseline, "baseline", nil, "values to compare with, such as pg_num=32 (default the present ones)")
	flags.StringVar(&o.mask, "mask", "", "OSDs whose options are varied, such as class:ssd or host:node-1 (default all)")
	flags.DurationVar(&o.budget, "budget", 0, "longest duration of the whole sweep, such as 4h; 0 is without limit")
	o.design.add(flags)
	flags.BoolVar(&o.planOnly, "plan", false, "only show the plan")
	flags.BoolVarP(&o.yes, "yes", "y", false, "run without asking for confirmation")
	o.load.Add(cmd, time.Minute)
	o.addStart(cmd, words.SweepVerdicts())
	return cmd
}

func (o *sweeping) check(cmd *cobra.Command, args []string) error {
	args, err := o.checkStart(args, words.SweepVerdicts())
	if err != nil {
		return err
	}
	if o.design.quick && o.design.wanted() != v1alpha1.DesignBlocks && o.load.Scratch() && variesPool(args) {
		o.load.PreferFio() // Only fio can load several pools in turn.
	}
	if err := o.checkObjective(); err != nil {
		return err
	}
	if err := o.design.check(); err != nil {
		return err
	}
	if err := o.checkSettings(args); err != nil {
		return err
	}
	if err := o.checkRate(); err != nil {
		return err
	}
	if !o.isDry() && !o.planOnly && !o.yes && !o.asks(cmd.InOrStdin()) {
		return exit.UsageErrorf("without a terminal to ask for confirmation, a sweep needs --yes; --plan only shows the plan")
	}
	return nil
}

// checkSettings sets what the sweep varies, and the values of the baseline.
func (o *sweeping) checkSettings(args []string) (err error) {
	classes := o.load.Classes() != nil
	if one := o.load.StorageClass(); one != "" && len(args) == 0 && !classes {
		return exit.UsageErrorf("one StorageClass is no comparison: name two, such as --storage-class %[1]s,OTHER, "+
			"or measure it with: kubectl cephtune run --storage-class %[1]s", one)
	}
	if o.settings, err = settings(args, o.load.Engine(), o.mask, classes); err != nil {
		return err
	}
	o.base, err = baseline(o.baseline, o.settings, o.load.Engine())
	return err
}

// checkRate refuses a percentile of a closed loop, unless --closed-loop accepts it. The rate may be varied.
func (o *sweeping) checkRate() error {
	if !figure.IsPercentile(o.metric) || slices.ContainsFunc(o.settings, func(s setting) bool { return s.field() == v1alpha1.WorkloadRateIOPS }) {
		return nil
	}
	return o.load.CheckPercentile("--objective " + o.objective)
}

// checkObjective checks the budget, the objective and the flags of the load, and sets the metric to compare.
func (o *sweeping) checkObjective() error {
	if o.budget < 0 {
		return exit.UsageErrorf("--budget %v: want a time such as 4h", o.budget)
	}
	var known bool
	if o.objective != "" {
		if o.metric, known = words.Metric(o.objective); !known {
			return exit.UsageErrorf("--objective %q: want one of %s", o.objective, strings.Join(words.MetricNames(), ", "))
		}
	}
	if err := o.load.Check(figure.IsPercentile(o.metric)); err != nil {
		return err
	}
	if o.objective == "" {
		o.metric = o.load.Figure()
	}
	if o.load.Engine() == "rbd" && o.metric != v1alpha1.MetricBandwidth && o.metric != v1alpha1.MetricIOPS {
		return exit.UsageErrorf("--objective %s: rbd bench reports only bandwidth and iops, use --engine fio", o.objective)
	}
	return nil
}

// plan shows the plan, and reports whether the user confirms the sweep.
func (o *sweeping) plan(cmd *cobra.Command, c client.WithWatch, wanted client.Object) (bool, error) {
	s, ok := wanted.(*v1alpha1.CephTuningSweep)
	if !ok {
		return false, fmt.Errorf("got a %T", wanted)
	}
	ctx, shown, errOut := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if o.output != "table" && !o.planOnly {
		shown = errOut // The object itself goes to standard output.
	}
	request := planRequest{Timeout: planTimeout, Output: "table", Reword: words.InFlags}
	if o.planOnly {
		request.Output = o.output
	}
	p, err := planSweep(ctx, c, s, request, shown, errOut)
	switch {
	case err != nil:
		return false, err
	case len(p.Refusals) > 0:
		return false, exit.UnexpectedErrorf("the operator would refuse the sweep: see the plan%s", o.design.refused(&s.Spec, p))
	}
	if _, err := io.WriteString(errOut, o.design.hint(&s.Spec, p)); err != nil || o.planOnly {
		return false, err
	}
	question := "Run it? [y/N] "
	if o.yes {
		question = ""
	}
	if _, err := fmt.Fprintf(errOut, "\nThe sweep will:\n- %s\n%s", strings.Join(sweepspec.Effects(&s.Spec, p), "\n- "), question); err != nil || o.yes {
		return o.yes, err
	}
	return confirmed(ctx, cmd.InOrStdin(), errOut)
}

// confirmed reads an answer. Any answer other than y or yes means no.
func confirmed(parent context.Context, in io.Reader, errOut io.Writer) (bool, error) {
	ctx, stop := object.Bounded(parent, 0)
	defer stop()
	answers := make(chan string, 1)
	// A read from a terminal cannot be cancelled. Without an answer, this goroutine therefore ends only
	// with the process.
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // No answer means no.
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, exit.InterruptedErrorf("this command was interrupted: nothing was created")
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return true, nil
		}
		_, err := fmt.Fprintln(errOut, "Nothing was created.")
		return false, err
	}
}

// sweep returns the object that the flags describe, without its namespace.
func (o *sweeping) sweep(ctx context.Context, c client.Client, errOut io.Writer) (client.Object, error) {
	ref, template, err := o.load.Resolve(ctx, c, o.isDry(), errOut)
	if err != nil {
		return nil, err
	}
	s := &v1alpha1.CephTuningSweep{
		Spec: v1alpha1.CephTuningSweepSpec{
			ClusterRef: ref, Template: template,
			Objective: v1alpha1.Objective{
				MetricReference: v1alpha1.MetricReference{Phase: template.Phases[0].Name, Metric: o.metric},
				MinimumEffect:   v1alpha1.Percent(o.effect), ClosedLoop: o.load.ClosedLoop() && figure.IsPercentile(o.metric),
			},
		},
	}
	if classes := o.load.Classes(); classes != nil {
		s.Spec.Parameters = append(s.Spec.Parameters, *classes)
	}
	for _, setting := range o.settings {
		s.Spec.Parameters = append(s.Spec.Parameters, setting.inPhase(template.Phases[0].Name))
		if pool := template.Target.ScratchPool; setting.parameter.Redundancy != nil && pool != nil {
			pool.Parameters = map[string]v1alpha1.ParameterValue{"pg_num": defaultPGs}
		}
	}
	s.GenerateName = sweepPrefix(string(s.Spec.Parameters[0].Name))
	if len(o.base) > 0 {
		s.Spec.Baseline = &v1alpha1.Baseline{Values: o.base}
	}
	if o.budget > 0 {
		s.Spec.Budget.Duration = &metav1.Duration{Duration: o.budget}
	}
	return s, o.design.apply(&s.Spec)
}

// defaultPGs is the number of PGs of a scratch pool in a sweep over redundancy. The sweep sets it, because
// otherwise the redundancy could also change the number of PGs.
const defaultPGs = "32"

// sweepPrefix returns a name prefix that Kubernetes accepts, from the name of a setting.
func sweepPrefix(setting string) string {
	return strings.ToLower(strings.ReplaceAll(setting, "_", "-")) + "-"
}
