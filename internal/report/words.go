package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Census counts the trials by validity, as in "44 trials: 42 Valid, 2 Inert".
func Census(ledger []sweepspec.Entry) string {
	var order []string
	counts := map[string]int{}
	for _, e := range ledger {
		validity := e.Validity()
		if counts[validity]++; counts[validity] == 1 {
			order = append(order, validity)
		}
	}
	if len(order) == 0 {
		return ""
	}
	parts := make([]string, len(order))
	for i, validity := range order {
		parts[i] = fmt.Sprintf("%d %s", counts[validity], validity)
	}
	return fmt.Sprintf("%d trials: %s", len(ledger), strings.Join(parts, ", "))
}

// FigureName returns the name of a figure with its phase and, unless it is Total, its direction.
func FigureName(r v1alpha1.MetricReference) string {
	name := string(r.Phase) + " " + string(r.Metric)
	if r.Direction != "" && r.Direction != v1alpha1.DirectionTotal {
		name += " " + string(r.Direction)
	}
	return name
}

// Ratio formats a ratio with three decimals, as in the summary; "" if unknown.
func Ratio(d v1alpha1.Decimal) string {
	v, err := figure.ParseDecimal(d)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// Interval formats both ends of an interval; "" if an end is unknown.
func Interval(low, high v1alpha1.Decimal, write func(v1alpha1.Decimal) string) string {
	if low == "" || high == "" {
		return ""
	}
	return write(low) + " to " + write(high)
}

// LimitOf returns the limit of a constraint, and the function that formats values for comparison with the
// limit.
func LimitOf(c v1alpha1.Constraint) (limit string, write func(v1alpha1.Decimal) string) {
	figures := func(d v1alpha1.Decimal) string { return figure.HumanDecimal(c.Metric, d) }
	switch {
	case c.MaximumRegression != "":
		return fmt.Sprintf("at most %s worse than the baseline", c.MaximumRegression), Ratio
	case c.AtMost != "":
		return "at most " + string(c.AtMost), figures
	}
	return "at least " + string(c.AtLeast), figures
}

// Found describes the state of the prefilled data at the beginning of a run.
func Found(state v1alpha1.DataState) string {
	switch state {
	case v1alpha1.DataPrefilled:
		return "had just been prefilled"
	case v1alpha1.DataUsed:
		return "were as earlier runs had left them"
	case v1alpha1.DataRolledBack:
		return "had just been rolled back to the prefilled state"
	}
	return "were in a state that is unknown to this version"
}

// Meaning explains a mark on figures.
func Meaning(mark v1alpha1.ResultMark) string {
	switch mark {
	case v1alpha1.MarkCached:
		return "if the data are in Ceph, they are less than twice as large as the caches of the OSDs, or those are unknown: many reads may not have reached disks"
	case v1alpha1.MarkWarmed:
		return "its data were read once before: the caches of the OSDs held as much of them as fits"
	case v1alpha1.MarkClosedLoop:
		return "latencies were measured without an offered rate: clients that wait for a slow cluster send less"
	case v1alpha1.MarkBelowRate:
		return "clients did less than 95 % of the offered rate: latencies are those of a cluster, or a client, at its limit"
	case v1alpha1.MarkSaturated:
		return "the number of waiting operations grew until the end: the storage cannot take the rate, so there are no latencies"
	case v1alpha1.MarkOffSchedule:
		return "a client's generator did not follow its schedule, so there are no latencies: give the clients more CPU, or use more of them"
	case v1alpha1.MarkSharedImage:
		return "clients shared an image and its lock"
	case v1alpha1.MarkThrottled:
		return "a client was kept from running by its CPU limit: raise clients.resources.cpu"
	case v1alpha1.MarkStarved:
		return "a client or its host lacked CPU: end other work there, or use other nodes"
	case v1alpha1.MarkNotSteady:
		return "the rate was still changing in the second half: raise ramp or duration"
	case v1alpha1.MarkDisturbed:
		return "the cluster was disturbed; kubectl cephtune results -o yaml shows the disturbances"
	}
	return "unknown to this version"
}
