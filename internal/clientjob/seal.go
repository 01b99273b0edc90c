package clientjob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// These are annotations of the Job. Together, all but AnnotationUnreachable store the input of the
// session.
const (
	// AnnotationSpec is the spec, and AnnotationDataset is how many bytes each client prefills.
	AnnotationSpec    = "cephtune.dev/spec"
	AnnotationDataset = "cephtune.dev/dataset-bytes"
	// AnnotationRoom is how many bytes each client may write in addition to the dataset.
	AnnotationRoom = "cephtune.dev/room-bytes"
	// AnnotationOSDs has the IDs of the OSDs to which the scratch pool is confined, separated by
	// commas. A restarted manager reads them.
	AnnotationOSDs = "cephtune.dev/osds"
	// AnnotationUnreachable marks a Job that is about to be replaced, so that a restarted
	// manager continues the replacement.
	AnnotationUnreachable = "cephtune.dev/unreachable"
	// AnnotationStandalone marks the Job of a standalone client. Its value is the number of the run
	// with which the client begins.
	AnnotationStandalone = "cephtune.dev/alone-from-run"
)

// AnnotationSeal has the seal of the annotations that store the input of the session. Other users of
// the namespace may be able to write these annotations, and admission does not check them. Only the
// manager can make a valid seal, so a valid seal proves that the manager wrote the annotations.
const AnnotationSeal = "cephtune.dev/seal"

// sealVersion begins each seal whose key is derived from the owner and the run ID of the session.
const sealVersion = "v2:"

// sealed returns the annotations that are sealed together. AnnotationUnreachable is not sealed:
// the manager sets it later, and a user who can forge it can delete the Job as well.
func sealed() []string {
	return []string{AnnotationSpec, AnnotationDataset, AnnotationStandalone, AnnotationRoom, AnnotationOSDs}
}

// sealOf returns the seal of the annotations of the session's Job. The key of the seal differs from the
// session's key, because pods know the session's key.
func (s Session) sealOf(master []byte, annotations map[string]string) (string, error) {
	if s.KeyedByName {
		return s.macOf(master, sealedBefore(annotations))
	}
	values := map[string]string{} // A missing annotation differs from an empty one.
	for _, name := range sealed() {
		if text, ok := annotations[name]; ok {
			values[name] = text
		}
	}
	mac, err := s.macOf(master, values)
	return sealVersion + mac, err
}

// sealedBefore returns the values that earlier versions of the manager have sealed, so that their Jobs
// stay valid after an upgrade. These values do not include AnnotationOSDs, so readers must not trust
// that annotation of such a Job.
func sealedBefore(annotations map[string]string) []*string {
	var values []*string
	for _, name := range []string{AnnotationSpec, AnnotationDataset, AnnotationStandalone} {
		var value *string
		if text, ok := annotations[name]; ok {
			value = &text
		}
		values = append(values, value)
	}
	if text, ok := annotations[AnnotationRoom]; ok {
		named := AnnotationRoom + "=" + text
		values = append(values, &named)
	}
	return values
}

// macOf returns a message authentication code of a value. Only the manager can compute it.
func (s Session) macOf(master []byte, of any) (string, error) {
	key, err := s.derive(master, "seal")
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(of)
	if err != nil {
		return "", fmt.Errorf("encode the seal: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// StartedBefore reports whether the seal of a Job lacks sealVersion. An earlier version of the manager,
// which derived keys from the session's name, made such a Job. StartedBefore does not check the seal;
// [Session.Mismatch] does.
func StartedBefore(job *batchv1.Job) bool {
	return !strings.HasPrefix(job.Annotations[AnnotationSeal], sealVersion)
}

// Seal adds the seal to the annotations of the session's Job.
func (s Session) Seal(master []byte, job *batchv1.Job) error {
	seal, err := s.sealOf(master, job.Annotations)
	if err != nil {
		return err
	}
	job.Annotations[AnnotationSeal] = seal
	return nil
}

// Mismatch is a sentence for the user about how a Job differs from the Job that the manager made. It is
// [Match] if they do not differ.
type Mismatch string

// Match is the Mismatch of a Job that does not differ.
const Match Mismatch = ""

// Matches reports whether m is Match.
func (m Mismatch) Matches() bool { return m == Match }

// Mismatch checks a Job that has the name of the session's Job. The Job must belong to the
// benchmark, and its seal must match its annotations.
func (s Session) Mismatch(master []byte, b *v1alpha1.CephBenchmark, job *batchv1.Job) (Mismatch, error) {
	if !metav1.IsControlledBy(job, b) {
		return Mismatch(fmt.Sprintf("Job %s does not belong to this benchmark but has the name that it needs. Remove the Job, and change runID to run again.", job.Name)), nil
	}
	want, err := s.sealOf(master, job.Annotations)
	if err != nil {
		return Match, err
	}
	if !hmac.Equal([]byte(want), []byte(job.Annotations[AnnotationSeal])) {
		return Mismatch(fmt.Sprintf("Job %s was changed, and not by the operator: its seal does not match.", job.Name)), nil
	}
	return Match, nil
}
