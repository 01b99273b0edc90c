package sweepspec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/stats"
)

// blocksScope returns the scope of the verdict of a sweep of the design Blocks. A setting stays applied for a
// whole run. With scratch pools, each block has a pool of its own.
func blocksScope(spec *Spec, c *sweep.Conclusion) v1alpha1.SweepScope {
	enough := slices.ContainsFunc(c.Rows, func(r sweep.Row) bool {
		return r.Configuration == c.Best && r.Assessment.Runs >= stats.MinRuns
	})
	if enough && spec.Template.Target.ScratchPool != nil {
		return v1alpha1.ScopePools
	}
	return v1alpha1.ScopePool
}

// MayKeep reports whether the settings of a winner may stay, if the verdict has the given scope.
func MayKeep(spec *Spec, scope v1alpha1.SweepScope) bool {
	return scope.Covers(cmp.Or(spec.KeepScope, v1alpha1.ScopeCluster))
}

// notKept says that KeepBest does not leave a winner's settings applied; "" if it does, or was not requested.
func notKept(spec *Spec, scope v1alpha1.SweepScope) string {
	if spec.OnCompletion != v1alpha1.CompletionKeepBest || MayKeep(spec, scope) {
		return ""
	}
	return fmt.Sprintf(" It is not kept: keepScope requires %s.", cmp.Or(spec.KeepScope, v1alpha1.ScopeCluster))
}

// HasPatch reports whether a winner becomes a patch for Git. A verdict about one pool only does if all parameters
// are options of that pool: then other pools need no evidence.
func HasPatch(spec *Spec, scope v1alpha1.SweepScope) bool {
	if scope.Covers(v1alpha1.ScopePools) {
		return true
	}
	ofPool := slices.DeleteFunc(Changes(spec, nil), func(c Change) bool { return c.ofOSDs() })
	return scope == v1alpha1.ScopePool && len(ofPool) == len(spec.Parameters)
}

// switchedNote limits what a verdict from short windows speaks for.
const switchedNote = ", in switched windows"

// ScopeNote says what a verdict of the given scope speaks for; "" for the largest scope, and for an unknown one.
func ScopeNote(spec *Spec, plan *v1alpha1.SweepPlan, scope v1alpha1.SweepScope) string {
	limit := ""
	if scope == v1alpha1.ScopeWindows || plan != nil && Draws(spec, plan) {
		limit = switchedNote
	}
	switch scope {
	case v1alpha1.ScopeWindows, v1alpha1.ScopePool:
		return NounOf(spec).HourNote() + limit
	case v1alpha1.ScopePools:
		return "on several pools, in this hour" + limit
	default:
		return ""
	}
}
