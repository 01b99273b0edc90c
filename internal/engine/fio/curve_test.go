package fio

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/openloop"
)

func curved(change func(*v1alpha1.Fio)) v1alpha1.Fio {
	percent := int32(70)
	spec := v1alpha1.Fio{
		Pattern: v1alpha1.FioRandReadWrite, ReadPercent: &percent, BlockSize: resource.MustParse("4Ki"), IODepth: 8, NumJobs: 2,
		Duration: metav1.Duration{Duration: 30 * time.Second},
		Curve:    &v1alpha1.Curve{Metric: v1alpha1.MetricLatencyP99, AtMost: "10ms", MaxSteps: 10, StepDuration: metav1.Duration{Duration: 20 * time.Second}},
	}
	if change != nil {
		change(&spec)
	}
	return spec
}

// All copies of the job share the rate of a step, and reads have their share of it.
func TestStepsOfferTheirRate(t *testing.T) {
	made, err := New("p", curved(nil))
	if err != nil {
		t.Fatal(err)
	}
	phase, _ := made.(load.Curved)
	step, err := phase.Step(pool(), load.Run{ID: "r1--0-p"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	argv := step.Measure.Argv
	var l openloop.Load
	if argv[0] != Generator || json.Unmarshal([]byte(strings.TrimPrefix(argv[2], "--load=")), &l) != nil {
		t.Fatalf("%q", argv)
	}
	if l.Seconds != 20 || l.RampSeconds != stepRamp || len(l.Copies) != 2 {
		t.Errorf("%+v", l)
	}
	for _, c := range l.Copies {
		if c.IOPS != 500 || c.ReadShare != 0.7 || !c.Poisson || !c.Reads || !c.Writes {
			t.Errorf("%+v", c)
		}
	}
	if seconds := made.Timing().Seconds(); seconds != 30+10*(2+20+2) {
		t.Errorf("%v s", seconds)
	}
}

func TestAPhaseWithACurveIsAClosedLoop(t *testing.T) {
	made, err := New("p", curved(nil))
	if err != nil {
		t.Fatal(err)
	}
	if closed, err := made.Task(pool(), load.Run{ID: "r1-p"}); err != nil || closed.Measure.Argv[0] != "fio" {
		t.Errorf("%+v, %v", closed, err)
	}
}

func TestStepsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Fio){
		"a rate": func(f *v1alpha1.Fio) {
			f.RateIOPS = new(int64(5))
			f.Jobs = []v1alpha1.FioJob{{Name: "a"}, {Name: "b", RateIOPS: nil}}
		},
		"jobs":               func(f *v1alpha1.Fio) { f.Jobs = []v1alpha1.FioJob{{Name: "a"}} },
		"fsync":              func(f *v1alpha1.Fio) { f.Fsync = 1 },
		"io_uring":           func(f *v1alpha1.Fio) { f.Engine = v1alpha1.FioEngineIOUring },
		"caches of a client": func(f *v1alpha1.Fio) { f.Direct = new(false) },
	} {
		if _, err := New("p", curved(change)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	plain, err := New("p", curved(func(f *v1alpha1.Fio) { f.Curve = nil }))
	if err != nil {
		t.Fatal(err)
	}
	if phase, ok := plain.(load.Curved); ok {
		if _, err := phase.Step(pool(), load.Run{ID: "r1--0-p"}, 1000); err == nil {
			t.Error("a step without a curve")
		}
	}
}
