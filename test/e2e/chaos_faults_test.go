//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fault is something that breaks in mid-sweep. strike breaks it, and returns what mends it. Between the two, it holds
// for a random time.
type fault struct {
	name   string
	holds  [2]time.Duration // shortest and longest
	strike func(context.Context, *cluster, *rand.Rand) (mend func(context.Context) error, err error)
}

func faults() []fault {
	return []fault{
		{"manager killed", [2]time.Duration{}, killed(manager)},
		{"manager frozen", [2]time.Duration{60 * time.Second, 300 * time.Second}, frozen(manager)},
		{"sidecar killed", [2]time.Duration{}, killed(sidecar)},
		{"sidecar frozen", [2]time.Duration{60 * time.Second, 300 * time.Second}, frozen(sidecar)},
		{"manager without the API server", [2]time.Duration{30 * time.Second, 120 * time.Second}, cutOff(manager, "443", "6443")},
		{"sidecar without the monitors", [2]time.Duration{30 * time.Second, 120 * time.Second}, cutOff(sidecar, "3300", "6789")},
		{"client without the network", [2]time.Duration{20 * time.Second, 60 * time.Second}, cutOff(loadClient, "1:65535")},
		{"client killed", [2]time.Duration{}, killed(loadClient)},
		{"monitor killed", [2]time.Duration{}, killed(app("rook-ceph-mon", "mon"))},
		{"mgr killed", [2]time.Duration{}, killed(app("rook-ceph-mgr", "mgr"))},
		{"OSD killed", [2]time.Duration{}, killed(app("rook-ceph-osd", "osd"))},
		{"OSD frozen", [2]time.Duration{5 * time.Second, 15 * time.Second}, frozen(app("rook-ceph-osd", "osd"))},
		{"node off", [2]time.Duration{30 * time.Second, 120 * time.Second}, nodeOff},
		{"etcd frozen", [2]time.Duration{10 * time.Second, 30 * time.Second}, etcdFrozen},
		{"disks full", [2]time.Duration{15 * time.Second, 45 * time.Second}, disksFull},
		{"option changed and put back", [2]time.Duration{3 * time.Second, 10 * time.Second}, optionChanged},
		{"Rook started again", [2]time.Duration{}, killed(app("rook-ceph-operator", "rook-ceph-operator"))},
	}
}

// process is a container whose processes a fault hits.
type process struct {
	container string
	namespace func(*cluster) string
	labels    client.MatchingLabels
}

var (
	manager    = process{"manager", func(c *cluster) string { return c.managerService.Namespace }, managerLabels()}
	sidecar    = process{"ceph", manager.namespace, manager.labels}
	loadClient = process{"", func(*cluster) string { return benchNamespace }, made()}
)

func app(name, container string) process {
	return process{container, func(c *cluster) string { return c.rookNamespace }, client.MatchingLabels{"app": name}}
}

var errNoContainer = errors.New("no such container runs")

// running is a running container.
type running struct{ node, pod, id string }

// pick returns a random one of the running containers.
func (p process) pick(ctx context.Context, c *cluster, rng *rand.Rand) (running, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(p.namespace(c)), p.labels); err != nil {
		return running{}, err
	}
	var all []running
	for i := range pods.Items {
		for _, s := range pods.Items[i].Status.ContainerStatuses {
			if _, id, _ := strings.Cut(s.ContainerID, "://"); s.State.Running != nil && (p.container == "" || p.container == s.Name) {
				all = append(all, running{pods.Items[i].Spec.NodeName, string(pods.Items[i].UID), id})
			}
		}
	}
	if len(all) == 0 {
		return running{}, errNoContainer
	}
	return all[rng.IntN(len(all))], nil
}

// onMachine runs a script on a node of the lab, without Kubernetes, which may be what is broken.
func onMachine(ctx context.Context, node, script string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Getenv("E2E_LAB"), append([]string{"run", "bash", "-c", script, "-"}, args...)...)
	command.Env = append(os.Environ(), "NODE="+node)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("on %s: %w: %s", node, err, out)
	}
	return nil
}

// pids sets the variable pids to the processes of the container, or of the pod, $1. It is empty if that has ended meanwhile.
const pids = `pids=$(grep -l -- "$1" /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3); `

func killed(p process) func(context.Context, *cluster, *rand.Rand) (func(context.Context) error, error) {
	return func(ctx context.Context, c *cluster, rng *rand.Rand) (func(context.Context) error, error) {
		hit, err := p.pick(ctx, c, rng)
		if err != nil {
			return nil, err
		}
		return mended, onMachine(ctx, hit.node, pids+`kill -KILL $pids`, hit.id)
	}
}

func mended(context.Context) error { return nil }

func frozen(p process) func(context.Context, *cluster, *rand.Rand) (func(context.Context) error, error) {
	return func(ctx context.Context, c *cluster, rng *rand.Rand) (func(context.Context) error, error) {
		hit, err := p.pick(ctx, c, rng)
		if err != nil {
			return nil, err
		}
		thaw := func(ctx context.Context) error {
			return onMachine(ctx, hit.node, pids+`kill -CONT $pids || true`, hit.id)
		}
		return thaw, onMachine(ctx, hit.node, pids+`kill -STOP $pids`, hit.id)
	}
}

// cutOff drops what a container's pod sends to ports, and the answers, within the network of the pod. The network outlives
// the container, which may end because of this, so the pod's UID finds its processes; the network's own is one of them.
func cutOff(p process, ports ...string) func(context.Context, *cluster, *rand.Rand) (func(context.Context) error, error) {
	const rules = pids + `set -- $pids; [ $# -gt 0 ] || exit 0; pid=$1
		for port in $ports; do
			nsenter --target "$pid" --net iptables -w "$action" OUTPUT -p tcp --dport "$port" -j DROP || $optional
			nsenter --target "$pid" --net iptables -w "$action" INPUT -p tcp --sport "$port" -j DROP || $optional
		done`
	return func(ctx context.Context, c *cluster, rng *rand.Rand) (func(context.Context) error, error) {
		hit, err := p.pick(ctx, c, rng)
		if err != nil {
			return nil, err
		}
		list := "ports='" + strings.Join(ports, " ") + "'; "
		connect := func(ctx context.Context) error {
			return onMachine(ctx, hit.node, list+`action=-D optional=true; `+rules, hit.pod)
		}
		return connect, onMachine(ctx, hit.node, list+`action=-I optional=false; `+rules, hit.pod)
	}
}

// nodeOff takes the power of a node without the toolbox, by which the test looks at Ceph.
func nodeOff(ctx context.Context, c *cluster, rng *rand.Rand) (func(context.Context) error, error) {
	toolbox, err := c.runningPod(ctx, c.rookNamespace, "rook-ceph-tools")
	if err != nil {
		return nil, err
	}
	nodes := []string{"node1", "node2", "node3"}
	node := nodes[rng.IntN(len(nodes))]
	for node == toolbox.Spec.NodeName {
		node = nodes[rng.IntN(len(nodes))]
	}
	power := func(ctx context.Context, state string) error {
		out, err := exec.CommandContext(ctx, os.Getenv("E2E_LAB"), state, node).CombinedOutput()
		if err != nil {
			return fmt.Errorf("turn %s %s: %w: %s", node, state, err, out)
		}
		return nil
	}
	return func(ctx context.Context) error { return power(ctx, "on") }, power(ctx, "off")
}

func etcdFrozen(ctx context.Context, _ *cluster, _ *rand.Rand) (func(context.Context) error, error) {
	signal := func(ctx context.Context, name string) error {
		return onMachine(ctx, "control", `pkill "-$1" -x etcd`, name)
	}
	return func(ctx context.Context) error { return signal(ctx, "CONT") }, signal(ctx, "STOP")
}

// disksFull lowers the ratios at which Ceph calls OSDs full to below what they hold, and sets Ceph's defaults again.
func disksFull(ctx context.Context, c *cluster, _ *rand.Rand) (func(context.Context) error, error) {
	set := func(ctx context.Context, nearfull, backfillfull, full string) error {
		_, err := c.toolbox(ctx, "bash", "-ec", `ceph osd set-nearfull-ratio "$1"; ceph osd set-backfillfull-ratio "$2"; ceph osd set-full-ratio "$3"`,
			"-", nearfull, backfillfull, full)
		return err
	}
	return func(ctx context.Context) error { return set(ctx, "0.85", "0.90", "0.95") }, set(ctx, "0.0001", "0.0002", "0.0003")
}

// optionChanged gives one OSD a value of its own of the option that the sweeps vary.
func optionChanged(ctx context.Context, c *cluster, rng *rand.Rand) (func(context.Context) error, error) {
	osd := fmt.Sprintf("osd.%d", rng.IntN(3))
	_, err := c.ceph(ctx, "config", "set", osd, "osd_client_message_cap", "77")
	return func(ctx context.Context) error {
		_, err := c.ceph(ctx, "config", "rm", osd, "osd_client_message_cap")
		return err
	}, err
}

// mendWithin mends, again and again until it succeeds: what is broken may be needed for mending.
func mendWithin(t *testing.T, within time.Duration, mend func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), within)
	defer cancel()
	for {
		err := mend(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("the fault could not be mended: %v", err)
			return
		case <-time.After(5 * time.Second):
		}
	}
}
