package namespaces

import (
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// server answers as an API server does, and counts the requests.
type server struct {
	allowed map[string]bool // by namespace
	err     error
	asked   int
}

func (s *server) checker() *Checker {
	return New(interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			s.asked++
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				attributes := review.Spec.ResourceAttributes
				review.Status.Allowed = s.allowed[attributes.Namespace] && attributes.Verb == "create" && attributes.Resource == "jobs" && attributes.Group == "batch"
			}
			return s.err
		},
	}))
}

func TestRefusal(t *testing.T) {
	s := &server{allowed: map[string]bool{"bench": true}}
	c := s.checker()
	for range 3 {
		if refusal, err := c.Refusal(t.Context(), "bench"); refusal != "" || err != nil {
			t.Errorf("a namespace of benchmarks: %q, %v", refusal, err)
		}
	}
	if s.asked != 1 {
		t.Errorf("asked %d times, want once", s.asked)
	}
	if refusal, err := c.Refusal(t.Context(), "other"); !strings.Contains(refusal, "config/bench") || err != nil {
		t.Errorf("another one: %q, %v", refusal, err)
	}
	s.allowed["other"] = true
	if refusal, err := c.Refusal(t.Context(), "other"); refusal != "" || err != nil {
		t.Errorf("one that has become one of benchmarks: %q, %v", refusal, err)
	}
}

// Rights alone do not make these namespaces fit for benchmarks.
func TestRefusalOfBarredNamespaces(t *testing.T) {
	s := &server{allowed: map[string]bool{"kube-system": true, "kube-public": true, "kube-node-lease": true, "default": true, "rook-ceph": true, "bench": true}}
	c := s.checker()
	c.Bar("rook-ceph", "has a CephCluster")
	for name, want := range map[string]string{
		"kube-system": "belongs to Kubernetes", "kube-public": "belongs to Kubernetes", "kube-node-lease": "belongs to Kubernetes",
		"default": "names no namespace", "rook-ceph": "has a CephCluster", "bench": "",
	} {
		if refusal, err := c.Refusal(t.Context(), name); (refusal == "") != (want == "") || !strings.Contains(refusal, want) || err != nil {
			t.Errorf("%s: %q, %v, want %q in it", name, refusal, err, want)
		}
	}
}

// An unanswered question must not count as permission.
func TestRefusalIsUnknown(t *testing.T) {
	s := &server{allowed: map[string]bool{"bench": true}, err: errors.New("no route to host")}
	if _, err := s.checker().Refusal(t.Context(), "bench"); err == nil {
		t.Error("want an error")
	}
}
