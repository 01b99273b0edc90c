package memmanager

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/rights"
)

// cacheLag is how long the caches of a server's manager lack a change.
const cacheLag = time.Millisecond

// Server is an API server in memory with a namespace and one manager at a time. The manager may send only requests for
// which it has the rights in the manifests.
type Server struct {
	client.WithWatch

	t         testing.TB
	namespace string
	rules     rights.Rules
	events    atomic.Int64

	mu      sync.Mutex
	manager *Manager // the latest
}

// NewServer returns a server for the rest of a bubble of package synctest.
func NewServer(t testing.TB, kinds memapi.Kinds, rules rights.Rules, namespace string) *Server {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)))
	t.Cleanup(func() { time.Sleep(time.Minute) }) // The clock of a bubble stops with the test, and everything that waits must end before.
	s := &Server{WithWatch: memapi.New(t, kinds), t: t, namespace: namespace, rules: rules}
	if err := s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Administrator returns a client with all rights.
func (s *Server) Administrator() client.WithWatch { return Around(s, s.carry) }

// carry carries a request of anybody out.
func (s *Server) carry(r Request, do func() error) error {
	err := do()
	if err != nil || !r.IsWrite() {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.manager != nil {
		s.manager.Changed(r.Object)
	}
	return nil
}

// NewManager returns a manager of this server, which does not run yet.
func (s *Server) NewManager() *Manager {
	var m *Manager
	direct := Around(s, func(r Request, do func() error) error {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if err := s.may(r); err != nil {
			return err
		}
		return s.carry(r, do)
	})
	m = New(s.t, Options{Server: s, Direct: direct, Lag: func(client.Object) time.Duration { return cacheLag }})
	return m
}

// Run runs a manager to which all controllers were added.
func (s *Server) Run(m *Manager) {
	m.Fill(s.namespace)
	s.mu.Lock()
	s.manager = m
	s.mu.Unlock()
	s.t.Cleanup(m.Stop)
}

// may fails the test if a manager sends a request for which it has no right.
func (s *Server) may(r Request) error {
	var object runtime.Object = r.Object
	if r.List != nil {
		object = r.List
	}
	if _, asks := object.(*authorizationv1.SelfSubjectAccessReview); asks {
		return nil
	}
	kind, err := apiutil.GVKForObject(object, s.Scheme())
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	resource := strings.TrimSuffix(plural.Resource+"/"+r.Subresource, "/")
	if s.rules.Allow(r.Verb, kind.Group, resource, r.Name) && s.mayOwn(r) {
		return nil
	}
	s.t.Errorf("the manager has no right to %s %s %q", r.Verb, resource, r.Name)
	return apierrors.NewForbidden(plural.GroupResource(), r.Name, nil)
}

// mayOwn reports whether a manager may give an object its owners: some clusters demand a right for an owner reference that
// blocks deletion.
func (s *Server) mayOwn(r Request) bool {
	return r.Verb != "create" || !slices.ContainsFunc(r.Object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		group, err := schema.ParseGroupVersion(owner.APIVersion)
		plural, _ := meta.UnsafeGuessKindToResource(group.WithKind(owner.Kind))
		return ptr.Deref(owner.BlockOwnerDeletion, false) && (err != nil || !s.rules.Allow("update", group.Group, plural.Resource+"/finalizers", owner.Name))
	})
}

// Eventf implements events.EventRecorder.
func (s *Server) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	object, err := meta.Accessor(regarding)
	if err != nil {
		s.t.Error(err)
		return
	}
	made := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%d", object.GetName(), s.events.Add(1))},
		Type:       kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...),
	}
	if err := s.Create(s.t.Context(), made); err != nil && s.t.Context().Err() == nil {
		s.t.Error(err)
	}
}
