package teardown

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
)

// BlockFor is how long Ceph refuses a blocked client. Entries expire by themselves: a client that hangs may return at
// any time, and the right to remove entries would let a key admit clients that others have blocked. An entry never
// affects another client, even if a later pod gets the same IP, because the number in the address is that of one
// client.
const BlockFor = 24 * time.Hour

// blockSettle is how long no new client may appear before all count as blocked. Between two commands of a task, a pod
// has no client for a moment.
const blockSettle = 10 * time.Second

// CephOfBlocks is the part of Ceph's interface that blocking clients needs.
type CephOfBlocks interface {
	Status(ctx context.Context, connection ceph.Connection) (*ceph.Status, error)
	ClientAddresses(ctx context.Context, connection ceph.Connection, monitor, user string) ([]string, error)
	BlocklistClient(ctx context.Context, connection ceph.Connection, address string, expiry time.Duration) error
}

// Blocker finds the clients of pods in Ceph, and blocks them.
type Blocker struct {
	Rook    scratchpool.Rook
	Ceph    CephOfBlocks
	Cluster settings.Cluster
	// Known are addresses at which clients were seen earlier: a monitor that died with the node cannot tell its own.
	Known []string
}

// block blocks the clients of stuck pods: those that monitors know now, and those that were seen earlier. Blocking a client
// again only extends its entry. So after a crash, block simply begins anew.
func (r Remover) block(ctx context.Context, v View) (reconcile.Wait, error) {
	found, err := r.Blocks.find(ctx, v.stuck())
	if err == nil {
		err = r.blockNew(ctx, found, v.Now)
	}
	if answer, ok := errors.AsType[*ceph.Error](err); ok && answer.Denied() {
		logf.FromContext(ctx).Error(err, "The clients of pods that do not end cannot be blocked, because Ceph's key lacks a cap; see docs/cephx-caps.md")
		return reconcile.Done, nil // All others must not wait until an administrator notices.
	}
	if err != nil {
		return "", err
	}
	if r.blockedAt.IsZero() {
		r.blockedAt = v.Now
	}
	if v.Now.Sub(r.blockedAt) >= blockSettle {
		return reconcile.Done, nil
	}
	return reconcile.Wait(fmt.Sprintf("Clients blocked in Ceph: %d.", len(r.blocked))), nil
}

// blockNew blocks those of the clients that this process has not blocked yet.
func (r Remover) blockNew(ctx context.Context, addresses []string, now time.Time) error {
	for _, address := range addresses {
		if r.blocked[address] {
			continue
		}
		if err := r.Blocks.block(ctx, address); err != nil {
			return err
		}
		logf.FromContext(ctx).Info("Ceph refuses a client whose pod does not end", "address", address, "for", BlockFor.String())
		if r.blocked == nil {
			r.blocked = map[string]bool{}
		}
		r.blocked[address], r.blockedAt = true, now
	}
	return nil
}

// find returns the addresses of the clients in pods: those of the clients' user at an IP of a pod, or of its node,
// which Ceph sees if the network masquerades pods. At most this execution has clients at work in a Ceph cluster, because
// it has the lock.
func (b Blocker) find(ctx context.Context, pods []corev1.Pod) ([]string, error) {
	connected, err := b.Addresses(ctx)
	if err != nil {
		return nil, err
	}
	hosts := hostsOf(pods)
	var found []string
	for _, address := range append(connected, b.Known...) {
		if host, ok := hostOf(address); ok && hosts[host] && !slices.Contains(found, address) {
			found = append(found, address)
		}
	}
	return found, nil
}

// Addresses returns the addresses of all clients that are connected to monitors in quorum.
func (b Blocker) Addresses(ctx context.Context) (all []string, err error) {
	observer, err := b.Rook.Connection(ctx, b.Cluster, b.Cluster.Identities.Observer)
	if err != nil {
		return nil, err
	}
	clients, err := b.Rook.Connection(ctx, b.Cluster, b.Cluster.Identities.IO)
	if err != nil {
		return nil, err
	}
	status, err := b.Ceph.Status(ctx, observer)
	if err != nil {
		return nil, err
	}
	for _, monitor := range status.QuorumNames { // The monitor of a lost node would not answer.
		addresses, err := b.Ceph.ClientAddresses(ctx, observer, monitor, clients.User)
		if err != nil {
			return nil, fmt.Errorf("list the clients of monitor %s: %w", monitor, err)
		}
		all = append(all, addresses...)
	}
	return all, nil
}

func (b Blocker) block(ctx context.Context, address string) error {
	clients, err := b.Rook.Connection(ctx, b.Cluster, b.Cluster.Identities.IO)
	if err != nil {
		return err
	}
	return b.Ceph.BlocklistClient(ctx, clients, address, BlockFor)
}

// hostsOf returns the IPs of pods and of their nodes.
func hostsOf(pods []corev1.Pod) map[netip.Addr]bool {
	hosts := map[netip.Addr]bool{}
	for i := range pods {
		texts := []string{pods[i].Status.PodIP, pods[i].Status.HostIP}
		for _, ip := range pods[i].Status.PodIPs {
			texts = append(texts, ip.IP)
		}
		for _, text := range texts {
			if ip, err := netip.ParseAddr(text); err == nil {
				hosts[ip] = true
			}
		}
	}
	return hosts
}

// hostOf returns the IP of a client's address, such as 10.1.2.3 of "10.1.2.3:0/1234567".
func hostOf(address string) (netip.Addr, bool) {
	endpoint, _, _ := strings.Cut(address, "/")
	parsed, err := netip.ParseAddrPort(endpoint)
	return parsed.Addr(), err == nil
}
