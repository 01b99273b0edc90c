package exporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Rook reads CephClusters.
type Rook interface {
	Cluster(ctx context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error)
}

// Lock reads the holder of the lock of a Ceph cluster. It asks only Kubernetes, not Ceph.
type Lock interface {
	Peek(ctx context.Context, fsid string, holder objectref.Ref) (lock.Grant, error)
}

// Journals reads the journal of a Ceph cluster. Load returns nil if the cluster has no journal.
type Journals interface {
	Load(ctx context.Context, fsid string) (*tuning.Journal, error)
}

const (
	// fsidFor is how long the FSID of a CephCluster is cached. The FSID changes only when the cluster
	// is created again.
	fsidFor = 5 * time.Minute
	// atOnce is the maximum number of clusters that are read concurrently.
	atOnce = 8
)

// clusterFacts holds the facts about a Ceph cluster. Unknown facts are nil.
type clusterFacts struct {
	name    string
	waiting *int // the number of objects that wait for the lock
	grant   *lock.Grant
	// journal has the changed settings, and outage the OSDs that are kept down. Either may have no entries.
	journal, outage *tuning.Journal
}

// clusterSamples returns the series of a Ceph cluster.
func clusterSamples(c clusterFacts, now time.Time) []Sample {
	var all []Sample
	if c.waiting != nil {
		all = append(all, sample(metrics.QueueLength, float64(*c.waiting), c.name))
	}
	if c.grant != nil {
		held := c.grant.Holder != "" && now.Before(c.grant.Expires)
		if held {
			all = append(all,
				sample(metrics.LockHeld, 1, c.name, holderName(c.grant.Holder)),
				sample(metrics.LockAcquired, float64(c.grant.Since.UnixMilli())/1000, c.name))
		} else {
			all = append(all, sample(metrics.LockHeld, 0, c.name, ""))
		}
	}
	if c.journal != nil {
		open, holder := openEntries(c.journal)
		all = append(all, sample(metrics.JournalOpen, float64(open), c.name, holder))
	}
	if c.outage != nil {
		open, holder := openEntries(c.outage)
		all = append(all, sample(metrics.OSDsKeptDown, float64(open), c.name, holder))
		if until := c.outage.Until; open > 0 && !until.IsZero() {
			all = append(all, sample(metrics.OSDsDueUp, float64(until.Unix()), c.name))
		}
	}
	return all
}

// openEntries counts the open entries of a journal, and returns the sweep or benchmark that made them; ""
// without an open entry.
func openEntries(j *tuning.Journal) (open int, holder string) {
	if open = len(j.ToRestore()); open > 0 {
		holder = j.Sweep.KindOrSweep() + "/" + j.Sweep.String()
	}
	return open, holder
}

// holderName removes the UID from kind/namespace/name/UID, the identity of a holder.
func holderName(identity string) string {
	words := strings.Split(identity, "/")
	return strings.Join(words[:min(len(words), 3)], "/")
}

// clusters reads the facts about Ceph clusters.
type clusters struct {
	refs     []v1alpha1.ClusterReference
	rook     Rook
	lock     Lock
	journals Journals
	// outages reads the journals of OSDs that are kept down.
	outages Journals
	now     func() time.Time

	mu    sync.Mutex
	fsids map[v1alpha1.ClusterReference]knownFSID
}

type knownFSID struct {
	fsid  string
	taken time.Time
}

// look reads the facts about all clusters concurrently, until the context ends. It joins the errors of failed
// reads. The argument waiting has the number of waiting objects by cluster; nil if unknown.
func (c *clusters) look(ctx context.Context, waiting map[string]int) ([]clusterFacts, error) {
	facts, failures := make([]clusterFacts, len(c.refs)), make([]error, len(c.refs))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, ref := range c.refs {
		group.Go(func() error {
			facts[i], failures[i] = c.lookAt(ctx, ref)
			if waiting != nil {
				count := waiting[facts[i].name]
				facts[i].waiting = &count
			}
			return nil
		})
	}
	_ = group.Wait() // failures has the errors.
	return facts, errors.Join(failures...)
}

func (c *clusters) lookAt(ctx context.Context, ref v1alpha1.ClusterReference) (clusterFacts, error) {
	found := clusterFacts{name: clusterName(ref)}
	fsid, err := c.fsidOf(ctx, ref)
	if err != nil || fsid == "" {
		return found, err
	}
	grant, lockErr := c.lock.Peek(ctx, fsid, objectref.Ref{})
	if lockErr == nil {
		found.grant = &grant
	}
	var journalErr, outageErr error
	found.journal, journalErr = orEmpty(c.journals.Load(ctx, fsid))
	found.outage, outageErr = orEmpty(c.outages.Load(ctx, fsid))
	return found, errors.Join(lockErr, journalErr, outageErr)
}

// orEmpty returns an empty journal if the cluster has no journal. It returns nil if the journal could not be
// read.
func orEmpty(j *tuning.Journal, err error) (*tuning.Journal, error) {
	if err == nil && j == nil {
		return &tuning.Journal{}, nil
	}
	return j, err
}

// fsidOf returns the FSID of a CephCluster; "" if the FSID was never known. If the FSID cannot be read,
// fsidOf returns the last known FSID, because the lock and the journal with that FSID still matter.
func (c *clusters) fsidOf(ctx context.Context, ref v1alpha1.ClusterReference) (string, error) {
	c.mu.Lock()
	known, ok := c.fsids[ref]
	c.mu.Unlock()
	if ok && c.now().Sub(known.taken) < fsidFor {
		return known.fsid, nil
	}
	info, err := c.rook.Cluster(ctx, ref)
	if err != nil && ok {
		return known.fsid, nil
	}
	if err != nil {
		return "", fmt.Errorf("read CephCluster %s: %w", clusterName(ref), err)
	}
	if info.FSID == "" {
		return known.fsid, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fsids[ref] = knownFSID{fsid: info.FSID, taken: c.now()}
	return info.FSID, nil
}

// waits reports whether an object waits for the lock of a cluster, or until a sweep that changed settings of
// the cluster has restored them.
func waits(conditions []metav1.Condition) bool {
	return atWork(conditions) && reasonOf(conditions) == v1alpha1.ReasonQueued
}
