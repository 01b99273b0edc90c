package clientjob

import (
	"encoding/hex"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		Benchmark: &v1alpha1.CephBenchmark{}, Spec: spec, Session: Session{Name: "cephtune-0123456789"}, Script: &workload.Script{},
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
	alone := clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}})
	alone.Standalone = true
	return map[string]Spec{
		"scratch pool":           clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}),
		"erasure-coded":          clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{ErasureCoded: &v1alpha1.ErasureCodedPool{}}}),
		"existing pool":          clientsOn(v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "p"}}),
		"claim":                  claim(v1alpha1.PersistentVolumeClaimTarget{ClaimName: "c"}, false),
		"claim of a device":      claim(v1alpha1.PersistentVolumeClaimTarget{ClaimName: "c"}, true),
		"template":               claim(v1alpha1.PersistentVolumeClaimTarget{Template: &v1alpha1.PersistentVolumeClaimTemplate{}}, false),
		"template of a device":   claim(v1alpha1.PersistentVolumeClaimTarget{Template: &v1alpha1.PersistentVolumeClaimTemplate{VolumeMode: v1alpha1.VolumeModeBlock}}, true),
		"a client that is alone": alone,
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
	own := JobOf(j).Spec.Template.Spec
	if own.NodeSelector["disk"] != "none" || len(own.NodeSelector) != 1 || own.Tolerations[0].Key != "" {
		t.Errorf("%v, %v: what the benchmark says counts alone", own.NodeSelector, own.Tolerations)
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
	maps.Copy(j.Pods.Labels, map[string]string{settings.LabelManagedBy: "me", settings.LabelComponent: "mine", LabelSession: "s"})
	got := JobOf(j).Spec.Template.Labels
	want := Labels(j.Session)
	want["team"] = "storage"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A Secret is immutable once pods mount it. Without the manager's key, no one can create a valid
// annotation.
func TestSeal(t *testing.T) {
	key, other := make([]byte, 32), append(make([]byte, 31), 1)
	s := Session{Name: "cephtune-0123456789", UID: "u", RunID: "1"}
	job := JobOf(clientsOn(v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}))
	job.Annotations = map[string]string{AnnotationSpec: "{}", AnnotationDataset: "7", AnnotationOSDs: "1,2"}
	if err := s.Seal(key, job); err != nil {
		t.Fatal(err)
	}
	sealed := job.Annotations[AnnotationSeal]
	seal := func(s Session, key []byte, change func(map[string]string)) string {
		annotations := maps.Clone(job.Annotations)
		change(annotations)
		got, err := s.sealOf(key, annotations)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	nothing := func(map[string]string) {}
	if again := seal(s, key, nothing); again != sealed || len(sealed) != len(sealVersion)+64 {
		t.Errorf("the seal is %q, and then %q", sealed, again)
	}
	if same := seal(s, key, func(a map[string]string) { a[AnnotationUnreachable] = "true" }); same != sealed {
		t.Error("the manager marks Jobs later on")
	}
	for name, got := range map[string]string{
		"another key":     seal(s, other, nothing),
		"another run":     seal(Session{Name: s.Name, UID: "u", RunID: "2"}, key, nothing),
		"another UID":     seal(Session{Name: s.Name, UID: "v", RunID: "1"}, key, nothing),
		"earlier keys":    seal(Session{Name: s.Name, UID: "u", RunID: "1", KeyedByName: true}, key, nothing),
		"another spec":    seal(s, key, func(a map[string]string) { a[AnnotationSpec] = "{ }" }),
		"another dataset": seal(s, key, func(a map[string]string) { a[AnnotationDataset] = "8" }),
		"room":            seal(s, key, func(a map[string]string) { a[AnnotationRoom] = "8" }),
		"other room":      seal(s, key, func(a map[string]string) { a[AnnotationRoom] = "9" }),
		"no dataset":      seal(s, key, func(a map[string]string) { delete(a, AnnotationDataset) }),
		"alone":           seal(s, key, func(a map[string]string) { a[AnnotationStandalone] = "" }),
		"other OSDs":      seal(s, key, func(a map[string]string) { a[AnnotationOSDs] = "1,3" }),
		"no OSDs":         seal(s, key, func(a map[string]string) { delete(a, AnnotationOSDs) }),
	} {
		if got == sealed {
			t.Errorf("%s: the seal is the same", name)
		}
	}
}

// Names of sessions are short. If someone finds a run ID that results in another session's name,
// they still have neither its key nor its seal.
func TestKeysDoNotFollowFromNames(t *testing.T) {
	master := make([]byte, 32)
	known := map[string]string{}
	for what, s := range map[string]Session{
		"one": {Name: "cephtune-0123456789", UID: "u", RunID: "1"}, "another run": {Name: "cephtune-0123456789", UID: "u", RunID: "2"},
		"another benchmark": {Name: "cephtune-0123456789", UID: "v", RunID: "1"},
	} {
		for _, role := range []string{"session", "seal"} {
			key, err := s.derive(master, role)
			if err != nil || len(key) != runner.KeyBytes {
				t.Fatalf("%d bytes, %v", len(key), err)
			}
			if other, has := known[string(key)]; has {
				t.Errorf("%s of %s has the key of %s", role, what, other)
			}
			known[string(key)] = role + " of " + what
		}
	}
}

// This is a seal of an earlier version, which an upgrade finds in the cluster.
func TestASealOfAnEarlierVersion(t *testing.T) {
	s := SessionOf("u", "1")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		AnnotationSpec: "{}", AnnotationDataset: "7", AnnotationRoom: "8",
		AnnotationSeal: "976c425d036d61e2fb493f9e30abe90ab44f366b61bfbab08ab57f5204b6fb7f",
	}}}
	if s.KeyedByName = StartedBefore(job); !s.KeyedByName {
		t.Error("it is taken for one of this version")
	}
	got, err := s.sealOf(make([]byte, 32), job.Annotations)
	if err != nil || got != job.Annotations[AnnotationSeal] {
		t.Errorf("the seal is %s, %v", got, err)
	}
	key, err := s.Key(make([]byte, 32))
	if got := hex.EncodeToString(key); err != nil || got != "d10784c187dc99ee9155adc69b552d9570dc3807cd1775627ad60027bf287322" {
		t.Errorf("the key of its runners is %s, %v", got, err)
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
			got := affinity(tc.clients, Session{Name: "s"})
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
