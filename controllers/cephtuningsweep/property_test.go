package cephtuningsweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/sweepspec"
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
	// moments has the moments at which a sweep of a design is attacked, in order.
	moments map[string][]moment
	// attacks take the name, or replace or edit the object.
	attacks map[string]attack
}

// attack returns the stranger's objects.
type attack func(w *world, s *v1alpha1.CephTuningSweep) []client.Object

func kindsNeeded() map[string]needed {
	replacing := func(f forgery) attack {
		return func(w *world, s *v1alpha1.CephTuningSweep) []client.Object { return []client.Object{w.replace(s, f)} }
	}
	return map[string]needed{
		"child": {
			moment: momentOfChild,
			moments: map[string][]moment{
				"Blocks":      {momentNamed, momentRunning, momentEnded, momentNamed, momentRunning},
				"Interleaved": {momentNamed, momentRunning, momentNamed},
			},
			attacks: map[string]attack{
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
		"windows": {
			moment:  momentOfWindows,
			moments: map[string][]moment{"Interleaved": {momentRunning, momentEnded}},
			attacks: map[string]attack{
				"takes the name":       forgesWindows(func(*v1alpha1.CephTuningSweep, *corev1.ConfigMap) {}),
				"takes name and owner": forgesWindows(ownedBySweep),
			},
		},
	}
}

// momentOfWindows is Ended once the operator has written the windows of a session into a ConfigMap.
func momentOfWindows(w *world, s *v1alpha1.CephTuningSweep) moment {
	if w.signedWindows(s) != nil {
		return momentEnded
	}
	return momentOfChild(w, s)
}

// signedWindows returns a ConfigMap with windows that the operator wrote; nil without one.
func (w *world) signedWindows(s *v1alpha1.CephTuningSweep) *corev1.ConfigMap {
	var all corev1.ConfigMapList
	if w.List(w.t.Context(), &all, client.InNamespace(w.namespace), client.HasLabels{archive.LabelSwitchedSession}) != nil {
		return nil // The test is ending.
	}
	for _, cm := range all.Items {
		if genuine, err := archive.Genuine(masterKey, s.UID, &cm); err == nil && genuine {
			return &cm
		}
	}
	return nil
}

// forgesWindows replaces the windows of a session by others. If the operator has not written any yet, it takes the names
// of those of this session and of the next one.
func forgesWindows(change func(*v1alpha1.CephTuningSweep, *corev1.ConfigMap)) attack {
	return func(w *world, s *v1alpha1.CephTuningSweep) (theirs []client.Object) {
		forge := func(name string, annotations map[string]string) {
			forged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Annotations: annotations}}
			change(s, forged)
			if err := w.Create(w.t.Context(), forged); err != nil && w.t.Context().Err() == nil {
				w.t.Error(err)
			}
			theirs = append(theirs, forged)
		}
		written := w.signedWindows(s)
		if written == nil {
			number := int(s.Status.Trial.Number)
			forge(sweepspec.SessionName(s, number), nil)
			forge(sweepspec.SessionName(s, number+1), nil)
			return theirs
		}
		if err := w.Delete(w.t.Context(), written); client.IgnoreNotFound(err) != nil {
			w.t.Error(err)
		}
		forge(written.Name, written.Annotations)
		return theirs
	}
}

func ownedBySweep(s *v1alpha1.CephTuningSweep, cm *corev1.ConfigMap) {
	cm.Labels = map[string]string{
		sweepspec.LabelSweep: sweepspec.SweepLabel(s), archive.LabelSwitchedSession: strconv.Itoa(int(s.Status.Trial.Number)),
	}
	cm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(sweepKind))}
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
func editsChild(change func(*v1alpha1.CephBenchmark)) attack {
	return func(w *world, s *v1alpha1.CephTuningSweep) []client.Object {
		child := &v1alpha1.CephBenchmark{}
		if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.Status.Trial.Name}, child); err != nil {
			return []client.Object{w.replace(s, forgedName)}
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
	a.add(kind.attacks[attack](w, s)...)
}

func (a *attacker) isDone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending) == 0
}

// After each attack on each name that a sweep needs, suspending and deleting the sweep restores Ceph within a bound, no
// run has a stranger's figure, no stranger's object is deleted, and no lock is left.
func TestNamesInStrangersHands(t *testing.T) {
	for design, spec := range map[string]string{"Blocks": keepsBest, "Interleaved": switchedSpec} {
		topics := map[string]map[string]story{}
		for kindName, kind := range kindsNeeded() {
			topics[kindName] = map[string]story{}
			for name := range kind.attacks {
				if moments := kind.moments[design]; len(moments) > 0 {
					topics[kindName][name] = func(w *world) { w.survives(spec, kind, name, &attacker{pending: slices.Clone(moments)}) }
				}
			}
		}
		t.Run(design, func(t *testing.T) { tell(t, "names-"+strings.ToLower(design[:1]), topics, nil) })
	}
}

// survives lets a sweep run under attack, suspends it, lets it go on under attack, and deletes it.
func (w *world) survives(spec string, kind needed, attack string, foe *attacker) {
	w.t.Helper()
	before := w.state()
	s := w.parse("s", spec)
	half := len(foe.pending) / 2
	w.between(s, func(s *v1alpha1.CephTuningSweep) { foe.act(w, s, kind, attack) })
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "attacked, and attacked again", func(s *v1alpha1.CephTuningSweep) bool {
		foe.mu.Lock()
		defer foe.mu.Unlock()
		return len(foe.pending) <= half || conditionTrue(v1alpha1.ConditionReady)(s)
	})
	began := time.Now()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool { return !(facts{sweep: s}).atWork() })
	w.wantRestored(s, before, foe, began)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "attacked to the end", func(s *v1alpha1.CephTuningSweep) bool {
		return foe.isDone() || conditionTrue(v1alpha1.ConditionReady)(s)
	})
	began = time.Now()
	w.delete(s)
	w.awaitGone(s)
	w.wantRestored(s, before, foe, began)
	if !foe.isDone() {
		w.t.Errorf("the sweep ended before the attacks %v", foe.pending)
	}
}

func (w *world) wantRestored(s *v1alpha1.CephTuningSweep, before string, foe *attacker, began time.Time) {
	w.t.Helper()
	if took := time.Since(began); took > bound {
		w.t.Errorf("the restore took %v, want at most %v", took, bound)
	}
	w.wantState(before)
	w.wantFreeLock()
	w.wantForeignUnused(s, foe.list()...)
	if w.t.Failed() {
		w.t.Log(fmt.Sprint("attacks left: ", foe.pending, ", runs: ", validities(s)))
	}
}
