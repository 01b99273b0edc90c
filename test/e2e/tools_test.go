//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
)

const (
	toolsNamespace = "cephtune-e2e-tools"
	toolsPool      = "cephtune-e2e-tools"
	toolsClient    = "cephtune-e2e-tools"
)

// Each engine must measure a Rook pool with a key for only that pool, in a namespace that enforces the
// restricted pod security standard.
func TestToolsRunRestricted(t *testing.T) {
	c := forTest(t)
	c.createNamespace(t, toolsNamespace)
	c.createPool(t, toolsPool)
	key := c.createClient(t, toolsClient, map[string]any{"mon": ioMonCaps, "osd": "profile rbd pool=" + toolsPool})
	c.createCredentials(t, toolsNamespace, toolsClient, key)

	id := "--id=" + toolsClient
	pool := "--pool=" + toolsPool
	tests := map[string]struct {
		steps   [][]string // the last one runs the engine
		options engine.Options
	}{
		"rados bench": {
			steps:   [][]string{{"rados", id, pool, "bench", "5", "write", "-b", "65536", "-t", "4"}},
			options: engine.Options{RequestedSeconds: 5},
		},
		"rbd bench": {
			steps: [][]string{
				{"rbd", id, pool, "create", "--size=64M", "bench"},
				{"rbd", id, pool, "bench", "--io-type=write", "--io-size=4096", "--io-total=8M", "bench"},
			},
			options: engine.Options{RequestedBytes: 8 << 20},
		},
		"fio rbd": {
			steps: [][]string{
				{"rbd", id, pool, "create", "--size=64M", "fio"},
				{
					"fio", "--name=randwrite", "--ioengine=rbd", "--clientname=" + toolsClient, pool, "--rbdname=fio", "--direct=1",
					"--rw=randwrite", "--bs=4k", "--iodepth=4", "--runtime=5", "--time_based", "--output-format=json+",
				},
			},
			options: engine.Options{RequestedSeconds: 5},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output := c.runJob(t, c.toolsJob(strings.ReplaceAll(name, " ", "-"), test.steps))
			measured, err := parse.OnlyPart(engine.Output{Text: []byte(output)}.Parts(test.options))
			if err != nil {
				t.Fatalf("%v, in:\n%s", err, output)
			}
			// The parser fails for a run without I/O. This line is only for readers of the log.
			t.Logf("%s: %d writes, %d bytes in %.1f s", measured.Source.Tool, measured.Write.Operations, measured.Write.Bytes, measured.Write.Seconds)
		})
	}
}

// The runner must reach a pod whose image contains no part of cephtune.
func TestRunnerIsInjected(t *testing.T) {
	c := forTest(t)
	const namespace = "cephtune-e2e-runner"
	c.createNamespace(t, namespace)
	job := c.restrictedJob(namespace, "runner",
		corev1.Container{Name: "install", Image: c.operatorImage, Command: []string{"/runner", "install", "/cephtune/runner"}},
		corev1.Container{Name: "main", Image: c.toolsImage, Command: []string{"/cephtune/runner", "version"}},
	)

	output := c.runJob(t, job)

	if !regexp.MustCompile(`\bgo1\.\d+`).MatchString(output) {
		t.Errorf("the runner printed %q, want its version", output)
	}
}

// createNamespace creates a namespace that enforces the restricted standard.
func (c *cluster) createNamespace(t testing.TB, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, namespace) })
}

// toolsJob returns a Job that runs commands one after another: all but the last are init
// containers.
func (c *cluster) toolsJob(name string, steps [][]string) *batchv1.Job {
	containers := make([]corev1.Container, 0, len(steps))
	for i, step := range steps {
		container := corev1.Container{Name: "step-" + strconv.Itoa(i), Image: c.toolsImage, Command: step}
		container.VolumeMounts = []corev1.VolumeMount{{Name: "ceph", MountPath: "/etc/ceph", ReadOnly: true}}
		containers = append(containers, container)
	}
	containers[len(containers)-1].Name = "main"
	job := c.restrictedJob(toolsNamespace, name, containers...)
	job.Spec.Template.Spec.Volumes = append(job.Spec.Template.Spec.Volumes, corev1.Volume{
		Name: "ceph", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "ceph"}},
	})
	return job
}

// restrictedJob returns a Job that meets the restricted standard. Its containers have a writable
// /tmp and share a /cephtune.
func (c *cluster) restrictedJob(namespace, name string, containers ...corev1.Container) *batchv1.Job {
	yes, no := true, false
	for i := range containers {
		containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
		containers[i].VolumeMounts = append(containers[i].VolumeMounts,
			corev1.VolumeMount{Name: "scratch", MountPath: "/tmp", SubPath: "tmp"},
			corev1.VolumeMount{Name: "scratch", MountPath: "/cephtune", SubPath: "cephtune"})
	}
	last := len(containers) - 1
	user := int64(65532)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32),
			ActiveDeadlineSeconds: seconds(2 * time.Minute),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                corev1.RestartPolicyNever,
				AutomountServiceAccountToken: &no,
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				InitContainers: containers[:last],
				Containers:     containers[last:],
				Volumes:        []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}},
		},
	}
}

func seconds(d time.Duration) *int64 {
	s := int64(d.Seconds())
	return &s
}

// runJob runs a Job until it succeeds, and returns the log of its container "main".
func (c *cluster) runJob(t testing.TB, job *batchv1.Job) string {
	t.Helper()
	if err := c.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	eventually(t, 3*time.Minute, "Job "+job.Name+" to end", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		if job.Status.Succeeded+job.Status.Failed == 0 {
			return fmt.Errorf("its conditions are %v", job.Status.Conditions)
		}
		return nil
	})
	output := c.outputs(t, job)
	if job.Status.Succeeded == 0 {
		t.Fatalf("Job %s failed:\n%s", job.Name, output.all)
	}
	return output.main
}

type jobOutput struct{ main, all string }

func (c *cluster) outputs(t testing.TB, job *batchv1.Job) jobOutput {
	t.Helper()
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		t.Fatal(err)
	}
	var output jobOutput
	for _, pod := range pods.Items {
		for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			text, err := c.logs(t.Context(), pod.Namespace, pod.Name, container.Name)
			if err != nil {
				text = err.Error()
			}
			output.all += container.Name + ": " + text + "\n"
			output.main = text
		}
	}
	if len(pods.Items) == 0 {
		t.Fatalf("Job %s has no pod: %v", job.Name, job.Status.Conditions)
	}
	return output
}
