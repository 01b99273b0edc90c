package fio

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/engine/prefill"
	"github.com/cephtune/cephtune/internal/task"
)

// section is a job with all its options. An option that the job does not set has the value of the phase.
type section struct {
	name                  string
	pattern               string // the pattern in fio's spelling
	random, reads, writes bool
	copies                int
	block                 int64 // the size of operations
	size                  int64 // the maximum number of bytes of a copy's data; 0 for no limit
	compressible          int32
	operations, bandwidth int64 // the rate; both are 0 without a rate
	readPercent           int32 // of a mixed load

	// options holds the options that all copies share.
	options []string
}

// mixOptions sets and returns the share of reads of a mixed load.
func (s *section) mixOptions(spec v1alpha1.Fio, job v1alpha1.FioJob) []string {
	if !s.reads || !s.writes {
		return nil
	}
	percent := int32(50)
	if spec.ReadPercent != nil {
		percent = *spec.ReadPercent
	}
	s.readPercent = either(job.ReadPercent, percent)
	return []string{"--rwmixread=" + strconv.Itoa(int(s.readPercent))}
}

// newSection returns the section of a job. The error says which value is invalid. For numJobs, ioDepth and
// blockSize, it says only that all three must be above 0.
func newSection(spec v1alpha1.Fio, job v1alpha1.FioJob) (section, error) {
	pattern := spec.Pattern
	if job.Pattern != "" {
		pattern = job.Pattern
	}
	if err := load.CheckWord("name", string(job.Name)); err != nil {
		return section{}, err
	}
	s := section{name: string(job.Name), copies: int(either(job.NumJobs, spec.NumJobs))}
	if err := s.setPattern(pattern); err != nil {
		return section{}, err
	}
	if s.writes {
		s.compressible = spec.CompressiblePercent
	}
	if spec.Size != nil {
		s.size = spec.Size.Value()
	}
	s.block = spec.BlockSize.Value()
	if job.BlockSize != nil {
		s.block = job.BlockSize.Value()
	}
	depth := either(job.IODepth, spec.IODepth)
	if s.copies <= 0 || depth <= 0 || s.block <= 0 {
		return section{}, errors.New("numJobs, ioDepth and blockSize must be above 0")
	}
	s.options = append([]string{"--rw=" + s.pattern}, s.mixOptions(spec, job)...)
	s.options = append(s.options, "--bs="+strconv.FormatInt(s.block, 10), "--iodepth="+strconv.Itoa(int(depth)))
	s.operations, s.bandwidth = rateOf(&spec, &job)
	s.options = append(s.options, s.rateOptions()...)
	if s.writes {
		s.options = append(s.options, prefill.ContentOptions(s.compressible, s.block)...)
	}
	if s.random {
		random, err := randomOptions(spec)
		if err != nil {
			return section{}, err
		}
		s.options = append(s.options, random...)
	}
	return s, nil
}

func either(specific *int32, phases int32) int32 {
	if specific != nil {
		return *specific
	}
	return phases
}

func (s *section) setPattern(pattern v1alpha1.FioPattern) error {
	s.reads, s.writes = true, true
	switch pattern {
	case v1alpha1.FioRead:
		s.pattern, s.writes = "read", false
	case v1alpha1.FioWrite:
		s.pattern, s.reads = "write", false
	case v1alpha1.FioReadWrite:
		s.pattern = "rw"
	case v1alpha1.FioRandRead:
		s.pattern, s.random, s.writes = "randread", true, false
	case v1alpha1.FioRandWrite:
		s.pattern, s.random, s.reads = "randwrite", true, false
	case v1alpha1.FioRandReadWrite:
		s.pattern, s.random = "randrw", true
	default:
		return fmt.Errorf("pattern %q must be Read, Write, ReadWrite, RandRead, RandWrite or RandReadWrite", pattern)
	}
	return nil
}

// rateOptions returns fio's options for the rate. fio runs a job with a rate only if another job of the phase has none:
// otherwise the generator replaces fio.
func (s *section) rateOptions() []string {
	switch {
	case s.operations > 0:
		return []string{"--rate_iops=" + strconv.FormatInt(s.operations, 10)}
	case s.bandwidth > 0:
		return []string{"--rate=" + strconv.FormatInt(s.bandwidth, 10)}
	}
	return nil
}

func randomOptions(spec v1alpha1.Fio) ([]string, error) {
	var options []string
	if d := spec.Distribution; d != nil && d.Type != v1alpha1.FioDistributionUniform {
		name, ok := map[v1alpha1.FioDistributionType]string{
			v1alpha1.FioDistributionZipf:   "zipf",
			v1alpha1.FioDistributionPareto: "pareto",
			v1alpha1.FioDistributionNormal: "normal",
		}[d.Type]
		theta, err := strconv.ParseFloat(d.Theta, 64)
		if !ok || err != nil || !(theta >= 0 && theta < 1000) {
			return nil, fmt.Errorf("distribution %q with theta %q must be Zipf, Pareto or Normal, with a theta from 0 to below 1000", d.Type, d.Theta)
		}
		options = append(options, "--random_distribution="+name+":"+strconv.FormatFloat(theta, 'f', -1, 64))
	}
	return options, nil
}

// clone is one copy of a job, and the data that it uses.
type clone struct {
	job          section
	copy         int
	data         prefill.Set
	part         int
	offset, size int64
	objects      int64 // number of objects; 0 for another medium
}

// clones returns the copies of all jobs.
//
// Each copy that writes has its own part of the data. All copies that only read share one part. Sequential
// readers divide this part into stretches: if all read the same stretch, all but the first would find the
// data in the OSDs' caches. Two cases differ:
//
//   - Sequential readers of objects have one part each.
//   - An image that all clients share is one part. Each sequential copy of each client has its own stretch of
//     the image, and each random copy uses all of it.
func (f *phase) clones(p place.Place) []clone {
	readers, writers := 0, 0
	for _, job := range f.jobs {
		switch {
		case job.writes:
			writers += job.copies
		case !job.random:
			readers += job.copies
		}
	}
	var clones []clone
	reader, writer := 0, 0
	for _, job := range f.jobs {
		for i := range job.copies {
			s := clone{job: job, copy: i, data: prefill.Set{
				Place: p, Medium: f.medium(p), Use: prefill.Read, Parts: 1,
				CompressiblePercent: f.spec.CompressiblePercent, BlockBytes: f.largestBlock(),
			}}
			switch {
			case job.writes:
				s.share(writer, writers, true)
				writer++
			case job.random:
				s.share(0, 1, false)
			default:
				s.share(reader, readers, false)
				reader++
			}
			clones = append(clones, s)
		}
	}
	return clones
}

// largestBlock returns the size of the largest block of all jobs. Objects of at least that size suit all
// jobs.
func (f *phase) largestBlock() int64 {
	var largest int64
	for _, job := range f.jobs {
		largest = max(largest, job.block)
	}
	return largest
}

// share gives the clone the i-th of n shares of the data. The share is a part, or a stretch of a common part.
// A random copy without its own part gets the whole common part.
func (s *clone) share(i, n int, writes bool) {
	shared := s.data.Medium == prefill.Image && s.data.Place.Image.Shared
	if writes {
		s.data.Use = prefill.Write
	}
	if separate := writes || s.data.Medium == prefill.Objects; separate && !shared {
		s.data.Parts, s.part = n, i
		s.limit(0, s.data.PartBytes())
		return
	}
	if shared && !s.job.random {
		i, n = s.data.Place.Client*n+i, s.data.Place.Clients*n
	}
	if s.job.random {
		i, n = 0, 1
	}
	s.limit(int64(i), s.data.PartBytes()/int64(n))
}

// limit sets offset and size to the i-th stretch of the given length. It rounds the length down to whole
// blocks, and limits the size to that of the phase, if the phase sets one. A copy that works on objects gets at
// least one whole object, even if the phase sets a smaller size.
func (s *clone) limit(i, length int64) {
	length -= length % s.job.block
	s.offset = s.data.OffsetBytes(s.part) + i*length
	s.size = length
	if s.job.size > 0 {
		s.size = min(s.size, s.job.size)
	}
	if s.data.Medium == prefill.Objects { // fio uses only whole objects of one size.
		s.objects = max(s.size/s.data.ObjectBytes(), 1)
		s.size = s.objects * s.data.ObjectBytes()
	}
}

// options returns the options of the copy, which is a section of fio. The section's name begins with "job-",
// because fio applies the options of a section whose name begins with "global" to all sections.
func (s *clone) options(seed uint32) []string {
	argv := append([]string{"--name=job-" + s.job.name + "-" + strconv.Itoa(s.copy)}, s.job.options...)
	argv = append(argv, s.data.Options(s.part)...)
	if s.data.Medium == prefill.Objects {
		order := "sequential"
		if s.job.random {
			order = "random"
		}
		argv = append(argv, "--file_service_type="+order, "--nrfiles="+strconv.FormatInt(s.objects, 10))
	} else {
		argv = append(argv, "--offset="+strconv.FormatInt(s.offset, 10))
	}
	argv = append(argv, "--size="+strconv.FormatInt(s.size, 10), "--randseed="+strconv.FormatUint(uint64(seed), 10))
	if s.job.random && s.size/s.job.block > maxMapBlocks {
		argv = append(argv, "--norandommap=1")
	}
	return argv
}

// check returns the command, if any, that must succeed before the copy is measured.
func (s *clone) check() (task.Command, bool) {
	switch {
	case s.data.Medium == prefill.Objects:
		return s.data.CheckObjects(s.part), true
	case s.data.Medium == prefill.Image && s.job.writes:
		return s.data.AwaitLock(s.part), true
	}
	return task.Command{}, false
}

// seed derives fio's random seed from the run, the client and the copy. Different runs hardly ever have the
// same seed.
func seed(run string, client, clone int) uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d/%d", run, client, clone) // Writing to a hash never fails.
	return h.Sum32()
}
