package sweepspec

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
)

// SharesPool reports whether all runs of a block may use one scratch pool, because no parameter changes the
// pool. A pool that is confined to some OSDs may be shared too, because its OSDs are drawn once for each
// attempt at a block.
func SharesPool(spec *Spec) bool {
	return spec.Template.Target.ScratchPool != nil && aboutPool(spec) == ""
}

// aboutPool returns the first parameter that requires a separate pool for each run; "" if no parameter does.
func aboutPool(spec *Spec) v1alpha1.ParameterName {
	for _, p := range spec.Parameters {
		if kindOf(p).traits().pool {
			return p.Name
		}
	}
	return ""
}

// scratchPoolPer says whether a sweep creates a scratch pool for each run or for each block; "" if it creates
// no pool.
func scratchPoolPer(spec *Spec) v1alpha1.MadeFor {
	switch {
	case spec.Template.Target.ScratchPool == nil:
		return ""
	case SharesPool(spec):
		return v1alpha1.MadeForBlock
	}
	return v1alpha1.MadeForRun
}

// radosBenchNames is the reason for prefilling each run. rados bench finds objects by their names, which
// contain the host name of its pod and the ID of its process. The pool records the ID, but each benchmark has
// pods with other host names.
const radosBenchNames = "rados bench finds only objects that its own pod wrote, so it prefills for each run"

// datasetPer returns whether a sweep prefills data for each run or for each block; "" if no phase needs data.
// It also returns why some or all data are prefilled for each run. The argument needRestart lists the
// parameters that OSDs read only when they start.
//
// Runs do not share data if a parameter decides how data are stored. A run would otherwise read data that
// were written with another value, and so test neither value fairly. If a parameter restarts OSDs, runs do
// not share data, because only the runs after a restart would begin with empty caches.
func datasetPer(spec *Spec, needRestart []v1alpha1.ParameterName) (per v1alpha1.MadeFor, reason string) {
	shareable, unshared := datasets(spec)
	if shareable+unshared == 0 {
		return "", ""
	}
	switch state := spec.Template.InitialState; {
	case spec.Template.Target.ScratchPool == nil:
		return v1alpha1.MadeForRun, "the target is not a scratch pool"
	case !SharesPool(spec):
		return v1alpha1.MadeForRun, fmt.Sprintf("parameter %s changes the pool", aboutPool(spec))
	case state == v1alpha1.InitialStateFresh || state == v1alpha1.InitialStateRollback:
		return v1alpha1.MadeForRun, fmt.Sprintf("initialState is %s", state)
	}
	for _, p := range spec.Parameters {
		reason := kindOf(p).traits().data
		if slices.Contains(needRestart, p.Name) {
			reason = "restarts OSDs, which empties their caches"
		}
		if reason != "" {
			return v1alpha1.MadeForRun, fmt.Sprintf("parameter %s %s", p.Name, reason)
		}
	}
	switch {
	case shareable == 0:
		return v1alpha1.MadeForRun, radosBenchNames
	case unshared > 0:
		return v1alpha1.MadeForBlock, radosBenchNames
	}
	return v1alpha1.MadeForBlock, ""
}

// datasets counts a client's datasets. The result named shareable is the number of datasets that other runs can
// reuse. The result named unshared is the number of the others.
func datasets(spec *Spec) (shareable, unshared int) {
	where := placeOf(spec.Template, 1<<30)
	where.DatasetOwner = "block"
	for _, phase := range spec.Template.Measured() {
		load, err := engine.LoadOf(phase)
		if err != nil {
			continue // Another check reports the error.
		}
		for _, d := range load.Datasets(where) {
			if d.Shared {
				shareable++
			} else {
				unshared++
			}
		}
	}
	return shareable, unshared
}
