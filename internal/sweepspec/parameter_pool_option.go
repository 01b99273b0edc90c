package sweepspec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

const (
	optionPGNum = "pg_num"
	optionSize  = "size"

	// paramAutoscaleMode is the option that, if it is on, lets Ceph change pg_num during a run.
	paramAutoscaleMode = "pg_autoscale_mode"
)

// poolOption varies an option of an existing pool, or of the scratch pools of trials.
type poolOption struct{ anyKind }

func (k poolOption) wanted(spec *Spec, value cephvalue.Value) string {
	scratch := spec.Template.Target.ScratchPool
	switch k.PoolOption.Option {
	case optionPGNum:
		// A scratch pool without a pg_num uses Ceph's default.
		if !isWithin(value, 1, 99999) && (value.Set || scratch == nil) {
			return "a whole number between 1 and 99999"
		}
	case "fast_read":
		return k.wantedOfFastRead(scratch, value)
	case "min_size":
		return "left to Ceph, which derives it from size"
	case optionSize:
		if k.isErasureCoded(scratch) {
			return "left out, since an erasure-coded pool has dataChunks and codingChunks"
		}
		if !isWithin(value, 1, 10) {
			return "a number of copies between 1 and 10"
		}
	}
	return ""
}

func (k poolOption) wantedOfFastRead(scratch *v1alpha1.ScratchPool, value cephvalue.Value) string {
	if scratch != nil && !k.isErasureCoded(scratch) {
		return "left out, since only erasure-coded pools have it"
	}
	if value.Set && !slices.Contains([]string{"0", "1", "false", "true"}, value.Text) {
		return "0, 1, false or true"
	}
	return ""
}

func isWithin(value cephvalue.Value, low, high int) bool {
	n, err := strconv.Atoi(value.Text)
	return err == nil && low <= n && n <= high
}

// isErasureCoded reports whether the parameter's pool is an erasure-coded scratch pool.
func (k poolOption) isErasureCoded(scratch *v1alpha1.ScratchPool) bool {
	return scratch != nil && scratch.ErasureCoded != nil && !k.ofMetadata()
}

func (k poolOption) ofMetadata() bool { return k.PoolOption.Role == v1alpha1.PoolRoleMetadata }

// fields returns where a scratch pool has the option size, nil for the data of an erasure-coded pool, and its other
// options.
func (k poolOption) fields(pool *v1alpha1.ScratchPool) (size *int32, others *map[string]v1alpha1.ParameterValue) {
	switch {
	case pool.ErasureCoded != nil && k.ofMetadata():
		return &pool.ErasureCoded.Metadata.Size, &pool.ErasureCoded.Metadata.Parameters
	case pool.Replicated != nil:
		return &pool.Replicated.Size, &pool.Parameters
	}
	return nil, &pool.Parameters
}

func (k poolOption) inTemplate(spec *Spec) (cephvalue.Value, error) {
	size, others := k.fields(spec.Template.Target.ScratchPool)
	if k.PoolOption.Option == optionSize && size != nil {
		return number(*size), nil
	}
	return plannerValue((*others)[string(k.PoolOption.Option)]), nil
}

// set sets an option of a scratch pool. If pg_num is varied, the autoscaler is off in every configuration, even in a
// baseline without a value for pg_num.
func (k poolOption) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	size, others := k.fields(t.Target.ScratchPool)
	if k.PoolOption.Option == optionSize {
		if copies := atoi32(value.Text); size != nil && copies > 0 { // Admission has refused other values.
			*size = copies
		}
		return nil
	}
	if *others == nil {
		*others = map[string]v1alpha1.ParameterValue{}
	}
	delete(*others, string(k.PoolOption.Option))
	if value.Set {
		(*others)[string(k.PoolOption.Option)] = apiValue(value)
	}
	if k.PoolOption.Option == optionPGNum {
		(*others)[paramAutoscaleMode] = "off"
	}
	return nil
}

func (k poolOption) setting(spec *Spec) (Change, bool) {
	target, pool := spec.Template.Target, k.PoolOption.Pool
	switch {
	case k.isErasureCoded(target.ScratchPool):
		pool = settings.ScratchDataPool
	case target.ScratchPool != nil:
		pool = settings.ScratchPool
	case pool == "" && target.ExistingPool != nil:
		if pool = target.ExistingPool.Name; !k.ofMetadata() {
			pool = cmp.Or(target.ExistingPool.DataPool, pool)
		}
	}
	setting := tuning.Setting{Kind: tuning.KindPoolOption, Pool: string(pool), Option: string(k.PoolOption.Option)}
	return Change{Parameter: k.Name, Change: tuning.Change{Setting: setting}, Own: target.ScratchPool != nil, Metadata: k.ofMetadata()}, true
}

func (k poolOption) notSwitched(spec *Spec, facts Facts) string {
	option, scratch := k.PoolOption.Option, spec.Template.Target.ScratchPool
	can, reason := settings.SwitchesInPool(string(option))
	switch {
	case !can:
		return fmt.Sprintf("%s is not switched, because %s.", option, reason)
	case scratch == nil:
		return fmt.Sprintf("%s is switched only in scratch pools.", option)
	case !k.isErasureCoded(scratch):
		return fmt.Sprintf("Only erasure-coded pools have %s.", option)
	case !facts.MaySwitchPools:
		return fmt.Sprintf("The tuner may not set %s of scratch pools.", option)
	}
	return ""
}

// aims: a scratch pool has most options from its creation, so pools with different values stand at once. An existing pool
// keeps its clients.
func (k poolOption) aims(spec *Spec) bool {
	scratch := spec.Template.Target.ScratchPool
	can, _ := settings.SwitchesInPool(string(k.PoolOption.Option))
	return scratch != nil && (!can || !k.isErasureCoded(scratch))
}

func (k poolOption) notAimed(spec *Spec, facts Facts) string { return k.notStanding(spec, facts) }

func (poolOption) traits() traits { return traits{pool: true} }
