package loadtarget

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Results of older versions have the load of a background load within it. The same load is described alike.
func TestDescribeBackground(t *testing.T) {
	template := &v1alpha1.BenchmarkTemplate{
		Phases: []v1alpha1.Phase{
			{Name: "measured"}, {Name: "aside", RBDBench: &v1alpha1.RBDBench{IOType: v1alpha1.RBDBenchWrite, IOSize: resource.MustParse("4Ki")}},
		},
	}
	if got := describeBackground(template); got != "" {
		t.Errorf("got %s without a background load", got)
	}
	template.BackgroundLoad = &v1alpha1.BackgroundLoad{Phase: "aside", Nodes: []v1alpha1.NodeName{"a"}}
	const load = `{"rbdBench":{"ioType":"Write","ioSize":"4Ki"}`
	if got, want := describeBackground(template), load+`}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	template.BackgroundLoad.Ramp = &metav1.Duration{Duration: 10 * time.Second}
	if got, want := describeBackground(template), load+`,"ramp":"10s"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if template.BackgroundLoad.Phase != "aside" || template.Phases[1].Name != "aside" {
		t.Error("the template was changed")
	}
}
