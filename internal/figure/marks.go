package figure

import (
	"math"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
)

// Marks lists all marks in the order in which they are listed.
func Marks() []v1alpha1.ResultMark {
	return []v1alpha1.ResultMark{
		v1alpha1.MarkCached, v1alpha1.MarkWarmed, v1alpha1.MarkClosedLoop, v1alpha1.MarkBelowRate, v1alpha1.MarkSharedImage,
		v1alpha1.MarkThrottled, v1alpha1.MarkNotSteady, v1alpha1.MarkDisturbed,
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
	if isClosedLoop(phase.Fio) {
		marks = append(marks, v1alpha1.MarkClosedLoop)
	}
	if sharesImage(template, phase) {
		marks = append(marks, v1alpha1.MarkSharedImage)
	}
	return marks
}

// isClosedLoop reports whether a phase, or one of its jobs, offers no rate. It concerns only
// fio, because no other tool has percentiles. One such job is enough, because the percentiles
// include its operations.
func isClosedLoop(fio *v1alpha1.Fio) bool {
	if fio == nil || fio.RateIOPS != nil || fio.RateBandwidth != nil {
		return false
	}
	return len(fio.Jobs) == 0 || slices.ContainsFunc(fio.Jobs, func(job v1alpha1.FioJob) bool {
		return job.RateIOPS == nil && job.RateBandwidth == nil
	})
}

// shareOfRate is the share of an offered rate that clients must reach. It is below 1 because
// operations are still in flight at the end of a phase. Arrivals of a Poisson process vary, so
// BelowRate also allows three standard deviations.
const shareOfRate = 0.95

// BelowRate reports whether the clients of a phase did less than its offered rate. A mix applies
// its rate to each direction, and BelowRate judges the larger one. It returns false for a phase
// whose jobs have rates of their own.
func BelowRate(template *v1alpha1.BenchmarkTemplate, phase *v1alpha1.Phase, r *result.Result) bool {
	fio := phase.Fio
	if fio == nil || r == nil || len(fio.Jobs) > 0 || (fio.RateIOPS == nil && fio.RateBandwidth == nil) {
		return false
	}
	jobs := float64(max(1, fio.NumJobs)) * float64(max(1, template.Clients.Count))
	judged := false
	for _, d := range r.Directions() {
		if d.Seconds <= 0 || d.Operations == 0 {
			continue
		}
		offered := jobs * d.Seconds
		if fio.RateIOPS != nil {
			offered *= float64(*fio.RateIOPS)
		} else {
			offered *= float64(fio.RateBandwidth.Value()) * float64(d.Operations) / float64(max(1, d.Bytes))
		}
		if float64(d.Operations)+3*math.Sqrt(offered) >= shareOfRate*offered {
			return false
		}
		judged = true
	}
	return judged
}

// InClosedLoop reports whether a figure is a percentile of a phase that offers no rate. Such a
// percentile falls when fewer operations are in flight, so it improves when the client slows
// down.
func InClosedLoop(template *v1alpha1.BenchmarkTemplate, ref v1alpha1.MetricReference) bool {
	if _, isPercentile := percentiles()[ref.Metric]; !isPercentile {
		return false
	}
	return slices.ContainsFunc(template.Phases, func(p v1alpha1.Phase) bool { return p.Name == ref.Phase && isClosedLoop(p.Fio) })
}

func sharesImage(template *v1alpha1.BenchmarkTemplate, phase *v1alpha1.Phase) bool {
	onImage := phase.RBDBench != nil ||
		phase.Fio != nil && (phase.Fio.Engine == "" || phase.Fio.Engine == v1alpha1.FioEngineRBD)
	if !onImage || template.Clients.Count < 2 {
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
