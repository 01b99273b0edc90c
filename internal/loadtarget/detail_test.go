package loadtarget

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestImagesOfInjectedContainersAreLeftOut(t *testing.T) {
	pod := corev1.Pod{Status: corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "install", ImageID: "runner@1"}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "client", ImageID: "tools@2"}, {Name: "istio-proxy", ImageID: "proxy@3"}},
	}}
	if got, want := imagesOf([]corev1.Pod{pod}), map[string]string{"runner": "runner@1", "tools": "tools@2"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
