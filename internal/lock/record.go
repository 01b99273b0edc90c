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

// Records gives access to the locks' records in Ceph clusters. It is safe for concurrent use.
type Records struct {
	ceph    ceph.Client
	cluster types.UID
}

// NewRecords returns the Records for holders in the Kubernetes cluster with the given ClusterID.
func NewRecords(cephClient ceph.Client, cluster types.UID) *Records {
	return &Records{ceph: cephClient, cluster: cluster}
}

// ClusterID returns the UID of the manager's namespace, which identifies the Kubernetes cluster.
func ClusterID(ctx context.Context, reader client.Reader, namespace string) (types.UID, error) {
	object := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, object); err != nil {
		return "", fmt.Errorf("read namespace %s, whose UID identifies this Kubernetes cluster in Ceph: %w", namespace, err)
	}
	return object.UID, nil
}

// record is the content of recordKey.
type record struct {
	// Cluster is the ClusterID of the holder. Holder and Epoch are copied from its Lease.
	Cluster types.UID `json:"cluster"`
	Holder  string    `json:"holder"`
	Epoch   int64     `json:"epoch"`
	Since   time.Time `json:"since"`
	// Renewed is when the record was last written.
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

// Claim writes the record for the holder of the Lease, or returns the holder that the record names. Call it
// again right before any work begins: a repeated call reads the record, and writes it only if RenewAfter
// has passed. Claim replaces an expired record, and a record with an earlier epoch of this Kubernetes
// cluster. It does not replace an unexpired record with a later epoch, or of another Kubernetes cluster. If
// the later epoch is for the same object, the error is a *SupersededError.
func (r *Records) Claim(ctx context.Context, connection ceph.Connection, lease Grant, now time.Time) (Grant, error) {
	if !lease.Held {
		return Grant{}, fmt.Errorf("claim Ceph for %s: its Lease is not held", lease.Holder)
	}
	wanted := record{Cluster: r.cluster, Holder: lease.Holder, Epoch: lease.Epoch, Since: now, Renewed: now}
	found, there, err := r.read(ctx, connection)
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
	return r.write(ctx, connection, wanted)
}

// Drop removes the record, if it has the holder and the epoch of the Lease.
func (r *Records) Drop(ctx context.Context, connection ceph.Connection, lease Grant) error {
	found, there, err := r.read(ctx, connection)
	if err != nil {
		return err
	}
	if !there || !found.sameHolding(record{Cluster: r.cluster, Holder: lease.Holder, Epoch: lease.Epoch}) {
		return nil
	}
	if err := r.ceph.RemoveKey(ctx, connection, recordKey); err != nil {
		return fmt.Errorf("remove the record of the lock in Ceph: %w", err)
	}
	return nil
}

func (r *Records) read(ctx context.Context, connection ceph.Connection) (record, bool, error) {
	text, there, err := r.ceph.GetKey(ctx, connection, recordKey)
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
func (r *Records) write(ctx context.Context, connection ceph.Connection, wanted record) (Grant, error) {
	text, err := json.Marshal(wanted)
	if err != nil {
		return Grant{}, err
	}
	if err := r.ceph.SetKey(ctx, connection, recordKey, string(text)); err != nil {
		return Grant{}, fmt.Errorf("write the record of the lock in Ceph: %w", err)
	}
	found, there, err := r.read(ctx, connection)
	if err != nil {
		return Grant{}, err
	}
	if !there {
		return Grant{}, fmt.Errorf("the record of the lock in Ceph, %s, was removed right after it was written", recordKey)
	}
	return r.granted(found, wanted)
}

// granted returns a Grant with the content of the record found. If that record has the wanted holder in a
// later epoch, the error is a *SupersededError.
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
