package clientjob

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/signature"
)

// These are annotations of the Job. Together they store the input of the execution.
const (
	// AnnotationSpec is the spec, and AnnotationDataset is how many bytes each client prefills.
	AnnotationSpec    = "cephtune.dev/spec"
	AnnotationDataset = "cephtune.dev/dataset-bytes"
	// AnnotationRoom is how many bytes each client may write in addition to the dataset.
	AnnotationRoom = "cephtune.dev/room-bytes"
	// AnnotationOSDs has the IDs of the OSDs to which the scratch pool is confined, separated by
	// commas. A restarted manager reads them.
	AnnotationOSDs = "cephtune.dev/osds"
)

// These are the purposes of signatures.
const (
	forClients    = "clients of a benchmark"
	forBackground = "background load of a benchmark"
)

// Origin says who made a Job that has the name of an execution's Job.
type Origin struct {
	// Ours says that the manager made the Job, so a teardown removes it.
	Ours bool
	// Unrecorded says that the signature is genuine, but that no record shows the Job's UID: the manager that
	// made the Job ended too early. Someone may have replaced the Job by a copy with other pods, so its pods
	// do not count.
	Unrecorded bool
	// Mismatch says how the Job differs from the one that the manager made.
	Mismatch Mismatch
}

// Mismatch is a sentence for the user about how a Job differs from the Job that the manager made. It is
// [Match] if they do not differ.
type Mismatch string

// Match is the Mismatch of a Job that does not differ.
const Match Mismatch = ""

// Matches reports whether m is Match.
func (m Mismatch) Matches() bool { return m == Match }

// Origin says who made the Job of the clients. The signature proves that the manager wrote the annotations.
// Users can copy it to another Job, so only the UID proves that the manager made the pods' template: made is the
// recorded UID, or "".
func (m Maker) Origin(b *v1alpha1.CephBenchmark, s Execution, job *batchv1.Job, made types.UID) (Origin, error) {
	genuine, err := m.signed(b, s, job)
	if err != nil {
		return Origin{}, err
	}
	switch {
	case job.UID == made && genuine:
		return Origin{Ours: true}, nil
	case job.UID == made:
		return Origin{Ours: true, Mismatch: Mismatch(fmt.Sprintf("Job %s was changed, and not by the operator: its signature does not match.", job.Name))}, nil
	case made != "":
		return Origin{Mismatch: Mismatch(fmt.Sprintf("Job %s was replaced, and not by the operator. Remove the Job, and change runID to run again.", job.Name))}, nil
	case genuine:
		return Origin{Ours: true, Unrecorded: true}, nil
	}
	return Origin{Mismatch: foreign(job)}, nil
}

// BackgroundOrigin says who made the Job of the background load, as [Maker.Origin] does for the clients.
func (m Maker) BackgroundOrigin(b *v1alpha1.CephBenchmark, clients, job *batchv1.Job, made types.UID) (Origin, error) {
	if job.UID == made {
		return Origin{Ours: true}, nil
	}
	genuine, err := backgroundStatement(b, clients, job).Verify(m.MasterKey, job.Annotations[signature.Annotation])
	if made == "" && genuine {
		return Origin{Ours: true, Unrecorded: true}, err
	}
	return Origin{Mismatch: foreign(job)}, err
}

func foreign(job *batchv1.Job) Mismatch {
	return Mismatch(fmt.Sprintf("Job %s has the name that this benchmark needs, but is not the operator's. Remove the Job, and change runID to run again.", job.Name))
}

// nonceOf returns the nonce in status; "" before it is recorded.
func nonceOf(b *v1alpha1.CephBenchmark) string {
	if b.Status.Clients == nil {
		return ""
	}
	return b.Status.Clients.Nonce
}

// signed reports whether the annotations of a Job are those that the manager wrote.
func (m Maker) signed(b *v1alpha1.CephBenchmark, s Execution, job *batchv1.Job) (bool, error) {
	statement, err := clientsStatement(b, s, job)
	if err != nil {
		return false, err
	}
	return statement.Verify(m.MasterKey, job.Annotations[signature.Annotation])
}

// clientsStatement returns what the signature of the clients' Job covers.
func clientsStatement(b *v1alpha1.CephBenchmark, s Execution, job *batchv1.Job) (signature.Statement, error) {
	digest, err := signature.Digest(input(job))
	return signature.Statement{
		Purpose: forClients, Owner: b.UID, Namespace: job.Namespace, Name: job.Name, Nonce: nonceOf(b),
		Content: []string{string(s.RunID), digest},
	}, err
}

// backgroundStatement returns what the signature of the background load's Job covers. The load's input is that
// of the clients.
func backgroundStatement(b *v1alpha1.CephBenchmark, clients, job *batchv1.Job) signature.Statement {
	return signature.Statement{
		Purpose: forBackground, Owner: b.UID, Namespace: job.Namespace, Name: job.Name, Nonce: nonceOf(b),
		Content: []string{string(clients.UID)},
	}
}

// input returns the annotations that store the input of an execution.
func input(job *batchv1.Job) map[string]string {
	values := map[string]string{} // A missing annotation differs from an empty one.
	for _, name := range []string{AnnotationSpec, AnnotationDataset, AnnotationRoom, AnnotationOSDs} {
		if text, exists := job.Annotations[name]; exists {
			values[name] = text
		}
	}
	return values
}
