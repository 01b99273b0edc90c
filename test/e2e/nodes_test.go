//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// The tests in the files nodes_… need a lab of three nodes: make e2e-nodes.

const (
	// victim is the node that fails.
	victim = "node3"
	// noticeWithin is how long Kubernetes takes to notice that a node is lost, and cephtune to give its client up.
	noticeWithin = 4 * time.Minute
	// blockWithin is how long a teardown takes although a pod does not end.
	blockWithin = 5 * time.Minute
	// moveWithin is how long Kubernetes takes to start a lost manager on another node. By default, pods tolerate a
	// lost node for five minutes.
	moveWithin = 10 * time.Minute
)

// lab runs a command of the lab.
func lab(t testing.TB, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, os.Getenv("E2E_LAB"), args...).CombinedOutput(); err != nil {
		t.Fatalf("lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// turnOff takes the power of the victim, and gives it back at the end of the test.
func (c *cluster) turnOff(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { c.turnOn(t) })
	lab(t, "off", victim)
}

// turnOn gives the victim's power back, and waits until Ceph is healthy.
func (c *cluster) turnOn(t *testing.T) {
	t.Helper()
	lab(t, "on", victim)
	c.awaitHealthy(t)
}

// awaitHealthy waits until Ceph has all daemons and all copies again.
func (c *cluster) awaitHealthy(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(t.Context()), deadline)
	defer cancel()
	for {
		health, err := c.ceph(ctx, "health")
		if err == nil && !slices.ContainsFunc([]string{"down", "degraded", "undersized", "inactive"}, func(bad string) bool { return strings.Contains(health, bad) }) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("Ceph is not healthy after the node came back: %s, %v", health, err)
		}
		time.Sleep(2 * time.Second)
	}
}

// moveAway moves pods off the victim, so that it only takes what the test is about.
func (c *cluster) moveAway(t *testing.T, pods ...client.MatchingLabels) {
	t.Helper()
	c.cordon(t, true, victim)
	defer c.cordon(t, false, victim)
	for _, labels := range pods {
		eventually(t, 3*time.Minute, fmt.Sprintf("the pods %v to run on other nodes", labels), func(ctx context.Context) error {
			var all corev1.PodList
			if err := c.List(ctx, &all, labels); err != nil {
				return err
			}
			ready := false
			for i := range all.Items {
				pod := &all.Items[i]
				if pod.Spec.NodeName == victim {
					return errors.Join(fmt.Errorf("%s is on %s", pod.Name, victim), client.IgnoreNotFound(c.Delete(ctx, pod)))
				}
				ready = ready || isReady(*pod)
			}
			if !ready {
				return errors.New("none is ready")
			}
			return nil
		})
	}
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// cordon keeps new pods off nodes, or admits them again.
func (c *cluster) cordon(t *testing.T, on bool, nodes ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, name := range nodes {
		node := &corev1.Node{}
		if err := c.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
			t.Fatal(err)
		}
		before := node.DeepCopy()
		node.Spec.Unschedulable = on
		if err := c.Patch(ctx, node, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
}

// drain drains the victim, as an administrator does.
func (c *cluster) drain(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { c.cordon(t, false, victim) })
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kubectl", "drain", victim, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=5m").CombinedOutput()
	if err != nil {
		t.Fatalf("drain: %v\n%s", err, out)
	}
}

// awaitTunables waits until Ceph's settings are as before, whether the sweep goes on, waits or has failed.
func (c *cluster) awaitTunables(t *testing.T, before string) {
	t.Helper()
	eventually(t, restoreWithin, "Ceph's settings to be as before", func(ctx context.Context) error {
		now, err := c.tunablesNow(ctx)
		if err == nil && now != before {
			err = errors.New(now)
		}
		return err
	})
}

func managerLabels() client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/name": "cephtune", "app.kubernetes.io/component": "manager"}
}

func toolboxLabels() client.MatchingLabels { return client.MatchingLabels{"app": "rook-ceph-tools"} }

func rookLabels() client.MatchingLabels { return client.MatchingLabels{"app": "rook-ceph-operator"} }

// clientNodes returns the nodes of the running clients, by pod, and the address of the one on the victim.
func (c *cluster) clientNodes(t *testing.T) (nodes map[string]string, address string) {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(benchNamespace), made()); err != nil {
		t.Fatal(err)
	}
	nodes = map[string]string{}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero() {
			nodes[pod.Name] = pod.Spec.NodeName
			if pod.Spec.NodeName == victim {
				address = pod.Status.PodIP
			}
		}
	}
	return nodes, address
}

// onThreeNodes returns a benchmark with a client on each node, which measures for a while.
func (c *cluster) onThreeNodes(name string, duration time.Duration) *v1alpha1.CephBenchmark {
	phase := radosWrite("write")
	phase.RadosBench.Duration.Duration = duration
	phase.RadosBench.Concurrency = 4
	b := c.benchmark(name, c.replicatedScratch(), phase)
	b.Spec.Template.Clients = v1alpha1.Clients{
		Count: 3, Spread: v1alpha1.SpreadRequired,
		Resources: v1alpha1.ClientResources{CPU: b.Spec.Template.Clients.Resources.CPU, Memory: b.Spec.Template.Clients.Resources.Memory},
	}
	return b
}

// Each client has a node. A pool with the failure domain host has a copy on each host. Every run of a sweep is on the
// nodes of the first.
func TestNodesSpreadClients(t *testing.T) {
	c := forTest(t)
	s := c.sweep("nodes", c.replicatedScratch(), messageCap("64"))
	s.Spec.Template.Clients.Count, s.Spec.Template.Clients.Spread = 2, v1alpha1.SpreadRequired
	c.createSweep(t, s)
	first := c.awaitRunOf(t, s, "baseline")
	nodes, _ := c.clientNodes(t)
	used := slices.Sorted(maps.Values(nodes))
	if len(slices.Compact(used)) != 2 {
		t.Fatalf("the clients are on %v, want two nodes", nodes)
	}
	c.wantAHostForEachCopy(t)
	c.await(t, first, runWithin, "to end", func(b *v1alpha1.CephBenchmark) error { return hasEnded(b, v1alpha1.ConditionComplete) })
	c.awaitRunOf(t, s, "message_cap=64")
	again, _ := c.clientNodes(t)
	if got := slices.Sorted(maps.Values(again)); !slices.Equal(got, slices.Sorted(maps.Values(nodes))) {
		t.Errorf("the second run is on %v, the first was on %v", again, nodes)
	}
}

// wantAHostForEachCopy checks that the PGs of the scratch pool are on three OSDs of three hosts, by the rule of the pool.
func (c *cluster) wantAHostForEachCopy(t *testing.T) {
	t.Helper()
	var rule struct {
		Steps []struct {
			Op   string `json:"op"`
			Type string `json:"type"`
		} `json:"steps"`
	}
	var pool struct {
		Rule string `json:"crush_rule"`
	}
	if err := c.cephJSON(t.Context(), &pool, "osd", "pool", "get", "cephtune-scratch", "crush_rule"); err != nil {
		t.Fatal(err)
	}
	if err := c.cephJSON(t.Context(), &rule, "osd", "crush", "rule", "dump", pool.Rule); err != nil {
		t.Fatal(err)
	}
	byHost := false
	for _, step := range rule.Steps {
		byHost = byHost || step.Type == "host"
	}
	acting := c.actingOf(t, "cephtune-scratch")
	for pg, osds := range acting {
		if slices.Sort(osds); len(slices.Compact(osds)) != 3 {
			t.Errorf("PG %s is on %v", pg, osds)
		}
	}
	if !byHost || len(acting) == 0 {
		t.Errorf("rule %+v and %d PGs, want copies on hosts", rule, len(acting))
	}
}

// A client's node dies in mid-run. The benchmark says so, Ceph refuses the client, the next one in the queue gets its
// turn, and the node returns without harm.
func TestNodesClientsNodeDies(t *testing.T) {
	c := forTest(t)
	c.moveAway(t, managerLabels(), toolboxLabels(), rookLabels())
	b, next := c.onThreeNodes("dies", 10*time.Minute), c.benchmark("next", c.replicatedScratch(), radosWrite("write"))
	next.Spec.Quiescence.Timeout.Duration = 25 * time.Minute
	c.create(t, b)
	c.awaitMeasuring(t, b)
	c.create(t, next)
	c.await(t, next, conditionWithin, "to queue", hasReason(v1alpha1.ReasonQueued))
	nodes, address := c.clientNodes(t)
	if address == "" {
		t.Fatalf("no client is on %s: %v", victim, nodes)
	}
	time.Sleep(40 * time.Second) // The client may be connected to the monitor that dies, and clients are listed every 30 s.
	begin := time.Now()
	since := func(event string) { t.Logf("%s: %.0f s after the node died", event, time.Since(begin).Seconds()) }
	c.turnOff(t)
	c.awaitFenced(t, b, address, since)
	if left, err := c.tracesInCeph(t.Context()); err != nil || slices.ContainsFunc(left, func(trace string) bool { return strings.Contains(trace, "pool") }) {
		t.Errorf("left behind in Ceph while the node is off: %v, %v", left, err)
	}
	c.await(t, next, time.Minute, "to have its turn", func(b *v1alpha1.CephBenchmark) error {
		if hasReason(v1alpha1.ReasonQueued)(b) == nil {
			return errors.New(progressOf(b))
		}
		return nil
	})
	since("the next one: " + progressOf(next))
	c.turnOn(t)
	since("healthy again")
	eventually(t, 3*time.Minute, "Kubernetes to remove the pod", func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := c.List(ctx, pods, client.InNamespace(benchNamespace), made()); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if _, listed := nodes[pod.Name]; listed {
				return fmt.Errorf("%s is left", pod.Name)
			}
		}
		return nil
	})
	c.awaitEnd(t, v1alpha1.ConditionComplete, next)
}

// The node of the manager dies while a sweep measures. Another manager takes over, and restores everything while the node is off.
func TestNodesManagersNodeDies(t *testing.T) {
	c := forTest(t)
	c.moveAway(t, toolboxLabels(), rookLabels())
	c.moveManager(t)
	before := c.tunables(t)
	s := c.sweep("manager-dies", c.replicatedScratch(), messageCap("64"))
	s.Spec.Strategy.Seed = new(int64(1)) // With this seed, the first run is of the candidate.
	c.createSweep(t, s)
	c.awaitRunOf(t, s, "message_cap=64")
	begin := time.Now()
	c.turnOff(t)
	eventually(t, moveWithin, "another manager to be ready", func(ctx context.Context) error {
		pods, err := c.managerPods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			if pods[i].Spec.NodeName != victim && isReady(pods[i]) {
				return nil
			}
		}
		return fmt.Errorf("none of %d is", len(pods))
	})
	t.Logf("another manager is ready %.0f s after the node died", time.Since(begin).Seconds())
	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	c.awaitTunables(t, before)
	t.Logf("everything is restored %.0f s after the node died", time.Since(begin).Seconds())
}

// moveManager moves the manager to the victim.
func (c *cluster) moveManager(t *testing.T) {
	t.Helper()
	c.cordon(t, true, "node1", "node2")
	defer c.cordon(t, false, "node1", "node2")
	eventually(t, 3*time.Minute, "the manager to run on "+victim, func(ctx context.Context) error {
		pods, err := c.managerPods(ctx)
		if err != nil || len(pods) == 0 {
			return errors.Join(errors.New("there is no manager"), err)
		}
		for i := range pods {
			if pods[i].Spec.NodeName != victim {
				return errors.Join(fmt.Errorf("it is on %s", pods[i].Spec.NodeName), client.IgnoreNotFound(c.Delete(ctx, &pods[i])))
			}
			if !isReady(pods[i]) {
				return errors.New("it is not ready")
			}
		}
		return nil
	})
}

// A node with an OSD and a client is drained in mid-run of a sweep. Rook sets noout for that host, and its budgets keep
// OSDs of other hosts from being evicted. The sweep ends as ClusterUnhealthy, and restores everything while the node is
// drained.
func TestNodesDrainUnderSweep(t *testing.T) {
	c := forTest(t)
	c.moveAway(t, managerLabels(), toolboxLabels(), rookLabels())
	before := c.tunables(t)
	s := c.sweep("drained", c.replicatedScratch(), messageCap("64"))
	s.Spec.Template.Clients.Count, s.Spec.Template.Clients.Spread = 3, v1alpha1.SpreadRequired
	s.Spec.Quiescence.Timeout.Duration = 20 * time.Minute
	s.Spec.Strategy.Seed = new(int64(1)) // With this seed, the first run is of the candidate.
	c.createSweep(t, s)
	c.awaitRunOf(t, s, "message_cap=64")
	begin := time.Now()
	since := func(event string) { t.Logf("%s: %.0f s after the drain began", event, time.Since(begin).Seconds()) }
	c.drain(t)
	since("drained")
	eventually(t, drainWithin, "Rook to guard the drained host", func(ctx context.Context) error { return c.guarded(ctx, "node1", "node2") })
	since("Rook guards")
	c.wantEvictionRefused(t, "node1")
	c.awaitFailed(t, s, endWithin, v1alpha1.ReasonClusterUnhealthy, "OSDs that are in are not up")
	since(toldBySweep(s))
	c.awaitTunables(t, before)
	since("restored")
	c.cordon(t, false, victim)
	c.awaitHealthy(t)
	since("healthy again")
	eventually(t, drainWithin, "Rook to end the guard", c.unguarded)
}

// drainWithin is how long Rook takes to notice that a host is drained, or back.
const drainWithin = 4 * time.Minute

// guarded returns an error unless Rook has set noout for the victim, and OSDs of the other hosts have a budget each instead
// of a common one.
func (c *cluster) guarded(ctx context.Context, others ...string) error {
	flags, err := c.hostFlags(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(flags[victim], "noout") {
		return fmt.Errorf("flags of hosts are %v", flags)
	}
	for _, host := range others {
		budget := &policyv1.PodDisruptionBudget{}
		if err := c.Get(ctx, types.NamespacedName{Namespace: c.rookNamespace, Name: osdBudget + "-host-" + host}, budget); err != nil {
			return err
		}
		if budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.IntValue() != 0 {
			return fmt.Errorf("budget %s admits %v", budget.Name, budget.Spec.MaxUnavailable)
		}
	}
	err = c.Get(ctx, types.NamespacedName{Namespace: c.rookNamespace, Name: osdBudget}, &policyv1.PodDisruptionBudget{})
	if err == nil {
		return errors.New("OSDs still have a common budget")
	}
	return client.IgnoreNotFound(err)
}

// osdBudget is the name of Rook's budget for all OSDs, which it has while no host is drained.
const osdBudget = "rook-ceph-osd"

// unguarded returns an error unless Rook has unset noout, and OSDs have a common budget again.
func (c *cluster) unguarded(ctx context.Context) error {
	flags, err := c.hostFlags(ctx)
	if err != nil {
		return err
	}
	if len(flags) > 0 {
		return fmt.Errorf("flags of hosts are %v", flags)
	}
	return c.Get(ctx, types.NamespacedName{Namespace: c.rookNamespace, Name: osdBudget}, &policyv1.PodDisruptionBudget{})
}

// hostFlags returns the flags that are set for single hosts.
func (c *cluster) hostFlags(ctx context.Context) (map[string][]string, error) {
	var osdMap struct {
		Flags map[string][]string `json:"crush_node_flags"`
	}
	err := c.cephJSON(ctx, &osdMap, "osd", "dump")
	return osdMap.Flags, err
}

// wantEvictionRefused checks that a second drain would not take an OSD. It evicts nothing.
func (c *cluster) wantEvictionRefused(t *testing.T, node string) {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(c.rookNamespace), client.MatchingLabels{"app": "rook-ceph-osd"}); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node })
	if i < 0 {
		t.Fatalf("no OSD is on %s", node)
	}
	err := c.SubResource("eviction").Create(t.Context(), &pods.Items[i], &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pods.Items[i].Namespace, Name: pods.Items[i].Name},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	})
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("the eviction of %s on %s would end with %v, want that its budget refuses it", pods.Items[i].Name, node, err)
	}
}

// awaitFailed waits until a sweep has failed with a reason and a message with words.
func (c *cluster) awaitFailed(t *testing.T, s *v1alpha1.CephTuningSweep, within time.Duration, reason, words string) {
	t.Helper()
	eventually(t, within, "CephTuningSweep "+s.Name+" to fail", func(ctx context.Context) error {
		read := &v1alpha1.CephTuningSweep{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(s), read); err != nil {
			return err
		}
		*s = *read
		if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionFailed) {
			return errors.New(toldBySweep(s))
		}
		return nil
	})
	if failed := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionFailed); failed.Reason != reason || !strings.Contains(failed.Message, words) {
		t.Errorf("it has failed with %s: %s; want %s and %q", failed.Reason, failed.Message, reason, words)
	}
	if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRestored) {
		t.Errorf("it has failed before it has restored: %s", toldBySweep(s))
	}
}
