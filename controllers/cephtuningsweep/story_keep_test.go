package cephtuningsweep

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// Stories of winners that are to stay.
func keepStories() map[string]story {
	const keep = profile + "onCompletion: KeepBest\n"
	osd := ceph.ConfigWho{Section: "osd"}
	return map[string]story{
		"a winner stays, and the rest is put back": func(w *world) {
			w.bench.set(func(b *bench) { b.speed = w.faster() })
			s := w.create("s", keep)
			w.await(s, "complete", is(v1alpha1.ConditionComplete))
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
		"nothing stays where nothing has won": func(w *world) {
			before := w.state()
			s := w.create("s", keep)
			w.await(s, "complete", is(v1alpha1.ConditionComplete))
			w.wantState(before)
		},
		"a winner that daemons do not take any more is put back": func(w *world) {
			before := w.state()
			w.bench.set(func(b *bench) {
				b.speed = w.faster()
			})
			s := w.create("s", keep)
			w.await(s, "to have runs", func(s *v1alpha1.CephTuningSweep) bool { return len(s.Status.Runs) > 14 })
			w.ceph.SetLocally(1, "osd_mclock_profile", "balanced")
			w.await(s, "ended", func(s *v1alpha1.CephTuningSweep) bool {
				return is(v1alpha1.ConditionComplete)(s) || is(v1alpha1.ConditionFailed)(s)
			})
			w.wantState(before)
		},
	}
}
