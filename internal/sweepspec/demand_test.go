package sweepspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

func TestVolumesAreThoseOfTheLargestRunOfEachClass(t *testing.T) {
	const gi = 1 << 30
	classes := v1alpha1.Parameter{Name: "class", StorageClass: &v1alpha1.StorageClassParameter{}, Values: []v1alpha1.ParameterValue{"b", "c", "b"}}
	clients := v1alpha1.Parameter{
		Name: "clients", Workload: &v1alpha1.WorkloadParameter{Field: v1alpha1.WorkloadClients}, Values: []v1alpha1.ParameterValue{"1", "8", "65"},
	}
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   []settings.Volumes
	}{
		"the template alone": {func(*Spec) {}, []settings.Volumes{{Class: "a", Bytes: 20 * gi}}},
		"more clients":       {func(s *Spec) { s.Parameters = []v1alpha1.Parameter{clients} }, []settings.Volumes{{Class: "a", Bytes: 80 * gi}}},
		"classes, more clients": {
			func(s *Spec) { s.Parameters = []v1alpha1.Parameter{clients, classes} },
			[]settings.Volumes{{Class: "a", Bytes: 80 * gi}, {Class: "b", Bytes: 80 * gi}, {Class: "c", Bytes: 80 * gi}},
		},
		"classes in configurations": {func(s *Spec) {
			s.Parameters = []v1alpha1.Parameter{{Name: "class", StorageClass: &v1alpha1.StorageClassParameter{}}}
			s.Configurations = []v1alpha1.Configuration{{Name: "x", Values: map[string]v1alpha1.ParameterValue{"class": "hidden"}}}
		}, []settings.Volumes{{Class: "a", Bytes: 20 * gi}, {Class: "hidden", Bytes: 20 * gi}}},
		"another baseline": {func(s *Spec) {
			s.Parameters = []v1alpha1.Parameter{classes}
			s.Baseline = &v1alpha1.Baseline{Values: map[string]v1alpha1.ParameterValue{"class": "base"}}
		}, []settings.Volumes{{Class: "b", Bytes: 20 * gi}, {Class: "base", Bytes: 20 * gi}, {Class: "c", Bytes: 20 * gi}}},
		"no claims": {func(s *Spec) {
			s.Template.Target, s.Parameters = v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}, []v1alpha1.Parameter{clients}
		}, nil},
	} {
		spec := &Spec{Template: v1alpha1.BenchmarkTemplate{Clients: v1alpha1.Clients{Count: 2}}}
		spec.Template.Target.PersistentVolumeClaim = &v1alpha1.PersistentVolumeClaimTarget{
			Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: "a", Size: resource.MustParse("10Gi")},
		}
		tc.change(spec)
		if diff := cmp.Diff(tc.want, Volumes(spec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
