//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/loadtarget/claims"
)

// Two clients run most kinds of load on a scratch pool, and nothing of it remains.
func TestBenchmarkReplicatedScratchPool(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("replicated", c.replicatedScratch(),
		radosWrite("write"),
		v1alpha1.Phase{Name: "rand", RadosBench: &v1alpha1.RadosBench{
			Mode: v1alpha1.RadosBenchRand, BlockSize: resource.MustParse("64Ki"), Verification: v1alpha1.VerificationNone,
			Duration: metav1.Duration{Duration: shortest}, Ramp: &metav1.Duration{Duration: time.Second},
		}},
		v1alpha1.Phase{Name: "rbd-mixed", RBDBench: &v1alpha1.RBDBench{ // sized by a pilot
			IOType: v1alpha1.RBDBenchReadWrite, ReadPercent: new(int32(70)), IOPattern: v1alpha1.RBDBenchRand,
			DataPattern: v1alpha1.RBDBenchRepeatedByte, // Before Tentacle, rbd bench can write nothing else.
			Duration:    metav1.Duration{Duration: time.Minute},
		}},
		fioPhase("fio-randread", v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, IODepth: 4}),
		fioPhase("fio-jobs", v1alpha1.Fio{
			BlockSize: resource.MustParse("8Ki"), RateProcess: v1alpha1.FioRatePoisson, RateIOPS: new(int64(50)), IODepth: 8,
			Jobs: []v1alpha1.FioJob{
				{Name: "tables", Pattern: v1alpha1.FioRandReadWrite, ReadPercent: new(int32(70))},
				{Name: "log", Pattern: v1alpha1.FioWrite},
			},
		}),
	)
	b.Spec.Template.Clients.Count = 2
	b.Spec.RawOutput = v1alpha1.RawOutputAlways

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantReason(t, b, v1alpha1.ConditionReady, v1alpha1.ReasonComplete)
	wantPlausible(t, b,
		load{phase: "write", blockBytes: 64 << 10, inFlight: 2 * 16, metrics: radosBenchMetrics()},
		load{phase: "rand", blockBytes: 64 << 10, inFlight: 2 * 16, metrics: radosBenchMetrics(), marks: cached()},
		load{phase: "rbd-mixed", blockBytes: 4 << 10, readShare: 0.7, metrics: rbdBenchMetrics()},
		load{phase: "fio-randread", blockBytes: 4 << 10, inFlight: 2 * 4, metrics: fioMetrics(), marks: append(cached(), v1alpha1.MarkClosedLoop)},
		// A rate applies to each direction, whatever the mix. For one job, each client reads 50/s
		// and writes 50/s; for the other job, it writes 50/s.
		load{phase: "fio-jobs", blockBytes: 8 << 10, readShare: 1.0 / 3, metrics: fioMetrics()},
	)
	for _, run := range c.wantRuns(t, b) {
		if slices.ContainsFunc(run.Phases[0].Clients, reportHasNoOutput) {
			t.Error("the tools' output was not kept")
		}
	}
	c.wantEnvironment(t, b)
	wantRoomTaken(t, b, 2.5, 20) // three copies; small objects take more space
	if !strings.HasPrefix(b.Status.Headline, "write ") || b.Status.Summary == "" {
		t.Errorf("headline %q, summary %q", b.Status.Headline, b.Status.Summary)
	}
	c.wantStory(t, b, v1alpha1.ReasonPreparing, v1alpha1.ReasonRunning, v1alpha1.ReasonComplete)
}

func cached() []v1alpha1.ResultMark { return []v1alpha1.ResultMark{v1alpha1.MarkCached} }

// The images have erasure-coded data, and the OSDs' caches are dropped before each phase.
func TestBenchmarkErasureCodedScratchPool(t *testing.T) {
	c := forTest(t)
	target := v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
		ErasureCoded:  &v1alpha1.ErasureCodedPool{DataChunks: 2, CodingChunks: 1, Metadata: v1alpha1.MetadataPool{Size: 3}},
		FailureDomain: c.failureDomain,
		Parameters:    map[string]v1alpha1.ParameterValue{"pg_num": "8"},
		Image:         v1alpha1.Image{Size: resource.MustParse("128Mi")},
	}}
	xattr := radosWrite("rados-xattr")
	xattr.RadosBench.Destination = v1alpha1.RadosBenchXAttr
	xattr.RadosBench.BlockSize = resource.MustParse("2Ki")
	b := c.benchmark("erasure-coded", target, xattr,
		fioPhase("fio-randwrite", v1alpha1.Fio{Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("16Ki"), IODepth: 4}))
	b.Spec.Template.OSDCaches = v1alpha1.OSDCachesDropBeforePhase

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantPlausible(t, b,
		load{phase: "rados-xattr", blockBytes: 2 << 10, inFlight: 16, metrics: radosBenchMetrics()},
		load{phase: "fio-randwrite", blockBytes: 16 << 10, inFlight: 4, metrics: fioMetrics(), marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop}},
	)
	c.wantRuns(t, b)
	wantRoomTaken(t, b, 1.2, 20)
}

// The pool contains data of another user, which must stay the same to the byte.
func TestBenchmarkExistingPool(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	before := c.occupy(t, existingPool)
	omap := radosWrite("rados-omap")
	omap.RadosBench.Destination = v1alpha1.RadosBenchOMap
	omap.RadosBench.BlockSize = resource.MustParse("16Ki")
	omap.RadosBench.Concurrency = 2 // Few objects, because removing them takes longer than writing them.
	target := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{
		Name: existingPool, Image: v1alpha1.Image{Size: resource.MustParse("128Mi")},
	}}
	b := c.benchmark("existing", target, omap,
		fioPhase("fio-rados", v1alpha1.Fio{Engine: v1alpha1.FioEngineRADOS, Pattern: v1alpha1.FioWrite, BlockSize: resource.MustParse("64Ki"), IODepth: 8}),
		v1alpha1.Phase{Name: "rbd-write", RBDBench: &v1alpha1.RBDBench{
			IOType: v1alpha1.RBDBenchWrite, DataPattern: v1alpha1.RBDBenchRepeatedByte, Duration: metav1.Duration{Duration: time.Minute},
		}},
	)

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantPlausible(t, b,
		load{phase: "rados-omap", blockBytes: 16 << 10, inFlight: 2, metrics: radosBenchMetrics()},
		load{phase: "fio-rados", blockBytes: 64 << 10, inFlight: 8, metrics: fioMetrics(), marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop}},
		load{phase: "rbd-write", blockBytes: 4 << 10, metrics: rbdBenchMetrics()},
	)
	c.wantRuns(t, b)
	if after := c.occupied(t, existingPool); after != before {
		t.Errorf("the pool holds\n%s\nwant it as it was:\n%s", after, before)
	}
}

// The files are on claims that are created for each of two clients.
func TestBenchmarkFileSystemOfClaim(t *testing.T) {
	c := forTest(t)
	c.needVolumes(t)
	target := v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{
		Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: c.storageClass, Size: resource.MustParse("1Gi")},
	}}
	b := c.benchmark("file-system", target,
		fioPhase("fio-libaio", v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, IODepth: 8}))
	b.Spec.Template.Clients.Count = 2

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantPlausible(t, b, load{
		phase: "fio-libaio", blockBytes: 4 << 10, inFlight: 2 * 8, metrics: fioMetrics(), marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop},
	})
	c.wantRuns(t, b)
}

// The claim, for a raw block device, exists before and must remain.
func TestBenchmarkBlockOfExistingClaim(t *testing.T) {
	c := forTest(t)
	c.needVolumes(t)
	claim := c.createBlockClaim(t, "cephtune-e2e-block")
	target := v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: claim.Name}}
	b := c.benchmark("block", target,
		fioPhase("fio-io-uring", v1alpha1.Fio{Engine: v1alpha1.FioEngineIOUring, Pattern: v1alpha1.FioRandWrite, IODepth: 8}))

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantPlausible(t, b, load{
		phase: "fio-io-uring", blockBytes: 4 << 10, inFlight: 8, metrics: fioMetrics(), marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop},
	})
	c.wantRuns(t, b)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.DeletionTimestamp != nil {
		t.Errorf("the claim is not there any more, and was not the operator's: %v", err)
	}
}

// wantRoomTaken checks the space efficiency in status: the space on the OSDs relative to the stored
// bytes.
func wantRoomTaken(t *testing.T, b *v1alpha1.CephBenchmark, low, high float64) {
	t.Helper()
	space := b.Status.SpaceEfficiency
	if space == nil || space.StoredBytes == 0 {
		t.Errorf("space efficiency is %+v, want what was stored", space)
		return
	}
	wantWithin(t, "bytes on OSDs by bytes stored", float64(space.UsedBytes)/float64(space.StoredBytes), low, high)
	// OSDs may still be freeing older data meanwhile, so the cluster's usage need not grow.
	if space.ClusterUsedBytesBefore <= 0 || space.ClusterUsedBytes <= space.UsedBytes {
		t.Errorf("the OSDs used %d bytes before, and %d with %d of data", space.ClusterUsedBytesBefore, space.ClusterUsedBytes, space.UsedBytes)
	}
}

// wantStory checks that a benchmark has events with these reasons, in this order.
func (c *cluster) wantStory(t *testing.T, b *v1alpha1.CephBenchmark, reasons ...string) {
	t.Helper()
	events, err := c.eventsOf(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	var reported []string
	for _, e := range events {
		reported = append(reported, e.Reason)
	}
	rest := reported
	for _, reason := range reasons {
		i := slices.Index(rest, reason)
		if i < 0 {
			t.Errorf("events tell %v, want %v in this order", reported, reasons)
			return
		}
		rest = rest[i+1:]
	}
}

// occupy writes an image and objects of another user into a pool, and returns the pool's content.
func (c *cluster) occupy(t *testing.T, pool string) string {
	t.Helper()
	script := `set -e
		head -c 1M /dev/urandom >/tmp/cephtune-e2e
		rbd info "$1/theirs" >/dev/null 2>&1 || rbd create --size 16M "$1/theirs"
		rbd bench --io-type write --io-size 64K --io-total 4M "$1/theirs" >/dev/null
		rados -p "$1" put benchmark_data_theirs /tmp/cephtune-e2e
		rados -p "$1" -N theirs put cephtune-theirs /tmp/cephtune-e2e
		rm /tmp/cephtune-e2e`
	if _, err := c.toolbox(t.Context(), "bash", "-c", script, "-", pool); err != nil {
		t.Fatalf("put something into pool %s: %v", pool, err)
	}
	return c.occupied(t, pool)
}

// occupied lists all objects of a pool in all namespaces, with their content, and its images,
// including the trash.
func (c *cluster) occupied(t *testing.T, pool string) string {
	t.Helper()
	script := `set -eo pipefail
		rados -p "$1" ls --all | sort
		echo images:; rbd -p "$1" ls; rbd -p "$1" trash ls --all
		rbd export --no-progress "$1/theirs" - | sha256sum
		rados -p "$1" get benchmark_data_theirs - | sha256sum
		rados -p "$1" -N theirs get cephtune-theirs - | sha256sum`
	held, err := c.toolbox(t.Context(), "bash", "-c", script, "-", pool)
	if err != nil {
		t.Fatalf("list pool %s: %v", pool, err)
	}
	return held
}

// needVolumes skips a test if E2E_STORAGE_CLASS names no StorageClass. Now and at the end of the test,
// it frees the volumes of the class that claims of tests used.
func (c *cluster) needVolumes(t *testing.T) {
	t.Helper()
	if c.storageClass == "" {
		t.Skip("E2E_STORAGE_CLASS is not set: name a class of volumes that are file systems and raw blocks")
	}
	c.freeVolumes(t)
	t.Cleanup(func() { c.freeVolumes(t) })
}

// freeVolumes makes volumes of deleted claims available again. No provisioner does that.
func (c *cluster) freeVolumes(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	var volumes corev1.PersistentVolumeList
	if err := c.List(ctx, &volumes); err != nil {
		t.Errorf("list volumes: %v", err)
	}
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		if volume.Spec.StorageClassName != c.storageClass || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain ||
			volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.Namespace != benchNamespace {
			continue
		}
		err := c.Patch(ctx, volume, client.RawPatch(types.JSONPatchType, []byte(`[{"op": "remove", "path": "/spec/claimRef"}]`)))
		if err != nil {
			t.Errorf("free volume %s: %v", volume.Name, err)
		}
	}
}

// createBlockClaim creates a claim of a raw block device, which is removed at the end of the test.
func (c *cluster) createBlockClaim(t *testing.T, name string) *corev1.PersistentVolumeClaim {
	t.Helper()
	block := corev1.PersistentVolumeBlock
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: benchNamespace, Name: name, Annotations: map[string]string{claims.AnnotationOverwrite: claims.Overwrite},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &c.storageClass,
			VolumeMode:       &block,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatalf("create claim %s: %v", name, err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, claim) })
	return claim
}
