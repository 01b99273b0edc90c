package fio

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

func pool() place.Place {
	return place.Place{
		CephUser: "io", Pool: "p", Owner: "cephtune-1", Client: 2, Clients: 3, DatasetBytes: 1 << 30,
		Image: place.Image{SizeBytes: 10 << 30, ObjectSizeBytes: 4 << 20},
	}
}

func folder() place.Place {
	return place.Place{Directory: "/data", Owner: "cephtune-1", Clients: 1, DatasetBytes: 1 << 30}
}

func device() place.Place {
	return place.Place{Device: "/dev/bench", Owner: "cephtune-1", Clients: 1, DatasetBytes: 1 << 30}
}

func spec(pattern v1alpha1.FioPattern, change func(s *v1alpha1.Fio)) v1alpha1.Fio {
	s := v1alpha1.Fio{
		Pattern: pattern, BlockSize: resource.MustParse("4Ki"), IODepth: 8, NumJobs: 1,
		Duration: metav1.Duration{Duration: time.Minute}, Ramp: &metav1.Duration{Duration: 15 * time.Second},
		RateProcess: v1alpha1.FioRateLinear, Sync: v1alpha1.FioSyncNone,
	}
	if change != nil {
		change(&s)
	}
	return s
}

func newLoad(t *testing.T, s v1alpha1.Fio) load.Load {
	t.Helper()
	l, err := New("mixed", s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newTask(t *testing.T, p place.Place, s v1alpha1.Fio) task.Task {
	t.Helper()
	got, err := newLoad(t, s).Task(p, load.Run{ID: "run-7"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sections returns the options of each section except the global one, without seeds.
func sections(argv []string) (jobs [][]string) {
	for _, argument := range argv {
		switch {
		case strings.HasPrefix(argument, "--randseed="):
		case strings.HasPrefix(argument, "--name=job-"):
			jobs = append(jobs, []string{argument})
		case jobs != nil:
			jobs[len(jobs)-1] = append(jobs[len(jobs)-1], argument)
		}
	}
	return jobs
}

func TestWholeTask(t *testing.T) {
	want := task.Task{
		ID: "run-7",
		Steps: []task.Command{{Argv: []string{
			"rbd", "--id=io", "image-meta", "set", "--pool=p", "--image=cephtune-1-2-w1x1024m-0", "cephtune", "prepared",
		}}},
		StepsTimeoutSeconds: 122,
		Measure: &task.Measurement{
			Command: task.Command{Argv: []string{
				"fio", "--eta=always", "--eta-newline=1", "--output-format=json+", "--output=run-7.json",
				"--name=global", "--ioengine=rbd", "--group_reporting=1", "--time_based=1", "--runtime=60s", "--ramp_time=15s",
				"--direct=1", "--invalidate=1", "--lat_percentiles=1", "--clat_percentiles=0",
				"--write_bw_log=run-7", "--write_iops_log=run-7", "--write_lat_log=run-7", "--log_avg_msec=1000", "--per_job_logs=1",
				"--clientname=io", "--pool=p", "--busy_poll=0",
				"--name=job-mixed-0", "--rw=randwrite", "--bs=4096", "--iodepth=8", "--rbdname=cephtune-1-2-w1x1024m-0",
				"--offset=0", "--size=1073741824", "--randseed=599297140",
			}},
			Format: JSONFormat, OutputFile: "run-7.json", LogPrefix: "run-7", RequestedSeconds: 60, MinimumSeconds: 57,
		},
		MeasureTimeoutSeconds: 210,
	}
	if diff := cmp.Diff(want, newTask(t, pool(), spec(v1alpha1.FioRandWrite, nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If settings are switched, fio prints a report each second on standard output.
func TestTaskWhereSettingsAreSwitched(t *testing.T) {
	plain := newTask(t, pool(), spec(v1alpha1.FioRandWrite, nil))
	got, err := newLoad(t, spec(v1alpha1.FioRandWrite, nil)).Task(pool(), load.Run{ID: "run-7", Switched: true})
	if err != nil {
		t.Fatal(err)
	}
	if m := got.Measure; !m.Snapshots || m.OutputFile != "" || plain.Measure.Snapshots ||
		!slices.Contains(m.Argv, "--status-interval=1") || slices.ContainsFunc(m.Argv, func(a string) bool { return strings.HasPrefix(a, "--output=") }) {
		t.Errorf("%+v", m)
	}
	differ := func(argv []string) []string {
		return slices.DeleteFunc(slices.Clone(argv), func(a string) bool {
			return strings.HasPrefix(a, "--eta") || strings.HasPrefix(a, "--output=") || strings.HasPrefix(a, "--status-interval")
		})
	}
	if diff := cmp.Diff(differ(plain.Measure.Argv), differ(got.Measure.Argv)); diff != "" {
		t.Errorf("the load is another one:\n%s", diff)
	}
}

// Each option of the API adds options of fio, or replaces them.
func TestOptions(t *testing.T) {
	random := v1alpha1.FioRandReadWrite
	cases := map[string]struct {
		place   place.Place
		pattern v1alpha1.FioPattern
		change  func(s *v1alpha1.Fio)
		want    []string
		not     string // No option may begin like this.
	}{
		"a mix":              {pool(), random, nil, []string{"--rw=randrw", "--rwmixread=50"}, ""},
		"a mix of its own":   {pool(), v1alpha1.FioReadWrite, func(s *v1alpha1.Fio) { s.ReadPercent = new(int32(70)) }, []string{"--rw=rw", "--rwmixread=70"}, ""},
		"no mix":             {pool(), v1alpha1.FioRandRead, nil, []string{"--rw=randread"}, "--rwmixread"},
		"in order":           {pool(), v1alpha1.FioRead, nil, []string{"--rw=read"}, ""},
		"a depth":            {pool(), random, func(s *v1alpha1.Fio) { s.IODepth = 64 }, []string{"--iodepth=64"}, ""},
		"a part":             {pool(), random, func(s *v1alpha1.Fio) { s.Size = new(resource.MustParse("100Mi")) }, []string{"--size=104857600"}, ""},
		"no more than there": {pool(), random, func(s *v1alpha1.Fio) { s.Size = new(resource.MustParse("100Gi")) }, []string{"--size=1073741824"}, ""},
		"no ramp":            {pool(), random, func(s *v1alpha1.Fio) { s.Ramp = nil }, []string{"--runtime=60s"}, "--ramp_time"},
		"parts of a second":  {pool(), random, func(s *v1alpha1.Fio) { s.Duration.Duration = 30500 * time.Millisecond }, []string{"--runtime=30500ms"}, ""},
		"fsync":              {pool(), random, func(s *v1alpha1.Fio) { s.Fsync = 8 }, []string{"--fsync=8"}, "--fdatasync"},
		"fdatasync":          {pool(), random, func(s *v1alpha1.Fio) { s.Fdatasync = 1 }, []string{"--fdatasync=1"}, "--fsync"},
		"through the cache":  {pool(), random, func(s *v1alpha1.Fio) { s.Direct = new(false) }, []string{"--direct=0", "--invalidate=1"}, ""},
		"compressible": {
			pool(), random, func(s *v1alpha1.Fio) { s.CompressiblePercent = 50 },
			[]string{"--refill_buffers=1", "--buffer_compress_percentage=50", "--buffer_compress_chunk=4096"},
			"",
		},
		"small, compressible": {pool(), random, func(s *v1alpha1.Fio) { s.CompressiblePercent, s.BlockSize = 50, resource.MustParse("512") }, []string{"--buffer_compress_chunk=512"}, ""},
		"Zipf": {pool(), random, func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionZipf, Theta: "1.20"}
		}, []string{"--random_distribution=zipf:1.2"}, ""},
		"Pareto": {pool(), random, func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionPareto, Theta: "0.2"}
		}, []string{"--random_distribution=pareto:0.2"}, ""},
		"normal": {pool(), random, func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionNormal, Theta: "20"}
		}, []string{"--random_distribution=normal:20"}, ""},
		"uniform": {pool(), random, func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionUniform}
		}, nil, "--random_distribution"},
		"synchronous":    {folder(), random, func(s *v1alpha1.Fio) { s.Sync = v1alpha1.FioSyncFile }, []string{"--sync=sync"}, ""},
		"data in sync":   {folder(), random, func(s *v1alpha1.Fio) { s.Sync = v1alpha1.FioSyncData }, []string{"--sync=dsync"}, ""},
		"a file":         {folder(), random, nil, []string{"--ioengine=libaio", "--allow_file_create=0", "--filename=/data/cephtune-1-0-w1x1024m-0"}, "--pool"},
		"a file by ring": {folder(), random, func(s *v1alpha1.Fio) { s.Engine = v1alpha1.FioEngineIOUring }, []string{"--ioengine=io_uring"}, ""},
		"a device":       {device(), random, nil, []string{"--filename=/dev/bench", "--offset=0", "--size=1073741824"}, "--pool"},
		"objects": {
			pool(), v1alpha1.FioRandRead, func(s *v1alpha1.Fio) { s.Engine = v1alpha1.FioEngineRADOS },
			[]string{
				"--ioengine=rados", "--touch_objects=0", "--pool=p", "--filename_format=benchmark_data_cephtune-1-2-r1x1024m-o4-0.$filenum",
				"--file_service_type=random", "--nrfiles=256", "--size=1073741824",
			},
			"--offset",
		},
		"some objects in order": {pool(), v1alpha1.FioRead, func(s *v1alpha1.Fio) {
			s.Engine, s.Size = v1alpha1.FioEngineRADOS, new(resource.MustParse("10Mi"))
		}, []string{"--file_service_type=sequential", "--nrfiles=2", "--size=8388608"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			argv := newTask(t, tc.place, spec(tc.pattern, tc.change)).Measure.Argv
			for _, want := range tc.want {
				if !slices.Contains(argv, want) {
					t.Errorf("no %s in %q", want, argv)
				}
			}
			if tc.not != "" && slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(a, tc.not) }) {
				t.Errorf("%s in %q", tc.not, argv)
			}
		})
	}
}

// Copies that write have their own parts, copies that read at random share one part, and copies
// that read sequentially divide it.
func TestCopies(t *testing.T) {
	shared := pool()
	shared.Image.Shared = true
	rados := func(s *v1alpha1.Fio) { s.Engine = v1alpha1.FioEngineRADOS }
	for name, tc := range map[string]struct {
		place   place.Place
		pattern v1alpha1.FioPattern
		change  func(s *v1alpha1.Fio)
		want    []string // the options that select the data, for two copies
	}{
		"writers": {pool(), v1alpha1.FioWrite, nil, []string{
			"--rbdname=cephtune-1-2-w2x512m-0 --offset=0 --size=536870912", "--rbdname=cephtune-1-2-w2x512m-1 --offset=0 --size=536870912",
		}},
		"random readers": {pool(), v1alpha1.FioRandRead, nil, []string{
			"--rbdname=cephtune-1-2-r1x1024m-0 --offset=0 --size=1073741824", "--rbdname=cephtune-1-2-r1x1024m-0 --offset=0 --size=1073741824",
		}},
		"readers in order": {pool(), v1alpha1.FioRead, nil, []string{
			"--rbdname=cephtune-1-2-r1x1024m-0 --offset=0 --size=536870912", "--rbdname=cephtune-1-2-r1x1024m-0 --offset=536870912 --size=536870912",
		}},
		"random writers of one image": {shared, v1alpha1.FioRandWrite, nil, []string{
			"--rbdname=cephtune-1-0-w1x3072m-0 --offset=0 --size=3221225472", "--rbdname=cephtune-1-0-w1x3072m-0 --offset=0 --size=3221225472",
		}},
		"writers of one image in order": {shared, v1alpha1.FioWrite, nil, []string{
			"--rbdname=cephtune-1-0-w1x3072m-0 --offset=2147483648 --size=536870912", "--rbdname=cephtune-1-0-w1x3072m-0 --offset=2684354560 --size=536870912",
		}},
		"writers on a device": {device(), v1alpha1.FioRandWrite, nil, []string{
			"--filename=/dev/bench --offset=0 --size=536870912", "--filename=/dev/bench --offset=536870912 --size=536870912",
		}},
		"random readers of a device": {device(), v1alpha1.FioRandRead, nil, []string{
			"--filename=/dev/bench --offset=0 --size=1073741824", "--filename=/dev/bench --offset=0 --size=1073741824",
		}},
		"writers of files": {folder(), v1alpha1.FioRandWrite, nil, []string{
			"--filename=/data/cephtune-1-0-w2x512m-0 --offset=0 --size=536870912", "--filename=/data/cephtune-1-0-w2x512m-1 --offset=0 --size=536870912",
		}},
		"readers of objects in order": {pool(), v1alpha1.FioRead, rados, []string{
			"--filename_format=benchmark_data_cephtune-1-2-r2x512m-o4-0.$filenum --size=536870912",
			"--filename_format=benchmark_data_cephtune-1-2-r2x512m-o4-1.$filenum --size=536870912",
		}},
		"random readers of objects": {pool(), v1alpha1.FioRandRead, rados, []string{
			"--filename_format=benchmark_data_cephtune-1-2-r1x1024m-o4-0.$filenum --size=1073741824",
			"--filename_format=benchmark_data_cephtune-1-2-r1x1024m-o4-0.$filenum --size=1073741824",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(tc.pattern, tc.change)
			s.NumJobs = 2
			jobs := sections(newTask(t, tc.place, s).Measure.Argv)
			var got []string
			for _, job := range jobs {
				job = slices.DeleteFunc(job, func(a string) bool {
					name, _, _ := strings.Cut(a, "=")
					return !slices.Contains([]string{"--rbdname", "--filename", "--filename_format", "--offset", "--size"}, name)
				})
				got = append(got, strings.Join(job, " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJobsHaveOptionsOfTheirOwn(t *testing.T) {
	s := spec("", func(s *v1alpha1.Fio) {
		s.Jobs = []v1alpha1.FioJob{
			// fio treats a section whose name begins with "global" as options for all sections.
			{Name: "global", Pattern: v1alpha1.FioWrite, BlockSize: new(resource.MustParse("8Ki")), IODepth: new(int32(1)), RateBandwidth: new(resource.MustParse("1Mi"))},
			{Name: "tables", Pattern: v1alpha1.FioRandReadWrite, ReadPercent: new(int32(80)), NumJobs: new(int32(2))},
		}
	})
	got := sections(newTask(t, pool(), s).Measure.Argv)
	want := [][]string{
		{
			"--name=job-global-0", "--rw=write", "--bs=8192", "--iodepth=1", "--rate=1048576",
			"--rbdname=cephtune-1-2-w3x340m-0", "--offset=0", "--size=356515840",
		},
		{
			"--name=job-tables-0", "--rw=randrw", "--rwmixread=80", "--bs=4096", "--iodepth=8",
			"--rbdname=cephtune-1-2-w3x340m-1", "--offset=0", "--size=356515840",
		},
		{
			"--name=job-tables-1", "--rw=randrw", "--rwmixread=80", "--bs=4096", "--iodepth=8",
			"--rbdname=cephtune-1-2-w3x340m-2", "--offset=0", "--size=356515840",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Two runs must not visit the same blocks in the same order. The same holds for two copies and for
// two clients.
func TestSeedsDiffer(t *testing.T) {
	seen := map[string]bool{}
	l := newLoad(t, spec(v1alpha1.FioRandRead, func(s *v1alpha1.Fio) { s.NumJobs = 4 }))
	for client := range 3 {
		for _, run := range []string{"run-1", "run-2", "run-11"} {
			p := pool()
			p.Client = client
			got, err := l.Task(p, load.Run{ID: run})
			if err != nil {
				t.Fatal(err)
			}
			for _, argument := range got.Measure.Argv {
				if strings.HasPrefix(argument, "--randseed=") {
					seen[argument] = true
				}
			}
		}
	}
	if len(seen) != 3*3*4 {
		t.Errorf("%d seeds of %d", len(seen), 3*3*4)
	}
}

func TestSteps(t *testing.T) {
	count := func(p place.Place, pattern v1alpha1.FioPattern, engine v1alpha1.FioEngine) (verbs []string) {
		got := newTask(t, p, spec(pattern, func(s *v1alpha1.Fio) { s.NumJobs, s.Engine = 3, engine }))
		for _, step := range got.Steps {
			verbs = append(verbs, step.Argv[0]+" "+step.Argv[min(3, len(step.Argv)-1)])
		}
		return verbs
	}
	for name, tc := range map[string]struct{ got, want []string }{
		"readers take no lock":              {count(pool(), v1alpha1.FioRandRead, ""), nil},
		"each writer waits for its lock":    {count(pool(), v1alpha1.FioRandWrite, ""), []string{"rbd set", "rbd set", "rbd set"}},
		"objects are looked for, each once": {count(pool(), v1alpha1.FioRandRead, v1alpha1.FioEngineRADOS), []string{"rados stat"}},
		"files need none":                   {count(folder(), v1alpha1.FioRandWrite, ""), nil},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDatasetsAreShared(t *testing.T) {
	keys := func(s v1alpha1.Fio) (keys []string) {
		for _, d := range newLoad(t, s).Datasets(pool()) {
			keys = append(keys, d.Key)
		}
		return keys
	}
	read := keys(spec(v1alpha1.FioRandRead, nil))
	write := keys(spec(v1alpha1.FioRandWrite, nil))
	for name, tc := range map[string]struct{ got, want []string }{
		"read":              {read, []string{"image-r1x1024m"}},
		"read in order":     {keys(spec(v1alpha1.FioRead, nil)), read},
		"more of them":      {keys(spec(v1alpha1.FioRead, func(s *v1alpha1.Fio) { s.NumJobs = 8 })), read},
		"deeper and larger": {keys(spec(v1alpha1.FioRandRead, func(s *v1alpha1.Fio) { s.IODepth, s.BlockSize = 64, resource.MustParse("1Mi") })), read},
		"a part of it":      {keys(spec(v1alpha1.FioRandRead, func(s *v1alpha1.Fio) { s.Size = new(resource.MustParse("1Mi")) })), read},
		"write":             {write, []string{"image-w1x1024m"}},
		"both":              {keys(spec(v1alpha1.FioReadWrite, nil)), write},
		"write by several":  {keys(spec(v1alpha1.FioWrite, func(s *v1alpha1.Fio) { s.NumJobs = 4 })), []string{"image-w4x256m"}},
		"what compresses":   {keys(spec(v1alpha1.FioRandRead, func(s *v1alpha1.Fio) { s.CompressiblePercent = 50 })), []string{"image-r1x1024m-c50"}},
		"a phase of readers and of": {keys(spec("", func(s *v1alpha1.Fio) {
			s.Jobs = []v1alpha1.FioJob{{Name: "a", Pattern: v1alpha1.FioRead}, {Name: "b", Pattern: v1alpha1.FioWrite}}
		})), append(slices.Clone(read), write...)},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLargeImagesHaveNoMap(t *testing.T) {
	p := pool()
	p.DatasetBytes, p.Image.SizeBytes = 4<<40, 4<<40
	if argv := newTask(t, p, spec(v1alpha1.FioRandRead, nil)).Measure.Argv; !slices.Contains(argv, "--norandommap=1") {
		t.Errorf("a map of 128 MiB in %q", argv)
	}
	if argv := newTask(t, p, spec(v1alpha1.FioRead, nil)).Measure.Argv; slices.Contains(argv, "--norandommap=1") {
		t.Errorf("no map, in order, in %q", argv)
	}
}

func TestInvalidSpecsAreRefused(t *testing.T) {
	for name, change := range map[string]func(s *v1alpha1.Fio){
		"no pattern":         func(s *v1alpha1.Fio) { s.Pattern = "" },
		"an unknown pattern": func(s *v1alpha1.Fio) { s.Pattern = "Trim" },
		"no block size":      func(s *v1alpha1.Fio) { s.BlockSize = resource.Quantity{} },
		"no depth":           func(s *v1alpha1.Fio) { s.IODepth = 0 },
		"no copies":          func(s *v1alpha1.Fio) { s.NumJobs = 0 },
		"no duration":        func(s *v1alpha1.Fio) { s.Duration.Duration = 0 },
		"a job of two lines": func(s *v1alpha1.Fio) { s.Jobs = []v1alpha1.FioJob{{Name: "a\nexec_prerun=sh"}} },
		"theta and an option": func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionZipf, Theta: "1 --x"}
		},
		"theta of infinity": func(s *v1alpha1.Fio) {
			s.Distribution = &v1alpha1.FioDistribution{Type: v1alpha1.FioDistributionZipf, Theta: "inf"}
		},
		"another distribution": func(s *v1alpha1.Fio) { s.Distribution = &v1alpha1.FioDistribution{Type: "Zoned", Theta: "1.2"} },
	} {
		if l, err := New("a", spec(v1alpha1.FioRandRead, change)); err == nil || l != nil {
			t.Errorf("%s: got %v, %v", name, l, err)
		}
	}
	engine := func(e v1alpha1.FioEngine) func(s *v1alpha1.Fio) { return func(s *v1alpha1.Fio) { s.Engine = e } }
	unsized := pool()
	unsized.DatasetBytes = 0
	for name, tc := range map[string]struct {
		place  place.Place
		change func(s *v1alpha1.Fio)
	}{
		"no place":                 {place.Place{}, nil},
		"no dataset":               {unsized, nil},
		"librbd on a claim":        {folder(), engine(v1alpha1.FioEngineRBD)},
		"librados on a device":     {device(), engine(v1alpha1.FioEngineRADOS)},
		"libaio on a pool":         {pool(), engine(v1alpha1.FioEngineLibAIO)},
		"an unknown engine":        {pool(), engine("NBD")},
		"objects with fsync":       {pool(), func(s *v1alpha1.Fio) { s.Engine, s.Fsync = v1alpha1.FioEngineRADOS, 1 }},
		"an image in sync":         {pool(), func(s *v1alpha1.Fio) { s.Sync = v1alpha1.FioSyncData }},
		"blocks of more than size": {pool(), func(s *v1alpha1.Fio) { s.BlockSize, s.Size = resource.MustParse("4Mi"), new(resource.MustParse("1Mi")) }},
	} {
		l := newLoad(t, spec(v1alpha1.FioRandWrite, tc.change))
		if got, err := l.Task(tc.place, load.Run{ID: "a"}); err == nil {
			t.Errorf("%s: got %q", name, got.Measure.Argv)
		}
	}
	if _, err := newLoad(t, spec(v1alpha1.FioRandRead, nil)).Task(pool(), load.Run{ID: "../a"}); err == nil {
		t.Error("a run's ID that is a path was taken")
	}
}
