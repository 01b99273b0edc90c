package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/workload"
)

// sizeAuto is the value of dataset.size with which the size depends on the cluster.
const sizeAuto = "Auto"

// preflight is the state of the cluster before the first change.
type preflight struct {
	known      tuning.Known
	cluster    quiescence.Facts
	cacheBytes int64
	drawn      uint64
	// tree has the locations of the OSDs, for a sweep with scratch pools.
	tree []ceph.OSDLocation
	// lacks lists the mon caps that the tuner's key needs but does not have.
	lacks []string
	// maySwitch reports whether an option may be switched under a running load.
	maySwitch func(v1alpha1.ConfigParameter) bool
	// maySwitchPools reports whether the tuner's key may set the varied options of scratch pools.
	maySwitchPools bool
	// notNamed says that the clients' key may not use the scratch pools of several targets; "" if it may.
	notNamed string
	// queues says that the sweep waits for the lock. What others do to the cluster meanwhile is then no obstacle.
	queues bool
	// notes has sentences for the user: what the plan counts as the baseline, and why.
	notes []string
}

// makePlan observes the cluster, and writes the plan into status once the cluster is healthy and quiescent.
// If the plan has refusals, the next pass ends the sweep. With mode Plan, makePlan does not wait for the
// cluster, and ends the run ID itself.
func (r *Reconciler) makePlan(ctx context.Context, seen pass) (effect, error) {
	before, err := r.look(ctx, seen)
	if err != nil {
		return effect{}, err
	}
	spec := &seen.sweep.Spec
	if waits := before.waitsFor(spec); waits != "" && spec.Mode != v1alpha1.SweepModePlan {
		return effect{Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonWaitingForQuiescence, Message: waits}}, nil
	}
	plan, err := before.plan(spec, tuning.Permissions{Cluster: seen.cluster, Restarts: seen.mayRestart()})
	if err != nil {
		return unplannable(err)
	}
	environment, err := before.environment(seen)
	if err != nil {
		return effect{}, err
	}
	result := effect{Edit: func(s *v1alpha1.CephTuningSweepStatus) {
		s.Plan, s.Environment = plan, environment
		if spec.Mode == v1alpha1.SweepModePlan {
			concludePlan(s, seen.now, before.notes...)
		}
	}}
	if spec.Mode == v1alpha1.SweepModePlan {
		result.Finished = true
		return result, nil
	}
	result.Again = reconcile.AtOnce
	if len(before.notes) > 0 {
		result.Events = append(result.Events, reconcile.Normal("SameAsBaseline", strings.Join(before.notes, " ")))
	}
	return result, nil
}

// neverRuns says why a sweep that waits for the lock cannot run whatever the others do, so that it need not wait; "" if it
// may run.
func (r *Reconciler) neverRuns(ctx context.Context, seen pass) (string, error) {
	m := seen.memory
	if !seen.unplanned() || m.mayRun || seen.now.Sub(m.askedPlan) < cephAgain {
		return "", nil
	}
	m.askedPlan = seen.now
	before, err := r.look(ctx, seen)
	if err != nil {
		return "", err
	}
	plan, err := before.plan(&seen.sweep.Spec, tuning.Permissions{Cluster: seen.cluster, Restarts: seen.mayRestart()})
	if errors.Is(err, sweepspec.ErrSpec) || errors.Is(err, sweep.ErrPlan) {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	m.mayRun = len(plan.Refusals) == 0
	return whole(plan.Refusals), nil
}

// unplannable returns the effect that ends a sweep, if no plan can be made from its spec. It returns any
// other error, so that the pass is retried.
func unplannable(err error) (effect, error) {
	if errors.Is(err, sweepspec.ErrSpec) || errors.Is(err, sweep.ErrPlan) {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: err.Error()}), nil
	}
	return effect{}, err
}

// look reads everything that a plan depends on.
func (r *Reconciler) look(ctx context.Context, seen pass) (*preflight, error) {
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return nil, err
	}
	connection := cluster.Observer
	p := &preflight{drawn: r.Draw(), queues: !seen.locked && seen.sweep.Spec.Mode != v1alpha1.SweepModePlan, cluster: quiescence.Facts{Phase: seen.rook.Phase, OwnPools: targetPools(&seen.sweep.Spec)}}
	p.maySwitch = func(parameter v1alpha1.ConfigParameter) bool {
		return seen.cluster.SwitchesUnderLoad(string(parameter.Option), parameter.Mask) && p.known.Help[string(parameter.Option)].Runtime
	}
	group, part := errgroup.WithContext(ctx)
	if p.queues {
		group.SetLimit(1) // Somebody else measures the cluster.
	}
	group.Go(ceph.StoreIn(&p.cluster.Status, func() (*ceph.Status, error) { return r.Ceph.Status(part, connection) }))
	group.Go(ceph.StoreIn(&p.cluster.OSDMap, func() (*ceph.OSDMap, error) { return r.Ceph.OSDMap(part, connection) }))
	group.Go(ceph.StoreIn(&p.cluster.DF, func() (*ceph.DF, error) { return r.Ceph.DF(part, connection) }))
	group.Go(ceph.StoreIn(&p.cluster.PoolIO, func() ([]ceph.PoolIO, error) { return r.Ceph.PoolIO(part, connection) }))
	group.Go(ceph.StoreIn(&p.cluster.Versions, func() (*ceph.Versions, error) { return r.Ceph.Versions(part, connection) }))
	group.Go(ceph.StoreIn(&p.known.Facts.Config, func() ([]ceph.ConfigEntry, error) { return r.Ceph.ConfigDump(part, connection) }))
	if err := group.Wait(); err != nil {
		return nil, err
	}
	config := p.known.Facts.Config
	if p.known, err = r.known(ctx, seen, connection); err != nil {
		return nil, err
	}
	p.known.Facts = tuning.Facts{OSDMap: p.cluster.OSDMap, Config: config}
	p.cluster.OSDs, p.cluster.Config = p.known.OSDs, config
	if err := r.ignoreSwitched(ctx, seen, p); err != nil {
		return nil, err
	}
	spec := seen.sweep.Spec
	p.lacks = r.missingCaps(ctx, seen, settingsOf(sweepspec.Changes(&spec, nil)))
	p.notNamed = r.notNamed(ctx, seen)
	p.maySwitchPools = seen.cluster.Identities.Tuner != "" && len(r.missingCaps(ctx, seen, settingsOf(sweepspec.OwnChanges(&spec, nil)))) == 0
	if seen.sweep.Spec.Template.Target.ScratchPool != nil {
		if p.tree, err = r.Ceph.OSDTree(ctx, connection); err != nil {
			return nil, err
		}
	}
	if seen.sweep.Spec.Template.Dataset.Size == sizeAuto {
		p.cacheBytes, err = ceph.CacheBytes(ctx, r.Ceph, connection, p.known.OSDs)
	}
	return p, err
}

// ignoreSwitched replaces the values that another sweep has set for its runs by those that it will restore. The
// journal was read before the values, and is read again after them. So it names each value that was switched
// while they were read.
func (r *Reconciler) ignoreSwitched(ctx context.Context, seen pass, p *preflight) error {
	if seen.locked {
		return nil // The sweep has the lock, and has restored what others had left.
	}
	after, err := r.unrestoredInCeph(ctx, seen)
	if err != nil {
		return err
	}
	for _, left := range []*tuning.Journal{seen.journal, after} {
		if left == nil || left.Sweep == seen.self() {
			continue
		}
		for _, change := range sweepspec.Changes(&seen.sweep.Spec, nil) {
			if entry, found := left.Entry(change.Setting); found && entry.State == tuning.Open && left != seen.journal {
				p.notes = append(p.notes, fmt.Sprintf("Sweep %s switches %s now: the plan uses its original value, %s.", left.Sweep, entry.Setting, entry.Original))
			}
		}
		p.known.Facts = p.known.Facts.Before(left)
	}
	return nil
}

// waitsFor returns the message of the first obstacle that may disappear without an action of the user; "" if
// no such obstacle exists.
func (p *preflight) waitsFor(spec *sweepspec.Spec) string {
	for _, o := range p.obstacles(spec) {
		if o.Waits {
			return o.Message
		}
	}
	return ""
}

func (p *preflight) obstacles(spec *sweepspec.Spec) []quiescence.Obstacle {
	var expected []quiescence.Expectation
	if len(heldPools(*spec)) > 0 { // The number of PGs may be the reason for the sweep.
		expected = []quiescence.Expectation{{Code: "POOL_TOO_FEW_PGS"}, {Code: "POOL_TOO_MANY_PGS"}}
	}
	return quiescence.Check(p.cluster, spec.Quiescence, expected)
}

// plan drafts the plan twice. The first draft gives the configurations, and the second draft also has their
// refusals.
func (p *preflight) plan(spec *sweepspec.Spec, allowed tuning.Permissions) (*v1alpha1.SweepPlan, error) {
	facts, err := p.facts(spec)
	if err != nil {
		return nil, err
	}
	p.notes = append(p.notes, sweepspec.SameAsBaseline(spec, facts.Present, facts.Alike)...)
	first, err := sweepspec.Draft(spec, facts)
	if err != nil && len(p.notes) > 0 {
		return nil, fmt.Errorf("%w. %s", err, strings.Join(p.notes, " "))
	}
	if err != nil {
		return nil, err
	}
	planner, err := sweepspec.PlannerOf(spec, first)
	if err != nil {
		return nil, err
	}
	facts.Drawn = uint64(*first.Seed) //nolint:gosec // At least 0.
	if err := p.stand(spec, first, planner.Configurations(), &facts); err != nil {
		return nil, err
	}
	facts.Refusals = p.refusals(spec, planner.Configurations(), allowed)
	plan, err := sweepspec.Draft(spec, facts)
	if err != nil {
		return nil, err
	}
	if spec.Template.Dataset.Size == sizeAuto && sweepspec.NeedsDataset(spec.Template) {
		plan.DatasetSize = resource.NewQuantity(facts.DatasetBytes, resource.BinarySI)
	}
	return plan, nil
}

// stand computes what the sweep demands of the cluster. If the targets of all configurations were to stand at once, but do
// not fit, they stand one after another. While the sweep is queued, the targets of others are no obstacle: the plan is made
// again when it has the lock.
func (p *preflight) stand(spec *sweepspec.Spec, first *v1alpha1.SweepPlan, configurations []sweep.Configuration, facts *sweepspec.Facts) error {
	p.cluster.Demand = p.demand(spec, configurations, facts.DatasetBytes)
	others, err := sweepspec.OtherTargets(spec, configurations)
	if err != nil || len(others) == 0 || first.Design != v1alpha1.DesignInterleaved {
		return err
	}
	baseline, err := sweepspec.Template(spec, configurations[0].Values, 1)
	if err != nil {
		return err
	}
	count := int64(1 + len(others))
	if facts.DatasetBytes, err = p.datasetBytes(spec, count); err != nil {
		return err
	}
	each := p.demand(spec, configurations, facts.DatasetBytes)
	all := each
	all.Bytes, all.RawBytes, all.PGReplicas = each.Bytes*count, each.RawBytes*count, 0
	pools := workload.ScratchPools(append([]v1alpha1.Target{baseline.Target}, others...))
	for _, pool := range pools {
		all.PGReplicas += placement.PGReplicas(placement.Sized(pool, p.storing(pool)))
	}
	switch missing := p.missing(spec, each, all); {
	case len(pools) > 1 && p.notNamed != "":
		facts.NotStanding = p.notNamed
	case missing != "" && !p.queues:
		facts.NotStanding = "All at once do not fit: " + missing
	default:
		p.cluster.Demand = all
		return nil
	}
	facts.DatasetBytes, err = p.datasetBytes(spec, 1)
	return err
}

// missing says what the cluster lacks for a demand, but not for a smaller one; "" if it lacks nothing. It leaves the smaller one
// as the demand. Waiting for room would not help: the targets would have to be removed first.
func (p *preflight) missing(spec *sweepspec.Spec, each, all quiescence.Demand) string {
	p.cluster.Demand = all
	found := p.obstacles(spec)
	p.cluster.Demand = each
	alone := p.obstacles(spec)
	for _, o := range found {
		known := slices.ContainsFunc(alone, func(other quiescence.Obstacle) bool { return other.Code == o.Code })
		if !known && (!o.Waits || o.Code == quiescence.NoRoom) {
			return o.Message
		}
	}
	return ""
}

// facts returns the facts that the plan depends on.
func (p *preflight) facts(spec *sweepspec.Spec) (sweepspec.Facts, error) {
	facts := sweepspec.Facts{
		Present: sweepspec.Present{}, OSDs: p.known.OSDs, Drawn: p.drawn, MaySwitch: p.maySwitch, MaySwitchPools: p.maySwitchPools,
		Alike: p.alike(spec),
	}
	asked := map[v1alpha1.ParameterName]bool{}
	for _, name := range sweepspec.AskedOfCeph(spec) {
		asked[name] = true
	}
	for _, change := range sweepspec.Changes(spec, nil) {
		if tuning.IsTakenAtStart(change.Setting, p.known) {
			facts.NeedRestart = append(facts.NeedRestart, change.Parameter)
		}
		if !asked[change.Parameter] {
			continue
		}
		now, err := p.known.Facts.Value(change.Setting)
		if errors.Is(err, tuning.ErrPoolGone) {
			return facts, fmt.Errorf("%w: %w: name a pool that `ceph osd pool ls` lists", sweepspec.ErrSpec, err)
		}
		if err != nil {
			return facts, err
		}
		facts.Present[change.Parameter] = now
	}
	var err error
	facts.DatasetBytes, err = p.datasetBytes(spec, 1)
	return facts, err
}

// alike returns the function that compares values of the settings of a spec.
func (p *preflight) alike(spec *sweepspec.Spec) sweepspec.Alike {
	settings := map[v1alpha1.ParameterName]tuning.Setting{}
	for _, change := range sweepspec.Changes(spec, nil) {
		settings[change.Parameter] = change.Setting
	}
	return func(parameter v1alpha1.Parameter, a, b cephvalue.Value) bool {
		setting, changes := settings[parameter.Name]
		return changes && p.known.Alike(setting, a, b)
	}
}

// datasetBytes returns the number of bytes that each client prefills in each of several targets.
func (p *preflight) datasetBytes(spec *sweepspec.Spec, targets int64) (int64, error) {
	if !sweepspec.NeedsDataset(spec.Template) {
		return 0, nil
	}
	free := int64(float64(p.cluster.DF.AvailableBytes)/p.overhead(spec)*p.share(spec)) / targets
	bytes, _, err := quiescence.DatasetBytes(spec.Template.Dataset, int(spec.Template.Clients.Count), p.cacheBytes, free)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", sweepspec.ErrSpec, err)
	}
	return bytes, nil
}

// overhead returns the maximum number of bytes that OSDs store for each byte that a client writes. If the
// pool of the target is unknown, it returns 3.
func (p *preflight) overhead(spec *sweepspec.Spec) float64 {
	const copies = 3
	switch target := spec.Template.Target; {
	case target.ScratchPool != nil:
		return sweepspec.RawBytesPerByte(spec)
	case target.ExistingPool != nil:
		if pool, found := p.known.Facts.Pool(dataPool(target.ExistingPool)); found && pool.Size > 0 {
			return float64(pool.Size) / float64(max(pool.DataChunks, 1))
		}
	}
	return copies
}

// refusals returns the reasons why the sweep is impossible, one sentence each.
func (p *preflight) refusals(spec *sweepspec.Spec, configurations []sweep.Configuration, allowed tuning.Permissions) []string {
	var all []string
	var changes [][]tuning.Change
	for _, c := range configurations {
		changes = append(changes, changesOf(*spec, c.Values, p.known))
	}
	for _, problem := range tuning.Validate(changes, p.known, allowed) {
		all = append(all, sentence(problem.Message))
	}
	if problem := lacking(allowed.Cluster.Identities.Tuner, p.lacks); problem != "" {
		all = append(all, problem)
	}
	for _, problem := range p.placementProblems(spec, configurations) {
		all = append(all, sentence(problem))
	}
	for _, o := range p.obstacles(spec) {
		if !o.Waits && !p.queues {
			all = append(all, sentence(o.Message))
		}
	}
	return all
}

// demand returns the maximum that the sweep adds to the cluster: the PGs of the configuration with the most
// PGs, and the data with which each run begins. It does not include the writes of timed phases, because their
// amount is unknown. The free space before each run and the budget limit those writes.
func (p *preflight) demand(spec *sweepspec.Spec, configurations []sweep.Configuration, datasetBytes int64) quiescence.Demand {
	var demand quiescence.Demand
	target := spec.Template.Target
	if target.PersistentVolumeClaim == nil { // The data of a claim may be outside this Ceph cluster.
		demand.Bytes = sweepspec.PrefillBytes(spec.Template, datasetBytes)
		demand.RawBytes = int64(float64(demand.Bytes) * p.overhead(spec))
	}
	if target.ScratchPool != nil {
		demand.DeviceClasses = sweepspec.DeviceClasses(spec)
		demand.OnOSDs = sweepspec.FewestOSDs(spec)
	}
	if target.ExistingPool != nil {
		demand.Pool = dataPool(target.ExistingPool)
	}
	for _, c := range configurations {
		demand.PGReplicas = max(demand.PGReplicas, p.addedPGs(spec, c.Values))
	}
	return demand
}

// addedPGs returns the number of PG copies that a configuration adds.
func (p *preflight) addedPGs(spec *sweepspec.Spec, values map[string]cephvalue.Value) int {
	added := 0
	if template, err := sweepspec.Template(spec, values, 1); err == nil && template.Target.ScratchPool != nil {
		pool := *template.Target.ScratchPool
		added = placement.PGReplicas(placement.Sized(pool, p.storing(pool)))
	}
	for _, change := range sweepspec.Changes(spec, values) {
		if !change.MovesPGs() {
			continue
		}
		wanted, err := strconv.Atoi(values[string(change.Parameter)].Text)
		if pool, found := p.known.Facts.Pool(change.Setting.Pool); err == nil && found {
			added += (wanted - pool.PGNum) * pool.Size
		}
	}
	return added
}

// environment returns the recorded facts on which the results depend: the Ceph cluster, its versions and OSDs,
// and the central configuration before the sweep. The hardware is not recorded.
func (p *preflight) environment(seen pass) (*v1alpha1.Environment, error) {
	detail := quiescence.Describe(quiescence.Inputs{
		FSID: seen.rook.FSID, Versions: p.cluster.Versions, RookVersion: seen.rook.RookVersion,
		OSDs: p.known.OSDs, DeviceClasses: p.cluster.Demand.DeviceClasses, Config: p.known.Facts.Config,
		OSDCaches: seen.sweep.Spec.Template.OSDCaches,
	})
	environment, err := quiescence.Fingerprint(detail)
	return &environment, err
}

// dataPool returns the pool that stores the data of a target with an existing pool.
func dataPool(pool *v1alpha1.ExistingPool) string {
	return string(cmp.Or(pool.DataPool, pool.Name))
}

// targetPools returns the existing pools whose I/O comes from the sweep itself.
func targetPools(spec *sweepspec.Spec) []string {
	if pool := spec.Template.Target.ExistingPool; pool != nil {
		return []string{string(pool.Name), string(pool.DataPool)}
	}
	return nil
}

// sentence gives a message a capital letter and a full stop. It does not change a name at the beginning, such
// as pg_num, or an exclamation mark at the end.
func sentence(message string) string {
	if message == "" {
		return ""
	}
	text := string(message[0]-'a'+'A') + message[1:]
	first, _, _ := strings.Cut(message, " ")
	if message[0] < 'a' || message[0] > 'z' || strings.ContainsAny(first, "_=.") {
		text = message
	}
	if last := text[len(text)-1]; last != '.' && last != '!' {
		text += "."
	}
	return text
}
