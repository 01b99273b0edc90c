package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
)

// phasesWithEverything have, together, every optional field of the API, so that every text field is
// in one of them.
const phasesWithEverything = `
- name: rados-write
  radosBench:
    {mode: Write, blockSize: 4Ki, objectSize: 8Ki, concurrency: 2, duration: 60s, ramp: 5s, allocationHints: Omit, destination: Object, verification: Contents}
- name: rados-read
  radosBench: {mode: Rand, blockSize: 4Ki, concurrency: 2, duration: 60s, verification: None}
- name: rbd
  rbdBench: {ioType: ReadWrite, readPercent: 30, ioPattern: Rand, ioSize: 4Ki, ioThreads: 2, ioTotal: 1Gi, duration: 60s, dataPattern: RepeatedByte}
- name: fio-rbd
  fio:
    engine: RBD
    pattern: RandReadWrite
    readPercent: 70
    blockSize: 4Ki
    ioDepth: 4
    numJobs: 2
    size: 64Mi
    duration: 60s
    ramp: 5s
    fsync: 3
    compressiblePercent: 10
    distribution: {type: Zipf, theta: "1.2"}
    jobs: [{name: a, pattern: RandRead}, {name: b, pattern: RandWrite, blockSize: 8Ki, ioDepth: 2, numJobs: 1, rateIOPS: 5}]
- name: fio-objects
  fio: {engine: RADOS, pattern: RandRead, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s, rateBandwidth: 1Mi}
- name: fio-rate
  fio: {pattern: RandReadWrite, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s, rateIOPS: 100, rateProcess: Poisson, sync: Data}
- name: fio-curve
  fio: {pattern: RandReadWrite, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s, curve: {metric: LatencyP99, atMost: 10ms, direction: Read, stepDuration: 20s, maxSteps: 21}}
- name: fio-objects-in-order
  fio: {engine: RADOS, pattern: Read, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s}
- name: fio-claim
  fio: {engine: IOUring, pattern: Write, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s, fdatasync: 2, sync: File, direct: false}
`

// fullPhases returns new copies of these phases.
func fullPhases(t testing.TB) []v1alpha1.Phase {
	t.Helper()
	var phases []v1alpha1.Phase
	if err := yaml.UnmarshalStrict([]byte(phasesWithEverything), &phases); err != nil {
		t.Fatal(err)
	}
	return phases
}

// everyPlace returns one place of each kind.
func everyPlace() []place.Place {
	erasureCoded := pool()
	erasureCoded.DataPool = "data"
	erasureCoded.Image.RolledBack = true
	claim := place.Place{Owner: "cephtune-1", Clients: 1, DatasetBytes: 1 << 30}
	folder, device := claim, claim
	folder.Directory, device.Device = "/data", "/dev/cephtune"
	return []place.Place{pool(), erasureCoded, folder, device}
}

// opaque reports whether a type contains texts that no user can set.
func opaque(kind reflect.Type) bool {
	return kind == reflect.TypeFor[resource.Quantity]() || kind == reflect.TypeFor[metav1.Duration]()
}

// texts returns the texts in a value, and their paths.
func texts(v reflect.Value, path string) (paths []string, found []reflect.Value) {
	add := func(v reflect.Value, path string) {
		p, f := texts(v, path)
		paths, found = append(paths, p...), append(found, f...)
	}
	switch {
	case opaque(v.Type()):
	case v.Kind() == reflect.String:
		return []string{path}, []reflect.Value{v}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		add(v.Elem(), path)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			add(v.Index(i), path+"[]")
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			add(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	}
	return paths, found
}

// roomForTexts returns the paths of the text fields of a type.
func roomForTexts(kind reflect.Type, path string) []string {
	var paths []string
	switch {
	case opaque(kind):
	case kind.Kind() == reflect.String:
		return []string{path}
	case kind.Kind() == reflect.Pointer:
		return roomForTexts(kind.Elem(), path)
	case kind.Kind() == reflect.Slice:
		return roomForTexts(kind.Elem(), path+"[]")
	case kind.Kind() == reflect.Map:
		return []string{path + " is a map, which texts does not look into"}
	case kind.Kind() == reflect.Struct:
		for field := range kind.Fields() {
			paths = append(paths, roomForTexts(field.Type, path+"."+field.Name)...)
		}
	}
	return paths
}

// A new field of the API must be in one of these phases.
func TestEveryTextOfTheAPIIsTried(t *testing.T) {
	paths, _ := texts(reflect.ValueOf(fullPhases(t)), "")
	for _, room := range roomForTexts(reflect.TypeFor[[]v1alpha1.Phase](), "") {
		if !slices.Contains(paths, room) {
			t.Errorf("no phase has %s: add it to phasesWithEverything", room)
		}
	}
	// The phases must not be refused for another reason.
	for _, phase := range fullPhases(t) {
		l, err := LoadOf(phase)
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, p := range everyPlace() {
			if _, err := l.Task(p, Run{ID: "r1"}); err == nil {
				tried++
			}
		}
		if tried == 0 {
			t.Errorf("phase %s works nowhere", phase.Name)
		}
	}
}

// hostileTexts are parts of options, lines and variables.
func hostileTexts() []string {
	return []string{
		"", "-", "--", "--exec_prerun=id", "a --exec_prerun=id", "a\n--exec_prerun=id", "a\nexec_prerun=id", "a\r\n[global]\nioengine=external:/x",
		"a\x00b", "a\tb", "a b", "a=b", "a:b", "a,b", "a/b", "../../etc/ceph/keyring", "/etc/ceph/keyring", "${HOME}", "$ncpus", "`id`", "$(id)", "a;id", "a|id",
		"'a'", "\"a\"", "\\a", "#a", "a%b", "*", "?", "~", "a\u2028b", "\uff0d-a", "\xff", "global", "job", "1e9", "0x1", "-1", "1;2", strings.Repeat("a", 5000),
	}
}

// FuzzEveryText sets each text field of the API, at every place, as if no earlier check had refused
// the text. The result must be an error, or commands that contain the text only as a part of a
// value, never as an option.
func FuzzEveryText(f *testing.F) {
	all := fullPhases(f)
	number := uint16(0)
	for i := range all {
		paths, _ := texts(reflect.ValueOf(&all[i]), "")
		for range paths {
			for _, text := range hostileTexts() {
				f.Add(number, text)
			}
			number++
		}
	}
	places, pattern := everyPlace(), argument()
	f.Fuzz(func(t *testing.T, field uint16, text string) {
		phase, path := withText(all, int(field%number), text)
		l, err := LoadOf(*phase)
		if err != nil {
			return
		}
		for _, p := range places {
			for _, c := range commandsOf(l, p, Run{ID: "r1", IOTotalBytes: 1 << 30}) {
				for _, a := range c.Argv {
					if !pattern.MatchString(a) {
						t.Fatalf("%s%s=%q: argument %q of %q", phase.Name, path, text, a, c.Argv)
					}
				}
			}
		}
	})
}

// withText returns a copy of the phase with another text in the field of that number.
func withText(all []v1alpha1.Phase, number int, text string) (*v1alpha1.Phase, string) {
	for i := range all {
		phase := all[i].DeepCopy()
		paths, found := texts(reflect.ValueOf(phase), "")
		if number < len(found) {
			found[number].SetString(text)
			return phase, paths[number]
		}
		number -= len(found)
	}
	panic("there are fewer texts")
}
