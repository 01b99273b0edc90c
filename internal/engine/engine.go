// Package engine lists the benchmark engines. It makes the Load of a phase, and recognises and parses the
// output of an engine.
package engine

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/fio"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/radosbench"
	"github.com/cephtune/cephtune/internal/engine/rbdbench"
)

// These types are aliases of those in package parse, so that callers need only this package.
type (
	// Format is one output format of one engine.
	Format = parse.Format
	// Options holds facts about a run that its output may lack.
	Options = parse.Options
	// SyntaxError says that an output does not have the expected format.
	SyntaxError = parse.SyntaxError
	// Part is what the jobs of a run did together.
	Part = parse.Part
	// Figures are some figures of a run.
	Figures = parse.Figures
	// NoJobError says that an output lacks the wanted job.
	NoJobError = parse.NoJobError
	// IncompleteError says that an output was cut off, or that a run failed, was stopped, ended early or did
	// nothing.
	IncompleteError = parse.IncompleteError
)

// EndedEarly is the reason of an [IncompleteError] about a run that was much shorter than requested, moved too
// few bytes, or did not last a millisecond.
const EndedEarly = parse.EndedEarly

func engines() []load.Engine {
	return []load.Engine{
		radosbench.Engine(),
		rbdbench.Engine(),
		fio.Engine(),
	}
}

// Formats lists all formats, in the order in which Detect tries them. The order matters only for fio: an
// output with plain lines before its JSON counts as JSON.
func Formats() []Format {
	var formats []Format
	for _, e := range engines() {
		formats = append(formats, e.Formats...)
	}
	return formats
}

// SpecOf returns the part of a phase that belongs to the phase's engine; nil if the phase names no engine.
func SpecOf(phase *v1alpha1.Phase) Spec {
	for _, e := range engines() {
		if s := e.Spec(phase); s != nil {
			return s
		}
	}
	return nil
}

// TraitsOf returns the properties of a phase's load; the zero value if the phase names no engine.
func TraitsOf(phase *v1alpha1.Phase) Traits {
	if s := SpecOf(phase); s != nil {
		return s.Traits()
	}
	return Traits{}
}

// Lookup returns the format with the given name; false for an unknown name.
func Lookup(name string) (Format, bool) {
	return find(func(f Format) bool { return f.Name == name })
}

// Detect recognises the format of an output from its beginning. It uses at most [parse.HeadBytes] bytes.
func Detect(head []byte) (Format, bool) {
	head = head[:min(len(head), parse.HeadBytes)]
	return find(func(f Format) bool { return f.Detect(head) })
}

func find(matches func(Format) bool) (Format, bool) {
	formats := Formats()
	i := slices.IndexFunc(formats, matches)
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}
