//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// standing returns a sweep that compares pools of one and of three copies, which stand at once, under writes of images.
func (c *cluster) standing(name string) *v1alpha1.CephTuningSweep {
	s := c.switched(name, "1")
	s.Spec.Parameters = []v1alpha1.Parameter{{Name: "copies", Redundancy: &v1alpha1.RedundancyParameter{}, Values: []v1alpha1.ParameterValue{"3"}}}
	s.Spec.Baseline = &v1alpha1.Baseline{Values: map[string]v1alpha1.ParameterValue{"copies": "1"}}
	s.Spec.Template.Phases[0].Fio.Pattern = v1alpha1.FioRandWrite
	return s
}

// One session must find that three copies of each write take longer than one.
func TestLongStandingPools(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.standing("standing")
	c.createSweep(t, s)
	c.awaitScratchPools(t, 2)
	c.awaitSweep(t, s, switchedWithin, "to be complete", sweepIs(v1alpha1.ReasonComplete))
	c.wantRestored(t, s, before)
	c.awaitScratchPools(t, 0)
	// On a busy machine, the session is Starved. Such a session can prove a loss. OSDs may still work on the writes to one pool in
	// the next window: then the sweep finds carry-over, and proves nothing.
	summary := s.Status.Summary
	carriedOver := s.Status.Verdict == v1alpha1.VerdictInconclusive && strings.Contains(summary, "the effect of the previous pool") && strings.Contains(summary, "copies=3 trails")
	if s.Status.Verdict != v1alpha1.VerdictInferior && !carriedOver || s.Status.Scope != v1alpha1.ScopeWindows {
		t.Errorf("verdict %s, %s, sessions %q: %s", s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
}

// A manager that is killed while several pools stand must leave none of them.
func TestLongStandingManagerIsKilled(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.standing("standing-killed")
	c.createSweep(t, s)
	c.awaitSweep(t, s, sweepChangesIn, "to load its pools in turn", func(s *v1alpha1.CephTuningSweep) error {
		if p := s.Status.Progress; p == nil || !strings.HasPrefix(p.Summary, "pair ") {
			return fmt.Errorf("its progress is %+v", p)
		}
		return nil
	})
	c.killManager(t)
	c.awaitSweep(t, s, switchedWithin, "to have an invalid session", func(s *v1alpha1.CephTuningSweep) error {
		if !strings.Contains(validities(s), string(v1alpha1.TrialInterrupted)) {
			return fmt.Errorf("its sessions are %q", validities(s))
		}
		return nil
	})
	c.deleteAndWait(t, s)
	c.wantTunables(t, before)
	c.awaitScratchPools(t, 0)
}

// awaitScratchPools waits until Rook has that many CephBlockPools with the name of a scratch pool.
func (c *cluster) awaitScratchPools(t *testing.T, want int) {
	t.Helper()
	eventually(t, 5*time.Minute, fmt.Sprintf("%d scratch pools", want), func(ctx context.Context) error {
		pools := &unstructured.UnstructuredList{}
		pools.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephBlockPoolList"})
		if err := c.List(ctx, pools, client.InNamespace(c.rookNamespace)); err != nil {
			return err
		}
		var names []string
		for _, pool := range pools.Items {
			if strings.HasPrefix(pool.GetName(), "cephtune-scratch") {
				names = append(names, pool.GetName())
			}
		}
		if len(names) != want {
			return fmt.Errorf("there are %q", names)
		}
		return nil
	})
}
