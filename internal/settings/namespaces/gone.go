package namespaces

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Roles in a benchmark namespace give the manager its rights to the objects there. When the namespace is
// deleted, Kubernetes removes the Roles and other objects in any order, while cephtune's custom resources
// (CRs) wait for their finalizers. So in a terminating namespace, "forbidden" counts as deleted. Kubernetes
// removes the object anyway, and the teardown of a CR can proceed to the objects in Ceph. In every other
// namespace, a refusal stays an error that names the missing right.
//
// Errors of requests that create objects or concern CRs stay unchanged. CRs exist until their finalizers
// are removed, and the manager has a cluster-wide right to them.

// maxWait limits how long the API server may take to return the state of a namespace.
const maxWait = 10 * time.Second

// NotFoundIfGone turns the error "forbidden" of a request in a namespace into "not found" if the namespace
// is deleted or being deleted. It returns any other error unchanged, and every error if it cannot read the
// namespace. The reader must not have a cache.
func NotFoundIfGone(ctx context.Context, reader client.Reader, namespace string, err error) error {
	if namespace == "" || !apierrors.IsForbidden(err) || !isGone(ctx, reader, namespace) {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("namespace %s is deleted or being deleted, which also removes the manager's rights there", namespace),
	}}
}

// isGone reports whether a namespace is deleted or being deleted; false if it cannot be read.
func isGone(ctx context.Context, reader client.Reader, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	return apierrors.IsNotFound(err) || err == nil && !namespace.DeletionTimestamp.IsZero()
}

// NewClient returns a [Tolerant] client. It is meant for ctrl.Options.NewClient.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	options.Cache = nil
	direct, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	return Tolerant(inner, direct), nil
}

// Tolerant returns a client that applies [NotFoundIfGone] to the errors of Get, List, Update, Patch and
// Delete, except for CRs. The parameter direct is the reader for namespaces; it must not have a cache.
func Tolerant(inner client.Client, direct client.Reader) client.Client {
	return tolerant{Client: inner, direct: direct}
}

type tolerant struct {
	client.Client
	direct client.Reader
}

var _ client.Client = tolerant{}

// Get implements [client.Reader].
func (t tolerant) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return t.translate(ctx, key.Namespace, o, t.Client.Get(ctx, key, o, opts...))
}

// List implements [client.Reader].
func (t tolerant) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	namespace := (&client.ListOptions{}).ApplyOptions(opts).Namespace
	return t.translate(ctx, namespace, list, t.Client.List(ctx, list, opts...))
}

// Update implements [client.Writer].
func (t tolerant) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return t.translate(ctx, o.GetNamespace(), o, t.Client.Update(ctx, o, opts...))
}

// Patch implements [client.Writer].
func (t tolerant) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return t.translate(ctx, o.GetNamespace(), o, t.Client.Patch(ctx, o, patch, opts...))
}

// Delete implements [client.Writer].
func (t tolerant) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return t.translate(ctx, o.GetNamespace(), o, t.Client.Delete(ctx, o, opts...))
}

func (t tolerant) translate(ctx context.Context, namespace string, object runtime.Object, err error) error {
	if !apierrors.IsForbidden(err) || isCR(object, t.Scheme()) {
		return err
	}
	return NotFoundIfGone(ctx, t.direct, namespace, err)
}

func isCR(o runtime.Object, scheme *runtime.Scheme) bool {
	kind, err := apiutil.GVKForObject(o, scheme)
	return err != nil || kind.Group == v1alpha1.GroupVersion.Group
}

// NewCache returns a cache that takes a terminating namespace for empty if the API server refuses lists only in
// namespaces that are deleted or being deleted. It does not do so for CRs. It is meant for
// ctrl.Options.NewCache. When a manager starts, it lists all objects that it watches. With an ordinary cache,
// one refused list would end the manager before it does anything in any namespace. After a watch fails, the
// cache lists the objects again, with the same problem.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	direct, err := client.New(config, client.Options{HTTPClient: options.HTTPClient, Scheme: options.Scheme, Mapper: options.Mapper})
	if err != nil {
		return nil, err
	}
	options.NewInformer = informers{direct: direct, namespaces: slices.Sorted(maps.Keys(options.DefaultNamespaces))}.new
	return cache.New(config, options)
}

// informers makes the informers of a cache.
type informers struct {
	direct     client.Client
	namespaces []string // of the cache
}

// new implements [cache.Options.NewInformer].
func (i informers) new(lister toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	source := toolscache.ToListerWatcherWithContext(lister)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := source.ListWithContext(ctx, options)
			if apierrors.IsForbidden(err) && i.onlyGoneRefuse(ctx, object) {
				return &metav1.PartialObjectMetadataList{}, nil
			}
			return list, err
		},
		WatchFuncWithContext: source.WatchWithContext,
	}, object, resync, indexers)
}

// onlyGoneRefuse reports whether at least one namespace refuses a list of this kind, and all namespaces
// that refuse are deleted or being deleted. It asks all namespaces of the cache, because an informer does
// not know its own namespace. For CRs, it returns false.
func (i informers) onlyGoneRefuse(ctx context.Context, object runtime.Object) bool {
	kind, err := apiutil.GVKForObject(object, i.direct.Scheme())
	if err != nil || isCR(object, i.direct.Scheme()) {
		return false
	}
	gone := false
	for _, namespace := range i.namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := i.direct.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		if err == nil {
			continue
		}
		if !apierrors.IsForbidden(err) || !isGone(ctx, i.direct, namespace) {
			return false
		}
		gone = true
	}
	return gone
}
