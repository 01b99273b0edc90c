package cephtuningsweep

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// bound limits the time in which a sweep has to restore after an attack.
const bound = 2 * time.Minute

// moment is a state of a name that the sweep needs.
type moment string

const (
	momentNamed   moment = "Named"   // it is in status, and no object has it
	momentRunning moment = "Running" // the object exists
	momentEnded   moment = "Ended"   // the object has done its work
)

// needed is a kind of objects that a sweep creates under names which users could take. To check another kind, add it to
// kindsNeeded.
type needed struct {
	// moment returns the state of the name that the sweep needs now; "" if it needs none.
	moment func(w *world, s *v1alpha1.CephTuningSweep) moment
	// attacks take the name, or replace or edit the object. Each returns the stranger's object; nil for none.
	attacks map[string]func(w *world, s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark
}

func kindsNeeded() map[string]needed {
	replacing := func(f forgery) func(*world, *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
		return func(w *world, s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark { return w.replace(s, f) }
	}
	return map[string]needed{
		"child": {
			moment: momentOfChild,
			attacks: map[string]func(*world, *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark{
				"takes the name":       replacing(forgedName),
				"takes name and owner": replacing(forgedOwner),
				"copies it":            replacing(forgedCopy),
				"makes it easier":      replacing(forgedEasier),
				"edits the run ID":     editsChild(func(b *v1alpha1.CephBenchmark) { b.Spec.RunID = "mine" }),
				"removes the owner":    editsChild(func(b *v1alpha1.CephBenchmark) { b.OwnerReferences = nil }),
				"deletes it": editsChild(func(b *v1alpha1.CephBenchmark) {
					b.Annotations = map[string]string{"delete": "it"}
				}),
			},
		},
	}
}

func momentOfChild(w *world, s *v1alpha1.CephTuningSweep) moment {
	t := s.Status.Trial
	child := &v1alpha1.CephBenchmark{}
	switch {
	case t == nil:
		return ""
	case t.UID == "":
		return momentNamed
	case w.Get(w.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: t.Name}, child) != nil || child.UID != t.UID || !child.DeletionTimestamp.IsZero():
		return ""
	case childHasEnded(child):
		return momentEnded
	}
	return momentRunning
}

// editsChild edits or deletes the sweep's benchmark. If it does not exist yet, its name is taken.
func editsChild(change func(*v1alpha1.CephBenchmark)) func(*world, *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
	return func(w *world, s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
		child := &v1alpha1.CephBenchmark{}
		if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.Status.Trial.Name}, child); err != nil {
			return w.replace(s, forgedName)
		}
		before := client.MergeFrom(child.DeepCopy())
		change(child)
		var err error
		if child.Annotations["delete"] != "" {
			err = w.Delete(w.t.Context(), child)
		} else {
			err = w.Patch(w.t.Context(), child, before)
		}
		if client.IgnoreNotFound(err) != nil && w.t.Context().Err() == nil {
			w.t.Error(err)
		}
		return nil
	}
}

// attacker attacks one name at each moment once, between two passes of the controller.
type attacker struct {
	strangers

	mu      sync.Mutex
	pending []moment
}

func (a *attacker) act(w *world, s *v1alpha1.CephTuningSweep, kind needed, attack string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.pending) == 0 || kind.moment(w, s) != a.pending[0] {
		return
	}
	a.pending = a.pending[1:]
	if b := kind.attacks[attack](w, s); b != nil {
		a.add(b)
	}
}

func (a *attacker) isDone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending) == 0
}

// After each attack on each name that a sweep needs, suspending and deleting the sweep restores Ceph within a bound, no
// run has a stranger's figure, no stranger's object is deleted, and no lock is left.
func TestNamesInStrangersHands(t *testing.T) {
	for design, d := range map[string]struct {
		spec    string
		moments []moment
	}{
		"Blocks":      {keepsBest, []moment{momentNamed, momentRunning, momentEnded, momentNamed, momentRunning}},
		"Interleaved": {switchedSpec, []moment{momentNamed, momentRunning, momentNamed}},
	} {
		topics := map[string]story{}
		for kindName, kind := range kindsNeeded() {
			for attack := range kind.attacks {
				topics[kindName+"/"+attack] = func(w *world) {
					w.survives(d.spec, kind, attack, &attacker{pending: slices.Clone(d.moments)})
				}
			}
		}
		t.Run(design, func(t *testing.T) {
			tell(t, "names-"+map[string]string{"Blocks": "b", "Interleaved": "i"}[design], map[string]map[string]story{design: topics})
		})
	}
}

// survives lets a sweep run under attack, suspends it, lets it go on under attack, and deletes it.
func (w *world) survives(spec string, kind needed, attack string, by *attacker) {
	w.t.Helper()
	before := w.state()
	s := w.parse("s", spec)
	half := len(by.pending) / 2
	w.between(s, func(s *v1alpha1.CephTuningSweep) { by.act(w, s, kind, attack) })
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "attacked, and attacked again", func(s *v1alpha1.CephTuningSweep) bool {
		by.mu.Lock()
		defer by.mu.Unlock()
		return len(by.pending) <= half || is(v1alpha1.ConditionReady)(s)
	})
	began := time.Now()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool { return !(facts{sweep: s}).atWork() })
	w.wantRestored(s, before, by, began)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "attacked to the end", func(s *v1alpha1.CephTuningSweep) bool { return by.isDone() || is(v1alpha1.ConditionReady)(s) })
	began = time.Now()
	w.delete(s)
	w.awaitGone(s)
	w.wantRestored(s, before, by, began)
	if !by.isDone() {
		w.t.Errorf("the sweep ended before the attacks %v", by.pending)
	}
}

func (w *world) wantRestored(s *v1alpha1.CephTuningSweep, before string, by *attacker, began time.Time) {
	w.t.Helper()
	if took := time.Since(began); took > bound {
		w.t.Errorf("the restore took %v, want at most %v", took, bound)
	}
	w.wantState(before)
	w.wantFreeLock()
	w.wantForeignUnused(s, by.list())
	if w.t.Failed() {
		w.t.Log(fmt.Sprint("attacks left: ", by.pending, ", runs: ", s.Status.Runs))
	}
}
