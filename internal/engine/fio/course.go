package fio

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/result"
)

// courseWindow is the length of a window of a log (log_avg_msec), in milliseconds. ParseLog must not use the
// shortest window of a log instead: the last window of a run is often only a few milliseconds long. All other
// windows would then seem to begin with a stall.
const courseWindow = 1000

// maxLogs is the largest number of logs of a run: three kinds for each of 1024 jobs.
const maxLogs = 3 * 1024

// attachLogs adds the time series of a run to its result, from the bandwidth, operations and latency logs of
// all jobs. The logs are in dir. Their names begin with prefix, which may contain a subfolder.
//
// If a log cannot be read, attachLogs discards all logs of that kind and adds a warning to the result. A sum
// without one job would look like the sum of all jobs. fio often omits the last second of bandwidth and
// operations, so the series may end a second early. attachLogs returns an error, and does not change the
// result, if it cannot read the folder, or finds no log or more than maxLogs.
func attachLogs(res *result.Result, dir fs.FS, prefix string) error {
	names, err := courseLogs(dir, prefix)
	if err != nil {
		return err
	}
	jobs := map[string][]*Log{}
	broken := map[LogKind]bool{}
	for _, name := range names {
		kind, _ := KindOfLog(name)
		log, err := readLog(dir, name, kind)
		if err != nil {
			broken[kind] = true
			res.Warn(result.Warning{
				Code:    result.WarnSeriesDropped,
				Message: fmt.Sprintf("the %s logs were left out, because %s cannot be read: %v", kind, path.Base(name), err),
			})
			continue
		}
		jobs[jobOf(name)] = append(jobs[jobOf(name)], log)
	}
	for _, d := range res.Directions() {
		d.Series = addJobs(d.Name, jobs, broken)
	}
	return nil
}

// jobOf returns the number of the job from the name of a log, such as "2" for run_bw.2.log. All
// logs of one job have the same number.
func jobOf(name string) string {
	name = strings.TrimSuffix(name, ".log")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// addJobs adds up the series of all jobs that did I/O in a direction. It first joins the logs of each job,
// because the mean latency over all jobs is weighted by the operations of each job.
func addJobs(direction result.DirectionName, jobs map[string][]*Log, broken map[LogKind]bool) *result.Series {
	var courses []*result.Series
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		one := &result.Result{}
		one.SetDirection(direction, &result.Direction{})
		AttachSeries(one, slices.DeleteFunc(slices.Clone(jobs[job]), func(log *Log) bool { return broken[log.Kind] })...)
		if course := one.Direction(direction).Series; course != nil {
			courses = append(courses, course)
		}
	}
	return reduce(courses, result.AddSeries)
}

func courseLogs(dir fs.FS, prefix string) ([]string, error) {
	folder, base := path.Split(prefix)
	folder = path.Clean(folder)
	entries, err := fs.ReadDir(dir, folder)
	if err != nil {
		return nil, fmt.Errorf("list the logs of fio: %w", err)
	}
	var names []string
	for _, entry := range entries {
		kind, isLog := KindOfLog(entry.Name())
		if isLog && strings.HasPrefix(entry.Name(), base+"_"+string(kind)) {
			names = append(names, path.Join(folder, entry.Name()))
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("fio wrote no log whose name begins with %q", prefix)
	case len(names) > maxLogs:
		return nil, fmt.Errorf("fio wrote %d logs, more than the %d that are read", len(names), maxLogs)
	}
	return names, nil
}

func readLog(dir fs.FS, name string, kind LogKind) (log *Log, err error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return ParseLog(file, kind)
}
