package conclusion

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Phases have the same digest if the same clients do the same on the same data. The OSDs do not
// matter, because they belong to the environment.
func TestPhaseDigest(t *testing.T) {
	base := func() v1alpha1.BenchmarkTemplate {
		return v1alpha1.BenchmarkTemplate{
			Target:  v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{DeviceClass: "ssd"}},
			Clients: v1alpha1.Clients{Count: 1}, Dataset: v1alpha1.Dataset{Size: "1Gi"},
		}
	}
	phase := v1alpha1.Phase{Name: "write", Fio: &v1alpha1.Fio{Pattern: v1alpha1.FioWrite}}
	template := base()
	want := phaseDigest(phase, &template)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.BenchmarkTemplate)
		same   bool
	}{
		"nothing":             {func(*v1alpha1.BenchmarkTemplate) {}, true},
		"the class of OSDs":   {func(t *v1alpha1.BenchmarkTemplate) { t.Target.ScratchPool.DeviceClass = "hdd" }, true},
		"where clients run":   {func(t *v1alpha1.BenchmarkTemplate) { t.Clients.Nodes = []v1alpha1.NodeName{"a"} }, true},
		"the background load": {func(t *v1alpha1.BenchmarkTemplate) { t.BackgroundLoad = &v1alpha1.BackgroundLoad{Phase: "aside"} }, true},
		"more clients":        {func(t *v1alpha1.BenchmarkTemplate) { t.Clients.Count = 4 }, false},
		"what they may use":   {func(t *v1alpha1.BenchmarkTemplate) { t.Clients.Resources.CPU = resource.MustParse("2") }, false},
		"more data":           {func(t *v1alpha1.BenchmarkTemplate) { t.Dataset.Size = "200Gi" }, false},
		"smaller objects": {func(t *v1alpha1.BenchmarkTemplate) {
			t.Target.ScratchPool.Image.ObjectSize = resource.MustParse("64Ki")
		}, false},
		"an outage": {func(t *v1alpha1.BenchmarkTemplate) { t.Outage = &v1alpha1.Outage{OSDs: []int32{1}} }, false},
		"another volume": {func(t *v1alpha1.BenchmarkTemplate) {
			t.Target = v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "slow"}}
		}, false},
	} {
		changed := base()
		tc.change(&changed)
		if got := phaseDigest(phase, &changed); (got == want) != tc.same {
			t.Errorf("%s: the digest is the same: %v, want %v", name, got == want, tc.same)
		}
	}
}
