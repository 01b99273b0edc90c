// Package podsecurity checks pods in tests against Kubernetes' Pod Security Standard "restricted", with the
// library of Kubernetes, and against additional requirements of this project.
package podsecurity

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// Check reports each problem of a pod as an error of the test. The argument tokens has the names of the
// containers that may have a token for the API server.
func Check(t testing.TB, pod *corev1.PodTemplateSpec, tokens ...string) {
	t.Helper()
	problems, err := Problems(pod, tokens...)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// Problems returns the problems of a pod. The argument tokens has the same meaning as for Check.
func Problems(pod *corev1.PodTemplateSpec, tokens ...string) ([]string, error) {
	problems, err := unrestricted(pod)
	if err != nil {
		return nil, err
	}
	spec := &pod.Spec
	if len(spec.Containers) == 0 {
		problems = append(problems, "the pod has no container")
	}
	if automount := spec.AutomountServiceAccountToken; automount == nil || *automount {
		problems = append(problems, "every container gets a token for the API server: set automountServiceAccountToken to false")
	}
	for _, c := range containers(spec) {
		for _, problem := range problemsOf(c) {
			problems = append(problems, fmt.Sprintf("container %s: %s", c.Name, problem))
		}
		if !slices.Contains(tokens, c.Name) && hasToken(spec, c) {
			problems = append(problems, fmt.Sprintf("container %s: has a token for the API server, which it has no use for", c.Name))
		}
	}
	return problems, nil
}

// unrestricted returns the violations of the standard, in the latest version that the library knows.
func unrestricted(pod *corev1.PodTemplateSpec) ([]string, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the evaluator of pod security: %w", err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	verdict := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
	if verdict.Allowed {
		return nil, nil
	}
	return []string{"it is not restricted: " + verdict.ForbiddenDetail()}, nil
}

func containers(spec *corev1.PodSpec) []corev1.Container {
	return append(slices.Clone(spec.InitContainers), spec.Containers...)
}

// problemsOf returns violations of our own requirements, which go beyond the standard.
func problemsOf(c corev1.Container) []string {
	var problems []string
	security := c.SecurityContext
	if security == nil || security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
		problems = append(problems, "its root file system can be written: set readOnlyRootFilesystem")
	}
	// The standard would allow NET_BIND_SERVICE.
	if security != nil && security.Capabilities != nil && len(security.Capabilities.Add) > 0 {
		problems = append(problems, fmt.Sprintf("it adds capabilities %v", security.Capabilities.Add))
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, requested := c.Resources.Requests[resource]; !requested {
			problems = append(problems, fmt.Sprintf("it requests no %s", resource))
		}
	}
	if _, limited := c.Resources.Limits[corev1.ResourceMemory]; !limited {
		problems = append(problems, "its memory has no limit")
	}
	return problems
}

// hasToken reports whether a container mounts a projected volume with a token for the API server.
func hasToken(spec *corev1.PodSpec, c corev1.Container) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
		return mounted && v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil
		})
	})
}
