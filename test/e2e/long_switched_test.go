//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// switchedWithin is the deadline for a sweep of one session, including a few repetitions of the
// session.
const switchedWithin = 40 * time.Minute

// switched returns a sweep that switches the number of operations that an OSD admits, under reads
// of an image.
func (c *cluster) switched(name string, values ...v1alpha1.ParameterValue) *v1alpha1.CephTuningSweep {
	s := c.sweep(name, c.replicatedScratch(), messageCap(values...))
	s.Spec.Template.Phases = []v1alpha1.Phase{{Name: "read", Fio: &v1alpha1.Fio{
		Pattern: v1alpha1.FioRandRead, BlockSize: resource.MustParse("4Ki"), IODepth: 16,
		Duration: metav1.Duration{Duration: shortest}, Ramp: &metav1.Duration{Duration: 5 * time.Second},
	}}}
	s.Spec.Baseline = &v1alpha1.Baseline{Values: map[string]v1alpha1.ParameterValue{"message_cap": "256"}}
	s.Spec.Objective.Phase = "read"
	s.Spec.Strategy = v1alpha1.Strategy{
		Design: v1alpha1.DesignInterleaved, Interleaved: v1alpha1.Interleaved{Sessions: 1}, Seed: new(int64(5)),
	}
	return s
}

// One session under a running load must find a setting that slows OSDs down.
func TestLongSwitchedSetting(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.switched("switched", "1")
	c.createSweep(t, s)
	c.awaitSweep(t, s, switchedWithin, "to be complete", sweepIs(v1alpha1.ReasonComplete))
	c.wantRestored(t, s, before)
	// On a busy machine, the session is Starved. Such a session can prove a loss.
	if s.Status.Verdict != v1alpha1.VerdictInferior || s.Status.Scope != v1alpha1.ScopeWindows {
		t.Errorf("verdict %s, %s, sessions %q: %s", s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
}

// A manager that is killed between two switches must leave nothing behind: the next manager
// restores, declares the session invalid, and draws another.
func TestLongSwitchedManagerIsKilled(t *testing.T) {
	c := forTest(t)
	before := c.tunables(t)
	s := c.switched("switched-killed", "1")
	c.createSweep(t, s)
	c.awaitSwitches(t, s)
	c.killManager(t)
	c.awaitSweep(t, s, switchedWithin, "to have an invalid session", func(s *v1alpha1.CephTuningSweep) error {
		if !strings.Contains(validities(s), string(v1alpha1.TrialInterrupted)) {
			return fmt.Errorf("its sessions are %q", validities(s))
		}
		return nil
	})
	c.awaitSwitches(t, s)
	c.deleteAndWait(t, s)
	c.wantTunables(t, before)
}

// awaitSwitches waits until settings are switched under a load, and Ceph has the candidate's value.
func (c *cluster) awaitSwitches(t *testing.T, s *v1alpha1.CephTuningSweep) {
	t.Helper()
	c.awaitSweep(t, s, sweepChangesIn, "to switch settings", func(s *v1alpha1.CephTuningSweep) error {
		if p := s.Status.Progress; p == nil || !strings.Contains(p.Step, "switching settings") {
			return errors.New("it does not switch yet")
		}
		return nil
	})
	eventually(t, time.Minute, "the candidate to be there", func(ctx context.Context) error {
		now, err := c.tunablesNow(ctx)
		if err != nil {
			return err
		}
		if !strings.Contains(now, "osd_client_message_cap = 1") {
			return fmt.Errorf("Ceph has\n%s", now)
		}
		return nil
	})
}
