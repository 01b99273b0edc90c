package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Colours that people with colour blindness can distinguish, from the palette of Okabe and Ito. No panel
// relies on colour alone: states are written as words, and series have a legend.
const (
	grey       = "#999999" // visible on dark and on light backgrounds
	orange     = "#E69F00"
	sky        = "#56B4E9"
	blue       = "#0072B2"
	vermillion = "#D55E00"
	purple     = "#CC79A7"
	slate      = "#6E7683" // background of the text that a panel shows without data
	none       = "transparent"
)

// state is a value of a series or label, with the text and the colour that panels show for it.
type state struct {
	value, text, color string
}

// mappings returns Grafana's value mappings for states.
func mappings(states ...state) []dashboard.ValueMapping {
	options := make(map[string]dashboard.ValueMappingResult, len(states))
	for i, state := range states {
		options[state.value] = dashboard.ValueMappingResult{
			Text:  new(state.text),
			Color: new(state.color),
			Index: new(int32(i)),
		}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{
		Type:    dashboard.MappingTypeValueToText,
		Options: options,
	}}}
}

// sweepVerdicts returns the mappings of verdicts on a configuration.
func sweepVerdicts() []dashboard.ValueMapping {
	return mappings(
		state{"Superior", "▲ Superior", blue},
		state{"Better", "△ Better", sky},
		state{"Equivalent", "= Equivalent", grey},
		state{"Inferior", "▼ Inferior", vermillion},
		state{"Inconclusive", "? Inconclusive", orange},
		state{"Invalid", "✕ Invalid", purple},
	)
}

// benchmarkVerdicts returns the mappings of verdicts on a benchmark with expectations.
func benchmarkVerdicts() []dashboard.ValueMapping {
	return mappings(
		state{"Passed", "✓ Passed", blue},
		state{"Failed", "✕ Failed", vermillion},
		state{"Inconclusive", "? Inconclusive", orange},
		state{"Invalid", "✕ Invalid", purple},
	)
}
