package podsecurity

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// good returns a pod without a problem.
func good() *corev1.PodTemplateSpec {
	yes, no, user := true, false, int64(65532)
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}},
		}}}},
		Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: list, Limits: list},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}}
}

func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(*corev1.PodSpec, *corev1.Container)
		tokens []string
		want   string // a part of the only problem; "" for none
	}{
		"nothing":    {spoil: func(*corev1.PodSpec, *corev1.Container) {}},
		"root":       {spoil: func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsNonRoot = nil }, want: "runAsNonRoot"},
		"no seccomp": {spoil: func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.SeccompProfile = nil }, want: "seccompProfile"},
		"the host's ports": {spoil: func(_ *corev1.PodSpec, c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: 1}}
		}, want: "hostPort"},
		"privileges":   {spoil: func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil }, want: "allowPrivilegeEscalation"},
		"capabilities": {spoil: func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Capabilities.Drop = nil }, want: "capabilities"},
		"one more": {spoil: func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
		}, want: "adds capabilities"},
		"a writable root": {spoil: func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = nil }, want: "readOnlyRootFilesystem"},
		"no memory":       {spoil: func(_ *corev1.PodSpec, c *corev1.Container) { c.Resources.Limits = nil }, want: "its memory has no limit"},
		"no request": {spoil: func(_ *corev1.PodSpec, c *corev1.Container) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: {}}
		}, want: "requests no memory"},
		"automatic tokens": {spoil: func(p *corev1.PodSpec, _ *corev1.Container) { p.AutomountServiceAccountToken = nil }, want: "automountServiceAccountToken"},
		"no container":     {spoil: func(p *corev1.PodSpec, _ *corev1.Container) { p.Containers = nil }, want: "no container"},
		"an init container": {spoil: func(p *corev1.PodSpec, c *corev1.Container) {
			second := *c
			second.Name, second.Resources.Limits = "i", nil
			p.InitContainers = []corev1.Container{second}
		}, want: "container i: its memory"},
		"a token":                  {spoil: func(_ *corev1.PodSpec, c *corev1.Container) { c.VolumeMounts = []corev1.VolumeMount{{Name: "token"}} }, want: "has a token"},
		"a token that it may have": {spoil: func(_ *corev1.PodSpec, c *corev1.Container) { c.VolumeMounts = []corev1.VolumeMount{{Name: "token"}} }, tokens: []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := good()
			tc.spoil(&pod.Spec, &pod.Spec.Containers[0])
			got, err := Problems(pod, tc.tokens...)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("problems %q, want none", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("problems %q, want one about %q", got, tc.want)
			}
		})
	}
}
