package start

import (
	"context"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/design/curve"
)

// closedLoopDuration is how long the closed loop at the beginning of a curve takes: only its rate counts.
const closedLoopDuration = 30 * time.Second

// drawing has the flags of the subcommand curve.
type drawing struct {
	starter
	load load.Flags
	// limits has the limit of each percentile; only one is set.
	limits  map[v1alpha1.Metric]*string
	minIOPS string
	step    words.Seconds
}

// NewCurveCommand returns the subcommand that draws a curve.
func NewCurveCommand(connect object.Connect, logs live.Logs) *cobra.Command {
	o := &drawing{starter: starter{logs: logs}, limits: map[v1alpha1.Metric]*string{}, step: words.Seconds(curve.DefaultStepSeconds * time.Second)}
	cmd := &cobra.Command{
		Use:   "curve --max-p99 TIME",
		Short: "Find the highest rate that keeps a limit of latency",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return inFlags(o.start(cmd, connect))
		},
	}
	o.build = o.benchmark
	flags := cmd.Flags()
	for _, p := range curvePercentiles() {
		o.limits[p.metric] = flags.String(p.flag, "", "limit of the "+p.words+" of the latency, such as 10ms")
	}
	flags.StringVar(&o.minIOPS, "min-iops", "", "smallest SustainableIOPS that passes, such as 5k; makes the curve a gate")
	flags.Var(&o.step, "step", "how long each rate is measured, at least 10s")
	o.load.Add(cmd, closedLoopDuration)
	o.addStart(cmd, verdicts())
	return cmd
}

type curvePercentile struct {
	flag, words string
	metric      v1alpha1.Metric
}

func curvePercentiles() []curvePercentile {
	return []curvePercentile{
		{"max-p99", "99th percentile", v1alpha1.MetricLatencyP99},
		{"max-p50", "median", v1alpha1.MetricLatencyP50},
		{"max-p95", "95th percentile", v1alpha1.MetricLatencyP95},
		{"max-p999", "99.9th percentile", v1alpha1.MetricLatencyP999},
	}
}

// limit returns the metric that is limited, with its limit.
func (o *drawing) limit() (v1alpha1.Metric, string, error) {
	var metric v1alpha1.Metric
	for _, p := range curvePercentiles() {
		switch text := *o.limits[p.metric]; {
		case text == "":
		case metric != "":
			return "", "", exit.UsageErrorf("--%s: a curve has one limit of latency: remove the others", p.flag)
		case !regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(us|ms|s)$`).MatchString(text):
			return "", "", exit.UsageErrorf("--%s %q: want a time such as 10ms", p.flag, text)
		default:
			metric = p.metric
		}
	}
	if metric == "" {
		return "", "", exit.UsageErrorf("a curve needs a limit of latency, such as --max-p99 10ms")
	}
	return metric, *o.limits[metric], nil
}

func (o *drawing) check(cmd *cobra.Command, args []string) error {
	args, err := o.checkStart(args, verdicts())
	if err != nil {
		return err
	}
	if _, _, err := o.limit(); err != nil {
		return err
	}
	if err := (&limits{iops: o.minIOPS}).check(); err != nil {
		return err
	}
	if err := o.load.Check(true); err != nil {
		return err
	}
	switch {
	case len(args) > 0:
		return exit.UsageErrorf("unexpected argument %q: a curve takes flags only", args[0])
	case o.step < words.Seconds(10*time.Second):
		return exit.UsageErrorf("--step: want at least 10s")
	case cmd.Flags().Changed("rate-iops"):
		return exit.UsageErrorf("--rate-iops: a curve finds its rates: remove it")
	case o.load.Classes() != nil:
		return exit.UsageErrorf("--storage-class names several: draw a curve of each, and compare them with \"compare\"")
	}
	return nil
}

// benchmark returns the benchmark that the flags describe.
func (o *drawing) benchmark(ctx context.Context, c client.Client, errOut io.Writer) (client.Object, error) {
	ref, template, err := o.load.Resolve(ctx, c, o.isDry(), errOut)
	if err != nil {
		return nil, err
	}
	metric, limit, err := o.limit()
	if err != nil {
		return nil, err
	}
	phase := &template.Phases[0]
	phase.Fio.Curve = &v1alpha1.Curve{Metric: metric, AtMost: v1alpha1.Threshold(limit), StepDuration: metav1.Duration{Duration: time.Duration(o.step)}}
	b := &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "curve-"},
		Spec:       v1alpha1.CephBenchmarkSpec{ClusterRef: ref, Repetitions: 1, Template: template},
	}
	if o.minIOPS != "" {
		b.Spec.Expectations = []v1alpha1.Expectation{{
			MetricReference: v1alpha1.MetricReference{Phase: phase.Name, Metric: v1alpha1.MetricSustainableIOPS}, AtLeast: v1alpha1.Threshold(o.minIOPS),
		}}
	}
	return b, nil
}
