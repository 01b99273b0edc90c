// Package store keeps results in ConfigMaps that the operator signs for their owner, a benchmark or a sweep. Users of the
// namespace can create ConfigMaps with any name and any labels, so package store trusts only signatures. Package archive
// defines the documents.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
)

// Owned has the clients with which the results of one owner are read and written.
type Owned struct {
	Client client.Client
	Reader client.Reader // without a cache
	// MasterKey is the key with which results are signed.
	MasterKey []byte
	// Namespace and Owner are those of the benchmark or sweep.
	Namespace string
	Owner     types.UID
}

// TakenError says that other users have ConfigMaps with all names that results may have.
type TakenError struct{ Names []string }

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("other users have ConfigMaps with all names that the results may have (%s): delete one of them", strings.Join(e.Names, ", "))
}

// Create signs a ConfigMap, and creates it under the first of its names that no other user has taken. It sets the name. If
// the operator has created a ConfigMap with that name before, Create returns that one. It returns a [*TakenError] if other
// users have taken all names.
func (o Owned) Create(ctx context.Context, cm *corev1.ConfigMap) (earlier *corev1.ConfigMap, err error) {
	names, err := archive.Names(o.MasterKey, o.Owner, cm.Name)
	if err != nil {
		return nil, err
	}
	for _, cm.Name = range names {
		if err := archive.Sign(o.MasterKey, o.Owner, cm); err != nil {
			return nil, err
		}
		if err := o.Client.Create(ctx, cm.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		if earlier, err = o.Genuine(ctx, cm.Name); err != nil || earlier != nil {
			return earlier, err
		}
	}
	return nil, &TakenError{Names: names}
}

// Genuine returns a ConfigMap; nil if the operator did not write it for the owner.
func (o Owned) Genuine(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	if err := o.Reader.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: name}, cm); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	genuine, err := archive.Genuine(o.MasterKey, o.Owner, cm)
	if !genuine || err != nil {
		return nil, err
	}
	return cm, nil
}

// List returns the metadata of the ConfigMaps with certain labels that the operator signed for the owner. If there are too
// many of other users, it returns those that it has read.
func (o Owned) List(ctx context.Context, labels client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	signed, err := List(ctx, o.Reader, o.Namespace, labels, func(m *metav1.PartialObjectMetadata) (bool, error) {
		return archive.Signed(o.MasterKey, o.Owner, m)
	})
	if tooMany, ok := errors.AsType[*pages.TooManyError](err); ok {
		logf.FromContext(ctx).Error(tooMany, "Some results were not read, and old ones may stay")
	} else if client.IgnoreNotFound(err) != nil { // While the namespace is being deleted, a list may be "not found".
		return nil, fmt.Errorf("list the results: %w", err)
	}
	return signed, nil
}

// Remove deletes ConfigMaps by UID, so that it never deletes another ConfigMap with the same name.
func (o Owned) Remove(ctx context.Context, signed []metav1.PartialObjectMetadata) error {
	for _, m := range signed {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
		if err := o.Client.Delete(ctx, cm, client.Preconditions{UID: &m.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete old results: %w", err)
		}
	}
	return nil
}

// List returns the metadata of the ConfigMaps of a namespace that have certain labels and that the function keeps selects. It
// reads them page by page: other users may have written any number of others. With an error, it returns those that it has
// kept.
func List(ctx context.Context, reader client.Reader, namespace string, labels client.ListOption,
	keeps func(*metav1.PartialObjectMetadata) (bool, error),
) (kept []metav1.PartialObjectMetadata, err error) {
	labelled := pages.Metadata(ctx, reader, corev1.SchemeGroupVersion.WithKind("ConfigMap"), client.InNamespace(namespace), labels)
	for page, err := range labelled {
		if err != nil {
			return kept, err
		}
		for i := range page.Items {
			keep, err := keeps(&page.Items[i])
			if err != nil {
				return kept, err
			}
			if keep {
				kept = append(kept, page.Items[i])
			}
		}
	}
	return kept, nil
}
