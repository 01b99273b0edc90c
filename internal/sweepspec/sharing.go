package sweepspec

import (
	"fmt"
	"slices"
	"strings"

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
		if p.PoolOption != nil || p.OSDCount != nil || p.DeviceClass != nil || p.Redundancy != nil {
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
func datasetPer(spec *Spec, needRestart []v1alpha1.ParameterName) (per v1alpha1.MadeFor, why string) {
	shareable, own := datasets(spec)
	if shareable+own == 0 {
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
		if why := needsOwnData(p, slices.Contains(needRestart, p.Name)); why != "" {
			return v1alpha1.MadeForRun, fmt.Sprintf("parameter %s %s", p.Name, why)
		}
	}
	switch {
	case shareable == 0:
		return v1alpha1.MadeForRun, radosBenchNames
	case own > 0:
		return v1alpha1.MadeForBlock, radosBenchNames
	}
	return v1alpha1.MadeForBlock, ""
}

// needsOwnData says why runs with different values of a parameter cannot share data; "" if they can share
// data.
func needsOwnData(p v1alpha1.Parameter, restarts bool) string {
	switch {
	case restarts:
		return "restarts OSDs, which empties their caches"
	case p.Workload != nil && changesData(p.Workload.Field):
		return "decides which data exist"
	case p.Config != nil && !keepsData(string(p.Config.Option)):
		return fmt.Sprintf("may decide how data are stored (%s)", p.Config.Option)
	}
	return ""
}

// changesData reports whether a field of the load decides which objects or images exist.
func changesData(field v1alpha1.WorkloadField) bool {
	switch field { //nolint:exhaustive // Other fields decide only how data are used.
	case v1alpha1.WorkloadClients, v1alpha1.WorkloadNumJobs, v1alpha1.WorkloadBlockSize, v1alpha1.WorkloadObjectSize:
		return true
	}
	return false
}

// keepsData reports whether an option is known not to affect how data are stored. Other options, such as
// bluestore_csum_type or bluestore_prefer_deferred_size, may affect it.
func keepsData(option string) bool {
	if strings.HasPrefix(option, "osd_pool_default_") {
		return false
	}
	return slices.ContainsFunc([]string{"osd_", "ms_", "objecter_", "bluestore_throttle_", "bluestore_cache_"}, func(prefix string) bool {
		return strings.HasPrefix(option, prefix)
	})
}

// datasets counts a client's datasets. The result named shareable is the number of datasets that other runs can
// reuse. The result named own is the number of the others.
func datasets(spec *Spec) (shareable, own int) {
	at := placeOf(spec.Template, 1<<30)
	at.DatasetOwner = "block"
	for _, phase := range spec.Template.Phases {
		load, err := engine.LoadOf(phase)
		if err != nil {
			continue // Another check reports the error.
		}
		for _, d := range load.Datasets(at) {
			if d.Shared {
				shareable++
			} else {
				own++
			}
		}
	}
	return shareable, own
}
