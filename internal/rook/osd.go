package rook

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// RestartOSD deletes the pod of an OSD, so that Kubernetes starts a new one. It does not wait for the new
// pod, and does not check whether the cluster can spare the OSD.
func (a *Access) RestartOSD(ctx context.Context, ref v1alpha1.ClusterReference, id int) error {
	var pods corev1.PodList
	err := a.reader.List(ctx, &pods, client.InNamespace(ref.Namespace), client.MatchingLabels{
		"app": "rook-ceph-osd", "ceph-osd-id": strconv.Itoa(id), "rook_cluster": ref.Namespace,
	})
	if err != nil {
		return fmt.Errorf("find the pod of osd.%d: %w", id, err)
	}
	if len(pods.Items) == 0 {
		return fmt.Errorf("osd.%d has no pod in namespace %s: check why its Deployment rook-ceph-osd-%d has none", id, ref.Namespace, id)
	}
	for i := range pods.Items {
		uid := pods.Items[i].UID
		if err := a.writer.Delete(ctx, &pods.Items[i], client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("restart osd.%d: %w", id, err)
		}
	}
	return nil
}
