package sweepspec

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// SharesPool reports whether all runs of a block may be on one scratch pool: no parameter is
// about the pool, and its OSDs are drawn for blocks, not for runs.
func SharesPool(spec *Spec) bool {
	return spec.Template.Target.ScratchPool != nil && !slices.ContainsFunc(spec.Parameters, func(p v1alpha1.Parameter) bool {
		return p.PoolOption != nil || p.OSDCount != nil || p.DeviceClass != nil
	})
}

// scratchPoolPer is what a sweep makes a scratch pool for; "" if it makes none.
func scratchPoolPer(spec *Spec) v1alpha1.ScratchPoolScope {
	switch {
	case spec.Template.Target.ScratchPool == nil:
		return ""
	case SharesPool(spec):
		return v1alpha1.ScratchPoolPerBlock
	}
	return v1alpha1.ScratchPoolPerRun
}

// SharesDataset reports whether they may be on the same data, too. Only the load may be varied
// then, and not how many clients have data or which objects it works on: options of OSDs decide
// how data are stored (bluestore_compression_mode, bluestore_csum_type), so data of one
// configuration would be read under another. Each run that is to begin with fresh data has its own.
func SharesDataset(spec *Spec) bool {
	return SharesPool(spec) && spec.Template.InitialState == v1alpha1.InitialStateKeep &&
		!slices.ContainsFunc(spec.Parameters, func(p v1alpha1.Parameter) bool {
			return p.Workload == nil || changesData(p.Workload.Field)
		})
}

// changesData reports whether a field of the load decides which objects or images there are.
func changesData(field v1alpha1.WorkloadField) bool {
	switch field { //nolint:exhaustive // The others are only how data are used.
	case v1alpha1.WorkloadClients, v1alpha1.WorkloadNumJobs, v1alpha1.WorkloadBlockSize, v1alpha1.WorkloadObjectSize:
		return true
	}
	return false
}
