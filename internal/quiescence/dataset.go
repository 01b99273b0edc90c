package quiescence

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const (
	// datasetAuto is the dataset.size that depends on the caches and the free space of the cluster.
	datasetAuto = "Auto"
	// minDataset is the API's minimum of dataset.size in bytes.
	minDataset = 1 << 20
	// cacheMultiple is the minimum ratio of the data to the OSDs' caches, so that the
	// caches hold at most half of the data.
	cacheMultiple = 2
	// freeShare limits data of size Auto to one tenth of the free space, but each client writes at least
	// minDataset.
	freeShare = 10
)

// DatasetBytes returns the number of bytes that each client prefills, and whether they are so few that the
// OSDs' caches serve many reads. For Auto, the number is a multiple of 1 MiB. The parameter osdCacheBytes
// is the size of the caches of all OSDs together; 0 if unknown. The parameter freeBytes is the number of
// bytes that clients can still write to the target's pool. If the caches are unknown, Auto is an error; for
// any other size, cached is true.
func DatasetBytes(spec v1alpha1.Dataset, clients int, osdCacheBytes, freeBytes int64) (perClient int64, cached bool, err error) {
	if clients < 1 {
		return 0, false, fmt.Errorf("the dataset is for %d clients, but must be for at least 1", clients)
	}
	wanted := cacheMultiple * osdCacheBytes
	if spec.Size == "" || spec.Size == datasetAuto {
		if osdCacheBytes <= 0 {
			return 0, false, errors.New("dataset.size Auto: the caches of the OSDs are not known; set a size")
		}
		perClient = autoBytes(wanted, freeBytes/freeShare, int64(clients))
	} else {
		size, err := resource.ParseQuantity(string(spec.Size))
		if err != nil {
			return 0, false, fmt.Errorf("dataset.size %q: %w", spec.Size, err)
		}
		perClient = size.Value()
	}
	return perClient, perClient*int64(clients) < wanted || osdCacheBytes <= 0, nil
}

// autoBytes returns the number of bytes for each client: a multiple of 1 MiB, and at least 1 MiB. It rounds
// the wanted size up and the allowed size down.
func autoBytes(wanted, allowed, clients int64) int64 {
	unit := minDataset * clients
	return minDataset * max(1, min((wanted+unit-1)/unit, allowed/unit))
}
