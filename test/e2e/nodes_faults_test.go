//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/runner"
)

// unreachableWithin is how long cephtune takes to give a client up that it cannot reach: after two minutes.
const unreachableWithin = 4 * time.Minute

// suffer lets a fault hit one of the containers, and returns what mends it. At the latest, the end of the test mends it,
// before it removes what it has created.
func (c *cluster) suffer(t *testing.T, strike func(context.Context, *cluster, *rand.Rand) (func(context.Context) error, error)) (mend func()) {
	t.Helper()
	undo, err := strike(t.Context(), c, rand.New(rand.NewPCG(1, 0)))
	mend = sync.OnceFunc(func() { mendWithin(t, 3*time.Minute, undo) })
	if undo != nil {
		t.Cleanup(mend)
	}
	if err != nil {
		t.Fatal(err)
	}
	return mend
}

// The network between the manager's node and others breaks. A short partition from a client costs nothing. A long one
// ends the benchmark, whose clients' nodes are well, so all of it is removed while the partition lasts. While the manager
// cannot reach the monitors, a sweep does not say that it has restored; afterwards it restores.
func TestNodesPartitions(t *testing.T) {
	c := forTest(t)
	c.moveManager(t)
	t.Run("from a client, shortly", c.partedShortly)
	t.Run("from clients, for too long", c.partedForTooLong)
	t.Run("from the monitors", c.partedFromMonitors)
}

// onNodes returns a benchmark with a client on each of the nodes.
func (c *cluster) onNodes(name string, duration time.Duration, nodes ...v1alpha1.NodeName) *v1alpha1.CephBenchmark {
	b := c.onThreeNodes(name, duration)
	b.Spec.Template.Clients.Count, b.Spec.Template.Clients.Nodes = int32(len(nodes)), nodes
	return b
}

func partedFromClients() func(context.Context, *cluster, *rand.Rand) (func(context.Context) error, error) {
	return cutOff(manager, strconv.Itoa(runner.Port))
}

func (c *cluster) partedShortly(t *testing.T) {
	b := c.onNodes("parted", 4*time.Minute, "node1")
	c.create(t, b)
	c.awaitMeasuring(t, b)
	mend := c.suffer(t, partedFromClients())
	c.await(t, b, 90*time.Second, "to miss its client", hasReason(v1alpha1.ReasonClientsUnreachable))
	if told := progressOf(b); !strings.Contains(told, "on node node1") || !strings.Contains(told, strconv.Itoa(runner.Port)) {
		t.Errorf("%s; want the node and the port", told)
	}
	mend()
	c.await(t, b, 90*time.Second, "to go on", isMeasuring)
	c.awaitEnd(t, v1alpha1.ConditionComplete, b)
}

func (c *cluster) partedForTooLong(t *testing.T) {
	b := c.onNodes("parted", 10*time.Minute, "node1", "node2")
	c.create(t, b)
	c.awaitMeasuring(t, b)
	begin := time.Now()
	c.suffer(t, partedFromClients())
	c.await(t, b, unreachableWithin, "to fail", func(b *v1alpha1.CephBenchmark) error { return hasEnded(b, v1alpha1.ConditionFailed) })
	t.Logf("failed %.0f s after the partition began", time.Since(begin).Seconds())
	wantReason(t, b, v1alpha1.ConditionFailed, v1alpha1.ReasonClientsUnreachable, "does not answer", strconv.Itoa(runner.Port))
	c.awaitTornDown(t, b)
	t.Logf("torn down after %.0f s", time.Since(begin).Seconds())
	c.wantNoTraces(t, b)
}

// partition is how long the manager does not reach the monitors. Less than quiescence.timeout, so that the sweep waits.
const partition = 90 * time.Second

func (c *cluster) partedFromMonitors(t *testing.T) {
	before := c.tunables(t)
	s := c.sweep("parted", c.replicatedScratch(), messageCap("64"))
	s.Spec.Strategy.Seed = new(int64(1)) // With this seed, the first run is of the candidate.
	c.createSweep(t, s)
	c.awaitRunOf(t, s, "message_cap=64")
	mend := c.suffer(t, cutOff(sidecar, "3300", "6789"))
	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	for begin := time.Now(); time.Since(begin) < partition; time.Sleep(5 * time.Second) {
		c.wantChanged(t, s)
	}
	t.Logf("at the end of the partition, the sweep says: %s", toldBySweep(s))
	mend()
	begin := time.Now()
	c.awaitSweep(t, s, restoreWithin, "to be suspended", sweepIs(v1alpha1.ReasonSuspended))
	c.wantRestored(t, s, before)
	t.Logf("everything is restored %.0f s after the partition", time.Since(begin).Seconds())
}

// wantChanged checks that Ceph has the candidate's value, and that the sweep does not call it restored.
func (c *cluster) wantChanged(t *testing.T, s *v1alpha1.CephTuningSweep) {
	t.Helper()
	if now := c.tunables(t); !strings.Contains(now, "osd_client_message_cap = 64") {
		t.Fatalf("Ceph is set to\n%s\nwithout the manager", now)
	}
	read := &v1alpha1.CephTuningSweep{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), read); err != nil {
		t.Fatal(err)
	}
	*s = *read
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRestored) {
		t.Fatalf("the sweep says that it has restored what Ceph still has: %s", toldBySweep(s))
	}
}

// awaitTornDown waits until a benchmark that has failed, which would end await, has removed what it can.
func (c *cluster) awaitTornDown(t *testing.T, b *v1alpha1.CephBenchmark) {
	t.Helper()
	c.poll(t, b, blockWithin, "to be torn down", func(context.Context) error {
		if meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling) {
			return errors.New(progressOf(b))
		}
		return nil
	})
}

// slowLink is the rate to which TestNodesSlowLink limits a node's link, in bytes per second.
const slowLink = 1e6

// The link of a client's node passes 1 MB/s only. The benchmark takes what it gets for its result: it is no failure. That
// diagnoses do not find such a link is in docs/diagnose.md.
func TestNodesSlowLink(t *testing.T) {
	c := forTest(t)
	c.moveAway(t, managerLabels(), toolboxLabels(), rookLabels())
	t.Cleanup(func() { lab(t, "slow", victim, "full") })
	lab(t, "slow", victim, fmt.Sprintf("%.0fbit", 8*slowLink))
	b := c.onNodes("slow-link", time.Minute, victim)

	c.runTo(t, v1alpha1.ConditionComplete, b)

	for _, m := range phaseOf(t, b, "write").Metrics {
		if m.Metric != v1alpha1.MetricBandwidth {
			continue
		}
		// Each write crosses the link at least once, out of the client or to the other copies.
		if got, err := strconv.ParseFloat(string(m.Value), 64); err != nil || got <= 0 || got > 1.1*slowLink {
			t.Errorf("the client wrote %s B/s (%v) over a link of %.0f B/s", m.Value, err, slowLink)
		}
		t.Logf("%s B/s", m.Value)
		return
	}
	t.Error("the phase has no bandwidth")
}

// hang stops all processes of the victim but the first, and returns what lets them go on. Its kernel still acknowledges
// packets. At the latest, the end of the test lets them go on, and waits until Ceph is healthy.
func (c *cluster) hang(t *testing.T) (resume func()) {
	t.Helper()
	proceed := sync.OnceFunc(func() {
		mendWithin(t, time.Minute, func(ctx context.Context) error { return onMachine(ctx, victim, `kill -CONT -- -1`) })
	})
	resume = func() {
		proceed()
		c.awaitHealthy(t)
	}
	t.Cleanup(resume)
	if err := onMachine(t.Context(), victim, `kill -STOP -- -1`); err != nil {
		t.Fatal(err)
	}
	return resume
}

// A client's node hangs for longer than the bound, and comes back with its client alive. Ceph refuses that client: what it
// was writing does not appear in the pool, whose data cephtune has removed meanwhile.
func TestNodesClientsNodeHangs(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	c.moveAway(t, managerLabels(), toolboxLabels(), rookLabels())
	b := c.onThreeNodes("hangs", 20*time.Minute)
	write := b.Spec.Template.Phases[0].RadosBench
	write.Concurrency, write.ObjectSize = 1, new(resource.MustParse("4Mi")) // Few objects are removed fast.
	b.Spec.Template.Target = v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}
	c.create(t, b)
	c.awaitMeasuring(t, b)
	pod := c.clientOnVictim(t)
	time.Sleep(40 * time.Second) // The client may be connected to the monitor that hangs, and clients are listed every 30 s.
	if len(c.objects(t, existingPool)) == 0 {
		t.Fatal("the clients write nothing")
	}
	begin := time.Now()
	since := func(event string) { t.Logf("%s: %.0f s after the node hung", event, time.Since(begin).Seconds()) }
	resume := c.hang(t)
	c.awaitFenced(t, b, pod.Status.PodIP, since)
	c.wantEmpty(t, "while the node hangs")

	// Only the client goes on: nothing on its node could end it.
	ended := func(ctx context.Context) error {
		return onMachine(ctx, victim, pids+`! grep -qsx rados $(printf '/proc/%s/comm ' $pids) /dev/null`, string(pod.UID))
	}
	if ended(t.Context()) == nil {
		t.Fatal("the client has no engine that could write")
	}
	if err := onMachine(t.Context(), victim, pids+`kill -CONT $pids`, string(pod.UID)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, "the client's engine to end, since Ceph refuses it", ended)
	since("the client's engine has ended")
	c.wantEmpty(t, "after the client went on")

	resume()
	since("healthy again")
	eventually(t, 3*time.Minute, "Kubernetes to remove the pod", func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		if err == nil {
			return fmt.Errorf("%s is left", pod.Name)
		}
		return client.IgnoreNotFound(err)
	})
	c.wantEmpty(t, "after the node came back")
}

// clientOnVictim returns the pod of the client on the victim.
func (c *cluster) clientOnVictim(t *testing.T) *corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(benchNamespace), made()); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == victim && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero()
	})
	if i < 0 {
		t.Fatalf("no client is on %s", victim)
	}
	return &pods.Items[i]
}

// wantEmpty checks that the existing pool has no objects.
func (c *cluster) wantEmpty(t *testing.T, moment string) {
	t.Helper()
	if left := c.objects(t, existingPool); len(left) > 0 {
		t.Errorf("%s, pool %s has %d objects, such as %s", moment, existingPool, len(left), left[0])
	}
}

// awaitFenced waits until a benchmark has lost its node, Ceph refuses the client at the address, and all is torn down.
func (c *cluster) awaitFenced(t *testing.T, b *v1alpha1.CephBenchmark, address string, since func(string)) {
	t.Helper()
	c.await(t, b, noticeWithin, "to name the node", hasReason(v1alpha1.ReasonNodeLost))
	since(progressOf(b))
	c.await(t, b, noticeWithin, "to fail", func(b *v1alpha1.CephBenchmark) error { return hasEnded(b, v1alpha1.ConditionFailed) })
	since("failed")
	wantReason(t, b, v1alpha1.ConditionFailed, v1alpha1.ReasonNodeLost, victim)
	eventually(t, blockWithin, "Ceph to refuse the client", func(ctx context.Context) error {
		listed, err := c.ceph(ctx, "osd", "blocklist", "ls")
		if err == nil && !strings.Contains(listed, address+":0/") {
			err = fmt.Errorf("blocked are %s, not a client at %s", listed, address)
		}
		return err
	})
	since("blocked")
	c.awaitTornDown(t, b)
	since("torn down")
}
