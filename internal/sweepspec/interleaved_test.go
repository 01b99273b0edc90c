package sweepspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestWhatMayBeSwitchedUnderALoad(t *testing.T) {
	const cap1 = `parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1", "256"]}]`
	for name, c := range map[string]struct {
		patch string
		want  []string
	}{
		"an option of OSDs":             {"{" + cap1 + "}", nil},
		"one that must not":             {`{parameters: [{name: a, config: {option: osd_op_num_shards}, values: ["2"]}]}`, []string{"Option osd_op_num_shards may not be switched under a load."}},
		"a number of PGs":               {`{}`, []string{"Parameter pg_num is no option of OSDs."}},
		"one of the two":                {`{parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1"]}, {name: depth, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`, []string{"Parameter depth is no option of OSDs."}},
		"latencies":                     {"{" + cap1 + `, objective: {phase: write, metric: LatencyMean}}`, nil},
		"the slowest":                   {"{" + cap1 + `, objective: {phase: write, metric: LatencyMax}}`, []string{"LatencyMax of phase write is not known by the second."}},
		"another engine":                {"{" + cap1 + `, objective: {phase: fio, metric: IOPS}}`, []string{"Phase fio cannot be cut into windows: so far only rados bench in modes Write and Rand can."}},
		"a constraint of another phase": {"{" + cap1 + `, constraints: [{phase: fio, metric: IOPS, maximumRegression: 10%}]}`, []string{"A constraint is about phase fio, and the objective about phase write."}},
		"a mode that ends":              {"{" + cap1 + `, template: {phases: [{name: w, radosBench: {mode: Write}}, {name: write, radosBench: {mode: Seq}}]}}`, []string{"Phase write cannot be cut into windows: so far only rados bench in modes Write and Rand can."}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NotInterleaved(&specOf(t, c.patch).Spec, func(o v1alpha1.OptionName) bool { return o == "osd_client_message_cap" })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("reasons, -want +got:\n%s", diff)
			}
		})
	}
}
