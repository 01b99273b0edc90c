package sweepspec

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cephvalue"
)

// redundancy matches the valid values of a redundancy parameter: a number of copies, or data and coding
// chunks. The schema has the same pattern.
var redundancy = regexp.MustCompile(`^([1-9]|10|([2-9]|[12][0-9]|3[0-2])[+]([1-9]|1[0-6]))$`)

// storageClassName matches the valid names of a StorageClass. The schema has the same pattern, but limits the
// length separately.
var storageClassName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// metadataCopies is the size of the metadata pool if the value is erasure-coded but the template's pool is
// replicated. It equals the default of erasureCoded.metadata.
const metadataCopies = 3

// setRedundancy makes a pool replicated or erasure-coded. The value must be valid. If the pool already was
// erasure-coded and stays so, its metadata pool does not change.
func setRedundancy(pool *v1alpha1.ScratchPool, value cephvalue.Value) {
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

// atoi32 parses a number that a pattern limits to a few digits.
func atoi32(text string) int32 {
	n, _ := strconv.ParseInt(text, 10, 32)
	return int32(n)
}

// redundancyOf returns the redundancy of a pool in the form of a parameter value.
func redundancyOf(pool *v1alpha1.ScratchPool) string {
	if pool.ErasureCoded != nil {
		return fmt.Sprintf("%d+%d", pool.ErasureCoded.DataChunks, pool.ErasureCoded.CodingChunks)
	}
	return strconv.Itoa(int(pool.Replicated.Size))
}

// RawBytesPerByte returns how many bytes OSDs store for each byte of a client. It returns the maximum over
// the template's scratch pool and all values of a redundancy parameter or of the pool option size. The target
// must be a scratch pool.
func RawBytesPerByte(spec *Spec) float64 {
	template := *spec.Template.Target.ScratchPool
	most := rawBytesPerByte(template)
	for _, p := range spec.Parameters {
		isSize := p.PoolOption != nil && p.PoolOption.Option == optionSize
		if p.Redundancy == nil && !isSize {
			continue
		}
		for _, value := range valuesOf(spec, p) {
			pool := template.DeepCopy()
			switch {
			case isSize:
				setScratch(pool, *p.PoolOption, plannerValue(value))
			case redundancy.MatchString(string(value)):
				setRedundancy(pool, plannerValue(value))
			}
			most = max(most, rawBytesPerByte(*pool))
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
