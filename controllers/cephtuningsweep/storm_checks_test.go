package cephtuningsweep

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/storm"
)

// plantedDefect is a world in which one thing is wrong, or right, and the check that must tell them apart.
type plantedDefect struct {
	right, wrong, check func(*tempest)
	want                string // the violated invariant, and the beginning of its message
}

// A check of the storm that has never failed is no check.
func TestStormChecks(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	kinds := memapi.CompileKinds(t, apiserver.Root(t))
	for name, planted := range plantedDefects() {
		t.Run(name, func(t *testing.T) {
			look := func(prepare func(*tempest)) []string {
				return storm.Plot{Play: func(t *testing.T, s *storm.Story) {
					t.Helper()
					e := tempestOf(t, s, storm.InMemory(t, kinds))
					prepare(e)
					planted.check(e)
				}}.Failures(t, 1)
			}
			if found := look(planted.right); len(found) > 0 {
				t.Errorf("without the defect: %v", found)
			}
			if found := look(planted.wrong); len(found) == 0 || !strings.HasPrefix(found[0], planted.want) {
				t.Errorf("found %v, want %q", found, planted.want)
			}
		})
	}
}

// inCeph changes Ceph, without a word of the operator.
func inCeph(change func(*cephtest.Cluster)) func(*tempest) {
	return func(e *tempest) { e.ceph.Act(change) }
}

func plantedDefects() map[string]plantedDefect {
	right := func(*tempest) {}
	originals := func(want string, wrong func(*cephtest.Cluster)) plantedDefect {
		return plantedDefect{right: right, wrong: inCeph(wrong), check: (*tempest).wantSaid, want: "originals: " + want}
	}
	orphans := func(want string, wrong func(*tempest)) plantedDefect {
		return plantedDefect{right: right, wrong: wrong, check: (*tempest).wantNothing, want: "orphans: " + want}
	}
	defects := map[string]plantedDefect{
		"an option stays changed": originals("osd osd_mclock_profile is custom", func(c *cephtest.Cluster) { setProfile(c, "custom") }),
		"a flag stays":            originals("flags is", func(c *cephtest.Cluster) { c.Answers.OSDMap.Flags = append(c.Answers.OSDMap.Flags, "noout") }),
		"the balancer stays off":  originals("balancer is", func(c *cephtest.Cluster) { c.Answers.Balancer.Active = !c.Answers.Balancer.Active }),
		"pg_num stays changed": originals("pg_num of pool open is 64", func(c *cephtest.Cluster) {
			for i := range c.Answers.OSDMap.Pools {
				c.Answers.OSDMap.Pools[i].PGNumTarget = 64
			}
		}),
		"an original is not named": {
			right: func(e *tempest) {
				inCeph(func(c *cephtest.Cluster) { setProfile(c, "custom") })(e)
				e.reported["Not restored: osd osd_mclock_profile was unset."] = true
			},
			wrong: func(e *tempest) {
				inCeph(func(c *cephtest.Cluster) { setProfile(c, "custom") })(e)
				e.reported["Not restored: osd osd_mclock_profile was balanced."] = true
			},
			check: (*tempest).wantSaid, want: "originals: ",
		},
		"a benchmark is left": orphans("benchmark child is left", ownBenchmark),
		"a ConfigMap is left": orphans("1 ConfigMaps", func(e *tempest) {
			e.must(e.Create(e.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "windows"}}))
		}),
		"a scratch pool is left": orphans("the scratch pool", func(e *tempest) {
			e.rook.set(func(f *fakeRook) { f.pool.owner = objectref.Ref{UID: "gone"} })
		}),
		"a key is left":    orphans("cephtune/note in Ceph", inCeph(func(c *cephtest.Cluster) { c.Keys["cephtune/note"] = "x" })),
		"a lock is left":   {right: right, wrong: takeLease, check: (*tempest).wantGone, want: "orphans: journal \"\", lock of \"CephTuningSweep/"},
		"a sweep is stuck": {right: right, wrong: stick, check: (*tempest).wantRest, want: "deadline: "},
	}
	maps.Copy(defects, changesNotPlanned())
	maps.Copy(defects, wrongVerdicts())
	return defects
}

func setProfile(c *cephtest.Cluster, value string) {
	c.Answers.ConfigDump = append(slices.Clone(c.Answers.ConfigDump), ceph.ConfigEntry{Section: "osd", Name: "osd_mclock_profile", Value: value, Level: "advanced", Runtime: true})
}

func (e *tempest) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// ownBenchmark creates a benchmark of a sweep.
func ownBenchmark(e *tempest) {
	s := e.create("s", profile)
	child := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "child"}}
	child.Spec.ClusterRef, child.Spec.RunID, child.Spec.Template = s.Spec.ClusterRef, "1", s.Spec.Template
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))}
	e.must(e.Create(e.t.Context(), child))
}

// takeLease takes the lock for a sweep that does not exist.
func takeLease(e *tempest) {
	holder := "CephTuningSweep/bench/gone/1"
	e.must(e.Create(e.t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.operator, Name: "cephtune-" + cephtest.FSID},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: new(metav1.NewMicroTime(time.Now().Add(24 * time.Hour)))},
	}))
}

// stick creates a sweep that waits for the lock forever.
func stick(e *tempest) {
	takeLease(e)
	e.create("s", profile)
}

// changesNotPlanned has changes of Ceph that a manager may not make.
func changesNotPlanned() map[string]plantedDefect {
	const change = "osd osd_client_message_cap 64"
	planned := func(e *tempest) { e.plans, e.values["plan"] = []string{"plan"}, []string{change} }
	check := func(e *tempest) {
		e.wantAllowed(context.WithValue(e.t.Context(), strictKey{}, e.strict), cephtest.Call{Verb: "SetConfig", Args: change})
	}
	return map[string]plantedDefect{
		"a change is not planned": {right: planned, wrong: func(*tempest) {}, check: check, want: "planned: "},
		"a change is not allowed": {right: planned, wrong: func(e *tempest) { planned(e); e.strict = true }, check: check, want: "allowed: "},
	}
}

// wrongVerdicts has verdicts on a setting that makes the cluster faster.
func wrongVerdicts() map[string]plantedDefect {
	judged := func(verdict v1alpha1.SweepVerdict) func(*tempest) {
		return func(e *tempest) {
			s := e.create("s", profile)
			digest, err := sweepspec.Digest(&s.Spec)
			e.must(err)
			before := s.DeepCopy()
			s.Status.ObservedRunID, s.Status.Verdict = s.Spec.RunID, verdict
			s.Status.Plan = &v1alpha1.SweepPlan{SpecDigest: digest, Baseline: []v1alpha1.BaselineValue{{Name: s.Spec.Parameters[0].Name, Value: v1alpha1.Unset}}}
			e.must(e.Status().Patch(e.t.Context(), s, client.MergeFrom(before)))
		}
	}
	all := map[string]plantedDefect{}
	for _, wrong := range []v1alpha1.SweepVerdict{v1alpha1.VerdictInferior, v1alpha1.VerdictEquivalent} {
		all["the verdict is "+string(wrong)] = plantedDefect{
			right: judged(v1alpha1.VerdictSuperior), wrong: judged(wrong), check: (*tempest).wantVerdict, want: "verdicts: " + string(wrong),
		}
	}
	return all
}

func TestIsWrong(t *testing.T) {
	for _, tc := range []struct {
		verdict     v1alpha1.SweepVerdict
		worst, best float64
		want        bool
	}{
		{v1alpha1.VerdictSuperior, 1, 1, true},
		{v1alpha1.VerdictSuperior, 1, 1.4, false},
		{v1alpha1.VerdictBetter, 0.7, 1, true},
		{v1alpha1.VerdictBetter, 1, 1.1, false},
		{v1alpha1.VerdictInferior, 1, 1, true},
		{v1alpha1.VerdictInferior, 0.7, 1, false},
		{v1alpha1.VerdictEquivalent, 1.4, 1.4, true},
		{v1alpha1.VerdictEquivalent, 0.7, 0.7, true},
		{v1alpha1.VerdictEquivalent, 0.7, 1, false},
		{v1alpha1.VerdictInconclusive, 1.4, 1.4, false},
		{v1alpha1.VerdictInvalid, 0.7, 0.7, false},
	} {
		if got := isWrong(tc.verdict, tc.worst, tc.best); got != tc.want {
			t.Errorf("%s with gains from %v to %v: %t", tc.verdict, tc.worst, tc.best, got)
		}
	}
}
