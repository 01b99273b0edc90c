package start

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// design has the flags that say how configurations are compared.
type design struct {
	name  string
	quick bool

	// notSwitched says why --quick compares runs and does not switch settings; "" if it switches
	// settings, or if --design blocks rules that out.
	notSwitched string
}

func (d *design) add(flags *pflag.FlagSet) {
	flags.BoolVar(&d.quick, "quick", false, "decide in minutes: one session, in which settings are switched or pools are loaded in turn, and whose verdict holds only "+
		"for these pools, in this hour; or as few separate runs as possible, which prove only large effects")
	flags.StringVar(&d.name, "design", "auto", "auto, blocks or interleaved: compare runs of each configuration, or switch settings under a running load; auto switches where that is possible")
}

func (d *design) check() error {
	if d.wanted() == "" {
		return exit.UsageErrorf("--design %q: want auto, blocks or interleaved", d.name)
	}
	return nil
}

// wanted returns the design that --design names; "" if the flag names no design.
func (d *design) wanted() v1alpha1.SweepDesign {
	for _, known := range []v1alpha1.SweepDesign{v1alpha1.DesignAuto, v1alpha1.DesignBlocks, v1alpha1.DesignInterleaved} {
		if strings.EqualFold(d.name, string(known)) {
			return known
		}
	}
	return ""
}

// apply sets the strategy of a sweep. It fails if the spec rules out --design interleaved. It assumes that the
// administrator permits switching, because only the operator's plan shows whether that is so.
func (d *design) apply(spec *v1alpha1.CephTuningSweepSpec) error {
	wanted, strategy := d.wanted(), &spec.Strategy
	if wanted != v1alpha1.DesignAuto {
		strategy.Design = wanted
	}
	switch {
	case wanted == v1alpha1.DesignBlocks && d.quick:
		load.FewestRuns(strategy)
		return nil
	case wanted == v1alpha1.DesignBlocks, wanted == v1alpha1.DesignAuto && !d.quick:
		return nil
	}
	reason := load.NotInterleaved(spec)
	switch {
	case reason != "" && wanted == v1alpha1.DesignInterleaved:
		return exit.UsageErrorf("--design interleaved is not possible: %s Use --design blocks, which compares separate runs", reason)
	case d.quick:
		load.Quick(spec)
		d.notSwitched = reason
	}
	return nil
}

// refused says what to do if the operator config forbids switching the settings: the plan has another design than the
// spec requests. It returns "" for any other refusal.
func (d *design) refused(spec *v1alpha1.CephTuningSweepSpec, plan *v1alpha1.SweepPlan) string {
	if wanted := spec.Strategy.Design; wanted == "" || wanted == v1alpha1.DesignAuto || wanted == plan.Design {
		return ""
	}
	text := ". Add --design blocks to compare separate runs instead"
	if sweepspec.Aims(spec) {
		return text
	}
	return text + "; or the administrator sets switchUnderLoad of the option in the operator config"
}

// hint explains the effect that --quick has, or would have, on this plan; "" if it needs no
// explanation.
func (d *design) hint(spec *v1alpha1.CephTuningSweepSpec, plan *v1alpha1.SweepPlan) string {
	switch {
	case d.quick && plan.Sessions == 0:
		text := "--quick plans as few runs as possible. They prove only large effects: see the smallest effect."
		if d.notSwitched != "" {
			text += " Windows under one load are not possible: " + d.notSwitched
		}
		return text + "\n"
	case plan.Sessions > 1:
		return fmt.Sprintf("--quick would take one session; its verdict would hold only %s.\n", strings.Replace(sweepspec.NounOf(spec).HourNote(), "on ", "for ", 1))
	}
	return ""
}
