// Package cephtest provides a Ceph cluster in memory, for tests of code that uses Ceph.
package cephtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Call records one call of a method of a Fake.
type Call struct {
	// Verb is the name of the method.
	Verb string
	// At is the connection that the caller passed.
	At ceph.Connection
	// Args holds the other arguments, except a Fence, as fmt prints them, separated by spaces.
	Args string
}

// Fake is a ceph.Client that answers with its fields. It is safe for concurrent use if fields are changed
// only within Change.
type Fake struct {
	Answers
	// Carry, if set, is called for each verb with the name of its method. It carries the verb out with do, or returns
	// an error. Set it before the first call. No lock is held during it.
	Carry func(ctx context.Context, verb string, do func() error) error

	mu    sync.Mutex
	calls []Call
}

// Answers holds the data that a Fake answers with.
type Answers struct {
	Status      ceph.Status
	OSDMap      ceph.OSDMap
	OSDs        []ceph.OSD
	OSDDevices  []ceph.OSDDevice
	DF          ceph.DF
	OSDPerf     []ceph.OSDLatency
	OSDIO       []ceph.OSDIO
	OSDCounters []ceph.OSDCounters
	PGs         []ceph.PG
	Strays      ceph.Strays
	OSDTree     []ceph.OSDLocation
	PoolIO      []ceph.PoolIO
	Versions    ceph.Versions
	ConfigDump  []ceph.ConfigEntry
	// ConfigShow has keys such as "osd.0 osd_memory_target".
	ConfigShow map[string]string
	// ConfigHelp is keyed by option. The fake release of Ceph has no option without an entry.
	ConfigHelp map[string]ceph.OptionHelp
	// RunningConfig is keyed by OSD.
	RunningConfig map[int]ceph.Running
	Balancer      ceph.Balancer
	// OKToStop is keyed by OSD. An OSD without an entry may be stopped.
	OKToStop  map[int]ceph.Stop
	Recovered ceph.Recovered
	// Keys holds the entries of config-key.
	Keys map[string]string
	// Images is keyed by pool, Objects by "pool/namespace".
	Images, Objects map[string][]string
	// Clients holds the addresses of connected clients by user. Watchers holds the address of the client that has an image
	// open, by "pool/image". Blocked holds the addresses that are blocked.
	Clients  map[string][]string
	Watchers map[string]string
	Blocked  []string
	// Errors is keyed by verb, such as "Status". It makes the verb fail with the error.
	Errors map[string]error
}

var _ ceph.Client = (*Fake)(nil)

// Change changes the answers. It is safe while other goroutines call verbs.
func (f *Fake) Change(change func(*Answers)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.Answers)
}

// Calls returns the recorded calls of a verb, or of all verbs if the argument verb is "".
func (f *Fake) Calls(verb string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(c Call) bool { return verb != "" && c.Verb != verb })
}

// answer calls a verb, through Carry if that is set.
func (f *Fake) answer(ctx context.Context, verb string, connection ceph.Connection, do func(), args ...any) error {
	carry := func() error { return f.carryOut(ctx, verb, connection, do, args...) }
	if f.Carry != nil {
		return f.Carry(ctx, verb, carry)
	}
	return carry()
}

// carryOut records a call. It carries the call out unless the context has ended or Errors makes the
// verb fail.
func (f *Fake) carryOut(ctx context.Context, verb string, connection ceph.Connection, do func(), args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, Call{Verb: verb, At: connection, Args: strings.TrimSpace(fmt.Sprintln(args...))})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ceph %s: %w", verb, err)
	}
	if err := f.Errors[verb]; err != nil {
		return err
	}
	do()
	return nil
}

// Status implements ceph.Client.
func (f *Fake) Status(ctx context.Context, connection ceph.Connection) (*ceph.Status, error) {
	var s ceph.Status
	err := f.answer(ctx, "Status", connection, func() {
		s = f.Answers.Status
		s.PGsByState = maps.Clone(s.PGsByState)
		s.Health.Checks = slices.Clone(s.Health.Checks)
	})
	return orNil(&s, err)
}

// OSDMap implements ceph.Client.
func (f *Fake) OSDMap(ctx context.Context, connection ceph.Connection) (*ceph.OSDMap, error) {
	var m ceph.OSDMap
	err := f.answer(ctx, "OSDMap", connection, func() {
		m = f.Answers.OSDMap
		m.Pools = slices.Clone(m.Pools)
	})
	return orNil(&m, err)
}

// OSDs implements ceph.Client.
func (f *Fake) OSDs(ctx context.Context, connection ceph.Connection) (osds []ceph.OSD, err error) {
	err = f.answer(ctx, "OSDs", connection, func() { osds = slices.Clone(f.Answers.OSDs) })
	return osds, err
}

// OSDTree implements ceph.Client.
func (f *Fake) OSDTree(ctx context.Context, connection ceph.Connection) (osds []ceph.OSDLocation, err error) {
	err = f.answer(ctx, "OSDTree", connection, func() { osds = slices.Clone(f.Answers.OSDTree) })
	return osds, err
}

// PlacePGs implements the method of ceph.Tuner, but does not check the fence. It moves the placement groups
// immediately.
func (f *Fake) PlacePGs(ctx context.Context, connection ceph.Connection, _ ceph.Fence, pool string, pgs []ceph.PGPlacement) (err error) {
	failed := f.answer(ctx, "PlacePGs", connection, func() { err = f.place(pool, pgs) }, pool, pgs)
	return errors.Join(failed, err)
}

// place records upmaps, and moves the placement groups immediately.
func (a *Answers) place(pool string, pgs []ceph.PGPlacement) error {
	placed, err := a.OSDMap.Place(pool, pgs)
	if err != nil {
		return err
	}
	upmaps := maps.Clone(a.OSDMap.PGUpmaps)
	if upmaps == nil {
		upmaps = map[string][]int{}
	}
	a.PGs = slices.Clone(a.PGs)
	for _, pg := range pgs {
		id := pg.ID(placed.ID)
		upmaps[id] = pg.OSDs
		for i := range a.PGs {
			if a.PGs[i].ID == id {
				a.PGs[i].Acting, a.PGs[i].Primary = pg.OSDs, pg.OSDs[0]
			}
		}
	}
	a.OSDMap.PGUpmaps = upmaps
	return nil
}

// DF implements ceph.Client.
func (f *Fake) DF(ctx context.Context, connection ceph.Connection) (*ceph.DF, error) {
	var df ceph.DF
	err := f.answer(ctx, "DF", connection, func() {
		df = f.Answers.DF
		df.Pools = slices.Clone(df.Pools)
	})
	return orNil(&df, err)
}

// OSDPerf implements ceph.Client.
func (f *Fake) OSDPerf(ctx context.Context, connection ceph.Connection) (perf []ceph.OSDLatency, err error) {
	err = f.answer(ctx, "OSDPerf", connection, func() { perf = slices.Clone(f.Answers.OSDPerf) })
	return perf, err
}

// OSDCounters implements ceph.Client.
func (f *Fake) OSDCounters(ctx context.Context, connection ceph.Connection) (counters []ceph.OSDCounters, err error) {
	err = f.answer(ctx, "OSDCounters", connection, func() { counters = slices.Clone(f.Answers.OSDCounters) })
	return counters, err
}

// OSDIO implements ceph.Client.
func (f *Fake) OSDIO(ctx context.Context, connection ceph.Connection) (io []ceph.OSDIO, err error) {
	err = f.answer(ctx, "OSDIO", connection, func() { io = slices.Clone(f.Answers.OSDIO) })
	return io, err
}

// PGs implements ceph.Client.
func (f *Fake) PGs(ctx context.Context, connection ceph.Connection) (pgs []ceph.PG, err error) {
	err = f.answer(ctx, "PGs", connection, func() { pgs = slices.Clone(f.Answers.PGs) })
	return pgs, err
}

// Strays implements ceph.Client.
func (f *Fake) Strays(ctx context.Context, connection ceph.Connection) (*ceph.Strays, error) {
	var s ceph.Strays
	err := f.answer(ctx, "Strays", connection, func() { s = f.Answers.Strays })
	return orNil(&s, err)
}

// PoolIO implements ceph.Client.
func (f *Fake) PoolIO(ctx context.Context, connection ceph.Connection) (pools []ceph.PoolIO, err error) {
	err = f.answer(ctx, "PoolIO", connection, func() { pools = slices.Clone(f.Answers.PoolIO) })
	return pools, err
}

// Versions implements ceph.Client.
func (f *Fake) Versions(ctx context.Context, connection ceph.Connection) (*ceph.Versions, error) {
	var v ceph.Versions
	err := f.answer(ctx, "Versions", connection, func() { v = f.Answers.Versions })
	return orNil(&v, err)
}

// ConfigDump implements ceph.Client.
func (f *Fake) ConfigDump(ctx context.Context, connection ceph.Connection) (entries []ceph.ConfigEntry, err error) {
	err = f.answer(ctx, "ConfigDump", connection, func() { entries = slices.Clone(f.Answers.ConfigDump) })
	return entries, err
}

// ConfigShow implements ceph.Client.
func (f *Fake) ConfigShow(ctx context.Context, connection ceph.Connection, osd int, option string) (value string, err error) {
	var found bool
	err = f.answer(ctx, "ConfigShow", connection, func() { value, found = f.Answers.ConfigShow[fmt.Sprintf("osd.%d %s", osd, option)] }, osd, option)
	if err == nil && !found {
		err = notFound("config show")
	}
	return value, err
}

// ConfigHelp implements ceph.Client.
func (f *Fake) ConfigHelp(ctx context.Context, connection ceph.Connection, option string) (*ceph.OptionHelp, error) {
	help := ceph.OptionHelp{Name: option}
	err := f.answer(ctx, "ConfigHelp", connection, func() {
		if known, ok := f.Answers.ConfigHelp[option]; ok {
			help = known
		}
	}, option)
	return orNil(&help, err)
}

// RunningConfig implements ceph.Client.
func (f *Fake) RunningConfig(ctx context.Context, connection ceph.Connection, osds []int, options []string) (all []ceph.Running, err error) {
	err = f.answer(ctx, "RunningConfig", connection, func() {
		for _, osd := range osds {
			running, known := f.Answers.RunningConfig[osd]
			if !known {
				running = ceph.Running{OSD: osd, Error: fmt.Sprintf("no config state for daemon osd.%d", osd)}
			}
			running.Options = slices.DeleteFunc(slices.Clone(running.Options), func(o ceph.RunningOption) bool { return !slices.Contains(options, o.Name) })
			all = append(all, running)
		}
	}, osds, options)
	return all, err
}

// OSDDevices implements ceph.Client.
func (f *Fake) OSDDevices(ctx context.Context, connection ceph.Connection) (devices []ceph.OSDDevice, err error) {
	err = f.answer(ctx, "OSDDevices", connection, func() { devices = slices.Clone(f.Answers.OSDDevices) })
	return devices, err
}

// Balancer implements ceph.Client.
func (f *Fake) Balancer(ctx context.Context, connection ceph.Connection) (*ceph.Balancer, error) {
	var b ceph.Balancer
	err := f.answer(ctx, "Balancer", connection, func() { b = f.Answers.Balancer })
	return orNil(&b, err)
}

// PGsOn implements ceph.Client.
func (f *Fake) PGsOn(ctx context.Context, connection ceph.Connection, osds ...int) (pgs []ceph.PG, err error) {
	err = f.answer(ctx, "PGsOn", connection, func() { pgs = f.pgsOn(osds) }, osds)
	return pgs, err
}

func (a *Answers) pgsOn(osds []int) []ceph.PG {
	return slices.DeleteFunc(slices.Clone(a.PGs), func(pg ceph.PG) bool {
		return !slices.ContainsFunc(osds, func(osd int) bool { return slices.Contains(pg.Acting, osd) })
	})
}

// OKToStop implements ceph.Client.
func (f *Fake) OKToStop(ctx context.Context, connection ceph.Connection, osds ...int) (*ceph.Stop, error) {
	stop := ceph.Stop{OK: true, OSDs: osds}
	args := make([]any, 0, len(osds))
	for _, osd := range osds {
		args = append(args, osd)
	}
	err := f.answer(ctx, "OKToStop", connection, func() {
		for _, osd := range osds {
			if known, ok := f.Answers.OKToStop[osd]; ok {
				stop = known
			}
		}
	}, args...)
	return orNil(&stop, err)
}

// Recovered implements ceph.Client.
func (f *Fake) Recovered(ctx context.Context, connection ceph.Connection) (*ceph.Recovered, error) {
	var recovered ceph.Recovered
	err := f.answer(ctx, "Recovered", connection, func() { recovered = f.Answers.Recovered })
	return orNil(&recovered, err)
}

// DropOSDCaches implements ceph.Client.
func (f *Fake) DropOSDCaches(ctx context.Context, connection ceph.Connection) error {
	return f.answer(ctx, "DropOSDCaches", connection, func() {})
}

// GetKey implements ceph.Client.
func (f *Fake) GetKey(ctx context.Context, connection ceph.Connection, key string) (value string, found bool, err error) {
	err = f.answer(ctx, "GetKey", connection, func() { value, found = f.Keys[key] }, key)
	return value, found, err
}

// SetKey implements ceph.Client.
func (f *Fake) SetKey(ctx context.Context, connection ceph.Connection, key, value string) error {
	return f.answer(ctx, "SetKey", connection, func() {
		if f.Keys == nil {
			f.Keys = map[string]string{}
		}
		f.Keys[key] = value
	}, key, value)
}

// RemoveKey implements ceph.Client.
func (f *Fake) RemoveKey(ctx context.Context, connection ceph.Connection, key string) error {
	return f.answer(ctx, "RemoveKey", connection, func() { delete(f.Keys, key) }, key)
}

// Images implements ceph.Client.
func (f *Fake) Images(ctx context.Context, connection ceph.Connection, pool, prefix string) (images []string, err error) {
	err = f.answer(ctx, "Images", connection, func() { images = withPrefix(f.Answers.Images[pool], prefix) }, pool, prefix)
	return images, err
}

// RemoveImage implements ceph.Client.
func (f *Fake) RemoveImage(ctx context.Context, connection ceph.Connection, pool, image string) error {
	if err := ceph.OwnImage(pool, image); err != nil {
		return err
	}
	var watched error
	err := f.answer(ctx, "RemoveImage", connection, func() {
		if watcher, open := f.Watchers[pool+"/"+image]; open && !slices.Contains(f.Blocked, watcher) {
			watched = &ceph.Error{Verb: "rbd rm", Errno: int(syscall.EBUSY), Message: "rbd: error: image still has watchers"}
			return
		}
		remove(f.Answers.Images, pool, image)
	}, pool, image)
	return errors.Join(err, watched)
}

// ClientAddresses implements ceph.Client. Each client has a session with each monitor.
func (f *Fake) ClientAddresses(ctx context.Context, connection ceph.Connection, monitor, user string) (addresses []string, err error) {
	err = f.answer(ctx, "ClientAddresses", connection, func() { addresses = slices.Clone(f.Clients[user]) }, monitor, user)
	return addresses, err
}

// BlocklistClient implements ceph.Client.
func (f *Fake) BlocklistClient(ctx context.Context, connection ceph.Connection, address string, expiry time.Duration) error {
	return f.answer(ctx, "BlocklistClient", connection, func() {
		if !slices.Contains(f.Blocked, address) {
			f.Blocked = append(f.Blocked, address)
		}
	}, address, expiry)
}

// Objects implements ceph.Client.
func (f *Fake) Objects(ctx context.Context, connection ceph.Connection, pool, namespace, prefix string, limit int) (objects []string, err error) {
	err = f.answer(ctx, "Objects", connection, func() {
		objects = withPrefix(f.Answers.Objects[pool+"/"+namespace], prefix)
		objects = objects[:min(len(objects), limit)]
	}, pool, namespace, prefix, limit)
	return objects, err
}

// RemoveObjects implements ceph.Client.
func (f *Fake) RemoveObjects(ctx context.Context, connection ceph.Connection, pool, namespace string, objects []string) error {
	if err := ceph.OwnObjects(pool, namespace, objects); err != nil {
		return err
	}
	return f.answer(ctx, "RemoveObjects", connection, func() {
		remove(f.Answers.Objects, pool+"/"+namespace, objects...)
	}, pool, namespace, objects)
}

func withPrefix(names []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

func remove(stored map[string][]string, place string, gone ...string) {
	if names, there := stored[place]; there {
		stored[place] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(gone, name) })
	}
}

func notFound(verb string) error { return &ceph.Error{Verb: verb, Errno: 2, Message: "Error ENOENT: "} }

func orNil[T any](value *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return value, nil
}
