package conclusion

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

const (
	// maxMerged is the maximum size in bytes, by [limits.Size], of the merged results of a run: one merged
	// result of all clients for each phase. A phase of 16 hours takes 2 MiB.
	maxMerged = 48 << 20
	// reportsTimeout limits one attempt to fetch all clients' reports of a task.
	reportsTimeout = 2 * time.Minute
)

// Reporter is a client that reports on its tasks.
type Reporter interface {
	Report(ctx context.Context, id string) (*task.Report, error)
}

// Reports has the clients' reports on one run.
type Reports struct {
	// Phases has the reports on the run's phases, in order, up to the last phase that has ended. The reports
	// on a phase that failed or was aborted may say why. A failed phase is missing if one of its reports was
	// lost.
	Phases []*Gathered
	// Background is the report on the background load. It is nil without such a load, or if the load has not
	// ended.
	Background *task.Report
	// Dropped lists the parts that were removed from all reports on phases to save memory.
	Dropped []archive.Part
}

// Gathering holds the clients' reports on the phases and the background load of one run.
type Gathering struct {
	run   int32
	tasks map[string]*Gathered
	// dropped lists the parts that were removed from all reports on phases. kept is the size of these reports
	// in bytes, without the removed parts.
	dropped []archive.Part
	kept    int64
	// background is the report on the background load; nil before it was fetched.
	background *task.Report
	held       *limits.Holding // of all reports and merged results
}

// Gathered holds the clients' reports on one task, in the order of the clients.
type Gathered struct {
	reports  []task.Report
	observer figure.Observer
	merged   int64 // size of the merged result in bytes
}

// SlowestSeconds returns how many seconds an ended task took on the slowest client.
func SlowestSeconds(ctx context.Context, clients []Reporter, id string) (slowest float64, err error) {
	err = eachReport(ctx, clients, 0, id, func(report *task.Report) error {
		if report.Result == nil {
			return fmt.Errorf("the report of %s has no result", id)
		}
		for _, direction := range report.Result.Directions() {
			slowest = max(slowest, direction.Seconds)
		}
		return nil
	})
	return slowest, err
}

// eachReport fetches the reports on an ended task from the clients in order. The parameter first is the index of
// the first client that it asks. It passes each report to the function take. It fetches one report after the
// other, because all reports together may exceed the manager's memory.
func eachReport(ctx context.Context, clients []Reporter, first int, id string, take func(*task.Report) error) error {
	ctx, cancel := context.WithTimeout(ctx, reportsTimeout)
	defer cancel()
	for i := first; i < len(clients); i++ {
		report, err := clients[i].Report(ctx, id)
		if err != nil {
			return fmt.Errorf("fetch the reports of %s: client %d: %w", id, i, err)
		}
		if err := take(report); err != nil {
			return err
		}
	}
	return nil
}

// Charge makes the gathering charge an account for what it keeps.
func (g *Gathering) Charge(account *limits.Account) {
	if g.held == nil {
		g.held = account.Hold()
	}
}

// Empty drops all reports.
func (g *Gathering) Empty() {
	g.held.Release()
	*g = Gathering{}
}

// Fetch returns the reports on those tasks of a run that have ended. The arguments tasks and background say
// which tasks have ended.
func (g *Gathering) Fetch(ctx context.Context, script *workload.Script, run int32, clients []Reporter, tasks workload.Tasks, load []Reporter, background workload.Tasks) (Reports, error) {
	var reports Reports
	for _, phase := range script.Phases {
		id := workload.TaskID(run, phase.Name)
		if !tasks.All(id, task.State.Ended) {
			break
		}
		gathered, err := g.fetch(ctx, clients, run, id, phase.Load.Timing())
		failed := tasks.Failed(id) != nil
		if failed && runner.HasCode(err, runner.NotFound) {
			break // The report was lost with the client's log.
		}
		if err != nil {
			return Reports{}, err
		}
		reports.Phases = append(reports.Phases, gathered)
		if failed {
			break
		}
	}
	reports.Dropped = g.dropped
	var err error
	if id := workload.BackgroundID(run); background.All(id, task.State.Ended) {
		reports.Background, err = g.fetchBackground(ctx, load, id)
	} // If the run was aborted before the load ended, the load has no report.
	return reports, err
}

// fetch fetches each client's report on a phase once. If a client does not answer, the next call continues
// with that client.
func (g *Gathering) fetch(ctx context.Context, clients []Reporter, run int32, id string, timing engine.Timing) (*Gathered, error) {
	if g.run != run {
		*g = Gathering{run: run, tasks: map[string]*Gathered{}, held: g.held}
	}
	gathered := g.tasks[id]
	if gathered == nil {
		gathered = &Gathered{observer: figure.Observer{Timing: timing}}
		g.tasks[id] = gathered
	}
	return gathered, eachReport(ctx, clients, len(gathered.reports), id, func(report *task.Report) error {
		g.take(gathered, report)
		return nil
	})
}

// take merges a report with the earlier reports, and keeps the parts that may fit into the archive. It does
// not change the report itself.
func (g *Gathering) take(gathered *Gathered, report *task.Report) {
	gathered.observer.Add(report)
	kept := *report
	if kept.Result != nil {
		kept.Result = kept.Result.WithoutLatencyWindows()
	}
	for _, part := range g.dropped {
		part.FromReport(&kept)
	}
	gathered.reports = append(gathered.reports, kept)
	g.kept += limits.Size(kept)
	for _, part := range archive.ClientParts() {
		if g.kept > archive.MaxMemory && !slices.Contains(g.dropped, part) {
			g.drop(part)
		}
	}
	g.boundMerged(gathered)
}

// drop removes a part from all reports on phases.
func (g *Gathering) drop(part archive.Part) {
	g.dropped, g.kept = append(g.dropped, part), 0
	for _, gathered := range g.tasks {
		for i := range gathered.reports {
			part.FromReport(&gathered.reports[i])
			g.kept += limits.Size(gathered.reports[i])
		}
	}
}

// boundMerged drops the merged result of a phase if the merged results of all phases exceed maxMerged, or if the manager
// has no memory for all that the gathering keeps. Time series alone cannot exceed maxMerged, because runners drop very
// long ones. Warnings and latency windows from a manipulated client can.
func (g *Gathering) boundMerged(gathered *Gathered) {
	gathered.merged = limits.Size(gathered.observer.Merged())
	err := g.charge()
	if g.merged() > maxMerged {
		err = fmt.Errorf("the results of all clients together take more than %d MiB", maxMerged>>20)
	}
	if err != nil {
		gathered.observer.Fail(err)
		gathered.merged = 0
		_ = g.charge() // The reports alone have at most archive.MaxMemory.
	}
}

// merged returns the size of the merged results of all phases.
func (g *Gathering) merged() (total int64) {
	for _, each := range g.tasks {
		total += each.merged
	}
	return total
}

// charge charges the account for all that the gathering keeps.
func (g *Gathering) charge() error {
	total := g.kept + g.merged()
	if g.background != nil {
		total += limits.Size(g.background)
	}
	return g.held.Resize(total)
}

// fetchBackground fetches the report on a run's background load once.
func (g *Gathering) fetchBackground(ctx context.Context, load []Reporter, id string) (*task.Report, error) {
	if g.background != nil && g.background.ID == id {
		return g.background, nil
	}
	err := eachReport(ctx, load, 0, id, func(report *task.Report) error {
		g.background = report
		return g.charge()
	})
	return g.background, err
}
