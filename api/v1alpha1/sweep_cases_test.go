package v1alpha1_test

import (
	"fmt"
	"strings"
)

const minimalSweep = `
apiVersion: cephtune.dev/v1alpha1
kind: CephTuningSweep
metadata: {name: minimal, namespace: cephtune-bench}
spec:
  clusterRef: {namespace: rook-ceph, name: my-cluster}
  template:
    target: {scratchPool: {replicated: {size: 3}}}
    phases:
    - {name: write, radosBench: {mode: Write}}
    - {name: rbd, rbdBench: {ioType: Write}}
    - {name: fio, fio: {pattern: RandRead}}
  parameters:
  - {name: pg_num, poolOption: {option: pg_num}, values: ["8", "16"]}
  objective: {phase: write, metric: Bandwidth}
`

var sweepCases = map[string]specCase{
	// Curves.
	"a sustainable rate as objective": {
		`{template: {phases: [{name: p, fio: {pattern: RandRead, curve: {atMost: 10ms}}}]}, objective: {phase: p, metric: SustainableIOPS}, constraints: null}`, "",
	},
	"a sustainable rate without a curve": {
		`{template: {phases: [{name: p, fio: {pattern: RandRead}}]}, objective: {phase: p, metric: SustainableIOPS}, constraints: null}`,
		"only a phase with fio.curve has SustainableIOPS",
	},

	"the minimal sweep": {`{}`, ""},

	// Outages.
	"how soon the cluster is whole again": {
		outageSweep(`objective: {phase: fio, metric: TimeToClean}, constraints: [{phase: fio, metric: LatencyP99, maximumRegression: 10%}]`), "",
	},
	"that as a constraint": {outageSweep(`objective: {phase: fio, metric: LatencyP99}, constraints: [{phase: fio, metric: TimeToClean, atMost: 90s}]`), ""},
	"that of writes alone": {strings.Replace(outageSweep(`objective: {phase: fio, metric: TimeToClean, direction: Write}`), "RandWrite", "RandReadWrite", 1), "leave direction out"},
	"what clients get while it recovers": {
		outageSweep(`objective: {phase: fio, metric: P99Recovery}, constraints: [{phase: fio, metric: P50Outage, maximumRegression: 10%}]`), "",
	},
	"what they get without an outage":         {`{objective: {phase: fio, metric: P99Recovery}}`, "the phase that template.outage names"},
	"what readers of them get":                {strings.Replace(outageSweep(`objective: {phase: fio, metric: P99Outage, direction: Read}`), "RandWrite", "RandReadWrite", 1), "leave direction out"},
	"a constraint on a window without outage": {`{constraints: [{phase: fio, metric: P99Before, atMost: 90ms}]}`, "the phase that template.outage names"},
	"that of another phase":                   {`{objective: {phase: fio, metric: TimeToClean}}`, "the phase that template.outage names"},
	"two sessions, which speak for nothing":   {`{strategy: {interleaved: {sessions: 2}}}`, "two sessions of long windows are too few for a verdict"},
	"one session":                             {`{strategy: {design: Interleaved, interleaved: {sessions: 1}}}`, ""},
	"one session that ends at a look":         {`{strategy: {design: Interleaved, interleaved: {sessions: 1, pairs: 12}}}`, ""},
	"one session that ends at no look": {
		`{strategy: {design: Interleaved, interleaved: {sessions: 1, pairs: 10}}}`,
		"pairs is the number of pairs after which the session ends at the latest: give 8, 12, 18, 28, 40 or 60",
	},
	"three sessions of ten pairs": {`{strategy: {design: Interleaved, interleaved: {sessions: 3, pairs: 10}}}`, ""},
	"an odd number of pairs":      {`{strategy: {interleaved: {pairs: 7}}}`, "should be a multiple of 2"},
	"a window of two seconds":     {`{strategy: {interleaved: {window: 2s}}}`, "must be between 8s and 60s"},
	"another design":              {`{strategy: {design: Duet}}`, "Unsupported value"},
	"a constraint of no outage": {
		`{constraints: [{phase: fio, metric: TimeToClean, atMost: 90s}]}`, "the phase that template.outage names",
	},

	// What runs begin with.
	"fresh data, which each run has":       {`{template: {initialState: Fresh, osdCaches: WarmBeforePhase}}`, ""},
	"images rolled back, which runs share": {`{template: {initialState: Rollback}}`, "initialState Rollback is for the repetitions of a CephBenchmark"},

	// Parameters.
	"no parameters":    {`{parameters: []}`, "should have at least 1 items"},
	"seven parameters": {`{parameters: [` + repeat(7, `{name: p%d, workload: {field: clients}, values: ["1"]}`) + `]}`, "must have at most 6 items"},
	"a parameter of two kinds": {
		parameter(`poolOption: {option: pg_num}, config: {option: osd_mclock_profile}, values: ["8"]`),
		"exactly one of the fields in [poolOption config workload osdCount deviceClass redundancy storageClass imageObjectSize] must be set",
	},
	"a value twice": {parameter(`poolOption: {option: pg_num}, values: ["8", "8"]`), "Duplicate value"},
	"pg_num of no number": {
		parameter(`poolOption: {option: pg_num}, values: [many]`), "values of pg_num are whole numbers",
	},
	"pg_num unset": {parameter(`poolOption: {option: pg_num}, values: [Unset]`), "values of pg_num are whole numbers"},
	"pgp_num":      {parameter(`poolOption: {option: pgp_num}, values: ["8"]`), "vary pg_num, and Ceph adjusts pgp_num"},
	"the autoscaler": {
		parameter(`poolOption: {option: pg_autoscale_mode}, values: ["on"]`), "sweeps turn the autoscaler off",
	},
	"a flag that guards a pool": {
		parameter(`poolOption: {option: nodelete}, values: ["true"]`), "options that protect or move a pool's data",
	},
	"a value with a space":           {parameter(`config: {option: osd_mclock_profile}, values: ["a b"]`), "should match"},
	"a value that is an option":      {parameter(`config: {option: osd_mclock_profile}, values: ["--x"]`), "should match"},
	"a value below nought":           {parameter(`config: {option: osd_recovery_sleep}, values: ["-1"]`), ""},
	"a mask of a device class":       {parameter(`config: {mask: "class:ssd", option: osd_mclock_profile}, values: [Unset]`), ""},
	"a mask of a rack":               {parameter(`config: {mask: "rack:1", option: osd_mclock_profile}, values: [Unset]`), "should match"},
	"another section":                {parameter(`config: {section: mon, option: osd_mclock_profile}, values: [Unset]`), `Unsupported value: "mon"`},
	"the level of a log":             {parameter(`config: {option: debug_osd}, values: ["20"]`), "are never varied"},
	"a full ratio":                   {parameter(`config: {option: osd_failsafe_full_ratio}, values: ["0.99"]`), "are never varied"},
	"compression of every pool":      {parameter(`config: {option: bluestore_compression_mode}, values: [force]`), "vary poolOption compression_*"},
	"a field of the workload":        {parameter(`workload: {phase: fio, field: ioDepth}, values: ["16", "32"]`), ""},
	"a field of another tool":        {parameter(`workload: {phase: fio, field: ioThreads}, values: ["16"]`), "fio has ioDepth, numJobs, blockSize and rateIOPS"},
	"a field of no phase":            {parameter(`workload: {phase: nope, field: ioDepth}, values: ["16"]`), "workload.phase must name a phase"},
	"a field without a phase":        {parameter(`workload: {field: ioDepth}, values: ["16"]`), "phase is required, except for field clients"},
	"the number of clients":          {parameter(`workload: {field: clients}, values: ["1", "2"]`), ""},
	"the clients of a phase":         {parameter(`workload: {field: clients, phase: fio}, values: ["1"]`), "phase is required, except for field clients"},
	"a depth of a word":              {parameter(`workload: {phase: fio, field: ioDepth}, values: [deep]`), "whole numbers above 0"},
	"a block size":                   {parameter(`workload: {phase: fio, field: blockSize}, values: [4Ki, 64Ki]`), ""},
	"a block size of a word":         {parameter(`workload: {phase: fio, field: blockSize}, values: [big]`), "are quantities, such as 4Ki"},
	"a block size of 4,000 bytes":    {parameter(`workload: {phase: fio, field: blockSize}, values: [4k]`), "for the 4096 bytes that fio calls 4k, write 4Ki"},
	"a block size of 64,000 bytes":   {parameter(`workload: {phase: fio, field: blockSize}, values: [64000]`), "for the 4096 bytes that fio calls 4k, write 4Ki"},
	"a block size as a number":       {parameter(`workload: {phase: fio, field: blockSize}, values: [4096]`), ""},
	"pg_num as numbers":              {parameter(`poolOption: {option: pg_num}, values: [8, 16]`), ""},
	"pg_num nought as a number":      {parameter(`poolOption: {option: pg_num}, values: [0]`), "values of pg_num are whole numbers"},
	"a depth as a number":            {parameter(`workload: {phase: fio, field: ioDepth}, values: [16, "32"]`), ""},
	"a value that is a fraction":     {parameter(`config: {option: osd_recovery_sleep}, values: [0.5]`), "Invalid value"},
	"a value that is a boolean":      {parameter(`config: {option: osd_x}, values: [true]`), "Invalid value"},
	"a baseline as a number":         {`{parameters: [{name: a, poolOption: {option: pg_num}, values: [8]}], baseline: {values: {a: 16}}}`, ""},
	"options of a pool as numbers":   {`{template: {target: {scratchPool: {parameters: {pg_num: 32}}}}}`, ""},
	"compression on a scratch pool":  {parameter(`poolOption: {option: compression_mode}, values: [none, force]`), ""},
	"a named pool with a scratch":    {parameter(`poolOption: {option: pg_num, pool: p}, values: ["8"]`), "poolOption.pool cannot be set if the target is a scratchPool"},
	"the metadata pool of one":       {parameter(`poolOption: {option: pg_num, role: Metadata}, values: ["8"]`), "role Metadata needs a target with two pools"},
	"a scratch pool in place":        {parameter(`poolOption: {option: pg_num, method: InPlace}, values: ["8"]`), "method InPlace needs an existing pool"},
	"the copies of a scratch pool":   {parameter(`poolOption: {option: size}, values: ["2", "3"]`), ""},
	"a pool per value on an old one": {existing(`poolOption: {option: pg_num, method: PoolPerValue}, values: ["8"]`), "use InPlace on an existing pool"},
	"pg_num of an old pool in place": {existing(`poolOption: {option: pg_num, method: InPlace}, values: ["8"]`), ""},
	"the copies of an old pool":      {existing(`poolOption: {option: size}, values: ["2"]`), "size and min_size of existing pools are never varied"},
	"compression on an old pool":     {existing(`poolOption: {option: compression_mode}, values: [force]`), "are varied on a scratchPool only"},
	"a pool option behind a claim": {
		claim(`poolOption: {option: pg_num}, values: ["8"]`), "poolOption.pool must name the pool that stores the volume",
	},
	"a pool option of a named pool behind a claim": {claim(`poolOption: {option: pg_num, pool: p}, values: ["8"]`), ""},

	// The number of OSDs.
	"on how many OSDs":               {onOSDs(`{osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["1", "2", "3"]`), ""},
	"on how many, from the baseline": {onOSDs(`{parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["1", "2"]`, `baseline: {values: {a: "3"}}`), ""},
	"on how many, without a baseline": {
		onOSDs(`{parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["1", "2"]`), "osdCount needs a baseline",
	},
	"on how many, with another baseline": {
		onOSDs(`{parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["1", "2"]}, {name: b, workload: {field: clients}, values: ["1", "2"]`, `baseline: {values: {b: "1"}}`),
		"osdCount needs a baseline",
	},
	"on how many, of pools of any number of PGs": {onOSDs(`{osdSelection: {count: 3}}`, `workload: {field: clients}, values: ["1"]`), "osdSelection needs parameters.pg_num"},
	"on how many, of pools of Ceph's number of PGs": {
		onOSDs(`{}`, `osdCount: {}, values: ["1"]`, `baseline: {values: {a: "3"}}`), "osdCount needs target.scratchPool.parameters.pg_num",
	},
	"on no OSD":       {onOSDs(`{osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["0"]`), "between 1 and 1000"},
	"on all of them":  {onOSDs(`{osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: [Unset]`), "between 1 and 1000"},
	"on far too many": {onOSDs(`{osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["1001"]`), "between 1 and 1000"},
	"on how many OSDs, twice": {
		onOSDs(`{osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["3"]}, {name: b, osdCount: {}, values: ["3"]`),
		"only one of the parameters can be osdCount",
	},
	"on how many OSDs of an old pool": {existing(`osdCount: {}, values: ["1"]`), "osdCount needs a scratchPool as target"},
	"more copies than OSDs":           {onOSDs(`{osdSelection: {count: 2}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["3"]`), "osdSelection.count must not be less than replicated.size"},
	"more chunks than OSDs": {
		onOSDs(`{replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 2}, osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["4"]`),
		"not be less than dataChunks and codingChunks together",
	},
	"as many OSDs as chunks": {
		onOSDs(`{replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 2}, osdSelection: {count: 4, seed: 7}, parameters: {pg_num: "8"}}`, `osdCount: {}, values: ["4"]`), "",
	},
	"a confined pool whose PGs split": {
		onOSDs(`{parameters: {pg_num: "8", pg_autoscale_mode: "on"}, osdSelection: {count: 3}}`, `osdCount: {}, values: ["3"]`), "pg_autoscale_mode of a scratch pool is always off",
	},

	// The device class.
	"on which OSDs":               {onOSDs(`{deviceClass: hdd, parameters: {pg_num: "8"}}`, `deviceClass: {}, values: [ssd, nvme-1]`), ""},
	"on which, from the baseline": {onOSDs(`{parameters: {pg_num: "8"}}`, `deviceClass: {}, values: [ssd]`, `baseline: {values: {a: hdd}}`), ""},
	"on which and on how many":    {onOSDs(`{deviceClass: hdd, osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `deviceClass: {}, values: [ssd]}, {name: b, osdCount: {}, values: ["4"]`), ""},
	"on which, without a baseline": {
		onOSDs(`{parameters: {pg_num: "8"}}`, `deviceClass: {}, values: [ssd, hdd]`), "deviceClass needs a baseline",
	},
	"on which, of pools of any number of PGs": {
		onOSDs(`{deviceClass: hdd}`, `deviceClass: {}, values: [ssd]`), "deviceClass needs target.scratchPool.parameters.pg_num",
	},
	"on OSDs of any class": {onOSDs(`{deviceClass: hdd, parameters: {pg_num: "8"}}`, `deviceClass: {}, values: [Unset]`), "are names of device classes"},
	"on OSDs of no class":  {onOSDs(`{deviceClass: hdd, parameters: {pg_num: "8"}}`, `deviceClass: {}, values: ["a,b"]`), "are names of device classes"},
	"on which OSDs, twice": {
		onOSDs(`{deviceClass: hdd, parameters: {pg_num: "8"}}`, `deviceClass: {}, values: [ssd]}, {name: b, deviceClass: {}, values: [nvme]`),
		"only one of the parameters can be deviceClass",
	},
	"on which, of an old pool": {existing(`deviceClass: {}, values: [ssd]`), "deviceClass needs a scratchPool as target"},

	// How the pool keeps data.
	"objects of images":         {onOSDs(`{}`, `imageObjectSize: {}, values: [64Ki, 16Mi]`), ""},
	"objects of any size":       {onOSDs(`{}`, `imageObjectSize: {}, values: [3Mi]`), "values of imageObjectSize are powers of two between 4Ki and 32Mi"},
	"replicas or chunks":        {onOSDs(`{parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["2", "2+1", "10+4"]`), ""},
	"chunks of a chunk":         {onOSDs(`{parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["1+1"]`), "numbers of copies, such as 3, or data and coding chunks"},
	"chunks without codes":      {onOSDs(`{parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["4+0"]`), "numbers of copies, such as 3, or data and coding chunks"},
	"eleven copies":             {onOSDs(`{parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["11"]`), "numbers of copies, such as 3, or data and coding chunks"},
	"redundancy of any PGs":     {onOSDs(`{}`, `redundancy: {}, values: ["2"]`), "redundancy needs a scratchPool as target, with parameters.pg_num"},
	"redundancy on chosen OSDs": {onOSDs(`{osdSelection: {count: 3}, parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["2"]`), "without osdSelection"},
	"redundancy twice":          {onOSDs(`{parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["2"]}, {name: b, redundancy: {}, values: ["2+1"]`), "only one of the parameters can be redundancy"},
	"redundancy and size": {
		onOSDs(`{parameters: {pg_num: "8"}}`, `redundancy: {}, values: ["2+1"]}, {name: b, poolOption: {option: size}, values: ["2"]`),
		"the others cannot be osdCount, the option size",
	},
	"redundancy of a pool in use": {existing(`redundancy: {}, values: ["2+1"]`), "redundancy needs a scratchPool as target"},

	// The class of volumes.
	"classes of volumes":     {volumes(`template: {storageClassName: a}`, `storageClass: {}, values: [b, c.d]`), ""},
	"a class that cannot be": {volumes(`template: {storageClassName: a}`, `storageClass: {}, values: [B_]`), "values of storageClass are names of StorageClasses"},
	"no class":               {volumes(`template: {storageClassName: a}`, `storageClass: {}, values: [Unset]`), "values of storageClass are names of StorageClasses"},
	"classes, twice":         {volumes(`template: {storageClassName: a}`, `storageClass: {}, values: [b]}, {name: b, storageClass: {}, values: [c]`), "only one of the parameters can be storageClass"},
	"the class of a claim":   {volumes(`claimName: mine`, `storageClass: {}, values: [b]`), "only one of the parameters can be storageClass, and it needs target.persistentVolumeClaim.template"},
	"the class of a pool":    {existing(`storageClass: {}, values: [b]`), "only one of the parameters can be storageClass, and it needs"},

	// The space.
	"a parameter without values": {parameter(`poolOption: {option: pg_num}`), "give every parameter values, or give configurations"},
	"configurations": {
		`{parameters: [{name: a, poolOption: {option: pg_num}}], configurations: [{name: one, values: {a: "8"}}, {name: two, values: {a: "16"}}],
		  baseline: {configuration: one}}`, "",
	},
	"configurations and values": {
		`{configurations: [{name: one, values: {pg_num: "8"}}]}`, "values and configurations exclude each other",
	},
	"a configuration of no parameter": {
		`{parameters: [{name: a, poolOption: {option: pg_num}}], configurations: [{name: one, values: {b: "8"}}]}`,
		"configurations must give values only to names in parameters",
	},
	"a baseline of values":       {`{baseline: {values: {pg_num: "32"}}}`, ""},
	"a baseline of no parameter": {`{baseline: {values: {nope: "32"}}}`, "baseline.values must give values only to names in parameters"},
	"a baseline of both": {
		`{parameters: [{name: a, poolOption: {option: pg_num}}], configurations: [{name: one, values: {a: "8"}}],
		  baseline: {values: {a: "8"}, configuration: one}}`,
		"exactly one of the fields in [values configuration] must be set",
	},
	"a configuration named as the baseline": {
		`{parameters: [{name: a, poolOption: {option: pg_num}}], configurations: [{name: baseline, values: {a: "8"}}]}`,
		"a configuration named baseline has to be the one",
	},
	"the baseline among configurations, by that name": {
		`{parameters: [{name: a, poolOption: {option: pg_num}}], configurations: [{name: baseline, values: {a: "8"}}, {name: two, values: {a: "16"}}],
		  baseline: {configuration: baseline}}`, "",
	},
	"a baseline of no configuration": {`{baseline: {configuration: nope}}`, "baseline.configuration must name one of configurations"},
	"a grid as large as allowed":     {`{parameters: [` + grid(8, 8) + `]}`, ""},
	"a grid too large":               {`{parameters: [` + grid(8, 9) + `]}`, "the grid has more than 64 configurations"},
	"a large space that is sampled":  {`{parameters: [` + grid(32, 32) + `], strategy: {search: LatinHypercube, samples: 20}}`, ""},

	// How it is judged.
	"an objective of no phase":          {`{objective: {phase: nope}}`, "objective.phase must name a phase"},
	"a percentile of rados bench":       {`{objective: {metric: LatencyP99}}`, "to optimize a percentile, name a fio phase in objective"},
	"a latency of rbd bench":            {`{objective: {phase: rbd, metric: LatencyMean}}`, "rbdBench has only Bandwidth and IOPS"},
	"a percentile of a closed loop":     {`{objective: {phase: fio, metric: LatencyP99}}`, "set rateIOPS or rateBandwidth in the phase, or closedLoop: true in the objective or constraint"},
	"that by name":                      {`{objective: {phase: fio, metric: LatencyP99, closedLoop: true}}`, ""},
	"a percentile at a rate":            {`{template: {phases: [{name: fio, fio: {pattern: RandRead, rateIOPS: 5}}]}, objective: {phase: fio, metric: LatencyP99}}`, ""},
	"a percentile at varied rates":      {`{parameters: [{name: a, workload: {phase: fio, field: rateIOPS}, values: ["5", "9"]}], objective: {phase: fio, metric: LatencyP99}}`, ""},
	"a constraint of a closed loop":     {constrain(`{phase: fio, metric: LatencyP99, atMost: 20ms}`), "closedLoop: true in the objective or constraint"},
	"the reads of a write":              {`{objective: {direction: Read}}`, "objective.direction Read or Write is for phases that both read and write"},
	"an effect below equivalence":       {`{objective: {minimumEffect: 5%, equivalence: 10%}}`, "equivalence must be above 0% and at most minimumEffect"},
	"an equivalence of nothing":         {`{objective: {equivalence: 0%}}`, "equivalence must be above 0%"},
	"an effect with decimals":           {`{objective: {minimumEffect: 2.5%, equivalence: 1.25%}}`, ""},
	"an effect without percent":         {`{objective: {minimumEffect: "10"}}`, "should match"},
	"a constraint":                      {constrain(`{phase: fio, metric: LatencyP99, closedLoop: true, maximumRegression: 10%}`), ""},
	"a constraint with a limit":         {constrain(`{phase: fio, metric: LatencyP99, closedLoop: true, atMost: 20ms}`), ""},
	"a constraint of no phase":          {constrain(`{phase: nope, metric: IOPS, maximumRegression: 10%}`), "every constraint must name a phase"},
	"a constraint of a percentile":      {constrain(`{phase: write, metric: LatencyP95, maximumRegression: 10%}`), "to constrain a percentile, name a fio phase"},
	"four constraints":                  {`{constraints: [` + repeat(4, `{phase: fio, metric: IOPS, maximumRegression: 1%d%%}`) + `]}`, "must have at most 3 items"},
	"a constraint without a limit":      {constrain(`{phase: fio, metric: IOPS}`), "exactly one of the fields in [maximumRegression atMost atLeast] must be set"},
	"a constraint in the wrong unit":    {constrain(`{phase: fio, metric: IOPS, atLeast: 5s}`), "a limit of IOPS is a number"},
	"a constraint of reads of a write":  {constrain(`{phase: write, metric: IOPS, direction: Read, maximumRegression: 10%}`), "is for phases that both read and write"},
	"a confidence of 99 %":              {`{confidence: 99.5%}`, ""},
	"a confidence of a coin":            {`{confidence: 50%}`, "must be between 80% and 99.9%"},
	"more blocks at least than at most": {`{strategy: {blocks: {min: 8, max: 6}}}`, "blocks.min must be at most blocks.max"},
	"two blocks":                        {`{strategy: {blocks: {min: 2}}}`, "should be greater than or equal to 3"},
	"samples of a grid":                 {`{strategy: {samples: 20}}`, "samples is required for search LatinHypercube: for Grid, leave samples out"},

	// What keeps it safe.
	"scrubs that are paused": {`{quiescence: {scrub: Pause}}`, ""},
	"a limit on the latency of others": {
		`{guardrails: {maxFailedRuns: 0, foreignClients: [{pool: p, metric: OSDLatency, atMost: 50ms}]}}`, "",
	},
	"a lower limit on the latency of others": {
		`{guardrails: {foreignClients: [{pool: p, metric: OSDLatency, atLeast: 50ms}]}}`, "a limit of OSDLatency is atMost and a time",
	},
	"a limit on the rate of others in time": {
		`{guardrails: {foreignClients: [{pool: p, metric: IOPS, atLeast: 50ms}]}}`, "a limit of IOPS is a number",
	},
	"a budget":                      {`{budget: {duration: 4h, bytesWritten: 10Ti}}`, ""},
	"a budget of no time":           {`{budget: {duration: 1s}}`, "must be between 5m and 720h"},
	"a window at night":             {`{maintenanceWindow: {start: "22:00", end: "05:30", days: [Monday], timeZone: Europe/Berlin}}`, ""},
	"a window of no time":           {`{maintenanceWindow: {start: "22:00", end: "22:00"}}`, "start and end must differ"},
	"a window of a strange hour":    {`{maintenanceWindow: {start: "24:00", end: "05:30"}}`, "should match"},
	"a window by its old name":      {`{window: {start: "22:00", end: "05:30"}}`, "window is now maintenanceWindow"},
	"to keep a scratch pool":        {`{onCompletion: KeepBest}`, "onCompletion KeepBest needs a setting that can stay applied after the sweep"},
	"to keep an option of the OSDs": {`{onCompletion: KeepBest, parameters: [{name: a, config: {option: osd_mclock_profile}, values: [Unset]}]}`, ""},
	"a cluster that settles slowly": {`{guardrails: {settleFor: 5m}}`, ""},
	"no time to settle":             {`{guardrails: {settleFor: 1s}}`, "must be between 5s and 1h"},
	"to fail on some verdicts":      {`{failOn: [Inferior, Inconclusive]}`, ""},
	"to fail on all but one":        {`{failOn: [Better, Equivalent, Inferior, Inconclusive, Invalid]}`, ""},
	"to fail on every verdict":      {`{failOn: [Superior, Better, Equivalent, Inferior, Inconclusive, Invalid]}`, "must have at most 5 items"},
	"to fail on no verdict":         {`{failOn: []}`, "should have at least 1 items"},
	"to fail on a gate's verdict":   {`{failOn: [Failed]}`, `Unsupported value: "Failed"`},
	"to keep what it fails on": {
		`{failOn: [Superior], onCompletion: KeepBest, parameters: [{name: a, config: {option: osd_mclock_profile}, values: [Unset]}]}`,
		"failOn Superior and onCompletion KeepBest exclude each other",
	},
	"to keep a winner or fail":       {`{failOn: [Inferior], onCompletion: KeepBest, parameters: [{name: a, config: {option: osd_mclock_profile}, values: [Unset]}]}`, ""},
	"a plan only":                    {`{mode: Plan}`, ""},
	"to keep what a pool shows":      {`{keepScope: Pool}`, ""},
	"to keep what windows show":      {`{keepScope: Windows}`, "must be Pool, Pools or Cluster"},
	"a mode that is none":            {`{mode: DryRun}`, `Unsupported value: "DryRun"`},
	"the full results of every run":  {`{historyLimit: 400, rawOutput: Never}`, ""},
	"results of more than every run": {`{historyLimit: 401}`, "should be less than or equal to 400"},
}

var sweepChanges = map[string]specCase{
	"to be suspended":              {`{suspend: true, onCompletion: Restore, guardrails: {settleTimeout: 1h}}`, ""},
	"more time":                    {`{budget: {duration: 1h}}`, "budget and guardrails.maxFailedRuns are fixed for a run"},
	"more time for another run":    {`{budget: {duration: 1h}, runID: "2"}`, ""},
	"fewer failed runs":            {`{guardrails: {maxFailedRuns: 1}}`, "budget and guardrails.maxFailedRuns are fixed for a run"},
	"to fail on a verdict":         {`{failOn: [Inferior]}`, ""},
	"another cluster":              {`{clusterRef: {namespace: other}}`, "clusterRef is immutable"},
	"another run":                  {`{runID: "2"}`, ""},
	"other values":                 {`{parameters: [{name: pg_num, poolOption: {option: pg_num}, values: ["8"]}]}`, "change runID in the same edit"},
	"other values for another run": {`{parameters: [{name: pg_num, poolOption: {option: pg_num}, values: ["8"]}], runID: "2"}`, ""},
	"another objective":            {`{objective: {metric: IOPS}}`, "change runID in the same edit"},
	"a baseline":                   {`{baseline: {values: {pg_num: "8"}}}`, "change runID in the same edit"},
	"a constraint":                 {constrain(`{phase: fio, metric: IOPS, maximumRegression: 1%}`), "change runID in the same edit"},
	"another seed":                 {`{strategy: {seed: 1}}`, "change runID in the same edit"},
	"from a run to a plan":         {`{mode: Plan}`, "change runID in the same edit"},
	"another template":             {`{template: {rest: 1s}}`, "change runID in the same edit"},
}

// The rest makes patches of the part that a case is about.

func radosBench(spec string) string { return phase("radosBench: " + spec) }
func rbdBench(spec string) string   { return phase("rbdBench: " + spec) }
func fio(spec string) string        { return phase("fio: " + spec) }

func phase(tool string) string {
	return fmt.Sprintf(`{template: {phases: [{name: a, %s}]}}`, tool)
}

func expect(expectation string) string { return fmt.Sprintf(`{expectations: [%s]}`, expectation) }

func failingOn(verdicts string) string {
	return fmt.Sprintf(`{failOn: [%s], expectations: [{phase: fio, metric: IOPS, atLeast: 5k}]}`, verdicts)
}

func mixed(expectation string) string {
	return fmt.Sprintf(`{template: {phases: [{name: fio, fio: {pattern: RandReadWrite}}]}, expectations: [%s]}`, expectation)
}

func constrain(constraint string) string { return fmt.Sprintf(`{constraints: [%s]}`, constraint) }

func parameter(spec string) string { return fmt.Sprintf(`{parameters: [{name: a, %s}]}`, spec) }

// onOSDs is a parameter of a scratch pool with that in it.
func onOSDs(pool, spec string, more ...string) string {
	return fmt.Sprintf(`{template: {target: {scratchPool: %s}}, parameters: [{name: a, %s}]%s}`, pool, spec, strings.Join(append([]string{""}, more...), ", "))
}

func existing(spec string) string {
	return fmt.Sprintf(`{template: {target: {scratchPool: null, existingPool: {name: p}}}, parameters: [{name: a, %s}]}`, spec)
}

func claim(spec string) string {
	return fmt.Sprintf(`{template: {target: {scratchPool: null, persistentVolumeClaim: {claimName: c}},
		phases: [{name: write, fio: {pattern: Write}}]}, parameters: [{name: a, %s}]}`, spec)
}

func volumes(target, spec string) string {
	return fmt.Sprintf(`{template: {target: {scratchPool: null, persistentVolumeClaim: {%s}},
		phases: [{name: write, fio: {pattern: Write}}]}, parameters: [{name: a, %s}]}`, target, spec)
}

// grid is two parameters with so many values.
func grid(sizes ...int) string {
	parameters := make([]string, len(sizes))
	for i, size := range sizes {
		parameters[i] = fmt.Sprintf(`{name: p%d, poolOption: {option: pg_num}, values: [%s]}`, i, repeat(size, `"1%d"`))
	}
	return strings.Join(parameters, ", ")
}

// repeat is a list of n items, each with its number.
func repeat(n int, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}

// outageSweep is a sweep whose only phase has an outage.
func outageSweep(rest string) string {
	return `{template: {outage: {phase: fio, osds: [1]}, phases: [{name: fio, fio: {pattern: RandWrite, rateIOPS: 500, duration: 5m}}]}, ` + rest + `}`
}
