package sweepspec

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestWhatABlockShares(t *testing.T) {
	const (
		scratch = `template: {target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}`
		keep    = scratch + `, initialState: Keep}`
		depth   = `parameters: [{name: a, workload: {phase: fio, field: ioDepth}, values: ["2"]}]`
		perRun  = v1alpha1.MadeForRun
		block   = v1alpha1.MadeForBlock
	)
	parameter := func(text string) string { return "{" + keep + ", parameters: [{name: a, " + text + "}]}" }
	option := func(name, value string) string {
		return parameter(`config: {option: ` + name + `}, values: ["` + value + `"]`)
	}
	patchOf := func(phases string) string {
		return "{" + scratch + `, phases: [` + phases + `]}, objective: {phase: b, metric: IOPS}, parameters: [{name: a, config: {option: osd_client_message_cap}, values: ["8"]}]}`
	}
	for name, c := range map[string]struct {
		patch         string
		pool, dataset v1alpha1.MadeFor
		reason        string
		restarts      bool
	}{
		"a field of the load":            {patch: parameter(`workload: {phase: fio, field: ioDepth}, values: ["2"]`), pool: block, dataset: block},
		"the number of jobs, with files": {patch: parameter(`workload: {phase: fio, field: numJobs}, values: ["2"]`), pool: block, dataset: perRun, reason: "parameter a decides which data"},
		"clients, with data of each":     {patch: parameter(`workload: {field: clients}, values: ["2"]`), pool: block, dataset: perRun, reason: "decides which data"},
		"an option of OSDs":              {patch: option("osd_client_message_cap", "8"), pool: block, dataset: block},
		"one that needs a restart":       {patch: option("osd_op_num_shards", "8"), restarts: true, pool: block, dataset: perRun, reason: "restarts OSDs"},
		"one that says how data lie":     {patch: option("bluestore_csum_type", "none"), pool: block, dataset: perRun, reason: "bluestore_csum_type"},
		"one that bounds a queue":        {patch: option("bluestore_throttle_bytes", "8"), pool: block, dataset: block},
		"one of pools to be made":        {patch: option("osd_pool_default_size", "2"), pool: block, dataset: perRun, reason: "osd_pool_default_size"},
		"an option of the pool":          {patch: parameter(`poolOption: {option: pg_num, method: PoolPerValue}, values: ["16"]`), pool: perRun, dataset: perRun, reason: "parameter a changes the pool"},
		"how many OSDs": {patch: `{template: {target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}, osdSelection: {count: 3}}}}, parameters: [{name: a, ` +
			`osdCount: {}, values: ["6"]}]}`, pool: perRun, dataset: perRun, reason: "changes the pool"},
		"a device class": {patch: `{template: {target: {scratchPool: {replicated: {size: 3}, deviceClass: hdd, parameters: {pg_num: "8"}}}}, parameters: [{name: a, ` +
			`deviceClass: {}, values: ["ssd"]}]}`, pool: perRun, dataset: perRun, reason: "changes the pool"},
		"replicas or chunks": {patch: `{template: {target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}}, parameters: [{name: a, redundancy: {}, values: ` +
			`["2+1"]}]}`, pool: perRun, dataset: perRun, reason: "changes the pool"},
		"a pool that is there":           {patch: `{template: {target: {scratchPool: null, existingPool: {name: p}}}, ` + depth + `}`, dataset: perRun, reason: "not a scratch pool"},
		"data that are made anew":        {patch: "{" + scratch + `, initialState: Fresh}, ` + depth + `}`, pool: block, dataset: perRun, reason: "initialState is Fresh"},
		"objects that rados bench reads": {patch: patchOf(`{name: b, radosBench: {mode: Seq}}`), pool: block, dataset: perRun, reason: "rados bench"},
		"together with images":           {patch: patchOf(`{name: b, radosBench: {mode: Seq}}, {name: c, fio: {pattern: RandRead}}`), pool: block, dataset: block, reason: "rados bench"},
		"objects that are written":       {patch: patchOf(`{name: b, radosBench: {mode: Write}}`), pool: block},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, c.patch).Spec
			var restart []v1alpha1.ParameterName
			if c.restarts {
				restart = append(restart, "a")
			}
			dataset, reason := datasetPer(spec, restart)
			if pool := scratchPoolPer(spec); pool != c.pool || dataset != c.dataset {
				t.Errorf("a pool per %q, a dataset per %q, want %q and %q", pool, dataset, c.pool, c.dataset)
			}
			if !strings.Contains(reason, c.reason) || (c.reason == "") != (reason == "") {
				t.Errorf("because %q, want %q in it", reason, c.reason)
			}
		})
	}
}
