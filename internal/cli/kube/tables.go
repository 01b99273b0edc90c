package kube

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Table is what kubectl get -o wide prints of objects: the columns of their CRD. Its TypeMeta names the kind of the objects. It has
// less than a [metav1.Table], because managedFields take most of the time to read one.
type Table struct {
	metav1.TypeMeta   `json:"-"`
	metav1.ListMeta   `json:"metadata"`
	ColumnDefinitions []Column `json:"columnDefinitions"`
	Rows              []Row    `json:"rows"`
}

// Column describes a column of a Table.
type Column struct {
	Name string `json:"name"`
}

// Row has an object's cells, and a part of its metadata.
type Row struct {
	Cells  []any `json:"cells"`
	Object struct {
		Metadata struct {
			Name              string                  `json:"name"`
			Namespace         string                  `json:"namespace"`
			CreationTimestamp metav1.Time             `json:"creationTimestamp"`
			DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
			OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	} `json:"object"`
}

// DeepCopyObject implements [runtime.Object]. Nobody changes the rows of a Table.
func (t *Table) DeepCopyObject() runtime.Object {
	copied := *t
	return &copied
}

// tables is a client that also lists into a [Table]. The API server then sends a fraction of the objects with their results.
type tables struct {
	client.WithWatch

	rest   rest.Interface
	params runtime.ParameterCodec
}

func newTables(config *rest.Config, scheme *runtime.Scheme) (client.WithWatch, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // The API server limits requests itself. A client's limit would delay the pages of a long list.
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	inner, err := client.NewWithWatch(config, client.Options{Scheme: scheme, HTTPClient: connection})
	if err != nil {
		return nil, err
	}
	lists, err := apiutil.RESTClientForGVK(v1alpha1.GroupVersion.WithKind(""), false, false, config, serializer.NewCodecFactory(scheme), connection)
	return tables{WithWatch: inner, rest: lists, params: runtime.NewParameterCodec(scheme)}, err
}

// List implements [client.Reader].
func (t tables) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	table, asked := list.(*Table)
	if !asked {
		return t.WithWatch.List(ctx, list, options...)
	}
	kind := table.GroupVersionKind()
	mapping, err := t.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	chosen := (&client.ListOptions{}).ApplyOptions(options)
	answer := t.rest.Get().Namespace(chosen.Namespace).Resource(mapping.Resource.Resource).VersionedParams(chosen.AsListOptions(), t.params).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx)
	if err := answer.Error(); err != nil {
		return err // Unlike that of Raw, it has the API server's message.
	}
	text, err := answer.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, table)
}
