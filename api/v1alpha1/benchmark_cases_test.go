package v1alpha1_test

import (
	"fmt"
	"strings"
)

const minimalBenchmark = `
apiVersion: cephtune.dev/v1alpha1
kind: CephBenchmark
metadata: {name: minimal, namespace: cephtune-bench}
spec:
  clusterRef: {namespace: rook-ceph, name: my-cluster}
  template:
    target: {scratchPool: {replicated: {size: 3}}}
    phases:
    - {name: write, radosBench: {mode: Write}}
    - {name: rbd, rbdBench: {ioType: Write}}
    - {name: fio, fio: {pattern: RandRead}}
`

var benchmarkCases = map[string]specCase{
	"the minimal benchmark":       {`{}`, ""},
	"a field that does not exist": {`{repetition: 3}`, `unknown field "spec.repetition"`},

	// What identifies things.
	"no cluster":                  {`{clusterRef: null}`, "spec.clusterRef: Required value"},
	"a cluster without namespace": {`{clusterRef: {namespace: null}}`, "spec.clusterRef.namespace: Required value"},
	"a runID made of a commit":    {`{runID: 3f2a91c_2026-01-01.7}`, ""},
	"a runID with a space":        {`{runID: "a b"}`, "spec.runID in body should match"},
	"two phases of one name": {
		`{template: {phases: [{name: a, fio: {pattern: Read}}, {name: a, fio: {pattern: Write}}]}}`,
		"Duplicate value",
	},
	"no phases":                 {`{template: {phases: []}}`, "should have at least 1 items"},
	"as many phases as allowed": {`{template: {phases: [` + repeat(16, `{name: p%d, fio: {pattern: Read}}`) + `]}}`, ""},
	"one phase too many":        {`{template: {phases: [` + repeat(17, `{name: p%d, fio: {pattern: Read}}`) + `]}}`, "must have at most 16 items"},
	"a phase with two tools": {
		`{template: {phases: [{name: a, fio: {pattern: Read}, rbdBench: {ioType: Read}}]}}`,
		"exactly one of the fields in [radosBench rbdBench fio] must be set",
	},
	"a phase without a tool": {
		`{template: {phases: [{name: a}]}}`,
		"exactly one of the fields in [radosBench rbdBench fio] must be set",
	},
	"twenty repetitions":     {`{repetitions: 20}`, ""},
	"twenty-one repetitions": {`{repetitions: 21}`, "should be less than or equal to 20"},

	// Acknowledgements.
	"a date":                          {`{acknowledgedUntil: "2028-02-29"}`, ""},
	"a date that no calendar has":     {`{acknowledgedUntil: "2027-02-29"}`, "spec.acknowledgedUntil in body must be of type date"},
	"a time instead of a date":        {`{acknowledgedUntil: "2027-02-01T00:00:00Z"}`, "spec.acknowledgedUntil in body must be of type date"},
	"a date in the form of a country": {`{acknowledgedUntil: "01.02.2027"}`, "spec.acknowledgedUntil in body must be of type date"},

	// Diagnoses.
	"a diagnosis":                     {`{template: null, diagnosis: {}}`, ""},
	"a diagnosis of a pool":           {`{template: null, diagnosis: {pool: replicapool, duration: 10m}}`, ""},
	"a diagnosis in a hurry":          {`{template: null, diagnosis: {duration: 29s}}`, "must be between 30s and 10m"},
	"a diagnosis for an hour":         {`{template: null, diagnosis: {duration: 1h}}`, "must be between 30s and 10m"},
	"a diagnosis with layers":         {`{template: null, diagnosis: {layers: {copies: 2, blockSize: 64Ki, failureDomain: osd, deviceClass: ssd, rounds: 4}}}`, ""},
	"layers by default":               {`{template: null, diagnosis: {layers: {}}}`, ""},
	"layers of one copy":              {`{template: null, diagnosis: {layers: {copies: 1}}}`, "spec.diagnosis.layers.copies in body should be greater than or equal to 2"},
	"layers in three rounds":          {`{template: null, diagnosis: {layers: {rounds: 3}}}`, "spec.diagnosis.layers.rounds in body should be greater than or equal to 4"},
	"layers of an odd size":           {`{template: null, diagnosis: {layers: {blockSize: "1000"}}}`, "multiple of 512"},
	"a diagnosis of no pool's name":   {`{template: null, diagnosis: {pool: "a b"}}`, "spec.diagnosis.pool in body should match"},
	"a diagnosis beside a template":   {`{diagnosis: {}}`, "exactly one of the fields in [template diagnosis] must be set"},
	"neither diagnosis nor template":  {`{template: null}`, "exactly one of the fields in [template diagnosis] must be set"},
	"a diagnosis with other targets":  {`{template: null, diagnosis: {}, otherTargets: [{scratchPool: {replicated: {size: 2}}}]}`, "leave out expectations and otherTargets"},
	"a diagnosis with an expectation": {`{template: null, diagnosis: {}, expectations: [{phase: a, metric: IOPS, atLeast: 5k}]}`, "leave out expectations and otherTargets"},
	"a diagnosis that pauses scrubs":  {`{template: null, diagnosis: {}, quiescence: {scrub: Pause}}`, "changes nothing in Ceph"},

	// Curves.
	"a curve":               {withCurve(`pattern: RandReadWrite, curve: {atMost: 10ms, direction: Read}`, ``), ""},
	"a curve as a gate":     {withCurve(`pattern: RandRead, curve: {atMost: 10ms}`, `{phase: fio, metric: SustainableIOPS, atLeast: 5k}`), ""},
	"a curve beside a rate": {withCurve(`pattern: RandRead, rateIOPS: 5, curve: {atMost: 10ms}`, ``), "leave out rateIOPS, rateBandwidth and jobs"},
	"a curve of jobs":       {withCurve(`jobs: [{name: a, pattern: RandRead}], curve: {atMost: 10ms}`, ``), "leave out rateIOPS, rateBandwidth and jobs"},
	"a curve of io_uring": {
		`{template: {target: {scratchPool: null, persistentVolumeClaim: {template: {storageClassName: fast}}}, phases: [{name: fio, fio: {engine: IOUring, pattern: RandRead, curve: {atMost: 10ms}}}]}}`,
		"engine IOUring is not possible at a rate",
	},
	"a curve with fsync":                 {withCurve(`pattern: RandWrite, fsync: 1, curve: {atMost: 10ms}`, ``), "leave out fsync"},
	"a curve of the reads of writes":     {withCurve(`pattern: RandWrite, curve: {atMost: 10ms, direction: Read}`, ``), "leave curve.direction out"},
	"a curve of a rate":                  {withCurve(`pattern: RandRead, curve: {atMost: 5k}`, ``), "atMost must be a time"},
	"a curve of a mean":                  {withCurve(`pattern: RandRead, curve: {metric: LatencyMean, atMost: 5ms}`, ``), "metric must be LatencyP50"},
	"a curve in a hurry":                 {withCurve(`pattern: RandRead, curve: {atMost: 10ms, stepDuration: 1s}`, ``), "between 10s and 10m"},
	"a curve of few steps":               {withCurve(`pattern: RandRead, curve: {atMost: 10ms, maxSteps: 2}`, ``), "greater than or equal to 8"},
	"a sustainable rate without a curve": {withCurve(`pattern: RandRead`, `{phase: fio, metric: SustainableIOPS, atLeast: 5k}`), "only a phase with fio.curve has SustainableIOPS"},
	"a sustainable rate of reads": {
		withCurve(`pattern: RandReadWrite, curve: {atMost: 10ms}`, `{phase: fio, metric: SustainableIOPS, direction: Read, atLeast: 5k}`), "leave direction out",
	},
	"a curve in the background": {
		`{template: {backgroundLoad: {phase: aside}, phases: [{name: fio, fio: {pattern: RandRead}}, {name: aside, fio: {pattern: RandWrite, curve: {atMost: 10ms}}}]}}`,
		"a background load has no curve",
	},

	// Outages.
	"an outage of a phase with a rate": {withOutage(`{}`, `rateIOPS: 500, duration: 5m`), ""},
	"an outage of jobs with rates": {
		withOutage(`{}`, `duration: 5m, jobs: [{name: a, rateIOPS: 5}, {name: b, rateBandwidth: 1Mi}]`), "",
	},
	"an outage in an open loop":   {withOutage(`{}`, `duration: 5m`), "set rateIOPS or rateBandwidth"},
	"an outage of a job in one":   {withOutage(`{}`, `duration: 5m, jobs: [{name: a, rateIOPS: 5}, {name: b}]`), "set rateIOPS or rateBandwidth"},
	"an outage of rados bench":    {`{template: {outage: {phase: write, osds: [1]}}}`, "make it a fio phase"},
	"an outage of no phase":       {`{template: {outage: {phase: nope, osds: [1]}}}`, "must name a phase"},
	"an outage in too short time": {withOutage(`{}`, `rateIOPS: 500, duration: 2m`), "1m for the recovery together"},
	"an outage of no OSD":         {withOutage(`{osds: []}`, `rateIOPS: 500, duration: 5m`), "at least 1 items"},
	"an outage of nine OSDs":      {withOutage(`{osds: [0, 1, 2, 3, 4, 5, 6, 7, 8]}`, `rateIOPS: 500, duration: 5m`), "at most 8 items"},
	"an outage of one OSD twice":  {withOutage(`{osds: [1, 1]}`, `rateIOPS: 500, duration: 5m`), "Duplicate value"},
	"an outage of an OSD below 0": {withOutage(`{osds: [-1]}`, `rateIOPS: 500, duration: 5m`), "greater than or equal to 0"},
	"a long outage":               {withOutage(`{duration: 10m}`, `rateIOPS: 500, duration: 30m`), "set backfill to Expect"},
	"a long outage for backfill":  {withOutage(`{duration: 15m, backfill: Expect}`, `rateIOPS: 500, duration: 30m`), ""},
	"an outage of no time":        {withOutage(`{duration: 5s}`, `rateIOPS: 500, duration: 5m`), "between 20s and 4h"},
	"an outage beside a background load with a rate": {
		outageUnderBackground(`fio: {pattern: RandWrite, rateIOPS: 100}`), "",
	},
	"an outage beside a background load in an open loop": {outageUnderBackground(`fio: {pattern: RandWrite}`), "also for a background load"},
	"an outage beside rados bench":                       {outageUnderBackground(`radosBench: {mode: Write}`), "also for a background load"},
	"consent for other pools":                            {withOutage(`{otherPools: 3}`, `rateIOPS: 500, duration: 5m`), ""},
	"the time to be whole again": {
		`{template: {outage: {phase: fio, osds: [1]}, phases: [{name: fio, fio: {pattern: RandWrite, rateIOPS: 500, duration: 5m}}]}, ` +
			`expectations: [{phase: fio, metric: TimeToClean, atMost: 90s}]}`, "",
	},
	"that time as a number": {
		`{template: {outage: {phase: fio, osds: [1]}, phases: [{name: fio, fio: {pattern: RandWrite, rateIOPS: 500, duration: 5m}}]}, ` +
			`expectations: [{phase: fio, metric: TimeToClean, atMost: 90k}]}`, "is a time, such as 20ms",
	},
	"latencies of its windows": {
		`{template: {outage: {phase: fio, osds: [1]}, phases: [{name: fio, fio: {pattern: RandWrite, rateIOPS: 500, duration: 5m}}]}, ` +
			`expectations: [{phase: fio, metric: P99Outage, atMost: 2s}, {phase: fio, metric: P50After, atMost: 20ms}]}`, "",
	},
	"one of them without an outage": {`{expectations: [{phase: fio, metric: P99Recovery, atMost: 90ms}]}`, "the phase that template.outage names"},
	"that time of another phase":    {`{expectations: [{phase: fio, metric: TimeToClean, atMost: 90s}]}`, "the phase that template.outage names"},

	// Targets.
	"two targets": {
		`{template: {target: {existingPool: {name: p}}}}`,
		"exactly one of the fields in [scratchPool existingPool persistentVolumeClaim] must be set",
	},
	"an existing pool":         {`{template: {target: {scratchPool: null, existingPool: {name: Bench_1.a}}}}`, ""},
	"a pool of Ceph's own":     {`{template: {target: {scratchPool: null, existingPool: {name: .mgr}}}}`, "should match"},
	"a pool that is an option": {`{template: {target: {scratchPool: null, existingPool: {name: --yes}}}}`, "should match"},
	"a pool neither replicated nor erasure-coded": {
		`{template: {target: {scratchPool: {replicated: null}}}}`,
		"exactly one of the fields in [replicated erasureCoded] must be set",
	},
	"pool parameters": {
		`{template: {target: {scratchPool: {parameters: {pg_num: "32", compression_mode: force}}}}}`, "",
	},
	"a pool parameter that is a number":   {`{template: {target: {scratchPool: {parameters: {pg_num: 32}}}}}`, ""},
	"a pool parameter that is a fraction": {`{template: {target: {scratchPool: {parameters: {pg_num: 3.2}}}}}`, "Invalid value"},
	"a pool parameter for the number of copies": {
		`{template: {target: {scratchPool: {parameters: {size: "2"}}}}}`, "use replicated.size or erasureCoded",
	},
	"a pool parameter for the autoscaler": {
		`{template: {target: {scratchPool: {parameters: {target_size_ratio: "1000"}}}}}`, "which affect all other pools",
	},
	"a pool parameter for the autoscaler, of the metadata": {
		`{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1, metadata: {parameters: {bulk: "true"}}}}}}}`, "which affect all other pools",
	},
	"a pool parameter pgp_num": {
		`{template: {target: {scratchPool: {parameters: {pgp_num: "32"}}}}}`, "set pg_num, and Ceph adjusts pgp_num",
	},
	"a pool parameter with a name that is an option": {
		`{template: {target: {scratchPool: {parameters: {"--force": "1"}}}}}`, "as `ceph osd pool set` names them",
	},
	"a pool whose PGs split": {
		`{template: {target: {scratchPool: {parameters: {pg_autoscale_mode: "on"}}}}}`, "the autoscaler would split placement groups during the measurement",
	},
	"metadata whose PGs split": {
		`{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1, metadata: {parameters: {pg_autoscale_mode: warn}}}}}}}`,
		"pg_autoscale_mode of a scratch pool is always off",
	},
	"a pool whose PGs stay":   {`{template: {target: {scratchPool: {parameters: {pg_autoscale_mode: "off"}}}}}`, ""},
	"an image of whole bytes": {`{template: {target: {scratchPool: {image: {size: 1073741824}}}}}`, ""},
	"an image too small":      {`{template: {target: {scratchPool: {image: {size: 1Mi}}}}}`, "must be between 64Mi and 100Ti"},
	"an image of a fraction":  {`{template: {target: {scratchPool: {image: {size: 100000000500m}}}}}`, "in whole bytes"},
	"image objects of 64Ki":   {`{template: {target: {scratchPool: {image: {objectSize: 64Ki}}}}}`, ""},
	"image objects of 3Mi":    {`{template: {target: {scratchPool: {image: {objectSize: 3Mi}}}}}`, "must be a power of two"},
	"rados bench on a claim": {
		`{template: {target: {scratchPool: null, persistentVolumeClaim: {claimName: c}}}}`,
		"only fio works on a persistentVolumeClaim",
	},
	"fio on a claim": {
		`{template: {target: {scratchPool: null, persistentVolumeClaim: {claimName: c}},
		  phases: [{name: a, fio: {engine: IOUring, pattern: Read}}, {name: b, fio: {pattern: Read}}]}}`, "",
	},
	"librbd on a claim": {
		`{template: {target: {scratchPool: null, persistentVolumeClaim: {claimName: c}},
		  phases: [{name: a, fio: {engine: RBD, pattern: Read}}]}}`,
		"use LibAIO or IOUring on a persistentVolumeClaim",
	},
	"libaio on a pool": {
		`{template: {phases: [{name: a, fio: {engine: LibAIO, pattern: Read}}]}}`,
		"use RBD or RADOS on a pool",
	},
	"two clients of one claim": {
		`{template: {clients: {count: 2}, target: {scratchPool: null, persistentVolumeClaim: {claimName: c}},
		  phases: [{name: a, fio: {pattern: Read}}]}}`,
		"set clients.count to 1, or use persistentVolumeClaim.template",
	},
	"two clients with a claim each": {
		`{template: {clients: {count: 2}, target: {scratchPool: null, persistentVolumeClaim: {template: {storageClassName: s}}},
		  phases: [{name: a, fio: {pattern: Read}}]}}`, "",
	},

	// Clients and dataset.
	"sixty-five clients":      {`{template: {clients: {count: 65}}}`, "should be less than or equal to 64"},
	"clients on chosen nodes": {`{template: {clients: {nodeSelector: {disk: fast}, tolerations: [{operator: Exists}]}}}`, ""},
	"clients on named nodes":  {`{template: {clients: {nodes: [node-1, node-2.example.org], count: 3}}}`, ""},
	"a node named twice":      {`{template: {clients: {nodes: [node-1, node-1]}}}`, "Duplicate value"},
	"a node that is none":     {`{template: {clients: {nodes: ["Node 1"]}}}`, "should match"},
	"too few nodes":           {`{template: {clients: {nodes: [node-1], count: 2, spread: Required}}}`, "spread Required needs a node for each client"},
	"a CRUSH root":            {`{template: {target: {scratchPool: {crushRoot: fast-1}}}}`, ""},
	"a CRUSH root of no name": {`{template: {target: {scratchPool: {crushRoot: "--yes"}}}}`, "should match"},
	"a CRUSH rule":            {`{template: {target: {scratchPool: {parameters: {crush_rule: fast}}}}}`, "use crushRoot, failureDomain and deviceClass"},
	"metadata PGs of a pool":  {`{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1, metadata: {parameters: {pg_num: "8"}}}}}}}`, ""},
	"metadata copies twice": {
		`{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1, metadata: {parameters: {size: "2"}}}}}}}`,
		"parameters must not contain size or min_size: use the field size",
	},
	"clients without memory":   {`{template: {clients: {resources: {memory: "0"}}}}`, "must be between 128Mi and 1Ti"},
	"clients of half a CPU":    {`{template: {clients: {resources: {cpu: 500m}}}}`, ""},
	"a dataset of a size":      {`{template: {dataset: {size: 20Gi}}}`, ""},
	"a dataset of a word":      {`{template: {dataset: {size: Big}}}`, "must be Auto, or a size of at least 1Mi"},
	"a rest of nothing":        {`{template: {rest: 0s}}`, ""},
	"a rest of a day":          {`{template: {rest: 24h}}`, "must be at most 1h"},
	"a duration in other form": {`{template: {rest: 1.5m}}`, "spec.template.rest in body should match"},

	// What runs and phases begin with.
	"fresh data":                      {`{template: {initialState: Fresh}}`, ""},
	"images rolled back":              {`{template: {initialState: Rollback}}`, ""},
	"images rolled back beside rados": {rolledBack(`radosBench: {mode: Rand}`, `fio: {pattern: RandReadWrite}`), ""},
	"images rolled back of one job":   {rolledBack(`fio: {pattern: Read, jobs: [{name: a}, {name: b, pattern: RandWrite}]}`), ""},
	"an initial state of a word":      {`{template: {initialState: Clean}}`, `Unsupported value: "Clean"`},
	"a claim rolled back": {
		`{template: {initialState: Rollback, target: {scratchPool: null, persistentVolumeClaim: {claimName: c}}, phases: [{name: a, fio: {pattern: Write}}]}}`,
		"use Fresh, which writes the data again",
	},
	"fresh data of a claim": {
		`{template: {initialState: Fresh, target: {scratchPool: null, persistentVolumeClaim: {claimName: c}}, phases: [{name: a, fio: {pattern: Write}}]}}`, "",
	},
	"objects of fio rolled back":         {rolledBack(`fio: {engine: RADOS, pattern: Write}`, `rbdBench: {ioType: Write}`), "not for objects of radosBench or of fio's engine RADOS"},
	"objects of rados bench rolled back": {rolledBack(`radosBench: {mode: Write, reuseObjects: true}`, `rbdBench: {ioType: Write}`), "not for objects of radosBench or of fio's engine RADOS"},
	"reads rolled back":                  {rolledBack(`rbdBench: {ioType: Read}`, `fio: {pattern: RandRead}`), "needs a phase of rbdBench or fio that overwrites an RBD image"},
	"new objects rolled back":            {rolledBack(`radosBench: {mode: Write}`), "needs a phase of rbdBench or fio that overwrites an RBD image"},
	"caches that are warm":               {`{template: {osdCaches: WarmBeforePhase}}`, ""},
	"caches that are warm of omaps": {
		`{template: {osdCaches: WarmBeforePhase, phases: [{name: a, radosBench: {mode: Write, reuseObjects: true, destination: OMap}}]}}`,
		"cannot read omaps and xattrs",
	},
	"caches that are warm beside new omaps": {
		`{template: {osdCaches: WarmBeforePhase, phases: [{name: a, radosBench: {mode: Write, destination: OMap}}]}}`, "",
	},

	// rados bench.
	"rados bench of 30 s": {radosBench(`{mode: Write, duration: 30s}`), ""},
	"rados bench of 29 s": {radosBench(`{mode: Write, duration: 29s}`), "shorter runs measure caches"},
	"rados bench that ramps to its end": {
		radosBench(`{mode: Write, duration: 30s, ramp: 30s}`), "ramp must be shorter than duration",
	},
	"rados bench of many blocks per object": {radosBench(`{mode: Write, blockSize: 64Ki, objectSize: 4Mi}`), ""},
	"rados bench of a part of a block": {
		radosBench(`{mode: Write, blockSize: 3Ki, objectSize: 4Mi}`), "objectSize must be a multiple of blockSize",
	},
	"rados bench of a block of no bytes":   {radosBench(`{mode: Write, blockSize: 0}`), "must be between 1Ki and 64Mi"},
	"rados bench that writes to omap":      {radosBench(`{mode: Write, destination: OMap}`), ""},
	"rados bench that reads omap":          {radosBench(`{mode: Seq, destination: OMap}`), "destination is for mode Write"},
	"rados bench that reads without hints": {radosBench(`{mode: Seq, allocationHints: Omit}`), "allocationHints is for mode Write"},
	"rados bench that reads and reuses":    {radosBench(`{mode: Rand, reuseObjects: true}`), "reads always use the prefilled objects"},
	"rados bench that does not verify":     {radosBench(`{mode: Rand, verification: None}`), ""},
	"rados bench that does not verify writes": {
		radosBench(`{mode: Write, verification: None}`), "verification is for modes Seq and Rand",
	},
	"rados bench to omap in whole objects": {
		radosBench(`{mode: Write, destination: OMap, objectSize: 8Mi}`), "objectSize is for destination Object",
	},
	"rados bench to omap of an erasure-coded pool": {
		`{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1}}},
		  phases: [{name: a, radosBench: {mode: Write, destination: OMap}}]}}`,
		"erasure-coded pools have no omap",
	},
	"rados bench in a mode of its command line": {radosBench(`{mode: write}`), `Unsupported value: "write"`},

	// rbd bench.
	"rbd bench that mixes":                {rbdBench(`{ioType: ReadWrite, readPercent: 70}`), ""},
	"rbd bench with a mix of one":         {rbdBench(`{ioType: Write, readPercent: 70}`), "readPercent is for ioType ReadWrite"},
	"rbd bench of 29 s":                   {rbdBench(`{ioType: Write, duration: 29s}`), "shorter runs measure caches"},
	"rbd bench of less than one block":    {rbdBench(`{ioType: Write, ioSize: 4Mi, ioTotal: 1Mi}`), "ioTotal must be at least ioSize"},
	"rbd bench that reads one byte often": {rbdBench(`{ioType: Read, dataPattern: RepeatedByte}`), "dataPattern is for ioTypes that write"},

	// fio.
	"fio without a pattern":         {fio(`{ioDepth: 4}`), "set pattern, or the pattern of every job"},
	"fio with patterns of its jobs": {fio(`{jobs: [{name: a, pattern: Read}, {name: b, pattern: Write}]}`), ""},
	"fio with a job without a pattern": {
		fio(`{jobs: [{name: a, pattern: Read}, {name: b}]}`), "set pattern, or the pattern of every job",
	},
	"fio with raw job text": {fio(`{pattern: Read, options: "exec_prerun=sh"}`), "unknown field"},
	"fio with a mix of one": {fio(`{pattern: RandRead, readPercent: 70}`), "readPercent is for patterns ReadWrite and RandReadWrite"},
	"fio with a job with a mix of one": {
		fio(`{pattern: Read, jobs: [{name: a, pattern: Write, readPercent: 70}]}`), "readPercent is for patterns",
	},
	"fio of 29 s":                     {fio(`{pattern: Read, duration: 29s}`), "shorter runs measure caches"},
	"fio that ramps for longer":       {fio(`{pattern: Read, duration: 30s, ramp: 2m}`), ""},
	"fio with blocks of 4,000 bytes":  {fio(`{pattern: Read, blockSize: 4k}`), "for the 4096 bytes that fio calls 4k, write 4Ki"},
	"fio with blocks of 64,000 bytes": {fio(`{pattern: Read, blockSize: 64k}`), "must be a multiple of 512"},
	"a dataset as a number":           {`{template: {dataset: {size: 1073741824}}}`, ""},
	"a dataset too small":             {`{template: {dataset: {size: 4096}}}`, "must be Auto, or a size of at least 1Mi"},
	"a limit as a number":             {expect(`{phase: fio, metric: IOPS, atLeast: 5000}`), ""},
	"a latency as a number":           {expect(`{phase: write, metric: LatencyMean, atMost: 5}`), "a limit of a latency or of TimeToClean is a time"},
	"fio with blocks as a number":     {fio(`{pattern: Read, blockSize: 4096}`), ""},
	"rados bench of 4,000,000 bytes":  {radosBench(`{mode: Write, blockSize: 4M}`), "must be a multiple of 512"},
	"rbd bench of 4,000 bytes":        {rbdBench(`{ioType: Write, ioSize: 4k}`), "must be a multiple of 512"},
	"fio with Zipf":                   {fio(`{pattern: RandRead, distribution: {type: Zipf, theta: "1.2"}}`), ""},
	"fio with Zipf without theta":     {fio(`{pattern: RandRead, distribution: {type: Zipf}}`), "theta is required for Zipf"},
	"fio with Zipf of 1":              {fio(`{pattern: RandRead, distribution: {type: Zipf, theta: "1"}}`), "theta of Zipf must not be 1"},
	"fio with Pareto":                 {fio(`{pattern: RandRead, distribution: {type: Pareto, theta: "0.2"}}`), ""},
	"fio with Pareto of 0":            {fio(`{pattern: RandRead, distribution: {type: Pareto, theta: "0"}}`), "theta must be above 0"},
	"fio with Pareto of 1":            {fio(`{pattern: RandRead, distribution: {type: Pareto, theta: "1"}}`), "theta of Pareto must be below 1"},
	"fio with Normal of 100":          {fio(`{pattern: RandRead, distribution: {type: Normal, theta: "100"}}`), "theta of Normal must be below 100"},
	"fio with Zipf in order":          {fio(`{pattern: Read, distribution: {type: Zipf, theta: "1.2"}}`), "distribution is for patterns RandRead"},
	"fio with a rate of arrivals":     {fio(`{pattern: Read, rateProcess: Poisson, rateIOPS: 100}`), ""},
	"io_uring at a rate": {
		`{template: {target: {scratchPool: null, persistentVolumeClaim: {claimName: c}},
		  phases: [{name: a, fio: {engine: IOUring, pattern: Read, rateIOPS: 10}}]}}`, "Kubernetes forbids io_uring by default: use LibAIO",
	},
	"millions of operations a second":  {fio(`{jobs: [{name: a, pattern: Read, rateIOPS: 5000000}]}`), "should be less than or equal to 1000000"},
	"millions, of copies":              {fio(`{pattern: Read, rateIOPS: 500000, numJobs: 3}`), "use a larger clients.count"},
	"less than one operation a second": {fio(`{pattern: Read, rateIOPS: 0}`), "should be greater than or equal to 1"},
	"fio at a rate, with fsync":        {fio(`{pattern: Write, rateBandwidth: 1Mi, fsync: 1}`), "at a rate, leave out fsync"},
	"fio whose jobs have rates, through the cache": {
		fio(`{direct: false, jobs: [{name: a, pattern: Read, rateIOPS: 5}, {name: b, pattern: Read, rateBandwidth: 1Mi}]}`), "at a rate, leave out fsync",
	},
	"fio with one job at a rate, through the cache": {
		fio(`{direct: false, jobs: [{name: a, pattern: Read, rateIOPS: 5}, {name: b, pattern: Read}]}`), "",
	},
	"fio with arrivals of no rate":       {fio(`{pattern: Read, rateProcess: Poisson}`), "rateProcess Poisson needs rateIOPS"},
	"fio with data more than compressed": {fio(`{pattern: Write, compressiblePercent: 101}`), "should be less than or equal to 100"},
	"fio with two rates": {
		fio(`{pattern: Read, rateIOPS: 100, rateBandwidth: 10Mi}`), "set rateIOPS or rateBandwidth, not both",
	},
	"fio with a job with two rates": {
		fio(`{pattern: Read, jobs: [{name: a, rateIOPS: 100, rateBandwidth: 10Mi}]}`), "set rateIOPS or rateBandwidth, not both",
	},
	"fio in sync on an image":   {fio(`{pattern: Write, sync: Data}`), "sync is for engines LibAIO and IOUring"},
	"fio with fsync of objects": {fio(`{engine: RADOS, pattern: Write, fsync: 1}`), "fsync and fdatasync are not for engine RADOS"},
	"fio in sync on a claim": {
		`{template: {target: {scratchPool: null, persistentVolumeClaim: {claimName: c}},
		  phases: [{name: a, fio: {engine: IOUring, pattern: Write, sync: Data}}]}}`, "",
	},

	// Expectations.
	"a percentile of a closed loop":             {expect(`{phase: fio, metric: LatencyP99, atMost: 20ms}`), "set rateIOPS or rateBandwidth in the phase, or closedLoop: true in the expectation"},
	"a percentile of a closed loop, by name":    {expect(`{phase: fio, metric: LatencyP99, closedLoop: true, atMost: 20ms}`), ""},
	"the mean and the maximum of a closed loop": {expect(`{phase: fio, metric: LatencyMean, atMost: 20ms}, {phase: fio, metric: LatencyMax, atMost: 2s}`), ""},
	"a percentile at a rate": {
		`{template: {phases: [{name: fio, fio: {pattern: RandRead, rateIOPS: 500}}]}, expectations: [{phase: fio, metric: LatencyP99, atMost: 20ms}]}`, "",
	},
	"a percentile of jobs at a rate": {
		`{template: {phases: [{name: fio, fio: {pattern: RandRead, jobs: [{name: a, rateIOPS: 5}, {name: b, rateBandwidth: 1Mi}]}}]}, expectations: [{phase: fio, metric: LatencyP50, atMost: 20ms}]}`, "",
	},
	"a percentile of jobs of which one has no rate": {
		`{template: {phases: [{name: fio, fio: {pattern: RandRead, jobs: [{name: a, rateIOPS: 5}, {name: b}]}}]}, expectations: [{phase: fio, metric: LatencyP50, atMost: 20ms}]}`, "closedLoop: true",
	},
	"an expectation of no phase": {expect(`{phase: nope, metric: IOPS, atLeast: 5k}`), "must name a phase of template.phases"},
	"an expectation of a percentile of rados bench": {
		expect(`{phase: write, metric: LatencyP99, atMost: 20ms}`), "to limit a percentile, name a fio phase",
	},
	"an expectation of the mean of rados bench": {expect(`{phase: write, metric: LatencyMean, atMost: 20ms}`), ""},
	"an expectation of a latency of rbd bench": {
		expect(`{phase: rbd, metric: LatencyMean, atMost: 20ms}`), "rbdBench has only Bandwidth and IOPS",
	},
	"an expectation of a bandwidth of rbd bench": {expect(`{phase: rbd, metric: Bandwidth, atLeast: 400Mi}`), ""},
	"an expectation with two limits": {
		expect(`{phase: fio, metric: IOPS, atMost: 5k, atLeast: 4k}`), "exactly one of the fields in [atMost atLeast maximumRegression] must be set",
	},
	"an expectation of a latency in bytes":   {expect(`{phase: fio, metric: LatencyP99, closedLoop: true, atMost: 20Mi}`), "a limit of a latency or of TimeToClean is a time"},
	"an expectation of a bandwidth in time":  {expect(`{phase: fio, metric: Bandwidth, atLeast: 20ms}`), "a limit of Bandwidth is bytes per second"},
	"an expectation of the reads of a mix":   {mixed(`{phase: fio, metric: IOPS, direction: Read, atLeast: 1k}`), ""},
	"an expectation of the reads of a write": {expect(`{phase: write, metric: IOPS, direction: Read, atLeast: 1k}`), "for phases that both read and write"},
	"an expectation with a reference":        {expect(`{phase: fio, metric: LatencyP99, closedLoop: true, maximumRegression: 10%, reference: nightly}`), ""},
	"an expectation without its reference":   {expect(`{phase: fio, metric: LatencyP99, closedLoop: true, maximumRegression: 10%}`), "maximumRegression and reference go together"},
	"a reference of a limit": {
		expect(`{phase: fio, metric: LatencyP99, closedLoop: true, atMost: 20ms, reference: nightly}`), "maximumRegression and reference go together",
	},
	"a regression beside a limit": {
		expect(`{phase: fio, metric: LatencyP99, closedLoop: true, atMost: 20ms, maximumRegression: 10%, reference: nightly}`), "exactly one of the fields",
	},
	"a regression of nothing":    {expect(`{phase: fio, metric: IOPS, maximumRegression: 0%, reference: nightly}`), "must be above 0% and below 100%"},
	"a regression of everything": {expect(`{phase: fio, metric: IOPS, maximumRegression: 100%, reference: nightly}`), "must be above 0% and below 100%"},
	"a regression of the longest operation": {
		expect(`{phase: fio, metric: LatencyMax, maximumRegression: 10%, reference: nightly}`), "LatencyMax has no interval",
	},
	"a reference in another namespace": {
		expect(`{phase: fio, metric: IOPS, maximumRegression: 10%, reference: other/nightly}`), "should match",
	},
	"a reference with its UID": {
		expect(`{phase: fio, metric: IOPS, maximumRegression: 10%, reference: nightly, referenceUID: 4f9c1d52-8f6e-4a53-9f43-2f1c4f2a9b10}`), "",
	},
	"a reference with a name as its UID": {expect(`{phase: fio, metric: IOPS, maximumRegression: 10%, reference: nightly, referenceUID: nightly}`), "should match"},
	"a UID of no reference": {
		expect(`{phase: fio, metric: IOPS, atLeast: 5k, referenceUID: 4f9c1d52-8f6e-4a53-9f43-2f1c4f2a9b10}`), "referenceUID needs reference",
	},
	"itself as its reference": {expect(`{phase: fio, metric: IOPS, maximumRegression: 10%, reference: minimal}`), "reference must name another CephBenchmark"},

	// Verdicts to fail on.
	"verdicts to fail on":            {failingOn(`Failed, Inconclusive, Invalid`), ""},
	"to fail on what has passed":     {failingOn(`Passed`), "failOn lists verdicts that are not good enough"},
	"to fail on a sweep's verdict":   {failingOn(`Inferior`), `Unsupported value: "Inferior"`},
	"to fail on nothing":             {failingOn(``), "should have at least 1 items"},
	"to fail on a verdict twice":     {failingOn(`Failed, Failed`), "Duplicate value"},
	"to fail without an expectation": {`{failOn: [Failed]}`, "failOn needs expectations"},

	// Quiescence.
	"scrubs that make a run invalid": {`{quiescence: {scrub: Invalidate, foreignIOPS: 0, timeout: 10m}}`, ""},
	"scrubs that are paused":         {`{quiescence: {scrub: Pause}}`, "a CephBenchmark changes nothing in Ceph"},
	"a warning that is allowed":      {`{quiescence: {allowedWarnings: [OSD_NEARFULL]}}`, ""},
	"a warning that is no code":      {`{quiescence: {allowedWarnings: [nearfull]}}`, "should match"},

	// Background.
	"a background load at a rate":              {beside(`fio: {pattern: RandWrite, rateIOPS: 100}`), ""},
	"a background load of rados bench":         {beside(`radosBench: {mode: Rand}`), ""},
	"a background load of rbd bench":           {beside(`rbdBench: {ioType: Write}`), ""},
	"a background load with a pod as it likes": {besideWith(`ramp: 0s, resources: {cpu: 250m, memory: 256Mi}, nodes: [node-1]`, `fio: {pattern: Read}`), ""},
	"a background load without a phase": {
		`{template: {backgroundLoad: {ramp: 10s}}}`, "phase must be set: write the background load as an entry of phases",
	},
	"a background load of a phase that there is not": {`{template: {backgroundLoad: {phase: other}}}`, "must name a phase of phases: write the background load there"},
	"a background load and nothing to measure": {
		`{template: {phases: [{name: aside, fio: {pattern: Read}}], backgroundLoad: {phase: aside}}}`, "needs a phase that is measured",
	},
	"an expectation of a background load": {
		strings.Replace(beside(`fio: {pattern: Read}`), `{template:`, `{expectations: [{phase: aside, metric: IOPS, atLeast: 1k}], template:`, 1), "that is not the background load",
	},
	"a background load with a duration":             {beside(`fio: {pattern: Read, duration: 10m}`), "leave duration out of its phase"},
	"a background load with the usual duration":     {beside(`fio: {pattern: Read, duration: 1m}`), ""},
	"a background load of rados bench for a while":  {beside(`radosBench: {mode: Write, duration: 2m}`), "leave duration out of its phase"},
	"a background load of rbd bench for a while":    {beside(`rbdBench: {ioType: Read, duration: 2m}`), "leave duration out of its phase"},
	"a background load with a ramp of the tool's":   {beside(`fio: {pattern: Read, ramp: 20s}`), "backgroundLoad.ramp says how long"},
	"a background load with a ramp of rados bench":  {beside(`radosBench: {mode: Rand, ramp: 0s}`), "backgroundLoad.ramp says how long"},
	"a background load with too long a ramp":        {besideWith(`ramp: 2h`, `fio: {pattern: Read}`), "must be at most 1h"},
	"a background load that reads all objects once": {beside(`radosBench: {mode: Seq}`), "use mode Rand instead of Seq"},
	"a background load that writes all objects once": {
		beside(`radosBench: {mode: Write, reuseObjects: true}`), "leave reuseObjects and ioTotal out",
	},
	"a background load with an end in bytes":   {beside(`rbdBench: {ioType: Read, ioTotal: 1Gi}`), "leave reuseObjects and ioTotal out"},
	"a background load of libaio on a pool":    {beside(`fio: {engine: LibAIO, pattern: Read}`), "use RBD or RADOS on a pool"},
	"a background load on claims of their own": {backgroundOnClaim(`template: {storageClassName: s}`, `fio: {pattern: RandWrite}`), ""},
	"a background load of librbd on a claim": {
		backgroundOnClaim(`template: {storageClassName: s}`, `fio: {engine: RBD, pattern: Read}`), "use LibAIO or IOUring on a persistentVolumeClaim",
	},
	"a background load of rados bench on a claim": {
		backgroundOnClaim(`template: {storageClassName: s}`, `radosBench: {mode: Rand}`), "use fio phases",
	},
	"a background load on the one claim that there is": {
		backgroundOnClaim(`claimName: c`, `fio: {pattern: RandWrite}`), "use persistentVolumeClaim.template, which creates a claim for each",
	},
	"a background load of omap that is erasure-coded": {
		strings.Replace(beside(`radosBench: {mode: Write, destination: OMap}`), `{template: {`,
			`{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1}}}, `, 1), "or a replicated pool",
	},
	"a background load that alone overwrites an image": {
		strings.Replace(beside(`fio: {pattern: RandWrite}`), `{template: {`, `{template: {initialState: Rollback, `, 1), "needs a phase of rbdBench or fio that overwrites",
	},
}

// rolledBack is a benchmark whose images are rolled back, with phases of these loads.
func rolledBack(loads ...string) string {
	var phases []string
	for i, load := range loads {
		phases = append(phases, fmt.Sprintf("{name: p%d, %s}", i, load))
	}
	return `{template: {initialState: Rollback, phases: [` + strings.Join(phases, ", ") + `]}}`
}

// beside is a benchmark of a phase with a background load, and besideWith has other options of that.
func beside(load string) string { return besideWith(`ramp: 10s`, load) }

func besideWith(options, load string) string {
	return `{template: {phases: [{name: fio, fio: {pattern: Read}}, {name: aside, ` + load + `}], backgroundLoad: {phase: aside, ` + options + `}}}`
}

func backgroundOnClaim(claim, load string) string {
	return strings.Replace(beside(load), `{template: {`, `{template: {target: {scratchPool: null, persistentVolumeClaim: {`+claim+`}}, `, 1)
}

var benchmarkChanges = map[string]specCase{
	"nothing":                         {`{suspend: false}`, ""},
	"to be suspended":                 {`{suspend: true, historyLimit: 7, rawOutput: Always}`, ""},
	"another cluster":                 {`{clusterRef: {name: other}}`, "clusterRef is immutable"},
	"to acknowledge a change":         {`{acknowledgedUntil: "2026-03-14"}`, ""},
	"another cluster and another run": {`{clusterRef: {name: other}, runID: "2"}`, "clusterRef is immutable"},
	"another run":                     {`{runID: "2"}`, ""},
	"another template":                {`{template: {clients: {count: 2}}}`, "change runID in the same edit"},
	"another template for another run": {
		`{template: {clients: {count: 2}}, runID: "2"}`, "",
	},
	"to fail on a verdict": {`{failOn: [Failed]}`, "failOn needs expectations"},
	"a background load":    {beside(`fio: {pattern: Read}`), "change runID in the same edit"},
	"an expectation":       {`{expectations: [{phase: fio, metric: IOPS, atLeast: 1k}]}`, "change runID in the same edit"},
	"more often":           {`{repetitions: 4}`, "change runID in the same edit"},
}

// withOutage is a benchmark with an outage of osd.1, changed as the first text has it, in
// the only phase, of which the second one is a part.
func withOutage(change, phase string) string {
	var fields string
	if change = strings.TrimSuffix(strings.TrimPrefix(change, "{"), "}"); !strings.Contains(change, "osds:") {
		fields = "osds: [1]"
	}
	if change != "" && fields != "" {
		fields += ", "
	}
	return `{template: {outage: {phase: fio, ` + fields + change + `}, phases: [{name: fio, fio: {pattern: RandWrite, ` + phase + `}}]}}`
}

// outageUnderBackground is one that has a background load, too.
func outageUnderBackground(background string) string {
	return strings.NewReplacer(`{template: {`, `{template: {backgroundLoad: {phase: aside}, `, `}]}}`, `}, {name: aside, `+background+`}]}}`).Replace(withOutage(`{}`, `rateIOPS: 500, duration: 5m`))
}

// withCurve returns a spec with one phase of fio, and with an expectation unless it is "".
func withCurve(fio, expectation string) string {
	spec := `{template: {phases: [{name: fio, fio: {` + fio + `}}]}`
	if expectation != "" {
		spec += `, expectations: [` + expectation + `]`
	}
	return spec + `}`
}
