//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// stallOSDs stops all OSDs of a node for two seconds. That is shorter than the time after which Ceph calls them down.
const stallOSDs = `pids=$(grep -lx ceph-osd /proc/[0-9]*/comm | cut -d/ -f3); trap 'kill -CONT $pids' EXIT; kill -STOP $pids; sleep 2`

// A stall of all OSDs delays all operations that are due in it. At an even rate, these are 200 of the 3000 reads, whose
// latencies are spread evenly up to two seconds. The slowest hundredth is 30 reads, so the 99th percentile lies 15 %
// into them.
func TestLongStallShowsInPercentiles(t *testing.T) {
	c := forTest(t)
	for _, engine := range []v1alpha1.FioEngine{v1alpha1.FioEngineRBD, v1alpha1.FioEngineRADOS} {
		t.Run(string(engine), func(t *testing.T) {
			b := c.benchmark("stall", c.replicatedScratch(), fioPhase("reads", v1alpha1.Fio{
				Engine: engine, Pattern: v1alpha1.FioRandRead, BlockSize: resource.MustParse("4Ki"), RateIOPS: new(int64(100)),
			}))
			c.create(t, b)
			c.awaitMeasuring(t, b)
			osd, err := c.runningPod(t.Context(), c.rookNamespace, "rook-ceph-osd")
			if err != nil {
				t.Fatal(err)
			}
			c.onNode(t, osd.Spec.NodeName, stallOSDs)
			c.awaitEnd(t, v1alpha1.ConditionComplete, b)
			t.Logf("phases: %+v", b.Status.Phases)
			for metric, want := range map[v1alpha1.Metric]float64{v1alpha1.MetricLatencyP99: 1.7, v1alpha1.MetricLatencyP999: 1.97} {
				i := slices.IndexFunc(b.Status.Phases[0].Metrics, func(m v1alpha1.MetricResult) bool {
					return m.Metric == metric && m.Direction == v1alpha1.DirectionTotal
				})
				if i < 0 {
					t.Errorf("there is no %s, marks are %v", metric, b.Status.Phases[0].Marks)
					continue
				}
				got, err := strconv.ParseFloat(string(b.Status.Phases[0].Metrics[i].Value), 64)
				if err != nil {
					t.Fatal(err)
				}
				wantWithin(t, string(metric), got, 0.9*want, 1.1*want)
			}
		})
	}
}

// stallWithSetting stops all OSDs of a node for half a second of every 2.5, as long as an OSD has a value of
// osd_client_message_cap. It asks an admin socket, because a command of Ceph would need a second of CPU.
const stallWithSetting = `
import glob, json, os, signal, socket, struct, sys, time

def osds():
    found = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            if open(path).read().strip() == "ceph-osd":
                found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found

def cap():
    for pid in osds():
        for path in glob.glob("/proc/%d/root/run/ceph/ceph-osd.*.asok" % pid):
            try:
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(2)
                s.connect(path)
                s.sendall(json.dumps({"prefix": "config get", "var": "osd_client_message_cap"}).encode() + b"\0")
                length, data = struct.unpack(">I", s.recv(4))[0], b""
                while len(data) < length:
                    data += s.recv(length - len(data))
                return json.loads(data)["osd_client_message_cap"]
            except (OSError, ValueError, KeyError, struct.error):
                continue
    return None

def send(number):
    for pid in osds():
        try:
            os.kill(pid, number)
        except OSError:
            pass

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    time.sleep(0.2)
    if cap() != sys.argv[1]:
        continue
    try:
        send(signal.SIGSTOP)
        time.sleep(0.5)
    finally:
        send(signal.SIGCONT)
    print("stalled", flush=True)
    time.sleep(1.8)
`

// OSDs stall under the candidate alone, for a fifth of the time, in both halves of its windows: a stall at one place of
// each window would look like an effect of the switch. The two settings act alike otherwise.
func TestLongStallsUnderTheCandidateMakeItInferior(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.switched("stalls-under-b", "255")
	phase := s.Spec.Template.Phases[0].Fio
	phase.RateIOPS, phase.RateProcess = new(int64(100)), v1alpha1.FioRatePoisson
	s.Spec.Objective.Metric = v1alpha1.MetricLatencyP99
	s.Spec.Strategy.Interleaved.Window = &metav1.Duration{Duration: 20 * time.Second}
	osd, err := c.runningPod(t.Context(), c.rookNamespace, "rook-ceph-osd")
	if err != nil {
		t.Fatal(err)
	}
	c.createSweep(t, s)
	staller := c.stallWith(t, osd.Spec.NodeName, "255")
	c.awaitSweep(t, s, switchedWithin, "to be complete", sweepIs(v1alpha1.ReasonComplete))
	logs, err := c.logs(t.Context(), staller.Namespace, staller.Name, "node")
	t.Logf("%d stalls (%v); sessions %q: %s", strings.Count(logs, "stalled"), err, validities(s), s.Status.Summary)
	c.wantRestored(t, s, before)
	if strings.Count(logs, "stalled") < 8 {
		t.Errorf("there were %d stalls, want several in each window of the candidate", strings.Count(logs, "stalled"))
	}
	// On a busy machine, the session is Starved. Such a session can prove a loss.
	if s.Status.Verdict != v1alpha1.VerdictInferior || s.Status.Scope != v1alpha1.ScopeWindows {
		t.Errorf("verdict %s, %s: %s", s.Status.Verdict, s.Status.Scope, s.Status.Summary)
	}
}

// stallWith stalls the OSDs of a node with a value of osd_client_message_cap until the end of the test.
func (c *cluster) stallWith(t *testing.T, node, value string) *corev1.Pod {
	t.Helper()
	staller := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.rookNamespace, GenerateName: "cephtune-e2e-stall-"},
		Spec: corev1.PodSpec{
			NodeName: node, HostPID: true, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "node", Image: c.toolsImage, Command: []string{"python3", "-c", stallWithSetting, value},
				SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0)), Privileged: new(true)},
			}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	if err := c.Create(t.Context(), staller); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, staller) })
	eventually(t, time.Minute, "the stalls to begin", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(staller), staller); err != nil {
			return err
		}
		if staller.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s: %+v", staller.Status.Phase, staller.Status.ContainerStatuses)
		}
		return nil
	})
	return staller
}
