package clientjob

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

// BackgroundJobOf returns the background load's Job. It is like the Job of one client, but has another
// name, and the background load's resources and nodes. Its pod prefers nodes without clients.
func BackgroundJobOf(j Spec) *batchv1.Job {
	spec := j.Spec.Template.BackgroundLoad
	j.Spec = *j.Spec.DeepCopy()
	j.Spec.OtherTargets = nil
	clients := &j.Spec.Template.Clients
	clients.Count, clients.Spread, clients.Nodes, clients.Resources = 1, v1alpha1.SpreadNone, spec.Nodes, spec.Resources
	execution := j.Execution.Name
	j.Execution = j.Execution.Background()
	job := JobOf(j)
	pod := &job.Spec.Template
	for _, labels := range []map[string]string{job.Labels, pod.Labels} {
		labels[settings.LabelRole] = settings.RoleBackground
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	pod.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelExecution: execution}},
			},
		}},
	}
	return job
}
