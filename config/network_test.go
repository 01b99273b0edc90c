package config

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
)

func selects(t *testing.T, matcher *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(matcher)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(pod))
}

// The policy selects the pods of benchmarks, and admits only the manager.
func TestOnlyTheManagerReachesBenchmarks(t *testing.T) {
	policy := only[networkingv1.NetworkPolicy](t, render(t, "bench"), "NetworkPolicy").Spec
	client := map[string]string{settings.LabelManagedBy: settings.ManagedBy, settings.LabelComponent: settings.ComponentBenchmark, "any": "thing"}
	if !selects(t, &policy.PodSelector, client) || !slices.Contains(policy.PolicyTypes, networkingv1.PolicyTypeIngress) {
		t.Errorf("the policy is not about who reaches the pods of benchmarks: %+v", policy)
	}
	if len(policy.Ingress) != 1 || len(policy.Ingress[0].From) != 1 || len(policy.Ingress[0].Ports) != 1 {
		t.Fatalf("more is let in than one peer on one port: %+v", policy.Ingress)
	}
	from, port := policy.Ingress[0].From[0], policy.Ingress[0].Ports[0]
	if port.Port == nil || port.Port.IntValue() != runner.Port || port.EndPort != nil {
		t.Errorf("port %+v, want that of runners, %d", port, runner.Port)
	}
	manager := only[appsv1.Deployment](t, render(t, "default"), "Deployment")
	pod, namespace := manager.Spec.Template.Labels, map[string]string{"kubernetes.io/metadata.name": manager.Namespace}
	if from.PodSelector == nil || from.NamespaceSelector == nil || !selects(t, from.PodSelector, pod) || !selects(t, from.NamespaceSelector, namespace) {
		t.Fatalf("%+v is let in, and the manager is not: its pod has %v in namespace %s", from, pod, manager.Namespace)
	}
	wantNoOtherPod(t, from.PodSelector, pod)
	if selects(t, from.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": "cephtune-bench"}) {
		t.Error("pods beside the benchmarks are let in, too")
	}
}

// wantNoOtherPod checks that a selector does not select a pod that differs in one label.
func wantNoOtherPod(t *testing.T, matcher *metav1.LabelSelector, pod map[string]string) {
	t.Helper()
	for label := range pod {
		other := maps.Clone(pod)
		other[label] = "other"
		if label != "app.kubernetes.io/part-of" && selects(t, matcher, other) {
			t.Errorf("a pod with another %s is let in, too", label)
		}
	}
}

func TestNetworkPolicyOfMetrics(t *testing.T) {
	policy := only[networkingv1.NetworkPolicy](t, render(t, "network-policy"), "NetworkPolicy").Spec
	manager := only[appsv1.Deployment](t, render(t, "default"), "Deployment").Spec.Template
	if !selects(t, &policy.PodSelector, manager.Labels) {
		t.Errorf("the policy is not about the manager, which has %v: %+v", manager.Labels, policy.PodSelector)
	}
	if len(policy.Ingress) != 1 || len(policy.Ingress[0].Ports) != 1 || len(policy.Ingress[0].From) != 1 {
		t.Fatalf("more is let in than some on one port: %+v", policy.Ingress)
	}
	ports := manager.Spec.Containers[0].Ports
	metrics := slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return p.Name == "metrics" })
	if metrics < 0 {
		t.Fatalf("the manager has no port for metrics: %+v", ports)
	}
	if port := policy.Ingress[0].Ports[0].Port; port == nil || port.IntValue() != int(ports[metrics].ContainerPort) {
		t.Errorf("the metrics are on port %d, and %v is let in", ports[metrics].ContainerPort, port)
	}
}
