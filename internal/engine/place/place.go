// Package place says where a client's load goes: the facts that engines need for command lines,
// in addition to the phase itself.
package place

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// ObjectPrefix is how the names of all objects begin that are not in a namespace of
// their own. `rados cleanup` removes only what begins with it.
const ObjectPrefix = "benchmark_data_"

// Place is where one client works. Names are chosen such that nothing that others
// have can be hit: everything that a benchmark creates begins with Owner, objects in
// the default namespace with ObjectPrefix before it.
type Place struct {
	// CephUser is the identity without "client.", such as "cephtune-io".
	CephUser string
	// CephMajor is the major version of the tools, such as 18, or 0 if it is not
	// known.
	CephMajor int
	// Pool is the pool of the target; for an erasure-coded one its replicated pool, with the
	// data in DataPool.
	Pool, DataPool string
	// Namespace is how the RADOS namespaces for objects begin; Owner if it is empty.
	// Images are in none, and neither are fio's objects, because fio's engines know
	// none.
	Namespace string
	// Directory is the folder of a claim with a file system, Device the path of a
	// claim in volume mode Block.
	Directory, Device string

	// Owner is a word of at most 24 characters that is unique in the cluster, such as
	// "cephtune-5f3a9c0d21".
	Owner string
	// DatasetOwner begins the names of data that other runs work on, too, such as those of a
	// sweep's block; Owner if it is empty. DatasetThere says that an earlier one has prefilled them.
	DatasetOwner string
	DatasetThere bool
	// Client is the index of this client, from 0, of Clients.
	Client, Clients int

	Image Image
	// DatasetBytes is how much this client prefills for each phase that uses a
	// dataset; phases share what they can.
	DatasetBytes int64
	// RoomBytes is how much this client may write in addition, so that no OSD becomes nearfull;
	// 0 if it is not known.
	RoomBytes int64
	// DataChunks is in how many parts an erasure-coded pool cuts each object; 0 for
	// copies.
	DataChunks int
}

// Image describes RBD images.
type Image struct {
	// SizeBytes is the most that an image has: it is only as large as the data that
	// it is prefilled with, so that nothing can be read that was never written.
	SizeBytes int64
	// ObjectSizeBytes is a power of two, or 0 for that of new images in the cluster.
	ObjectSizeBytes int64
	// Features are as `rbd create --image-feature` knows them; nil for those that
	// the cluster gives new images.
	Features []string
	// Shared says that all clients work on one image.
	Shared bool
	// RolledBack says that images which are written over are rolled back to what they
	// were prefilled with before each run.
	RolledBack bool
}

// ImageOf is the image that a target describes.
func ImageOf(image v1alpha1.Image) Image {
	var features []string
	for _, f := range image.Features {
		features = append(features, featureName(f))
	}
	return Image{
		SizeBytes:       image.Size.Value(),
		ObjectSizeBytes: image.ObjectSize.Value(),
		Features:        features,
		Shared:          image.Sharing == v1alpha1.ImageSharingClients,
	}
}

func featureName(feature v1alpha1.ImageFeature) string {
	switch feature {
	case v1alpha1.ImageFeatureLayering:
		return "layering"
	case v1alpha1.ImageFeatureExclusiveLock:
		return "exclusive-lock"
	case v1alpha1.ImageFeatureObjectMap:
		return "object-map"
	case v1alpha1.ImageFeatureFastDiff:
		return "fast-diff"
	case v1alpha1.ImageFeatureDeepFlatten:
		return "deep-flatten"
	case v1alpha1.ImageFeatureJournaling:
		return "journaling"
	}
	return string(feature) // Which Validate refuses.
}

// ObjectPool is the pool for objects that are not part of an image: the one that
// stores the data.
func (p Place) ObjectPool() string {
	if p.DataPool != "" {
		return p.DataPool
	}
	return p.Pool
}

// Name is the name of something that this client creates.
func (p Place) Name(what string) string {
	return p.Owner + "-" + strconv.Itoa(p.Client) + "-" + what
}

// DatasetName is the name of data that this client prefills, or an earlier run has.
func (p Place) DatasetName(what string) string {
	p.Owner = cmp.Or(p.DatasetOwner, p.Owner)
	return p.Name(what)
}

// ObjectNamespace is a RADOS namespace of this client.
func (p Place) ObjectNamespace(what string) string {
	begin := p.Namespace
	if begin == "" {
		begin = p.Owner
	}
	return begin + "-" + strconv.Itoa(p.Client) + "-" + what
}

// Validate returns an error if a field is missing or could be taken for something
// else than a name: by a tool, or by fio, to which colons and dollars in names mean
// something.
func (p Place) Validate() error {
	word := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	path := regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$`)
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
	if slices.Contains(p.Image.Features, "") {
		errs = append(errs, errors.New("a feature has no name"))
	}
	for _, f := range p.Image.Features {
		check("feature", f, regexp.MustCompile(`^[a-z]+(-[a-z]+)?$`), 32)
	}
	if p.Owner == "" {
		errs = append(errs, errors.New("no owner is set"))
	}
	if p.Client < 0 || p.Client >= p.Clients {
		errs = append(errs, fmt.Errorf("client %d must be one of %d", p.Client, p.Clients))
	}
	if p.DatasetBytes < 0 || p.RoomBytes < 0 || p.Image.SizeBytes < 0 || p.Image.ObjectSizeBytes < 0 {
		errs = append(errs, errors.New("sizes must not be negative"))
	}
	return errors.Join(append(errs, p.validateTarget())...)
}

// validateTarget makes sure that the place is one place.
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
