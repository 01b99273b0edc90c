package fio

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/engine/prefill"
	"github.com/cephtune/cephtune/internal/task"
)

const (
	// All steps of a task together may take stepsSeconds, plus stepSeconds for each step. A step may wait for
	// an image's lock, which Ceph keeps for half a minute after the client with the lock was killed.
	stepsSeconds, stepSeconds = 120, 2
	// maxMapBlocks limits fio's map of visited blocks, which has one bit for each block. A copy of a job with a
	// random pattern runs without the map if the copy's data has more blocks.
	maxMapBlocks = 1 << 28
)

// phase is the Load of a phase that runs fio.
//
// All options are on the command line: in a job file, a line break in a value would begin another option.
// Each copy of a job is a section of fio. A copy that writes has its own data, unless all clients share one
// image. All sections report as one group, so fio itself adds up their figures.
//
// The seed depends on the run. With a fixed seed, such as fio's default, each run would visit the same blocks
// in the same order. It would find them in the caches that the previous run filled.
type phase struct {
	spec          v1alpha1.Fio
	jobs          []section
	seconds, ramp float64
}

// New returns the Load of a phase. The error says which value, or which one of several, is invalid.
func New(name string, spec v1alpha1.Fio) (load.Load, error) {
	f := &phase{spec: spec, seconds: spec.Duration.Seconds()}
	if spec.Ramp != nil {
		f.ramp = spec.Ramp.Seconds()
	}
	if f.seconds <= 0 || f.ramp < 0 {
		return nil, errors.New("duration must be above 0, and ramp must not be below 0")
	}
	jobs := spec.Jobs
	if len(jobs) == 0 {
		jobs = []v1alpha1.FioJob{{Name: v1alpha1.PhaseName(name)}}
	}
	for _, job := range jobs {
		s, err := newSection(spec, job)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.Name, err)
		}
		f.jobs = append(f.jobs, s)
	}
	if spec.Curve != nil {
		return f, f.checkCurve()
	}
	if f.openLoop() {
		if err := checkOpenLoop(&spec); err != nil {
			return nil, err
		}
		return f, f.checkRates()
	}
	return f, nil
}

// Timing implements load.Load.
func (f *phase) Timing() load.Timing {
	timing := load.Timing{RampSeconds: f.ramp, MeasuredSeconds: f.seconds}
	if c := f.spec.Curve; c != nil {
		timing.CurveSeconds = float64(c.MaxSteps) * (stepRamp + c.StepDuration.Seconds() + betweenSteps)
	}
	return timing
}

// Namespaces implements load.Load. fio's rados engine supports only the default namespace.
func (f *phase) Namespaces(p place.Place) []string {
	if f.medium(p) == prefill.Objects {
		return []string{""}
	}
	return nil
}

// Tidy implements load.Load. It returns no commands, because a run writes no data outside of datasets.
func (*phase) Tidy(place.Place, load.Run) []task.Command { return nil }

// Datasets implements load.Load.
func (f *phase) Datasets(p place.Place) []load.Dataset {
	if f.validate(p) != nil {
		return nil
	}
	var datasets []load.Dataset
	known := map[string]bool{}
	for _, s := range f.clones(p) {
		dataset := s.data.Dataset()
		if !known[dataset.Key] {
			known[dataset.Key] = true
			datasets = append(datasets, dataset)
		}
	}
	return datasets
}

// Task implements load.Load.
func (f *phase) Task(p place.Place, run load.Run) (task.Task, error) {
	if err := errors.Join(f.validate(p), run.Validate()); err != nil {
		return task.Task{}, err
	}
	clones := f.clones(p)
	if !f.openLoop() {
		return f.task(run, clones, f.measurement(p, run, clones))
	}
	measure, err := f.generate(p, run, clones)
	if err != nil {
		return task.Task{}, err
	}
	return f.task(run, clones, measure)
}

// task returns the task of a measurement. Before it, the task checks the data of the copies.
func (f *phase) task(run load.Run, clones []clone, measure *task.Measurement) (task.Task, error) {
	var steps []task.Command
	for _, s := range clones {
		if s.size < s.job.block {
			return task.Task{}, fmt.Errorf("job %s: blocks of %d bytes must not be larger than the %d bytes that each copy works on",
				s.job.name, s.job.block, s.size)
		}
		if step, ok := s.check(); ok && !slices.ContainsFunc(steps, step.Same) {
			steps = append(steps, step)
		}
	}
	measure.RequestedSeconds, measure.MinimumSeconds = f.seconds, parse.MinimumShare*f.seconds
	made := task.Task{ID: run.ID, Steps: steps, Measure: measure, MeasureTimeoutSeconds: f.ramp + 1.25*f.seconds + 120}
	if len(steps) > 0 {
		made.StepsTimeoutSeconds = float64(stepsSeconds + stepSeconds*len(steps))
	}
	return made, nil
}

// measurement returns the measurement of a closed loop, with fio.
func (f *phase) measurement(p place.Place, run load.Run, clones []clone) *task.Measurement {
	argv := f.globalOptions(p, run, clones)
	for i, s := range clones {
		argv = append(argv, s.options(seed(run.Seed(), p.Client, i))...)
	}
	made := &task.Measurement{Command: task.Command{Argv: argv}, Format: JSONFormat, OutputFile: run.ID + ".json", LogPrefix: run.ID}
	if run.Switched {
		made.OutputFile, made.Snapshots = "", true
	}
	return made
}

// globalOptions returns fio's command with the options of fio itself and those that all sections share.
func (f *phase) globalOptions(p place.Place, run load.Run, clones []clone) []string {
	engine, _ := f.engineName(p)
	argv := append(reportOptions(run),
		"--name=global", "--ioengine="+engine, "--group_reporting=1",
		"--time_based=1", "--runtime="+timeOption(f.seconds))
	if f.ramp > 0 {
		argv = append(argv, "--ramp_time="+timeOption(f.ramp))
	}
	argv = append(argv, "--direct="+flag(f.spec.Direct == nil || *f.spec.Direct), "--invalidate=1",
		// fio reports the percentiles of the total latency, which includes submission.
		"--lat_percentiles=1", "--clat_percentiles=0")
	argv = append(argv,
		"--write_bw_log="+run.ID, "--write_iops_log="+run.ID, "--write_lat_log="+run.ID, "--log_avg_msec="+strconv.Itoa(courseWindow), "--per_job_logs=1")
	argv = append(argv, clones[0].data.EngineOptions()...)
	for _, option := range []struct {
		name  string
		value int32
	}{
		{"--fsync=", f.spec.Fsync},
		{"--fdatasync=", f.spec.Fdatasync},
	} {
		if option.value > 0 {
			argv = append(argv, option.name+strconv.Itoa(int(option.value)))
		}
	}
	if name := syncName(f.spec.Sync); name != "" {
		argv = append(argv, "--sync="+name)
	}
	return argv
}

// reportOptions returns fio's command with the options of the report. The report goes to a file, and standard
// output gets a status line each second. If settings are switched during the run, standard output gets a
// report each second instead.
func reportOptions(run load.Run) []string {
	if run.Switched {
		return []string{"fio", "--eta=never", "--status-interval=1", "--output-format=json+"}
	}
	return []string{"fio", "--eta=always", "--eta-newline=1", "--output-format=json+", "--output=" + run.ID + ".json"}
}

// maxWindowSeconds limits the duration of a phase with latency windows: the client's report has room for those of
// half an hour.
const maxWindowSeconds = 1800

// medium returns the kind of data that the jobs use. Engine RBD or RADOS in the spec determines it; with any
// other engine, the place does.
func (f *phase) medium(p place.Place) prefill.Medium {
	switch {
	case f.spec.Engine == v1alpha1.FioEngineRADOS:
		return prefill.Objects
	case f.spec.Engine == v1alpha1.FioEngineRBD || (f.spec.Engine == "" && p.Pool != ""):
		return prefill.Image
	case p.Device != "":
		return prefill.Device
	}
	return prefill.File
}

// engineName returns fio's name of the engine, or an error if the engine is unknown or cannot use the place.
func (f *phase) engineName(p place.Place) (string, error) {
	name := map[v1alpha1.FioEngine]string{
		v1alpha1.FioEngineRBD:     "rbd",
		v1alpha1.FioEngineRADOS:   "rados",
		v1alpha1.FioEngineLibAIO:  "libaio",
		v1alpha1.FioEngineIOUring: "io_uring",
	}[f.spec.Engine]
	medium := f.medium(p)
	onPool := medium == prefill.Image || medium == prefill.Objects
	switch {
	case name == "" && f.spec.Engine != "":
		return "", fmt.Errorf("engine %q must be RBD, RADOS, LibAIO or IOUring", f.spec.Engine)
	case onPool && p.Pool == "":
		return "", fmt.Errorf("engine %s works on a pool: use LibAIO or IOUring on a claim", f.spec.Engine)
	case !onPool && p.Pool != "":
		return "", fmt.Errorf("engine %s works on a claim: use RBD or RADOS on a pool", f.spec.Engine)
	case name != "":
		return name, nil
	case onPool:
		return "rbd", nil
	}
	return "libaio", nil
}

func (f *phase) validate(p place.Place) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if _, err := f.engineName(p); err != nil {
		return err
	}
	medium := f.medium(p)
	switch {
	case p.DatasetBytes == 0:
		return errors.New("the size of the dataset is unknown")
	case medium == prefill.Objects && (f.spec.Fsync > 0 || f.spec.Fdatasync > 0):
		return errors.New("objects do not support fsync and fdatasync: remove them, or use engine RBD")
	case (medium == prefill.Objects || medium == prefill.Image) && syncName(f.spec.Sync) != "":
		return errors.New("sync is for engines LibAIO and IOUring: use fsync with engine RBD")
	}
	return nil
}

func syncName(sync v1alpha1.FioSync) string {
	switch sync {
	case v1alpha1.FioSyncFile:
		return "sync"
	case v1alpha1.FioSyncData:
		return "dsync"
	case v1alpha1.FioSyncNone:
	}
	return ""
}

// timeOption formats seconds for fio, rounded up to whole milliseconds.
func timeOption(seconds float64) string {
	if whole := math.Trunc(seconds); whole == seconds {
		return strconv.FormatFloat(whole, 'f', 0, 64) + "s"
	}
	return strconv.FormatFloat(math.Ceil(seconds*1000), 'f', 0, 64) + "ms"
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}
