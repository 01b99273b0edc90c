package conclusion

import (
	"encoding/json"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// After a crash between archive and status, the metric must get the same reason from the archive.
func TestArchivedRunKeepsTheReasonForMetrics(t *testing.T) {
	with := func(disturbances ...quiescence.Disturbance) archive.Phase {
		data, err := json.Marshal(disturbances)
		if err != nil {
			t.Fatal(err)
		}
		return archive.Phase{Name: "read", Observation: &figure.Observation{}, Disturbances: data}
	}
	recorded := quiescence.Disturbance{Kind: "Scrubbing", Action: v1alpha1.DisturbanceRecord}
	rejected := quiescence.Disturbance{Kind: "Recovery", Action: v1alpha1.DisturbanceInvalidate}
	for name, tc := range map[string]struct {
		reason string
		phases []archive.Phase
		want   string
	}{
		"valid":                         {"", []archive.Phase{with(recorded)}, ""},
		"disturbed":                     {"Phase read: Recovery: …", []archive.Phase{with(recorded, rejected)}, "Recovery"},
		"only recorded":                 {"Phase read: …", []archive.Phase{with(recorded)}, "Other"},
		"in a later phase":              {"Phase write: …", []archive.Phase{with(), with(rejected)}, "Recovery"},
		"disturbances of other version": {"Phase read: …", []archive.Phase{{Observation: &figure.Observation{}, Disturbances: json.RawMessage(`{}`)}}, "Other"},
		"without figures":               {"Phase read: …", []archive.Phase{{}}, "NoFigures"},
		"background load":               {"BackgroundLoadNoIO: …", []archive.Phase{with(rejected)}, "BackgroundLoadNoIO"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OfArchive(&archive.Run{Number: 1, Reason: tc.reason, Phases: tc.phases}).Invalid; got != tc.want {
				t.Errorf("the reason is %q, want %q", got, tc.want)
			}
		})
	}
}
