package lock

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/ceph"
)

// recordKey is the config-key of the record in Ceph.
const recordKey = "cephtune/lock"

// Records gives access to the locks in Ceph clusters. It is safe for concurrent use.
type Records struct {
	ceph    ceph.Client
	cluster types.UID
}

// NewRecords returns the locks for holders in a Kubernetes cluster, which ClusterID identifies.
func NewRecords(cephClient ceph.Client, cluster types.UID) *Records {
	return &Records{ceph: cephClient, cluster: cluster}
}

// ClusterID identifies a Kubernetes cluster by the UID of the manager's own namespace, which
// it may read.
func ClusterID(ctx context.Context, reader client.Reader, namespace string) (types.UID, error) {
	own := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, own); err != nil {
		return "", fmt.Errorf("read namespace %s, whose UID identifies this Kubernetes cluster in Ceph: %w", namespace, err)
	}
	return own.UID, nil
}

// record is the record in Ceph.
type record struct {
	// Cluster is the Kubernetes cluster. Holder and Epoch are copied from its Lease.
	Cluster types.UID `json:"cluster"`
	Holder  string    `json:"holder"`
	Epoch   int64     `json:"epoch"`
	Since   time.Time `json:"since"`
	// Renewed is when the record was written.
	Renewed time.Time `json:"renewed"`
}

func (r record) expires() time.Time { return r.Renewed.Add(Duration) }

// sameHolding reports whether two records have the same cluster, holder and epoch. Their times may
// differ.
func (r record) sameHolding(other record) bool {
	return r.Cluster == other.Cluster && r.Holder == other.Holder && r.Epoch == other.Epoch
}

// supersedes reports whether r has a later epoch than other in the same Kubernetes cluster. Then a
// process has taken the Lease again since other was written.
func (r record) supersedes(other record) bool {
	return r.Cluster == other.Cluster && r.Epoch > other.Epoch
}

// Claim writes the record for the holder of the Lease, or returns the record's holder. Repeat it
// right before any work begins: it reads, and writes only when a third of Duration has passed.
// Claim takes over a record with an earlier epoch of the Lease, and an expired record. It does not
// take over an unexpired record with a later epoch or of another Kubernetes cluster. If a later
// epoch is for the same object, the error is a *SupersededError.
func (r *Records) Claim(ctx context.Context, at ceph.Connection, lease Grant, now time.Time) (Grant, error) {
	if !lease.Held {
		return Grant{}, fmt.Errorf("claim Ceph for %s: its Lease is not held", lease.Holder)
	}
	wanted := record{Cluster: r.cluster, Holder: lease.Holder, Epoch: lease.Epoch, Since: now, Renewed: now}
	found, there, err := r.read(ctx, at)
	if err != nil {
		return Grant{}, err
	}
	switch {
	case !there:
	case found.sameHolding(wanted):
		if now.Sub(found.Renewed) < RenewAfter {
			return r.granted(found, wanted)
		}
		wanted.Since = found.Since
	case wanted.supersedes(found):
	case now.Before(found.expires()):
		return r.granted(found, wanted)
	}
	return r.write(ctx, at, wanted)
}

// Drop removes the record, if it belongs to the holder and epoch of the Lease.
func (r *Records) Drop(ctx context.Context, at ceph.Connection, lease Grant) error {
	found, there, err := r.read(ctx, at)
	if err != nil {
		return err
	}
	if !there || !found.sameHolding(record{Cluster: r.cluster, Holder: lease.Holder, Epoch: lease.Epoch}) {
		return nil
	}
	if err := r.ceph.RemoveKey(ctx, at, recordKey); err != nil {
		return fmt.Errorf("remove the record of the lock in Ceph: %w", err)
	}
	return nil
}

func (r *Records) read(ctx context.Context, at ceph.Connection) (record, bool, error) {
	text, there, err := r.ceph.GetKey(ctx, at, recordKey)
	if err != nil {
		return record{}, false, fmt.Errorf("read the record of the lock in Ceph: %w", err)
	}
	if !there {
		return record{}, false, nil
	}
	var found record
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return record{}, false, fmt.Errorf("the record of the lock in Ceph is damaged: %w; if no operator uses Ceph, remove it with `ceph config-key rm %s`", err, recordKey)
	}
	return found, true, nil
}

// write writes a record and reads it back: another process may have written at the same time.
func (r *Records) write(ctx context.Context, at ceph.Connection, wanted record) (Grant, error) {
	text, err := json.Marshal(wanted)
	if err != nil {
		return Grant{}, err
	}
	if err := r.ceph.SetKey(ctx, at, recordKey, string(text)); err != nil {
		return Grant{}, fmt.Errorf("write the record of the lock in Ceph: %w", err)
	}
	found, there, err := r.read(ctx, at)
	if err != nil {
		return Grant{}, err
	}
	if !there {
		return Grant{}, fmt.Errorf("the record of the lock in Ceph, %s, was removed right after it was written", recordKey)
	}
	return r.granted(found, wanted)
}

// granted returns the record's holder. If the record has the same holder in a later epoch,
// another process has taken over from this one.
func (r *Records) granted(found, wanted record) (Grant, error) {
	if found.supersedes(wanted) && found.Holder == wanted.Holder {
		return Grant{}, &SupersededError{"another operator process took over the record of the lock in Ceph, so this one pauses; run one operator at a time"}
	}
	holder := found.Holder
	if found.Cluster != r.cluster {
		holder += fmt.Sprintf(" of the Kubernetes cluster whose cephtune namespace has UID %s", found.Cluster)
	}
	return Grant{
		Held:    found.sameHolding(wanted),
		Epoch:   found.Epoch,
		Holder:  holder,
		Since:   found.Since,
		Expires: found.expires(),
	}, nil
}
