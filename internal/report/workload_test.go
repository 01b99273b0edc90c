package report

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// If a file leaves out what the API server would fill in, the duration is unknown and not shown.
func TestWorkload(t *testing.T) {
	for template, want := range map[string]string{
		`{target: {scratchPool: {replicated: {size: 3}}}, clients: {count: 1}, phases: [{name: w, radosBench: {mode: Write, blockSize: 4Mi, concurrency: 16, duration: 60s, ramp: ` +
			`15s}}]}`: "w: rados bench Write of 4Mi with 16 in flight for 45s, by 1 client on scratch pools of 3 copies",
		`{target: {existingPool: {name: p}}, clients: {count: 2}, phases: [{name: r, radosBench: {mode: Seq, concurrency: 4, duration: 60s}}, {name: b, rbdBench: {ioType: Read, ioSize: ` +
			`4Ki, ioThreads: 8, duration: 30s}}]}`: "r: rados bench Seq with 4 in flight; b: rbd bench Read of 4Ki with 8 in flight, by 2 clients on pool p",
		`{target: {persistentVolumeClaim: {template: {storageClassName: c}}}, clients: {count: 1}, phases: [{name: f, fio: {pattern: RandRead, blockSize: 4Ki, ioDepth: 32, numJobs: 4, ` +
			`rateIOPS: 500, duration: 60s}}]}`: "f: fio RandRead of 4Ki with 32 in flight in each of 4 jobs at 500 IOPS offered by each job for 1m0s, by 1 client on volumes of StorageClass c",
		`{target: {scratchPool: {erasureCoded: {dataChunks: 4, codingChunks: 2}}}, clients: {count: 1}, phases: [{name: f, fio: {pattern: RandRead, ioDepth: 32, numJobs: 1, duration: ` +
			`60s}}]}`: "f: fio RandRead with 32 in flight, by 1 client on scratch pools of 4+2 chunks",
	} {
		var parsed v1alpha1.BenchmarkTemplate
		if err := yaml.UnmarshalStrict([]byte(template), &parsed); err != nil {
			t.Fatal(err)
		}
		if got := Workload(parsed); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
