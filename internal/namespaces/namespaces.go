// Package namespaces tells whether a namespace is one of benchmarks: one in which the
// manager was given the rights that it needs to run them.
//
// A manager that handles all namespaces sees objects of people who are to have nothing to
// do with a Ceph cluster. Without this it would lock the cluster, make pools and change
// settings for them, only to find that it cannot make their Jobs.
package namespaces

import (
	"context"
	"fmt"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Checker asks the API server. It is safe for concurrent use.
type Checker struct {
	client client.Client

	mutex sync.Mutex
	known map[string]bool // to be namespaces of benchmarks
}

// New returns a Checker. The client is the manager's own.
func New(c client.Client) *Checker { return &Checker{client: c, known: map[string]bool{}} }

// Refusal says why nothing runs in a namespace, and what to do about it; "" if benchmarks
// may. A yes is remembered: rights that are taken away show where they are missing.
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
