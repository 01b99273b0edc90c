//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	// recoverWithin is how long a sweep takes to work again, to wait for a time that it names, or to end, after a fault.
	// A node that returns needs minutes until its OSD has all copies again.
	recoverWithin = 12 * time.Minute
	// endWithin is how long a sweep takes to be deleted, and everything to be as before.
	endWithin = 8 * time.Minute
	// faultsPerSweep is how many faults hit a sweep at most.
	faultsPerSweep = 4
)

// struck is a fault that has hit a sweep, and what came of it.
type struck struct {
	fault     string
	recovered time.Duration // since it was mended
	lost      int           // trials that status had before
	ended     string        // the reason of the condition Ready of a sweep that has ended instead
}

// CHAOS_FAULTS random faults hit real sweeps, of each design in turn. CHAOS_SEED is the seed of the first sweep; the
// next one has the next seed, so a run can be continued. Ceph and Kubernetes must be as before after each sweep.
func TestChaos(t *testing.T) {
	number, seed := fromEnvironment(t, "CHAOS_FAULTS", 60), fromEnvironment(t, "CHAOS_SEED", 1)
	c := forTest(t)
	c.createOwnPool(t, existingPool, 8)
	c.mustCeph(t, "osd", "pool", "set", existingPool, "pg_autoscale_mode", "off") // Otherwise it warns of so few PGs.
	var all []struck
	left := 0
	for ; len(all) < number && timeForAnother(t); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			all = append(all, c.chaos(t, seed, number-len(all))...)
			if t.Failed() {
				left++
			}
		})
	}
	t.Logf("%d faults, of %d sweeps something was left behind or lost; the next seed is %d\n%s", len(all), left, seed, chaosTable(all))
}

// timeForAnother returns whether -timeout leaves the time for one more sweep. A run that is cut off prints no table.
func timeForAnother(t *testing.T) bool {
	deadline, bounded := t.Deadline()
	return !bounded || time.Until(deadline) > recoverWithin+endWithin
}

func fromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// chaos lets one sweep be hit by up to most faults, deletes it, and compares.
func (c *cluster) chaos(t *testing.T, seed, most int) (all []struck) {
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	c.awaitHealthy(t)
	c.awaitPicture(t, "", time.Minute) // the commands of the previous sweep's faults
	before := c.picture(t)
	begin := time.Now()
	s := c.chaosSweep(seed, rng)
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.endOfChaos(t, s, before)
		if t.Failed() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			t.Log(c.storyOfSweep(ctx, s, begin))
		}
	}()
	kinds := faults()
	for range min(most, 1+rng.IntN(faultsPerSweep)) {
		if reason := c.awaitWork(t, s); reason != "" {
			t.Logf("%s has ended with %s", s.Name, reason)
			return all
		}
		time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
		hit, err := c.strike(t, s, kinds[rng.IntN(len(kinds))], rng)
		if errors.Is(err, errNoContainer) {
			continue
		}
		if err != nil {
			t.Errorf("%v", err)
			return all
		}
		all = append(all, hit)
		t.Logf("%s %s: %s, recovered after %.0f s, lost %d %s", time.Now().UTC().Format(time.TimeOnly), s.Name, hit.fault, hit.recovered.Seconds(), hit.lost, hit.ended)
	}
	return all
}

// chaosSweep returns a sweep of one of the designs: windows and runs, of settings and of pools, and PGs of an existing pool.
func (c *cluster) chaosSweep(seed int, rng *rand.Rand) *v1alpha1.CephTuningSweep {
	pgs := v1alpha1.Parameter{Name: "pg_num", PoolOption: &v1alpha1.PoolOptionParameter{Option: "pg_num"}, Values: []v1alpha1.ParameterValue{"16"}}
	var s *v1alpha1.CephTuningSweep
	switch name := fmt.Sprintf("chaos-%d", seed); seed % 4 {
	case 0:
		s = c.sweep(name, c.replicatedScratch(), messageCap("64"))
	case 1:
		s = c.switched(name, "64")
	case 2:
		s = c.standing(name)
	default:
		s = c.sweep(name, v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}, pgs)
	}
	s.Spec.Strategy.Seed = new(rng.Int64N(1 << 31))
	s.Spec.Quiescence.Timeout.Duration = 25 * time.Minute
	return s
}

// awaitWork waits until a sweep measures, and returns "", or until it has ended, and returns the reason.
func (c *cluster) awaitWork(t *testing.T, s *v1alpha1.CephTuningSweep) string {
	t.Helper()
	ended := ""
	eventually(t, recoverWithin, "CephTuningSweep "+s.Name+" to work or to end", func(ctx context.Context) error {
		read := &v1alpha1.CephTuningSweep{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(s), read); err != nil {
			return err
		}
		*s = *read
		if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil && s.Status.CompletionTime != nil {
			ended = ready.Reason
			return nil
		}
		if p := s.Status.Progress; p == nil || !strings.Contains(p.Step, "measuring") && !strings.Contains(p.Step, "switching") && !strings.HasPrefix(p.Summary, "pair ") {
			return errors.New(toldBySweep(s))
		}
		return nil
	})
	return ended
}

// strike lets a fault hit a sweep, mends it, and waits until the sweep works again.
func (c *cluster) strike(t *testing.T, s *v1alpha1.CephTuningSweep, f fault, rng *rand.Rand) (struck, error) {
	t.Helper()
	known := trialsOf(s)
	mend, err := f.strike(t.Context(), c, rng)
	if err != nil {
		if mend != nil {
			mendWithin(t, time.Minute, mend)
		}
		return struck{}, fmt.Errorf("%s: %w", f.name, err)
	}
	hold := f.holds[0]
	if span := f.holds[1] - f.holds[0]; span > 0 {
		hold += time.Duration(rng.Int64N(int64(span)))
	}
	t.Logf("%s %s: %s for %v, while %s", time.Now().UTC().Format(time.TimeOnly), s.Name, f.name, hold.Round(time.Second), toldBySweep(s))
	time.Sleep(hold)
	mendWithin(t, 3*time.Minute, mend)
	begin := time.Now()
	c.awaitLeader(t, begin)
	ended := c.awaitWork(t, s)
	hit := struck{fault: f.name, recovered: time.Since(begin), ended: ended}
	now := trialsOf(s)
	for _, trial := range known {
		if !slices.Contains(now, trial) {
			hit.lost++
			t.Errorf("%s: status has lost trial %s", f.name, trial)
		}
	}
	return hit, nil
}

// awaitLeader waits until a manager leads, as it has said since a time, and has had a moment to look at the sweep. Until
// then, status is about the time before the fault.
func (c *cluster) awaitLeader(t *testing.T, since time.Time) {
	t.Helper()
	eventually(t, recoverWithin, "the manager to lead", func(ctx context.Context) error {
		pods, err := c.managerPods(ctx)
		if err != nil {
			return err
		}
		lease := &coordinationv1.Lease{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: c.managerService.Namespace, Name: "manager.cephtune.dev"}, lease); err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(since) || !slices.ContainsFunc(pods, isReady) {
			return fmt.Errorf("its lease is of %v", lease.Spec.RenewTime)
		}
		return nil
	})
	time.Sleep(5 * time.Second)
}

// trialsOf returns what identifies the trials in a sweep's status that have been judged.
func trialsOf(s *v1alpha1.CephTuningSweep) []string {
	var all []string
	for _, trial := range s.Status.Trials {
		all = append(all, fmt.Sprintf("%d", trial.Number))
	}
	return all
}

// endOfChaos deletes a sweep, and waits until nothing of it remains, and everything is as before.
func (c *cluster) endOfChaos(t *testing.T, s *v1alpha1.CephTuningSweep, before string) {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endWithin)
	defer cancel()
	if err := client.IgnoreNotFound(c.Delete(ctx, s)); err != nil {
		t.Errorf("delete %s: %v", s.Name, err)
	}
	for {
		err := c.Get(ctx, client.ObjectKeyFromObject(s), &v1alpha1.CephTuningSweep{})
		if apierrors.IsNotFound(err) {
			break
		}
		if ctx.Err() != nil {
			t.Errorf("%s is not gone %v after its deletion: %s", s.Name, endWithin, toldBySweep(s))
			break
		}
		time.Sleep(2 * time.Second)
	}
	c.awaitPicture(t, before, 2*time.Minute)
	t.Logf("%s: deleted and restored in %.0f s", s.Name, time.Since(begin).Seconds())
}

// picture returns as text what a sweep, or the client of one, could leave behind in Ceph and in Kubernetes.
func (c *cluster) picture(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	text, err := c.pictureNow(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (c *cluster) pictureNow(ctx context.Context) (string, error) {
	tunables, err := c.tunablesNow(ctx)
	if err != nil {
		return "", err
	}
	left, err := c.traces(ctx, &v1alpha1.CephBenchmark{})
	if err != nil {
		return "", err
	}
	// Addresses of lost clients stay on the blocklist for a day (teardown.BlockFor), by intent, so they are not compared.
	osds, err := c.toolbox(ctx, "bash", "-ec", `ceph osd crush rule ls | sort; ceph osd erasure-code-profile ls | sort
		ceph osd dump -f json | jq -S '{pools: [.pools[] | {pool_name, size, min_size, crush_rule, options}], full_ratio, nearfull_ratio, pg_upmap_items, pg_upmap}'
		ceph auth ls -f json | jq -S '[.auth_dump[] | {entity, caps}]'
		ceph config-key ls -f json | jq -S '[.[] | select(test("^(config|config-history|mgr/progress|device)/") | not)]'`) // Ceph's own diaries grow, and the tunables have the configuration.
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%s\n%s", tunables, strings.Join(left, "\n"), osds), nil
}

// awaitPicture waits until everything is as before; before "" only waits for an answer.
func (c *cluster) awaitPicture(t *testing.T, before string, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), within)
	defer cancel()
	last := ""
	for {
		now, err := c.pictureNow(ctx)
		switch {
		case err == nil && (before == "" || now == before):
			return
		case err == nil:
			last = difference(before, now)
		case ctx.Err() != nil:
			t.Errorf("left behind (%v):\n%s", err, last)
			return
		}
		time.Sleep(2 * time.Second)
	}
}

// difference returns the lines that only one of two texts has.
func difference(before, now string) string {
	var lines []string
	old, current := strings.Split(before, "\n"), strings.Split(now, "\n")
	for _, line := range old {
		if !slices.Contains(current, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range current {
		if !slices.Contains(old, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// chaosTable returns a row for each kind of fault, as docs/safety.md has it.
func chaosTable(all []struck) string {
	var text strings.Builder
	fmt.Fprintln(&text, "| fault | times | sweep ended | trials lost | recovered p50, s | p95, s |\n|---|---|---|---|---|---|")
	for _, f := range faults() {
		var seconds []float64
		lost, ended := 0, 0
		for _, hit := range all {
			if hit.fault != f.name {
				continue
			}
			seconds = append(seconds, hit.recovered.Seconds())
			lost += hit.lost
			if hit.ended != "" {
				ended++
			}
		}
		if len(seconds) > 0 {
			fmt.Fprintf(&text, "| %s | %d | %d | %d | %.0f | %.0f |\n", f.name, len(seconds), ended, lost, percentile(seconds, 50), percentile(seconds, 95))
		}
	}
	return text.String()
}
