package sweepspec

import "testing"

func TestWhatABlockShares(t *testing.T) {
	const (
		scratch = `template: {target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}`
		keep    = scratch + `, initialState: Keep}`
	)
	parameter := func(text string) string { return "{" + keep + ", parameters: [{name: a, " + text + "}]}" }
	for name, c := range map[string]struct {
		patch         string
		pool, dataset bool
	}{
		"a field of the load":            {parameter(`workload: {phase: fio, field: ioDepth}, values: ["2"]`), true, true},
		"the number of jobs, with files": {parameter(`workload: {phase: fio, field: numJobs}, values: ["2"]`), true, false},
		"clients, with data of each":     {parameter(`workload: {field: clients}, values: ["2"]`), true, false},
		"an option of OSDs":              {parameter(`config: {option: osd_client_message_cap}, values: ["8"]`), true, false},
		"an option of the pool":          {parameter(`poolOption: {option: pg_num, method: PoolPerValue}, values: ["16"]`), false, false},
		"how many OSDs":                  {`{template: {target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}, osds: {count: 3}}}}, parameters: [{name: a, osdCount: {}, values: ["6"]}]}`, false, false},
		"a device class":                 {`{template: {target: {scratchPool: {replicated: {size: 3}, deviceClass: hdd, parameters: {pg_num: "8"}}}}, parameters: [{name: a, deviceClass: {}, values: ["ssd"]}]}`, false, false},
		"a pool that is there":           {`{template: {target: {scratchPool: null, existingPool: {name: p}}}, parameters: [{name: a, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`, false, false},
		"data that are made anew":        {"{" + scratch + `, initialState: Fresh}, parameters: [{name: a, workload: {phase: fio, field: ioDepth}, values: ["2"]}]}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, c.patch).Spec
			if pool, dataset := SharesPool(spec), SharesDataset(spec); pool != c.pool || dataset != c.dataset {
				t.Errorf("shares the pool: %t, the dataset: %t, want %t and %t", pool, dataset, c.pool, c.dataset)
			}
		})
	}
}
