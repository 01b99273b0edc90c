package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestValuesAreStringsOrWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`8`: `"8"`, `"8"`: `"8"`, `-1`: `"-1"`, `"Unset"`: `"Unset"`, `"0.5"`: `"0.5"`,
		`0.5`: "", `true`: "", `[8]`: "", `null`: `""`,
	} {
		var value v1alpha1.ParameterValue
		err := json.Unmarshal([]byte(text), &value)
		if (err == nil) != (want != "") {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _ := json.Marshal(value); err == nil && string(got) != want {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
}
