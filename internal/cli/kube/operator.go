package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/settings"
)

// OperatorNamespace is the namespace in which the manifests install the operator.
const OperatorNamespace = "cephtune-system"

// LabelName is the key of a label that all objects of the manifests have.
const LabelName = "app.kubernetes.io/name"

// flagNamespaces is the manager's flag that lists the benchmark namespaces.
const flagNamespaces = "--namespaces="

// Operators returns the Deployments of the operator in a namespace; more than one is a mistake.
func Operators(ctx context.Context, reader client.Reader, namespace string) ([]appsv1.Deployment, error) {
	list := &appsv1.DeploymentList{}
	err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{LabelName: "cephtune", settings.LabelComponent: "manager"})
	return list.Items, err
}

// Images returns the images of a Deployment's containers.
func Images(d *appsv1.Deployment) []string {
	var all []string
	for _, c := range d.Spec.Template.Spec.Containers {
		if !slices.Contains(all, c.Image) {
			all = append(all, c.Image)
		}
	}
	return all
}

// CephClusters lists the CephClusters of all namespaces. They are unstructured, because this program has no types for
// Rook's kinds.
func CephClusters(ctx context.Context, reader client.Reader) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephClusterList"})
	err := reader.List(ctx, list)
	return list.Items, err
}

// ErrUnchecked says that the namespaces that the operator watches are unknown.
var ErrUnchecked = errors.New("the operator's Deployment cannot be read")

// CheckNamespace is like [LookupNamespace], but returns nil if the namespaces are unknown: most users may not read the
// operator's Deployment.
func CheckNamespace(ctx context.Context, reader client.Reader, namespace string) error {
	if err := LookupNamespace(ctx, reader, namespace); !errors.Is(err, ErrUnchecked) {
		return err
	}
	return nil
}

// LookupNamespace returns an error if the operator does not watch a namespace. The error lists the namespaces that it
// watches. An operator without the flag watches all namespaces.
func LookupNamespace(ctx context.Context, reader client.Reader, namespace string) error {
	operators, err := Operators(ctx, reader, OperatorNamespace)
	if err != nil || len(operators) != 1 {
		return ErrUnchecked
	}
	watched := watchedNamespaces(&operators[0])
	if len(watched) == 0 || slices.Contains(watched, namespace) {
		return nil
	}
	return fmt.Errorf("namespace %s is no benchmark namespace, so the operator would not see the object: choose one with -n: %s",
		namespace, strings.Join(watched, ", "))
}

// watchedNamespaces returns the values of the manager's flag --namespaces.
func watchedNamespaces(operator *appsv1.Deployment) (watched []string) {
	for _, c := range operator.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if list, found := strings.CutPrefix(arg, flagNamespaces); found && list != "" {
				watched = append(watched, strings.Split(list, ",")...)
			}
		}
	}
	return watched
}
