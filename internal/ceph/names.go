package ceph

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The verbs list and remove only images whose names begin with ownPrefix, and objects whose RADOS namespace
// or name begins with ownPrefix. They access only entries of config-key whose names begin with ownPrefix. So
// cephtune removes only what it created. The name of an object may have benchPrefix before ownPrefix, because
// rados bench removes only objects whose names begin with benchPrefix.
const (
	ownPrefix   = "cephtune"
	benchPrefix = "benchmark_data_"
	// scratchPrefix begins the name of each scratch pool.
	scratchPrefix = ownPrefix + "-scratch"
)

// Names become arguments of commands, so no name may begin with a dash.
var (
	poolName   = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,127}$`)
	imageName  = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,127}$`)
	objectName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.:@+=,~%#/-]{0,511}$`)
	keyName    = regexp.MustCompile(`^` + ownPrefix + `/[A-Za-z0-9_.][A-Za-z0-9_./-]{0,254}$`)
	optionName = regexp.MustCompile(`^[a-z][a-z0-9_/]{0,127}$`)
	osdName    = regexp.MustCompile(`^osd\.(0|[1-9][0-9]{0,8})$`)
	// A monitor's name follows "mon.", so it may not be a pattern.
	monitorName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	// clientAddress matches the address of one client. The number after the slash is random, with 32 bits. The caps
	// of the key require four digits, because the number 0 would block the whole host.
	clientAddress = regexp.MustCompile(`^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-f:.]{2,45}\]):[0-9]{1,5}/[1-9][0-9]{3,9}$`)
	wholeSeconds  = regexp.MustCompile(`^[1-9][0-9]{0,6}$`)
	userName      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	monHost       = regexp.MustCompile(`^[A-Za-z0-9\[][A-Za-z0-9\[\]:.,/ _-]*$`)
	// poolOptionName matches the name of an option that is to be changed: an option of a pool or of OSDs. It
	// allows no slash, because only options of manager modules have one, and no verb changes these options.
	poolOptionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,127}$`)
	maskForm       = regexp.MustCompile(`^(class|host):[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	fsidForm       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	// A value may begin with a minus only if a digit follows. Ceph would take other values with a minus for
	// flags of the command line.
	valueForm = regexp.MustCompile(`^(-[0-9]|[A-Za-z0-9/_.])[A-Za-z0-9._:,+/=-]*$`)
	// neverOption matches options that endanger data or access. They concern credentials, monitors,
	// connections, logs, paths and allocation, or decide when an OSD is full or dead.
	neverOption = regexp.MustCompile(`^(auth_|cephx_|debug_|mon_|ms_|key|log_)|full_ratio|heartbeat|min_alloc_size|_path$|_dir$`)

	cephxKey = regexp.MustCompile(`^[A-Za-z0-9+/]{1,254}={0,2}$`)
)

// named refuses a name that does not match the form of its kind.
func named(kind, name string, form *regexp.Regexp) error {
	if !form.MatchString(name) {
		return &InvalidError{fmt.Sprintf("%q is not the name of %s", name, kind)}
	}
	return nil
}

// ownImage refuses an invalid name of an image, and a name that does not begin with ownPrefix.
func ownImage(name string) error {
	if err := named("an image", name, imageName); err != nil {
		return err
	}
	if !strings.HasPrefix(name, ownPrefix) {
		return &InvalidError{fmt.Sprintf("%q does not begin with %q: cephtune does not touch images of others", name, ownPrefix)}
	}
	return nil
}

// ownObjects refuses an invalid RADOS namespace. It also refuses objects if neither their RADOS namespace nor
// their name begins with ownPrefix. A name may have benchPrefix before ownPrefix.
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

// OwnImage returns an error for an image that RemoveImage refuses to remove.
func OwnImage(pool, image string) error {
	return errors.Join(named("a pool", pool, poolName), ownImage(image))
}

// OwnObjects returns an error for objects that RemoveObjects refuses to remove.
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

// scratchPool refuses the name of a pool that is not a scratch pool.
func scratchPool(name string) error {
	if err := named("a pool", name, poolName); err != nil {
		return err
	}
	if !strings.HasPrefix(name, scratchPrefix) {
		return &InvalidError{fmt.Sprintf("%q does not begin with %q: cephtune does not move placement groups of other pools", name, scratchPrefix)}
	}
	return nil
}

// valid refuses a connection that cannot be written into ceph.conf and a keyring. In particular, it refuses
// a newline in a field, which could set any option of ceph.conf. The error does not contain the key.
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
	// maxArguments limits how many objects one command removes. Even the longest names then stay below the
	// kernel's limit on the size of arguments.
	maxArguments = 256
	// maxLine limits an incomplete line of output, in bytes. It exceeds the longest object name that Ceph
	// can be configured to allow, plus the capacity of a pipe.
	maxLine = 128 << 10
)
