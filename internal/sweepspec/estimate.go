package sweepspec

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	script "github.com/cephtune/cephtune/internal/workload" // A kind of parameter has its name here.
)

// These figures are rough guesses. After the first run, the planner uses the measured costs of runs instead.
// The estimate for the restore stays.
const (
	podsTime     = 20 * time.Second        // to start the clients, and to remove them
	askTime      = 10 * time.Second        // to find in five polls that the cluster has settled, and to prove the values
	settleFor    = 30 * time.Second        // the default of guardrails.settleFor
	poolTime     = 30 * time.Second        // to create and remove a scratch pool
	morePoolTime = 5 * time.Second         // for each further pool at the same time
	pgTime       = 1500 * time.Millisecond // to split or merge one PG of an existing pool
	placeTime    = 400 * time.Millisecond  // to put one PG on chosen OSDs
	osdTime      = time.Minute             // to restart one OSD, until all PGs are clean
	restoreTime  = 2 * time.Minute
	writeRate    = 100 << 20 // bytes that a cluster writes per second
	smallRate    = 2000      // small writes that a cluster does per second
	unknownPGs   = 32        // assumed number of PGs of a pool whose pg_num is unset
	stepsOfBlock = 2         // a confirmation block makes each change twice, and a restore makes it once

	// classOfHDDs is the device class of OSDs that take minutes to remove the PGs of a deleted pool. They
	// sleep between deletions (osd_delete_sleep_hdd). OSDs of other classes take seconds.
	classOfHDDs = "hdd"
)

type estimator struct {
	spec           *Spec
	facts          Facts
	configurations []sweep.Configuration
	// duration is the time for the prefill, the warming of caches, the ramp of the background load, and the
	// phases of a run with the pause (template.rest) before each phase. bytes is the number of bytes that a run
	// writes. Both are maximums over the configurations.
	duration time.Duration
	bytes    int64
	// largestPGs is the maximum number of PGs that a block of the baseline and one candidate creates, splits or
	// merges. It includes the changes from the baseline to the candidate and back, and new scratch pools.
	// totalPGs is that number for a sweep with the maximum number of blocks.
	largestPGs, totalPGs int64
	maxRuns              int
	// pools is the number of scratch pools that a sweep with the maximum number of blocks creates. For other
	// targets it has no meaning.
	pools int
	// datasetPer and datasetReason are the results of the function datasetPer.
	datasetPer    v1alpha1.MadeFor
	datasetReason string
}

func newEstimator(spec *Spec, facts Facts, planner *sweep.Planner) (*estimator, error) {
	e := &estimator{spec: spec, facts: facts, configurations: planner.Configurations()}
	e.datasetPer, e.datasetReason = datasetPer(spec, facts.NeedRestart)
	_, largest := planner.Estimate()
	race, confirmation := planner.MaxBlocks()
	e.maxRuns = max(largest.Runs, 1)
	if e.pools = e.maxRuns; SharesPool(spec) {
		e.pools = min(e.pools, race+confirmation)
	}
	for _, c := range e.configurations {
		template, err := Template(spec, c.Values, 1)
		if err != nil {
			return nil, err
		}
		duration, bytes, err := e.ofTemplate(template)
		if err != nil {
			return nil, err
		}
		e.duration, e.bytes = max(e.duration, duration), max(e.bytes, bytes)
	}
	first, err := planner.Next(nil)
	if err != nil {
		return nil, err
	}
	for c := 1; c < len(e.configurations); c++ {
		e.largestPGs = max(e.largestPGs, e.walk([]int{0, c}))
	}
	e.totalPGs = e.walk(first.Progress.Order)*int64(race) + e.largestPGs*int64(confirmation)
	return e, nil
}

// fix writes the estimated costs of one run and of the restore into the plan. Once runs have been measured,
// the planner uses their mean cost instead of the estimate for one run.
func (e *estimator) fix(plan *v1alpha1.SweepPlan) {
	each := e.duration + podsTime
	if e.spec.Template.Target.ScratchPool != nil {
		each += (poolTime + e.removal()) * time.Duration(e.pools) / time.Duration(e.maxRuns)
		if ConfinesOSDs(e.spec) {
			each += time.Duration(e.totalPGs) * placeTime / time.Duration(e.maxRuns)
		}
	} else {
		each += time.Duration(e.totalPGs) * pgTime / time.Duration(e.maxRuns)
	}
	restore := restoreTime
	if ChangesCeph(e.spec) {
		each, restore = each+e.settle(), restore+e.settle()
	}
	if e.spec.Template.Target.ScratchPool == nil {
		restore += time.Duration(e.largestPGs/stepsOfBlock) * pgTime
	}
	restarts := time.Duration(e.restarts()) * osdTime
	each, restore = each+restarts, restore+restarts
	plan.RunDuration = &metav1.Duration{Duration: each.Round(time.Second)}
	plan.RestoreDuration = &metav1.Duration{Duration: restore.Round(time.Second)}
	plan.RunBytesWritten = wholeQuantity(e.bytes)
}

// restarts returns how many OSDs restart before each run, and in a restore: all OSDs, if they read a parameter
// only when they start.
func (e *estimator) restarts() int {
	if len(e.facts.NeedRestart) == 0 {
		return 0
	}
	return len(e.facts.OSDs)
}

// settle returns how long the cluster takes to settle after a change that moves no data.
func (e *estimator) settle() time.Duration {
	if wanted := e.spec.Guardrails.SettleFor; wanted != nil {
		return askTime + wanted.Duration
	}
	return askTime + settleFor
}

// removal returns the longest time that the first run on a scratch pool waits while OSDs remove the previous
// pool.
func (e *estimator) removal() time.Duration {
	classes := DeviceClasses(e.spec)
	onHDDs := slices.ContainsFunc(e.facts.OSDs, func(o ceph.OSD) bool {
		return o.DeviceClass == classOfHDDs && (len(classes) == 0 || slices.Contains(classes, o.DeviceClass))
	})
	if !onHDDs || !quiescence.WaitsForRemoval(e.spec.Quiescence) {
		return 0
	}
	return quiescence.RemovalWithin(e.spec.Quiescence)
}

// ofTemplate returns the time that a run of a template needs for its prefill, for warming caches, for the ramp
// of the background load, and for its phases with the pause (template.rest) before each phase. It also returns
// the number of bytes that the run writes.
func (e *estimator) ofTemplate(t v1alpha1.BenchmarkTemplate) (time.Duration, int64, error) {
	var total time.Duration
	var bytes int64
	rest := time.Duration(0)
	if t.Rest != nil {
		rest = t.Rest.Duration
	}
	for _, phase := range t.Measured() {
		load, err := engine.LoadOf(phase)
		if err != nil {
			return 0, 0, refuse("%v", err)
		}
		seconds := load.Timing().Seconds()
		total += rest + time.Duration(seconds*float64(time.Second))
		bytes += int64(seconds * writtenPerSecond(phase, t.Clients.Count))
	}
	total += backgroundRamp(t)
	if b := t.Background(); b != nil {
		bytes += int64(total.Seconds() * writtenPerSecond(*b, 1))
	}
	prefilled := e.prefilled(t)
	moved := prefilled + warmBytes(t, e.facts.DatasetBytes)
	return total + time.Duration(moved/writeRate)*time.Second, bytes + prefilled, nil
}

// backgroundRamp returns how long the background load of a template runs before the first phase.
func backgroundRamp(t v1alpha1.BenchmarkTemplate) time.Duration {
	if t.BackgroundLoad == nil || t.BackgroundLoad.Ramp == nil {
		return 0
	}
	return t.BackgroundLoad.Ramp.Duration
}

// prefilled returns the number of bytes that a run prefills. If the runs of a block share data, it returns
// the average over all runs.
func (e *estimator) prefilled(t v1alpha1.BenchmarkTemplate) int64 {
	all := PrefillBytes(t, e.facts.DatasetBytes)
	if e.datasetPer != v1alpha1.MadeForBlock {
		return all
	}
	unshared := prefillBytes(t, e.facts.DatasetBytes, true)
	return unshared + (all-unshared)*int64(e.pools)/int64(e.maxRuns)
}

// warmBytes returns the number of bytes that all clients read to warm the caches before the phases of a run.
func warmBytes(t v1alpha1.BenchmarkTemplate, datasetBytes int64) int64 {
	if t.OSDCaches != v1alpha1.OSDCachesWarmBeforePhase {
		return 0
	}
	all := int64(0)
	for _, phase := range t.Measured() {
		if engine.TraitsOf(&phase).NewObjectBytes == 0 { // The phase works on prefilled data.
			all += datasetBytes * int64(t.Clients.Count)
		}
	}
	return all
}

// PrefillBytes returns the number of bytes that all clients and the background load write before the phases
// of a run. The argument datasetBytes is the size of each dataset. Phases of rados bench need prefilled
// objects only if they read objects or reuse them. Every phase on images or files needs prefilled data.
func PrefillBytes(t v1alpha1.BenchmarkTemplate, datasetBytes int64) int64 {
	return prefillBytes(t, datasetBytes, false)
}

// prefillBytes is like PrefillBytes. If the argument named continues is true, the result does not include the
// data that an earlier run of the block has prefilled.
func prefillBytes(t v1alpha1.BenchmarkTemplate, datasetBytes int64, continues bool) int64 {
	var loads []engine.Load
	for _, phase := range t.Measured() {
		if load, err := engine.LoadOf(phase); err == nil { // Another check reports the error.
			loads = append(loads, load)
		}
	}
	all := int64(0)
	where := placeOf(t, datasetBytes)
	if continues {
		where.DatasetOwner, where.DatasetThere = "block", true
	}
	for where.Client = range where.Clients {
		all += engine.DatasetBytes(where, loads)
	}
	where.DatasetOwner, where.DatasetThere = "", false
	if load, err := engine.BackgroundOf(&t); err == nil && load != nil {
		where.Client, where.Clients, where.Image.Shared = 0, 1, false // The background load does not share its image.
		all += engine.DatasetBytes(where, []engine.Load{load})
	}
	return all
}

// NeedsDataset reports whether a run of a template prefills data before its phases.
func NeedsDataset(t v1alpha1.BenchmarkTemplate) bool { return PrefillBytes(t, 1<<30) > 0 }

// placeOf describes where the first client of a template keeps its data. The names in the result are placeholders. It
// returns the zero value for a template without clients.
func placeOf(t v1alpha1.BenchmarkTemplate, datasetBytes int64) place.Place {
	places := script.Places("sweep", "client", t, []v1alpha1.Target{t.Target}, 0, 0, datasetBytes, false)
	if len(places) == 0 {
		return place.Place{}
	}
	return places[0]
}

// writtenPerSecond estimates how many bytes all clients together write per second in a phase.
func writtenPerSecond(phase v1alpha1.Phase, clients int32) float64 {
	traits := engine.TraitsOf(&phase)
	if offered := traits.OfferedIOPS * float64(clients) * float64(traits.BlockBytes); offered > 0 && traits.WriteShare > 0 {
		return min(offered, writeRate)
	}
	return traits.WriteShare * min(writeRate, smallRate*float64(traits.BlockBytes))
}

// walk returns how many PGs are created, split or merged by a block that visits configurations in the given
// order. It counts the PGs of new scratch pools, and the change from the last configuration back to the first.
func (e *estimator) walk(order []int) int64 {
	sum := e.back(order)
	var before map[string]cephvalue.Value
	for i, c := range order {
		values := e.configurations[c].Values
		if e.spec.Template.Target.ScratchPool != nil && (i == 0 || !SharesPool(e.spec)) {
			sum += e.scratchPGs(values)
		}
		if before != nil {
			sum += e.step(before, values)
		}
		before = values
	}
	return sum
}

// back returns how many PGs the change from the last configuration of a block to the first splits or merges.
// This change counts, because the next block may begin with the same configuration as this block.
func (e *estimator) back(order []int) int64 {
	return e.step(e.configurations[order[len(order)-1]].Values, e.configurations[order[0]].Values)
}

// step returns how many PGs of existing pools a change of configuration splits or merges.
func (e *estimator) step(from, to map[string]cephvalue.Value) int64 {
	sum := int64(0)
	for _, change := range Changes(e.spec, nil) {
		if name := string(change.Parameter); change.MovesPGs() && from[name] != to[name] {
			sum += abs(e.pgs(to[name]) - e.pgs(from[name]))
		}
	}
	return sum
}

// scratchPGs returns the number of PGs of a configuration's scratch pools; 0 if the configuration's template
// is invalid.
func (e *estimator) scratchPGs(values map[string]cephvalue.Value) int64 {
	template, err := Template(e.spec, values, 1)
	if err != nil {
		return 0 // Another check reports the error.
	}
	sum := int64(0)
	for _, made := range placement.Pools(0, placement.Sized(*template.Target.ScratchPool, e.facts.OSDs)) {
		sum += int64(made.PGNum)
	}
	return sum
}

func (e *estimator) pgs(v cephvalue.Value) int64 {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil {
		return unknownPGs
	}
	return n
}

func abs(n int64) int64 { return max(n, -n) }
