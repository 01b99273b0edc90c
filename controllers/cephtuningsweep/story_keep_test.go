package cephtuningsweep

import (
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Stories of winners whose settings are kept.
func keepStories() map[string]story {
	const keep = profile + "onCompletion: KeepBest\nkeepScope: Pool\n"
	osd := ceph.ConfigWho{Section: "osd"}
	return map[string]story{
		"a winner stays, and the rest is restored": func(w *world) {
			w.bench.set(func(b *bench) { b.speed = w.faster() })
			s := w.create("s", keep)
			w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			if now, _ := w.ceph.Central(osd, "osd_mclock_profile"); now != "high_client_ops" {
				w.t.Errorf("the profile is %q, want the winner", now)
			}
			restored := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestored)
			if restored == nil || restored.Status != "True" || !strings.Contains(restored.Message, "osd_mclock_profile") {
				w.t.Errorf("condition Restored is %+v, want it to name what stays", restored)
			}
			w.ceph.Act(func(c *cephtest.Cluster) {
				if !c.Answers.Balancer.Active || c.Keys["cephtune/journal"] != "" {
					w.t.Errorf("balancer %t, journal %q: want the balancer on again and no journal", c.Answers.Balancer.Active, c.Keys["cephtune/journal"])
				}
			})
		},
		"a winner stays, and Ceph's copy of the journal is not removed at once": func(w *world) {
			w.bench.set(func(b *bench) { b.speed = w.faster() })
			refused := false
			w.ceph.Act(func(c *cephtest.Cluster) {
				c.Before = func(verb string) error {
					if verb != "RemoveKey" || refused {
						return nil
					}
					refused = true
					return &ceph.Error{Verb: verb, Errno: 1, Message: "Error EPERM"}
				}
			})
			s := w.create("s", keep)
			w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			w.wantKeptAndRunAgain(s, refused)
		},
		"a winner stays, and the manager is killed between the copies of the journal": func(w *world) {
			w.bench.set(func(b *bench) { b.speed = w.faster() })
			w.killAt(tuning.StepCopyRemoved)
			s := w.create("s", keep)
			w.awaitDeath()
			w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			w.wantKeptAndRunAgain(s, true)
		},
		"nothing stays where nothing has won": func(w *world) {
			before := w.state()
			s := w.create("s", keep)
			w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			w.wantState(before)
		},
		"a winner that daemons no longer take is restored": func(w *world) {
			before := w.state()
			w.bench.set(func(b *bench) {
				b.speed = w.faster()
			})
			s := w.create("s", keep)
			w.await(s, "to have runs", func(s *v1alpha1.CephTuningSweep) bool { return len(s.Status.Trials) >= 2 })
			w.ceph.SetLocally(1, "osd_mclock_profile", "balanced")
			w.await(s, "ended", func(s *v1alpha1.CephTuningSweep) bool {
				return conditionTrue(v1alpha1.ConditionComplete)(s) || conditionTrue(v1alpha1.ConditionFailed)(s)
			})
			w.wantState(before)
		},
		"a sweep that is suspended while its winner is applied keeps it later": suspendedWhileKeeping,
		"a winner that cannot be applied for too long is restored":             theWinnerCannotBeApplied,
	}
}

// keeping returns a sweep that is about to keep its winner's settings, and cannot. Its last run is
// of the baseline, so no setting is changed after the run before.
func (w *world) keeping() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.bench.set(func(b *bench) {
		b.speed, b.holdIf = w.faster(), func(*v1alpha1.CephBenchmark) bool { return b.ended >= 5 }
	})
	s := w.create("s", strings.Replace(profile, "seed: 11", "seed: 3", 1)+"onCompletion: KeepBest\nkeepScope: Pool\n")
	w.await(s, "in its last run", func(s *v1alpha1.CephTuningSweep) bool {
		return len(s.Status.Trials) == 5 && len(running(w.children())) > 0
	})
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "SetConfig" {
				return errors.New("no monitor takes it")
			}
			return nil
		}
	})
	w.goOn()
	w.await(s, "at the winner", func(s *v1alpha1.CephTuningSweep) bool {
		return len(s.Status.Trials) == 6 && strings.Contains(messageOf(s), "no monitor takes it")
	})
	return s
}

func suspendedWhileKeeping(w *world) {
	s := w.keeping()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = nil })
	w.await(s, "suspended", hasReason(v1alpha1.ReasonSuspended))
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now != "high_client_ops" {
		w.t.Errorf("the profile is %q, want the winner", now)
	}
}

// The lock is renewed all the time. That must not count as progress.
func theWinnerCannotBeApplied(w *world) {
	s := w.keeping()
	w.advanceUntil(s, lock.RenewAfter+time.Minute, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent("NotKept", "made no progress for 30m0s: ")
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now != "" {
		w.t.Errorf("the profile is %q, want it put back", now)
	}
}

// wantKeptAndRunAgain checks that no copy of the journal remains. It also checks that the next run
// ID ends, with the kept settings as its baseline.
func (w *world) wantKeptAndRunAgain(s *v1alpha1.CephTuningSweep, reached bool) {
	w.t.Helper()
	w.ceph.Act(func(c *cephtest.Cluster) {
		if left := c.Keys["cephtune/journal"]; !reached || left != "" {
			w.t.Errorf("removing was interfered with: %t; the journal in Ceph is %q", reached, left)
		}
	})
	w.wantNoJournal()
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		s.Spec.RunID, s.Spec.Parameters[0].Values = "2", []v1alpha1.ParameterValue{"high_recovery_ops"}
	})
	w.await(s, "complete again", func(s *v1alpha1.CephTuningSweep) bool {
		return s.Status.ObservedRunID == "2" && conditionTrue(v1alpha1.ConditionComplete)(s)
	})
	if baseline := s.Status.Plan.Baseline; len(baseline) != 1 || baseline[0].Value != "high_client_ops" {
		w.t.Errorf("the baseline of the second run is %v", baseline)
	}
}
