package teardown

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

func today() time.Time { return time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC) }

// party returns a Job with one running pod, whose runner answers and has one task.
func party(id string, state task.State) Party {
	return Party{
		Job: &batchv1.Job{},
		Pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
		}},
		Runners: map[int]clientview.View{0: {}},
		Tasks:   workload.Tasks{{id: task.Status{ID: id, State: state}}},
		Cleanup: func(int) []task.Command { return []task.Command{{Argv: []string{"rbd", "rm"}}} },
	}
}

func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Part
	}{
		"OSDs are down":                    {func(f *Facts) { f.StopsOSDs = true }, PartRestoreOSDs},
		"nothing can be in Ceph":           {func(f *Facts) { f.StopsOSDs, f.InCeph = true, false }, PartCancelClients},
		"clients measure":                  {func(*Facts) {}, PartCancelClients},
		"clients have no data":             {func(f *Facts) { f.Clients.Tasks, f.Clients.Cleanup = idle(), noCommands }, PartFinish},
		"clients have data":                {func(f *Facts) { f.Clients.Tasks = idle() }, PartCleanClients},
		"clients remove their data":        {func(f *Facts) { f.Clients = party(leftovers.TaskID, task.Preparing) }, PartWait},
		"clients have removed their data":  {func(f *Facts) { f.Clients = party(leftovers.TaskID, task.Done) }, PartFinish},
		"clients cannot remove it":         {func(f *Facts) { f.Clients.Tasks, f.clientsFailed = idle(), true }, PartFinish},
		"their attempt takes too long":     {func(f *Facts) { f.Clients, f.clientsFailed = party(leftovers.TaskID, task.Preparing), true }, PartCancelClients},
		"the script is unknown":            {func(f *Facts) { f.Clients.Cleanup = nil }, PartFinish},
		"a client has not answered yet":    {func(f *Facts) { f.Clients.Tasks = nil }, PartFinish},
		"a client is lost":                 {func(f *Facts) { f.Clients.Runners[0] = clientview.View{Err: errors.New("refused")} }, PartSuspend},
		"a load goes on in the background": {func(f *Facts) { f.Background = party("background-r1", task.Measuring) }, PartCancelBackground},
		"it has data":                      {func(f *Facts) { f.Background = party("background-r1", task.Done) }, PartCleanBackground},
		"it is lost": {func(f *Facts) {
			f.Background = party("background-r1", task.Measuring)
			f.Background.Runners[0] = clientview.View{Err: errors.New("refused")}
		}, PartSuspend},
		"clients were asked to end": {func(f *Facts) { f.Clients.Tasks, f.clientsFailed, f.finishedAt = idle(), true, today() }, PartWait},
		"they do not": {func(f *Facts) {
			f.Clients.Tasks, f.clientsFailed, f.finishedAt = idle(), true, today().Add(-time.Minute)
		}, PartSuspend},
		"pods of a deleted Job run": {func(f *Facts) { f.Orphans, f.Clients, f.orphansSince = f.Clients.Pods, Party{}, today() }, PartWait},
		"pods of a Job that is being deleted run": {func(f *Facts) {
			f.Clients.Job.DeletionTimestamp, f.Clients.Tasks, f.orphansSince = &metav1.Time{Time: today()}, nil, today()
		}, PartWait},
		"they are kept on purpose": {func(f *Facts) {
			f.Orphans, f.Clients, f.orphansSince = f.Clients.Pods, Party{}, today().Add(-time.Hour)
		}, PartPrune},
		"pods have ended":          {ended, PartJob},
		"in a pool that stays":     {func(f *Facts) { ended(f); f.Leftovers.ImagePools = []string{"open"} }, PartLeftovers},
		"with a scratch pool":      {func(f *Facts) { ended(f); f.OwnsPool = true }, PartPool},
		"the Job is being deleted": {func(f *Facts) { ended(f); f.Clients.Job.DeletionTimestamp = &metav1.Time{Time: today()} }, PartJob},
		"somebody keeps the Job": {func(f *Facts) {
			ended(f)
			f.Clients.Job.DeletionTimestamp = &metav1.Time{Time: today().Add(-time.Hour)}
		}, PartPrune},
		"its pods run": {func(f *Facts) {
			f.Clients.Job.DeletionTimestamp, f.Clients.Tasks, f.orphansSince = &metav1.Time{Time: today().Add(-time.Hour)}, nil, today().Add(-time.Hour)
		}, PartJob},
		"the Job is gone":          {func(f *Facts) { f.Clients = Party{} }, PartPrune},
		"a node is down":           {func(f *Facts) { lost(f, time.Minute) }, PartBlock},
		"the node may end its pod": {func(f *Facts) { lost(f, time.Second) }, PartSuspend},
		"its clients are blocked":  {func(f *Facts) { lost(f, time.Minute); f.done = map[Part]bool{PartBlock: true} }, PartJob},
		"with the scratch pool": {func(f *Facts) {
			lost(f, time.Minute)
			f.OwnsPool, f.done = true, map[Part]bool{PartBlock: true}
		}, PartPool},
		"a stuck pod of a deleted Job": {func(f *Facts) {
			lost(f, time.Minute)
			f.Orphans, f.Clients, f.orphansSince = f.Clients.Pods, Party{}, today()
		}, PartBlock},
		"its clients are blocked, too": {func(f *Facts) {
			lost(f, time.Minute)
			f.Orphans, f.Clients, f.orphansSince = f.Clients.Pods, Party{}, today()
			f.done = map[Part]bool{PartBlock: true}
		}, PartPrune},
		"a node is down without Ceph": {func(f *Facts) { lost(f, time.Minute); f.InCeph = false }, PartJob},
		"everything but the lock":     {func(f *Facts) { f.Clients, f.OwnsLock, f.done = Party{}, true, map[Part]bool{PartPrune: true} }, PartLock},
		"the sweep has the lock":      {func(f *Facts) { f.Clients, f.done = Party{}, map[Part]bool{PartPrune: true} }, PartNone},
		"everything": {func(f *Facts) {
			f.Clients, f.StopsOSDs, f.OwnsPool, f.OwnsLock, f.Leftovers.ImagePools = Party{}, true, true, true, []string{"open"}
			f.done = map[Part]bool{PartRestoreOSDs: true, PartLeftovers: true, PartPool: true, PartPrune: true, PartLock: true}
		}, PartNone},
	} {
		f := Facts{View: View{Now: today(), InCeph: true, Clients: party("r1-p1", task.Measuring)}}
		c.change(&f)
		if got, rule, _ := reconcile.First(Rules(), f); got.Part != c.want {
			t.Errorf("%s: part %q of rule %s, want %q", name, got.Part, rule, c.want)
		}
	}
}

// lost is an execution whose client runs on a lost node, some time after the end of its pod's grace period.
func lost(f *Facts, ago time.Duration) {
	f.Clients.Runners[0] = clientview.View{Err: errors.New("no route to host")}
	f.Clients.Pods[0].DeletionTimestamp = &metav1.Time{Time: today().Add(-ago)}
}

func idle() workload.Tasks { return workload.Tasks{{}} }

func noCommands(int) []task.Command { return nil }

func ended(f *Facts) { f.Clients.Pods[0].Status.Phase = corev1.PodSucceeded; f.finishedAt = today() }

// Clients that are still at work may write after something was removed.
func TestRemovesAgainWhatClientsWroteMeanwhile(t *testing.T) {
	p := Progress{}
	for _, part := range []Part{PartRestoreOSDs, PartLeftovers, PartPool, PartPrune, PartLock} {
		p.note(part, true)
	}
	p.note(PartWait, false)
	if !p.done[PartRestoreOSDs] || !p.done[PartPrune] || p.done[PartLeftovers] || p.done[PartPool] || p.done[PartLock] {
		t.Errorf("complete are %v, want the OSDs and the results only", p.done)
	}
}

// On full OSDs, the tools would wait for space when they remove their data.
func TestFullOSDsKeepClientsFromCleaningUp(t *testing.T) {
	f := Facts{View: View{Clients: party("r1-p1", task.Done), Background: party("background-r1", task.Done)}}
	f.OSDsAreFull()
	if got, _, _ := reconcile.First(Rules(), f); got.Part != PartFinish {
		t.Errorf("part %q, want the clients to end", got.Part)
	}
}

func TestOrphansAreWaitedForFromTheirFirstSight(t *testing.T) {
	p := Progress{}
	p.OrphansRun(today())
	p.OrphansRun(today().Add(time.Minute))
	if !p.orphansSince.Equal(today()) {
		t.Errorf("since %v", p.orphansSince)
	}
}
