package sweepspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

func TestRedundancy(t *testing.T) {
	coded := func(data, coding, copies int32) v1alpha1.ScratchPool {
		return v1alpha1.ScratchPool{ErasureCoded: &v1alpha1.ErasureCodedPool{
			DataChunks: data, CodingChunks: coding, Metadata: v1alpha1.MetadataPool{Size: copies},
		}}
	}
	copies := func(n int32) v1alpha1.ScratchPool {
		return v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: n}}
	}
	for name, c := range map[string]struct {
		pool  v1alpha1.ScratchPool
		value string
		want  v1alpha1.ScratchPool
	}{
		"more copies":            {copies(2), "3", copies(3)},
		"chunks for copies":      {copies(2), "4+2", coded(4, 2, 3)},
		"copies for chunks":      {coded(4, 2, 2), "2", copies(2)},
		"other chunks":           {coded(4, 2, 2), "8+3", coded(8, 3, 2)},
		"the same again, copies": {copies(3), "3", copies(3)},
		"the same again, chunks": {coded(2, 1, 3), "2+1", coded(2, 1, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.pool.DeepCopy()
			template := v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ScratchPool: new(c.pool)}}
			if err := (redundancy{}).set(&template, cephvalue.Of(c.value)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, *template.Target.ScratchPool); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(*before, c.pool); diff != "" {
				t.Errorf("the original is changed:\n%s", diff)
			}
		})
	}
}

// A sweep over redundancy changes no existing object. Its baseline is the template's value, and
// each run has its own pool.
func TestRedundancyAsAParameter(t *testing.T) {
	spec := &specOf(t, `{template: {target: {scratchPool: {parameters: {pg_num: "8"}}}}, parameters: [{name: kind, redundancy: {}, values: ["2+1", "2"]}]}`).Spec
	baseline, err := Baseline(spec, nil, nil)
	if err != nil || len(baseline) != 1 || baseline[0].Value != "3" {
		t.Fatalf("the baseline is %v, %v, want that of the template", baseline, err)
	}
	values := map[string]cephvalue.Value{"kind": cephvalue.Of("2+1")}
	template, err := Template(spec, values, 1)
	if err != nil || template.Target.ScratchPool.Replicated != nil || template.Target.ScratchPool.ErasureCoded.DataChunks != 2 {
		t.Errorf("the pool is %+v, %v, want two data chunks", template.Target.ScratchPool, err)
	}
	if spec.Template.Target.ScratchPool.Replicated == nil {
		t.Error("the spec itself has changed")
	}
	if changes := Changes(spec, values); len(changes) > 0 {
		t.Errorf("it changes %v", changes)
	}
	if patches, err := Patches(spec, values, nil, ""); err != nil || len(patches) > 0 {
		t.Errorf("patches %v, %v", patches, err)
	}
	if want := " " + kindOf(spec.Parameters[0]).traits().noPatch; withoutPatch(spec) != want {
		t.Errorf("it says %q of a patch", withoutPatch(spec))
	}
	if SharesPool(spec) {
		t.Error("runs share a pool that is another for each value")
	}
	if got := RawBytesPerByte(spec); got != 3 {
		t.Errorf("%v bytes are stored for one of a client, want those of three copies", got)
	}
}

func TestBytesStoredForVariedSizes(t *testing.T) {
	spec := &specOf(t, `{template: {target: {scratchPool: {replicated: {size: 2}}}}, parameters: [{name: copies, poolOption: {option: size}, values: ["1", "4"]}]}`).Spec
	if got := RawBytesPerByte(spec); got != 4 {
		t.Errorf("%v bytes are stored for one of a client, want those of four copies", got)
	}
	if spec.Template.Target.ScratchPool.Replicated.Size != 2 {
		t.Error("the spec itself has changed")
	}
}

func TestValuesOfRedundancy(t *testing.T) {
	spec := &specOf(t, `{template: {target: {scratchPool: {parameters: {pg_num: "8"}}}}, parameters: [{name: kind, redundancy: {}, values: ["2"]}]}`).Spec
	for value, fine := range map[string]bool{"3": true, "10": true, "2+1": true, "32+16": true, "0": false, "11": false, "1+1": false, "2+": false, "33+1": false, "Unset": false} {
		if want := kindOf(spec.Parameters[0]).wanted(spec, plannerValue(v1alpha1.ParameterValue(value))); (want == "") != fine {
			t.Errorf("%q: it wants %q", value, want)
		}
	}
}

func TestAStorageClassAsAParameter(t *testing.T) {
	spec := &specOf(t, `{template: {target: {scratchPool: null, persistentVolumeClaim: {template: {storageClassName: slow}}}, phases: [{name: fio, fio: {pattern: RandRead}}]},
		parameters: [{name: class, storageClass: {}, values: [fast]}], objective: {phase: fio, metric: IOPS}}`).Spec
	baseline, err := Baseline(spec, nil, nil)
	if err != nil || len(baseline) != 1 || baseline[0].Value != "slow" {
		t.Fatalf("the baseline is %v, %v, want that of the template", baseline, err)
	}
	template, err := Template(spec, map[string]cephvalue.Value{"class": cephvalue.Of("fast")}, 1)
	if err != nil || template.Target.PersistentVolumeClaim.Template.StorageClassName != "fast" {
		t.Errorf("the volume is %+v, %v, want it of class fast", template.Target.PersistentVolumeClaim, err)
	}
	if spec.Template.Target.PersistentVolumeClaim.Template.StorageClassName != "slow" {
		t.Error("the spec itself has changed")
	}
	if want := " " + kindOf(spec.Parameters[0]).traits().noPatch; withoutPatch(spec) != want {
		t.Errorf("it says %q of a patch", withoutPatch(spec))
	}
	for value, fine := range map[string]bool{"fast": true, "a.b-c": true, "Unset": false, "A": false, "": false} {
		if want := kindOf(spec.Parameters[0]).wanted(spec, plannerValue(v1alpha1.ParameterValue(value))); (want == "") != fine {
			t.Errorf("%q: it wants %q", value, want)
		}
	}
}
