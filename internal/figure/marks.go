package figure

import (
	"math"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/result"
)

// Marks lists all marks in the order of the API's enum.
func Marks() []v1alpha1.ResultMark {
	return []v1alpha1.ResultMark{
		v1alpha1.MarkCached, v1alpha1.MarkWarmed, v1alpha1.MarkClosedLoop, v1alpha1.MarkBelowRate, v1alpha1.MarkSaturated, v1alpha1.MarkOffSchedule, v1alpha1.MarkSharedImage,
		v1alpha1.MarkThrottled, v1alpha1.MarkStarved, v1alpha1.MarkNotSteady, v1alpha1.MarkDisturbed,
	}
}

// JoinMarks joins marks into one cell of a table.
func JoinMarks(marks []v1alpha1.ResultMark) string {
	words := make([]string, len(marks))
	for i, mark := range marks {
		words[i] = string(mark)
	}
	return strings.Join(words, " ")
}

// MarksOfSpec returns the marks that follow from the spec alone: ClosedLoop and SharedImage.
func MarksOfSpec(template *v1alpha1.BenchmarkTemplate, phase *v1alpha1.Phase) []v1alpha1.ResultMark {
	var marks []v1alpha1.ResultMark
	if engine.TraitsOf(phase).ClosedLoop {
		marks = append(marks, v1alpha1.MarkClosedLoop)
	}
	if sharesImage(template, phase) {
		marks = append(marks, v1alpha1.MarkSharedImage)
	}
	return marks
}

// shareOfRate is the share of an offered rate that clients must reach. It is below 1 because
// operations are still in flight at the end of a phase. Arrivals of a Poisson process vary, so
// BelowRate also allows three standard deviations.
const shareOfRate = 0.95

// BelowRate reports whether the clients of a phase did less than shareOfRate of its offered rate. In a mix of
// reads and writes, the rate applies to each direction, but it suffices that one direction reaches the rate.
// BelowRate returns false for a phase without a rate, and for a fio phase with a list of jobs.
func BelowRate(template *v1alpha1.BenchmarkTemplate, phase *v1alpha1.Phase, r *result.Result) bool {
	traits := engine.TraitsOf(phase)
	if r == nil || (traits.OfferedIOPS == 0 && traits.OfferedBytesPerSecond == 0) {
		return false
	}
	clients := float64(max(1, template.Clients.Count))
	judged := false
	for _, d := range r.Directions() {
		if d.Seconds <= 0 || d.Operations == 0 {
			continue
		}
		perSecond := traits.OfferedIOPS
		if perSecond == 0 {
			perSecond = traits.OfferedBytesPerSecond * float64(d.Operations) / float64(max(1, d.Bytes))
		}
		offered := clients * d.Seconds * perSecond
		if float64(d.Operations)+3*math.Sqrt(offered) >= shareOfRate*offered {
			return false
		}
		judged = true
	}
	return judged
}

// MarksOfResult returns the marks that say why a result has no latencies.
func MarksOfResult(r *result.Result) []v1alpha1.ResultMark {
	var marks []v1alpha1.ResultMark
	if r == nil {
		return nil
	}
	for _, w := range r.Warnings {
		switch w.Code { //nolint:exhaustive // Other warnings do not remove latencies.
		case result.WarnSaturated:
			marks = append(marks, v1alpha1.MarkSaturated)
		case result.WarnOffSchedule:
			marks = append(marks, v1alpha1.MarkOffSchedule)
		}
	}
	return slices.Compact(marks)
}

// IsPercentile reports whether a metric is a percentile of the latencies of a whole phase.
func IsPercentile(metric v1alpha1.Metric) bool {
	_, ok := percentiles()[metric]
	return ok
}

// IsLatency reports whether a metric is a latency, of a phase or of a part of an outage.
func IsLatency(metric v1alpha1.Metric) bool {
	return metric.LowerIsBetter() && metric != v1alpha1.MetricTimeToClean
}

// InClosedLoop reports whether a figure is a percentile of a whole phase in a closed loop: the phase, or one
// of its jobs, offers no rate. Such a percentile falls when fewer operations are in flight, so it improves
// when the client slows down.
func InClosedLoop(template *v1alpha1.BenchmarkTemplate, ref v1alpha1.MetricReference) bool {
	if !IsPercentile(ref.Metric) {
		return false
	}
	phase := template.Phase(ref.Phase)
	return phase != nil && engine.TraitsOf(phase).ClosedLoop
}

func sharesImage(template *v1alpha1.BenchmarkTemplate, phase *v1alpha1.Phase) bool {
	if !engine.TraitsOf(phase).OnImages || template.Clients.Count < 2 {
		return false
	}
	switch target := template.Target; {
	case target.ScratchPool != nil:
		return target.ScratchPool.Image.Sharing == v1alpha1.ImageSharingClients
	case target.ExistingPool != nil:
		return target.ExistingPool.Image.Sharing == v1alpha1.ImageSharingClients
	}
	return false
}
