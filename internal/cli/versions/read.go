package versions

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
)

// versions holds the versions that were found.
type versions struct {
	Client string `json:"client"`
	// Kubernetes is the version of the API server.
	Kubernetes string `json:"kubernetes,omitempty"`
	// API lists the versions of cephtune's API that the API server serves, according to the CRD of
	// CephTuningSweep.
	API string `json:"api,omitempty"`
	// Operator lists the images of the operator's Deployment.
	Operator     []string      `json:"operator,omitempty"`
	CephClusters []cephCluster `json:"cephClusters,omitempty"`
	// Unknown lists what could not be read, with the reason.
	Unknown []string `json:"unknown,omitempty"`
}

// cephCluster is a CephCluster of Rook.
type cephCluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version is the version of Ceph that Rook reports, such as 20.2.4-0, or "not reported yet".
	Version string `json:"version"`
}

// source makes a client for the cluster.
type source interface {
	Connect() (client.WithWatch, string, error)
}

// kubernetes returns the version of the API server.
type kubernetes interface {
	ServerVersion() (string, error)
}

// read reads all versions. It fails only if it cannot connect, if the API server does not return its version,
// or if the context ends; it records other errors in Unknown.
func (v *versions) read(ctx context.Context, connection cluster, operator string) error {
	c, _, err := connection.Connect()
	if err != nil {
		return err
	}
	if v.Kubernetes, err = connection.ServerVersion(); err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	v.readAPI(ctx, c)
	v.readOperator(ctx, c, operator)
	v.readClusters(ctx, c)
	return ctx.Err()
}

func (v *versions) unknown(component string, err error) {
	v.Unknown = append(v.Unknown, fmt.Sprintf("%s: unknown, because %v", component, err))
}

func (v *versions) readAPI(ctx context.Context, c client.Reader) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Get(ctx, client.ObjectKey{Name: object.Sweep().Plural + "." + v1alpha1.GroupVersion.Group}, crd)
	if apierrors.IsNotFound(err) {
		v.Unknown = append(v.Unknown, "API: the CRDs of cephtune are not installed")
		return
	}
	if err != nil {
		v.unknown("API", err)
		return
	}
	for _, served := range crd.Spec.Versions {
		if served.Served && v.API != "" {
			v.API += ", "
		}
		if served.Served {
			v.API += v1alpha1.GroupVersion.Group + "/" + served.Name
		}
	}
}

func (v *versions) readOperator(ctx context.Context, c client.Reader, namespace string) {
	all, err := kube.Operators(ctx, c, namespace)
	if err != nil {
		v.unknown("operator", err)
		return
	}
	if len(all) == 0 {
		v.Unknown = append(v.Unknown, fmt.Sprintf("operator: not found in namespace %s: name its namespace with --operator-namespace", namespace))
	}
	for i := range all {
		v.Operator = append(v.Operator, kube.Images(&all[i])...)
	}
}

func (v *versions) readClusters(ctx context.Context, c client.Reader) {
	all, err := kube.CephClusters(ctx, c)
	if meta.IsNoMatchError(err) {
		v.Unknown = append(v.Unknown, "Ceph: Rook is not installed")
		return
	}
	if err != nil {
		v.unknown("Ceph", err)
		return
	}
	for _, o := range all {
		// A field of another type counts as missing.
		found, _, _ := unstructured.NestedString(o.Object, "status", "version", "version")
		if found == "" {
			found = "not reported yet"
		}
		v.CephClusters = append(v.CephClusters, cephCluster{Namespace: o.GetNamespace(), Name: o.GetName(), Version: found})
	}
}
