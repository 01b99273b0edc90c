package result

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// unevenShare is the share of the longest client's time for which every client has to run. Otherwise the load
// counts as uneven.
const unevenShare = 0.95

// Merge combines the results of several clients that started together and had the same load, or of several jobs
// of fio in one client.
//
// It adds operations and bytes, combines moments without loss, and adds histograms bin by bin. Seconds is the
// longest of the clients' times (the window), because the cluster's rate is the total over that window. Merge
// never averages rates or percentiles. If only some results have a histogram, the merged result has no
// histogram, but a warning. Merge omits a version and settings in which the results differ. It fails without
// results, if tools or formats differ, or if a sum exceeds 63 bits.
//
// The merged result does not depend on the order of the arguments, except for floating-point rounding.
// Merging in several steps gives the same result as merging in one call. Merge does not change its arguments,
// but its result may share memory with them. Merge returns a single argument itself.
func Merge(results ...*Result) (*Result, error) {
	if len(results) == 0 {
		return nil, errors.New("merge: there are no results")
	}
	merged := results[0]
	for _, next := range results[1:] {
		var err error
		if merged, err = merge2(merged, next); err != nil {
			return nil, fmt.Errorf("merge: %w", err)
		}
	}
	return merged, nil
}

func merge2(a, b *Result) (*Result, error) {
	if a.Source.Tool != b.Source.Tool || a.Source.Format != b.Source.Format {
		return nil, fmt.Errorf("a result of %s (%s) and one of %s (%s) do not belong together",
			a.Source.Tool, a.Source.Format, b.Source.Tool, b.Source.Format)
	}
	merged := &Result{
		SchemaVersion: SchemaVersion,
		Source:        mergeSources(a.Source, b.Source),
		Clients:       a.Clients + b.Clients,
		Warnings:      slices.Concat(a.Warnings, b.Warnings),
		Arrivals:      a.Arrivals.merge(b.Arrivals),
		Jobs:          slices.Concat(a.Jobs, b.Jobs),
		SyncLatency:   cmp.Or(a.SyncLatency, b.SyncLatency),
	}
	if a.SyncLatency != nil && b.SyncLatency != nil {
		var err error
		if merged.SyncLatency, _, err = mergeLatencies(a.SyncLatency, b.SyncLatency); err != nil {
			return nil, fmt.Errorf("syncs: %w", err)
		}
	}
	for _, name := range []DirectionName{Read, Write, Trim, Mixed} {
		direction, warnings, err := mergeDirections(name, a.Direction(name), b.Direction(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		merged.SetDirection(name, direction)
		merged.Warnings = append(merged.Warnings, warnings...)
	}
	// Sorting makes the result independent of the order of the clients.
	slices.SortFunc(merged.Warnings, compareWarnings)
	merged.Warnings = slices.Compact(merged.Warnings)
	return merged, nil
}

// Total merges all directions that did I/O into one. Operations and bytes are sums, so the bandwidth of a
// phase that reads and writes is that of both directions together. Total returns nil for a result without
// directions.
func (r *Result) Total() (*Direction, error) {
	var total *Direction
	for _, d := range r.Directions() {
		var err error
		if total, _, err = mergeDirections(d.Name, total, d.Direction); err != nil {
			return nil, fmt.Errorf("total: %w", err)
		}
	}
	return total, nil
}

func compareWarnings(a, b Warning) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Line, b.Line))
}

func mergeSources(a, b Source) Source {
	merged := Source{Tool: a.Tool, Format: a.Format}
	if a.ToolVersion == b.ToolVersion {
		merged.ToolVersion = a.ToolVersion
	}
	settings := maps.Clone(a.Settings)
	maps.DeleteFunc(settings, func(key, value string) bool {
		other, ok := b.Settings[key]
		return !ok || other != value
	})
	if len(settings) > 0 {
		merged.Settings = settings
	}
	return merged
}

func mergeDirections(name DirectionName, a, b *Direction) (*Direction, []Warning, error) {
	if a == nil || b == nil {
		return cmp.Or(a, b), nil, nil
	}
	if a.Operations > math.MaxInt64-b.Operations || a.Bytes > math.MaxInt64-b.Bytes {
		return nil, nil, fmt.Errorf("the sum exceeds %d", int64(math.MaxInt64))
	}
	merged := &Direction{
		Operations:      a.Operations + b.Operations,
		Bytes:           a.Bytes + b.Bytes,
		Seconds:         math.Max(a.Seconds, b.Seconds),
		ShortestSeconds: math.Min(a.ShortestSeconds, b.ShortestSeconds),
		Series:          AddSeries(a.Series, b.Series),
	}
	var err error
	if merged.LatencyWindows, err = AddLatencyWindows(a.LatencyWindows, b.LatencyWindows); err != nil {
		return nil, nil, err
	}
	var warnings []Warning
	if merged.ShortestSeconds < unevenShare*merged.Seconds {
		warnings = append(warnings, Warning{
			Code:    WarnUnevenClients,
			Message: string(name) + ": some clients ended long before the others, so part of the window had less load",
		})
	}
	if (a.Series != nil || b.Series != nil) && merged.Series == nil {
		warnings = append(warnings, Warning{
			Code:    WarnSeriesDropped,
			Message: string(name) + ": the clients' series have no second in common, or not all clients have one",
		})
	}
	dropped := false
	for _, part := range []struct{ sum, a, b **Latency }{
		{&merged.Latency, &a.Latency, &b.Latency},
		{&merged.SubmissionLatency, &a.SubmissionLatency, &b.SubmissionLatency},
		{&merged.CompletionLatency, &a.CompletionLatency, &b.CompletionLatency},
	} {
		latency, lost, err := mergeLatencies(*part.a, *part.b)
		if err != nil {
			return nil, nil, err
		}
		*part.sum = latency
		dropped = dropped || lost
	}
	if dropped {
		warnings = append(warnings, Warning{
			Code:    WarnHistogramDropped,
			Message: string(name) + ": not every client has a latency histogram, and percentiles cannot be merged",
		})
	}
	return merged, warnings, nil
}

// mergeLatencies merges the latencies of two clients, jobs or directions. Its second result reports a loss: one
// of the two has a histogram, percentiles or latencies that the merged latency lacks.
func mergeLatencies(a, b *Latency) (*Latency, bool, error) {
	if a == nil || b == nil {
		return nil, a != nil || b != nil, nil
	}
	if a.Moments.Count > math.MaxInt64-b.Moments.Count {
		return nil, false, fmt.Errorf("the sum exceeds %d", int64(math.MaxInt64))
	}
	merged := &Latency{Moments: a.Moments.merge(b.Moments)}
	if a.Histogram != nil && b.Histogram != nil {
		var err error
		merged.Histogram, err = AddHistograms(a.Histogram, b.Histogram)
		return merged, false, err
	}
	lost := a.Histogram != nil || b.Histogram != nil || a.Percentiles != nil || b.Percentiles != nil
	return merged, lost, nil
}
