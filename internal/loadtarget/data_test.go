package loadtarget

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/workload"
)

// A snapshot keeps the data that is overwritten. So images with a snapshot take up to twice the
// space, which is checked before they are created.
func TestRoomForSnapshots(t *testing.T) {
	needs := func(initially v1alpha1.InitialState) (bytes int64, demand int64) {
		seen := Target{
			Template: &v1alpha1.BenchmarkTemplate{
				InitialState: initially, Clients: v1alpha1.Clients{Count: 1},
				Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 1}}},
			},
			View: clusterwatch.View{Survey: &clusterwatch.Survey{
				OSDMap: &ceph.OSDMap{}, CacheBytes: 1 << 40,
				OSDs: []ceph.OSD{{TotalBytes: 50 << 30, AvailableBytes: 50 << 30}, {ID: 1, TotalBytes: 50 << 30, AvailableBytes: 50 << 30}},
			}},
		}
		bytes, _, err := seen.Dataset()
		if err != nil {
			t.Fatal(err)
		}
		template := *seen.Template
		template.Phases = []v1alpha1.Phase{{Name: "over", Fio: &v1alpha1.Fio{
			Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), IODepth: 1, NumJobs: 1, Duration: metav1.Duration{Duration: time.Minute},
		}}}
		places := workload.Places("execution", "io", template, []v1alpha1.Target{template.Target}, 0, 18, 1<<30, false)
		background := workload.PlaceOfBackground("background", places)
		if seen.Script, err = workload.New(template, places, background); err != nil {
			t.Fatal(err)
		}
		if background.Image.RolledBack {
			t.Error("the background load is rolled back, too")
		}
		return bytes, seen.Demand().Bytes
	}
	kept, keptDemand := needs(v1alpha1.InitialStateKeep)
	back, backDemand := needs(v1alpha1.InitialStateRollback)
	if kept != 10<<30 || back != kept/2 || keptDemand != 1<<30 || backDemand != 2*keptDemand {
		t.Errorf("Auto is %d bytes and %d with snapshots; 1 GiB of data takes %d and %d", kept, back, keptDemand, backDemand)
	}
}
