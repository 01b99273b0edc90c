package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// These types are aliases of those in package load, so that callers need only this package.
type (
	// Load is a phase, ready to be turned into command lines.
	Load = load.Load
	// Piloted is a Load that may need pilots to determine its number of bytes.
	Piloted = load.Piloted
	// Curved is a Load that can offer any rate.
	Curved = load.Curved
	// Growing is a Load that may write new objects, so that the free space may limit it.
	Growing = load.Growing
	// Pilot is the outcome of a short run that measures how fast the clients are.
	Pilot = load.Pilot
	// Run is one run of a phase.
	Run = load.Run
	// Dataset is data that is prefilled, without being measured.
	Dataset = load.Dataset
	// Timing is how long a measurement takes.
	Timing = load.Timing
	// Spec is the part of a phase that belongs to one engine.
	Spec = load.Spec
	// Traits are the properties of a load that other packages need to know.
	Traits = load.Traits
	// FieldValue is the value of a field that a sweep varies.
	FieldValue = load.FieldValue
)

// LoadOf returns the Load of a phase. The error names a field that is missing or out of range. A phase that
// was admitted and has its defaults causes no error.
func LoadOf(phase v1alpha1.Phase) (Load, error) {
	made, err := loadOf(SpecOf(&phase))
	if err != nil {
		return nil, fmt.Errorf("phase %s: %w", phase.Name, err)
	}
	return made, nil
}

func loadOf(spec Spec) (Load, error) {
	if spec == nil {
		return nil, errors.New("set radosBench, rbdBench or fio")
	}
	return spec.Load()
}

// Cleanup returns the commands that tear down everything that the loads may have created for this client. The
// commands remove the data that runs wrote, and then the datasets, except datasets shared with other runs and
// data on a block device. All commands can be repeated; [load.Dataset] says when this is necessary.
func Cleanup(p place.Place, loads []Load) []task.Command {
	var commands []task.Command
	for _, l := range loads {
		commands = append(commands, l.Tidy(p, Run{})...)
	}
	for _, l := range loads {
		for _, dataset := range l.Datasets(p) {
			if !dataset.Shared {
				commands = append(commands, dataset.Remove...)
			}
		}
	}
	var once []task.Command
	for _, c := range commands {
		if !slices.ContainsFunc(once, c.Same) {
			once = append(once, c)
		}
	}
	return once
}

// Traces names the RADOS namespaces in which a client may have left objects.
type Traces struct {
	// Namespaces lists RADOS namespaces of the place's ObjectPool that must be empty after teardown.
	Namespaces []string
	// InDefault says that the default namespace of that pool may contain objects whose names begin with
	// [place.ObjectPrefix] and the place's Owner or DatasetOwner. A search for them has to list all objects
	// in that namespace, including foreign ones.
	InDefault bool
}

// TracesOf returns the Traces of a client with these loads.
func TracesOf(p place.Place, loads []Load) Traces {
	var namespaces []string
	for _, l := range loads {
		namespaces = append(namespaces, l.Namespaces(p)...)
	}
	slices.Sort(namespaces)
	traces := Traces{Namespaces: slices.Compact(namespaces)}
	if len(traces.Namespaces) > 0 && traces.Namespaces[0] == "" { // the default namespace
		traces.Namespaces, traces.InDefault = traces.Namespaces[1:], true
	}
	return traces
}

// DatasetBytes returns how many bytes a client prefills for the given loads. Data that several loads share
// counts once. Data that an earlier run has prefilled does not count.
func DatasetBytes(p place.Place, loads []Load) int64 {
	var bytes int64
	var keys []string
	for _, each := range loads {
		for _, dataset := range each.Datasets(p) {
			if !slices.Contains(keys, dataset.Key) {
				keys = append(keys, dataset.Key)
				if !dataset.There {
					bytes += dataset.Bytes
				}
			}
		}
	}
	return bytes
}
