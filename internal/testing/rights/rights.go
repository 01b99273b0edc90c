// Package rights gives a manager in a test exactly the rights of the manifests in config. If a controller
// sends a request for which it has no right, its own tests fail. Without this package, the first refusal
// would happen in a user's cluster.
package rights

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

const (
	account = "cephtune-manager"
	// roleOfBenchmarks is the name of a Role and of its binding. They make a namespace a namespace for
	// benchmarks.
	roleOfBenchmarks = "cephtune-benchmarks"
	// roleOfManager is the name of a Role and of its binding. They have the manager's other rights in a
	// namespace for benchmarks.
	roleOfManager = "manager"
	// roleOfCRs is the name of the ClusterRole with the manager's cluster-wide rights, and of its binding.
	roleOfCRs = "custom-resources"
	// deadline is the time within which an API server must apply a change of rights.
	deadline = time.Minute
)

// Manager creates the roles and bindings of a manager, and returns the configuration of a client with
// exactly these rights. The namespace must exist. It is the manager's own namespace, and also a
// namespace for benchmarks.
func Manager(t testing.TB, admin *rest.Config, namespace string) *rest.Config {
	t.Helper()
	c := connect(t, admin)
	for _, file := range manifests() {
		for _, object := range read(t, filepath.Join(apiserver.Root(t), "config", file)) {
			place(t, object, namespace)
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	config := rest.CopyConfig(admin)
	config.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account)
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	// The list has one right from each binding.
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "watch", Group: "cephtune.dev", Resource: "cephbenchmarks"},
		{Verb: "watch", Resource: "pods"},
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: "cephtune-f"},
		{Verb: "create", Resource: "events"},
		{Verb: "create", Group: "batch", Resource: "jobs"},
	} {
		right.Namespace = namespace
		Await(t, config, right, true)
	}
	return config
}

// Take removes the rights that make a namespace a namespace for benchmarks. The returned function grants them
// again. Both functions return when the API server applies the change.
func Take(t testing.TB, admin client.Client, manager *rest.Config, namespace string) (giveBack func()) {
	t.Helper()
	return take(t, admin, manager, namespace, roleOfBenchmarks,
		authorizationv1.ResourceAttributes{Verb: "create", Group: "batch", Resource: "jobs"})
}

// TakeAll removes the two bindings with the manager's rights in a benchmark namespace, as the deletion of
// the namespace does. It keeps the manager's cluster-wide rights, and its rights to Leases and journals in
// the same namespace.
func TakeAll(t testing.TB, admin client.Client, manager *rest.Config, namespace string) {
	t.Helper()
	Take(t, admin, manager, namespace)
	take(t, admin, manager, namespace, roleOfManager, authorizationv1.ResourceAttributes{Verb: "watch", Resource: "pods"})
}

// take removes a binding that grants a right. The returned function creates the binding again.
func take(t testing.TB, admin client.Client, manager *rest.Config, namespace, name string, right authorizationv1.ResourceAttributes) (giveBack func()) {
	t.Helper()
	binding := &rbacv1.RoleBinding{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, binding); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	right.Namespace = namespace
	Await(t, manager, right, false)
	return func() {
		t.Helper()
		again := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: binding.RoleRef, Subjects: binding.Subjects,
		}
		if err := admin.Create(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		Await(t, manager, right, true)
	}
}

// Await waits until a client has a right if want is true, or lacks the right if want is false.
func Await(t testing.TB, config *rest.Config, right authorizationv1.ResourceAttributes, want bool) {
	t.Helper()
	c := connect(t, config)
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		err := c.Create(t.Context(), review)
		if err == nil && review.Status.Allowed == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s may %+v: %t, %v; want %t", config.Impersonate.UserName, right, review.Status.Allowed, err, want)
		}
	}
}

// place moves an object of the manifests into the namespace, or renames it if it is cluster-wide. The
// subject of a binding becomes the account in the namespace.
func place(t testing.TB, object *unstructured.Unstructured, namespace string) {
	t.Helper()
	switch {
	case object.GetName() == roleOfCRs:
		rename(t, object, roleOfCRs+"-"+namespace) // Other tests on this API server have this object too.
	case object.GetKind() == "ClusterRole":
		// In config/namespaced, a RoleBinding binds this ClusterRole. A Role with the same rules has the
		// same effect.
		object.SetKind("Role")
		fallthrough
	default:
		object.SetNamespace(namespace)
	}
	if !strings.HasSuffix(object.GetKind(), "Binding") {
		return
	}
	subjects := []any{map[string]any{"kind": rbacv1.ServiceAccountKind, "name": account, "namespace": namespace}}
	if err := unstructured.SetNestedSlice(object.Object, subjects, "subjects"); err != nil {
		t.Fatal(err)
	}
}

// rename renames a cluster-wide object. In a binding, it also renames the role.
func rename(t testing.TB, object *unstructured.Unstructured, name string) {
	t.Helper()
	object.SetName(name)
	if object.GetKind() != "ClusterRoleBinding" {
		return
	}
	if err := unstructured.SetNestedField(object.Object, name, "roleRef", "name"); err != nil {
		t.Fatal(err)
	}
}

// read reads the objects in a file. It adds a binding for each ClusterRole that is bound in a namespace.
func read(t testing.TB, file string) []*unstructured.Unstructured {
	t.Helper()
	stream, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close() //nolint:errcheck // The stream was only read, so a failed close loses no data.
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(stream, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		if len(object.Object) == 0 { // an empty document
			continue
		}
		objects = append(objects, object)
		if object.GetKind() == "ClusterRole" && object.GetName() != roleOfCRs {
			objects = append(objects, binding(t, object.GetName()))
		}
	}
}

// binding returns a RoleBinding of a Role, with the same name.
func binding(t testing.TB, role string) *unstructured.Unstructured {
	t.Helper()
	made := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

func connect(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
