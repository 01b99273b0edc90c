// Package ceph reads a Ceph cluster, and changes the few things in it that the
// operator may change, through typed verbs with deadlines. The verbs are carried
// out by the ceph command line in a sidecar of the manager, which listens on a Unix
// socket.
package ceph

import (
	"context"
	"log/slog"
)

// Connection is how to reach a Ceph cluster as one of its users. It holds a secret:
// it is never logged, and String says only who and where.
type Connection struct {
	// MonHost are the monitors as ceph.conf has them in mon_host.
	MonHost string `json:"monHost"`
	// User is the identity without "client.".
	User string `json:"user"`
	// Key is its cephx key.
	Key string `json:"key"`
	// Image is that of the cluster's own Ceph, where the key is of a type that older ones
	// cannot read.
	Image string `json:"image,omitempty"`
}

// String names user and monitors, without the key.
func (c Connection) String() string { return "client." + c.User + " at " + c.MonHost }

// LogValue keeps the key out of logs.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client has one method for each verb. The deadline of the context is that of the
// command too, and there always is one: without it a verb gets DefaultTimeout. An
// error is a *Error where Ceph answered, and wraps context.DeadlineExceeded where it
// did not in time.
type Client interface {
	// Status is `ceph status`: health, PGs, OSDs, what clients and recovery do.
	Status(ctx context.Context, at Connection) (*Status, error)
	// OSDMap is `ceph osd dump`: pools with all their settings, flags, OSDs.
	OSDMap(ctx context.Context, at Connection) (*OSDMap, error)
	// OSDs is `ceph osd df`: device class, size, fill and PGs of each OSD.
	OSDs(ctx context.Context, at Connection) ([]OSD, error)
	// OSDTree is `ceph osd tree`: where each OSD is in the CRUSH hierarchy.
	OSDTree(ctx context.Context, at Connection) ([]OSDLocation, error)
	// DF is `ceph df detail`: room of the cluster, what each pool stores and uses.
	DF(ctx context.Context, at Connection) (*DF, error)
	// OSDPerf is `ceph osd perf`: commit and apply latency of each OSD.
	OSDPerf(ctx context.Context, at Connection) ([]OSDLatency, error)
	// OSDIO is `ceph osd status`: client I/O of each OSD that is up.
	OSDIO(ctx context.Context, at Connection) ([]OSDIO, error)
	// PGs is `ceph pg dump pgs_brief`: where the placement groups of all pools are.
	PGs(ctx context.Context, at Connection) ([]PG, error)
	// Strays is `ceph pg dump pgs_brief osds`: what OSDs hold and are about to remove.
	Strays(ctx context.Context, at Connection) (*Strays, error)
	// PoolIO is `ceph osd pool stats`: client I/O of each pool.
	PoolIO(ctx context.Context, at Connection) ([]PoolIO, error)
	// Versions is `ceph versions`: daemons by version, such as "18.2.7".
	Versions(ctx context.Context, at Connection) (*Versions, error)
	// ConfigDump is `ceph config dump`: what is set in the central configuration.
	ConfigDump(ctx context.Context, at Connection) ([]ConfigEntry, error)
	// ConfigShow is `ceph config show osd.ID OPTION`: what a daemon runs with.
	ConfigShow(ctx context.Context, at Connection, osd int, option string) (string, error)
	// ConfigHelp is `ceph config help OPTION`: what kind of option it is. An option that
	// this Ceph does not know is no error.
	ConfigHelp(ctx context.Context, at Connection, option string) (*OptionHelp, error)
	// RunningConfig is `ceph config show-with-defaults` of some OSDs, several at a time:
	// what they run with, in their order, without options that they do not know. An OSD that cannot be asked, because it is down or the
	// manager knows nothing of it, has an Error of its own. The manager hears of a change
	// within some seconds.
	RunningConfig(ctx context.Context, at Connection, osds []int, options []string) ([]Running, error)
	// Balancer is `ceph balancer status`.
	Balancer(ctx context.Context, at Connection) (*Balancer, error)
	// PGsOn is `ceph pg ls-by-osd` of each: the placement groups that these OSDs serve.
	PGsOn(ctx context.Context, at Connection, osds ...int) ([]PG, error)
	// OKToStop is `ceph osd ok-to-stop ID…`: whether all PGs stay available without
	// these OSDs, together. Ceph 20.2.4 says so too often.
	OKToStop(ctx context.Context, at Connection, osds ...int) (*Stop, error)
	// Recovered is `ceph pg dump sum`: what has been recovered since the pools were made.
	Recovered(ctx context.Context, at Connection) (*Recovered, error)

	// DropOSDCaches is `ceph tell osd.* cache drop`, which needs a key that may do
	// anything to any OSD.
	DropOSDCaches(ctx context.Context, at Connection) error

	// GetKey, SetKey and RemoveKey are `ceph config-key`, below "cephtune/". The
	// value of a key that is not there is "" with false.
	GetKey(ctx context.Context, at Connection, key string) (string, bool, error)
	SetKey(ctx context.Context, at Connection, key, value string) error
	RemoveKey(ctx context.Context, at Connection, key string) error

	// Images lists the RBD images of a pool whose name begins with prefix.
	Images(ctx context.Context, at Connection, pool, prefix string) ([]string, error)
	// RemoveImage removes one with its snapshots; it is fine if it is not there.
	RemoveImage(ctx context.Context, at Connection, pool, image string) error
	// Objects lists at most limit RADOS objects of a pool and namespace whose name
	// begins with prefix.
	Objects(ctx context.Context, at Connection, pool, namespace, prefix string, limit int) ([]string, error)
	// RemoveObjects removes objects; it is fine if some are not there.
	RemoveObjects(ctx context.Context, at Connection, pool, namespace string, objects []string) error
}
