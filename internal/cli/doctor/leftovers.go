package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// journals examines the journals, which record settings that sweeps still have to restore, and OSDs
// that are kept down.
func (e *examination) journals(ctx context.Context) {
	const topic = "Journals"
	all, err := journals.In(ctx, e.client, e.operator)
	if err != nil {
		e.unreadable(topic, "The ConfigMaps of namespace "+e.operator, err)
		return
	}
	open := 0
	for _, found := range all {
		switch j := found.Journal; {
		case found.Err != nil:
			open++
			e.found(topic, Wrong, found.Err.Error(), fmt.Sprintf("kubectl -n %s get configmap %s -o yaml", e.operator, found.Name))
		case j.Done():
		case j.IsOutage():
			open++
			e.outage(j)
		default:
			open++
			e.journal(ctx, j)
		}
	}
	if open == 0 {
		e.found(topic, OK, "Nothing in Ceph is left to restore.", "")
	}
}

// journal examines an open journal. An open journal is normal while its sweep is running.
func (e *examination) journal(ctx context.Context, j *tuning.Journal) {
	topic := "Journal of " + j.FSID
	restore := fmt.Sprintf("kubectl cephtune restore %s -n %s", j.Sweep.Name, j.Sweep.Namespace)
	sweep, err := object.Same(ctx, e.client, object.Sweep(), client.ObjectKey{Namespace: j.Sweep.Namespace, Name: j.Sweep.Name}, types.UID(j.Sweep.UID))
	switch {
	case err == nil && sweep == nil:
		e.found(topic, Wrong, fmt.Sprintf("The changes of the deleted sweep %s are not restored. The operator restores them once the cluster's lock is free; its log says what it waits for.",
			j.Sweep), restore)
	case err != nil:
		e.unreadable(topic, "Sweep "+j.Sweep.String(), err)
	default:
		state := object.StateOf(sweep)
		if state.Idle() {
			e.found(topic, Wrong, fmt.Sprintf("The changes of sweep %s are not restored, and the sweep is %s: %s", j.Sweep, state.Ready().Reason, state.Ready().Message), restore)
			return
		}
		e.found(topic, OK, fmt.Sprintf("Sweep %s is running, and will restore what it has changed.", j.Sweep), "")
	}
}

// overdue is how long an outage may last beyond its deadline before it is a problem. The operator
// normally ends an outage within this time after the deadline.
const overdue = 2 * time.Minute

// outage examines a journal of OSDs that are kept down. The journal has the time by which they
// must be up again.
func (e *examination) outage(j *tuning.Journal) {
	topic := "Outage of " + j.FSID
	if e.now.Sub(j.Until) > overdue {
		e.found(topic, Wrong, fmt.Sprintf("%s %s keeps OSDs down, although they were due to be up by %s.", j.Sweep.KindOrSweep(), j.Sweep, j.Until.UTC().Format(time.TimeOnly+" UTC")),
			"run kubectl cephtune restore, and the commands that it prints under BY HAND")
		return
	}
	e.found(topic, OK, fmt.Sprintf("%s %s keeps OSDs down, until %s at the latest.", j.Sweep.KindOrSweep(), j.Sweep, j.Until.UTC().Format(time.TimeOnly+" UTC")), "")
}

// locks examines the locks of the Ceph clusters and their holders.
func (e *examination) locks(ctx context.Context) {
	const topic = "Locks"
	list := &coordinationv1.LeaseList{}
	if err := e.client.List(ctx, list, client.InNamespace(e.operator)); err != nil {
		e.unreadable(topic, "The Leases of namespace "+e.operator, err)
		return
	}
	// Only locks match this pattern; the Lease of the manager's leader election does not.
	named := regexp.MustCompile(`^cephtune-[0-9a-f]{8}-[0-9a-f-]{27}$`)
	held := 0
	for i := range list.Items {
		lease := &list.Items[i]
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		if named.MatchString(lease.Name) && holder != "" {
			held++
			e.lock(ctx, lease, holder)
		}
	}
	if held == 0 {
		e.found(topic, OK, "No Ceph cluster is locked.", "")
	}
}

func (e *examination) lock(ctx context.Context, lease *coordinationv1.Lease, holder string) {
	topic := "Lock of " + strings.TrimPrefix(lease.Name, "cephtune-")
	var expires time.Time
	if lease.Spec.RenewTime != nil {
		expires = lease.Spec.RenewTime.Add(time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second)
	}
	gone, err := e.isGone(ctx, holder)
	switch {
	case err != nil:
		e.unreadable(topic, "Its holder "+holder, err)
	case expires.Before(e.now):
		e.found(topic, Note, fmt.Sprintf("%s held it until it expired: the next benchmark or sweep takes it.", holder), "")
	case gone:
		e.found(topic, Note, fmt.Sprintf("Its holder %s was deleted: the lock becomes free at %s.", holder, expires.UTC().Format(time.TimeOnly+" UTC")), "")
	default:
		e.found(topic, OK, fmt.Sprintf("%s holds it. Others wait for it.", holder), "")
	}
}

// isGone reports whether the object that holds a lock no longer exists. A holder is
// KIND/NAMESPACE/NAME/UID.
func (e *examination) isGone(ctx context.Context, holder string) (bool, error) {
	parts := strings.Split(holder, "/")
	if len(parts) < 4 {
		return false, nil // Another version of cephtune may name holders in another form.
	}
	kind, known := object.KindOf(parts[0])
	if !known {
		return false, nil
	}
	o, err := object.Same(ctx, e.client, kind, client.ObjectKey{Namespace: parts[1], Name: parts[2]}, types.UID(parts[3]))
	return err == nil && o == nil, err
}

// monitoring examines the objects for Prometheus and Grafana. Both can be set up in other ways,
// so a missing object is not a problem by itself.
func (e *examination) monitoring(ctx context.Context) {
	monitors := &unstructured.UnstructuredList{}
	monitors.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitorList"})
	ours := client.MatchingLabels{kube.LabelName: "cephtune"}
	switch err := e.client.List(ctx, monitors, client.InNamespace(e.operator), ours); {
	case meta.IsNoMatchError(err):
		e.found("Prometheus", Note, "The Prometheus operator is not installed: configure Prometheus to scrape the operator's metrics Service.", "")
	case err != nil:
		e.unreadable("Prometheus", "The ServiceMonitors of namespace "+e.operator, err)
	case len(monitors.Items) == 0:
		e.found("Prometheus", Note, fmt.Sprintf("There is no ServiceMonitor in namespace %s, so Prometheus does not find the metrics.", e.operator),
			e.fix("set serviceMonitor.enabled: true, and Prometheus' label in serviceMonitor.additionalLabels,",
				"kubectl apply -k config/prometheus"))
	default:
		e.found("Prometheus", OK, "A ServiceMonitor selects the operator's metrics.", "")
	}
	dashboards := &corev1.ConfigMapList{}
	err := e.client.List(ctx, dashboards, ours, client.HasLabels{"grafana_dashboard"})
	switch {
	case err != nil:
		e.unreadable("Grafana", "The ConfigMaps of all namespaces", err)
	case len(dashboards.Items) == 0:
		e.found("Grafana", Note, "There are no dashboards of cephtune in ConfigMaps for Grafana's sidecar.",
			e.fix("set dashboards.enabled: true, and Grafana's namespace in dashboards.namespace,", "kubectl apply --server-side -n NAMESPACE-OF-GRAFANA -k dashboards"))
	default:
		e.found("Grafana", OK, fmt.Sprintf("ConfigMaps with dashboards for Grafana's sidecar: %d.", len(dashboards.Items)), "")
	}
}
