package clientjob

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	ours       = "ours"
	changed    = "ours, but was changed, and not by the operator"
	unrecorded = "unrecorded"
	replaced   = "was replaced, and not by the operator"
	notOurs    = "is not the operator's"
)

// wantOrigin checks an origin, which one of the constants above describes.
func wantOrigin(t *testing.T, got Origin, err error, want string) {
	t.Helper()
	text := "ours"
	switch {
	case got.Unrecorded && got.Ours && got.Mismatch.Matches():
		text = unrecorded
	case got.Ours && !got.Mismatch.Matches():
		text = "ours, but " + string(got.Mismatch)
	case !got.Ours:
		text = string(got.Mismatch)
	}
	if err != nil || !strings.Contains(text, strings.TrimPrefix(want, "ours, but ")) || got.Ours != (want == ours || want == changed || want == unrecorded) {
		t.Errorf("got %q, %+v, %v; want %q", text, got, err, want)
	}
}

func TestOriginOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(m *Maker, j *Spec, job *batchv1.Job)
		made types.UID
		want string
	}{
		"recorded":                           {made: "made", want: ours},
		"another spec":                       {func(_ *Maker, _ *Spec, job *batchv1.Job) { job.Annotations[AnnotationSpec] = "{ }" }, "made", changed},
		"another dataset":                    {func(_ *Maker, _ *Spec, job *batchv1.Job) { job.Annotations[AnnotationDataset] = "8" }, "made", changed},
		"more room":                          {func(_ *Maker, _ *Spec, job *batchv1.Job) { job.Annotations[AnnotationRoom] = "9" }, "made", changed},
		"other OSDs":                         {func(_ *Maker, _ *Spec, job *batchv1.Job) { job.Annotations[AnnotationOSDs] = "3" }, "made", changed},
		"no OSDs":                            {func(_ *Maker, _ *Spec, job *batchv1.Job) { delete(job.Annotations, AnnotationOSDs) }, "made", changed},
		"a new master key":                   {func(m *Maker, _ *Spec, _ *batchv1.Job) { m.MasterKey = make([]byte, 32) }, "made", changed},
		"a copy, after the UID was recorded": {func(_ *Maker, _ *Spec, job *batchv1.Job) { job.UID = "copy" }, "made", replaced},
		"a copy, before":                     {func(_ *Maker, _ *Spec, job *batchv1.Job) { job.UID = "copy" }, "", unrecorded},
		"not recorded":                       {want: unrecorded},
		"made with an earlier nonce":         {func(_ *Maker, j *Spec, _ *batchv1.Job) { j.Benchmark.Status.Clients.Nonce = "next" }, "", notOurs},
		"of another run":                     {func(_ *Maker, j *Spec, _ *batchv1.Job) { j.Execution.RunID = "2" }, "", notOurs},
		"of another benchmark":               {func(_ *Maker, j *Spec, _ *batchv1.Job) { j.Benchmark.UID = "v" }, "", notOurs},
		"unsigned": {func(_ *Maker, j *Spec, job *batchv1.Job) {
			job.Annotations = nil
			job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j.Benchmark, v1alpha1.GroupVersion.WithKind("CephBenchmark"))}
		}, "", notOurs},
	} {
		t.Run(name, func(t *testing.T) {
			m, j := makerOf(t), specOf()
			job, err := m.MakeJob(t.Context(), j, Input{DatasetBytes: 7, OSDs: []int{1, 2}})
			if err != nil {
				t.Fatal(err)
			}
			job.UID = "made"
			if c.edit != nil {
				c.edit(&m, &j, job)
			}
			got, err := m.Origin(j.Benchmark, j.Execution, job, c.made)
			wantOrigin(t, got, err, c.want)
		})
	}
}

func TestOriginOfTheBackgroundJob(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(m *Maker, j *Spec, clients, job *batchv1.Job)
		made types.UID
		want string
	}{
		"recorded":               {made: "made", want: ours},
		"recorded, with new key": {func(m *Maker, _ *Spec, _, _ *batchv1.Job) { m.MasterKey = make([]byte, 32) }, "made", ours},
		"a copy":                 {func(_ *Maker, _ *Spec, _, job *batchv1.Job) { job.UID = "copy" }, "made", notOurs},
		"not recorded":           {want: unrecorded},
		"beside other clients":   {func(_ *Maker, _ *Spec, clients, _ *batchv1.Job) { clients.UID = "others" }, "", notOurs},
		"unsigned":               {func(_ *Maker, _ *Spec, _, job *batchv1.Job) { job.Annotations = nil }, "", notOurs},
	} {
		t.Run(name, func(t *testing.T) {
			m, j := makerOf(t), specOf()
			clients := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: j.Execution.Name, UID: "clients"}}
			if _, err := m.MakeBackground(t.Context(), j, clients); err != nil {
				t.Fatal(err)
			}
			job := BackgroundJobOf(j)
			if err := m.Client.Get(t.Context(), types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, job); err != nil {
				t.Fatal(err)
			}
			job.UID = "made"
			if c.edit != nil {
				c.edit(&m, &j, clients, job)
			}
			got, err := m.BackgroundOrigin(j.Benchmark, clients, job, c.made)
			wantOrigin(t, got, err, c.want)
		})
	}
}
