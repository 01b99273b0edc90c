package sweepspec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// redundancy varies whether the scratch pool is replicated or erasure-coded, and how.
type redundancy struct{ anyKind }

// redundancyValue matches a number of copies, or of data and coding chunks. The schema has the same pattern.
var redundancyValue = regexp.MustCompile(`^([1-9]|10|([2-9]|[12][0-9]|3[0-2])[+]([1-9]|1[0-6]))$`)

func (redundancy) wanted(_ *Spec, value cephvalue.Value) string {
	if !redundancyValue.MatchString(value.Text) {
		return "a number of copies, such as 3, or of data and coding chunks, such as 4+2"
	}
	return ""
}

func (redundancy) inTemplate(spec *Spec) (cephvalue.Value, error) {
	pool := spec.Template.Target.ScratchPool
	if pool.ErasureCoded != nil {
		return cephvalue.Of(fmt.Sprintf("%d+%d", pool.ErasureCoded.DataChunks, pool.ErasureCoded.CodingChunks)), nil
	}
	return number(pool.Replicated.Size), nil
}

// metadataCopies is the size of the metadata pool if the value is erasure-coded but the template's pool is
// replicated. It equals the default of erasureCoded.metadata.
const metadataCopies = 3

// set makes the pool replicated or erasure-coded. If the pool already was erasure-coded and stays so, its metadata pool
// does not change.
func (redundancy) set(t *v1alpha1.BenchmarkTemplate, value cephvalue.Value) error {
	pool := t.Target.ScratchPool
	if pool == nil {
		return nil // Admission has refused it.
	}
	data, coding, isCoded := strings.Cut(value.Text, "+")
	if !isCoded {
		pool.Replicated, pool.ErasureCoded = &v1alpha1.ReplicatedPool{Size: atoi32(data)}, nil
		return nil
	}
	coded := v1alpha1.ErasureCodedPool{Metadata: v1alpha1.MetadataPool{Size: metadataCopies}}
	if pool.ErasureCoded != nil {
		coded = *pool.ErasureCoded
	}
	coded.DataChunks, coded.CodingChunks = atoi32(data), atoi32(coding)
	pool.Replicated, pool.ErasureCoded = nil, &coded
	return nil
}

// atoi32 parses a number that a pattern limits to a few digits; 0 for another text.
func atoi32(text string) int32 {
	n, _ := strconv.ParseInt(text, 10, 32)
	return int32(n)
}

func (redundancy) aims(*Spec) bool { return true }

func (k redundancy) notAimed(spec *Spec, facts Facts) string { return k.notStanding(spec, facts) }

func (redundancy) traits() traits {
	return traits{pool: true, noPatch: "There is no patch for the redundancy: a pool stays replicated or erasure-coded. Create a new pool, and move the data."}
}
