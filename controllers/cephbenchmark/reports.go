package cephbenchmark

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/limits"
	"github.com/cephtune/cephtune/internal/task"
)

const (
	// maxMerged is what the results of all clients together may take, all phases of a run, by
	// [limits.Size]. A phase of 16 hours takes 2 MiB.
	maxMerged = 48 << 20
	// reportsTimeout bounds how long the reports of all clients may take in one pass.
	reportsTimeout = 2 * time.Minute
)

// gathering is the clients' reports of the phases of one run.
type gathering struct {
	run   int32
	tasks map[string]*gathered
	// dropped is what was left out of all reports, which take kept bytes without it.
	dropped []archive.Part
	kept    int64
}

// gathered is the clients' reports of one task, from the first client on.
type gathered struct {
	reports  []task.Report
	observer figure.Observer
	merged   int64 // bytes
}

// eachReport fetches the clients' reports of an ended task, from one client on: one after the
// other, since all of them together may exceed the manager's memory.
func eachReport(ctx context.Context, runners map[int]runnerView, from int, id string, take func(*task.Report) error) error {
	ctx, cancel := context.WithTimeout(ctx, reportsTimeout)
	defer cancel()
	for i := from; i < len(runners); i++ {
		report, err := runners[i].client.Report(ctx, id)
		if err != nil {
			return fmt.Errorf("fetch the reports of %s: client %d: %w", id, i, err)
		}
		if err := take(report); err != nil {
			return err
		}
	}
	return nil
}

// fetch fetches each client's report of a phase once: if one does not answer, the next pass
// goes on from there.
func (g *gathering) fetch(ctx context.Context, runners map[int]runnerView, run int32, id string, timing engine.Timing) (*gathered, error) {
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

// take merges a report with those before it, and keeps of it what the archive may have room
// for. It is pure but for the gathering.
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

// drop leaves a part out of all reports.
func (g *gathering) drop(part archive.Part) {
	g.dropped, g.kept = append(g.dropped, part), 0
	for _, of := range g.tasks {
		for i := range of.reports {
			part.FromReport(&of.reports[i])
			g.kept += limits.Size(of.reports[i])
		}
	}
}

// boundMerged gives up a phase whose clients say more than there is room for: no course of
// any length does, but warnings and windows of clients that are not ours may.
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
