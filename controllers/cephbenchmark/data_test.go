package cephbenchmark

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/workload"
)

// A snapshot keeps the data that is overwritten. So images with a snapshot take up to twice the
// space, which is checked before they are created.
func TestRoomForSnapshots(t *testing.T) {
	of := func(initially v1alpha1.InitialState) (bytes int64, demand int64) {
		f := atWork(func(f *facts) {
			f.job = nil
			f.spec.Template.InitialState = initially
			f.spec.Template.Target.ScratchPool = &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 1}}
			f.Survey.CacheBytes = 1 << 40
			f.Survey.OSDs = []ceph.OSD{{TotalBytes: 50 << 30, AvailableBytes: 50 << 30}, {ID: 1, TotalBytes: 50 << 30, AvailableBytes: 50 << 30}}
		})
		bytes, _, err := f.dataset()
		if err != nil {
			t.Fatal(err)
		}
		template := f.spec.Template
		template.Phases = []v1alpha1.Phase{{Name: "over", Fio: &v1alpha1.Fio{
			Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), IODepth: 1, NumJobs: 1, Duration: metav1.Duration{Duration: time.Minute},
		}}}
		places := workload.Places(f.session.Name, f.cluster.Identities.IO, template, 18, 1<<30, false)
		places[0].CephUser = "io"
		if f.script, err = workload.New(template, places, workload.PlaceOfBackground(f.session.Background().Name, places)); err != nil {
			t.Fatal(err)
		}
		if background := workload.PlaceOfBackground(f.session.Background().Name, places); background.Image.RolledBack {
			t.Error("the background load is rolled back, too")
		}
		return bytes, f.demand().Bytes
	}
	kept, keptDemand := of(v1alpha1.InitialStateKeep)
	back, backDemand := of(v1alpha1.InitialStateRollback)
	if kept != 10<<30 || back != kept/2 || keptDemand != 1<<30 || backDemand != 2*keptDemand {
		t.Errorf("Auto is %d bytes and %d with snapshots; 1 GiB of data takes %d and %d", kept, back, keptDemand, backDemand)
	}
}
