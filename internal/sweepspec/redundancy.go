package sweepspec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/sweep"
)

// redundancy is what values of such a parameter may be, as the schema has it: copies, or data
// and coding chunks.
var redundancy = regexp.MustCompile(`^([1-9]|10|([2-9]|[12][0-9]|3[0-2])[+]([1-9]|1[0-6]))$`)

// storageClassName is what the name of a StorageClass may be, as its schema has it.
var storageClassName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// metadataCopies are those of the metadata beside erasure-coded data where the template has a
// replicated pool, as erasureCoded.metadata has it by default.
const metadataCopies = 3

// setRedundancy makes a pool replicated or erasure-coded. The value has been checked. Metadata of an
// erasure-coded template stay as they are.
func setRedundancy(pool *v1alpha1.ScratchPool, value sweep.Value) {
	data, coding, isCoded := strings.Cut(value.Text, "+")
	if !isCoded {
		pool.Replicated, pool.ErasureCoded = &v1alpha1.ReplicatedPool{Size: atoi32(data)}, nil
		return
	}
	coded := v1alpha1.ErasureCodedPool{Metadata: v1alpha1.MetadataPool{Size: metadataCopies}}
	if pool.ErasureCoded != nil {
		coded = *pool.ErasureCoded
	}
	coded.DataChunks, coded.CodingChunks = atoi32(data), atoi32(coding)
	pool.Replicated, pool.ErasureCoded = nil, &coded
}

// atoi32 reads a number that a pattern has found to be small.
func atoi32(text string) int32 {
	n, _ := strconv.ParseInt(text, 10, 32)
	return int32(n)
}

// redundancyOf is the value that a pool has.
func redundancyOf(pool *v1alpha1.ScratchPool) string {
	if pool.ErasureCoded != nil {
		return fmt.Sprintf("%d+%d", pool.ErasureCoded.DataChunks, pool.ErasureCoded.CodingChunks)
	}
	return strconv.Itoa(int(pool.Replicated.Size))
}

// RawBytesPerByte is how many bytes OSDs store for one of a client in the scratch pool of any
// configuration, at most.
func RawBytesPerByte(spec *Spec) float64 {
	pool := *spec.Template.Target.ScratchPool
	most := rawBytesPerByte(pool)
	for _, p := range spec.Parameters {
		if p.Redundancy == nil {
			continue
		}
		values := slices.Clone(p.Values)
		if spec.Baseline != nil {
			values = append(values, spec.Baseline.Values[string(p.Name)])
		}
		for _, c := range spec.Configurations {
			values = append(values, c.Values[string(p.Name)])
		}
		for _, value := range values {
			if redundancy.MatchString(string(value)) {
				of := pool
				setRedundancy(&of, plannerValue(value))
				most = max(most, rawBytesPerByte(of))
			}
		}
	}
	return most
}

func rawBytesPerByte(pool v1alpha1.ScratchPool) float64 {
	if coded := pool.ErasureCoded; coded != nil {
		return float64(coded.DataChunks+coded.CodingChunks) / float64(cmp.Or(coded.DataChunks, 1))
	}
	return float64(pool.Replicated.Size)
}
