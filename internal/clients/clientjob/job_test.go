package clientjob

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/podsecurity"
	"github.com/cephtune/cephtune/internal/workload"
)

// clientsOn returns the Job of a benchmark on a target, with all other options that a user and an
// administrator can set.
func clientsOn(target v1alpha1.Target) Spec {
	spec := v1alpha1.CephBenchmarkSpec{Template: v1alpha1.BenchmarkTemplate{Target: target, Clients: v1alpha1.Clients{
		Count: 2, Spread: v1alpha1.SpreadRequired, Nodes: []v1alpha1.NodeName{"a", "b"},
		NodeSelector: map[string]v1alpha1.LabelValue{"disk": "none"},
		Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Resources:    v1alpha1.ClientResources{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")},
	}}}
	return Spec{
		Benchmark: &v1alpha1.CephBenchmark{}, Spec: spec, Execution: Execution{Name: "cephtune-0123456789"}, Script: &workload.Script{},
		Images: settings.Images{Tools: "tools", Runner: "runner", PullPolicy: "Always", PullSecrets: []string{"pull"}},
		Pods: settings.Pods{
			PriorityClassName: "low",
			Labels:            map[string]string{"team": "storage"},
			Annotations:       map[string]string{"container.apparmor.security.beta.kubernetes.io/client": "runtime/default"},
		},
	}
}

// targets has one target of each kind, and whether it is a block device.
func targets() map[string]Spec {
	claim := func(c v1alpha1.PersistentVolumeClaimTarget, block bool) Spec {
		j := clientsOn(v1alpha1.Target{PersistentVolumeClaim: &c})
		j.Block = block
		return j
	}
	return map[string]Spec{
		"scratch pool":         clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}),
		"erasure-coded":        clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{ErasureCoded: &v1alpha1.ErasureCodedPool{}}}),
		"existing pool":        clientsOn(v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "p"}}),
		"claim":                claim(v1alpha1.PersistentVolumeClaimTarget{ClaimName: "c"}, false),
		"claim of a device":    claim(v1alpha1.PersistentVolumeClaimTarget{ClaimName: "c"}, true),
		"template":             claim(v1alpha1.PersistentVolumeClaimTarget{Template: &v1alpha1.PersistentVolumeClaimTemplate{}}, false),
		"template of a device": claim(v1alpha1.PersistentVolumeClaimTarget{Template: &v1alpha1.PersistentVolumeClaimTemplate{VolumeMode: v1alpha1.VolumeModeBlock}}, true),
	}
}

// The next manager learns from the Job what it has to remove.
func TestAJobOutlastsAWeekendWithoutAManager(t *testing.T) {
	for name, j := range targets() {
		if stays := JobOf(j).Spec.TTLSecondsAfterFinished; stays == nil || time.Duration(*stays)*time.Second < 3*24*time.Hour {
			t.Errorf("%s: Kubernetes removes the Job after %v s", name, ptr.Deref(stays, 0))
		}
	}
}

func TestClientsAreRestricted(t *testing.T) {
	for name, j := range targets() {
		t.Run(name, func(t *testing.T) {
			job := JobOf(j)
			podsecurity.Check(t, &job.Spec.Template)
			pod := job.Spec.Template.Spec
			if pod.ServiceAccountName != "" {
				t.Errorf("the pods have the service account %s, want that of everybody", pod.ServiceAccountName)
			}
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				if diff := cmp.Diff(c.Resources.Requests, c.Resources.Limits); diff != "" || len(c.Resources.Limits) != 3 {
					t.Errorf("container %s is not guaranteed CPU, memory and disk (-requests +limits):\n%s", c.Name, diff)
				}
				if len(c.Env) > 0 || len(c.EnvFrom) > 0 {
					t.Errorf("container %s has an environment, in which keys would show", c.Name)
				}
			}
		})
	}
}

func TestNodesOfClientsAreTheirOwnOrThoseOfTheOperatorConfig(t *testing.T) {
	j := clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}})
	j.Pods.NodeSelector = map[string]string{"storage": "client"}
	j.Pods.Tolerations = []corev1.Toleration{{Key: "storage", Operator: corev1.TolerationOpExists}}
	spec := JobOf(j).Spec.Template.Spec
	if spec.NodeSelector["disk"] != "none" || len(spec.NodeSelector) != 1 || spec.Tolerations[0].Key != "" {
		t.Errorf("%v, %v: what the benchmark says counts alone", spec.NodeSelector, spec.Tolerations)
	}
	j.Spec.Template.Clients.NodeSelector, j.Spec.Template.Clients.Tolerations = nil, nil
	given := JobOf(j).Spec.Template.Spec
	if given.NodeSelector["storage"] != "client" || len(given.Tolerations) != 1 || given.Tolerations[0].Key != "storage" {
		t.Errorf("%v, %v: without, the operator config does", given.NodeSelector, given.Tolerations)
	}
}

// A user cannot override the labels by which the NetworkPolicy and the manager know pods.
func TestLabelsOfClientsAreOurs(t *testing.T) {
	j := clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}})
	maps.Copy(j.Pods.Labels, map[string]string{settings.LabelManagedBy: "me", settings.LabelComponent: "mine", LabelExecution: "s"})
	got := JobOf(j).Spec.Template.Labels
	want := Labels(j.Execution)
	want["team"] = "storage"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Names of executions are short. If someone finds a run ID that results in another execution's name,
// they still do not have its key.
func TestKeysDoNotFollowFromNames(t *testing.T) {
	master := make([]byte, 32)
	known := map[string]string{}
	for name, s := range map[string]Execution{
		"one": {Name: "cephtune-0123456789", UID: "u", RunID: "1"}, "another run": {Name: "cephtune-0123456789", UID: "u", RunID: "2"},
		"another benchmark": {Name: "cephtune-0123456789", UID: "v", RunID: "1"},
	} {
		key, err := s.Key(master)
		if err != nil || len(key) != runner.KeyBytes {
			t.Fatalf("%d bytes, %v", len(key), err)
		}
		if other, ok := known[string(key)]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		known[string(key)] = name
	}
}

func TestClientsRunOnTheNodesThatWereNamed(t *testing.T) {
	on := func(names ...string) *corev1.NodeAffinity {
		selector := &corev1.NodeSelector{}
		for _, name := range names {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{name}}},
			})
		}
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}
	}
	cases := map[string]struct {
		clients   v1alpha1.Clients
		wantNodes *corev1.NodeAffinity
		wantApart bool
	}{
		"anywhere":             {clients: v1alpha1.Clients{Spread: v1alpha1.SpreadPreferred}},
		"on either of two":     {clients: v1alpha1.Clients{Nodes: []v1alpha1.NodeName{"a", "b.example.org"}}, wantNodes: on("a", "b.example.org")},
		"each on one of these": {clients: v1alpha1.Clients{Nodes: []v1alpha1.NodeName{"a"}, Spread: v1alpha1.SpreadRequired}, wantNodes: on("a"), wantApart: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := affinity(tc.clients, Execution{Name: "s"})
			if got == nil {
				got = &corev1.Affinity{}
			}
			if diff := cmp.Diff(tc.wantNodes, got.NodeAffinity); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if (got.PodAntiAffinity != nil) != tc.wantApart {
				t.Errorf("apart: %v", got.PodAntiAffinity)
			}
		})
	}
}
