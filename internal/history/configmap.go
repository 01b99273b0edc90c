package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
)

// MaxBytes is the maximum size of a compressed history. A year of nights fits, see TestAYearOfNights.
const MaxBytes = 256 << 10

// maxText is the maximum size of a history before compression.
const maxText = 64 << 20

// ConfigMap returns an immutable ConfigMap with the nights of a benchmark. It leaves out the
// oldest nights that do not fit into [MaxBytes]. The name has the digest of the nights. So the operator writes the same
// nights once, however often it tries, and another history does not replace this one before status has its name.
func ConfigMap(benchmark *v1alpha1.CephBenchmark, nights []Night) (*corev1.ConfigMap, error) {
	data, err := pack(nights, MaxBytes)
	if err != nil {
		return nil, err
	}
	cm := archive.Document(benchmark, v1alpha1.KindCephBenchmark, archive.HistoryKey, data)
	cm.Labels = archive.HistoryLabels(benchmark.Name)
	cm.Name = archive.HistoryName(benchmark.Name, archive.Digest(cm))
	return cm, nil
}

// FromConfigMap reads the nights that status.history of a benchmark records from its ConfigMap. The error is an
// [*archive.ForeignError] for a ConfigMap with another owner or digest, as any user can write.
func FromConfigMap(benchmark *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) ([]Night, error) {
	recorded := benchmark.Status.History
	if recorded == nil || recorded.ResultsDigest != archive.Digest(cm) || !metav1.IsControlledBy(cm, benchmark) {
		return nil, &archive.ForeignError{Namespace: cm.Namespace, Name: cm.Name, Benchmark: benchmark.Name}
	}
	nights, err := unpack(cm.BinaryData[archive.HistoryKey])
	if err != nil {
		return nil, fmt.Errorf("read the history in ConfigMap %s: %w", cm.Name, err)
	}
	return nights, nil
}

// pack compresses nights into at most limit bytes. It leaves out the oldest sixteenth of them until the others fit.
func pack(nights []Night, limit int) ([]byte, error) {
	for len(nights) > 0 {
		text, err := Encode(abridged(nights))
		if err != nil {
			return nil, err
		}
		data, err := archive.Compress(text)
		if err != nil {
			return nil, err
		}
		if len(data) <= limit && len(text) <= maxText {
			return data, nil
		}
		nights = nights[len(nights)/16+1:]
	}
	return nil, errors.New("no night of the history fits into a ConfigMap")
}

// abridged returns nights in which [sameEnvironment] replaces an environment that is that of the night before. On a large
// cluster, an environment is longer than what a compressor remembers.
func abridged(nights []Night) []Night {
	short := slices.Clone(nights)
	for i := 1; i < len(nights); i++ {
		if bytes.Equal(nights[i].Environment, nights[i-1].Environment) {
			short[i].Environment = json.RawMessage(sameEnvironment)
		}
	}
	return short
}

func unpack(data []byte) ([]Night, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", len(data), MaxBytes)
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return Decode(io.LimitReader(reader, maxText))
}
