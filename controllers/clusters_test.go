package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// clusterCount is the number of Ceph clusters of a hall.
const clusterCount = 10

func clusterName(number int) string {
	return strings.TrimSuffix(fmt.Sprintf("my-cluster-%d", number), "-0")
}

func clusterNumber(name string) (number int) {
	_, _ = fmt.Sscanf(name, "my-cluster-%d", &number) // The first has no number.
	return number
}

func fsidOf(number int) string { return cephtest.FSID[:35] + strconv.Itoa((5+number)%clusterCount) }

func monitors(number int) string { return fmt.Sprintf("10.0.0.%d:6789", 10+number) }

// clusters are equal Ceph clusters, except for their FSIDs and their entries of config-key. The first answers the other verbs
// for all of them: nothing writes data into Ceph.
type clusters struct {
	*cephtest.Cluster

	all map[string]*cephtest.Cluster // by their monitors
}

func newClusters(carry func(context.Context, string, func() error) error) clusters {
	all := clusters{all: map[string]*cephtest.Cluster{}}
	for number := range clusterCount {
		one := cephtest.NewCluster("open", settings.ScratchPool)
		one.Change(func(a *cephtest.Answers) {
			a.Status.FSID, a.OSDMap.FSID = fsidOf(number), fsidOf(number)
			a.Status.Monitors, a.Status.QuorumNames = 1, []string{"a"}
			a.OSDMap.FullRatio, a.OSDMap.BackfillFullRatio, a.OSDMap.NearFullRatio = 0.95, 0.9, 0.85
			for i := range a.OSDs {
				a.OSDs[i].TotalBytes, a.OSDs[i].AvailableBytes, a.OSDs[i].PGs = 1<<40, 1<<40, 32
			}
			a.OSDMap.Pools[1].AutoscaleMode = "off"
			a.DF = ceph.DF{TotalBytes: 3 << 40, AvailableBytes: 3 << 40}
			a.PoolIO = []ceph.PoolIO{{Name: "open"}}
			a.Versions = ceph.Versions{Overall: map[string]int{"18.2.7": 5}, OSD: map[string]int{"18.2.7": 3}}
			a.ConfigShow = map[string]string{"osd.0 osd_memory_target": "4294967296"}
			a.Keys = map[string]string{}
		})
		one.Act(func(c *cephtest.Cluster) { c.Now = time.Now })
		one.Carry = carry
		all.all[monitors(number)] = one
	}
	all.Cluster = all.all[monitors(0)]
	return all
}

func (c clusters) Status(ctx context.Context, conn ceph.Connection) (*ceph.Status, error) {
	return c.all[conn.MonHost].Status(ctx, conn)
}

func (c clusters) OSDMap(ctx context.Context, conn ceph.Connection) (*ceph.OSDMap, error) {
	return c.all[conn.MonHost].OSDMap(ctx, conn)
}

func (c clusters) GetKey(ctx context.Context, conn ceph.Connection, key string) (string, bool, error) {
	return c.all[conn.MonHost].GetKey(ctx, conn, key)
}

func (c clusters) SetKey(ctx context.Context, conn ceph.Connection, key, value string) error {
	return c.all[conn.MonHost].SetKey(ctx, conn, key, value)
}

func (c clusters) RemoveKey(ctx context.Context, conn ceph.Connection, key string) error {
	return c.all[conn.MonHost].RemoveKey(ctx, conn, key)
}

// nodes run the pods of Jobs, with a runner in each.
type nodes struct {
	hall *hall

	mu      sync.Mutex
	runners map[string]*runnertest.Runner // by address
}

// timely is a runner whose measurements take as long as they should.
type timely struct{ *runnertest.Runner }

// Put implements runner.Client.
func (r timely) Put(ctx context.Context, t task.Task) (task.Status, error) {
	script := runnertest.Script{Preparing: 3 * time.Second}
	if m := t.Measure; m != nil {
		script.Measuring = max(10*time.Second, time.Duration(m.RequestedSeconds*float64(time.Second)))
	}
	r.Script(t.ID, script)
	return r.Runner.Put(ctx, t)
}

// noLogs are the logs of pods.
type noLogs struct{}

func (noLogs) Read(context.Context, string, string, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

// work starts the pods of new Jobs, ends those whose runner has finished, and removes those of deleted Jobs, each second.
func (n *nodes) work(ctx context.Context) {
	for ctx.Err() == nil {
		var jobs batchv1.JobList
		var pods corev1.PodList
		if err := errors.Join(n.hall.List(ctx, &jobs), n.hall.List(ctx, &pods)); err != nil {
			n.hall.t.Error(err)
		}
		for i := range jobs.Items {
			job := &jobs.Items[i]
			isOthers := func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) }
			if err := n.serve(ctx, job, slices.DeleteFunc(slices.Clone(pods.Items), isOthers)); err != nil {
				n.hall.t.Error(err)
			}
		}
		time.Sleep(time.Second)
	}
}

func (n *nodes) serve(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) error {
	switch {
	case !job.DeletionTimestamp.IsZero():
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace}}
		secret.Name, _ = clientjob.SecretIn(job)
		gone := client.IgnoreNotFound(n.hall.Delete(ctx, secret))
		for i := range pods {
			gone = errors.Join(gone, n.hall.Delete(ctx, &pods[i]))
		}
		job.Finalizers = nil
		return errors.Join(gone, n.hall.Update(ctx, job))
	case len(pods) == 0 && !ptr.Deref(job.Spec.Suspend, false):
		return n.start(ctx, job)
	}
	for i := range pods {
		if pod := &pods[i]; pod.Status.Phase == corev1.PodRunning && n.runner(pod.Status.PodIP).Finished() {
			pod.Status.Phase = corev1.PodSucceeded
			if err := n.hall.Status().Update(ctx, pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts the only pod of a Job.
func (n *nodes) start(ctx context.Context, job *batchv1.Job) error {
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-0"
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = "0"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if err := n.hall.Create(ctx, pod); err != nil {
		return err
	}
	n.mu.Lock()
	number := len(n.runners)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.%d.%d", number/256, number%256)}
	n.runners[pod.Status.PodIP] = runnertest.New(0)
	n.mu.Unlock()
	return n.hall.Status().Update(ctx, pod)
}

func (n *nodes) runner(ip string) *runnertest.Runner {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runners[ip]
}

func (n *nodes) dial(address string, _ []byte, _ *limits.Account) (runner.Client, error) {
	ip, _, err := net.SplitHostPort(address)
	return timely{n.runner(ip)}, err
}
