package cephbenchmark

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
)

const (
	lockKey = "cephtune/lock"
	fsid    = "11111111-2222-3333-4444-555555555555"
	// stranger is a foreign owner of the scratch pool.
	stranger = "stranger"
)

// quietCeph returns a healthy, quiescent cluster of three OSDs.
func quietCeph() *cephtest.Cluster {
	fake := cephtest.NewCluster()
	fake.Change(func(a *cephtest.Answers) {
		a.Status = ceph.Status{
			FSID: fsid, Health: ceph.Health{Status: "HEALTH_OK"},
			OSDs: 3, UpOSDs: 3, InOSDs: 3, PGs: 33, PGsByState: map[string]int{"active+clean": 33},
			ManagerActive: true, Monitors: 1, QuorumNames: []string{"a"},
		}
		a.OSDMap = ceph.OSDMap{
			FSID: fsid, Epoch: 7, FullRatio: 0.95, BackfillFullRatio: 0.9, NearFullRatio: 0.85,
			Pools: []ceph.Pool{poolInCeph(2, settings.ScratchPool), poolInCeph(3, "open")},
		}
		a.OSDs, a.OSDTree = nil, nil
		for id := range 3 {
			a.OSDMap.OSDs = append(a.OSDMap.OSDs, ceph.OSDState{ID: id, Up: true})
			a.OSDs = append(a.OSDs, ceph.OSD{ID: id, DeviceClass: "ssd", Status: "up", TotalBytes: 1 << 40, AvailableBytes: 1 << 40, PGs: 33})
			a.OSDTree = append(a.OSDTree, ceph.OSDLocation{
				ID: id, DeviceClass: "ssd", Up: true, In: true, Buckets: map[string]string{"host": fmt.Sprintf("node-%d", id), "root": "default"},
			})
		}
		a.DF = ceph.DF{TotalBytes: 3 << 40, AvailableBytes: 3 << 40}
		a.PoolIO = []ceph.PoolIO{{Name: "open"}}
		a.Versions = ceph.Versions{Overall: map[string]int{"18.2.7": 5}, OSD: map[string]int{"18.2.7": 3}}
		a.ConfigShow = map[string]string{"osd.0 osd_memory_target": "4294967296"}
		a.Keys, a.Images, a.Objects = map[string]string{}, map[string][]string{}, map[string][]string{}
		a.Errors = map[string]error{}
	})
	return fake
}

func poolInCeph(id int64, name string) ceph.Pool {
	return ceph.Pool{
		ID: id, Name: name, Type: "replicated", Size: 3, MinSize: 2,
		PGNum: 8, PGNumTarget: 8, PGNumPending: 8, PGPlacementNum: 8, PGPlacementTarget: 8, AutoscaleMode: "off",
	}
}

// cutCeph makes Ceph unreachable until the returned function is called.
func (w *world) cutCeph() (mend func()) { return w.breakCeph(errors.New("no monitor answers")) }

// breakCeph makes each verb return an error.
func (w *world) breakCeph(err error) (mend func()) {
	verbs := []string{
		"Status", "OSDMap", "OSDs", "DF", "OSDPerf", "OSDIO", "PoolIO", "Versions", "ConfigDump", "ConfigShow",
		"DropOSDCaches", "GetKey", "SetKey", "RemoveKey", "Images", "ClientAddresses", "BlocklistClient", "RemoveImage", "Objects", "RemoveObjects",
		"SetNoUp", "MarkOSDsDown", "PGs", "PGsOn", "Strays", "OKToStop", "OSDDevices", "Balancer", "RunningConfig", "OSDCounters",
	}
	w.ceph.Change(func(a *cephtest.Answers) {
		for _, verb := range verbs {
			a.Errors[verb] = err
		}
	})
	return func() { w.ceph.Change(func(a *cephtest.Answers) { clear(a.Errors) }) }
}

// key returns an entry of Ceph's config-key.
func (w *world) key(name string) (value string) {
	w.ceph.Change(func(a *cephtest.Answers) { value = a.Keys[name] })
	return value
}

// lockInCeph returns the lock in Ceph's config-key.
func (w *world) lockInCeph() (value string) {
	w.ceph.Change(func(a *cephtest.Answers) { value = a.Keys[lockKey] })
	return value
}

// lockElsewhere gives the lock of the Ceph cluster to another Kubernetes cluster.
func (w *world) lockElsewhere() {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Keys[lockKey] = fmt.Sprintf(`{"cluster":"other","holder":"CephTuningSweep/far/away/1","epoch":4,"since":%[1]q,"renewed":%[1]q}`,
			w.now().Format(time.RFC3339))
	})
}

// fakeRook creates pools in its second pass and removes them at once, unless it is told to wait or
// the pool has images.
type fakeRook struct {
	mu    sync.Mutex
	ceph  *cephtest.Cluster
	owner objectref.Ref // of the scratch pool
	key   string        // with which it was created
	made  int
	asked []v1alpha1.ScratchPool // the last request, by target
	// clusterIs is the CephCluster's problem, if any.
	clusterIs error
	// making and removing say what it waits for; "" for nothing.
	making, removing string
	// removesOSDs is the CephCluster's removeOSDsIfOutAndSafeToRemove.
	removesOSDs bool
}

func (f *fakeRook) set(change func(*fakeRook)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeRook) Cluster(_ context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusterIs != nil {
		return rook.ClusterInfo{}, f.clusterIs
	}
	return rook.ClusterInfo{
		Namespace: ref.Namespace, Name: ref.Name, FSID: fsid,
		Phase: "Ready", State: "Created", Reconciled: true, RookVersion: "v1.17.2", RemovesOSDs: f.removesOSDs,
	}, nil
}

func (f *fakeRook) Connection(_ context.Context, _ settings.Cluster, name string) (ceph.Connection, error) {
	return ceph.Connection{MonHost: "10.0.0.10:6789", User: name, Key: "AQ=="}, nil
}

func (f *fakeRook) EnsureScratchPools(_ context.Context, _ settings.Cluster, specs []v1alpha1.ScratchPool, use rook.ScratchUse, _ *ceph.OSDMap) (bool, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = specs
	switch {
	case use.Continues && (f.owner.UID != use.Owner.UID || f.key != use.Key):
		return false, "", &rook.Error{Reason: rook.ReasonScratchPoolGone, Message: "the scratch pool is gone"}
	case f.owner.UID == "":
		f.owner, f.key = use.Owner, use.Key
		f.made++
		return false, "Rook makes the pool", nil
	case f.owner.UID != use.Owner.UID:
		return false, "", &rook.Error{Reason: rook.ReasonScratchPoolTaken, Message: "the scratch pool is that of " + f.owner.String()}
	case f.key != use.Key:
		return false, "", &rook.Error{Reason: rook.ReasonScratchPoolDiffers, Message: "the scratch pool was made for other runs"}
	}
	return f.making == "", f.making, nil
}

func (f *fakeRook) ScratchPoolsOf(_ context.Context, _ settings.Cluster, owner objectref.Ref) ([]string, error) {
	if f.poolOwner().UID == owner.UID {
		return f.pools(), nil
	}
	return nil, nil
}

func (f *fakeRook) DeleteScratchPools(_ context.Context, _ settings.Cluster, owner objectref.Ref, _ *ceph.OSDMap) (bool, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner.UID != owner.UID {
		return true, "", nil
	}
	if f.removing != "" {
		return false, f.removing, nil
	}
	images := 0
	f.ceph.Change(func(a *cephtest.Answers) {
		for target := range f.asked {
			images += len(a.Images[settings.ScratchNamesOf(target).Pool])
		}
	})
	if images > 0 {
		return false, "Rook does not remove CephBlockPool rook-ceph/cephtune-scratch yet: it contains images", nil
	}
	f.owner = objectref.Ref{}
	f.ceph.Change(func(a *cephtest.Answers) { // The objects of a pool go with it.
		maps.DeleteFunc(a.Objects, func(place string, _ []string) bool { return strings.HasPrefix(place, settings.ScratchPool) })
	})
	return true, "", nil
}

// pools returns the names of the pools that were last asked for.
func (f *fakeRook) pools() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{settings.ScratchPool}
	for target := 1; target < len(f.asked); target++ {
		names = append(names, settings.ScratchNamesOf(target).Pool)
	}
	return names
}

func (f *fakeRook) poolOwner() objectref.Ref {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owner
}
