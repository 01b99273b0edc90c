package fio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/openloop"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/engine/prefill"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// Generator is the program that makes the load of a phase in which each job has a rate. fio would stop submitting
// while the storage stalls.
const Generator = "generator"

// generated is the format of the generator's output: a result, and a line for each second on standard output.
func generated() parse.Format {
	return parse.Format{
		Name: openloop.Format, Tool: result.ToolOpenLoop, Parse: parseGenerated, NewLive: func() parse.Live { return generatedLines{} },
		Detect: func([]byte) bool { return false }, // It is no output for users, who have the result in an archive.
	}
}

func parseGenerated(r io.Reader, options parse.Options) (*result.Result, error) {
	data, err := parse.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	res := &result.Result{}
	if err := json.Unmarshal(data, res); err != nil {
		return nil, &parse.SyntaxError{Want: "a result of the generator", Found: err.Error()}
	}
	if len(res.Directions()) == 0 {
		return nil, &parse.IncompleteError{Reason: parse.NoIO, Detail: "no operation was done"}
	}
	if err := res.Validate(); err != nil {
		return nil, &parse.SyntaxError{Want: "possible figures", Found: err.Error()}
	}
	return res, parse.CheckDuration(res, res.Directions()[0].Seconds, options.RequestedSeconds)
}

// generatedLines implements [parse.Live].
type generatedLines struct{}

// Line implements [parse.Live].
func (generatedLines) Line(line []byte) (parse.Rate, bool) {
	counted := &parse.Counted{}
	if err := json.Unmarshal(line, counted); err != nil || !(counted.Seconds > 0) {
		return parse.Rate{}, false
	}
	return rateOver(counted, counted.Seconds), true
}

// checkOpenLoop returns an error for an option that has no meaning at a rate, or that the generator lacks.
func checkOpenLoop(spec *v1alpha1.Fio) error {
	for _, option := range []struct {
		set  bool
		name string
	}{
		{spec.Fsync > 0, "fsync"},
		{spec.Fdatasync > 0, "fdatasync"},
		{spec.Direct != nil && !*spec.Direct, "direct: false"},
		{spec.CompressiblePercent > 0, "compressiblePercent"},
		{spec.Distribution != nil && spec.Distribution.Type != v1alpha1.FioDistributionUniform, "distribution"},
	} {
		if option.set {
			return fmt.Errorf("%s is not possible at a rate: leave it out, or leave out rateIOPS and rateBandwidth", option.name)
		}
	}
	if spec.Engine == v1alpha1.FioEngineIOUring {
		return errors.New("engine IOUring is not possible at a rate, because Kubernetes forbids io_uring by default: use LibAIO, or leave out rateIOPS and rateBandwidth")
	}
	return nil
}

// maxBandwidth limits the bytes a second of one client; no network adapter moves more.
const maxBandwidth = 100 << 30

// checkRates returns an error for rates that no client can make, and for a rate below one operation a second.
func (f *phase) checkRates() error {
	var operations, bandwidth float64
	for _, s := range f.jobs {
		block := float64(s.block)
		rate := float64(s.operations)
		if s.bandwidth > 0 {
			rate = float64(s.bandwidth) / block
		}
		if rate < 1 {
			return fmt.Errorf("job %s: rateBandwidth of %d bytes a second is below one operation of %.0f bytes a second: set a higher rate, or a smaller blockSize", s.name, s.bandwidth, block)
		}
		each := float64(s.copies)
		if s.reads && s.writes { // The rate applies to each direction.
			each *= 2
		}
		operations += each * rate
		bandwidth += each * rate * block
	}
	switch {
	case operations > openloop.MaxRate:
		return fmt.Errorf("each client would make %.0f operations a second in all copies and directions, and one makes at most %.0f: lower the rate, and use a larger clients.count", operations,
			float64(openloop.MaxRate))
	case bandwidth > maxBandwidth:
		return fmt.Errorf("each client would move %.0f GiB a second, and one moves at most %d: lower the rate or blockSize, and use a larger clients.count", bandwidth/(1<<30), maxBandwidth>>30)
	}
	return nil
}

// rateOf returns the rate of a job: operations, or bytes, a second. Both are 0 for a job without a rate. A rate of the
// job replaces any rate of the phase.
func rateOf(spec *v1alpha1.Fio, job *v1alpha1.FioJob) (operations, bytes int64) {
	rate, bandwidth := job.RateIOPS, job.RateBandwidth
	if rate == nil && bandwidth == nil {
		rate, bandwidth = spec.RateIOPS, spec.RateBandwidth
	}
	switch {
	case rate != nil:
		return *rate, 0
	case bandwidth != nil:
		return 0, bandwidth.Value()
	}
	return 0, 0
}

// openLoop reports whether the generator makes the load of the phase: each job has a rate.
func (f *phase) openLoop() bool {
	return !slices.ContainsFunc(f.jobs, func(s section) bool { return s.operations == 0 && s.bandwidth == 0 })
}

// generate returns the measurement of an open loop, at the rates of the jobs.
func (f *phase) generate(p place.Place, run load.Run, clones []clone) (*task.Measurement, error) {
	return f.generateAt(p, run, clones, func(c *openloop.Copy, s section) {
		c.IOPS, c.BytesPerSecond = float64(s.operations), float64(s.bandwidth)
		c.Poisson = s.operations > 0 && f.spec.RateProcess == v1alpha1.FioRatePoisson
	})
}

// generateAt returns the measurement of an open loop. The function setRate sets the rate of a copy.
func (f *phase) generateAt(p place.Place, run load.Run, clones []clone, setRate func(*openloop.Copy, section)) (*task.Measurement, error) {
	engine, _ := f.engineName(p)
	l := &openloop.Load{
		Engine: openloop.Engine(engine), Sync: syncName(f.spec.Sync), RampSeconds: f.ramp, Seconds: f.seconds,
		Histograms: run.Switched, Windows: run.Windows && f.seconds <= maxWindowSeconds,
	}
	switch f.medium(p) {
	case prefill.Image:
		l.User, l.Pool = p.CephUser, p.Pool
	case prefill.Objects:
		l.User, l.Pool = p.CephUser, p.ObjectPool()
	case prefill.File, prefill.Device:
	}
	for i, s := range clones {
		c := openloop.Copy{
			Target: s.data.Target(s.part), Offset: s.offset, Size: s.size, Reads: s.job.reads, Writes: s.job.writes, Random: s.job.random,
			Blocks: []openloop.Block{{Bytes: s.job.block, Weight: 1}}, Seed: seed(run.Seed(), p.Client, i),
		}
		setRate(&c, s.job)
		if s.data.Medium == prefill.Objects {
			c.Offset, c.ObjectBytes = 0, s.data.ObjectBytes()
		}
		l.Copies = append(l.Copies, c)
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	output := run.ID + ".json"
	return &task.Measurement{
		Command: task.Command{Argv: []string{Generator, "--output=" + output, "--load=" + string(encoded)}},
		Format:  openloop.Format, OutputFile: output,
	}, nil
}
