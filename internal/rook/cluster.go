package rook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// ClusterInfo has the parts of a CephCluster that cephtune uses. Rook updates the status of a
// CephCluster only once a minute: ask Ceph for the current state.
type ClusterInfo struct {
	Namespace, Name string
	// FSID is Ceph's ID of the cluster; empty until Rook knows it.
	FSID string
	// Phase, State and Message are copied from Rook's status.
	Phase, State, Message string
	// Reconciled reports whether Rook has probably handled the latest spec: see progressWithin.
	Reconciled bool
	// Deleting reports whether the CephCluster is being removed.
	Deleting bool
	// Image is the Ceph image in the spec. RunningImage is the image whose version Rook last detected.
	Image, RunningImage string
	// CephVersions counts the daemons by version that matter for a load, such as {"18.2.7": 5}.
	CephVersions map[string]int
	// RookVersion is the version of Rook that last updated Ceph's manager daemons, such as v1.17.2;
	// empty if unknown.
	RookVersion string
	// Network describes how clients reach the daemons.
	Network Network
	// RemovesOSDs is removeOSDsIfOutAndSafeToRemove: Rook may remove OSDs that are out.
	RemovesOSDs bool
	// CephConfig has the options of spec.cephConfig, by section and option. Rook sets these options again
	// at each reconcile.
	CephConfig map[string]map[string]string
}

// Network is the part of a CephCluster's network spec that clients need.
type Network struct {
	// Multus reports whether the daemons have additional networks, through the Kubernetes plugin Multus.
	// PublicSelector names the network among them that is Ceph's public network; empty if that is not among
	// them.
	Multus         bool
	PublicSelector string
	// RequireMsgr2, Encryption and Compression are requirements for connections.
	RequireMsgr2, Encryption, Compression bool
}

// cephCluster has the fields of a CephCluster that this package reads.
type cephCluster struct {
	Spec struct {
		CephVersion struct {
			Image string `json:"image"`
		} `json:"cephVersion"`
		Network     networkSpec                  `json:"network"`
		RemovesOSDs bool                         `json:"removeOSDsIfOutAndSafeToRemove"`
		CephConfig  map[string]map[string]string `json:"cephConfig"`
	} `json:"spec"`
	Status struct {
		Phase              string      `json:"phase"`
		State              string      `json:"state"`
		Message            string      `json:"message"`
		ObservedGeneration int64       `json:"observedGeneration"`
		Conditions         []condition `json:"conditions"`
		Ceph               struct {
			FSID     string                    `json:"fsid"`
			Versions map[string]map[string]int `json:"versions"`
		} `json:"ceph"`
		Version struct {
			Image string `json:"image"`
		} `json:"version"`
	} `json:"status"`
}

type condition struct {
	Type              string      `json:"type"`
	LastHeartbeatTime metav1.Time `json:"lastHeartbeatTime"`
}

type networkSpec struct {
	Provider    string            `json:"provider"`
	Selectors   map[string]string `json:"selectors"`
	Connections struct {
		RequireMsgr2 bool `json:"requireMsgr2"`
		Encryption   struct {
			Enabled bool `json:"enabled"`
		} `json:"encryption"`
		Compression struct {
			Enabled bool `json:"enabled"`
		} `json:"compression"`
	} `json:"connections"`
}

// Cluster reads a CephCluster. An error that a person has to fix is an *Error.
func (a *Access) Cluster(ctx context.Context, ref v1alpha1.ClusterReference) (ClusterInfo, error) {
	o := object(kindCluster, ref.Namespace, ref.Name)
	read := cephCluster{}
	if err := a.getCluster(ctx, o, &read); err != nil {
		return ClusterInfo{}, err
	}
	info := clusterInfo(o, read, a.now())
	info.RookVersion = a.rookVersion(ctx, ref.Namespace)
	return info, nil
}

// getCluster reads a CephCluster into a struct, whose fields select what is decoded.
func (a *Access) getCluster(ctx context.Context, o *unstructured.Unstructured, target any) error {
	key := client.ObjectKeyFromObject(o)
	err := get(ctx, a.reader, o, target)
	switch {
	case apierrors.IsNotFound(err):
		return &Error{Reason: ReasonClusterMissing, Message: fmt.Sprintf("there is no CephCluster %s: set clusterRef to one that `kubectl get cephclusters -A` shows", key)}
	case err != nil:
		return explain(err, "get", kindCluster, key)
	}
	return nil
}

func clusterInfo(o *unstructured.Unstructured, read cephCluster, now time.Time) ClusterInfo {
	network := read.Spec.Network
	return ClusterInfo{
		Namespace:    o.GetNamespace(),
		Name:         o.GetName(),
		FSID:         read.Status.Ceph.FSID,
		Phase:        read.Status.Phase,
		State:        read.Status.State,
		Message:      read.Status.Message,
		Reconciled:   read.Status.ObservedGeneration == o.GetGeneration() || now.Sub(lastProgress(o, read.Status.Conditions)) > progressWithin,
		Deleting:     o.GetDeletionTimestamp() != nil,
		Image:        read.Spec.CephVersion.Image,
		RunningImage: read.Status.Version.Image,
		CephVersions: ceph.VersionsOf(read.Status.Ceph.Versions).OfLoad(),
		Network: Network{
			Multus:         network.Provider == "multus",
			PublicSelector: network.Selectors["public"],
			RequireMsgr2:   network.Connections.RequireMsgr2,
			Encryption:     network.Connections.Encryption.Enabled,
			Compression:    network.Connections.Compression.Enabled,
		},
		RemovesOSDs: read.Spec.RemovesOSDs,
		CephConfig:  read.Spec.CephConfig,
	}
}

// progressWithin is the time without reported progress after which Rook counts as done. Rook writes the
// observed generation only once, when it is done. If that write conflicts with another, the generation
// stays outdated until the spec changes again: perhaps for weeks, in a healthy cluster.
const progressWithin = 2 * time.Minute

// lastProgress returns the time of the last change to the object outside its status, or of
// Rook's last report of progress if that is later.
func lastProgress(o *unstructured.Unstructured, conditions []condition) time.Time {
	last := o.GetCreationTimestamp().Time
	for _, write := range o.GetManagedFields() {
		if write.Subresource == "" && write.Time != nil && write.Time.After(last) {
			last = write.Time.Time
		}
	}
	for _, c := range conditions {
		if c.Type == phaseProgressing && c.LastHeartbeatTime.After(last) {
			last = c.LastHeartbeatTime.Time
		}
	}
	return last
}

// rookVersion reads the version from a label that Rook sets on its Deployments. It needs only
// the right to read two Deployments by name; without that right, the version is unknown.
func (a *Access) rookVersion(ctx context.Context, namespace string) string {
	for _, name := range []string{"rook-ceph-mgr-a", "rook-ceph-mgr-b"} {
		manager := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
		if err := a.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, manager); err != nil {
			continue
		}
		if v := manager.Labels["rook-version"]; v != "" {
			return v
		}
	}
	return ""
}

// Unsettled says why the cluster should not be measured now, because Rook is not done with it; "" if it may
// be.
func (i ClusterInfo) Unsettled() string {
	switch {
	case i.Deleting:
		return "the CephCluster is being deleted"
	case i.Phase != phaseReady && i.Phase != phaseConnected:
		return fmt.Sprintf("Rook is reconciling the CephCluster, or has failed: phase %q, message %q; see its conditions", i.Phase, i.Message)
	case !i.Reconciled:
		return "Rook has not seen the latest spec of the CephCluster yet"
	case i.RunningImage != "" && i.Image != "" && i.RunningImage != i.Image:
		return fmt.Sprintf("Ceph is to be upgraded from image %s to %s", i.RunningImage, i.Image)
	case len(i.CephVersions) > 1:
		return fmt.Sprintf("monitors, managers, OSDs and MDS run %d different versions of Ceph (%s), so an upgrade is under way",
			len(i.CephVersions), strings.Join(slices.Sorted(maps.Keys(i.CephVersions)), ", "))
	}
	return ""
}
