package cephbenchmark

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// What a session was started with is in annotations of its Job, which others in its
// namespace may be able to write: a spec there has not been admitted by anybody. The seal
// is what only the manager can make, so that it takes nothing else for its own.
const annotationSeal = "cephtune.dev/seal"

// sealed are the annotations that are sealed together.
func sealed() []string { return []string{annotationSpec, annotationDataset, annotationAlone} }

// sealedIfThere are those that Jobs of earlier managers do not have, whose seals have to
// stay good.
func sealedIfThere() []string { return []string{annotationRoom} }

// sealOf is the seal of annotations of the session's Job. Its key is derived for that
// alone: pods have that of the session.
func (s session) sealOf(master []byte, annotations map[string]string) (string, error) {
	key, err := hkdf.Key(sha256.New, master, nil, "cephtune seal "+s.name, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive the key of the seal of session %s: %w", s.name, err)
	}
	values := make([]*string, 0, len(sealed()))
	for _, name := range sealed() {
		var value *string // What is not there is told from what is empty.
		if text, ok := annotations[name]; ok {
			value = &text
		}
		values = append(values, value)
	}
	for _, name := range sealedIfThere() {
		if text, ok := annotations[name]; ok {
			named := name + "=" + text
			values = append(values, &named)
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("write what is sealed: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// seal seals the annotations of a Job.
func (s session) seal(master []byte, job *batchv1.Job) error {
	seal, err := s.sealOf(master, job.Annotations)
	if err != nil {
		return err
	}
	job.Annotations[annotationSeal] = seal
	return nil
}

// notOurs says why a Job with the name of the session's is not as the manager made it; ""
// if it is.
func (s session) notOurs(master []byte, b *v1alpha1.CephBenchmark, job *batchv1.Job) (string, error) {
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
