package quiescence

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	// datasetAuto is the size that depends on the cluster.
	datasetAuto = "Auto"
	// minDataset is the least that the API takes.
	minDataset = 1 << 20
	// cacheMultiple is how often the data has to fill the caches of the OSDs, so that
	// few reads are served from them.
	cacheMultiple = 2
	// freeShare is how much of the free space data of size Auto may take: one part in
	// ten.
	freeShare = 10
)

// DatasetBytes is how many bytes each client prefills, in whole MiB, and whether
// they are so few that the caches of the OSDs serve a good part of the reads. The
// caches are those of all OSDs of the target together, the free bytes what its pool
// can still take from clients. Where the caches are not known, 0, no size passes for
// large enough, and there is no Auto.
func DatasetBytes(spec v1alpha1.Dataset, clients int, osdCacheBytes, freeBytes int64) (perClient int64, cached bool, err error) {
	if clients < 1 {
		return 0, false, fmt.Errorf("a dataset for %d clients", clients)
	}
	wanted := cacheMultiple * osdCacheBytes
	if spec.Size == "" || spec.Size == datasetAuto {
		if osdCacheBytes <= 0 {
			return 0, false, errors.New("dataset.size Auto: the caches of the OSDs are not known; set a size")
		}
		perClient = autoBytes(wanted, freeBytes/freeShare, int64(clients))
	} else {
		size, err := resource.ParseQuantity(spec.Size)
		if err != nil {
			return 0, false, fmt.Errorf("dataset.size %q: %w", spec.Size, err)
		}
		perClient = size.Value()
	}
	return perClient, perClient*int64(clients) < wanted || osdCacheBytes <= 0, nil
}

// autoBytes rounds what is wanted up and what is allowed down, to whole MiB for each
// client, and is one MiB at least.
func autoBytes(wanted, allowed, clients int64) int64 {
	unit := minDataset * clients
	return minDataset * max(1, min((wanted+unit-1)/unit, allowed/unit))
}
