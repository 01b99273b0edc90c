// Package namespaces reports whether a namespace is one of benchmarks: one in which the
// manager has the rights to run them. It is also the only place that interprets missing
// rights: in a namespace that is deleted they go with it.
//
// A manager that handles all namespaces sees objects of people who must not reach a Ceph cluster. Without this it would lock the cluster, make pools and change
// settings for them, only to find that it cannot make their Jobs.
package namespaces

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Checker asks the API server. It is safe for concurrent use.
type Checker struct {
	client  client.Client
	handled []string

	mutex sync.Mutex
	known map[string]bool // namespaces of benchmarks
}

// New returns a Checker. The client is the manager's own, and handled are the namespaces
// whose CRs it looks after: none means all.
func New(c client.Client, handled ...string) *Checker {
	return &Checker{client: c, handled: handled, known: map[string]bool{}}
}

// Handles reports whether the manager looks after the CRs in a namespace. It may read those
// in others.
func (c *Checker) Handles(namespace string) bool {
	return len(c.handled) == 0 || slices.Contains(c.handled, namespace)
}

// Refusal says why nothing runs in a namespace, and what to do about it; "" if benchmarks
// may. A positive answer is remembered: if rights are removed later, the calls that need them fail.
func (c *Checker) Refusal(ctx context.Context, namespace string) (string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.known[namespace] {
		return "", nil
	}
	// One of the rights that only a namespace of benchmarks gives.
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: "batch", Resource: "jobs"},
	}}
	if err := c.client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask whether the operator may run benchmarks in namespace %s: %w", namespace, err)
	}
	if !review.Status.Allowed {
		return fmt.Sprintf("Namespace %s is not one of benchmarks: the operator may not make Jobs there. "+
			"Use one that is, or ask the administrator to make it one: with Helm among benchmarkNamespaces, otherwise with config/bench.", namespace), nil
	}
	c.known[namespace] = true
	return "", nil
}
