package diagnosis

import (
	"math"
	"slices"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func outcome(pool v1alpha1.PoolName, checked []string, findings ...v1alpha1.Finding) Outcome {
	return Outcome{Asked: v1alpha1.Diagnosis{Pool: pool}, Result: v1alpha1.DiagnosisResult{Checked: checked, Findings: findings}}
}

func TestChanges(t *testing.T) {
	slow := v1alpha1.Finding{Code: "SlowOSDs", Confidence: likely}
	perhaps := v1alpha1.Finding{Code: "SlowOSDs", Confidence: possible}
	few := v1alpha1.Finding{Code: "FewPGs", Confidence: certain}
	all := []string{"SlowOSDs", "FewPGs"}
	for name, tc := range map[string]struct {
		a, b           Outcome
		want           State
		worse, unclear bool
	}{
		"new":                             {outcome("", all), outcome("", all, slow), New, true, false},
		"new, and not sure":               {outcome("", all), outcome("", all, perhaps), New, false, false},
		"gone":                            {outcome("", all, slow), outcome("", all), Gone, false, false},
		"still there":                     {outcome("", all, slow), outcome("", all, slow), Still, false, false},
		"still there, and surer":          {outcome("", all, perhaps), outcome("", all, slow), Still, true, false},
		"still there, and less sure":      {outcome("", all, slow), outcome("", all, perhaps), Still, false, false},
		"A could not look for it":         {outcome("", nil), outcome("", all, slow), Unknown, false, true},
		"B could not look for it":         {outcome("", all, slow), outcome("", nil), Unknown, false, true},
		"B could not, and A was not sure": {outcome("", all, perhaps), outcome("", nil), Unknown, false, false},
		"of another pool":                 {outcome("x", all, few), outcome("y", all, few), Unknown, false, true},
		"of one pool only":                {outcome("x", all, few), outcome("", all), Unknown, false, true},
		"of the same pool":                {outcome("x", all, few), outcome("x", all, few), Still, false, false},
		"of the cluster, whatever pool":   {outcome("x", all, slow), outcome("y", all), Gone, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Changes(tc.a, tc.b)
			if len(got) != 1 || got[0].State != tc.want || got[0].Worse() != tc.worse || got[0].Unclear() != tc.unclear || (got[0].Reason != "") != (tc.want == Unknown) {
				t.Errorf("%+v, want %s, worse %t, unclear %t", got, tc.want, tc.worse, tc.unclear)
			}
		})
	}
}

// What a diagnosis could not read, it did not look for; nor does a finding that did not fit seem to be gone.
func TestChecked(t *testing.T) {
	f := healthy(3)
	f.Pool = "apps"
	r := Judge(f)
	for _, code := range []string{"SlowOSDs", "MClockCapacity", "MemoryTarget", "FewPGs"} {
		if !slices.Contains(r.Checked, code) {
			t.Errorf("%s is not among %v", code, r.Checked)
		}
	}
	f.Devices, f.Running, f.Latencies, f.Pool = nil, nil, nil, ""
	r = Judge(f)
	for _, code := range []string{"SlowOSDs", "MClockCapacity", "MemoryTarget", "PoolCompressed", "WriteTime"} {
		if slices.Contains(r.Checked, code) {
			t.Errorf("%s could be looked for", code)
		}
	}
}

func inLayers(windows []Window) Outcome {
	return Outcome{Asked: v1alpha1.Diagnosis{Layers: &v1alpha1.DiagnosisLayers{Copies: 3}}, Windows: windows}
}

// wantChanges checks the differences of layers: want seconds outside of OSDs, in writes alone.
func wantChanges(t *testing.T, a, b []Window, want float64) {
	t.Helper()
	changed, err := LayerChanges(inLayers(a), inLayers(b))
	if err != nil || len(changed) == 0 {
		t.Fatalf("%v, %v", changed, err)
	}
	for _, c := range changed {
		expected := 0.0
		if c.Operation == v1alpha1.LayeredWrite && (c.Layer == LayerClient || c.Layer == LayerWhole) {
			expected = want
		}
		if math.Abs(c.Difference-expected) > 1e-9 || math.Abs(c.B-c.A-expected) > 1e-9 || c.Low > expected || c.High < expected {
			t.Errorf("%+v, want %v", c, expected)
		}
		if c.Layer == LayerClient && (c.Low > 0) != (expected > 0) {
			t.Errorf("%+v: want an interval that tells %v from 0", c, expected)
		}
	}
}

func TestLayerChanges(t *testing.T) {
	before := recorded(t, "windows-busy.json")
	wantChanges(t, before, before, 0)
	slower := slices.Clone(before)
	for i := range slower {
		if slower[i].Writes {
			slower[i].MeanSeconds += 0.020
		}
	}
	wantChanges(t, before, slower, 0.020)
	if few, err := LayerChanges(inLayers(before[:9]), inLayers(before)); err != nil || len(few) > 0 {
		t.Errorf("with three rounds: %v, %v", few, err)
	}
	if none, err := LayerChanges(outcome("", nil), inLayers(before)); err != nil || len(none) > 0 {
		t.Errorf("without layers: %v, %v", none, err)
	}
}

func TestOtherLoad(t *testing.T) {
	a, b := outcome("", nil), outcome("", nil)
	a.Asked.Layers, b.Asked.Layers = &v1alpha1.DiagnosisLayers{Copies: 3, Rounds: 6}, &v1alpha1.DiagnosisLayers{Copies: 3, Rounds: 12}
	if got := OtherLoad(a, b); len(got) > 0 {
		t.Errorf("more rounds are no other load: %v", got)
	}
	b.Asked.Layers.Copies, b.Asked.Layers.DeviceClass = 2, "ssd"
	if got := OtherLoad(a, b); !slices.Equal(got, []string{`copies: "3" and "2"`, `deviceClass: "" and "ssd"`}) {
		t.Errorf("%q", got)
	}
}
