package sweepspec

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// OSDs on HDDs need minutes to remove a pool. Each run waits for that, unless it continues on the
// previous run's pool. Blocks are pairs.
func TestRemovalOfPoolsIsInTheEstimate(t *testing.T) {
	const onClass = `template: {target: {scratchPool: {replicated: {size: 3}, deviceClass: %s, parameters: {pg_num: "8"}}}}`
	const scratch = `template: {target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}}`
	const ownPools = `parameters: [{name: a, poolOption: {option: pg_num}, values: ["16"]}]`
	const depth = `parameters: [{name: a, workload: {phase: fio, field: ioDepth}, values: ["2"]}]`
	slow := osds(3)
	slow[2].DeviceClass = "hdd"
	for name, c := range map[string]struct {
		parameters, patch string
		osds              []ceph.OSD
		want              time.Duration
	}{
		"SSDs":                       {depth, scratch, osds(3), 0},
		"one HDD":                    {depth, scratch, slow, time.Minute},
		"a pool for each run":        {ownPools, scratch, slow, 2 * time.Minute},
		"HDDs of other pools":        {depth, fmt.Sprintf(onClass, "ssd"), slow, 0},
		"a class of HDDs":            {depth, fmt.Sprintf(onClass, "hdd"), slow, time.Minute},
		"they do not matter":         {depth, scratch + `, quiescence: {allowedWarnings: [STRAY_PGS]}`, slow, 0},
		"a wait that is cut shorter": {depth, scratch + `, quiescence: {timeout: 1m}`, slow, 30 * time.Second},
		"the pool is there":          {depth, `template: {target: {scratchPool: null, existingPool: {name: p}}}`, slow, 0},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, "{"+c.parameters+", "+c.patch+"}").Spec
			took := func(osds []ceph.OSD) time.Duration {
				plan, err := Draft(spec, Facts{OSDs: osds})
				if err != nil {
					t.Fatal(err)
				}
				return plan.RunDuration.Duration
			}
			if got := took(c.osds) - took(osds(3)); got != c.want {
				t.Errorf("a run takes %v longer, want %v", got, c.want)
			}
		})
	}
}

// The loads determine the prefilled data. It is not one set for each kind of tool.
func TestPrefillBytes(t *testing.T) {
	const gib = 1 << 30
	minute := metav1.Duration{Duration: time.Minute}
	rados := func(mode v1alpha1.RadosBenchMode, block string, reuse bool) v1alpha1.Phase {
		return v1alpha1.Phase{Name: "p", RadosBench: &v1alpha1.RadosBench{
			Mode: mode, BlockSize: resource.MustParse(block), Concurrency: 16, Duration: minute, ReuseObjects: reuse,
		}}
	}
	fio := func(pattern v1alpha1.FioPattern) v1alpha1.Phase {
		return v1alpha1.Phase{Name: "p", Fio: &v1alpha1.Fio{
			Engine: v1alpha1.FioEngineRBD, Pattern: pattern, BlockSize: resource.MustParse("4Ki"), NumJobs: 1, IODepth: 1, Duration: minute,
		}}
	}
	for name, c := range map[string]struct {
		phases []v1alpha1.Phase
		aside  *v1alpha1.Phase
		want   int64 // GiB
	}{
		"new objects":                      {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchWrite, "4Mi", false)}, nil, 0},
		"objects that are written over":    {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchWrite, "4Mi", true)}, nil, 4},
		"reads of the same objects":        {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchSeq, "4Mi", false), rados(v1alpha1.RadosBenchRand, "4Mi", false)}, nil, 4},
		"reads of objects of two sizes":    {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchSeq, "4Mi", false), rados(v1alpha1.RadosBenchSeq, "64Ki", false)}, nil, 8},
		"images to read and to write over": {[]v1alpha1.Phase{fio(v1alpha1.FioRandRead), fio(v1alpha1.FioRandWrite)}, nil, 8},
		"a background load has its own": {
			[]v1alpha1.Phase{fio(v1alpha1.FioRandRead)}, new(fio(v1alpha1.FioRandWrite)), 6,
		},
	} {
		t.Run(name, func(t *testing.T) {
			template := v1alpha1.BenchmarkTemplate{
				Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
					Replicated: &v1alpha1.ReplicatedPool{Size: 3}, Image: v1alpha1.Image{Size: resource.MustParse("10Gi"), ObjectSize: resource.MustParse("4Mi")},
				}},
				Clients: v1alpha1.Clients{Count: 2}, Phases: c.phases,
			}
			if c.aside != nil {
				c.aside.Name = "aside"
				template.Phases = append(template.Phases, *c.aside)
				template.BackgroundLoad = &v1alpha1.BackgroundLoad{Phase: "aside"}
			}
			if got := PrefillBytes(template, 2*gib); got != c.want*gib {
				t.Errorf("%d bytes, want %d GiB", got, c.want)
			}
			if got := NeedsDataset(template); got != (c.want > 0) {
				t.Errorf("needs a dataset: %t", got)
			}
		})
	}
}
