// Command recording extracts a recording from the export of a sweep that switched settings. A recording is
// CSV with the operations of each second of a session. Its header says what was measured. Recordings in
// which all settings have the same effect calibrate the simulations of package switchback.
//
//	go run ./hack/recording EXPORT > internal/design/switchback/testdata/LAB/NAME.csv
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/results"
)

func main() {
	var out bytes.Buffer
	err := errors.New("usage: recording EXPORT > FILE")
	if len(os.Args) == 2 {
		err = extract(&out, os.Args[1])
	}
	if err == nil {
		_, err = out.WriteTo(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// extract writes the recording of the last session in an export. It ignores earlier sessions, which exist
// if a session was invalid, or if several sessions were planned.
func extract(w io.Writer, path string) error {
	reader, object, err := manifest.Open(path, nil)
	if err != nil {
		return err
	}
	sweep, ok := object.(*v1alpha1.CephTuningSweep)
	if !ok {
		return fmt.Errorf("%s has no sweep", path)
	}
	sessions, err := results.Sessions(context.Background(), reader, sweep)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(sessions) == 0 {
		return fmt.Errorf("%s has no session with switched settings", path)
	}
	s := sessions[len(sessions)-1]
	if err := header(w, sweep, s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return rows(w, s)
}

// header writes what was measured, on which cluster, when, and with which result.
func header(w io.Writer, sweep *v1alpha1.CephTuningSweep, s *archive.SwitchedSession) error {
	template := &sweep.Spec.Template
	index := slices.IndexFunc(template.Phases, func(p v1alpha1.Phase) bool { return p.Name == sweep.Spec.Objective.Phase })
	pool := template.Target.ScratchPool
	if index < 0 || template.Phases[index].Fio == nil || pool == nil || pool.Replicated == nil {
		return errors.New("the objective is no phase of fio on a replicated scratch pool")
	}
	fio := template.Phases[index].Fio
	env := sweep.Status.Environment
	if env == nil {
		return errors.New("the sweep has no status.environment")
	}
	_, err := fmt.Fprintf(w, "# Load: fio %s, %s, %d operations in flight, on an image of at most %s with %d replicas.\n# Cluster: Ceph %s, %d OSDs.\n# Began: %s, with windows of "+
		"%s.\n# Settings: 0 is %s.\n# Result: %s\n",
		fio.Pattern, fio.BlockSize.String(), fio.IODepth, pool.Image.Size.String(), pool.Replicated.Size,
		env.CephVersion, env.TotalOSDs, s.Evidence.Record.Began.UTC().Format(time.RFC3339), s.Evidence.Plan.Window,
		strings.Join(numbered(s.Configurations), ", "), sweep.Status.Summary)
	return err
}

// numbered returns the names with their numbers, such as "1 is low". The first name has no number, because
// the caller has already written it.
func numbered(names []string) []string {
	out := slices.Clone(names)
	for i := 1; i < len(out); i++ {
		out[i] = fmt.Sprintf("%d is %s", i, out[i])
	}
	return out
}

// rows writes the rows of the only client, from the first switch to the end of the last window. Times are
// in milliseconds since the beginning of the session, by the operator's clock. Each row has the setting,
// and the time at which Ceph acknowledged the setting for this window. Rows have no latency: with a
// constant number of operations in flight, the latency follows from the rate.
func rows(w io.Writer, s *archive.SwitchedSession) error {
	e := s.Evidence
	if len(e.Clients) != 1 || len(e.Record.Switches) == 0 {
		return fmt.Errorf("the session has clients: %d, windows: %d; want one client and at least one window", len(e.Clients), len(e.Record.Switches))
	}
	if _, err := fmt.Fprintln(w, "from_ms,to_ms,operations,setting,acknowledged_ms"); err != nil {
		return err
	}
	window, client := 0, e.Clients[0]
	for i := range client.Seconds {
		row := &client.Seconds[i]
		from, to := time.Duration(row.FromNanoseconds)-client.Offset, time.Duration(row.ToNanoseconds)-client.Offset
		for window+1 < len(e.Record.Switches) && from >= e.Record.Switches[window+1].Acknowledged {
			window++
		}
		current := e.Record.Switches[window]
		if from < current.Acknowledged || (window+1 == len(e.Record.Switches) && to > current.Ended) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%d,%d,%.0f,%d,%d\n", from.Milliseconds(), to.Milliseconds(), row.Operations, current.Treatment, current.Acknowledged.Milliseconds()); err != nil {
			return err
		}
	}
	return nil
}
