// Package memapi is an API server in memory, for tests that need thousands of them. Controller-runtime's fake
// client has the conflicts, subresources and finalizers. This package adds what the fake lacks: UIDs,
// generations, the preconditions of deletions, and the defaults and CEL rules of this project's CRDs.
package memapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/crd"
)

// Kinds has the admission of each kind of this project. It is compiled once for all API servers.
type Kinds map[string]admissions

// admissions has the admission of whole objects, and that of their status, which changes much more often.
type admissions struct{ object, status *crd.Admission }

// CompileKinds compiles the CRDs in the root folder of the module.
func CompileKinds(t testing.TB, root string) Kinds {
	t.Helper()
	kinds := Kinds{}
	for kind, plural := range map[string]string{"CephTuningSweep": "cephtuningsweeps", "CephBenchmark": "cephbenchmarks"} {
		whole := crd.Schema(t, root, plural)
		status := crd.Field(t, whole, "status")
		kinds[kind] = admissions{object: crd.NewAdmission(t, whole, true), status: crd.NewAdmission(t, &status, false)}
	}
	return kinds
}

// New returns an API server without objects. Its scheme has only the kinds that managers use, because the fake
// client becomes slow with a large scheme.
func New(t testing.TB, kinds Kinds) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for version, objects := range map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {
			&corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Pod{}, &corev1.PodList{}, &corev1.Secret{}, &corev1.SecretList{},
			&corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{},
			&corev1.Event{}, &corev1.EventList{},
		},
		eventsv1.SchemeGroupVersion:        {&eventsv1.Event{}, &eventsv1.EventList{}},
		batchv1.SchemeGroupVersion:         {&batchv1.Job{}, &batchv1.JobList{}},
		coordinationv1.SchemeGroupVersion:  {&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
		storagev1.SchemeGroupVersion:       {&storagev1.StorageClass{}, &storagev1.StorageClassList{}},
		authorizationv1.SchemeGroupVersion: {&authorizationv1.SelfSubjectAccessReview{}},
	} {
		scheme.AddKnownTypes(version, objects...)
		metav1.AddToGroupVersion(scheme, version)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDecoder()
	server := &tracker{ObjectTracker: clienttesting.NewObjectTracker(scheme, decoder), scheme: scheme, kinds: kinds}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(server).
		WithStatusSubresource(&v1alpha1.CephTuningSweep{}, &v1alpha1.CephBenchmark{}, &corev1.Pod{}, &batchv1.Job{}).Build()
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: create, Get: server.get, List: server.list,
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return server.alone(func() error { return deleteAsRead(ctx, c, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return server.alone(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return server.alone(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return server.alone(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return server.alone(func() error { return server.patchStatus(ctx, c, sub, o, patch, opts...) })
		},
	})
}

// alone carries out a write that reads first. Another write in between, such as a deletion, would be lost.
func (s *tracker) alone(write func() error) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	return write()
}

// get copies an object. The fake client would encode it as JSON and decode it, which takes most of the time of a story.
func (s *tracker) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, partial := o.(*metav1.PartialObjectMetadata); partial {
		return c.Get(ctx, key, o, opts...)
	}
	kind, err := apiutil.GVKForObject(o, s.scheme)
	if err != nil {
		return err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(kind)
	found, err := s.Get(gvr, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// list copies the objects of a namespace, in the order of their names.
func (s *tracker) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if _, partial := list.(*metav1.PartialObjectMetadataList); partial {
		return c.List(ctx, list, opts...)
	}
	kind, err := apiutil.GVKForObject(list, s.scheme)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	options := (&client.ListOptions{}).ApplyOptions(opts)
	gvr, _ := meta.UnsafeGuessKindToResource(kind)
	found, err := s.List(gvr, kind, options.Namespace)
	if err != nil {
		return err
	}
	var selected []runtime.Object
	err = meta.EachListItem(found, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil && (options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(object.GetLabels()))) {
			selected = append(selected, item)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(selected, func(a, b runtime.Object) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	return meta.SetList(list, selected)
}

// patchStatus merges a patch into the status of an object of this project. The fake client would encode and decode the
// whole object several times.
func (s *tracker) patchStatus(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	kind, err := apiutil.GVKForObject(o, s.scheme)
	if err != nil {
		return err
	}
	admission, ours := s.kinds[kind.Kind]
	if !ours || sub != "status" || patch.Type() != types.MergePatchType {
		return c.SubResource(sub).Patch(ctx, o, patch, opts...)
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	change := map[string]any{}
	if err := json.Unmarshal(data, &change); err != nil {
		return err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(kind)
	found, err := s.Get(gvr, o.GetNamespace(), o.GetName())
	if err != nil {
		return err
	}
	object, err := meta.Accessor(found)
	if err != nil {
		return err
	}
	if read, stated, _ := unstructured.NestedString(change, "metadata", "resourceVersion"); stated && read != object.GetResourceVersion() {
		return apierrors.NewConflict(gvr.GroupResource(), o.GetName(), errors.New("the object has been modified"))
	}
	status := reflect.ValueOf(found).Elem().FieldByName("Status").Addr().Interface()
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return err
	}
	after := merged(before, fieldOf(change, "status"))
	if errs := admission.status.Validate(ctx, after, before); len(errs) > 0 {
		return apierrors.NewInvalid(kind.GroupKind(), o.GetName(), errs)
	}
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	object.SetResourceVersion(strconv.FormatUint(version+1, 10))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(after, status); err != nil {
		return err
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(found).Elem())
	return s.ObjectTracker.Update(gvr, found, o.GetNamespace())
}

// merged returns a JSON object with a merge patch (RFC 7396). It does not change the original.
func merged(original, patch map[string]any) map[string]any {
	result := map[string]any{}
	maps.Copy(result, original)
	for name, value := range patch {
		inner, ok := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, name)
		case ok:
			result[name] = merged(fieldOf(result, name), inner)
		default:
			result[name] = value
		}
	}
	return result
}

func nameOf(o runtime.Object) string {
	object, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// create answers questions about rights. Every other object is stored.
func create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
		review.Status.Allowed = true
		return nil
	}
	return c.Create(ctx, o, opts...)
}

// deleteAsRead checks the UID in the preconditions, gives an object that is deleted in the foreground its finalizer, and
// leaves an object alone that is being deleted. The fake client does none of these.
func deleteAsRead(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	current, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", o)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), current); err != nil {
		return err
	}
	if options.Preconditions != nil && options.Preconditions.UID != nil && current.GetUID() != *options.Preconditions.UID {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), fmt.Errorf("its UID is %s", current.GetUID()))
	}
	if !current.GetDeletionTimestamp().IsZero() {
		return nil
	}
	foreground := options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground
	if foreground && controllerutil.AddFinalizer(current, metav1.FinalizerDeleteDependents) {
		if err := c.Update(ctx, current); err != nil {
			return err
		}
	}
	return c.Delete(ctx, o, opts...)
}

// Collect deletes the objects of a namespace whose owners are all gone, as the garbage collector does. It knows only
// the objects in these lists, which it fills. It returns the objects that it has deleted.
func Collect(ctx context.Context, c client.Client, namespace string, lists ...client.ObjectList) ([]client.Object, error) {
	var all, deleted []client.Object
	uids := map[types.UID]bool{}
	for _, list := range lists {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", item)
			}
			all, uids[object.GetUID()] = append(all, object), true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, object := range all {
		owners := object.GetOwnerReferences()
		if len(owners) == 0 || slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return uids[owner.UID] }) {
			continue
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, object)); err != nil {
			return nil, err
		}
		deleted = append(deleted, object)
	}
	return deleted, nil
}

// tracker stores the objects. It gives them UIDs and generations, and admits those of this project.
type tracker struct {
	clienttesting.ObjectTracker

	scheme *runtime.Scheme
	kinds  Kinds
	writes sync.Mutex // of [tracker.alone]
	mu     sync.Mutex
	made   int
}

// Create implements [clienttesting.ObjectTracker].
func (s *tracker) Create(gvr schema.GroupVersionResource, o runtime.Object, namespace string, opts ...metav1.CreateOptions) error {
	object, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.made++
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.made)))
	s.mu.Unlock()
	object.SetGeneration(1)
	object.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	if err := s.admit(o, nil); err != nil {
		return err
	}
	return s.ObjectTracker.Create(gvr, o, namespace, opts...)
}

// Update implements [clienttesting.ObjectTracker].
func (s *tracker) Update(gvr schema.GroupVersionResource, o runtime.Object, namespace string, opts ...metav1.UpdateOptions) error {
	if err := s.replace(gvr, o, namespace); err != nil {
		return err
	}
	return s.ObjectTracker.Update(gvr, o, namespace, opts...)
}

// Patch implements [clienttesting.ObjectTracker]. It gets the patched object.
func (s *tracker) Patch(gvr schema.GroupVersionResource, o runtime.Object, namespace string, opts ...metav1.PatchOptions) error {
	if err := s.replace(gvr, o, namespace); err != nil {
		return err
	}
	return s.ObjectTracker.Patch(gvr, o, namespace, opts...)
}

func (s *tracker) replace(gvr schema.GroupVersionResource, o runtime.Object, namespace string) error {
	object, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	before, err := s.Get(gvr, namespace, object.GetName())
	if err != nil {
		return err
	}
	if previous, err := meta.Accessor(before); err == nil && previous.GetDeletionTimestamp().IsZero() && !object.GetDeletionTimestamp().IsZero() {
		object.SetGeneration(object.GetGeneration() + 1) // A deletion starts a pass.
	}
	return s.admit(o, before)
}

// admit admits an object of this project, and counts the generations of its spec.
func (s *tracker) admit(o, before runtime.Object) error {
	kinds, _, err := s.scheme.ObjectKinds(o)
	if err != nil {
		return err
	}
	admission, known := s.kinds[kinds[0].Kind]
	if !known {
		return nil
	}
	accessor, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	object, old, err := plain(o, before)
	if err != nil {
		return err
	}
	edited, validate := !reflect.DeepEqual(object["spec"], old["spec"]), admission.object.Validate
	switch {
	case edited:
		admission.object.Default(object)
		if old != nil {
			admission.object.Default(old)
		}
		object["apiVersion"], object["kind"] = kinds[0].GroupVersion().String(), kinds[0].Kind
	case reflect.DeepEqual(object["status"], old["status"]):
		return nil
	default:
		object, old, validate = fieldOf(object, "status"), fieldOf(old, "status"), admission.status.Validate
	}
	if errs := validate(context.Background(), object, old); len(errs) > 0 {
		return apierrors.NewInvalid(kinds[0].GroupKind(), accessor.GetName(), errs)
	}
	if !edited {
		return nil
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object, o)
	if old != nil {
		accessor.SetGeneration(accessor.GetGeneration() + 1)
	}
	return err
}

// plain returns an object and its previous state as decoded JSON.
func plain(o, before runtime.Object) (object, old map[string]any, err error) {
	if object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(o); err == nil && before != nil {
		old, err = runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	}
	return object, old, err
}

func fieldOf(object map[string]any, name string) map[string]any {
	value, _ := object[name].(map[string]any)
	return value
}
