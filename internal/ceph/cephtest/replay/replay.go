// Package replay makes the same changes to a real Ceph cluster and to a cephtest.Cluster. It records the
// answers and the state of both clusters.
package replay

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// Pool is the pool that the rounds (see Round) change. It must be replicated over the OSDs 0, 1 and 2, have
// 16 PGs and the autoscaler off, and contain Object and Image.
const (
	Pool   = "cephtune-scratch-e2e-replay"
	Image  = "cephtune-replay-image"
	Object = "cephtune-replay-object"
	Key    = "cephtune/e2e-replay"
)

// verbTime is the timeout of one verb, and of one call of Look.
const verbTime = 25 * time.Second

// These masks stand for the class and the host of OSD 0.
const (
	ofClass = "class:CLASS"
	ofHost  = "host:HOST"
)

// Ceph has the verbs of Client and Tuner.
type Ceph interface {
	ceph.Client
	ceph.Tuner
}

// World is a cluster that the rounds change.
type World struct {
	Ceph
	At   ceph.Connection
	FSID string
	// Class and Host are the device class and the host of OSD 0.
	Class, Host string
}

// Call is one call of a verb that changes something.
type Call struct {
	// Verb is the name of the method. Args holds the arguments after the connection and the Fence.
	Verb string
	Args []any
}

// String names the call in records.
func (c Call) String() string { return strings.TrimSpace(c.Verb + " " + fmt.Sprintln(c.Args...)) }

// Round is a group of calls, after which the state of the cluster is recorded.
type Round struct {
	Name  string
	Calls []Call
	// Hold is how long the state has to stay unchanged before it is recorded, because OSDs act with a delay.
	Hold time.Duration
}

// Seen is the outcome of a round.
type Seen struct {
	// Answers has the answer to each call, by the name of the call. The answer "" means success; any other
	// answer names the error.
	Answers map[string]string `json:"answers"`
	// Shows holds the observed values, by a description of each.
	Shows map[string]string `json:"shows"`
}

// NewFake returns a cluster in memory with the pool, the image and the object that the rounds need. It
// behaves like the given version of Ceph.
func NewFake(version string) (*cephtest.Cluster, World) {
	fake := cephtest.NewCluster(Pool)
	fake.Act(func(c *cephtest.Cluster) {
		c.MClock = true
		c.Version = version
		pool := &c.Answers.OSDMap.Pools[0]
		pool.AutoscaleMode = "off"
		pool.PGNum, pool.PGNumTarget, pool.PGNumPending, pool.PGPlacementNum, pool.PGPlacementTarget = 16, 16, 16, 16, 16
		c.Answers.Images = map[string][]string{Pool: {Image}}
		c.Answers.Objects = map[string][]string{Pool + "/": {Object}}
	})
	return fake, World{Ceph: fake, FSID: cephtest.FSID, Class: "ssd", Host: "node-0"}
}

// Make makes the calls of a round, and returns their answers by call.
func (w World) Make(ctx context.Context, round Round) map[string]string {
	answers := map[string]string{}
	for _, call := range round.Calls {
		ctx, cancel := context.WithTimeout(ctx, verbTime)
		answers[call.String()] = answer(w.call(ctx, call))
		cancel()
	}
	return answers
}

// call calls one method. It passes the connection, a fence if the verb belongs to Tuner, and the
// arguments.
func (w World) call(ctx context.Context, call Call) error {
	in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(w.At)}
	if tunes(call.Verb) {
		in = append(in, reflect.ValueOf(ceph.Fence{FSID: w.FSID, Epoch: 1, Until: time.Now().Add(ceph.LongestChange)}))
	}
	for _, arg := range call.Args {
		if who, ok := arg.(ceph.ConfigWho); ok {
			arg = w.who(who)
		}
		in = append(in, reflect.ValueOf(arg))
	}
	out := reflect.ValueOf(w.Ceph).MethodByName(call.Verb).Call(in)
	err, _ := reflect.TypeAssert[error](out[len(out)-1])
	return err
}

func tunes(verb string) bool {
	_, ok := reflect.TypeFor[ceph.Tuner]().MethodByName(verb)
	return ok
}

// who replaces the masks that stand for the class and the host of OSD 0.
func (w World) who(who ceph.ConfigWho) ceph.ConfigWho {
	switch who.Mask {
	case ofClass:
		who.Mask = "class:" + w.Class
	case ofHost:
		who.Mask = "host:" + w.Host
	}
	return who
}

// answer names an error. The name of an error that Ceph returned does not include Ceph's message, because
// messages differ between versions.
func answer(err error) string {
	if err == nil {
		return ""
	}
	if _, invalid := errors.AsType[*ceph.InvalidError](err); invalid {
		return "not asked"
	}
	if refused, answered := errors.AsType[*ceph.Error](err); answered {
		return fmt.Sprintf("errno %d", refused.Errno)
	}
	return err.Error()
}

// Look reads what the calls of a round can change, such as the central configuration, the OSD map or a key, and
// returns the present values.
func (w World) Look(ctx context.Context, round Round) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, verbTime)
	defer cancel()
	shows := map[string]string{}
	looked := map[string]bool{}
	for _, call := range round.Calls {
		command := looksAt()[call.Verb]
		if command == "" {
			return nil, fmt.Errorf("no known command shows what %s changes", call.Verb)
		}
		if looked[command] {
			continue
		}
		looked[command] = true
		if err := w.lookAt(ctx, command, shows); err != nil {
			return nil, err
		}
	}
	return shows, nil
}

// looksAt maps each verb that changes something to the verb that reads the result, or to "nothing" if no verb
// reads it.
func looksAt() map[string]string {
	return map[string]string{
		"SetConfig": "ConfigDump", "RemoveConfig": "ConfigDump",
		"SetPoolOption": "OSDMap", "UnsetPoolOption": "OSDMap", "PlacePGs": "OSDMap",
		"SetFlag": "OSDMap", "SetNoUp": "OSDMap", "MarkOSDsDown": "OSDMap",
		"SetBalancer": "Balancer", "SetKey": "GetKey", "RemoveKey": "GetKey",
		"RemoveImage": "Images", "RemoveObjects": "Objects", "DropOSDCaches": "nothing",
	}
}

func (w World) lookAt(ctx context.Context, command string, shows map[string]string) error {
	switch command {
	case "ConfigDump":
		return w.lookAtConfig(ctx, shows)
	case "OSDMap":
		return w.lookAtMap(ctx, shows)
	case "Balancer":
		balancer, err := w.Balancer(ctx, w.At)
		if err == nil {
			shows["balancer"] = fmt.Sprintf("active %t, mode %s", balancer.Active, balancer.Mode)
		}
		return err
	case "GetKey":
		value, found, err := w.GetKey(ctx, w.At, Key)
		if found {
			shows["key"] = value
		}
		return err
	case "Images":
		images, err := w.Images(ctx, w.At, Pool, Image)
		shows["images"] = fmt.Sprint(images)
		return err
	case "Objects":
		objects, err := w.Objects(ctx, w.At, Pool, "", Object, 10)
		shows["objects"] = fmt.Sprint(objects)
		return err
	}
	return nil
}

// lookAtConfig records those entries of Touched that are set, and the values of their options that OSD 0 runs
// with, if it is up.
func (w World) lookAtConfig(ctx context.Context, shows map[string]string) error {
	entries, err := w.ConfigDump(ctx, w.At)
	if err != nil {
		return err
	}
	var options []string
	for _, touched := range Touched() {
		set := slices.IndexFunc(entries, func(e ceph.ConfigEntry) bool {
			return e.Name == touched.Option && ceph.ConfigWho{Section: e.Section, Mask: e.Mask} == w.who(touched.Who)
		})
		if set >= 0 {
			shows[fmt.Sprintf("config %s %s", touched.Who, touched.Option)] = entries[set].Value
			options = append(options, touched.Option)
		}
	}
	slices.Sort(options)
	running, err := w.RunningConfig(ctx, w.At, []int{0}, slices.Compact(options))
	if err != nil {
		return err
	}
	// The field Ignored is not recorded: ceph-mgr of 20.2.4 reported it in one replay and not in another.
	for _, option := range running[0].Options {
		shows["osd.0 runs with "+option.Name] = strings.TrimSpace(fmt.Sprintf("%s from %s", option.Value, option.Source))
	}
	return nil
}

func (w World) lookAtMap(ctx context.Context, shows map[string]string) error {
	osdMap, err := w.OSDMap(ctx, w.At)
	if err != nil {
		return err
	}
	for _, flag := range osdMap.Flags {
		shows["flag "+flag] = "set"
	}
	for _, osd := range osdMap.OSDs {
		shows[fmt.Sprintf("osd.%d", osd.ID)] = fmt.Sprintf("up %t, flags %v", osd.Up, osd.Flags)
	}
	for _, pool := range osdMap.Pools {
		if pool.Name == Pool {
			lookAtPool(pool, osdMap.PGUpmaps, shows)
		}
	}
	return nil
}

func lookAtPool(pool ceph.Pool, upmaps map[string][]int, shows map[string]string) {
	shows["pool"] = fmt.Sprintf("to have %d PGs, placed as %d, autoscaler %s", pool.PGNumTarget, pool.PGPlacementTarget, pool.AutoscaleMode)
	for option, value := range pool.Options {
		shows["pool option "+option] = value
	}
	for _, flag := range pool.Flags {
		if flag != "hashpspool" && flag != "selfmanaged_snaps" { // The rounds change neither flag.
			shows["pool flag "+flag] = "set"
		}
	}
	for pg, osds := range upmaps {
		if _, inPool := strings.CutPrefix(pg, fmt.Sprintf("%d.", pool.ID)); inPool && shows["upmaps"] == "" {
			shows["upmaps"] = fmt.Sprint(osds)
		}
	}
}
