// Package clientjob defines the Job, the Secret and the pods of a benchmark's clients: their names,
// their keys, and the signed annotations in which a Job stores the input of its execution. A Maker
// creates, changes and removes Jobs and their Secrets; everything else is pure.
package clientjob

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/workload"
)

// LabelExecution marks the objects of one execution. Its key has the word of earlier versions, whose objects a manager
// must find.
const LabelExecution = "cephtune.dev/session"

// These are paths in the pods of benchmarks.
const (
	runnerPath = "/cephtune/runner"
	workPath   = "/cephtune/work"
	secretPath = "/etc/ceph" //nolint:gosec // This is a directory, not a secret.
	keyFile    = secretPath + "/" + ExecutionKey
)

// ExecutionKey is the entry of the Secret with the key that the manager shares with the runners.
// Secrets of earlier versions have the same one.
const ExecutionKey = "session.key"

// digestFlag is the runner's flag for the digest of the Secret's files.
const digestFlag = "--files-digest="

// jobStays is how long Kubernetes keeps a Job that has ended, if no manager removes it earlier. Few
// failures of a manager last longer than that. The next manager learns from the Job what to remove, and
// reads the results from the logs of its pods.
const jobStays = 7 * 24 * time.Hour

// nonRoot is the ID of the pods' user and of their group, to which volumes belong.
const nonRoot int64 = 65532

// Labels returns the labels of the execution's objects.
func Labels(s Execution) map[string]string {
	return map[string]string{
		settings.LabelManagedBy: settings.ManagedBy,
		settings.LabelComponent: settings.ComponentBenchmark,
		LabelExecution:          s.Name,
	}
}

// SecretOf returns the Secret with which the clients reach Ceph and authenticate their manager.
func SecretOf(j Spec, files map[string][]byte) *corev1.Secret {
	yes := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: j.Benchmark.Namespace, Name: j.Secret, Labels: Labels(j.Execution)},
		Immutable:  &yes,
		Data:       files,
	}
}

// SecretIn returns the name of the Secret that the pods of a Job mount, and the digest of its files.
func SecretIn(job *batchv1.Job) (name, digest string) {
	pod := job.Spec.Template.Spec
	for _, volume := range pod.Volumes {
		if volume.Secret != nil {
			name = volume.Secret.SecretName
		}
	}
	for _, argument := range pod.Containers[0].Command {
		if text, found := strings.CutPrefix(argument, digestFlag); found {
			digest = text
		}
	}
	return name, digest
}

// Spec holds the input from which the Job of an execution is made.
type Spec struct {
	Benchmark *v1alpha1.CephBenchmark
	Spec      v1alpha1.CephBenchmarkSpec
	Execution Execution
	Images    settings.Images
	Pods      settings.Pods
	Script    *workload.Script
	Network   rook.PodNetwork
	// Secret is the Secret that pods mount. Digest is [runner.FilesDigest] of its files. Runners check it,
	// because the manager may not read Secrets, and users may replace them.
	Secret, Digest string
	// Block says that the claim is a block device.
	Block bool
}

// JobOf returns the Job that runs each client in a pod. Pods are never replaced, because a new
// pod would lack the reports of the old one.
func JobOf(j Spec) *batchv1.Job {
	count := j.Spec.Template.Clients.Count
	indexed, none := batchv1.IndexedCompletion, int32(0)
	whenFailed := batchv1.Failed
	deadline := int64(math.Ceil(j.Script.Deadline(j.Spec).Seconds()))
	labels := Labels(j.Execution)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: j.Benchmark.Namespace, Name: j.Execution.Name, Labels: labels},
		Spec: batchv1.JobSpec{
			CompletionMode:          &indexed,
			Completions:             &count,
			Parallelism:             &count,
			BackoffLimit:            &none,
			PodReplacementPolicy:    &whenFailed,
			TTLSecondsAfterFinished: new(int32(jobStays.Seconds())),
			ActiveDeadlineSeconds:   &deadline,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      merged(j.Pods.Labels, labels),
					Annotations: merged(merged(j.Pods.Annotations, j.Network.Annotations), map[string]string{settings.AnnotationBenchmark: j.Benchmark.Name}),
				},
				Spec: j.podSpec(),
			},
		},
	}
}

// merged returns the union of two maps. The second map takes precedence.
func merged(a, b map[string]string) map[string]string {
	both := make(map[string]string, len(a)+len(b))
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

// nodes returns the node selector and the tolerations of clients. If the benchmark has no selector,
// that of the operator config applies. If it has no tolerations, those of the operator config apply.
func (j Spec) nodes(clients v1alpha1.Clients) (map[string]string, []corev1.Toleration) {
	selector, tolerations := make(map[string]string, len(clients.NodeSelector)), clients.Tolerations
	for name, value := range clients.NodeSelector {
		selector[name] = string(value)
	}
	if len(selector) == 0 {
		maps.Copy(selector, j.Pods.NodeSelector)
	}
	if len(tolerations) == 0 {
		tolerations = j.Pods.Tolerations
	}
	return selector, tolerations
}

func (j Spec) podSpec() corev1.PodSpec {
	no, user, grace := false, nonRoot, int64(15)
	clients := j.Spec.Template.Clients
	nodeSelector, tolerations := j.nodes(clients)
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		TerminationGracePeriodSeconds: &grace,
		PriorityClassName:             j.Pods.PriorityClassName,
		ImagePullSecrets:              pullSecrets(j.Images.PullSecrets),
		NodeSelector:                  nodeSelector,
		Tolerations:                   tolerations,
		TopologySpreadConstraints:     spread(clients.Spread, j.Execution),
		Affinity:                      affinity(clients, j.Execution),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: yes(), RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers: []corev1.Container{j.installer()},
		Containers:     []corev1.Container{j.client()},
		Volumes:        j.volumes(),
	}
}

// installer returns the init container that copies the runner to a volume of the pod. The client's
// container starts the runner from that volume, so the image with Ceph's tools needs no part of
// cephtune.
func (j Spec) installer() corev1.Container {
	return corev1.Container{
		Name:            "install",
		Image:           j.Images.Runner,
		ImagePullPolicy: corev1.PullPolicy(j.Images.PullPolicy),
		Command:         []string{"/runner", "install", runnerPath},
		SecurityContext: restricted(),
		Resources:       j.resources(),
		VolumeMounts:    []corev1.VolumeMount{{Name: "scratch", MountPath: "/cephtune", SubPath: "cephtune"}},
	}
}

func (j Spec) client() corev1.Container {
	c := corev1.Container{
		Name:            settings.ContainerClient,
		Image:           j.Images.Tools,
		ImagePullPolicy: corev1.PullPolicy(j.Images.PullPolicy),
		Command:         []string{runnerPath, "run", "--key-file=" + keyFile, "--work-dir=" + workPath},
		SecurityContext: restricted(),
		Resources:       j.resources(),
		Ports:           []corev1.ContainerPort{{Name: "runner", ContainerPort: runner.Port}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "scratch", MountPath: "/tmp", SubPath: "tmp"},
			{Name: "scratch", MountPath: "/cephtune", SubPath: "cephtune"},
			{Name: "ceph", MountPath: secretPath, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if j.Digest != "" {
		c.Command = append(c.Command, digestFlag+j.Digest)
	}
	for number, target := range j.Spec.Targets() {
		switch {
		case target.PersistentVolumeClaim == nil:
		case j.Block:
			c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: claimName(number), DevicePath: workload.DevicePath(number)})
		default:
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: claimName(number), MountPath: workload.DirectoryPath(number)})
		}
	}
	return c
}

// claimName returns the name of the volume with the claim of a target.
func claimName(number int) string {
	if number == 0 {
		return "claim"
	}
	return fmt.Sprintf("claim-%d", number)
}

// resources returns equal requests and limits for every container, because the QoS class Guaranteed
// requires that.
func (j Spec) resources() corev1.ResourceRequirements {
	want := j.Spec.Template.Clients.Resources
	list := corev1.ResourceList{
		corev1.ResourceCPU:              want.CPU,
		corev1.ResourceMemory:           want.Memory,
		corev1.ResourceEphemeralStorage: resource.MustParse("512Mi"),
	}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

func (j Spec) volumes() []corev1.Volume {
	limit, mode := resource.MustParse("400Mi"), int32(0o440)
	volumes := []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}},
		{Name: "ceph", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: j.Secret, DefaultMode: &mode}}},
	}
	for number, target := range j.Spec.Targets() {
		if claim := target.PersistentVolumeClaim; claim != nil {
			volumes = append(volumes, corev1.Volume{Name: claimName(number), VolumeSource: claimOf(*claim, Labels(j.Execution))})
		}
	}
	return volumes
}

// claimOf returns the volume for an existing claim, or for a claim that Kubernetes creates and removes
// with each pod.
func claimOf(claim v1alpha1.PersistentVolumeClaimTarget, labels map[string]string) corev1.VolumeSource {
	if claim.Template == nil {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.ClaimName}}
	}
	mode := corev1.PersistentVolumeMode(claim.Template.VolumeMode)
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &claim.Template.StorageClassName,
				VolumeMode:       &mode,
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: claim.Template.Size},
				},
			},
		},
	}}
}

// spread returns the constraint that distributes clients over nodes as evenly as resources permit; nil
// unless clients.spread is Preferred.
func spread(policy v1alpha1.Spread, s Execution) []corev1.TopologySpreadConstraint {
	if policy != v1alpha1.SpreadPreferred {
		return nil
	}
	return []corev1.TopologySpreadConstraint{{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelHostname,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{LabelExecution: s.Name}},
	}}
}

// affinity restricts clients to the requested nodes, and separates the clients if clients.spread
// requires that.
func affinity(clients v1alpha1.Clients, s Execution) *corev1.Affinity {
	a := &corev1.Affinity{NodeAffinity: onNodes(clients.Nodes), PodAntiAffinity: apart(clients.Spread, s)}
	if a.NodeAffinity == nil && a.PodAntiAffinity == nil {
		return nil
	}
	return a
}

// onNodes lets clients run only on these nodes. It makes one term for each node: terms are
// alternatives, and Kubernetes accepts one name in each.
func onNodes(names []v1alpha1.NodeName) *corev1.NodeAffinity {
	if len(names) == 0 {
		return nil
	}
	terms := make([]corev1.NodeSelectorTerm, len(names))
	for i, name := range names {
		terms[i].MatchFields = []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{string(name)},
		}}
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}

// apart returns the rule that each client needs a separate node; nil unless clients.spread is Required.
// A client for which no such node exists is not scheduled.
func apart(policy v1alpha1.Spread, s Execution) *corev1.PodAntiAffinity {
	if policy != v1alpha1.SpreadRequired {
		return nil
	}
	return &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:   corev1.LabelHostname,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelExecution: s.Name}},
		}},
	}
}

func restricted() *corev1.SecurityContext {
	no := false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   yes(),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func yes() *bool { b := true; return &b }

func pullSecrets(names []string) []corev1.LocalObjectReference {
	refs := make([]corev1.LocalObjectReference, 0, len(names))
	for _, name := range names {
		refs = append(refs, corev1.LocalObjectReference{Name: name})
	}
	return refs
}

// ClientIndex returns the index of the client in a pod, or false if the pod is none of a number of clients: any user
// may change labels.
func ClientIndex(pod *corev1.Pod, clients int) (int, bool) {
	i, err := strconv.Atoi(pod.Labels[batchv1.JobCompletionIndexAnnotation])
	return i, err == nil && i >= 0 && i < clients
}
