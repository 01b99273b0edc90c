package engine

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

func pool() place.Place {
	return place.Place{
		CephUser: "io", CephMajor: 20, Pool: "p", Owner: "cephtune-1", Clients: 2, DatasetBytes: 1 << 30,
		Image: place.Image{SizeBytes: 10 << 30, ObjectSizeBytes: 4 << 20},
	}
}

func phaseOf(name string, change func(p *v1alpha1.Phase)) v1alpha1.Phase {
	p := v1alpha1.Phase{Name: v1alpha1.PhaseName(name)}
	change(&p)
	minute := metav1.Duration{Duration: time.Minute}
	switch {
	case p.RadosBench != nil:
		p.RadosBench.BlockSize, p.RadosBench.Concurrency, p.RadosBench.Duration = resource.MustParse("4Mi"), 16, minute
	case p.RBDBench != nil:
		p.RBDBench.IOSize, p.RBDBench.IOThreads, p.RBDBench.Duration = resource.MustParse("4Ki"), 16, minute
		p.RBDBench.IOPattern = v1alpha1.RBDBenchSeq
	case p.Fio != nil:
		p.Fio.BlockSize, p.Fio.IODepth, p.Fio.NumJobs, p.Fio.Duration = resource.MustParse("4Ki"), 8, 1, minute
	}
	return p
}

func radosPhase(mode v1alpha1.RadosBenchMode) v1alpha1.Phase {
	return phaseOf("rados", func(p *v1alpha1.Phase) { p.RadosBench = &v1alpha1.RadosBench{Mode: mode} })
}

func rbdPhase(t v1alpha1.RBDBenchIOType) v1alpha1.Phase {
	return phaseOf("rbd", func(p *v1alpha1.Phase) { p.RBDBench = &v1alpha1.RBDBench{IOType: t} })
}

func fioPhase(engine v1alpha1.FioEngine, pattern v1alpha1.FioPattern) v1alpha1.Phase {
	return phaseOf("fio", func(p *v1alpha1.Phase) { p.Fio = &v1alpha1.Fio{Engine: engine, Pattern: pattern} })
}

func loadsOf(t *testing.T, phases ...v1alpha1.Phase) []Load {
	t.Helper()
	var loads []Load
	for _, phase := range phases {
		l, err := LoadOf(phase)
		if err != nil {
			t.Fatal(err)
		}
		loads = append(loads, l)
	}
	return loads
}

func TestLoadOfNamesThePhase(t *testing.T) {
	for name, phase := range map[string]v1alpha1.Phase{
		"no tool":       {Name: "first"},
		"no rados mode": {Name: "first", RadosBench: &v1alpha1.RadosBench{}},
		"no rbd type":   {Name: "first", RBDBench: &v1alpha1.RBDBench{}},
		"no pattern":    {Name: "first", Fio: &v1alpha1.Fio{}},
	} {
		l, err := LoadOf(phase)
		if l != nil || err == nil || !strings.HasPrefix(err.Error(), "phase first: ") {
			t.Errorf("%s: got %v, %v", name, l, err)
		}
	}
}

func TestFormatsOfTasksAreKnown(t *testing.T) {
	for _, l := range loadsOf(t, radosPhase(v1alpha1.RadosBenchWrite), rbdPhase(v1alpha1.RBDBenchRead), fioPhase("", v1alpha1.FioRead)) {
		got, err := l.Task(pool(), Run{ID: "a", IOTotalBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := Lookup(got.Measure.Format); !ok {
			t.Errorf("format %q of %q", got.Measure.Format, got.Measure.Argv)
		}
	}
}

// Phases of different tools read the same image, and overwrite the same image.
func TestToolsShareDatasets(t *testing.T) {
	for name, phases := range map[string][2]v1alpha1.Phase{
		"reads":  {rbdPhase(v1alpha1.RBDBenchRead), fioPhase("", v1alpha1.FioRandRead)},
		"writes": {rbdPhase(v1alpha1.RBDBenchReadWrite), fioPhase(v1alpha1.FioEngineRBD, v1alpha1.FioWrite)},
	} {
		loads := loadsOf(t, phases[:]...)
		if diff := cmp.Diff(loads[0].Datasets(pool()), loads[1].Datasets(pool())); diff != "" {
			t.Errorf("%s (-rbd bench +fio):\n%s", name, diff)
		}
	}
}

func TestCleanup(t *testing.T) {
	p := pool()
	loads := loadsOf(t,
		radosPhase(v1alpha1.RadosBenchWrite), radosPhase(v1alpha1.RadosBenchSeq), radosPhase(v1alpha1.RadosBenchRand),
		rbdPhase(v1alpha1.RBDBenchRead), fioPhase("", v1alpha1.FioRandRead), fioPhase("", v1alpha1.FioWrite),
		fioPhase(v1alpha1.FioEngineRADOS, v1alpha1.FioRandRead))
	var got []string
	for _, c := range Cleanup(p, loads) {
		got = append(got, strings.Join(c.Argv, " "))
	}
	want := []string{
		"rados --id=io --pool=p --namespace=cephtune-1-0-run --run-name=cephtune-1-0-none --prefix=benchmark_data_ cleanup",
		"rados --id=io --pool=p --namespace=cephtune-1-0-rados-read-256x4194304-4194304 --run-name=cephtune-1-0-none --prefix=benchmark_data_ cleanup",
		"rbd --id=io rm --no-progress --pool=p --image=cephtune-1-0-r1x1024m-0",
		"rbd --id=io image-meta set --pool=p --image=cephtune-1-0-w1x1024m-0 cephtune prepared",
		"rbd --id=io rm --no-progress --pool=p --image=cephtune-1-0-w1x1024m-0",
		"rados --id=io --pool=p --run-name=cephtune-1-0-none --prefix=benchmark_data_cephtune-1-0-r1x1024m-o4-0. cleanup",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	traces := Traces{
		Namespaces: []string{"cephtune-1-0-rados-read-256x4194304-4194304", "cephtune-1-0-run"},
		InDefault:  true,
	}
	if diff := cmp.Diff(traces, TracesOf(p, loads)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// In an existing pool, nothing is listed if only images or a namespace of the benchmark's own
	// can have traces.
	for name, some := range map[string][]Load{"images": loadsOf(t, fioPhase("", v1alpha1.FioWrite), rbdPhase(v1alpha1.RBDBenchRead)), "none": nil} {
		if got := TracesOf(p, some); len(got.Namespaces) > 0 || got.InDefault {
			t.Errorf("%s: %+v, want nothing to look for", name, got)
		}
	}
}

// argument matches every possible argument: options that the engines use, with a value on one line,
// and some words.
func argument() *regexp.Regexp {
	return regexp.MustCompile(`^(` + strings.Join([]string{
		`fio|generator|rados|rbd|rm|-f|bench|cleanup|stat|create|snap|rollback|image-meta|set|cephtune|prepared|write|seq|rand|[0-9]+`,
		`/[A-Za-z0-9/_.-]+|benchmark_data_[A-Za-z0-9_.-]+`,
		`--(id|pool|namespace|run-name|prefix|concurrent-ios|block-size|object-size|max-objects)=[A-Za-z0-9_.-]+`,
		`--(no-cleanup|no-hints|no-verify|reuse-bench|write-omap|write-xattr|no-progress)`,
		`--(image|snap|size|data-pool|io-type|io-size|io-threads|io-total|io-pattern|rw-mix-read|pattern-byte)=[A-Za-z0-9_.-]+`,
		`--(eta|eta-newline|output-format|output|name|ioengine|group_reporting|time_based|runtime|ramp_time|direct|invalidate)=[A-Za-z0-9_.+-]+`,
		`--(lat_percentiles|clat_percentiles|write_bw_log|write_iops_log|write_lat_log|log_avg_msec|per_job_logs)=[A-Za-z0-9_.-]+`,
		`--(clientname|busy_poll|touch_objects|allow_file_create|rbdname|nrfiles|file_service_type|fallocate|end_fsync)=[A-Za-z0-9_.-]+`,
		`--(fsync|fdatasync|sync|thinktime|rw|rwmixread|bs|bsrange|iodepth|iodepth_batch|rate|rate_iops|rate_process)=[A-Za-z0-9-]+`,
		`--(refill_buffers|buffer_compress_percentage|buffer_compress_chunk|dedupe_percentage|percentage_random|norandommap)=[0-9]+`,
		`--(offset|randseed)=[0-9]+|--bssplit=[0-9/:]+|--random_distribution=[a-z]+:[0-9.]+`,
		`--load=\{[][A-Za-z0-9_."{}:,/-]+\}`,
		`--filename=/[A-Za-z0-9/_.-]+|--filename_format=benchmark_data_[A-Za-z0-9_.-]+\$filenum`,
	}, "|") + `)$`)
}

// Whatever a user writes becomes the value of an option or an error, and the result is always the
// same.
func FuzzCommands(f *testing.F) {
	for tool := range byte(30) {
		f.Add(tool, "nightly", "p", "run-7", int64(4096), int32(4))
	}
	for _, text := range []string{"", "a\n--yes", "--yes", "-p", "global", "a b", "a=b", "$ncpus", "a:b", "../a", "a\x00", "1.2", "1e9", "ä"} {
		f.Add(byte(0), text, "p", "run-7", int64(65536), int32(1))
		f.Add(byte(9), "a", text, "run-7", int64(65536), int32(1))
		f.Add(byte(19), text, "p", text, int64(-1), int32(-1))
	}
	pattern := argument()
	f.Fuzz(func(t *testing.T, tool byte, text, poolName, run string, size int64, number int32) {
		phase := hostilePhase(tool, text, size, number)
		l, err := LoadOf(phase)
		if err != nil {
			return
		}
		p := pool()
		p.Pool, p.CephUser, p.Namespace = poolName, text, text
		if tool%2 == 0 {
			p.DataPool, p.DatasetBytes = text, size
		}
		if tool%3 == 0 {
			p = place.Place{Owner: "o", Clients: 1, Directory: "/" + text, DatasetBytes: size}
		}
		got := commandsOf(l, p, Run{ID: run, IOTotalBytes: size})
		for _, c := range got {
			for _, a := range c.Argv {
				if !pattern.MatchString(a) {
					t.Fatalf("argument %q of %q", a, c.Argv)
				}
			}
		}
		again, err := LoadOf(phase)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, commandsOf(again, p, Run{ID: run, IOTotalBytes: size}), task.Command.Same) {
			t.Fatal("the same phase became other commands")
		}
	})
}

func commandsOf(l Load, p place.Place, run Run) []task.Command {
	commands := Cleanup(p, []Load{l})
	for _, dataset := range l.Datasets(p) {
		commands = slices.Concat(commands, dataset.Commands, dataset.Rollback, dataset.Warm)
	}
	if made, err := l.Task(p, run); err == nil {
		commands = append(append(commands, made.Steps...), made.Measure.Command)
	}
	return append(commands, l.Tidy(p, run)...)
}

// hostilePhase sets a text and numbers in all fields of the API.
func hostilePhase(tool byte, text string, size int64, number int32) v1alpha1.Phase {
	quantity := *resource.NewQuantity(size, resource.BinarySI)
	duration := metav1.Duration{Duration: time.Duration(size)}
	number %= 70 // The number of copies is limited to what the API admits, so that the test stays fast.
	long := int64(number)
	phase := v1alpha1.Phase{Name: v1alpha1.PhaseName(text)}
	switch tool % 3 {
	case 0:
		modes := []v1alpha1.RadosBenchMode{v1alpha1.RadosBenchWrite, v1alpha1.RadosBenchSeq, v1alpha1.RadosBenchRand, v1alpha1.RadosBenchMode(text)}
		phase.RadosBench = &v1alpha1.RadosBench{
			Mode: modes[tool%4], BlockSize: quantity, Concurrency: number, Duration: duration,
			Destination: v1alpha1.RadosBenchDestination(text), ReuseObjects: tool%5 == 0,
		}
	case 1:
		types := []v1alpha1.RBDBenchIOType{v1alpha1.RBDBenchRead, v1alpha1.RBDBenchWrite, v1alpha1.RBDBenchReadWrite, v1alpha1.RBDBenchIOType(text)}
		phase.RBDBench = &v1alpha1.RBDBench{
			IOType: types[tool%4], IOSize: quantity, IOThreads: number, Duration: duration, IOPattern: v1alpha1.RBDBenchRand,
			ReadPercent: &number, DataPattern: v1alpha1.RBDBenchDataPattern(text),
		}
	default:
		engines := []v1alpha1.FioEngine{"", v1alpha1.FioEngineRBD, v1alpha1.FioEngineRADOS, v1alpha1.FioEngineIOUring, v1alpha1.FioEngine(text)}
		phase.Fio = &v1alpha1.Fio{
			Engine: engines[tool%5], Pattern: v1alpha1.FioRandReadWrite, BlockSize: quantity, IODepth: number, NumJobs: number,
			Size: &quantity, Duration: duration, RateProcess: v1alpha1.FioRateProcess(text), Sync: v1alpha1.FioSync(text),
			CompressiblePercent: number, Fsync: number, RateIOPS: &long,
			Jobs: []v1alpha1.FioJob{{Name: v1alpha1.PhaseName(text), Pattern: v1alpha1.FioPattern(text)}, {Name: "b"}},
		}
		if tool%7 == 0 {
			phase.Fio.CompressiblePercent, phase.Fio.Fsync = 0, 0
			phase.Fio.Jobs = nil
		}
		if tool%2 == 0 && phase.Fio.Jobs != nil {
			phase.Fio.Jobs[0].Pattern = v1alpha1.FioRandRead
			phase.Fio.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionZipf, Theta: text}
		}
	}
	return phase
}
