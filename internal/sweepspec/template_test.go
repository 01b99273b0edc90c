package sweepspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

const loads = `{template: {phases: [{name: write, radosBench: {mode: Write, objectSize: 4Mi}}, {name: rbd, rbdBench: {ioType: Write, ioTotal: 1Gi}},
	{name: fio, fio: {pattern: RandRead, rateIOPS: 10}}]}, parameters: [`

func TestTemplates(t *testing.T) {
	const ec = `{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1}}}}, parameters: [`
	for name, tc := range map[string]struct {
		patch  string
		values map[string]string
		factor int
		want   []string
		not    []string
	}{
		"clients":            {loads + `{name: a, workload: {field: clients}, values: ["3"]}]}`, map[string]string{"a": "3"}, 1, []string{"count: 3"}, nil},
		"a depth":            {loads + `{name: a, workload: {phase: fio, field: ioDepth}, values: ["9"]}]}`, map[string]string{"a": "9"}, 1, []string{"ioDepth: 9"}, nil},
		"jobs":               {loads + `{name: a, workload: {phase: fio, field: numJobs}, values: ["9"]}]}`, map[string]string{"a": "9"}, 1, []string{"numJobs: 9"}, nil},
		"a rate":             {loads + `{name: a, workload: {phase: fio, field: rateIOPS}, values: ["99"]}]}`, map[string]string{"a": "99"}, 1, []string{"rateIOPS: 99"}, nil},
		"blocks of fio":      {loads + `{name: a, workload: {phase: fio, field: blockSize}, values: [64Ki]}]}`, map[string]string{"a": "64Ki"}, 1, []string{"blockSize: 64Ki", "blockSize: 4Mi"}, nil},
		"blocks of objects":  {loads + `{name: a, workload: {phase: write, field: blockSize}, values: [1Mi]}]}`, map[string]string{"a": "1Mi"}, 1, []string{"blockSize: 1Mi", "blockSize: 4Ki"}, nil},
		"objects":            {loads + `{name: a, workload: {phase: write, field: objectSize}, values: [8Mi]}]}`, map[string]string{"a": "8Mi"}, 1, []string{"objectSize: 8Mi"}, nil},
		"concurrency":        {loads + `{name: a, workload: {phase: write, field: concurrency}, values: ["5"]}]}`, map[string]string{"a": "5"}, 1, []string{"concurrency: 5"}, nil},
		"threads":            {loads + `{name: a, workload: {phase: rbd, field: ioThreads}, values: ["5"]}]}`, map[string]string{"a": "5"}, 1, []string{"ioThreads: 5"}, nil},
		"sizes of rbd bench": {loads + `{name: a, workload: {phase: rbd, field: ioSize}, values: [8Ki]}]}`, map[string]string{"a": "8Ki"}, 1, []string{"ioSize: 8Ki"}, nil},
		"twice as long": {
			loads + `{name: a, workload: {field: clients}, values: ["1"]}]}`,
			map[string]string{"a": "1"},
			2,
			[]string{"duration: 2m0s", "ramp: 20s", "ramp: 30s", "ioTotal: 2Gi"},
			[]string{"duration: 1m0s", "ramp: 10s", "ramp: 15s"},
		},
		"PGs of a scratch pool": {
			`{}`, map[string]string{"pg_num": "16"}, 1, []string{`pg_num: "16"`, `pg_autoscale_mode: "off"`}, nil,
		},
		"a number of OSDs": {
			onOSDs, map[string]string{"osds": "2"}, 1, []string{"osdSelection:\n      count: 2"}, []string{"seed"},
		},
		"a number of OSDs that the template does not have": {
			`{parameters: [{name: osds, osdCount: {}, values: ["3"]}], baseline: {values: {osds: "5"}}}`, map[string]string{"osds": "5"}, 1, []string{"osdSelection:\n      count: 5"}, nil,
		},
		"an unset number of PGs is fixed": {
			`{}`, map[string]string{"pg_num": "Unset"}, 1, []string{`pg_autoscale_mode: "off"`}, []string{"pg_num:"},
		},
		"an option that is unset": {
			`{template: {target: {scratchPool: {parameters: {compression_mode: force}}}}, parameters: [{name: a, poolOption: {option: compression_mode}, values: [Unset]}]}`,
			map[string]string{"a": "Unset"},
			1, nil,
			[]string{"compression_mode"},
		},
		"copies": {`{parameters: [{name: a, poolOption: {option: size}, values: ["2"]}]}`, map[string]string{"a": "2"}, 1, []string{"replicated:\n      size: 2"}, nil},
		"data of an erasure-coded pool": {
			ec + `{name: a, poolOption: {option: pg_num}, values: ["8"]}]}`,
			map[string]string{"a": "8"},
			1,
			[]string{"    parameters:\n      pg_autoscale_mode: \"off\"\n      pg_num: \"8\""},
			nil,
		},
		"metadata of an erasure-coded pool": {
			ec + `{name: a, poolOption: {option: pg_num, role: Metadata}, values: ["8"]}, {name: b, poolOption: {option: size, role: Metadata}, values: ["2"]}]}`,
			map[string]string{"a": "8", "b": "2"},
			1,
			[]string{"metadata:\n        parameters:\n          pg_autoscale_mode: \"off\"\n          pg_num: \"8\"\n        size: 2"},
			[]string{"    parameters:\n      pg"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, tc.patch).Spec
			before := spec.DeepCopy()
			values := map[string]cephvalue.Value{}
			for name, value := range tc.values {
				values[name] = plannerValue(v1alpha1.ParameterValue(value))
			}
			template, err := Template(spec, values, tc.factor)
			if err != nil {
				t.Fatal(err)
			}
			got := text(t, template)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(got, not) {
					t.Errorf("%q in\n%s", not, got)
				}
			}
			if diff := cmp.Diff(before, spec); diff != "" {
				t.Errorf("the spec was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestLengthHasItsLimits(t *testing.T) {
	spec := &specOf(t, `{template: {phases: [{name: write, radosBench: {mode: Write, duration: 23h, ramp: 50m}}]}}`).Spec
	template, err := Template(spec, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, template); !strings.Contains(got, "duration: 24h0m0s") || !strings.Contains(got, "ramp: 1h0m0s") {
		t.Error(got)
	}
}

// A warning of Ceph that one level of an existing pool causes is allowed only at that level.
func TestALevelThatCephWarnsOf(t *testing.T) {
	const odd = v1alpha1.HealthCode("POOL_PG_NUM_NOT_POWER_OF_TWO")
	const allowed = `parameters: [{name: pg_num, poolOption: {option: pg_num, method: InPlace}, values: ["32"]}], quiescence: {allowedWarnings: [SLOW_OPS]}}`
	for name, c := range map[string]struct {
		spec string
		pgs  cephvalue.Value
		want []v1alpha1.HealthCode
	}{
		"no power of two":   {inPlace + allowed, cephvalue.Of("40"), []v1alpha1.HealthCode{"SLOW_OPS", odd}},
		"a power of two":    {inPlace + allowed, cephvalue.Of("32"), []v1alpha1.HealthCode{"SLOW_OPS"}},
		"allowed already":   {inPlace + strings.Replace(allowed, "SLOW_OPS", string(odd), 1), cephvalue.Of("40"), []v1alpha1.HealthCode{odd}},
		"of a scratch pool": {`{quiescence: {allowedWarnings: [SLOW_OPS]}}`, cephvalue.Of("40"), []v1alpha1.HealthCode{"SLOW_OPS"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := specOf(t, c.spec)
			before := slices.Clone(s.Spec.Quiescence.AllowedWarnings)
			got, err := Child{Sweep: s, Run: 1, Configuration: sweep.Configuration{Values: map[string]cephvalue.Value{"pg_num": c.pgs}}}.Benchmark()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Spec.Quiescence.AllowedWarnings); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, s.Spec.Quiescence.AllowedWarnings); diff != "" {
				t.Errorf("the sweep's own have changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestChild(t *testing.T) {
	s := specOf(t, `{quiescence: {scrub: Pause}, rawOutput: Always}`)
	child := Child{
		Sweep: s, Trial: sweep.Trial{Block: 3, Attempt: 1, Position: 4, Repeat: 1, LengthFactor: 2}, Run: 17,
		Configuration: sweep.Configuration{Values: map[string]cephvalue.Value{"pg_num": cephvalue.Of("16")}},
	}
	child.Nodes = []v1alpha1.NodeName{"a", "b"}
	s.Status.Plan = &v1alpha1.SweepPlan{DatasetSize: new(resource.MustParse("64Mi"))}
	got, err := child.Benchmark()
	if err != nil {
		t.Fatal(err)
	}
	again, err := child.Benchmark()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("the same run (-first +second):\n%s", diff)
	}
	if size := got.Spec.Template.Dataset.Size; size != "64Mi" {
		t.Errorf("its dataset is %s, want that of the plan", size)
	}
	if got.Name != ChildName(s, 17) || got.Namespace != s.Namespace {
		t.Errorf("child %s/%s", got.Namespace, got.Name)
	}
	want := v1alpha1.CephBenchmarkSpec{
		ClusterRef: s.Spec.ClusterRef, RunID: "3.1.4.1", Repetitions: 1, HistoryLimit: 1, RawOutput: v1alpha1.RawOutputAlways,
		Template: got.Spec.Template, Quiescence: s.Spec.Quiescence,
	}
	want.Quiescence.Scrub = v1alpha1.ScrubRecord
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.NodeName{"a", "b"}, got.Spec.Template.Clients.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if !metav1.IsControlledBy(got, s) {
		t.Errorf("owners: %+v", got.OwnerReferences)
	}
}

// The background load runs in each run on the node of the first run, and does not become longer
// with the phases.
func TestTheBackgroundOfAChild(t *testing.T) {
	s := specOf(t, `{template: {phases: [{name: write, radosBench: {mode: Write}}, {name: aside, fio: {pattern: RandWrite, rateIOPS: 100}}], backgroundLoad: {phase: aside}}}`)
	child := Child{
		Sweep: s, Trial: sweep.Trial{Block: 1, LengthFactor: 2}, Run: 2, Nodes: []v1alpha1.NodeName{"a"}, BackgroundNodes: []v1alpha1.NodeName{"b"},
		Configuration: sweep.Configuration{Values: map[string]cephvalue.Value{"pg_num": cephvalue.Of("16")}},
	}
	got, err := child.Benchmark()
	if err != nil {
		t.Fatal(err)
	}
	want := s.Spec.Template.BackgroundLoad.DeepCopy()
	want.Nodes = []v1alpha1.NodeName{"b"}
	if diff := cmp.Diff(want, got.Spec.Template.BackgroundLoad); diff != "" {
		t.Errorf("background (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.Spec.Template.Background(), got.Spec.Template.Background()); diff != "" || len(got.Spec.Template.Measured()) != len(s.Spec.Template.Phases)-1 {
		t.Errorf("%d measured phases; the background's phase (-want +got):\n%s", len(got.Spec.Template.Measured()), diff)
	}
	if len(s.Spec.Template.BackgroundLoad.Nodes) > 0 {
		t.Error("the sweep was changed")
	}
}

func TestNamesOfChildren(t *testing.T) {
	s := specOf(t, `{}`)
	s.Name = strings.Repeat("long.name-", 20)
	first := ChildName(s, 400)
	if len(first) > maxChildName || len(validation.IsDNS1123Subdomain(first)) > 0 {
		t.Errorf("%s is no name", first)
	}
	for i := range 10 { // Every character may be the last before the suffix.
		s.Name = strings.Repeat("x", i) + strings.Repeat("long.name-", 20)
		if name := ChildName(s, 400); len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("%s is no name", name)
		}
	}
	s.Name = strings.Repeat("long.name-", 20)
	if errs := validation.IsValidLabelValue(SweepLabel(s)); len(errs) > 0 {
		t.Error(errs)
	}
	other := s.DeepCopy()
	other.Spec.RunID = "2"
	anew := s.DeepCopy()
	anew.UID = "another"
	if first == ChildName(other, 400) || first == ChildName(anew, 400) || first == ChildName(s, 399) {
		t.Error("two runs have one name")
	}
}
