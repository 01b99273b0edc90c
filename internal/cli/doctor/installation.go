package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/settings"
)

// crds examines whether the CRDs of both kinds exist, in the version that this program uses.
func (e *examination) crds(ctx context.Context) {
	for _, kind := range object.Kinds() {
		name := kind.Plural + "." + v1alpha1.GroupVersion.Group
		crd := &apiextensionsv1.CustomResourceDefinition{}
		switch err := e.client.Get(ctx, client.ObjectKey{Name: name}, crd); {
		case apierrors.IsNotFound(err):
			e.found("CRD "+kind.Name, Wrong, "It is not installed.", e.fix("set crds.enabled: true", "make install, or kubectl apply --server-side -k config/crd"))
		case err != nil:
			e.unreadable("CRD "+kind.Name, "CustomResourceDefinition "+name, err)
		default:
			e.crd(kind, crd)
		}
	}
}

func (e *examination) crd(kind object.Kind, crd *apiextensionsv1.CustomResourceDefinition) {
	topic := "CRD " + kind.Name
	established := slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	switch want := v1alpha1.GroupVersion.Version; {
	case !slices.Contains(served(crd), want):
		e.found(topic, Wrong, fmt.Sprintf("It has the versions %s, but this program knows %s.", strings.Join(served(crd), ", "), want), "install CRDs, operator and this program of one release")
	case !established:
		e.found(topic, Wrong, "The API server has not established it.", "kubectl describe crd "+crd.Name)
	default:
		e.found(topic, OK, "It is installed, in version "+want+".", "")
	}
}

// served returns the names of the versions that the API server serves.
func served(crd *apiextensionsv1.CustomResourceDefinition) (names []string) {
	for _, v := range crd.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// deployment examines the operator's Deployment. It returns the first one if several exist, and nil if
// the list is empty or cannot be read.
func (e *examination) deployment(all []appsv1.Deployment, err error) *appsv1.Deployment {
	const topic = "Operator"
	switch {
	case err != nil:
		e.unreadable(topic, "The Deployments of namespace "+e.operator, err)
		return nil
	case len(all) == 0:
		e.found(topic, Wrong, fmt.Sprintf("There is no operator in namespace %s.", e.operator),
			e.fix("list clusters and benchmarkNamespaces", deploy)+"\nor name its namespace with --operator-namespace")
		return nil
	}
	if len(all) > 1 {
		e.found(topic, Wrong, fmt.Sprintf("There are %d Deployments of the operator in namespace %s.", len(all), e.operator), "delete all but one")
	}
	d := &all[0]
	where := fmt.Sprintf("kubectl -n %s describe deployment %s", d.Namespace, d.Name)
	switch {
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		e.found(topic, Wrong, "It is scaled to 0 replicas.", fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=1", d.Namespace, d.Name))
	case d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas > 0 && d.Status.UpdatedReplicas == d.Status.Replicas:
		e.found(topic, OK, fmt.Sprintf("It is ready, with the images %s.", strings.Join(kube.Images(d), ", ")), "")
	case d.Status.ReadyReplicas > 0:
		e.found(topic, Note, "It is being rolled out.", where)
	default:
		e.found(topic, Wrong, "It is not ready.", where+fmt.Sprintf("\nkubectl -n %s logs deployment/%s --all-containers --tail=50", d.Namespace, d.Name))
	}
	return d
}

// right is a permission that the commands of this program need.
type right struct {
	group, resource string
	verbs           []string
}

func rights() []right {
	both := []string{"get", "list", "create", "patch", "delete"}
	return []right{
		{v1alpha1.GroupVersion.Group, object.Benchmark().Plural, both},
		{v1alpha1.GroupVersion.Group, object.Sweep().Plural, both},
		{"", "configmaps", []string{"list"}},
	}
}

// rights examines what the caller may do in the namespace.
func (e *examination) rights(ctx context.Context) {
	topic := "Your rights in " + e.namespace
	var missing []string
	for _, r := range rights() {
		for _, verb := range r.verbs {
			allowed, err := e.may(ctx, r, verb)
			if err != nil {
				e.unreadable(topic, "What you may do", err)
				return
			}
			if !allowed {
				missing = append(missing, verb+" "+r.resource)
			}
		}
	}
	if len(missing) == 0 {
		e.found(topic, OK, "You may read, run and end benchmarks and sweeps.", "")
		return
	}
	e.found(topic, Wrong, "You may not "+strings.Join(missing, ", ")+".",
		fmt.Sprintf("kubectl -n %s create rolebinding cephtune-editor --clusterrole=edit --user=YOU (ask an administrator)", e.namespace))
}

// may asks the API server whether the caller has a permission.
func (e *examination) may(ctx context.Context, r right, verb string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: e.namespace, Verb: verb, Group: r.group, Resource: r.resource},
	}}
	err := e.client.Create(ctx, review)
	return review.Status.Allowed, err
}

// settings examines the operator config. It returns nil if the config cannot be read or is invalid.
func (e *examination) settings(ctx context.Context, d *appsv1.Deployment) *settings.Settings {
	const topic = "Settings"
	if d == nil {
		e.found(topic, Unknown, "They are unknown without the operator.", "")
		return nil
	}
	key := client.ObjectKey{Namespace: d.Namespace, Name: configMapOf(d)}
	cm := &corev1.ConfigMap{}
	switch err := e.client.Get(ctx, key, cm); {
	case key.Name == "":
		e.found(topic, Wrong, "The operator has no volume named config with a ConfigMap.", e.fix("", deploy))
		return nil
	case apierrors.IsNotFound(err):
		e.found(topic, Wrong, fmt.Sprintf("There is no ConfigMap %s, but the operator mounts it.", key), e.fix("", deploy))
		return nil
	case err != nil:
		e.unreadable(topic, fmt.Sprintf("ConfigMap %s", key), err)
		return nil
	}
	read, err := load(cm)
	if err != nil {
		e.found(topic, Wrong, fmt.Sprintf("ConfigMap %s: %v", key, err), e.fix("correct clusters, options and images", "correct config/manager/config.yaml, and apply it again: "+deploy))
		return nil
	}
	if len(read.Clusters) == 0 {
		e.found(topic, Wrong, fmt.Sprintf("ConfigMap %s lists no cluster, so nothing may be measured.", key),
			e.fix("list a cluster in clusters, and a namespace in benchmarkNamespaces,", "list one in config/manager/config.yaml, and apply it again: "+deploy))
		return read
	}
	names := make([]string, len(read.Clusters))
	for i, c := range read.Clusters {
		names[i] = c.Namespace + "/" + c.Name
	}
	e.found(topic, OK, fmt.Sprintf("ConfigMap %s allows %s.", key, strings.Join(names, ", ")), "")
	return read
}

// configMapOf returns the name of the ConfigMap with the operator config.
func configMapOf(d *appsv1.Deployment) string {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name == "config" && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// load reads the operator config in a ConfigMap, with the operator's own checks.
func load(cm *corev1.ConfigMap) (*settings.Settings, error) {
	text, ok := cm.Data["config.yaml"]
	if !ok {
		return nil, errors.New("it has no config.yaml")
	}
	read, err := settings.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("operator config config.yaml: %w", err)
	}
	return read, nil
}
