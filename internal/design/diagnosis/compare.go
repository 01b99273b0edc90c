package diagnosis

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/stats"
)

// This file compares two diagnoses.

// Outcome is a diagnosis that has ended.
type Outcome struct {
	Asked   v1alpha1.Diagnosis
	Result  v1alpha1.DiagnosisResult
	Windows []Window
}

// State says what has become of a finding.
type State string

// The states. A finding is Unknown if one of the diagnoses has it, and the other could not look for it.
const (
	New     State = "New"
	Gone    State = "Gone"
	Still   State = "Still"
	Unknown State = "Unknown"
)

// Change is a finding of one or both diagnoses.
type Change struct {
	Code  string `json:"code"`
	State State  `json:"state"`
	// A and B are the findings; nil if the diagnosis does not have it.
	A *v1alpha1.Finding `json:"a,omitempty"`
	B *v1alpha1.Finding `json:"b,omitempty"`
	// Reason says why the state is Unknown.
	Reason string `json:"reason,omitempty"`
}

// Worse reports whether the second diagnosis is surer of a finding, and calls it Certain or Likely.
func (c Change) Worse() bool {
	return c.State != Unknown && alarming(c.B) && !alarming(c.A)
}

// Unclear reports whether a finding that a diagnosis calls Certain or Likely is Unknown.
func (c Change) Unclear() bool { return c.State == Unknown && (alarming(c.A) || alarming(c.B)) }

func alarming(f *v1alpha1.Finding) bool {
	return f != nil && Alarming(v1alpha1.DiagnosisResult{Findings: []v1alpha1.Finding{*f}})
}

// Changes compares the findings of two diagnoses, those of b first.
func Changes(a, b Outcome) []Change {
	all := []Change{}
	for i := range b.Result.Findings {
		all = append(all, change(a, b, b.Result.Findings[i].Code))
	}
	for i := range a.Result.Findings {
		if code := a.Result.Findings[i].Code; b.finding(code) == nil {
			all = append(all, change(a, b, code))
		}
	}
	return all
}

func change(a, b Outcome, code string) Change {
	c := Change{Code: code, A: a.finding(code), B: b.finding(code)}
	switch {
	case slices.Contains([]string{"FewPGs", "PoolCompressed"}, code) && a.Asked.Pool != b.Asked.Pool:
		c.State, c.Reason = Unknown, fmt.Sprintf("A is %s, and B %s.", a.subject(), b.subject())
	case c.A != nil && c.B != nil:
		c.State = Still
	case c.A == nil && slices.Contains(a.Result.Checked, code):
		c.State = New
	case c.B == nil && slices.Contains(b.Result.Checked, code):
		c.State = Gone
	case c.A == nil:
		c.State, c.Reason = Unknown, "A could not look for it."
	default:
		c.State, c.Reason = Unknown, "B could not look for it."
	}
	return c
}

func (o Outcome) subject() string {
	if o.Asked.Pool == "" {
		return "of no pool"
	}
	return "of pool " + string(o.Asked.Pool)
}

func (o Outcome) finding(code string) *v1alpha1.Finding {
	i := slices.IndexFunc(o.Result.Findings, func(f v1alpha1.Finding) bool { return f.Code == code })
	if i < 0 {
		return nil
	}
	return &o.Result.Findings[i]
}

// LayerChange is the difference of a layer's mean time, or of that of whole operations.
type LayerChange struct {
	Operation v1alpha1.LayeredOperation `json:"operation"`
	Layer     string                    `json:"layer"`
	// A and B are means of the rounds, and Difference is B less A. Low and High are the ends of its 95 % interval.
	A          float64 `json:"aSeconds"`
	B          float64 `json:"bSeconds"`
	Difference float64 `json:"differenceSeconds"`
	Low        float64 `json:"lowSeconds"`
	High       float64 `json:"highSeconds"`
}

// LayerWhole is the code of whole operations in a [LayerChange].
const LayerWhole = "Whole"

// OtherLoad says how the loads of two diagnoses with layers differ; nil if they do not.
func OtherLoad(a, b Outcome) (differences []string) {
	x, y := a.Asked.Layers, b.Asked.Layers
	if x == nil || y == nil {
		return nil
	}
	differ := func(name string, of func(v1alpha1.DiagnosisLayers) string) {
		if first, second := of(*x), of(*y); first != second {
			differences = append(differences, fmt.Sprintf("%s: %q and %q", name, first, second))
		}
	}
	differ("copies", func(l v1alpha1.DiagnosisLayers) string { return fmt.Sprint(l.Copies) })
	differ("blockSize", func(l v1alpha1.DiagnosisLayers) string { return l.BlockSize.String() })
	differ("failureDomain", func(l v1alpha1.DiagnosisLayers) string { return l.FailureDomain })
	differ("deviceClass", func(l v1alpha1.DiagnosisLayers) string { return l.DeviceClass })
	return differences
}

// LayerChanges compares the layers of the rounds that count, by Welch's method, for the operations of which both diagnoses
// have layers. It compares time and not shares: what one layer saves, the shares of the others gain. The loads have to be alike.
func LayerChanges(a, b Outcome) (all []LayerChange, err error) {
	for _, o := range []v1alpha1.LayeredOperation{v1alpha1.LayeredWrite, v1alpha1.LayeredRead} {
		ofA, ofB := a.rounds(o), b.rounds(o)
		if len(ofA) < leastRounds || len(ofB) < leastRounds {
			continue
		}
		layers := append(parts(o == v1alpha1.LayeredWrite), part{LayerWhole, func(p pair) float64 { return p.several.whole }})
		if timedNetwork(ofA) && timedNetwork(ofB) {
			layers = append(layers, networkPart())
		}
		for _, layer := range layers {
			c := LayerChange{Operation: o, Layer: layer.code, A: mean(ofA, layer.of), B: mean(ofB, layer.of)}
			difference, bounds, err := stats.WelchDifference(each(ofA, layer.of), each(ofB, layer.of), confidence)
			if err != nil {
				return nil, err
			}
			c.Difference, c.Low, c.High = difference, bounds.Low, bounds.High
			all = append(all, c)
		}
	}
	return all, nil
}

// rounds returns the rounds of an operation that count.
func (o Outcome) rounds(operation v1alpha1.LayeredOperation) []pair {
	if o.Asked.Layers == nil {
		return nil
	}
	rounds, _ := pairs(int(o.Asked.Layers.Copies), operation == v1alpha1.LayeredWrite, o.Windows)
	return rounds
}

func each(rounds []pair, of func(pair) float64) (all []float64) {
	for _, p := range rounds {
		all = append(all, of(p))
	}
	return all
}
