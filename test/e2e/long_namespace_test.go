//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// namespaceGoneWithin is the deadline for the removal of a namespace in which a sweep has to
// restore something.
const namespaceGoneWithin = restoreWithin

// The benchmark namespace is deleted while a sweep measures with a changed option of OSDs.
// Kubernetes removes the operator's rights there at once. Still everything must be restored, and
// the namespace must go. Once it exists again, it must work as before.
func TestLongNamespaceIsDeleted(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	makeAgain := c.keepNamespace(t, benchNamespace)
	s := c.sweep("namespace", c.replicatedScratch(), messageCap("64"))
	c.createSweep(t, s)
	child := c.awaitRunOf(t, s, "message_cap=64")
	if now := c.tunables(t); !strings.Contains(now, "osd_client_message_cap = 64") {
		t.Fatalf("while message_cap=64 is measured, Ceph is set to\n%s", now)
	}

	began := time.Now()
	c.deleteNamespace(t, benchNamespace)
	t.Logf("the namespace was gone after %v", time.Since(began).Round(time.Second))
	c.wantTunables(t, before)
	c.wantNoTraces(t, child)

	makeAgain()
	b := c.benchmark("namespace-again", c.replicatedScratch(), radosWrite("write"))
	c.create(t, b)
	c.awaitEnd(t, v1alpha1.ConditionComplete, b)
}

// deleteNamespace deletes a namespace and waits until it is gone. Its error says what blocks the
// removal.
func (c *cluster) deleteNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Delete(t.Context(), namespace); err != nil {
		t.Fatalf("delete namespace %s: %v", name, err)
	}
	eventually(t, namespaceGoneWithin, "namespace "+name+" to be gone", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
			return client.IgnoreNotFound(err)
		}
		var waits []string
		for _, condition := range namespace.Status.Conditions {
			if condition.Status == corev1.ConditionTrue {
				waits = append(waits, condition.Message)
			}
		}
		return fmt.Errorf("it waits: %s", strings.Join(waits, "; "))
	})
}

// keepNamespace reads everything that makes a namespace one for benchmarks. The returned function
// creates it again, and so does the end of the test.
func (c *cluster) keepNamespace(t *testing.T, name string) (makeAgain func()) {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, namespace); err != nil {
		t.Fatalf("read namespace %s: %v", name, err)
	}
	var kept []client.Object
	for _, list := range []client.ObjectList{&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &networkingv1.NetworkPolicyList{}} {
		if err := c.List(t.Context(), list, client.InNamespace(name)); err != nil {
			t.Fatalf("list what is in namespace %s: %v", name, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil || len(items) == 0 {
			t.Fatalf("namespace %s is none of benchmarks: it has no %T, %v", name, list, err)
		}
		for _, item := range items {
			object, ok := item.(client.Object)
			if !ok {
				t.Fatalf("%T is no object", item)
			}
			kept = append(kept, object)
		}
	}
	makeAgain = sync.OnceFunc(func() { c.makeAgain(t, namespace, kept) })
	t.Cleanup(makeAgain)
	return makeAgain
}

// makeAgain creates a namespace that is gone or terminating, with its objects. It leaves objects
// alone that exist.
func (c *cluster) makeAgain(t *testing.T, namespace *corev1.Namespace, kept []client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), namespaceGoneWithin)
	defer cancel()
	for {
		now := &corev1.Namespace{}
		err := c.Get(ctx, client.ObjectKeyFromObject(namespace), now)
		if apierrors.IsNotFound(err) || err == nil && now.DeletionTimestamp.IsZero() {
			break
		}
		select {
		case <-ctx.Done():
			t.Errorf("namespace %s does not go, so that it cannot be made again: %v; afterwards deploy the operator anew", namespace.Name, err)
			return
		case <-time.After(time.Second):
		}
	}
	for _, object := range append([]client.Object{namespace}, kept...) {
		// The managed fields stay, so that the object can be applied again.
		object.SetResourceVersion("")
		object.SetUID("")
		object.SetCreationTimestamp(metav1.Time{})
		if err := client.IgnoreAlreadyExists(c.Create(ctx, object)); err != nil {
			t.Errorf("make %T %s again: %v", object, object.GetName(), err)
		}
	}
}
