package teardown

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
)

// oneRook knows only how to connect.
type oneRook struct{ scratchpool.Rook }

func (oneRook) Connection(_ context.Context, _ settings.Cluster, user string) (ceph.Connection, error) {
	return ceph.Connection{User: user}, nil
}

// stuckView has a client on a lost node, and one that has ended.
func stuckView(now time.Time) View {
	f := Facts{View: View{Now: now, Clients: party("", "")}}
	lost(&f, time.Minute)
	f.Clients.Pods[0].Status.HostIP = "192.0.2.1"
	f.Clients.Pods = append(f.Clients.Pods, corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, PodIP: "10.0.0.2"}})
	return f.View
}

func TestBlock(t *testing.T) {
	mine := []string{"10.0.0.1:0/11111", "192.0.2.1:0/22222"}
	for name, c := range map[string]struct {
		clients []string
		known   []string
		err     error // of ClientAddresses
		want    []string
		wantErr bool
	}{
		"clients of the pod, and masqueraded ones": {clients: mine, want: mine},
		"clients of other pods":                    {clients: []string{"10.0.0.2:0/11111", "10.0.0.11:0/11111"}},
		"no client":                                {},
		"a client of a monitor that died":          {known: []string{"10.0.0.1:0/11111", "10.0.0.2:0/44444"}, want: mine[:1]},
		"a client that was seen before":            {clients: mine, known: mine[:1], want: mine},
		"the key lacks the cap":                    {clients: mine, err: &ceph.Error{Errno: int(syscall.EACCES)}},
		"a monitor does not answer":                {clients: mine, err: errors.New("timed out"), wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			fake := cephtest.NewCluster()
			fake.Change(func(a *cephtest.Answers) {
				a.Status.QuorumNames = []string{"a", "c"}
				a.Clients = map[string][]string{"io": c.clients, "csi": {"10.0.0.1:0/33333"}}
				a.Errors = map[string]error{"ClientAddresses": c.err}
			})
			r := Remover{Progress: &Progress{}, Blocks: Blocker{
				Rook: oneRook{}, Ceph: fake, Cluster: settings.Cluster{Identities: settings.Identities{Observer: "observer", IO: "io"}},
				Known: c.known,
			}}
			waits, err := r.Do(t.Context(), Next{Part: PartBlock}, stuckView(today()))
			if (err != nil) != c.wantErr || !c.wantErr && c.err == nil && waits.IsDone() {
				t.Fatalf("%q, %v", waits, err)
			}
			if _, err = r.Do(t.Context(), Next{Part: PartBlock}, stuckView(today().Add(blockSettle))); (err == nil) != r.done[PartBlock] {
				t.Errorf("complete: %t, %v", r.done[PartBlock], err)
			}
			slices.Sort(fake.Blocked)
			if diff := cmp.Diff(c.want, fake.Blocked); diff != "" {
				t.Errorf("blocked (-want +got):\n%s", diff)
			}
			if calls := fake.Calls("BlocklistClient"); len(calls) != len(c.want) {
				t.Errorf("%d clients were blocked by %d calls", len(c.want), len(calls))
			}
		})
	}
}

// A task that the manager could not cancel may start another command meanwhile.
func TestBlocksClientsThatAppearLater(t *testing.T) {
	fake := cephtest.NewCluster()
	r := Remover{Progress: &Progress{}, Blocks: Blocker{Rook: oneRook{}, Ceph: fake, Cluster: settings.Cluster{Identities: settings.Identities{IO: "io"}}}}
	for i, seconds := range []int{0, 9, 18, 19} {
		fake.Change(func(a *cephtest.Answers) {
			a.Status.QuorumNames = []string{"a"}
			if i == 1 {
				a.Clients = map[string][]string{"io": {"10.0.0.1:0/11111"}}
			}
		})
		waits, err := r.Do(t.Context(), Next{Part: PartBlock}, stuckView(today().Add(time.Duration(seconds)*time.Second)))
		if err != nil || waits.IsDone() != (i == 3) {
			t.Errorf("after %d s: %q, %v", seconds, waits, err)
		}
	}
	if len(fake.Blocked) != 1 || !strings.HasSuffix(fake.Blocked[0], "/11111") {
		t.Errorf("blocked: %v", fake.Blocked)
	}
}
