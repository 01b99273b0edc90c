// Package scratchpool prepares, shares and removes scratch pools. A benchmark prepares its pool, a
// sweep lets its benchmarks share one, and the owner of a pool removes it.
package scratchpool

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/signature"
)

const (
	// annotationKey on a CephBenchmark has the key of the pool that it shares with other benchmarks of its
	// sweep.
	annotationKey = "cephtune.dev/shared-pool"
	// annotationContinues is "yes" if other benchmarks have already had a valid run on that pool.
	annotationContinues = "cephtune.dev/shared-pool-continues"
	// annotationData is "yes" if these benchmarks also share data.
	annotationData = "cephtune.dev/shared-dataset"
	// annotationSeal proves that the operator wrote these annotations: a user who may create CephBenchmarks
	// can write any annotation and any owner reference.
	annotationSeal = "cephtune.dev/shared-pool-seal"
)

// Use describes how a benchmark uses the pool of its sweep.
type Use struct {
	// Key is equal for benchmarks that use the same pool.
	Key string
	// Continues reports that other benchmarks have already had a valid run on the pool, so that this
	// benchmark must not create it.
	Continues bool
	// Data reports that the benchmarks share data, which the first of them prefills.
	Data bool
}

// Share sets the annotations with which a benchmark uses the pool of the sweep that controls it.
func Share(master []byte, b *v1alpha1.CephBenchmark, use Use) error {
	if b.Annotations == nil {
		b.Annotations = map[string]string{}
	}
	b.Annotations[annotationKey] = use.Key
	if use.Continues {
		b.Annotations[annotationContinues] = yes
	}
	if use.Data {
		b.Annotations[annotationData] = yes
	}
	seal, err := sealOf(master, b)
	if err != nil {
		return err
	}
	b.Annotations[annotationSeal] = seal
	return nil
}

const yes = "yes"

// Shared returns how a benchmark uses the pool of its sweep; the zero value if it does not share one. The
// annotations count only if they have the operator's seal for this benchmark and its owner.
func Shared(master []byte, b *v1alpha1.CephBenchmark) (rook.ScratchUse, error) {
	key := b.Annotations[annotationKey]
	owner, has := objectref.SweepOf(b)
	if key == "" || !has {
		return rook.ScratchUse{}, nil
	}
	seal, err := sealOf(master, b)
	if err != nil || !hmac.Equal([]byte(seal), []byte(b.Annotations[annotationSeal])) {
		return rook.ScratchUse{}, err
	}
	return rook.ScratchUse{
		Owner: owner, Key: key, Continues: b.Annotations[annotationContinues] == yes, Data: b.Annotations[annotationData] == yes,
	}, nil
}

// sealOf returns the seal of a benchmark, its owner and its shared pool. Only the operator can
// compute it.
func sealOf(master []byte, b *v1alpha1.CephBenchmark) (string, error) {
	owner := metav1.GetControllerOf(b)
	if owner == nil {
		return "", fmt.Errorf("share a scratch pool: benchmark %s has no owner", b.Name)
	}
	secret, err := signature.Derive(master, "shared-pool", string(owner.UID))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]string{
		owner.Kind, owner.Name, b.Namespace, b.Name,
		b.Annotations[annotationKey], b.Annotations[annotationContinues], b.Annotations[annotationData],
	})
	if err != nil {
		return "", fmt.Errorf("encode the seal: %w", err)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)), nil
}
