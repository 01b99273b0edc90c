package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/cephbenchmark"
	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// uninstallCheck finds everything that only a manager can restore or tear down. It changes nothing, and
// does not prevent runs that begin after the check.
type uninstallCheck struct {
	journals *journals.ConfigMaps
	locks    *lock.Leases
	objects  client.Reader
	crdsToo  bool
	now      func() time.Time
}

// run returns an error that lists the obstacles to an uninstallation, and says how to remove them.
func (c *uninstallCheck) run(ctx context.Context) error {
	var reasons []string
	for _, find := range []func(context.Context) ([]string, error){c.openJournals, c.stoppedOSDs, c.heldLocks, c.unfinishedObjects} {
		found, err := find(ctx)
		if err != nil {
			return fmt.Errorf("cephtune is not uninstalled, because it is unknown whether settings are still to be restored: %w", err)
		}
		reasons = append(reasons, found...)
	}
	if len(reasons) == 0 {
		return nil
	}
	return errors.New("cephtune is not uninstalled, because nothing else would restore what it changed:\n- " +
		strings.Join(reasons, "\n- ") + "\n" +
		"Then uninstall it again. To keep it instead, run `helm rollback` to the revision that `helm list -a` shows, because " +
		"Helm has marked the release as uninstalling. `helm uninstall --no-hooks` skips this check: then everything stays " +
		"changed until cephtune is installed again in this namespace.")
}

// openJournals lists the settings that sweeps still have to restore in Ceph.
func (c *uninstallCheck) openJournals(ctx context.Context) ([]string, error) {
	all, err := c.journals.List(ctx)
	if err != nil {
		return nil, err
	}
	var reasons []string
	for _, j := range all {
		if !j.Done() {
			reasons = append(reasons, fmt.Sprintf("%s %s has changed settings of Ceph cluster %s that are not restored (%s). %s",
				v1alpha1.KindCephTuningSweep, j.Sweep, j.FSID, openEntries(j), endSweep(j.Sweep)))
		}
	}
	slices.Sort(reasons)
	return reasons, nil
}

// stoppedOSDs lists the OSDs that are kept down for an outage. Only the manager brings them up.
func (c *uninstallCheck) stoppedOSDs(ctx context.Context) ([]string, error) {
	all, err := c.journals.ForOutages().List(ctx)
	if err != nil {
		return nil, err
	}
	var reasons []string
	for _, j := range all {
		if !j.Done() {
			reasons = append(reasons, fmt.Sprintf("%s %s keeps OSDs of Ceph cluster %s down (%s). Wait until they are up, or end it: `kubectl -n %s delete %s %s`.",
				j.Sweep.KindOrSweep(), j.Sweep, j.FSID, openEntries(j), j.Sweep.Namespace, strings.ToLower(j.Sweep.KindOrSweep()), j.Sweep.Name))
		}
	}
	slices.Sort(reasons)
	return reasons, nil
}

func openEntries(j *tuning.Journal) string {
	var names []string
	for _, entry := range j.Entries {
		if entry.State == tuning.Open {
			names = append(names, entry.Setting.String())
		}
	}
	return strings.Join(names, ", ")
}

func endSweep(sweep tuning.Sweep) string {
	return fmt.Sprintf("Run `kubectl -n %s delete cephtuningsweep %s`, which returns when they are restored. "+
		"If the sweep no longer exists, wait until the operator has restored them, or see docs/runbooks/CephTuneJournalOpenWithoutSweep.md.", sweep.Namespace, sweep.Name)
}

// heldLocks lists the holders of locks: running benchmarks and sweeps, and restores of orphaned journals. A
// holder may be about to change Ceph, or may have created pools and images.
func (c *uninstallCheck) heldLocks(ctx context.Context) ([]string, error) {
	held, err := c.locks.Holdings(ctx, c.now())
	if err != nil {
		return nil, err
	}
	var reasons []string
	for fsid, grant := range held {
		reasons = append(reasons, fmt.Sprintf("%s is working on Ceph cluster %s. %s", nameOf(grant.Holder), fsid, endHolder(grant.Holder)))
	}
	slices.Sort(reasons)
	return reasons, nil
}

// nameOf returns a holder without its UID, such as CephBenchmark bench/nightly.
func nameOf(holder string) string {
	if parts := strings.Split(holder, "/"); len(parts) == 4 {
		return parts[0] + " " + parts[1] + "/" + parts[2]
	}
	return holder
}

func endHolder(holder string) string {
	parts := strings.Split(holder, "/")
	if len(parts) != 4 || parts[0] != v1alpha1.KindCephBenchmark && parts[0] != v1alpha1.KindCephTuningSweep {
		return "Wait for its end."
	}
	return fmt.Sprintf("Wait for its end, or end it: `kubectl -n %s delete %s %s`.", parts[1], strings.ToLower(parts[0]), parts[2])
}

// unfinishedObjects lists the objects with a finalizer that only the manager removes. Without the manager,
// the removal of the CRDs would hang.
func (c *uninstallCheck) unfinishedObjects(ctx context.Context) ([]string, error) {
	if !c.crdsToo {
		return nil, nil
	}
	var reasons []string
	for _, held := range []struct{ kind, finalizer string }{{v1alpha1.KindCephTuningSweep, cephtuningsweep.Finalizer}, {v1alpha1.KindCephBenchmark, cephbenchmark.Finalizer}} {
		for page, err := range pages.Metadata(ctx, c.objects, v1alpha1.GroupVersion.WithKind(held.kind)) {
			if err != nil {
				return nil, fmt.Errorf("list the objects of the CRDs: %w", err)
			}
			for i := range page.Items {
				if controllerutil.ContainsFinalizer(&page.Items[i], held.finalizer) {
					reasons = append(reasons, unfinished(held.kind, &page.Items[i]))
				}
			}
		}
	}
	return reasons, nil
}

func unfinished(kind string, o client.Object) string {
	return fmt.Sprintf("%s %s/%s has a finalizer that only the manager removes, so the removal of its CRD would hang. Delete the object first: `kubectl -n %s delete %s %s`, or set crds.keep.",
		kind, o.GetNamespace(), o.GetName(), o.GetNamespace(), strings.ToLower(kind), o.GetName())
}
