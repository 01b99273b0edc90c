package settings

import "github.com/cephtune/cephtune/api/v1alpha1"

// CephPool is one of the pools in Ceph that a scratch pool consists of.
type CephPool struct {
	Name string
	// Size is the number of OSDs of each PG, which store its copies or chunks. DataChunks is 0 for a replicated pool.
	Size, DataChunks int
	Parameters       map[string]v1alpha1.ParameterValue
}

// defaultSize is the number of copies of a replicated pool without a size, as in a file without the API server's defaults.
const defaultSize = 3

// CephPools returns the pools of a target's scratch pool. The last of them stores the data; that of the metadata of an
// erasure-coded pool precedes it.
func CephPools(target int, spec v1alpha1.ScratchPool) []CephPool {
	names := ScratchNamesOf(target)
	first := CephPool{Name: names.Pool, Size: defaultSize, Parameters: spec.Parameters}
	if spec.Replicated != nil {
		first.Size = int(spec.Replicated.Size)
	}
	ec := spec.ErasureCoded
	if ec == nil {
		return []CephPool{first}
	}
	if first.Parameters = ec.Metadata.Parameters; ec.Metadata.Size > 0 {
		first.Size = int(ec.Metadata.Size)
	}
	return []CephPool{first, {Name: names.Data, Size: int(ec.DataChunks + ec.CodingChunks), DataChunks: int(ec.DataChunks), Parameters: spec.Parameters}}
}

// DataPool returns that of the pools of target 0 which stores the data.
func DataPool(spec v1alpha1.ScratchPool) CephPool {
	all := CephPools(0, spec)
	return all[len(all)-1]
}

// Overhead returns how many bytes OSDs store for one byte of a client.
func (p CephPool) Overhead() float64 { return float64(p.Size) / float64(max(p.DataChunks, 1)) }
