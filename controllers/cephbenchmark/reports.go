package cephbenchmark

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/limits"
	"github.com/cephtune/cephtune/internal/task"
)

const (
	// maxMerged is how much memory the combined results of all phases of a run may take,
	// according to [limits.Size]. A phase of 16 hours takes 2 MiB.
	maxMerged = 48 << 20
	// reportsTimeout is how long one pass may take to fetch the reports of all clients.
	reportsTimeout = 2 * time.Minute
)

// gathering holds the clients' reports of the phases of one run.
type gathering struct {
	run   int32
	tasks map[string]*gathered
	// dropped lists the parts that were removed from all reports. kept is the remaining size of
	// the reports in bytes.
	dropped []archive.Part
	kept    int64
}

// gathered holds the clients' reports of one task, beginning with the first client.
type gathered struct {
	reports  []task.Report
	observer figure.Observer
	merged   int64 // bytes
}

// eachReport fetches the clients' reports of an ended task, beginning at a given client. It
// fetches one after the other, because all together may exceed the manager's memory.
func eachReport(ctx context.Context, runners map[int]clientview.View, from int, id string, take func(*task.Report) error) error {
	ctx, cancel := context.WithTimeout(ctx, reportsTimeout)
	defer cancel()
	for i := from; i < len(runners); i++ {
		report, err := runners[i].Client.Report(ctx, id)
		if err != nil {
			return fmt.Errorf("fetch the reports of %s: client %d: %w", id, i, err)
		}
		if err := take(report); err != nil {
			return err
		}
	}
	return nil
}

// fetch fetches each client's report of a phase once. If a client does not answer, the next pass
// continues with that client.
func (g *gathering) fetch(ctx context.Context, runners map[int]clientview.View, run int32, id string, timing engine.Timing) (*gathered, error) {
	if g.run != run {
		*g = gathering{run: run, tasks: map[string]*gathered{}}
	}
	of := g.tasks[id]
	if of == nil {
		of = &gathered{observer: figure.Observer{Timing: timing}}
		g.tasks[id] = of
	}
	return of, eachReport(ctx, runners, len(of.reports), id, func(report *task.Report) error {
		g.take(of, report)
		return nil
	})
}

// take merges a report with the earlier ones, and keeps the parts that may fit into the archive.
// It changes only the gathering.
func (g *gathering) take(of *gathered, report *task.Report) {
	of.observer.Add(report)
	kept := *report
	if kept.Result != nil {
		kept.Result = kept.Result.WithoutLatencyWindows()
	}
	for _, part := range g.dropped {
		part.FromReport(&kept)
	}
	of.reports = append(of.reports, kept)
	g.kept += limits.Size(kept)
	for _, part := range archive.ClientParts() {
		if g.kept > archive.MaxMemory && !slices.Contains(g.dropped, part) {
			g.drop(part)
		}
	}
	g.boundMerged(of)
}

// drop removes a part from all reports.
func (g *gathering) drop(part archive.Part) {
	g.dropped, g.kept = append(g.dropped, part), 0
	for _, of := range g.tasks {
		for i := range of.reports {
			part.FromReport(&of.reports[i])
			g.kept += limits.Size(of.reports[i])
		}
	}
}

// boundMerged drops the merged result of a phase if it exceeds the limit. Time series never
// exceed it, whatever their length, but warnings and windows from a manipulated client may.
func (g *gathering) boundMerged(of *gathered) {
	of.merged = limits.Size(of.observer.Merged())
	total := int64(0)
	for _, each := range g.tasks {
		total += each.merged
	}
	if total > maxMerged {
		of.observer.Fail(fmt.Errorf("the results of all clients together take more than %d MiB", maxMerged>>20))
		of.merged = 0
	}
}

// backgroundReport fetches the background load's report of a run, once.
func (r *Reconciler) backgroundReport(ctx context.Context, seen facts, id string) (*task.Report, error) {
	if known := seen.memory.background; known != nil && known.ID == id {
		return known, nil
	}
	err := eachReport(ctx, seen.background.runners, 0, id, func(report *task.Report) error {
		seen.memory.background = report
		return nil
	})
	return seen.memory.background, err
}
