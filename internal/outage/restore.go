package outage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Journal is the part of a [tuning.Engine] that Restore needs.
type Journal interface {
	Journal(ctx context.Context) (*tuning.Journal, error)
	Restore(ctx context.Context) (tuning.Report, error)
	Close(ctx context.Context) error
}

var _ Journal = (*tuning.Engine)(nil)

// Restore unsets noup for all OSDs of a journal, and removes the journal once those that still exist are up.
// It does not wait: if it cannot complete yet, it returns the obstacle, and the caller repeats the call.
func Restore(ctx context.Context, journal Journal, client ceph.Client, connection ceph.Connection) (waits reconcile.Wait, err error) {
	j, err := journal.Journal(ctx)
	if err != nil || j == nil {
		return "", err
	}
	report, err := journal.Restore(ctx)
	if wait, ok := errors.AsType[*tuning.WaitError](err); ok {
		return reconcile.Wait(fmt.Sprintf("noup of %s will be unset after %s: %s.", ceph.OSDNames(OSDsOf(j)), wait.Until.UTC().Format(time.TimeOnly), wait.Why)), nil
	}
	if err != nil {
		return "", fmt.Errorf("unset noup of %s: %w", ceph.OSDNames(OSDsOf(j)), err)
	}
	if !report.Done {
		return reconcile.Wait(fmt.Sprintf("noup of %s is not unset yet: %s.", ceph.OSDNames(OSDsOf(j)), strings.Join(report.Waiting, "; "))), nil
	}
	m, err := client.OSDMap(ctx, connection)
	if err != nil {
		return "", err
	}
	if down := downOf(OSDsOf(j), m); len(down) > 0 {
		return reconcile.Wait(fmt.Sprintf("noup is unset. Waiting for %s to come up: if that lasts, check their pods.", ceph.OSDNames(down))), nil
	}
	return "", journal.Close(ctx)
}

// downOf returns the given OSDs that exist and are down.
func downOf(osds []int, m *ceph.OSDMap) []int {
	var down []int
	for _, osd := range m.OSDs {
		if !osd.Up && slices.Contains(osds, osd.ID) {
			down = append(down, osd.ID)
		}
	}
	return down
}
