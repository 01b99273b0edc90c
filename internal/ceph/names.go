package ceph

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Only images and keys whose names begin with ownPrefix are listed or removed, and only objects
// whose RADOS namespace or name begins with it. So nothing that others created is removed. The name
// of an object may have benchPrefix before ownPrefix, because rados bench cleans up only objects
// with benchPrefix.
const (
	ownPrefix   = "cephtune"
	benchPrefix = "benchmark_data_"
	// scratchPrefix begins the names of scratch pools, which benchmarks create and remove.
	scratchPrefix = ownPrefix + "-scratch"
)

// Names become arguments of commands, so none may begin with a dash.
var (
	poolName   = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,127}$`)
	imageName  = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,127}$`)
	objectName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.:@+=,~%#/-]{0,511}$`)
	keyName    = regexp.MustCompile(`^` + ownPrefix + `/[A-Za-z0-9_.][A-Za-z0-9_./-]{0,254}$`)
	optionName = regexp.MustCompile(`^[a-z][a-z0-9_/]{0,127}$`)
	userName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	monHost    = regexp.MustCompile(`^[A-Za-z0-9\[][A-Za-z0-9\[\]:.,/ _-]*$`)
	// A slash is not allowed: only options of manager modules have one, and no verb changes
	// those.
	poolOptionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,127}$`)
	maskForm       = regexp.MustCompile(`^(class|host):[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	fsidForm       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	// A value may begin with a minus only before a digit: Ceph does not take that for a flag.
	valueForm = regexp.MustCompile(`^(-[0-9]|[A-Za-z0-9/_.])[A-Za-z0-9._:,+/=-]*$`)
	// neverOption matches options that endanger data or access: those of credentials, monitors,
	// connections, logs, paths and allocation, and those that decide when an OSD is full or dead.
	neverOption = regexp.MustCompile(`^(auth_|cephx_|debug_|mon_|ms_|key|log_)|full_ratio|heartbeat|min_alloc_size|_path$|_dir$`)

	cephxKey = regexp.MustCompile(`^[A-Za-z0-9+/]{1,254}={0,2}$`)
)

// named refuses a name that does not have the form of its kind.
func named(kind, name string, form *regexp.Regexp) error {
	if !form.MatchString(name) {
		return &InvalidError{fmt.Sprintf("%q is not the name of %s", name, kind)}
	}
	return nil
}

// ownImage refuses images, and prefixes of image names, that do not belong to the operator.
func ownImage(name string) error {
	if err := named("an image", name, imageName); err != nil {
		return err
	}
	if !strings.HasPrefix(name, ownPrefix) {
		return &InvalidError{fmt.Sprintf("%q does not begin with %q: cephtune does not touch images of others", name, ownPrefix)}
	}
	return nil
}

// ownObjects refuses objects that do not belong to the operator. The operator's objects have its
// prefix in their RADOS namespace or in their name.
func ownObjects(namespace, name string) error {
	if namespace != "" {
		if err := named("a RADOS namespace", namespace, poolName); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(namespace, ownPrefix) && !strings.HasPrefix(strings.TrimPrefix(name, benchPrefix), ownPrefix) {
		return &InvalidError{fmt.Sprintf("neither the RADOS namespace %q nor %q begins with %q: cephtune does not touch objects of others",
			namespace, name, ownPrefix)}
	}
	return nil
}

// OwnImage refuses an image that RemoveImage never removes.
func OwnImage(pool, image string) error {
	return errors.Join(named("a pool", pool, poolName), ownImage(image))
}

// OwnObjects refuses objects that RemoveObjects never removes.
func OwnObjects(pool, namespace string, objects []string) error {
	if err := named("a pool", pool, poolName); err != nil {
		return err
	}
	for _, object := range objects {
		if err := errors.Join(named("an object", object, objectName), ownObjects(namespace, object)); err != nil {
			return err
		}
	}
	return nil
}

// scratchPool refuses a pool that is not a benchmark's scratch pool.
func scratchPool(name string) error {
	if err := named("a pool", name, poolName); err != nil {
		return err
	}
	if !strings.HasPrefix(name, scratchPrefix) {
		return &InvalidError{fmt.Sprintf("%q does not begin with %q: cephtune does not move placement groups of other pools", name, scratchPrefix)}
	}
	return nil
}

// valid returns an error unless a connection can be written into ceph.conf and a keyring: a line
// end in a field could set any option of ceph.conf. The error does not contain the key.
func (c Connection) valid() error {
	switch {
	case !monHost.MatchString(c.MonHost):
		return &InvalidError{fmt.Sprintf("%q is not a list of monitors", c.MonHost)}
	case !userName.MatchString(c.User):
		return &InvalidError{fmt.Sprintf("%q is not the name of a Ceph identity", c.User)}
	case !cephxKey.MatchString(c.Key):
		return &InvalidError{fmt.Sprintf("the key of client.%s is not a cephx key", c.User)}
	}
	return nil
}

const (
	// maxObjects limits how many objects one call lists.
	maxObjects = 10000
	// maxArguments limits the objects that one command removes. Their names stay below the kernel's
	// limit on arguments, whatever their length.
	maxArguments = 256
	// maxLine exceeds the longest object name that Ceph can be configured to allow, plus the
	// capacity of a pipe.
	maxLine = 128 << 10
)
