package kube

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/settings"
)

func operator(name string, args ...string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: OperatorNamespace, Name: name,
			Labels: map[string]string{LabelName: "cephtune", settings.LabelComponent: "manager"},
		},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Args: args}}}}},
	}
}

func TestCheckNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		operators []client.Object
		unread    bool
		want      string
	}{
		"another namespace is watched": {operators: []client.Object{operator("a", "--leader-elect", "--namespaces=bench,more")}, want: "choose one with -n: bench, more"},
		"it is watched":                {operators: []client.Object{operator("a", "--namespaces=bench,default")}},
		"all are watched":              {operators: []client.Object{operator("a", "--leader-elect")}},
		"no operator":                  {},
		"two operators":                {operators: []client.Object{operator("a", "--namespaces=bench"), operator("b", "--namespaces=more")}},
		"may not read":                 {operators: []client.Object{operator("a", "--namespaces=bench")}, unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			from := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(c.operators...).Build(), interceptor.Funcs{
				List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if c.unread {
						return errors.New("forbidden")
					}
					return inner.List(ctx, list, opts...)
				},
			})
			err := CheckNamespace(t.Context(), from, "default")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
