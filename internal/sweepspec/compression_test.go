package sweepspec

import (
	"strings"
	"testing"
)

func TestCompressionNote(t *testing.T) {
	const mode = `parameters: [{name: mode, poolOption: {option: compression_mode}, values: [aggressive]}]`
	for name, c := range map[string]struct{ patch, want string }{
		"rados bench":              {`{` + mode + `}`, "the data of phase write is one byte over and over"},
		"an option of OSDs":        {`{parameters: [{name: mode, config: {option: bluestore_compression_mode}, values: [aggressive]}]}`, "phase write"},
		"rbd bench, repeated byte": {`{` + mode + `, objective: {phase: rbd, metric: IOPS}, template: {phases: [{name: rbd, rbdBench: {ioType: Write, dataPattern: RepeatedByte}}]}}`, "phase rbd"},
		"rbd bench, random text":   {`{` + mode + `, objective: {phase: rbd, metric: IOPS}, template: {phases: [{name: rbd, rbdBench: {ioType: Write}}]}}`, ""},
		"fio":                      {`{` + mode + `, objective: {phase: fio, metric: IOPS}, template: {phases: [{name: fio, fio: {pattern: Write, compressiblePercent: 50}}]}}`, ""},
		"no compression":           {`{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			notes := strings.Join(Notes(&specOf(t, c.patch).Spec), "\n")
			if (notes == "") != (c.want == "") || !strings.Contains(notes, c.want) {
				t.Errorf("got %q, want %q", notes, c.want)
			}
		})
	}
}
