//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	fileSystem     = prefix + "-fs"
	fileSystemData = fileSystem + "-data"
	fuseNamespace  = prefix + "-fuse" // whose pods may mount
	fuseIdentity   = prefix + "-fuse"
	// fuseHostPath is the folder on the node with the mount of the pod that runs ceph-fuse. /run is empty
	// after a reboot.
	fuseHostPath = "/run/" + prefix
)

// A benchmark uses a PersistentVolumeClaim in CephFS that ceph-fuse has mounted, as a storage
// driver would do. Ceph's pool must have received the bytes that fio reports.
func TestLongBenchmarkOfVolumeInCephFS(t *testing.T) {
	c := forTest(t)
	c.createFileSystem(t)
	c.mountFileSystem(t)
	claim := c.createFuseClaim(t)
	c.awaitSettledPGs(t)
	b := c.benchmark("cephfs", v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: claim.Name}},
		fioPhase("fio-randwrite", v1alpha1.Fio{Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("64Ki"), IODepth: 4}))
	before := c.writtenToFileSystem(t.Context(), t)

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantPlausible(t, b, load{
		phase: "fio-randwrite", blockBytes: 64 << 10, metrics: fioMetrics(), marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop},
	})
	c.wantRuns(t, b)
	// The pool also receives prefilled data and the writes of the ramp, which fio does not report.
	rate := figuresOf(t, phaseOf(t, b, "fio-randwrite"))[v1alpha1.DirectionTotal][v1alpha1.MetricBandwidth]
	reported := int64(rate * shortest.Seconds())
	eventually(t, time.Minute, "Ceph to tell of what was written", func(ctx context.Context) error {
		received := c.writtenToFileSystem(ctx, t) - before
		if received < reported {
			return fmt.Errorf("pool %s has received %d bytes, and fio reports %d", fileSystemData, received, reported)
		}
		t.Logf("fio reports %d MiB, and pool %s has received %d MiB", reported>>20, fileSystemData, received>>20)
		return nil
	})
}

// writtenToFileSystem returns how many bytes clients have written to the data pool since it was
// created.
func (c *cluster) writtenToFileSystem(ctx context.Context, t *testing.T) int64 {
	t.Helper()
	var df struct {
		Pools []struct {
			Name  string `json:"name"`
			Stats struct {
				Written int64 `json:"wr_bytes"`
			} `json:"stats"`
		} `json:"pools"`
	}
	if err := c.cephJSON(ctx, &df, "df", "detail"); err != nil {
		t.Fatalf("read what pools have received: %v", err)
	}
	for _, p := range df.Pools {
		if p.Name == fileSystemData {
			return p.Stats.Written
		}
	}
	t.Fatalf("Ceph has no pool %s", fileSystemData)
	return 0
}

// createFileSystem creates a CephFS with one MDS through Rook. The number of PGs of its pools is
// fixed, because splitting PGs would disturb the benchmark.
func (c *cluster) createFileSystem(t *testing.T) {
	t.Helper()
	pool := func(name, pgs string) map[string]any {
		return map[string]any{
			"name": name, "failureDomain": c.failureDomain, "replicated": map[string]any{"size": int64(3)},
			"parameters": map[string]any{"pg_num": pgs, "pg_autoscale_mode": "off"},
		}
	}
	t.Cleanup(func() { c.wantNoPool(t, fileSystemData) })
	c.createReady(t, c.rookObject("CephFilesystem", fileSystem, map[string]any{
		"metadataPool":               pool("metadata", "4"),
		"dataPools":                  []any{pool("data", "16")},
		"metadataServer":             map[string]any{"activeCount": int64(1), "activeStandby": false},
		"preserveFilesystemOnDelete": false,
	}))
}

// mountFileSystem runs ceph-fuse in a pod that propagates its mount to the node. It waits until the
// mount contains a folder in which everyone may write.
func (c *cluster) mountFileSystem(t *testing.T) {
	t.Helper()
	key := c.createClient(t, fuseIdentity, map[string]any{
		"mon": "allow r fsname=" + fileSystem,
		"mds": "allow rw fsname=" + fileSystem,
		"osd": "allow rw tag cephfs data=" + fileSystem,
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: fuseNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
	}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create namespace %s: %v", fuseNamespace, err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, namespace) })
	c.createCredentials(t, fuseNamespace, fuseIdentity, key)
	pod := c.fusePod()
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatalf("create the pod that mounts CephFS: %v", err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, pod) }) // This unmounts, before the file system is removed.
	eventually(t, 3*time.Minute, "CephFS to be mounted", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Ready {
				return nil
			}
		}
		logs, err := c.logs(ctx, pod.Namespace, pod.Name, "fuse")
		return fmt.Errorf("the pod is %s: %s (%w)", pod.Status.Phase, logs, err)
	})
}

func (c *cluster) fusePod() *corev1.Pod {
	const mount = `set -e
		mkdir -p /node/fs
		unmount() { umount --lazy /node/fs; rmdir /node/fs; exit 0; }
		trap unmount TERM
		ceph-fuse -f --id "$0" --client_fs "$1" /node/fs &
		for _ in $(seq 60); do mountpoint -q /node/fs && break; sleep 1; done
		install -d -m 0777 /node/fs/volume
		wait`
	yes, propagation, created, no := true, corev1.MountPropagationBidirectional, corev1.HostPathDirectoryOrCreate, false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: fuseNamespace, Name: "fuse"},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: &no,
			Containers: []corev1.Container{{
				Name: "fuse", Image: c.toolsImage,
				Command:         []string{"bash", "-c", mount, fuseIdentity, fileSystem},
				SecurityContext: &corev1.SecurityContext{Privileged: &yes},
				ReadinessProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-d", "/node/fs/volume"}}},
					PeriodSeconds: 2, TimeoutSeconds: 10,
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "ceph", MountPath: "/etc/ceph", ReadOnly: true},
					{Name: "node", MountPath: "/node", MountPropagation: &propagation},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "ceph", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "ceph"}}},
				{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: fuseHostPath, Type: &created}}},
			},
		},
	}
}

// createFuseClaim creates a volume of the folder in CephFS, and a claim that is bound to it.
func (c *cluster) createFuseClaim(t *testing.T) *corev1.PersistentVolumeClaim {
	t.Helper()
	const name = prefix + "-cephfs"
	var noClass string
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	directory := corev1.HostPathDirectory
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{Namespace: benchNamespace, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: fuseHostPath + "/fs/volume", Type: &directory}},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &noClass, VolumeName: name, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	for _, object := range []client.Object{volume, claim} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, name, err)
		}
		t.Cleanup(func() { c.deleteAndWait(t, object) })
	}
	return claim
}
