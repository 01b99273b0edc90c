package engine

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// A member of the union without a line in the registry would have a phase that nothing describes.
func TestEachMemberOfAPhaseHasAnEngine(t *testing.T) {
	members := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.Phase]()) {
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		members++
		phase := v1alpha1.Phase{}
		reflect.ValueOf(&phase).Elem().FieldByIndex(field.Index).Set(reflect.New(field.Type.Elem()))
		if SpecOf(&phase) == nil {
			t.Errorf("no engine knows %s", field.Name)
		}
	}
	if members != len(engines()) {
		t.Errorf("%d members and %d engines", members, len(engines()))
	}
	if SpecOf(&v1alpha1.Phase{}) != nil {
		t.Error("a phase without a member has an engine")
	}
}

func TestTraits(t *testing.T) {
	size, ramp := resource.MustParse("4Ki"), &metav1.Duration{Duration: time.Second}
	jobs := []v1alpha1.FioJob{{Pattern: v1alpha1.FioRead, BlockSize: new(resource.MustParse("1Mi"))}, {Pattern: v1alpha1.FioWrite}}
	for name, tc := range map[string]struct {
		phase v1alpha1.Phase
		want  Traits
	}{
		"nothing": {v1alpha1.Phase{}, Traits{}},
		"rados bench writes": {
			v1alpha1.Phase{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: size, ObjectSize: new(resource.MustParse("8Ki")), Ramp: ramp}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, Ramp: time.Second, WriteShare: 1, NewObjectBytes: 8192, Windows: true},
		},
		"rados bench reuses objects": {
			v1alpha1.Phase{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: size, ReuseObjects: true}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, WriteShare: 1},
		},
		"rados bench reads in sequence": {
			v1alpha1.Phase{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchSeq, BlockSize: size}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, Reads: true},
		},
		"rbd bench mixes": {
			v1alpha1.Phase{RBDBench: &v1alpha1.RBDBench{IOType: v1alpha1.RBDBenchReadWrite, IOSize: size, ReadPercent: ptr.To[int32](75)}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, Reads: true, WriteShare: 0.25, OnImages: true},
		},
		"fio offers a rate": {
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, BlockSize: size, NumJobs: 2, RateIOPS: ptr.To[int64](10), Ramp: ramp}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, Ramp: time.Second, Reads: true, OnImages: true, OfferedIOPS: 20, Windows: true, Percentiles: true},
		},
		"fio has jobs that write": {
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Engine: v1alpha1.FioEngineRADOS, Pattern: v1alpha1.FioRead, BlockSize: size, Jobs: []v1alpha1.FioJob{
				{Name: "w", Pattern: v1alpha1.FioWrite},
			}}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, WriteShare: 1, ClosedLoop: true, Windows: true, Percentiles: true},
		},
		"fio has a job with a mix of its own": {
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Pattern: v1alpha1.FioRandReadWrite, BlockSize: size, Jobs: []v1alpha1.FioJob{
				{Name: "mix", ReadPercent: ptr.To[int32](90)},
			}}},
			Traits{BlockBytes: 4096, OperationBytes: 4096, Reads: true, WriteShare: 0.1, OnImages: true, ClosedLoop: true, Windows: true, Percentiles: true, BeginsAgain: true},
		},
		"fio has jobs": {
			v1alpha1.Phase{Fio: &v1alpha1.Fio{Engine: v1alpha1.FioEngineRADOS, Pattern: v1alpha1.FioWrite, BlockSize: size, Jobs: jobs}},
			Traits{BlockBytes: 4096, OperationBytes: 1 << 20, Reads: true, WriteShare: 1, ClosedLoop: true, Windows: true, Percentiles: true},
		},
	} {
		if diff := cmp.Diff(tc.want, TraitsOf(&tc.phase)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
