package memmanager

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/rights"
)

// Stories are stories by topic and name. Each has a world of its own.
type Stories[S ~func(W), W any] struct {
	Topics map[string]map[string]S
	// OnRealServer has the stories "topic/name" and whole topics that are told on a real API server.
	OnRealServer []string
	// Real returns a world in a new namespace of a real API server, and InMemory one on an API server of its own in memory.
	Real     func(t *testing.T, server *rest.Config, namespace string) W
	InMemory func(*testing.T, memapi.Kinds, rights.Rules) W
}

// Tell tells the stories in parallel: those in memory in a bubble of package synctest.
func (s Stories[S, W]) Tell(t *testing.T, prefix string) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	kinds, rules, number := memapi.CompileKinds(t, apiserver.Root(t)), rights.Read(t), 0
	start := sync.OnceValue(func() *rest.Config { return apiserver.Start(t) })
	for topic, stories := range s.Topics {
		for name, tell := range stories {
			number++
			namespace, name := fmt.Sprintf("%s-%d", prefix, number), topic+"/"+name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if slices.Contains(s.OnRealServer, topic) || slices.Contains(s.OnRealServer, name) {
					tell(s.Real(t, start(), namespace))
					return
				}
				synctest.Test(t, func(t *testing.T) { tell(s.InMemory(t, kinds, rules)) })
			})
		}
	}
}
