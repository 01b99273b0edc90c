package cephtuningsweep

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// notAllowed says which part of a spec the administrator does not allow, and how to get permission; "" if
// everything is allowed. notAllowed does not check the varied options: makePlan does.
func notAllowed(spec v1alpha1.CephTuningSweepSpec, allowed *settings.Settings) string {
	if refusal := allowed.Refusal(spec.ClusterRef, spec.Template); refusal != "" {
		return refusal
	}
	cluster, _ := allowed.Cluster(spec.ClusterRef)
	if spec.Guardrails.OSDRestarts == v1alpha1.RestartAllow && !cluster.RestartOSDs {
		return "The operator config does not allow restarting OSDs. Ask the administrator to allow it (with Helm powers.restartOSDs, otherwise restartOSDs of the cluster and " +
			"config/ceph-osd-restarter), or remove guardrails.osdRestarts."
	}
	if sweepspec.ConfinesOSDs(&spec) && !cluster.MayPlacePGs() {
		return settings.NoPlacer
	}
	if cluster.Identities.Tuner != "" {
		return ""
	}
	const ask = "Ask the administrator for one (with Helm powers.changeSettings, otherwise identities.tuner of the cluster)"
	switch {
	case sweepspec.ChangesCeph(&spec):
		return "The operator has no identity that may change settings of Ceph. " + ask + ", or vary only the load or a scratch pool."
	case spec.Quiescence.Scrub == v1alpha1.ScrubPause:
		return "The operator has no identity that may pause scrubs. " + ask + ", or set quiescence.scrub to Record."
	}
	return ""
}

// heldPools returns the existing pools whose pg_num the sweep varies. The sweep turns off the autoscalers of
// these pools, because they would also change pg_num.
func heldPools(spec v1alpha1.CephTuningSweepSpec) []string {
	var pools []string
	for _, change := range sweepspec.Changes(&spec, nil) {
		if change.MovesPGs() && !slices.Contains(pools, change.Setting.Pool) {
			pools = append(pools, change.Setting.Pool)
		}
	}
	return pools
}
