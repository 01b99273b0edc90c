package archive

import (
	"slices"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// Part is a part of a document that can be dropped.
type Part string

// These are the parts, in the order in which they are dropped. The data from which figures are computed
// come last. The figures themselves are always kept.
const (
	// DropOutput drops the outputs of the engines.
	DropOutput Part = "output"
	// DropClientSeries drops the time series of each client.
	DropClientSeries Part = "clientSeries"
	// DropClientHistograms drops the latency histograms of each client.
	DropClientHistograms Part = "clientHistograms"
	// DropOSDLatencies drops the latencies and the client I/O of the OSDs.
	DropOSDLatencies Part = "osdLatencies"
	// DropSeries drops the combined time series of all clients, and the series of the background load.
	DropSeries Part = "series"
	// DropClientResults drops each client's result.
	DropClientResults Part = "clientResults"
	// DropHistograms drops the combined latency histograms of all clients, and the histograms of the
	// background load. Without them, percentiles of several runs cannot be combined.
	DropHistograms Part = "histograms"
)

// Parts lists the parts in the order in which they are dropped.
func Parts() []Part {
	return []Part{
		DropOutput, DropClientSeries, DropClientHistograms, DropOSDLatencies, DropSeries, DropClientResults, DropHistograms,
	}
}

// ClientParts returns the parts that belong to the reports of clients.
func ClientParts() []Part {
	return []Part{DropOutput, DropClientSeries, DropClientHistograms, DropClientResults}
}

// FromReport drops the part, one of [ClientParts], from a report. It does not change memory that the
// report's result shares with other results.
func (p Part) FromReport(report *task.Report) {
	dropped := false
	p.fromReport(report, &dropped)
}

// from drops the part from a document, and reports whether the document had the part. The caller must
// have cloned the document's phases and background load.
func (p Part) from(document *Run) bool {
	dropped := p.fromBackground(document.Background)
	for i := range document.Phases {
		phase := &document.Phases[i]
		switch p {
		case DropOSDLatencies:
			dropped = phase.OSDLatencies != nil || phase.OSDIO != nil || dropped
			phase.OSDLatencies, phase.OSDIO = nil, nil
		case DropSeries, DropHistograms:
			if o := phase.Observation; o != nil && o.Result != nil {
				o.Result = p.fromResult(o.Result, &dropped)
			}
		case DropOutput, DropClientSeries, DropClientHistograms, DropClientResults:
			for j := range phase.Clients {
				p.fromReport(&phase.Clients[j], &dropped)
			}
		}
	}
	return dropped
}

// fromBackground drops the part from the background load. The load has only one client. If the load has an
// observation, the archive therefore has no separate series, histograms or result of that client.
func (p Part) fromBackground(b *Background) (dropped bool) {
	switch {
	case b == nil:
	case p == DropOutput && b.Report != nil:
		p.fromReport(b.Report, &dropped)
	case (p == DropSeries || p == DropHistograms) && b.Observation != nil && b.Observation.Result != nil:
		b.Observation.Result = p.fromResult(b.Observation.Result, &dropped)
	}
	return dropped
}

func (p Part) fromReport(report *task.Report, dropped *bool) {
	switch {
	case p == DropOutput:
		*dropped = *dropped || report.Output != ""
		report.Output = ""
	case report.Result == nil:
	case p == DropClientResults:
		*dropped = true
		report.Result = nil
	default:
		report.Result = p.fromResult(report.Result, dropped)
	}
}

// fromResult returns a copy of a result without the part: its series or its histograms.
func (p Part) fromResult(res *result.Result, dropped *bool) *result.Result {
	less := *res
	for _, d := range res.Directions() {
		direction := *d.Direction
		if p == DropSeries || p == DropClientSeries {
			*dropped = *dropped || direction.Series != nil
			direction.Series = nil
		} else {
			for _, latency := range []**result.Latency{&direction.Latency, &direction.SubmissionLatency, &direction.CompletionLatency} {
				*latency = withoutHistogram(*latency, dropped)
			}
		}
		less.SetDirection(d.Name, &direction)
	}
	return &less
}

func withoutHistogram(l *result.Latency, dropped *bool) *result.Latency {
	if l == nil || l.Histogram == nil {
		return l
	}
	*dropped = true
	less := *l
	less.Histogram = nil
	return &less
}

// cloneBackground copies the data that [Part.from] changes. If the load has an observation, the report
// in the copy has no result, because the observation has the same result.
func cloneBackground(b *Background) *Background {
	if b == nil {
		return nil
	}
	clone := *b
	if b.Observation != nil {
		observation := *b.Observation
		clone.Observation = &observation
	}
	if b.Report != nil {
		report := *b.Report
		if clone.Observation != nil {
			report.Result = nil
		}
		clone.Report = &report
	}
	return &clone
}

// clonePhases copies the data that [Part.from] changes.
func clonePhases(phases []Phase) []Phase {
	clones := slices.Clone(phases)
	for i := range clones {
		clones[i].Clients = slices.Clone(clones[i].Clients)
		if o := clones[i].Observation; o != nil {
			clone := *o
			clones[i].Observation = &clone
		}
	}
	return clones
}
