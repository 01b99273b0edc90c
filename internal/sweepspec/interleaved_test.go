package sweepspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// curved returns parts of a spec whose phase has a curve.
func curved(metric, interleaved string) string {
	return ", template: {phases: [{name: fio, fio: {pattern: RandRead, blockSize: 4Ki, ramp: 0s, duration: 60s, curve: {atMost: 10ms}}}]}, objective: {phase: fio, metric: " +
		metric + "}, strategy: {interleaved: {" + interleaved + "}}"
}

func TestNotInterleavedReasons(t *testing.T) {
	const cap1 = `parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1", "256"]}]`
	const coded = `parameters: [{name: fast, poolOption: {option: fast_read}, values: ["1"]}], template: {target: {scratchPool: {erasureCoded: {dataChunks: 2, codingChunks: 1}}}}`
	const depth = `parameters: [{name: depth, workload: {phase: fio, field: ioDepth}, values: ["2"]}]`
	for name, c := range map[string]struct {
		patch string
		want  []string
	}{
		"an option of OSDs":                 {"{" + cap1 + "}", nil},
		"one that must not":                 {`{parameters: [{name: a, config: {option: osd_op_num_shards}, values: ["2"]}]}`, []string{"Option osd_op_num_shards may not be switched under a load."}},
		"a number of PGs":                   {`{objective: {phase: fio, metric: IOPS}}`, nil},
		"a number of PGs under rados bench": {`{}`, []string{"Phase write cannot begin again: use random fio on images or volumes, without a rate."}},
		"pools that do not fit":             {`{objective: {phase: fio, metric: IOPS}}`, []string{"There is no room."}},
		"chosen OSDs": {
			`{template: {target: {scratchPool: {osdSelection: {count: 3}, parameters: {pg_num: "8"}}}}, objective: {phase: fio, metric: IOPS}}`,
			[]string{"Pools on chosen OSDs do not stand at once."},
		},
		"an existing pool": {
			`{template: {target: {scratchPool: null, existingPool: {name: p}}}, objective: {phase: fio, metric: IOPS}}`,
			[]string{"pg_num is not switched, because it moves data for minutes."},
		},
		"pools beside a background load": {
			`{template: {backgroundLoad: {phase: write}}, objective: {phase: fio, metric: IOPS}}`,
			[]string{"The background load would go to one of the targets only."},
		},
		"deviceClass": {`{template: {target: {scratchPool: {deviceClass: hdd}}}, parameters: [{name: class, deviceClass: {}, values: [ssd]}], objective: {phase: fio, metric: IOPS}}`, nil},
		"redundancy":  {`{parameters: [{name: r, redundancy: {}, values: ["2+1"]}], objective: {phase: fio, metric: IOPS}}`, nil},
		"a setting and a depth": {`{parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1"]}, {name: depth, workload: {phase: fio, field: ioDepth}, ` +
			`values: ["2"]}]}`, []string{
			"Parameter cap cannot change together with the pool or the load: give it a sweep of its own.", "Parameter depth is about phase fio, and the objective about phase write.",
		}},
		"one of the two": {`{parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1"]}, {name: depth, workload: {phase: fio, field: ioDepth}, ` +
			`values: ["2"]}], objective: {phase: fio, metric: IOPS}}`, []string{"Parameter cap cannot change together with the pool or the load: give it a sweep of its own."}},
		"a depth": {`{` + depth + `, objective: {phase: fio, metric: IOPS}}`, nil},
		"a depth of objects": {
			`{` + depth + `, template: {phases: [{name: fio, fio: {engine: RADOS, pattern: RandRead, blockSize: 4Ki, ioDepth: 8, duration: 60s}}]}, objective: {phase: fio, metric: IOPS}}`,
			[]string{"Phase fio cannot begin again: use random fio on images or volumes, without a rate."},
		},
		"a depth of another phase": {`{` + depth + `}`, []string{"Parameter depth is about phase fio, and the objective about phase write."}},
		"a depth of a sequential load": {
			`{` + depth + `, template: {phases: [{name: fio, fio: {pattern: Read, blockSize: 4Ki, ioDepth: 8, duration: 60s}}]}, objective: {phase: fio, metric: IOPS}}`,
			[]string{"Phase fio cannot begin again: use random fio on images or volumes, without a rate."},
		},
		"a field that decides which data exist": {
			`{parameters: [{name: jobs, workload: {phase: fio, field: numJobs}, values: ["2"]}], objective: {phase: fio, metric: IOPS}}`,
			[]string{"Parameter jobs cannot change under a running load."},
		},
		"an option of stored data": {
			`{parameters: [{name: mode, poolOption: {option: compression_required_ratio}, values: ["0.5"]}]}`,
			[]string{"Phase write cannot begin again: use random fio on images or volumes, without a rate."},
		},
		"one that is not known": {
			`{parameters: [{name: x, poolOption: {option: hit_set_count}, values: ["1"]}]}`,
			[]string{"Phase write cannot begin again: use random fio on images or volumes, without a rate."},
		},
		"fast_read":          {"{" + coded + "}", nil},
		"no right to set it": {"{" + coded + "}", []string{"The tuner may not set fast_read of scratch pools."}},
		"of a replicated pool": {
			`{parameters: [{name: fast, poolOption: {option: fast_read}, values: ["1"]}], template: {target: {scratchPool: {replicated: {size: 3}}}}}`,
			[]string{"Phase write cannot begin again: use random fio on images or volumes, without a rate."},
		},
		"of an existing pool": {
			`{parameters: [{name: fast, poolOption: {option: fast_read}, values: ["1"]}], template: {target: {scratchPool: null, existingPool: {name: open}}}}`,
			[]string{"fast_read is switched only in scratch pools."},
		},
		"latencies":          {"{" + cap1 + `, objective: {phase: write, metric: LatencyMean}}`, nil},
		"the slowest":        {"{" + cap1 + `, objective: {phase: write, metric: LatencyMax}}`, []string{"LatencyMax of phase write is not reported for each second."}},
		"fio":                {"{" + cap1 + `, objective: {phase: fio, metric: LatencyP99}, constraints: [{phase: fio, metric: IOPS, maximumRegression: 10%}]}`, nil},
		"the slowest of fio": {"{" + cap1 + `, objective: {phase: fio, metric: LatencyMax}}`, []string{"LatencyMax of phase fio is not reported for each second."}},
		"percentiles of rados bench": {
			"{" + cap1 + `, constraints: [{phase: write, metric: LatencyP99, maximumRegression: 10%}]}`,
			[]string{"LatencyP99 of phase write is not reported for each second."},
		},
		"rbd bench": {
			"{" + cap1 + `, template: {phases: [{name: write, rbdBench: {ioType: Write}}]}}`,
			[]string{"Phase write cannot be cut into windows: only fio can, and rados bench in modes Rand and Write, without reuseObjects."},
		},
		"a curve":                    {"{" + cap1 + curved("SustainableIOPS", "sessions: 1") + "}", nil},
		"a curve with enough pairs":  {"{" + cap1 + curved("SustainableIOPS", "sessions: 1, pairs: 28") + "}", nil},
		"a curve in several runs":    {"{" + cap1 + curved("SustainableIOPS", "") + "}", []string{"Each run draws a whole curve. Faster: sessions: 1 draws two in turns."}},
		"another figure of a curve":  {"{" + cap1 + curved("IOPS", "sessions: 1") + "}", []string{"Only the objective SustainableIOPS draws curves in turns."}},
		"a curve with too few pairs": {"{" + cap1 + curved("SustainableIOPS", "sessions: 1, pairs: 18") + "}", []string{"Two curves in turns need 21 pairs of steps: leave pairs out, or use 28, 40 or 60."}},
		"a curve with a constraint": {
			"{" + cap1 + curved("SustainableIOPS", "sessions: 1") + ", constraints: [{phase: fio, metric: IOPS, maximumRegression: 10%}]}",
			[]string{"Two curves in turns have other rates, so constraints cannot compare them: leave constraints out."},
		},
		"a curve of a depth": {"{" + depth + curved("SustainableIOPS", "sessions: 1") + "}", []string{"Phase fio cannot begin again: use random fio on images or volumes, without a rate."}},
		"a constraint of another phase": {
			"{" + cap1 + `, constraints: [{phase: fio, metric: IOPS, maximumRegression: 10%}]}`,
			[]string{"A constraint is about phase fio, and the objective about phase write."},
		},
		"a write that ends": {
			"{" + cap1 + `, template: {phases: [{name: write, radosBench: {mode: Write, reuseObjects: true}}]}}`,
			[]string{"Phase write cannot be cut into windows: only fio can, and rados bench in modes Rand and Write, without reuseObjects."},
		},
		"a mode that ends": {
			"{" + cap1 + `, template: {phases: [{name: w, radosBench: {mode: Write}}, {name: write, radosBench: {mode: Seq}}]}}`,
			[]string{"Phase write cannot be cut into windows: only fio can, and rados bench in modes Rand and Write, without reuseObjects."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{
				MaySwitch:      func(o v1alpha1.ConfigParameter) bool { return o.Option == "osd_client_message_cap" },
				MaySwitchPools: !strings.HasPrefix(name, "no right"),
				NotStanding:    map[string]string{"pools that do not fit": "There is no room."}[name],
			}
			got := NotInterleaved(&specOf(t, c.patch).Spec, facts)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("reasons, -want +got:\n%s", diff)
			}
		})
	}
}
