package lock

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// Holdings returns the locks that are held now, by the FSID of their Ceph cluster.
func (l *Leases) Holdings(ctx context.Context, now time.Time) (map[string]Grant, error) {
	list := &coordinationv1.LeaseList{}
	if err := l.reader.List(ctx, list, client.InNamespace(l.namespace)); err != nil {
		return nil, fmt.Errorf("list the locks in namespace %s: %w", l.namespace, err)
	}
	held := map[string]Grant{}
	for i := range list.Items {
		// The namespace also has the Lease of the manager's leader election, whose name lacks the prefix.
		fsid, ok := strings.CutPrefix(list.Items[i].Name, leasePrefix)
		grant := granted(&list.Items[i], objectref.Ref{})
		if ok && grant.Holder != "" && now.Before(grant.Expires) {
			held[fsid] = grant
		}
	}
	return held, nil
}
