package exporter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/settings"
)

// scrapeTime limits how long a scrape waits for answers. By default, Prometheus gives up after ten seconds,
// and then has no samples at all.
const scrapeTime = 5 * time.Second

// Options holds the dependencies of a Collector.
type Options struct {
	// Reader lists CRs from the manager's cache.
	Reader client.Reader
	// Clusters lists the Ceph clusters of the operator config.
	Clusters []settings.Cluster
	Rook     Rook
	Lock     Lock
	Journals Journals
	// Outages reads the journals of the OSDs that are kept down.
	Outages Journals
	// Leads is closed once this manager wins the leader election. Until then the Collector exports nothing,
	// because the leader exports the same series.
	Leads <-chan struct{}
	Log   logr.Logger
	Now   func() time.Time
}

// Collector exports the state of CRs, locks and journals. It reads the state at each scrape.
type Collector struct {
	reader       client.Reader
	clusters     *clusters
	leads        <-chan struct{}
	log          logr.Logger
	now          func() time.Time
	descriptions map[string]*prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector. The caller has to register it.
func NewCollector(o Options) *Collector {
	refs := make([]v1alpha1.ClusterReference, len(o.Clusters))
	for i, c := range o.Clusters {
		refs[i] = v1alpha1.ClusterReference{Namespace: c.Namespace, Name: c.Name}
	}
	return &Collector{
		reader: o.Reader, leads: o.Leads, log: o.Log, now: o.Now, descriptions: descriptions(),
		clusters: &clusters{
			refs: refs, rook: o.Rook, lock: o.Lock, journals: o.Journals, outages: o.Outages, now: o.Now,
			fsids: map[v1alpha1.ClusterReference]knownFSID{},
		},
	}
}

// descriptions returns the descriptions of the gauges. [Events] has the counters and histograms.
func descriptions() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, group := range metrics.Table() {
		for _, d := range group.Descriptions {
			if d.Type == metrics.Gauge {
				all[d.Name] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
			}
		}
	}
	return all
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(channel chan<- *prometheus.Desc) {
	for _, d := range c.descriptions {
		channel <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(channel chan<- prometheus.Metric) {
	select {
	case <-c.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	for _, s := range c.samples(ctx) {
		values := make([]string, len(s.Labels))
		for i, v := range s.Labels {
			values[i] = strings.ToValidUTF8(v, "\uFFFD")
		}
		channel <- prometheus.MustNewConstMetric(c.descriptions[s.Name], prometheus.GaugeValue, s.Value, values...)
	}
}

// samples returns all series: at most metrics.MaxSeries of objects and clusters, and those of the
// exporter itself.
func (c *Collector) samples(ctx context.Context) []Sample {
	objects, waiting, err := c.objects(ctx)
	failed := c.report(err)
	facts, err := c.clusters.look(ctx, waiting)
	failed += c.report(err)
	// The exporter's own series do not count towards the limit, so they are never left out.
	chosen := newSelection(metrics.MaxSeries)
	for _, cluster := range facts {
		chosen.add(clusterSamples(cluster, c.now()), 0)
	}
	for _, o := range objects {
		chosen.add(o.samples())
	}
	return append(chosen.samples,
		sample(metrics.DroppedSeries, float64(chosen.dropped)),
		sample(metrics.CollectionErrors, float64(failed)))
}

// report logs the errors of failed reads, and counts them.
func (c *Collector) report(err error) int {
	switch joined, several := err.(interface{ Unwrap() []error }); {
	case err == nil:
		return 0
	case several:
		count := 0
		for _, e := range joined.Unwrap() {
			count += c.report(e)
		}
		return count
	}
	c.log.Error(err, "Metrics are incomplete")
	return 1
}

// object is a CR with a function that makes its series.
type object struct {
	created   time.Time
	rank      int // one of the ranks below; the lowest is selected first
	namespace string
	name      string
	samples   func() ([]Sample, int)
}

// These are the ranks of objects. Objects with the lock or an open journal come before waiting objects:
// without their series, alerts would report them as deleted.
const (
	rankWorks = iota
	rankWaits
	rankIdle
)

func rankOf(conditions []metav1.Condition) int {
	switch {
	case meta.IsStatusConditionFalse(conditions, v1alpha1.ConditionRestored):
		return rankWorks // Alerts need the series of an object with unrestored settings.
	case waits(conditions):
		return rankWaits
	case atWork(conditions):
		return rankWorks
	}
	return rankIdle
}

// objects lists all CRs by rank, and within a rank the newest first. It also counts the waiting CRs of each
// cluster, without the benchmarks of sweeps. It returns nil for both results if the CRs cannot be listed.
//
// The lists share memory with the cache (UnsafeDisableDeepCopy), so the Collector must not change an object.
func (c *Collector) objects(ctx context.Context) ([]object, map[string]int, error) {
	var benchmarks v1alpha1.CephBenchmarkList
	if err := c.reader.List(ctx, &benchmarks, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list CephBenchmarks: %w", err)
	}
	var sweeps v1alpha1.CephTuningSweepList
	if err := c.reader.List(ctx, &sweeps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list CephTuningSweeps: %w", err)
	}
	all := make([]object, 0, len(benchmarks.Items)+len(sweeps.Items))
	children := map[string]*v1alpha1.CephBenchmark{}
	waiting := map[string]int{}
	for i := range benchmarks.Items {
		b := &benchmarks.Items[i]
		if b.Status.Trial != nil {
			children[b.Namespace+"/"+b.Name] = b
		} else if waits(b.Status.Conditions) {
			waiting[clusterName(b.Spec.ClusterRef)]++
		}
		all = append(all, object{b.CreationTimestamp.Time, rankOf(b.Status.Conditions), b.Namespace, b.Name, func() ([]Sample, int) { return BenchmarkSamples(b) }})
	}
	for i := range sweeps.Items {
		s := &sweeps.Items[i]
		if waits(s.Status.Conditions) {
			waiting[clusterName(s.Spec.ClusterRef)]++
		}
		all = append(all, object{s.CreationTimestamp.Time, rankOf(s.Status.Conditions), s.Namespace, s.Name, func() ([]Sample, int) {
			return SweepSamples(s, runningChild(s, children)), 0
		}})
	}
	slices.SortFunc(all, precedence)
	return all, waiting, nil
}

func precedence(a, b object) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), b.created.Compare(a.created), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// selection holds the series that are exported.
type selection struct {
	samples []Sample
	dropped int
	room    int
	taken   map[string]bool
}

func newSelection(room int) *selection { return &selection{room: room, taken: map[string]bool{}} }

// add adds all series of an object, or no series if they do not all fit, because half a result misleads. It
// leaves out duplicates of earlier series. The argument dropped is the number of series that did not fit into
// the object's own limit.
func (s *selection) add(samples []Sample, dropped int) {
	s.dropped += dropped
	if len(samples) > s.room {
		s.dropped += len(samples)
		return
	}
	for _, sample := range samples {
		key := sample.Name + "\xff" + strings.Join(sample.Labels, "\xff")
		if s.taken[key] { // A duplicate series would fail the whole scrape.
			s.dropped++
			continue
		}
		s.taken[key] = true
		s.samples = append(s.samples, sample)
		s.room--
	}
}
