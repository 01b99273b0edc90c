package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/signature"
)

// AnnotationDigest has the digest of the document in a ConfigMap. The signature covers the digest, so it can be
// verified without reading the document.
const AnnotationDigest = "cephtune.dev/digest"

// AnnotationExecutionStart has the start of the run's execution, in RFC 3339. The signature covers it. The time of creation
// says less: a user who kept a copy of results can delete them and create them again. The key has the word of earlier versions.
const AnnotationExecutionStart = "cephtune.dev/session-start"

// Digest returns the SHA-256 digest of the only document in a ConfigMap, in hexadecimal. It is "" for a ConfigMap with
// several documents: otherwise a genuine one could hide a forged one that is read in its place.
func Digest(cm *corev1.ConfigMap) string {
	if len(cm.BinaryData) != 1 {
		return ""
	}
	for _, document := range cm.BinaryData {
		sum := sha256.Sum256(document)
		return hex.EncodeToString(sum[:])
	}
	return ""
}

// Sign signs a ConfigMap with results for their owner: a benchmark or a sweep.
func Sign(master []byte, owner types.UID, cm *corev1.ConfigMap) error {
	metav1.SetMetaDataAnnotation(&cm.ObjectMeta, AnnotationDigest, Digest(cm))
	text, err := statement(owner, cm).Sign(master)
	if err != nil {
		return fmt.Errorf("sign the results: %w", err)
	}
	metav1.SetMetaDataAnnotation(&cm.ObjectMeta, signature.Annotation, text)
	return nil
}

// Signed reports whether the metadata of a ConfigMap with results are those that the operator signed for their
// owner. It does not check the document; see [Genuine].
func Signed(master []byte, owner types.UID, metadata metav1.Object) (bool, error) {
	genuine, err := statement(owner, metadata).Verify(master, metadata.GetAnnotations()[signature.Annotation])
	if err != nil {
		return false, fmt.Errorf("verify the signature of ConfigMap %s: %w", metadata.GetName(), err)
	}
	return genuine, nil
}

// Genuine reports whether the operator wrote a ConfigMap with results of an owner, the document included.
func Genuine(master []byte, owner types.UID, cm *corev1.ConfigMap) (bool, error) {
	genuine, err := Signed(master, owner, cm)
	return genuine && cm.Annotations[AnnotationDigest] == Digest(cm), err
}

// statement returns what the signature of results covers.
func statement(owner types.UID, metadata metav1.Object) signature.Statement {
	labels, annotations := metadata.GetLabels(), metadata.GetAnnotations()
	content := []string{
		labels[LabelRunID], labels[LabelExecution], labels[LabelRun], labels[LabelSwitchedSession], annotations[AnnotationDigest],
	}
	if start, dated := annotations[AnnotationExecutionStart]; dated { // Results of sweeps, and those of an earlier version, have none.
		content = append(content, start)
	}
	return signature.Statement{
		Purpose: "results", Owner: owner, Namespace: metadata.GetNamespace(), Name: metadata.GetName(), Content: content,
	}
}

// Names returns names for the ConfigMap of results, in the order in which the operator tries them if other
// users have taken the first ones. All but the first are known only to the operator. They are the same each time,
// so that a restarted manager finds what it wrote.
func Names(master []byte, owner types.UID, first string) ([]string, error) {
	names := []string{first}
	for _, attempt := range []string{"1", "2", "3"} {
		key, err := signature.Derive(master, "name of results", string(owner), first, attempt)
		if err != nil {
			return nil, fmt.Errorf("derive a name for the results: %w", err)
		}
		names = append(names, shortened(first, "-"+hex.EncodeToString(key)[:hashDigits]))
	}
	return names, nil
}

// Record says how status describes a ConfigMap with results of a benchmark.
type Record string

const (
	// Recorded means that status has the digest of the document.
	Recorded Record = "Recorded"
	// RecordedUnsigned means that status has only the name, as an earlier version of the operator wrote it.
	RecordedUnsigned Record = "RecordedUnsigned"
	// RecordedOther means that status has the name and another digest.
	RecordedOther Record = "RecordedOther"
	// Unrecorded means that status does not have the name. For results of an earlier execution that is normal,
	// because status has only the latest execution.
	Unrecorded Record = "Unrecorded"
)

// RecordOf returns how the benchmark's status describes a ConfigMap with its results.
func RecordOf(benchmark *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) Record {
	for _, run := range benchmark.Status.Runs {
		switch {
		case run.Results != cm.Name:
		case run.ResultsDigest == "":
			return RecordedUnsigned
		case run.ResultsDigest == Digest(cm):
			return Recorded
		default:
			return RecordedOther
		}
	}
	return Unrecorded
}
