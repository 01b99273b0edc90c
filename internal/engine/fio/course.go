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

// courseWindow is log_avg_msec of the logs that AttachLogs reads, in milliseconds.
// It cannot be taken from the shortest step: the last window of a run is often a
// few milliseconds long, and would make stalls of all others.
const courseWindow = 1000

// maxLogs bounds how many logs a run may have: three kinds of each of many jobs.
const maxLogs = 3 * 1024

// AttachLogs adds the course of a run to its result, from the logs of bandwidth,
// operations and latency, with log_avg_msec=1000, of all its jobs. They are in dir,
// and their names begin with prefix, which may lead into a subfolder.
//
// The sum over some of the jobs would look like a course of the whole run. So a log
// that cannot be read costs all logs of its kind, and is a warning of the result.
// fio itself often leaves out the last second of bandwidth and operations.
// The error says that the folder cannot be read, or holds no log or too many; the
// result is then as it was.
func AttachLogs(res *result.Result, dir fs.FS, prefix string) error {
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
		if d.LatencyWindows, err = addWindows(d.Name, jobs); err != nil || broken[LatencyLog] {
			d.LatencyWindows = nil // Some would look like all.
		}
	}
	return nil
}

// addWindows adds up the latencies of all jobs that did I/O in a direction, where their
// logs have each operation.
func addWindows(direction result.DirectionName, jobs map[string][]*Log) ([]result.LatencyWindow, error) {
	var sum []result.LatencyWindow
	for i, job := range slices.Sorted(maps.Keys(jobs)) {
		var own []result.LatencyWindow
		for _, log := range jobs[job] {
			if part := log.Directions[direction]; part != nil && log.Kind == LatencyLog {
				for _, w := range part.Windows {
					own = append(own, result.LatencyWindow(w))
				}
			}
		}
		if i == 0 || len(sum) == 0 {
			sum = own
			continue
		}
		if len(own) == 0 {
			continue // It did nothing in this direction.
		}
		var err error
		if sum, err = result.AddLatencyWindows(sum, own); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// jobOf is the number of the job in the name of its log, such as "2" in
// run_bw.2.log; it is the same for the logs of one job.
func jobOf(name string) string {
	name = strings.TrimSuffix(name, ".log")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// addJobs adds up the courses of all jobs that did I/O in a direction. The logs of
// each job are put side by side before: the mean latency of all is known only if
// it is known how many operations of each job it is the mean of.
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

// courseLogs lists the logs in the order of their names.
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
		if isLog && slices.Contains([]LogKind{BandwidthLog, OperationsLog, LatencyLog}, kind) && strings.HasPrefix(entry.Name(), base+"_"+string(kind)) {
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
	return ParseLog(file, kind, LogOptions{WindowMilliseconds: courseWindow})
}
