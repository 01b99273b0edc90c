// Package ceph reads a Ceph cluster, and changes the parts of it that the operator may change. Each access
// is a typed verb with a deadline. It becomes commands of ceph, rbd and rados. A sidecar of the operator's manager
// listens on a Unix socket, checks each command by a table, and executes it.
package ceph

import (
	"context"
	"log/slog"
	"time"
)

// Connection holds the address of a Ceph cluster and the credentials of one of its users. The
// key is a secret: it is never logged, and String returns only the user and the monitors.
type Connection struct {
	// MonHost lists the monitors in the form of mon_host in ceph.conf.
	MonHost string `json:"monHost"`
	// User is the name of the Ceph identity, without "client.".
	User string `json:"user"`
	// Key is the cephx key of User.
	Key string `json:"key"`
	// Image is the container image of the Ceph release that the cluster runs. It is set only if older
	// releases cannot read the type of Key.
	Image string `json:"image,omitempty"`
}

// String returns the user and the monitors, without the key.
func (c Connection) String() string { return "client." + c.User + " at " + c.MonHost }

// LogValue implements slog.LogValuer. It keeps the key out of logs.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client has one method for each verb that changes no setting of Ceph. Tuner has the verbs that change
// settings. The deadline of the context limits the verb; Sidecar adds DefaultTimeout to a context without a
// deadline. If Ceph refuses or fails, the error is an *Error. If Ceph does not answer in time, the error
// wraps context.DeadlineExceeded. Arguments that are not allowed cause an *InvalidError.
type Client interface {
	// Status is `ceph status`: health, PGs, OSDs, and the I/O of clients and recovery.
	Status(ctx context.Context, conn Connection) (*Status, error)
	// OSDMap is `ceph osd dump`: the flags, the OSDs, and the pools with their settings.
	OSDMap(ctx context.Context, conn Connection) (*OSDMap, error)
	// OSDs is `ceph osd df`: the device class, the size, the fill and the number of PGs of each OSD.
	OSDs(ctx context.Context, conn Connection) ([]OSD, error)
	// OSDTree is `ceph osd tree`: where each OSD is in the CRUSH hierarchy.
	OSDTree(ctx context.Context, conn Connection) ([]OSDLocation, error)
	// OSDDevices is `ceph osd metadata`: what each OSD has said about its devices when it started.
	OSDDevices(ctx context.Context, conn Connection) ([]OSDDevice, error)
	// DF is `ceph df detail`: the capacity of the cluster, and the bytes that each pool stores and uses.
	DF(ctx context.Context, conn Connection) (*DF, error)
	// OSDPerf is `ceph osd perf`: the commit and the apply latency of each OSD.
	OSDPerf(ctx context.Context, conn Connection) ([]OSDLatency, error)
	// OSDIO is `ceph osd status`: client I/O of each OSD that is up.
	OSDIO(ctx context.Context, conn Connection) ([]OSDIO, error)
	// OSDCounters is `ceph telemetry preview perf`, or `show` if the cluster takes part in Ceph's telemetry: what each OSD
	// has counted. Nothing is sent to anybody. ceph-mgr asks each OSD for its memory meanwhile, and prints some kilobytes
	// for each placement group, so it is not for large clusters.
	OSDCounters(ctx context.Context, conn Connection) ([]OSDCounters, error)
	// PGs is `ceph pg dump pgs_brief`: the state and the OSDs of each placement group.
	PGs(ctx context.Context, conn Connection) ([]PG, error)
	// Strays is `ceph pg dump pgs_brief osds`. It counts the PGs that OSDs hold although the PGs are no
	// longer mapped to them.
	Strays(ctx context.Context, conn Connection) (*Strays, error)
	// PoolIO is `ceph osd pool stats`: client I/O of each pool.
	PoolIO(ctx context.Context, conn Connection) ([]PoolIO, error)
	// Versions is `ceph versions`: the number of daemons of each version, such as "18.2.7".
	Versions(ctx context.Context, conn Connection) (*Versions, error)
	// ConfigDump is `ceph config dump`: the entries of the central configuration.
	ConfigDump(ctx context.Context, conn Connection) ([]ConfigEntry, error)
	// ConfigShow is `ceph config show osd.ID OPTION`: the value that an OSD runs with.
	ConfigShow(ctx context.Context, conn Connection, osd int, option string) (string, error)
	// ConfigHelp is `ceph config help OPTION`: the type and the limits of an option. If this Ceph release
	// does not have the option, Known of the result is false, and the error is nil.
	ConfigHelp(ctx context.Context, conn Connection, option string) (*OptionHelp, error)
	// RunningConfig is `ceph config show-with-defaults` for each of at most 256 OSDs. It returns the values
	// that each OSD runs with, for at most 64 options. The results have the same order as the slice osds.
	// Options that the OSD does not have are left out. If the command fails for an OSD, for example because
	// the OSD is down or unknown to ceph-mgr, the result of that OSD has Error set. ceph-mgr learns of a
	// changed value within some seconds.
	RunningConfig(ctx context.Context, conn Connection, osds []int, options []string) ([]Running, error)
	// Balancer is `ceph balancer status`: whether the balancer is on, its mode and its plans.
	Balancer(ctx context.Context, conn Connection) (*Balancer, error)
	// PGsOn is `ceph pg ls-by-osd` for each of 1 to 16 OSDs: the placement groups that these OSDs
	// serve.
	PGsOn(ctx context.Context, conn Connection, osds ...int) ([]PG, error)
	// OKToStop is `ceph osd ok-to-stop ID…` for 1 to 16 OSDs: whether all PGs stay available if all these
	// OSDs stop. Ceph 20.2.4 ignores a PG unless the last OSD of its acting set is in the list, so OK may be
	// wrong.
	OKToStop(ctx context.Context, conn Connection, osds ...int) (*Stop, error)
	// Recovered is `ceph pg dump sum`: the objects and bytes recovered since the pools were created.
	Recovered(ctx context.Context, conn Connection) (*Recovered, error)

	// DropOSDCaches is `ceph tell osd.* cache drop`. It needs a key with the caps osd "allow *".
	DropOSDCaches(ctx context.Context, conn Connection) error

	// GetKey, SetKey and RemoveKey are `ceph config-key get`, `set` and `rm`. The key must begin with
	// "cephtune/". GetKey returns "" and false for a key that does not exist.
	GetKey(ctx context.Context, conn Connection, key string) (string, bool, error)
	SetKey(ctx context.Context, conn Connection, key, value string) error
	RemoveKey(ctx context.Context, conn Connection, key string) error

	// ClientAddresses is `ceph tell mon.MONITOR sessions`: the addresses of a user's clients, such as
	// "10.1.2.3:0/1234567", that have a session with a monitor. A monitor keeps the session of a client that fell silent
	// for about five minutes.
	ClientAddresses(ctx context.Context, conn Connection, monitor, user string) ([]string, error)
	// BlocklistClient is `ceph osd blocklist add`: until the entry expires, OSDs refuse a client with this address.
	// The address has the number of one client, so the entry cannot affect another client on the same host.
	BlocklistClient(ctx context.Context, conn Connection, address string, expiry time.Duration) error

	// Images lists the RBD images of a pool whose names begin with prefix. The prefix must begin with
	// "cephtune".
	Images(ctx context.Context, conn Connection, pool, prefix string) ([]string, error)
	// RemoveImage removes an image with its snapshots. A missing image is no error.
	RemoveImage(ctx context.Context, conn Connection, pool, image string) error
	// Objects lists RADOS objects of a pool and namespace whose names begin with prefix. The argument limit,
	// 1 to 10000, is the largest number of objects that it lists.
	Objects(ctx context.Context, conn Connection, pool, namespace, prefix string, limit int) ([]string, error)
	// RemoveObjects removes objects. Missing objects are no error.
	RemoveObjects(ctx context.Context, conn Connection, pool, namespace string, objects []string) error
}

// StoreIn returns a function for an errgroup, which calls get and stores its result in *place.
func StoreIn[T any](place *T, get func() (T, error)) func() error {
	return func() error {
		got, err := get()
		*place = got
		return err
	}
}
