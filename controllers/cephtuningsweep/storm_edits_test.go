package cephtuningsweep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// shown returns the value of each setting, with the setting's name in messages.
func (w *world) shown() map[string]string {
	all := map[string]string{}
	for _, option := range []string{"osd_mclock_profile", "osd_client_message_cap", "osd_memory_target", "osd_max_backfills", "osd_op_num_shards"} {
		all["osd "+option] = "unset"
		if value, set := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, option); set {
			all["osd "+option] = value
		}
	}
	pool := w.ceph.Pool("open")
	all["pg_num of pool open"] = strconv.Itoa(pool.PGNumTarget)
	all["pg_autoscale_mode of pool open"] = pool.AutoscaleMode
	w.ceph.Act(func(c *cephtest.Cluster) {
		all["flags"] = fmt.Sprint(c.Answers.OSDMap.Flags)
		all["balancer"] = strconv.FormatBool(c.Answers.Balancer.Active)
	})
	return all
}

func tuningVerbs() []string {
	return []string{"SetConfig", "RemoveConfig", "SetPoolOption", "UnsetPoolOption"}
}

// parseCall returns the setting of a change, with its name in messages, and the value.
func parseCall(call cephtest.Call) (setting, value string) {
	words := strings.Fields(call.Args)
	value = "unset"
	if len(words) > 2 {
		value = words[2]
	}
	if strings.HasSuffix(call.Verb, "PoolOption") {
		return words[1] + " of pool " + words[0], value
	}
	return words[0] + " " + words[1], value
}

// may reports whether the administrator allows a change to the manager that makes it.
func (e *tempest) may(strict bool, setting, value string) bool {
	switch setting {
	case "osd osd_client_message_cap":
		return value == "unset" || value == "1K" || within(value, 128, 16384) || !strict && within(value, 16, 16384) // The default is 256.
	case "pg_num of pool open":
		return within(value, 8, 48) || !strict && within(value, 8, 128)
	case "pg_autoscale_mode of pool open":
		return value == "off"
	case "osd osd_mclock_profile":
		return !strict && slices.Contains([]string{"unset", "balanced", "high_recovery_ops", "high_client_ops", "custom"}, value)
	case "osd osd_op_num_shards":
		return !strict && (value == "unset" || within(value, 1, 64))
	}
	return false
}

func within(value string, low, high int) bool {
	n, err := strconv.Atoi(value)
	return err == nil && low <= n && n <= high
}

// mayTell records the changes that the plan of a spec permits.
func (e *tempest) mayTell(s *v1alpha1.CephTuningSweep) {
	e.t.Helper()
	digest, err := sweepspec.Digest(&s.Spec)
	if err != nil {
		e.story.Fail("harness", "digest: %v", err)
	}
	var all []string
	for _, p := range s.Spec.Parameters {
		values := slices.Clone(p.Values)
		if s.Spec.Baseline != nil && s.Spec.Baseline.Values[string(p.Name)] != "" {
			values = append(values, s.Spec.Baseline.Values[string(p.Name)])
		}
		for _, value := range values {
			text := string(value)
			if value == v1alpha1.Unset {
				text = "unset"
			}
			switch {
			case p.Config != nil:
				all = append(all, strings.TrimSuffix("osd/"+p.Config.Mask, "/")+" "+string(p.Config.Option)+" "+text)
			case p.PoolOption != nil:
				all = append(all, string(p.PoolOption.Option)+" of pool "+cmp.Or(string(p.PoolOption.Pool), "open")+" "+text)
			}
		}
	}
	e.values[digest] = all
}

// allowedParameters returns parameters that editors may use.
func allowedParameters() []string {
	return []string{
		`{name: a, config: {option: osd_mclock_profile}, values: [high_client_ops]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["64", Unset]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["1K"]}`,
		`{name: a, poolOption: {option: pg_num, method: InPlace}, values: ["64"]}`,
	}
}

// otherParameters returns parameters that they may not use.
func otherParameters() []string {
	return []string{
		`{name: a, config: {option: osd_client_message_cap}, values: ["1"]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["0x20"]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["16385"]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["1M"]}`,
		`{name: a, config: {option: osd_client_message_cap, mask: "class:ssd"}, values: ["64"]}`,
		`{name: a, config: {option: osd_memory_target}, values: ["68719476736"]}`,
		`{name: a, config: {option: osd_memory_target}, values: [Unset]}`,
		`{name: a, config: {option: osd_max_backfills}, values: ["50"]}`,
		`{name: a, config: {option: osd_op_num_shards}, values: ["4"]}`,
		`{name: a, config: {option: debug_osd}, values: ["20"]}`,
		`{name: a, poolOption: {option: pg_num, method: InPlace}, values: ["256"]}`,
		`{name: a, poolOption: {option: size, method: InPlace}, values: ["1"]}`,
		`{name: a, poolOption: {option: pg_num, pool: others, method: InPlace}, values: ["64"]}`,
	}
}

// anyOf returns a random element.
func anyOf[T any](e *tempest, all []T) T { return all[e.random.IntN(len(all))] }

// spec returns a random spec. Most of them may run.
func (e *tempest) spec() string {
	shape := anyOf(e, []string{profile, profile, profile, profileOnPools, restarting(), switchedSpec, switchedSpec, depthSpec, poolsSpec})
	if shape == profile {
		parameters := allowedParameters()
		if e.random.IntN(6) == 0 {
			parameters = otherParameters()
		}
		_, objective, _ := strings.Cut(profile, "\nobjective:")
		shape = profileTemplate + "parameters:\n- " + anyOf(e, parameters) + "\nobjective:" + objective
	}
	shape += `runID: "` + anyOf(e, []string{"1", "2"}) + "\"\n"
	if e.random.IntN(3) == 0 {
		shape += "onCompletion: KeepBest\nkeepScope: Pool\n"
	}
	return shape
}

// respec copies the fields that decide the verdict from another sweep.
func respec(s, from *v1alpha1.CephTuningSweep) {
	runID, suspend, mode := s.Spec.RunID, s.Spec.Suspend, s.Spec.Mode
	s.Spec = from.Spec
	s.Spec.RunID, s.Spec.Suspend, s.Spec.Mode = runID, suspend, mode
}

// edits returns the possible edits of a sweep, by name.
func (e *tempest) edits() map[string]func(s *v1alpha1.CephTuningSweep) {
	run := func(id v1alpha1.RunID) func(*v1alpha1.CephTuningSweep) {
		return func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID = id }
	}
	return map[string]func(*v1alpha1.CephTuningSweep){
		"suspend": func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true },
		"resume":  func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false },
		"run 1":   run("1"),
		"run 2":   run("2"),
		resumeAsPlanned: func(s *v1alpha1.CephTuningSweep) { // with its current spec, whatever that is
			s.Spec.RunID, s.Spec.Suspend = cmp.Or(s.Status.ObservedRunID, "1"), false
		},
		"another spec": func(s *v1alpha1.CephTuningSweep) {
			respec(s, e.sweep())
			s.Spec.RunID, s.Spec.Suspend = v1alpha1.RunID(strconv.Itoa(e.random.IntN(1000))), false
		},
		anotherSpec: func(s *v1alpha1.CephTuningSweep) {
			respec(s, e.sweep())
			s.Spec.RunID, s.Spec.Suspend = "other", true
		},
		"keep": func(s *v1alpha1.CephTuningSweep) {
			s.Spec.OnCompletion, s.Spec.KeepScope = v1alpha1.CompletionKeepBest, v1alpha1.ScopePool
		},
		"restore": func(s *v1alpha1.CephTuningSweep) { s.Spec.OnCompletion = v1alpha1.CompletionRestore },
		"plan":    func(s *v1alpha1.CephTuningSweep) { s.Spec.Mode, s.Spec.RunID = v1alpha1.SweepModePlan, "plan" },
		"abandon": func(s *v1alpha1.CephTuningSweep) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
		},
		"do not abandon": func(s *v1alpha1.CephTuningSweep) { delete(s.Annotations, v1alpha1.AnnotationAbandonRestore) },
		"nodes": func(s *v1alpha1.CephTuningSweep) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, AnnotationNodes, anyOf(e, []string{"1 nowhere", "1", "2 " + ofBackground, "x y z"}))
		},
		"no finalizer": func(s *v1alpha1.CephTuningSweep) { controllerutil.RemoveFinalizer(s, Finalizer) },
	}
}

// sweep returns a random sweep. It does not create it.
func (e *tempest) sweep() *v1alpha1.CephTuningSweep {
	return e.parse("s", e.spec())
}

const (
	anotherSpec     = "another spec, suspended"
	resumeAsPlanned = "resume as planned"
)

// likely returns edits that matter to the sweep in its state, and sometimes another one.
func (e *tempest) likely(s *v1alpha1.CephTuningSweep) (names []string) {
	likely := []string{anotherSpec, anotherSpec, "suspend", "run 1", "run 2", "abandon", "restore", "keep"}
	switch {
	case s.Spec.Suspend:
		likely = []string{anotherSpec, "resume", "resume", resumeAsPlanned, resumeAsPlanned, resumeAsPlanned, "do not abandon"}
	case facts{sweep: s}.ended():
		likely = []string{"another spec", "another spec", "another spec", "another spec", "run 1", "run 2"}
	}
	for range 1 + e.random.IntN(5)/4 {
		name := anyOf(e, likely)
		if e.random.IntN(5) == 0 {
			name = anyOf(e, slices.Sorted(maps.Keys(e.edits())))
		}
		names = append(names, name)
	}
	return names
}

// edit makes one random edit, which admission may refuse.
func (e *tempest) edit() {
	s, there := e.current()
	if !there {
		s = e.sweep()
		e.edited("create", e.Create(e.t.Context(), s))
		e.mayTell(s)
		return
	}
	if e.random.IntN(12) == 0 {
		e.edited("delete", e.Delete(e.t.Context(), s))
		return
	}
	names := e.likely(s)
	e.patch(s, names)
	if slices.Contains(names, anotherSpec) && e.random.IntN(3) > 0 { // before the next pass
		e.patch(s, []string{resumeAsPlanned})
	}
}

// patch makes several edits at once.
func (e *tempest) patch(s *v1alpha1.CephTuningSweep, names []string) {
	before := s.DeepCopy()
	for _, name := range names {
		e.edits()[name](s)
	}
	e.edited(strings.Join(names, ", "), e.Patch(e.t.Context(), s, client.MergeFrom(before)))
	e.mayTell(s)
}

// allow toggles whether the administrator allows less. Managers that start from now on apply it.
func (e *tempest) allow() {
	e.strict = !e.strict
	e.story.Note("the administrator allows less: %t", e.strict)
	e.allowed = allowances()
	if e.strict {
		e.allowed.Clusters[0].Options = []settings.Option{
			{Name: "osd_client_message_cap", Min: "128", Max: "16384"},
			{Name: "pg_num", Pool: "open", Min: "8", Max: "48"},
		}
	}
}

// edited notes an edit.
func (e *tempest) edited(edit string, err error) {
	e.story.Note("edit: %s %s", edit, apierrors.ReasonForError(err))
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
		e.story.Fail("harness", "%s: %v", edit, err)
	}
}
