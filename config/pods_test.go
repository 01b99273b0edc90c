package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/testing/memory"
	"github.com/cephtune/cephtune/internal/testing/podsecurity"
)

// podOf returns the template of an object's pods; nil if it has none.
func podOf(t *testing.T, o *unstructured.Unstructured) *corev1.PodTemplateSpec {
	t.Helper()
	switch o.GetKind() {
	case "Pod":
		pod := as[corev1.Pod](t, o)
		return &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	case "Deployment":
		return &as[appsv1.Deployment](t, o).Spec.Template
	case "StatefulSet":
		return &as[appsv1.StatefulSet](t, o).Spec.Template
	case "DaemonSet":
		return &as[appsv1.DaemonSet](t, o).Spec.Template
	case "Job":
		return &as[batchv1.Job](t, o).Spec.Template
	}
	return nil
}

// The pods of benchmarks are not in manifests: internal/clients/clientjob checks them.
func TestPodsAreRestricted(t *testing.T) {
	checked := 0
	for _, folder := range folders(t) {
		for _, o := range render(t, folder) {
			pod := podOf(t, &o)
			if pod == nil {
				continue
			}
			checked++
			t.Run(folder+"/"+o.GetName(), func(t *testing.T) { podsecurity.Check(t, pod, "manager") })
		}
	}
	if checked < 3 { // config/default has the pod, and so have the folders with that base.
		t.Errorf("%d pods, want that of the manager in three folders", checked)
	}
}

// The garbage collector knows the container's limit only from a variable.
func TestTheManagerKnowsItsMemory(t *testing.T) {
	pod := only[appsv1.Deployment](t, render(t, "default"), "Deployment").Spec.Template.Spec
	container := pod.Containers[slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "manager" })]
	if got := container.Resources.Limits.Memory().Value(); got != memory.ManagerLimit {
		t.Errorf("its limit is %d; tests give it %d", got, memory.ManagerLimit)
	}
	want := []corev1.EnvVar{{Name: "MEMORY_LIMIT", ValueFrom: &corev1.EnvVarSource{
		ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "manager", Resource: "limits.memory"},
	}}}
	if diff := cmp.Diff(want, container.Env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The sidecar may run all its processes at the same time.
func TestTheSidecarHasMemoryForItsProcesses(t *testing.T) {
	const each, itself = 60 << 20, 64 << 20 // bytes of a process of ceph, and of the sidecar with the answers that it reads
	pod := only[appsv1.Deployment](t, render(t, "default"), "Deployment").Spec.Template.Spec
	container := pod.Containers[slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "ceph" })]
	if limit := container.Resources.Limits.Memory().Value(); ceph.MaxProcesses*each+itself > limit {
		t.Errorf("%d processes of %d MiB do not fit into %d MiB", ceph.MaxProcesses, each>>20, limit>>20)
	}
}

// A dead Ceph cluster must not restart the sidecar of the others, so probes ask the sidecar alone.
func TestContainersHaveProbes(t *testing.T) {
	pod := only[appsv1.Deployment](t, render(t, "default"), "Deployment").Spec.Template.Spec
	for _, c := range pod.Containers {
		if c.LivenessProbe == nil || c.ReadinessProbe == nil {
			t.Errorf("container %s has no probe", c.Name)
			continue
		}
		for question, probe := range map[string]*corev1.Probe{"live": c.LivenessProbe, "ready": c.ReadinessProbe} {
			if c.Name == "ceph" && (probe.Exec == nil || !slices.Equal(probe.Exec.Command, []string{"/cephtune/runner", "probe", question, c.Command[2]})) {
				t.Errorf("the sidecar's probe is %+v", probe)
			}
		}
	}
}

// Volumes with Ceph's keys must be in memory, and only the sidecar may mount them.
func TestTheSidecarsKeysAreInMemory(t *testing.T) {
	pod := only[appsv1.Deployment](t, render(t, "default"), "Deployment").Spec.Template.Spec
	for _, volume := range pod.Volumes {
		if volume.Name != "keys" && volume.Name != "ceph" {
			continue
		}
		if volume.EmptyDir == nil || volume.EmptyDir.Medium != corev1.StorageMediumMemory || volume.EmptyDir.SizeLimit == nil {
			t.Errorf("volume %s is %+v, want a bounded one in memory", volume.Name, volume.VolumeSource)
		}
	}
	var havingKeys []string
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		if len(c.Ports) > 0 && c.Name != "manager" {
			t.Errorf("container %s listens on %v", c.Name, c.Ports)
		}
		if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "keys" }) {
			havingKeys = append(havingKeys, c.Name)
		}
	}
	if !slices.Equal(havingKeys, []string{"ceph"}) {
		t.Errorf("containers %q have the keys, want the sidecar alone", havingKeys)
	}
}

// Namespaces enforce the restricted standard on every pod, not only on ours.
func TestNamespacesAreRestricted(t *testing.T) {
	namespaces := 0
	for _, o := range render(t, "namespaced") {
		if o.GetKind() != "Namespace" {
			continue
		}
		namespaces++
		for _, mode := range []string{"enforce", "audit", "warn"} {
			if level := o.GetLabels()["pod-security.kubernetes.io/"+mode]; level != "restricted" {
				t.Errorf("namespace %s has level %q to %s, want restricted", o.GetName(), level, mode)
			}
		}
	}
	if namespaces != 2 {
		t.Errorf("%d namespaces, want the manager's and that of benchmarks", namespaces)
	}
}
