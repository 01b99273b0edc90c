package cephbenchmark

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

// A session's spec is in annotations of its Job, which others in its namespace may be able to
// write: admission has not checked it. Only the manager can make the seal, so it accepts only
// its own annotations.
const annotationSeal = "cephtune.dev/seal"

// sealVersion is before the seals of Jobs whose keys follow from whose session it is.
const sealVersion = "v2:"

// sealed are the annotations that are sealed together. annotationUnreachable is not: the manager
// sets it later, and a user who can forge it can delete the Job as well.
func sealed() []string {
	return []string{annotationSpec, annotationDataset, annotationStandalone, annotationRoom, annotationOSDs}
}

// sealOf is the seal of annotations of the session's Job. Its key is derived for that
// alone: pods have that of the session.
func (s session) sealOf(master []byte, annotations map[string]string) (string, error) {
	if s.keyedByName {
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

// sealedBefore is what earlier managers have sealed, so that the Jobs that an upgrade finds are
// still theirs. The OSDs were not among it, which readers have to know.
func sealedBefore(annotations map[string]string) []*string {
	var values []*string
	for _, name := range []string{annotationSpec, annotationDataset, annotationStandalone} {
		var value *string
		if text, ok := annotations[name]; ok {
			value = &text
		}
		values = append(values, value)
	}
	if text, ok := annotations[annotationRoom]; ok {
		named := annotationRoom + "=" + text
		values = append(values, &named)
	}
	return values
}

// macOf is what only the manager can make of something.
func (s session) macOf(master []byte, of any) (string, error) {
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

// startedBefore reports whether a Job was made by a manager whose keys followed from names.
// Such a Job can no longer be made: its seal takes the manager's key.
func startedBefore(job *batchv1.Job) bool {
	return !strings.HasPrefix(job.Annotations[annotationSeal], sealVersion)
}

func (s session) seal(master []byte, job *batchv1.Job) error {
	seal, err := s.sealOf(master, job.Annotations)
	if err != nil {
		return err
	}
	job.Annotations[annotationSeal] = seal
	return nil
}

// mismatch says why a Job with the name of the session's is not as the manager made it; ""
// if it is.
func (s session) mismatch(master []byte, b *v1alpha1.CephBenchmark, job *batchv1.Job) (string, error) {
	if !metav1.IsControlledBy(job, b) {
		return fmt.Sprintf("There is a Job %s that is not this benchmark's. Remove it, and change runID to run again.", job.Name), nil
	}
	want, err := s.sealOf(master, job.Annotations)
	if err != nil {
		return "", err
	}
	if !hmac.Equal([]byte(want), []byte(job.Annotations[annotationSeal])) {
		return fmt.Sprintf("What Job %s was made for was changed, and not by the operator.", job.Name), nil
	}
	return "", nil
}
