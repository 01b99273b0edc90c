package sweepspec

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Effects lists everything that a planned sweep does to the cluster, as verbs with their objects.
func Effects(spec *Spec, p *v1alpha1.SweepPlan) []string {
	all := []string{"put the cluster under load"}
	if spec.Template.Target.ScratchPool != nil {
		text := "create scratch pools, one at a time, and remove each"
		if HasWindows(p) && NounOf(spec) == nounPool {
			text = "create scratch pools, one for each configuration at a time, and remove them"
		}
		if p.PlacementGroupChanges > 0 {
			text += fmt.Sprintf("; up to %d placement groups are created, split or merged in all", p.PlacementGroupChanges)
		}
		all = append(all, text)
	}
	var pools []string
	for _, change := range Changes(spec, nil) {
		all = append(all, fmt.Sprintf("change %s, %s", change.Place(), WordsOf(spec, p).Changes))
		if change.MovesPGs() && !slices.Contains(pools, change.Setting.Pool) {
			pools = append(pools, change.Setting.Pool)
		}
	}
	for _, pool := range pools {
		all = append(all, fmt.Sprintf("split and merge placement groups of pool %s, up to %d in all, which moves its data", pool, p.PlacementGroupChanges), "turn the autoscaler of pool "+pool+" off")
	}
	if p.OSDRestarts > 0 {
		all = append(all, fmt.Sprintf("restart OSDs, up to %d times in all", p.OSDRestarts))
	}
	all = append(all, "turn the balancer off")
	if spec.Quiescence.Scrub == v1alpha1.ScrubPause {
		all = append(all, "set the flags noscrub and nodeep-scrub")
	}
	if spec.OnCompletion == v1alpha1.CompletionKeepBest {
		return append(all, "restore everything at the end, except settings of a winner (onCompletion: KeepBest)")
	}
	return append(all, "restore everything at the end")
}
