package sweepspec

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Noun is the word for what sessions compare, in sentences that fit each kind of treatment. Its plural ends in s.
type Noun string

// The nouns. A setting is switched; the others are targets, at which clients are aimed.
const (
	nounSetting Noun = "setting"
	nounDepth   Noun = "depth"
	nounImage   Noun = "image"
	nounVolume  Noun = "volume"
	nounPool    Noun = "pool"
)

// NounOf returns the noun of a spec. If targets differ in several ways, it is that of the largest thing.
func NounOf(spec *Spec) Noun {
	all := []Noun{nounSetting, nounDepth, nounImage, nounVolume, nounPool}
	largest := 0
	for _, p := range spec.Parameters {
		if kindOf(p).aims(spec) {
			largest = max(largest, slices.Index(all, targetOf(p)))
		}
	}
	return all[largest]
}

// targetOf returns the noun of a parameter whose values are targets.
func targetOf(p v1alpha1.Parameter) Noun {
	switch {
	case p.Workload != nil:
		return nounDepth
	case p.ImageObjectSize != nil:
		return nounImage
	case p.StorageClass != nil:
		return nounVolume
	}
	return nounPool
}

// Upper returns the noun for the beginning of a sentence.
func (n Noun) Upper() string { return string(n[0]-'a'+'A') + string(n[1:]) }

// PoolsOfSession names the scratch pools of one session, after "its own" or "the".
func (n Noun) PoolsOfSession() string {
	if n == nounPool {
		return "pools"
	}
	return "pool"
}

// HourNote says what a verdict speaks for that one session gives.
func (n Noun) HourNote() string { return "on " + n.these() + ", in this hour" }

// these names what one session measures: a verdict about it alone speaks of nothing else.
func (n Noun) these() string {
	if n == nounPool || n == nounVolume {
		return "these " + string(n) + "s"
	}
	return "this pool"
}

// each says of which value there are several pools, after their number; "" if all values share them.
func (n Noun) each() string {
	if n == nounPool {
		return " of each value"
	}
	return ""
}
