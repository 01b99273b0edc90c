//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// twoNightsWithin is the deadline for two executions, each of which may have to wait for a quiescent cluster.
const twoNightsWithin = 20 * time.Minute

// Users see the nights of a benchmark that runs on a schedule. When it is deleted, also in mid-run, its nights go with it.
func TestBenchmarkScheduledKeepsNights(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("nightly", c.replicatedScratch(), radosWrite("write"))
	b.Spec.Schedule = &v1alpha1.Schedule{Cron: "* * * * *"} // Times while it runs are skipped.
	c.create(t, b)

	var nights []history.Night
	c.await(t, b, twoNightsWithin, "to have two nights", func(b *v1alpha1.CephBenchmark) error {
		if b.Status.History == nil {
			return errors.New("status has no history")
		}
		code, lines, problems := showHistory(b, "-o", "jsonl")
		if code != exit.OK {
			return fmt.Errorf("history ended with exit code %d: %s", code, problems)
		}
		var err error
		if nights, err = history.Decode(strings.NewReader(lines)); err == nil && len(nights) < 2 {
			err = fmt.Errorf("there is only %d", len(nights))
		}
		return err
	})

	for _, n := range nights {
		wantNight(t, n)
	}
	if code, table, _ := showHistory(b); code != exit.Undecided || !strings.Contains(table, "too few nights") {
		t.Errorf("history ended with exit code %d, want %d because two nights are too few:\n%s", code, exit.Undecided, table)
	}

	c.deleteAndWait(t, b)
	c.wantNoTraces(t, b)
	eventually(t, teardownWithin, "the results and the nights of "+b.Name+" to be gone", func(ctx context.Context) error {
		for _, labels := range []client.MatchingLabels{archive.Labels(b.Name), archive.HistoryLabels(b.Name)} {
			var kept corev1.ConfigMapList
			if err := c.List(ctx, &kept, client.InNamespace(b.Namespace), labels); err != nil || len(kept.Items) > 0 {
				return fmt.Errorf("%d ConfigMaps with %v: %w", len(kept.Items), labels, err)
			}
		}
		return nil
	})
}

// wantNight checks that a night began when it was due, and has a figure and the versions beneath Ceph.
func wantNight(t *testing.T, n history.Night) {
	t.Helper()
	due, err := time.Parse("2006-01-02T1504Z", string(n.RunID))
	if late := n.Time.Sub(due); err != nil || late < 0 || late > time.Minute {
		t.Errorf("run %q began at %v: %v, want it within a minute of its due time", n.RunID, n.Time, err)
	}
	if len(n.Figures) == 0 || n.Figures[0].Phase != "write" || n.Figures[0].Value <= 0 {
		t.Errorf("the night of %v has the figures %+v", n.Time, n.Figures)
	}
	var seen quiescence.Detail
	if err := json.Unmarshal(n.Environment, &seen); err != nil || !strings.HasPrefix(seen.KubernetesVersion, "v1.") || len(seen.Kernels) == 0 {
		t.Errorf("the night of %v has Kubernetes %q and the kernels %q: %v", n.Time, seen.KubernetesVersion, seen.Kernels, err)
	}
}

// showHistory runs the subcommand history as a user does.
func showHistory(b *v1alpha1.CephBenchmark, flags ...string) (code int, stdout, stderr string) {
	var out, problems bytes.Buffer
	code = cli.Run(append([]string{"kubectl-cephtune", "history", b.Name, "-n", b.Namespace}, flags...), &out, &problems)
	return code, out.String(), problems.String()
}
