package start

import (
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
)

// limits holds the limits of figures that a benchmark from flags has to keep.
type limits struct {
	bandwidth, iops, p99 string
}

func (g *limits) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&g.bandwidth, "at-least", "", "smallest bandwidth that passes, such as 400Mi; makes the run a gate")
	flags.StringVar(&g.iops, "min-iops", "", "smallest operations per second that pass, such as 5k; makes the run a gate")
	flags.StringVar(&g.p99, "max-p99", "", "largest 99th percentile of the latency that passes, such as 20ms; makes the run a gate; uses fio, and needs --rate-iops or --closed-loop")
}

func (*limits) given(flags *pflag.FlagSet) []string {
	return slices.DeleteFunc([]string{"at-least", "min-iops", "max-p99"}, func(name string) bool { return !flags.Changed(name) })
}

func (g *limits) check() error {
	latency := regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(us|ms|s)$`)
	number := regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$`)
	switch {
	case g.p99 != "" && !latency.MatchString(g.p99):
		return exit.UsageErrorf("--max-p99 %q: want a time such as 20ms", g.p99)
	case g.iops != "" && !number.MatchString(g.iops):
		return exit.UsageErrorf("--min-iops %q: want a number such as 5000 or 5k", g.iops)
	case g.bandwidth != "" && !number.MatchString(g.bandwidth):
		return exit.UsageErrorf("--at-least %q: want bytes per second, such as 400Mi", g.bandwidth)
	}
	return nil
}

// expectations returns the limits as expectations. closedLoop accepts a percentile of a phase without a rate.
func (g *limits) expectations(phase v1alpha1.PhaseName, closedLoop bool) []v1alpha1.Expectation {
	var all []v1alpha1.Expectation
	add := func(metric v1alpha1.Metric, atLeast, atMost string) {
		if atLeast != "" || atMost != "" {
			all = append(all, v1alpha1.Expectation{
				MetricReference: v1alpha1.MetricReference{Phase: phase, Metric: metric},
				AtLeast:         v1alpha1.Threshold(atLeast), AtMost: v1alpha1.Threshold(atMost),
			})
		}
	}
	add(v1alpha1.MetricBandwidth, g.bandwidth, "")
	add(v1alpha1.MetricIOPS, g.iops, "")
	add(v1alpha1.MetricLatencyP99, "", g.p99)
	for i := range all {
		all[i].ClosedLoop = closedLoop && all[i].Metric == v1alpha1.MetricLatencyP99
	}
	return all
}
