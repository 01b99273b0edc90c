package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// environment returns the environment of a cluster in which each OSD has measured its own capacity. Each month, Rook is
// upgraded, and each week one OSD measures again.
func environment(t *testing.T, osds, night int) json.RawMessage {
	t.Helper()
	in := quiescence.Inputs{
		FSID: "8a7d3c5e-0f0e-4d9c-9d4b-2f1a6e5b7c90", RookVersion: fmt.Sprintf("v1.20.%d", night/30), Versions: &ceph.Versions{},
		KubernetesVersion: fmt.Sprintf("v1.35.%d", night/30),

		Pools:  []ceph.Pool{{Name: "cephtune-scratch", Size: 3, MinSize: 2, PGNum: 128, AutoscaleMode: "off"}},
		Images: map[string]string{"tools": "quay.io/ceph/ceph@sha256:" + strings.Repeat("0123456789abcdef", 4)},
		Nodes:  []quiescence.Node{{Name: "worker-1.example.com"}, {Name: "worker-2.example.com"}, {Name: "worker-3.example.com"}},
	}
	for i := range osds {
		in.OSDs = append(in.OSDs, ceph.OSD{ID: i, DeviceClass: "ssd", TotalBytes: 4 << 40})
		in.Devices = append(in.Devices, ceph.OSDDevice{ID: i, Kernel: fmt.Sprintf("6.8.0-%d-generic", 40+night/30)})
		measured := rand.New(rand.NewPCG(uint64(i), uint64((night+i)/(7*osds))))
		in.Config = append(in.Config, ceph.ConfigEntry{
			Section: fmt.Sprintf("osd.%d", i), Name: "osd_mclock_max_capacity_iops_ssd", Value: fmt.Sprintf("%.6f", 20e3*math.Exp(measured.NormFloat64())),
		})
	}
	text, err := json.Marshal(quiescence.Describe(in))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// runsOf returns the runs of one night: three runs of some phases, each with all figures that a history has.
func runsOf(t *testing.T, phases, osds, night int) []*archive.Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(night)))
	detail := environment(t, osds, night)
	var runs []*archive.Run
	for number := range int32(3) {
		run := &archive.Run{
			SchemaVersion: archive.SchemaVersion, Number: number + 1, State: v1alpha1.RunValid, Environment: detail,
			Benchmark: archive.Benchmark{Namespace: "cephtune-bench", Name: "nightly", UID: "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"},
			RunID:     v1alpha1.RunID(at(night).Format("2006-01-02T1504Z")), ExecutionTime: at(night),
		}
		for i := range phases {
			o := &figure.Observation{}
			for _, m := range figure.Metrics() {
				o.Figures = append(o.Figures, figure.Figure{Metric: m, Direction: v1alpha1.DirectionTotal, Value: math.Exp(5 + 0.1*rng.NormFloat64())})
			}
			run.Phases = append(run.Phases, archive.Phase{Name: v1alpha1.PhaseName(fmt.Sprint("phase-", i)), SpecDigest: "0123456789abcdef", Observation: o})
		}
		runs = append(runs, run)
	}
	return runs
}

func at(night int) time.Time { return time.Date(2026, 1, 1+night, 3, 0, 0, 0, time.UTC) }

func nightsOf(t *testing.T, phases, osds, first, end int) []Night {
	t.Helper()
	var runs []*archive.Run
	for night := first; night < end; night++ {
		runs = append(runs, runsOf(t, phases, osds, night)...)
	}
	return Of(runs)
}

func benchmark() *v1alpha1.CephBenchmark {
	return &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "cephtune-bench", Name: "nightly", UID: "u"}}
}

// A ConfigMap holds a year of nights, and the latest nights of those that it cannot hold.
func TestAYearOfNights(t *testing.T) {
	for name, c := range map[string]struct{ phases, osds, least int }{
		"two phases, 12 OSDs":    {2, 12, 365},
		"three phases, 100 OSDs": {3, 100, 365},
		"16 phases, 100 OSDs":    {16, 100, 60},
		"two phases, 500 OSDs":   {2, 500, 365},
	} {
		t.Run(name, func(t *testing.T) {
			all := nightsOf(t, c.phases, c.osds, 0, 365)
			cm, err := ConfigMap(benchmark(), all)
			if err != nil {
				t.Fatal(err)
			}
			b := benchmark()
			b.Status.History = &v1alpha1.BenchmarkHistory{Results: cm.Name, ResultsDigest: archive.Digest(cm)}
			back, err := FromConfigMap(b, cm)
			if err != nil {
				t.Fatal(err)
			}
			size := len(cm.BinaryData[archive.HistoryKey])
			t.Logf("%d nights in %d bytes", len(back), size)
			if size > MaxBytes || len(back) < c.least {
				t.Errorf("%d nights in %d bytes, want at least %d nights in at most %d bytes", len(back), size, c.least, MaxBytes)
			}
			want, err1 := Encode(all[len(all)-len(back):])
			got, err2 := Encode(back)
			if !bytes.Equal(want, got) {
				t.Errorf("%v, %v: the latest nights come back as others", err1, err2)
			}
			again, err := ConfigMap(benchmark(), back)
			if err != nil || again.Name != cm.Name {
				t.Errorf("written again, it is %s, %v, want %s", again.Name, err, cm.Name)
			}
		})
	}
}

// The nights of light runs are those of the runs themselves.
func TestLight(t *testing.T) {
	var runs, light []*archive.Run
	for _, run := range runsOf(t, 2, 3, 0) {
		run.Phases[0].Clients = []task.Report{{Output: "long"}}
		run.Phases[0].Observation.Result = &result.Result{}
		runs, light = append(runs, run), append(light, Light(run))
	}
	if diff := cmp.Diff(Of(runs), Of(light)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := light[0].Phases[0]; p.Clients != nil || p.Observation.Result != nil || runs[0].Phases[0].Clients == nil {
		t.Error("a light run has all parts, or the run has been changed")
	}
}

func TestNightsHaveAValidRunWithFigures(t *testing.T) {
	runs := runsOf(t, 1, 1, 0)
	runs[1].State = v1alpha1.RunInvalid
	if nights := Of(runs); len(nights) != 1 || nights[0].Figures[0].Runs != 2 {
		t.Errorf("got %+v", nights)
	}
	for _, run := range runs {
		run.Phases[0].Observation = nil
	}
	if nights := Of(runs); len(nights) > 0 {
		t.Errorf("got %+v", nights)
	}
}

func TestMerge(t *testing.T) {
	first, second := nightsOf(t, 1, 1, 0, 4), nightsOf(t, 1, 1, 2, 6)
	second[0].RunID = "read again"
	got, err := Merge(first, second)
	if err != nil || len(got) != 6 || got[2].RunID != "read again" || !got[0].Time.Equal(at(0)) || !got[5].Time.Equal(at(5)) {
		t.Errorf("got %v, %+v", err, got)
	}
	if got, err := Merge(nightsOf(t, 1, 1, 0, 500), nightsOf(t, 1, 1, 500, 900)); err != nil || len(got) != 800 || !got[799].Time.Equal(at(899)) {
		t.Errorf("got %v, %d nights", err, len(got))
	}
	second[0].Benchmark.Name = "weekly"
	if _, err := Merge(first, second); err == nil {
		t.Error("nights of two benchmarks are merged")
	}
}

// Any user of the namespace can write a ConfigMap with the name, the owner and the labels of the history.
func TestOnlyTheRecordedHistoryIsRead(t *testing.T) {
	cm, err := ConfigMap(benchmark(), nightsOf(t, 1, 1, 0, 3))
	if err != nil {
		t.Fatal(err)
	}
	b := benchmark()
	b.Status.History = &v1alpha1.BenchmarkHistory{Results: cm.Name, ResultsDigest: archive.Digest(cm)}
	other, unowned, hiding, successor := cm.DeepCopy(), cm.DeepCopy(), cm.DeepCopy(), b.DeepCopy()
	other.BinaryData[archive.HistoryKey] = append(other.BinaryData[archive.HistoryKey], 0)
	unowned.OwnerReferences = nil
	hiding.BinaryData[archive.Key] = cm.BinaryData[archive.HistoryKey]
	hiding.BinaryData[archive.HistoryKey] = other.BinaryData[archive.HistoryKey]
	successor.UID = "another"
	for name, err := range map[string]error{
		"changed": second(FromConfigMap(b, other)), "without an owner": second(FromConfigMap(b, unowned)),
		"of another benchmark": second(FromConfigMap(successor, cm)), "not recorded": second(FromConfigMap(benchmark(), cm)),
		"behind the genuine one": second(FromConfigMap(b, hiding)),
	} {
		if _, foreign := errors.AsType[*archive.ForeignError](err); !foreign {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func second(_ []Night, err error) error { return err }

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("{"))
	data, err := pack([]Night{{SchemaVersion: schemaVersion, Time: at(0)}}, MaxBytes)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		nights, err := unpack(data)
		if err != nil || len(nights) == 0 {
			return
		}
		if _, err := pack(nights, MaxBytes); err != nil {
			t.Errorf("nights that were read cannot be written: %v", err)
		}
	})
}
