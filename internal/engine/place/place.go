// Package place describes the target of a client's load. Engines make command lines from this description.
package place

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// ObjectPrefix begins the names of the objects that a benchmark creates outside of images and of its own
// namespaces. `rados cleanup` removes only objects with this prefix.
const ObjectPrefix = "benchmark_data_"

// Place is the target of one client. Its names protect foreign data: everything that a benchmark creates
// has a name that begins with Owner, DatasetOwner or Namespace, or is in a RADOS namespace with such a name.
// For objects in the default namespace, ObjectPrefix comes before that name.
type Place struct {
	// CephUser is the client's Ceph identity without "client.", such as "cephtune-io".
	CephUser string
	// CephMajor is the oldest major version of the cluster's Ceph daemons, such as 18; 0 if unknown.
	CephMajor int
	// Pool is the pool of the target. For an erasure-coded target, Pool is the replicated pool of the
	// metadata, and DataPool holds the data.
	Pool, DataPool string
	// Namespace begins the names of the RADOS namespaces for objects; empty means Owner. Images and fio's
	// objects are in the default namespace, because fio's ioengines rbd and rados support no other.
	Namespace string
	// Directory is where a claim with a file system is mounted. Device is the path of a claim in volume
	// mode Block.
	Directory, Device string

	// Owner is a name of at most 24 characters that is unique in the cluster, such as
	// "cephtune-5f3a9c0d21".
	Owner string
	// DatasetOwner is the prefix for data that several runs share, such as the runs of a sweep's block;
	// empty means Owner. DatasetThere says that an earlier run has prefilled this data.
	DatasetOwner string
	DatasetThere bool
	// Client is the index of this client, from 0. Clients is the number of clients.
	Client, Clients int

	Image Image
	// DatasetBytes is the intended size of this client's share of each dataset. A phase of fio may have several
	// datasets, such as one for jobs that only read and one for jobs that write. Phases that need the same
	// dataset share it.
	DatasetBytes int64
	// RoomBytes is how much this client may write beyond its datasets; 0 if unknown. Writing more may make
	// an OSD nearfull or exceed a quota.
	RoomBytes int64
	// DataChunks is the number of data chunks of an erasure-coded pool; 0 for a replicated pool.
	DataChunks int
}

// Image describes RBD images.
type Image struct {
	// SizeBytes is the largest size of an image; 0 for no limit. An image is only as large as its prefilled
	// data, so phases never read unwritten parts.
	SizeBytes int64
	// ObjectSizeBytes is the size of an image's objects: a power of two, or 0 for the cluster's default.
	ObjectSizeBytes int64
	// Shared says that all clients work on one image.
	Shared bool
	// RolledBack says that images are rolled back to their prefilled data before each run, if phases
	// overwrite them.
	RolledBack bool
}

// ImageOf returns the image that a target describes.
func ImageOf(image v1alpha1.Image) Image {
	return Image{
		SizeBytes:       image.Size.Value(),
		ObjectSizeBytes: image.ObjectSize.Value(),
		Shared:          image.Sharing == v1alpha1.ImageSharingClients,
	}
}

// ObjectPool returns the pool for objects outside of images: the pool that stores the data.
func (p Place) ObjectPool() string {
	if p.DataPool != "" {
		return p.DataPool
	}
	return p.Pool
}

// Name returns a name for something that this client creates: Owner, the client's index, and the given suffix.
func (p Place) Name(suffix string) string {
	return p.Owner + "-" + strconv.Itoa(p.Client) + "-" + suffix
}

// DatasetName returns a name for data that this client or an earlier run has prefilled.
func (p Place) DatasetName(suffix string) string {
	p.Owner = cmp.Or(p.DatasetOwner, p.Owner)
	return p.Name(suffix)
}

// ObjectNamespace returns a name for a RADOS namespace of this client.
func (p Place) ObjectNamespace(suffix string) string {
	begin := p.Namespace
	if begin == "" {
		begin = p.Owner
	}
	return begin + "-" + strconv.Itoa(p.Client) + "-" + suffix
}

// These are the forms of names. Every pass of the controller validates places.
var (
	word = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	path = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`)
)

// Validate returns an error if a field is missing or out of range, or if a name contains characters that an
// engine may interpret. fio, for example, interprets colons and dollar signs.
func (p Place) Validate() error {
	var errs []error
	check := func(name, value string, pattern *regexp.Regexp, maximum int) {
		if value != "" && (len(value) > maximum || !pattern.MatchString(value)) {
			errs = append(errs, fmt.Errorf("%s %.140q must match %s and have at most %d characters", name, value, pattern, maximum))
		}
	}
	check("Owner", p.Owner, word, 24)
	check("DatasetOwner", p.DatasetOwner, word, 24)
	check("CephUser", p.CephUser, word, 128)
	check("Pool", p.Pool, word, 128)
	check("DataPool", p.DataPool, word, 128)
	check("Namespace", p.Namespace, word, 64)
	check("Directory", p.Directory, path, 256)
	check("Device", p.Device, path, 256)
	if p.Owner == "" {
		errs = append(errs, errors.New("no owner is set"))
	}
	if p.Client < 0 || p.Client >= p.Clients {
		errs = append(errs, fmt.Errorf("the client's index is %d, and must be from 0 to %d", p.Client, p.Clients-1))
	}
	if p.DatasetBytes < 0 || p.RoomBytes < 0 || p.Image.SizeBytes < 0 || p.Image.ObjectSizeBytes < 0 {
		errs = append(errs, errors.New("sizes must not be negative"))
	}
	return errors.Join(append(errs, p.validateTarget())...)
}

// validateTarget returns an error unless the place has exactly one target. A target that is a pool requires
// a CephUser.
func (p Place) validateTarget() error {
	targets := 0
	for _, target := range []string{p.Pool, p.Directory, p.Device} {
		if target != "" {
			targets++
		}
	}
	switch {
	case targets != 1:
		return errors.New("exactly one of Pool, Directory and Device must be set")
	case p.Pool != "" && p.CephUser == "":
		return errors.New("with a pool, CephUser must be set")
	}
	return nil
}
