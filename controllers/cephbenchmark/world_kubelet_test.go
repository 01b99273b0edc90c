package cephbenchmark

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// kubelet plays the part of components that the API server lacks: it creates pods for Jobs, and
// runners for pods.
type kubelet struct {
	client.Client
	namespace string

	mu      sync.Mutex
	runners map[string]*runnertest.Runner // by address
	keys    map[string][]byte             // of runners, by address
	all     []*runnertest.Runner          // in the order of their pods
	scripts map[string]runnertest.Script
	// become changes the initial status of pods.
	become func(*corev1.PodStatus)
	// refuse says why Jobs get no pods; "" if they get them.
	refuse string
	// skew is the clock skew of all runners.
	skew time.Duration
	// wall is the error with which the manager reaches no runner; nil if it does.
	wall error
	// keeps lets pods run on after their Job is gone.
	keeps bool
	// node is the node of new pods; "" for none. silent holds the pods whose kubelet is silent: they do not end.
	node   string
	silent map[string]bool
	// lose is how many requests get lost, by "put 1", "start 1" and so on.
	lose map[string]int
}

func newKubelet(c client.Client, namespace string) *kubelet {
	return &kubelet{Client: c, namespace: namespace, silent: map[string]bool{}, runners: map[string]*runnertest.Runner{}, keys: map[string][]byte{}, scripts: map[string]runnertest.Script{}}
}

func (k *kubelet) set(change func(*kubelet)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

func (k *kubelet) run(ctx context.Context) {
	ticker := time.NewTicker(80 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.work(ctx)
		}
	}
}

// work serves each Job once.
func (k *kubelet) work(ctx context.Context) {
	var jobs batchv1.JobList
	if k.List(ctx, &jobs, client.InNamespace(k.namespace)) != nil {
		return
	}
	for i := range jobs.Items {
		k.serve(ctx, &jobs.Items[i])
	}
	k.collect(ctx, jobs.Items)
}

// collect removes pods without a Job, and Jobs whose owner is a Job that is gone, as the garbage collector would.
func (k *kubelet) collect(ctx context.Context, jobs []batchv1.Job) {
	k.mu.Lock()
	keeps := k.keeps
	k.mu.Unlock()
	for i := range jobs {
		owner := metav1.GetControllerOf(&jobs[i])
		if owner != nil && owner.Kind == "Job" && !slices.ContainsFunc(jobs, func(job batchv1.Job) bool { return job.UID == owner.UID }) {
			_ = k.Delete(ctx, &jobs[i], client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
	}
	var pods corev1.PodList
	if keeps || k.List(ctx, &pods, client.InNamespace(k.namespace), client.HasLabels{clientjob.LabelExecution}) != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !slices.ContainsFunc(jobs, func(job batchv1.Job) bool { return metav1.IsControlledBy(pod, &job) }) {
			k.removePod(ctx, pod)
		}
	}
}

// removePod deletes a pod and ends it. A silent kubelet does not end it, so the API server keeps it.
func (k *kubelet) removePod(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	silent := k.silent[pod.Name]
	k.mu.Unlock()
	if !silent {
		_ = k.Delete(ctx, pod, client.GracePeriodSeconds(0))
	} else if pod.DeletionTimestamp.IsZero() {
		_ = k.Delete(ctx, pod)
	}
}

// serve does what a Job's controller, the scheduler and a kubelet would do.
func (k *kubelet) serve(ctx context.Context, job *batchv1.Job) {
	var pods corev1.PodList
	if k.List(ctx, &pods, client.InNamespace(k.namespace), client.MatchingLabels{clientjob.LabelExecution: job.Name}) != nil {
		return
	}
	suspended := job.Spec.Suspend != nil && *job.Spec.Suspend
	switch {
	case !job.DeletionTimestamp.IsZero() || suspended:
		k.endJob(ctx, job, pods.Items)
	case len(pods.Items) == 0 && job.Status.Succeeded == 0 && job.Status.Failed == 0:
		k.startJob(ctx, job)
	default:
		for i := range pods.Items {
			k.endPod(ctx, &pods.Items[i])
		}
	}
}

func (k *kubelet) endJob(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) {
	for i := range pods {
		k.removePod(ctx, &pods[i])
	}
	if !job.DeletionTimestamp.IsZero() && len(pods) == 0 {
		name, _ := clientjob.SecretIn(job)
		secret := &corev1.Secret{}
		if k.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, secret) == nil && metav1.IsControlledBy(secret, job) {
			_ = k.Delete(ctx, secret)
		}
		if !k.endOwned(ctx, job) {
			return
		}
		job.Finalizers = nil
		_ = k.Update(ctx, job)
	}
}

// endOwned removes the Jobs that a Job owns, as the garbage collector would, and reports whether
// they are gone.
func (k *kubelet) endOwned(ctx context.Context, owner *batchv1.Job) (gone bool) {
	var jobs batchv1.JobList
	if k.List(ctx, &jobs, client.InNamespace(k.namespace)) != nil {
		return false
	}
	gone = true
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, owner) {
			gone = false
			_ = k.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground))
		}
	}
	return gone
}

func (k *kubelet) startJob(ctx context.Context, job *batchv1.Job) {
	k.mu.Lock()
	refuse := k.refuse
	k.mu.Unlock()
	if refuse != "" {
		_ = k.warn(ctx, job, "Job", "FailedCreate", refuse)
		return
	}
	if !k.hasSecrets(ctx, job) {
		return
	}
	for i := range int(*job.Spec.Completions) {
		k.startPod(ctx, job, i)
	}
}

// hasSecrets reports whether the Secrets that pods of a Job mount exist. Without them, pods do not
// start.
func (k *kubelet) hasSecrets(ctx context.Context, job *batchv1.Job) bool {
	for _, volume := range job.Spec.Template.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		if k.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: volume.Secret.SecretName}, &corev1.Secret{}) != nil {
			return false
		}
	}
	return true
}

// mountsOurs reports whether the files of the Secret that pods of a Job mount have the digest that the Job names.
func (k *kubelet) mountsOurs(ctx context.Context, job *batchv1.Job) bool {
	secret := &corev1.Secret{}
	name, digest := clientjob.SecretIn(job)
	return digest == "" || k.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, secret) == nil && runner.FilesDigest(secret.Data) == digest
}

// warn creates an event about an object.
func (k *kubelet) warn(ctx context.Context, o client.Object, kind, reason, message string) error {
	return client.IgnoreAlreadyExists(k.Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName() + "." + strings.ToLower(reason)},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.Now(),
	}))
}

func (k *kubelet) startPod(ctx context.Context, job *batchv1.Job, index int) {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-"+strconv.Itoa(index)
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(index)
	k.mu.Lock()
	pod.Spec.NodeName = k.node
	k.mu.Unlock()
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	key := k.keyOf(ctx, pod)
	if k.Create(ctx, pod) != nil {
		return
	}
	k.mu.Lock()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.0.%d", len(k.all)+1)}
	if !k.mountsOurs(ctx, job) {
		pod.Status.Phase = corev1.PodFailed // The runner refuses the files.
	}
	if k.become != nil {
		k.become(&pod.Status)
	}
	r := runnertest.New(index)
	for prefix, script := range k.scripts {
		r.Script(prefix, script)
	}
	r.SetSkew(k.skew)
	k.all = append(k.all, r)
	k.runners[addressOf(pod)], k.keys[addressOf(pod)] = r, key
	k.mu.Unlock()
	_ = k.Status().Update(ctx, pod)
}

// keyOf returns the execution's key in a pod's Secret; nil without the Secret.
func (k *kubelet) keyOf(ctx context.Context, pod *corev1.Pod) []byte {
	secret := &corev1.Secret{}
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret != nil && k.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: volume.Secret.SecretName}, secret) == nil {
			return secret.Data["session.key"]
		}
	}
	return nil
}

func addressOf(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(runner.Port))
}

// endPod ends a pod whose runner was told to finish.
func (k *kubelet) endPod(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	r := k.runners[addressOf(pod)]
	k.mu.Unlock()
	if r == nil || !r.Finished() || pod.Status.Phase != corev1.PodRunning {
		return
	}
	pod.Status.Phase = corev1.PodSucceeded
	_ = k.Status().Update(ctx, pod)
}

func (k *kubelet) dial(address string, key []byte, _ *limits.Account) (runner.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.runners[address]
	if k.wall != nil {
		return nil, k.wall
	}
	if !ok {
		return nil, fmt.Errorf("nobody is at %s", address)
	}
	if !bytes.Equal(key, k.keys[address]) {
		return nil, fmt.Errorf("the runner at %s has another key", address)
	}
	return way{Runner: r, kubelet: k}, nil
}

// way is a connection to a runner that may lose requests.
type way struct {
	*runnertest.Runner
	kubelet *kubelet
}

func (w way) Put(ctx context.Context, t task.Task) (task.Status, error) {
	if err := w.kubelet.loses("put", w.Runner); err != nil {
		return task.Status{}, err
	}
	return w.Runner.Put(ctx, t)
}

func (w way) Start(ctx context.Context, id string) (runner.Started, error) {
	if err := w.kubelet.loses("start", w.Runner); err != nil {
		return runner.Started{}, err
	}
	return w.Runner.Start(ctx, id)
}

func (k *kubelet) loses(message string, r *runnertest.Runner) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	message = fmt.Sprintf("%s %d", message, slices.Index(k.all, r))
	if k.lose[message] == 0 {
		return nil
	}
	k.lose[message]--
	return fmt.Errorf("%s was lost", message)
}

// script sets the outcome of tasks, by prefix, for clients that start later.
func (k *kubelet) script(prefix string, s runnertest.Script) {
	k.set(func(k *kubelet) { k.scripts[prefix] = s })
}

// held is a time for which a story holds tasks in a state, to act meanwhile, until it calls proceed.
const held = time.Hour

// proceed ends the current state of the tasks with a prefix on all clients, and lets later ones go on without a delay.
func (k *kubelet) proceed(prefix string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for known, script := range k.scripts {
		if strings.HasPrefix(known, prefix) {
			k.scripts[known] = script.WithoutDelay()
		}
	}
	for _, r := range k.all {
		r.Proceed(prefix)
	}
}

// client returns the runner of the nth pod, from 0; nil if there is none yet.
func (k *kubelet) client(n int) *runnertest.Runner {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n >= len(k.all) {
		return nil
	}
	return k.all[n]
}

// podOf waits for the pod of a client of the only Job, and for its address.
func (w *world) podOf(index int) (pod *corev1.Pod) {
	w.t.Helper()
	w.eventually(func() string {
		var pods corev1.PodList
		if err := w.List(w.t.Context(), &pods, client.InNamespace(w.namespace),
			client.MatchingLabels{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}); err != nil {
			return err.Error()
		}
		if len(pods.Items) != 1 || pods.Items[0].Status.Phase == "" {
			return fmt.Sprintf("%d pods of client %d with a phase", len(pods.Items), index)
		}
		pod = &pods.Items[0]
		return ""
	})
	return pod
}

// podBecomes changes the status of a client's pod.
func (w *world) podBecomes(index int, change func(*corev1.PodStatus)) {
	w.t.Helper()
	pod := w.podOf(index)
	change(&pod.Status)
	if err := w.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

// untilTask waits until the nth client has a task in a state, whose ID has a prefix.
func (w *world) untilTask(n int, id string, state task.State) {
	w.t.Helper()
	w.eventually(func() string {
		r := w.kubelet.client(n)
		if r == nil {
			return fmt.Sprintf("there is no client %d", n)
		}
		snapshot, err := r.Snapshot(w.t.Context(), -1, 0)
		if err != nil {
			return err.Error()
		}
		for _, status := range snapshot.Tasks {
			if strings.HasPrefix(status.ID, id) && status.State == state {
				return ""
			}
		}
		return fmt.Sprintf("client %d has no task %s that is %s: %+v", n, id, state, snapshot.Tasks)
	})
}
