// Package namespaces recognizes benchmark namespaces, in which the manager has the rights to run
// benchmarks. It also handles the errors in a namespace that is being deleted, where Kubernetes has removed
// these rights.
//
// A manager that handles all namespaces also sees objects of users who must not reach a Ceph cluster.
// Without [Checker.Refusal], the manager would lock the cluster, create pools and change settings for them,
// and only then fail to create their Jobs.
package namespaces

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Checker asks the API server for the manager's rights in namespaces. It is safe for concurrent use.
type Checker struct {
	client  client.Client
	handled []string
	barred  map[string]string // why nothing runs there, by namespace

	mutex sync.Mutex
	known map[string]bool // benchmark namespaces
}

// New returns a Checker. The client must have the manager's own rights. The parameter handled lists the
// namespaces in which the manager handles cephtune's custom resources (CRs); empty for all namespaces.
func New(c client.Client, handled ...string) *Checker {
	barred := map[string]string{"default": "is where objects land whose author names no namespace"}
	for _, name := range []string{"kube-system", "kube-public", "kube-node-lease"} {
		barred[name] = "belongs to Kubernetes"
	}
	return &Checker{client: c, handled: handled, barred: barred, known: map[string]bool{}}
}

// Bar keeps benchmarks out of a namespace, whatever the manager's rights in it. The parameter reason continues
// a sentence that begins with the namespace.
func (c *Checker) Bar(namespace, reason string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.barred[namespace] = reason
}

// Handles reports whether the manager handles the CRs in a namespace. The manager may also be able to read
// CRs that it does not handle.
func (c *Checker) Handles(namespace string) bool {
	return len(c.handled) == 0 || slices.Contains(c.handled, namespace)
}

// Refusal says why nothing runs in a namespace, and what to do about it; "" if benchmarks may run. Refusal
// remembers that benchmarks may run: if rights are removed later, the calls that need them fail.
func (c *Checker) Refusal(ctx context.Context, namespace string) (string, error) {
	reason, known := c.remembered(namespace)
	if reason != "" {
		return fmt.Sprintf("Namespace %s %s, so no benchmark runs in it: whoever may create pods beside benchmarks can use their Ceph key. "+
			"Use another namespace, such as cephtune-bench.", namespace, reason), nil
	}
	if known {
		return "", nil
	}
	// Only benchmark namespaces give the manager this right.
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: "batch", Resource: "jobs"},
	}}
	if err := c.client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask whether the operator may run benchmarks in namespace %s: %w", namespace, err)
	}
	if !review.Status.Allowed {
		return fmt.Sprintf("Namespace %s is not a benchmark namespace: the operator may not create Jobs in it. "+
			"Use another namespace, or ask the administrator to add it: with Helm to benchmarkNamespaces, otherwise with config/bench.", namespace), nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.known[namespace] = true
	return "", nil
}

// remembered returns why no benchmark runs in a namespace, and whether the manager may run benchmarks in it. The API
// server is asked without the mutex: an answer that does not come must not delay the passes of all benchmarks.
func (c *Checker) remembered(namespace string) (reason string, known bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.barred[namespace], c.known[namespace]
}
