//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// A plan must say what a sweep would do, what it would cost, and what prevents it. It must change
// nothing.
func TestSweepPlan(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.sweep("plan", c.replicatedScratch(), messageCap("64"), v1alpha1.Parameter{
		Name: "shards", Config: &v1alpha1.ConfigParameter{Option: "osd_op_num_shards"}, Values: []v1alpha1.ParameterValue{"2"},
	})
	s.Spec.Mode = v1alpha1.SweepModePlan
	c.createSweep(t, s)

	c.awaitSweep(t, s, time.Minute, "to be planned", sweepIs(v1alpha1.ReasonPlanned))

	// The three blocks are pairs: the parameter shards is refused, so one candidate remains.
	plan := s.Status.Plan
	if plan.MinimumRuns != 6 || plan.MaximumRuns < plan.MinimumRuns || plan.EstimatedDuration.Duration < 6*shortest || plan.SmallestEffect == "" {
		t.Errorf("the plan is %+v, want 6 runs, time and the smallest effect", plan)
	}
	if refusals := strings.Join(plan.Refusals, " "); !strings.Contains(refusals, "osd_op_num_shards") {
		t.Errorf("refusals %q, want one of osd_op_num_shards, which OSDs take only when they start", refusals)
	}
	c.wantTunables(t, before)
}

// A sweep over the number of PGs of an existing pool is deleted while it measures.
func TestSweepDeletedInMidRun(t *testing.T) {
	c := forTest(t)
	c.createOwnPool(t, existingPool, 8)
	before := c.tunables(t)
	target := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}
	s := c.sweep("pg-num", target, v1alpha1.Parameter{
		Name: "pg_num", PoolOption: &v1alpha1.PoolOptionParameter{Option: "pg_num"}, Values: []v1alpha1.ParameterValue{"16"},
	})
	s.Spec.Strategy.Seed = new(int64(1)) // With this seed, the first run is of the candidate.
	c.createSweep(t, s)

	child := c.awaitRunOf(t, s, "pg_num=16")

	now := c.tunables(t)
	for _, want := range []string{
		"balancer false", fmt.Sprintf("pool %s: 16 PGs, placed as 16, autoscaler off", existingPool), "key cephtune/journal", "key cephtune/lock",
	} {
		if !strings.Contains(now, want) {
			t.Errorf("while pg_num=16 is measured, Ceph is set to\n%s\nwant %s in it", now, want)
		}
	}
	c.deleteAndWait(t, s)
	c.wantTunables(t, before)
	c.wantNoTraces(t, child)
}

// A sweep must find inert settings in two cases: one OSD already runs with another value, from
// `ceph tell`, or another user sets a value for one OSD meanwhile. In the second case, the manager is
// killed while it changes settings. The sweep is then suspended, which restores everything, and
// resumed.
func TestSweepFindsInertSettings(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	t.Run("one OSD was told otherwise", func(t *testing.T) {
		t.Cleanup(func() { c.mustCeph(t, "tell", "osd.1", "config", "unset", "osd_client_message_cap") })
		c.mustCeph(t, "tell", "osd.1", "config", "set", "osd_client_message_cap", "99")
		s := c.sweep("overridden", c.replicatedScratch(), messageCap("64"))
		s.Spec.Baseline = &v1alpha1.Baseline{Values: map[string]v1alpha1.ParameterValue{"message_cap": "128"}}
		c.createSweep(t, s)
		c.awaitInert(t, s, "osd.1")
	})
	t.Run("an OSD gets an entry of its own", func(t *testing.T) {
		s := c.sweep("shadowed", c.replicatedScratch(), messageCap("64"))
		c.createSweep(t, s)
		c.awaitChange(t, "osd_client_message_cap = 64")
		c.killManager(t) // before the cluster has settled
		c.awaitRunOf(t, s, "message_cap=64")
		c.suspendAndGoOn(t, s, before)
		t.Cleanup(func() { c.mustCeph(t, "config", "rm", "osd.2", "osd_client_message_cap") })
		c.awaitRunOf(t, s, "message_cap=64")
		c.mustCeph(t, "config", "set", "osd.2", "osd_client_message_cap", "77")
		c.awaitInert(t, s, "osd.2")
	})
}

// suspendAndGoOn suspends a sweep, which restores everything and discards the current block. Then
// it resumes the sweep.
func (c *cluster) suspendAndGoOn(t *testing.T, s *v1alpha1.CephTuningSweep, before string) {
	t.Helper()
	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	c.awaitSweep(t, s, restoreWithin, "to be suspended", sweepIs(v1alpha1.ReasonSuspended))
	c.wantRestored(t, s, before)
	if !strings.Contains(validities(s), string(v1alpha1.TrialInterrupted)) {
		t.Errorf("trials %s, want those of the block Interrupted", validities(s))
	}
	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = false })
}

// awaitInert waits until a run is Inert, and checks that an event names the cause.
func (c *cluster) awaitInert(t *testing.T, s *v1alpha1.CephTuningSweep, cause string) {
	t.Helper()
	c.awaitSweep(t, s, sweepChangesIn, "to find a run without effect", func(s *v1alpha1.CephTuningSweep) error {
		if !strings.Contains(validities(s), "Inert") {
			return fmt.Errorf("its runs are %q", validities(s))
		}
		return nil
	})
	eventually(t, conditionWithin, "an event to name "+cause, func(ctx context.Context) error {
		events, err := c.eventsOf(ctx, s)
		if err != nil {
			return err
		}
		var notes []string
		for _, e := range events {
			if e.Reason != "TrialInvalid" {
				continue
			}
			if strings.Contains(e.Note, cause) {
				return nil
			}
			notes = append(notes, e.Note)
		}
		return fmt.Errorf("those of runs that are no evidence say %q", notes)
	})
}

// awaitChange waits until Ceph has a value.
func (c *cluster) awaitChange(t *testing.T, want string) {
	t.Helper()
	eventually(t, sweepChangesIn, "Ceph to be changed", func(ctx context.Context) error {
		now, err := c.tunablesNow(ctx)
		if err == nil && !strings.Contains(now, want) {
			err = fmt.Errorf("there is no %s", want)
		}
		return err
	})
}

func (c *cluster) mustCeph(t testing.TB, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if _, err := c.ceph(ctx, args...); err != nil {
		t.Errorf("ceph %s: %v", strings.Join(args, " "), err)
	}
}

func (c *cluster) changeSweep(t testing.TB, s *v1alpha1.CephTuningSweep, edit func(*v1alpha1.CephTuningSweepSpec)) {
	t.Helper()
	before := s.DeepCopy()
	edit(&s.Spec)
	if err := c.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatalf("change CephTuningSweep %s: %v", s.Name, err)
	}
}

// killManager kills the manager's process, so that it cannot clean up, and waits until it was
// started again.
func (c *cluster) killManager(t *testing.T) {
	t.Helper()
	pods, err := c.managerPods(t.Context())
	if err != nil || len(pods) == 0 {
		t.Fatalf("the manager has %d pods: %v", len(pods), err)
	}
	for i := range pods {
		before := managerStatus(&pods[i])
		c.kill(t, &pods[i], before.ContainerID)
		eventually(t, 2*time.Minute, "the manager to be started again", func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(&pods[i]), &pods[i]); err != nil {
				return err
			}
			if now := managerStatus(&pods[i]); now.RestartCount == before.RestartCount || !now.Ready {
				return fmt.Errorf("it was started %d times, and is ready: %t", now.RestartCount, now.Ready)
			}
			return nil
		})
	}
}

func managerStatus(pod *corev1.Pod) corev1.ContainerStatus {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == "manager" {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// kill sends SIGKILL to all processes of a container, from a pod that sees the node's processes.
// Deleting the pod would not have the same effect, because the kubelet asks a process to end before
// it kills it.
func (c *cluster) kill(t *testing.T, pod *corev1.Pod, containerID string) {
	t.Helper()
	_, id, named := strings.Cut(containerID, "://")
	if !named || id == "" {
		t.Fatalf("pod %s has no container to kill: %q", pod.Name, containerID)
	}
	c.onNode(t, pod.Spec.NodeName, `kill -KILL $(grep -l -- "$1" /proc/[0-9]*/cgroup | cut -d/ -f3)`, id)
}

// onNode runs a script in a pod that sees the processes of a node, and waits for its end.
func (c *cluster) onNode(t *testing.T, node, script string, arguments ...string) {
	t.Helper()
	runner := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.rookNamespace, GenerateName: "cephtune-e2e-node-"},
		Spec: corev1.PodSpec{
			NodeName: node, HostPID: true, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "node", Image: c.toolsImage, Command: append([]string{"bash", "-c", script, "-"}, arguments...),
				SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))},
			}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	if err := c.Create(t.Context(), runner); err != nil {
		t.Fatalf("run %s: %v", script, err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, runner) })
	eventually(t, time.Minute, "the script to end: "+script, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(runner), runner); err != nil {
			return err
		}
		if runner.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s: %+v", runner.Status.Phase, runner.Status.ContainerStatuses)
		}
		return nil
	})
}

// createOwnPool creates a pool for which Rook does not set the number of PGs and the autoscaler
// again. Rook creates it with both parameters, because merging PGs takes minutes. Then they are
// removed from Rook's object, and Rook does not unset parameters that its object no longer has.
func (c *cluster) createOwnPool(t testing.TB, name string, pgs int) {
	t.Helper()
	t.Cleanup(func() { c.wantNoPool(t, name) })
	pool := c.rookObject("CephBlockPool", name, map[string]any{
		"failureDomain": c.failureDomain,
		"replicated":    map[string]any{"size": int64(3)},
		"parameters":    map[string]any{"pg_num": fmt.Sprint(pgs), "pg_autoscale_mode": "warn"},
	})
	c.createReady(t, pool)
	t.Cleanup(func() { c.removeImages(t, name) })
	forget := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"parameters":null}}`))
	if err := c.Patch(t.Context(), pool, forget); err != nil {
		t.Fatalf("take the parameters out of CephBlockPool %s: %v", name, err)
	}
	c.mustCeph(t, "osd", "pool", "set", name, "pg_autoscale_mode", "warn")
	c.mustCeph(t, "osd", "pool", "set", name, "pg_num", fmt.Sprint(pgs))
	c.awaitClean(t, name, pgs)
}

// awaitClean waits until a pool has a number of PGs and all PGs are clean.
func (c *cluster) awaitClean(t testing.TB, pool string, pgs int) {
	t.Helper()
	want := fmt.Sprintf("pool %s: %d PGs, placed as %d,", pool, pgs, pgs)
	clean := 0
	eventually(t, 4*time.Minute, "PGs to be clean ten times in a row", func(ctx context.Context) error {
		now, err := c.tunablesNow(ctx)
		if err != nil {
			return err
		}
		stat, err := c.ceph(ctx, "pg", "stat")
		if err != nil {
			return err
		}
		if clean++; !strings.Contains(now, want) || strings.Contains(stat, "peering") || strings.Contains(stat, "misplaced") ||
			strings.Contains(stat, "degraded") || strings.Contains(stat, "unknown") || strings.Contains(stat, "creating") {
			clean = 0
		}
		if clean < 10 {
			return fmt.Errorf("they were %d times: %s", clean, stat)
		}
		return nil
	})
}
