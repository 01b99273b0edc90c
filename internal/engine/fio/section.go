package fio

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/engine/prefill"
	"github.com/cephtune/cephtune/internal/task"
)

// section is a job with all its options. An option that the job does not set has the value of the phase.
type section struct {
	name                        string
	pattern                     string // the pattern in fio's spelling
	random, reads, writes       bool
	copies                      int
	smallestBlock, largestBlock int64
	size                        int64 // the maximum number of bytes of a copy's data; 0 for no limit
	compressible, dedupe        int32

	// options holds the options that all copies share.
	options []string
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
		s.compressible, s.dedupe = spec.CompressiblePercent, spec.DedupePercent
	}
	if spec.Size != nil {
		s.size = spec.Size.Value()
	}
	blocks := s.setBlocks(spec, job)
	depth := either(job.IODepth, spec.IODepth)
	if s.copies <= 0 || depth <= 0 || s.smallestBlock <= 0 {
		return section{}, errors.New("numJobs, ioDepth and blockSize must be above 0")
	}
	s.options = []string{"--rw=" + s.pattern}
	if s.reads && s.writes {
		percent := int32(50)
		if spec.ReadPercent != nil {
			percent = *spec.ReadPercent
		}
		s.options = append(s.options, "--rwmixread="+strconv.Itoa(int(either(job.ReadPercent, percent))))
	}
	s.options = append(s.options, blocks, "--iodepth="+strconv.Itoa(int(depth)))
	s.options = append(s.options, rateOptions(spec, job)...)
	if s.writes {
		s.options = append(s.options, prefill.ContentOptions(s.compressible, s.dedupe, s.smallestBlock)...)
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

func either(own *int32, phases int32) int32 {
	if own != nil {
		return *own
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

// setBlocks records the block sizes and returns fio's option for them. A size set in the job
// replaces all block sizes of the phase.
func (s *section) setBlocks(spec v1alpha1.Fio, job v1alpha1.FioJob) string {
	size := func(bytes int64) string { return strconv.FormatInt(bytes, 10) }
	s.smallestBlock = spec.BlockSize.Value()
	s.largestBlock = s.smallestBlock
	switch {
	case job.BlockSize != nil:
		s.smallestBlock = job.BlockSize.Value()
		s.largestBlock = s.smallestBlock
	case len(spec.BlockSizeSplit) > 0:
		var parts []string
		s.smallestBlock, s.largestBlock = spec.BlockSizeSplit[0].Size.Value(), 0
		for _, part := range spec.BlockSizeSplit {
			bytes := part.Size.Value()
			s.smallestBlock, s.largestBlock = min(s.smallestBlock, bytes), max(s.largestBlock, bytes)
			parts = append(parts, size(bytes)+"/"+strconv.Itoa(int(part.Percent)))
		}
		return "--bssplit=" + strings.Join(parts, ":")
	case spec.BlockSizeMax != nil:
		s.largestBlock = spec.BlockSizeMax.Value()
		return "--bsrange=" + size(s.smallestBlock) + "-" + size(s.largestBlock)
	}
	return "--bs=" + size(s.smallestBlock)
}

// rateOptions returns the options for rate limits. fio accepts only one kind of limit, so a limit in the job
// replaces any limit of the phase.
func rateOptions(spec v1alpha1.Fio, job v1alpha1.FioJob) []string {
	operations, bandwidth := job.RateIOPS, job.RateBandwidth
	if operations == nil && bandwidth == nil {
		operations, bandwidth = spec.RateIOPS, spec.RateBandwidth
	}
	switch {
	case operations != nil && spec.RateProcess == v1alpha1.FioRatePoisson:
		return []string{"--rate_iops=" + strconv.FormatInt(*operations, 10), "--rate_process=poisson"}
	case operations != nil:
		return []string{"--rate_iops=" + strconv.FormatInt(*operations, 10)}
	case bandwidth != nil:
		return []string{"--rate=" + strconv.FormatInt(bandwidth.Value(), 10)}
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
	if spec.RandomPercent != nil {
		options = append(options, "--percentage_random="+strconv.Itoa(int(*spec.RandomPercent)))
	}
	return options, nil
}

// slot is one copy of a job, and the data that it uses.
type slot struct {
	job          section
	copy         int
	data         prefill.Set
	part         int
	offset, size int64
	objects      int64 // number of objects; 0 for another medium
}

// slots returns the copies of all jobs.
//
// Each copy that writes has its own part of the data. All copies that only read share one part. Sequential
// readers divide this part into stretches: if all read the same stretch, all but the first would find the
// data in the OSDs' caches. Two cases differ:
//
//   - Sequential readers of objects have one part each.
//   - An image that all clients share is one part. Each sequential copy of each client has its own stretch of
//     the image, and each random copy uses all of it.
func (f *phase) slots(p place.Place) []slot {
	readers, writers := 0, 0
	for _, job := range f.jobs {
		switch {
		case job.writes:
			writers += job.copies
		case !job.random:
			readers += job.copies
		}
	}
	var slots []slot
	reader, writer := 0, 0
	for _, job := range f.jobs {
		for i := range job.copies {
			s := slot{job: job, copy: i, data: prefill.Set{
				Place: p, Medium: f.medium(p), Use: prefill.Read, Parts: 1,
				CompressiblePercent: f.spec.CompressiblePercent, DedupePercent: f.spec.DedupePercent,
				BlockBytes: f.largestBlock(),
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
			slots = append(slots, s)
		}
	}
	return slots
}

// largestBlock returns the size of the largest block of all jobs. Objects of at least that size suit all
// jobs.
func (f *phase) largestBlock() int64 {
	var largest int64
	for _, job := range f.jobs {
		largest = max(largest, job.largestBlock)
	}
	return largest
}

// share gives the slot the i-th of n shares of the data. The share is a part, or a stretch of a common part.
// A random copy without its own part gets the whole common part.
func (s *slot) share(i, n int, writes bool) {
	shared := s.data.Medium == prefill.Image && s.data.Place.Image.Shared
	if writes {
		s.data.Use = prefill.Write
	}
	if own := writes || s.data.Medium == prefill.Objects; own && !shared {
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
func (s *slot) limit(i, length int64) {
	length -= length % s.job.largestBlock
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
func (s *slot) options(seed uint32) []string {
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
	if s.job.random && s.size/s.job.smallestBlock > maxMapBlocks {
		argv = append(argv, "--norandommap=1")
	}
	return argv
}

// check returns the command, if any, that must succeed before the copy is measured.
func (s *slot) check() (task.Command, bool) {
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
func seed(run string, client, slot int) uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d/%d", run, client, slot) // Writing to a hash never fails.
	return h.Sum32()
}
