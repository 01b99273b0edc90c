// Package ceph reads a Ceph cluster, and changes the few things in it that the operator may change,
// through typed verbs with deadlines. A sidecar of the operator's manager, which listens on a Unix
// socket, carries out the verbs by running ceph, rbd and rados.
package ceph

import (
	"context"
	"log/slog"
)

// Connection holds the address of a Ceph cluster and the credentials of one of its users. The
// key is a secret: it is never logged, and String returns only the user and the monitors.
type Connection struct {
	// MonHost lists the monitors in the form of mon_host in ceph.conf.
	MonHost string `json:"monHost"`
	// User is the identity without "client.".
	User string `json:"user"`
	// Key is its cephx key.
	Key string `json:"key"`
	// Image is the container image of the Ceph release that the cluster runs. It is set only if
	// older releases cannot read the type of the key.
	Image string `json:"image,omitempty"`
}

// String returns the user and the monitors, without the key.
func (c Connection) String() string { return "client." + c.User + " at " + c.MonHost }

// LogValue keeps the key out of logs.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client has one method for each verb that changes no setting; Tuner has the others. The deadline
// of the context also limits the command; Sidecar adds DefaultTimeout to a context without a
// deadline. If Ceph refuses or fails, the error is an *Error. If Ceph does not answer in time, the
// error wraps context.DeadlineExceeded. Arguments that are not allowed cause an *InvalidError.
type Client interface {
	// Status is `ceph status`: health, PGs, OSDs, and the I/O of clients and recovery.
	Status(ctx context.Context, at Connection) (*Status, error)
	// OSDMap is `ceph osd dump`: pools with their settings, flags, OSDs.
	OSDMap(ctx context.Context, at Connection) (*OSDMap, error)
	// OSDs is `ceph osd df`: device class, size, fill and PGs of each OSD.
	OSDs(ctx context.Context, at Connection) ([]OSD, error)
	// OSDTree is `ceph osd tree`: where each OSD is in the CRUSH hierarchy.
	OSDTree(ctx context.Context, at Connection) ([]OSDLocation, error)
	// DF is `ceph df detail`: capacity of the cluster, bytes stored and used by each pool.
	DF(ctx context.Context, at Connection) (*DF, error)
	// OSDPerf is `ceph osd perf`: commit and apply latency of each OSD.
	OSDPerf(ctx context.Context, at Connection) ([]OSDLatency, error)
	// OSDIO is `ceph osd status`: client I/O of each OSD that is up.
	OSDIO(ctx context.Context, at Connection) ([]OSDIO, error)
	// PGs is `ceph pg dump pgs_brief`: the state and OSDs of the placement groups of all pools.
	PGs(ctx context.Context, at Connection) ([]PG, error)
	// Strays is `ceph pg dump pgs_brief osds`: placement groups that OSDs hold and are about to
	// remove.
	Strays(ctx context.Context, at Connection) (*Strays, error)
	// PoolIO is `ceph osd pool stats`: client I/O of each pool.
	PoolIO(ctx context.Context, at Connection) ([]PoolIO, error)
	// Versions is `ceph versions`: daemons by version, such as "18.2.7".
	Versions(ctx context.Context, at Connection) (*Versions, error)
	// ConfigDump is `ceph config dump`: the entries of the central configuration.
	ConfigDump(ctx context.Context, at Connection) ([]ConfigEntry, error)
	// ConfigShow is `ceph config show osd.ID OPTION`: the value that a daemon runs with.
	ConfigShow(ctx context.Context, at Connection, osd int, option string) (string, error)
	// ConfigHelp is `ceph config help OPTION`: the type and the limits of an option. It returns
	// no error for an option that this Ceph release does not have.
	ConfigHelp(ctx context.Context, at Connection, option string) (*OptionHelp, error)
	// RunningConfig runs `ceph config show-with-defaults` for at most 256 OSDs, and selects at most
	// 64 options. It returns the values that they run with, in the order of the OSDs, without
	// options that an OSD does not have. An OSD that is down, or that ceph-mgr knows nothing of,
	// has an Error of its own. A change of a value reaches ceph-mgr within some seconds.
	RunningConfig(ctx context.Context, at Connection, osds []int, options []string) ([]Running, error)
	// Balancer is `ceph balancer status`.
	Balancer(ctx context.Context, at Connection) (*Balancer, error)
	// PGsOn is `ceph pg ls-by-osd` for each of 1 to 16 OSDs: the placement groups that these OSDs
	// serve.
	PGsOn(ctx context.Context, at Connection, osds ...int) ([]PG, error)
	// OKToStop is `ceph osd ok-to-stop ID…` for 1 to 16 OSDs: whether all PGs stay available
	// without all these OSDs. Ceph 20.2.4 wrongly says yes in some cases.
	OKToStop(ctx context.Context, at Connection, osds ...int) (*Stop, error)
	// Recovered is `ceph pg dump sum`: the amount of data recovered since the pools were
	// created.
	Recovered(ctx context.Context, at Connection) (*Recovered, error)

	// DropOSDCaches is `ceph tell osd.* cache drop`, which needs a key that may do
	// anything to any OSD.
	DropOSDCaches(ctx context.Context, at Connection) error

	// GetKey, SetKey and RemoveKey are `ceph config-key` for keys below "cephtune/". GetKey returns
	// "" and false for a key that does not exist.
	GetKey(ctx context.Context, at Connection, key string) (string, bool, error)
	SetKey(ctx context.Context, at Connection, key, value string) error
	RemoveKey(ctx context.Context, at Connection, key string) error

	// Images lists those RBD images of a pool whose names begin with prefix, which itself begins
	// with "cephtune".
	Images(ctx context.Context, at Connection, pool, prefix string) ([]string, error)
	// RemoveImage removes an image with its snapshots. A missing image is no error.
	RemoveImage(ctx context.Context, at Connection, pool, image string) error
	// Objects lists those RADOS objects of a pool and namespace whose names begin with prefix, at
	// most limit, which is 1 to 10000.
	Objects(ctx context.Context, at Connection, pool, namespace, prefix string, limit int) ([]string, error)
	// RemoveObjects removes objects. Missing objects are no error.
	RemoveObjects(ctx context.Context, at Connection, pool, namespace string, objects []string) error
}
