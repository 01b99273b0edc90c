package scratchpool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/rook"
)

var master = make([]byte, 32)

func child() *v1alpha1.CephBenchmark {
	yes := true
	return &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: "pg-num-1234-001",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CephTuningSweep", Name: "pg-num", UID: "11-11", Controller: &yes}},
	}}
}

// Only the benchmark that the operator has sealed may share a pool, because everyone who may create
// benchmarks can copy annotations and owners.
func TestOnlySealedBenchmarksShare(t *testing.T) {
	want := rook.ScratchUse{
		Owner: objectref.Ref{Kind: "CephTuningSweep", Namespace: "bench", Name: "pg-num", UID: "11-11"}, Key: "1/2/1", Continues: true, Data: true,
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.CephBenchmark)
		shares bool
	}{
		"as it was made":       {func(*v1alpha1.CephBenchmark) {}, true},
		"another annotation":   {func(b *v1alpha1.CephBenchmark) { b.Annotations["example.com/a"] = "b" }, true},
		"another key":          {func(b *v1alpha1.CephBenchmark) { b.Annotations[annotationKey] = "1/3/1" }, false},
		"no key":               {func(b *v1alpha1.CephBenchmark) { delete(b.Annotations, annotationKey) }, false},
		"another pool allowed": {func(b *v1alpha1.CephBenchmark) { delete(b.Annotations, annotationContinues) }, false},
		"other data":           {func(b *v1alpha1.CephBenchmark) { delete(b.Annotations, annotationData) }, false},
		"no seal":              {func(b *v1alpha1.CephBenchmark) { delete(b.Annotations, annotationSeal) }, false},
		"another name":         {func(b *v1alpha1.CephBenchmark) { b.Name = "mine" }, false},
		"another namespace":    {func(b *v1alpha1.CephBenchmark) { b.Namespace = "mine" }, false},
		"another sweep":        {func(b *v1alpha1.CephBenchmark) { b.OwnerReferences[0].UID = "22-22" }, false},
		"another sweep's name": {func(b *v1alpha1.CephBenchmark) { b.OwnerReferences[0].Name = "other" }, false},
		"another kind":         {func(b *v1alpha1.CephBenchmark) { b.OwnerReferences[0].Kind = "CronJob" }, false},
		"no owner":             {func(b *v1alpha1.CephBenchmark) { b.OwnerReferences = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := child()
			if err := Share(master, b, Use{Key: "1/2/1", Continues: true, Data: true}); err != nil {
				t.Fatal(err)
			}
			c.change(b)
			wanted := rook.ScratchUse{}
			if c.shares {
				wanted = want
			}
			got, err := Shared(master, b)
			if diff := cmp.Diff(wanted, got); diff != "" || err != nil {
				t.Errorf("shared (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

func TestOtherManagersSealsCountForNothing(t *testing.T) {
	b, other := child(), append(make([]byte, 31), 1)
	if err := Share(other, b, Use{Key: "1/2/1"}); err != nil {
		t.Fatal(err)
	}
	if got, err := Shared(master, b); err != nil || got != (rook.ScratchUse{}) {
		t.Errorf("shared as %v, %v", got, err)
	}
}

func TestWithoutAnOwnerNothingIsShared(t *testing.T) {
	if err := Share(master, &v1alpha1.CephBenchmark{}, Use{Key: "1/2/1"}); err == nil {
		t.Error("a benchmark without an owner shares a pool")
	}
}
