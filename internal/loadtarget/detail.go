package loadtarget

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// Detail returns the facts about the environment that are stored with results. Their digest shows whether
// two environments are equal.
func (t Target) Detail() quiescence.Detail {
	return quiescence.Describe(quiescence.Inputs{
		FSID: t.Survey.OSDMap.FSID, Versions: t.Survey.Versions, RookVersion: t.Rook.RookVersion,
		KubernetesVersion: t.Kubernetes, Devices: t.Survey.Devices,
		OSDs: t.Survey.OSDs, DeviceClasses: t.DeviceClasses(), Pools: t.Pools(), Config: t.Survey.Config,
		Images: imagesOf(t.Pods), Nodes: nodesOf(t.Pods), ConfinedTo: t.ConfinedTo,
		Background: describeBackground(t.Template), BackgroundNodes: nodesOf(t.BackgroundPods),
		InitialState: t.Template.InitialState, OSDCaches: t.Template.OSDCaches,
	})
}

// describeBackground describes the background load of a template for comparisons of results, without its nodes, which
// are compared separately. The form is that of older results, in which the load was within backgroundLoad.
func describeBackground(t *v1alpha1.BenchmarkTemplate) string {
	phase := t.Background()
	if phase == nil {
		return ""
	}
	load, options := *phase, t.BackgroundLoad.DeepCopy()
	load.Name, options.Phase, options.Nodes = "", "", nil
	text, err := json.Marshal(load)
	if err != nil {
		return "" // The load was decoded from JSON, so encoding it cannot fail.
	}
	rest, err := json.Marshal(options)
	if err != nil {
		return ""
	}
	joined := strings.TrimSuffix(strings.Replace(string(text), `"name":"",`, "", 1), "}") + "," + strings.TrimPrefix(string(rest), "{")
	return strings.Replace(joined, ",}", "}", 1)
}

// imagesOf returns the images that the clients' containers actually run, by purpose: runner or tools. It leaves
// out containers that others inject, such as the proxy of a service mesh.
func imagesOf(pods []corev1.Pod) map[string]string {
	purposes := map[string]string{"install": "runner", "client": "tools"}
	images := map[string]string{}
	for i := range pods {
		for _, container := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			if purpose, ours := purposes[container.Name]; ours {
				images[purpose] = container.ImageID
			}
		}
	}
	return images
}

func nodesOf(pods []corev1.Pod) []quiescence.Node {
	var nodes []quiescence.Node
	for i := range pods {
		node := quiescence.Node{Name: pods[i].Spec.NodeName}
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}
