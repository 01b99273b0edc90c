package sweepspec

// Noun is the word for what sessions compare, in sentences that fit each kind of treatment. Its plural ends in s.
type Noun string

// The nouns. A setting is switched; the others are targets, at which clients are aimed.
const (
	nounSetting Noun = "setting"
	nounDepth   Noun = "depth"
	nounPool    Noun = "pool"
)

// NounOf returns the noun of a spec.
func NounOf(spec *Spec) Noun {
	name := aimed(spec)
	for _, p := range spec.Parameters {
		switch {
		case p.Name != name:
		case p.Workload != nil:
			return nounDepth
		default:
			return nounPool
		}
	}
	return nounSetting
}

// Upper returns the noun for the beginning of a sentence.
func (n Noun) Upper() string { return string(n[0]-'a'+'A') + string(n[1:]) }

// Own names the scratch pools of one session, after "its own" or "the".
func (n Noun) Own() string {
	if n == nounPool {
		return "pools"
	}
	return "pool"
}

// these returns the pools that one session measures.
func (n Noun) these() string {
	if n == nounPool {
		return "these " + n.Own()
	}
	return "this " + n.Own()
}

// each says of which value there are several pools, after their number; "" if all values share them.
func (n Noun) each() string {
	if n == nounPool {
		return " of each value"
	}
	return ""
}
