package ceph

import (
	"bytes"
	"context"
	"time"
)

// This file has the table of verbs. Each verb has a row: Sidecar uses it to send the verb, Handler to carry
// out a request, and CLI to find the command of Ceph.

// permission classifies a verb by the changes that it makes in Ceph.
type permission string

const (
	// mayRead is for verbs that change nothing.
	mayRead permission = "read"
	// mayKeep is for verbs that change only the operator's own images, objects and entries of config-key, or
	// drop the caches of OSDs.
	mayKeep permission = "keep"
	// mayChange is for verbs that change settings of Ceph. They need a Tuner, and a Fence in the request.
	mayChange permission = "change"
)

// info is the part of a row that does not depend on the types of arguments and result.
type info struct {
	// name is the last part of the path in the URL of a request.
	name       string
	permission permission
	question
}

func (i info) about() info { return i }

// question is a command of Ceph, and the daemon that answers it.
type question struct {
	// command is empty if it depends on the arguments, or if the verb executes several commands.
	command string
	// daemon is set only if the command can be asked in a conversation. The answer must then be a JSON
	// document, so that its end can be found in the output of a process that stays open.
	daemon daemon
}

// daemon is a kind of daemon of Ceph.
type daemon string

const (
	noDaemon daemon = "" // The command needs a separate process.
	monitor  daemon = "mon"
	manager  daemon = "mgr"
)

// verb is a row of the table: a verb with the arguments A and the result T.
type verb[A, T any] struct {
	info
	// do calls the method of Client or Tuner. The fence is empty unless the permission is mayChange.
	do func(ctx context.Context, to Client, at Connection, fence Fence, args A) (T, error)
}

// query returns the row of a mayRead verb without arguments.
func query[T any](name, command string, from daemon, do func(Client, context.Context, Connection) (T, error)) verb[nothing, T] {
	return reads(name, command, from, func(ctx context.Context, to Client, at Connection, _ nothing) (T, error) {
		return do(to, ctx, at)
	})
}

// reads returns the row of a mayRead verb with arguments.
func reads[A, T any](name, command string, from daemon, do func(context.Context, Client, Connection, A) (T, error)) verb[A, T] {
	return verb[A, T]{
		info: info{name, mayRead, question{command, from}},
		do: func(ctx context.Context, to Client, at Connection, _ Fence, args A) (T, error) {
			return do(ctx, to, at, args)
		},
	}
}

// keeps returns the row of a mayKeep verb.
func keeps[A any](name, command string, do func(context.Context, Client, Connection, A) error) verb[A, nothing] {
	return verb[A, nothing]{
		info: info{name, mayKeep, question{command, noDaemon}},
		do: func(ctx context.Context, to Client, at Connection, _ Fence, args A) (nothing, error) {
			return nothing{}, do(ctx, to, at, args)
		},
	}
}

// changes returns the row of a mayChange verb.
func changes[A any](name, command string, do func(context.Context, Tuner, Connection, Fence, A) error) verb[A, nothing] {
	return verb[A, nothing]{
		info: info{name, mayChange, question{command, noDaemon}},
		do: func(ctx context.Context, to Client, at Connection, fence Fence, args A) (nothing, error) {
			tuner, is := to.(Tuner)
			if !is {
				return nothing{}, &InvalidError{"this ceph sidecar may not change settings"}
			}
			return nothing{}, do(ctx, tuner, at, fence, args)
		},
	}
}

// row is a verb with any types of arguments and result.
type row interface {
	about() info
	carryOut(ctx context.Context, to Client, r request) (any, error)
}

// carryOut decodes the arguments, checks the deadline of the fence, and calls the method.
func (v verb[A, T]) carryOut(ctx context.Context, to Client, r request) (any, error) {
	args, err := arguments[A](r)
	if err != nil {
		return nil, err
	}
	var fence Fence
	if v.permission == mayChange {
		if r.Fence == nil {
			return nil, &InvalidError{"a change needs a fence"}
		}
		fence = r.Fence.fence(r.received)
		if err := fence.inTime(time.Now()); err != nil {
			return nil, err
		}
	}
	return v.do(ctx, to, r.Connection, fence, args)
}

// arguments decodes the arguments of a request. Missing arguments give the zero value.
func arguments[A any](r request) (args A, err error) {
	if len(r.Args) == 0 {
		return args, nil
	}
	if err := decodeStrictly(bytes.NewReader(r.Args), &args); err != nil {
		return args, &InvalidError{"the arguments cannot be read: " + err.Error()}
	}
	return args, nil
}

// These are the rows of the table. No code changes them.
var (
	statusVerb     = query("status", "status", monitor, Client.Status)
	osdMapVerb     = query("osdMap", "osd dump", monitor, Client.OSDMap)
	osdsVerb       = query("osds", "osd df", manager, Client.OSDs)
	osdTreeVerb    = query("osdTree", "osd tree", monitor, Client.OSDTree)
	dfVerb         = query("df", "df detail", monitor, Client.DF)
	osdPerfVerb    = query("osdPerf", "osd perf", manager, Client.OSDPerf)
	osdIOVerb      = query("osdIO", "osd status", manager, Client.OSDIO)
	pgsVerb        = query("pgs", "pg dump pgs_brief", manager, Client.PGs)
	straysVerb     = query("strays", "pg dump pgs_brief osds", manager, Client.Strays)
	poolIOVerb     = query("poolIO", "osd pool stats", manager, Client.PoolIO)
	versionsVerb   = query("versions", "versions", monitor, Client.Versions)
	configDumpVerb = query("configDump", "config dump", monitor, Client.ConfigDump)
	balancerVerb   = query("balancer", "balancer status", noDaemon, Client.Balancer)
	recoveredVerb  = query("recovered", "pg dump sum", manager, Client.Recovered)

	configShowVerb = reads("configShow", "config show", noDaemon, func(ctx context.Context, to Client, at Connection, a configShowArgs) (string, error) {
		return to.ConfigShow(ctx, at, a.OSD, a.Option)
	})
	configHelpVerb = reads("configHelp", "config help", monitor, func(ctx context.Context, to Client, at Connection, a optionArgs) (*OptionHelp, error) {
		return to.ConfigHelp(ctx, at, a.Option)
	})
	runningConfigVerb = reads("runningConfig", "config show-with-defaults", manager, func(ctx context.Context, to Client, at Connection, a runningArgs) ([]Running, error) {
		return to.RunningConfig(ctx, at, a.OSDs, a.Options)
	})
	pgsOnVerb = reads("pgsOn", "pg ls-by-osd", manager, func(ctx context.Context, to Client, at Connection, a osdsArgs) ([]PG, error) {
		return to.PGsOn(ctx, at, a.OSDs...)
	})
	okToStopVerb = reads("okToStop", "osd ok-to-stop", noDaemon, func(ctx context.Context, to Client, at Connection, a osdsArgs) (*Stop, error) {
		return to.OKToStop(ctx, at, a.OSDs...)
	})

	dropOSDCachesVerb = keeps("dropOSDCaches", "tell cache drop", func(ctx context.Context, to Client, at Connection, _ nothing) error {
		return to.DropOSDCaches(ctx, at)
	})
	getKeyVerb = reads("getKey", "config-key get", noDaemon, func(ctx context.Context, to Client, at Connection, a keyArgs) (keyAnswer, error) {
		value, found, err := to.GetKey(ctx, at, a.Key)
		return keyAnswer{value, found}, err
	})
	setKeyVerb = keeps("setKey", "config-key set", func(ctx context.Context, to Client, at Connection, a keyArgs) error {
		return to.SetKey(ctx, at, a.Key, a.Value)
	})
	removeKeyVerb = keeps("removeKey", "config-key rm", func(ctx context.Context, to Client, at Connection, a keyArgs) error {
		return to.RemoveKey(ctx, at, a.Key)
	})
	imagesVerb = reads("images", "rbd ls", noDaemon, func(ctx context.Context, to Client, at Connection, a imageArgs) ([]string, error) {
		return to.Images(ctx, at, a.Pool, a.Prefix)
	})
	removeImageVerb = keeps("removeImage", "", func(ctx context.Context, to Client, at Connection, a imageArgs) error {
		return to.RemoveImage(ctx, at, a.Pool, a.Image)
	})
	objectsVerb = reads("objects", "rados ls", noDaemon, func(ctx context.Context, to Client, at Connection, a objectArgs) ([]string, error) {
		return to.Objects(ctx, at, a.Pool, a.Namespace, a.Prefix, a.Limit)
	})
	removeObjectsVerb = keeps("removeObjects", "rados rm", func(ctx context.Context, to Client, at Connection, a objectArgs) error {
		return to.RemoveObjects(ctx, at, a.Pool, a.Namespace, a.Objects)
	})

	setPoolOptionVerb = changes("setPoolOption", "osd pool set", func(ctx context.Context, to Tuner, at Connection, f Fence, a poolOptionArgs) error {
		return to.SetPoolOption(ctx, at, f, a.Pool, a.Option, a.Value)
	})
	unsetPoolOptionVerb = changes("unsetPoolOption", "osd pool set", func(ctx context.Context, to Tuner, at Connection, f Fence, a poolOptionArgs) error {
		return to.UnsetPoolOption(ctx, at, f, a.Pool, a.Option)
	})
	setConfigVerb = changes("setConfig", "config set", func(ctx context.Context, to Tuner, at Connection, f Fence, a configArgs) error {
		return to.SetConfig(ctx, at, f, a.Who, a.Option, a.Value)
	})
	removeConfigVerb = changes("removeConfig", "config rm", func(ctx context.Context, to Tuner, at Connection, f Fence, a configArgs) error {
		return to.RemoveConfig(ctx, at, f, a.Who, a.Option)
	})
	setBalancerVerb = changes("setBalancer", "", func(ctx context.Context, to Tuner, at Connection, f Fence, a switchArgs) error {
		return to.SetBalancer(ctx, at, f, a.On)
	})
	setFlagVerb = changes("setFlag", "", func(ctx context.Context, to Tuner, at Connection, f Fence, a switchArgs) error {
		return to.SetFlag(ctx, at, f, a.Flag, a.On)
	})
	placePGsVerb = changes("placePGs", "osd pg-upmap", func(ctx context.Context, to Tuner, at Connection, f Fence, a placeArgs) error {
		return to.PlacePGs(ctx, at, f, a.Pool, a.PGs)
	})
	setNoUpVerb = changes("setNoUp", "", func(ctx context.Context, to Tuner, at Connection, f Fence, a noUpArgs) error {
		return to.SetNoUp(ctx, at, f, a.OSD, a.On)
	})
	markOSDsDownVerb = changes("markOSDsDown", "osd down", func(ctx context.Context, to Tuner, at Connection, f Fence, a osdsArgs) error {
		return to.MarkOSDsDown(ctx, at, f, a.OSDs)
	})
)

// verbs returns all rows, by the name of the verb.
func verbs() map[string]row {
	all := map[string]row{}
	for _, v := range []row{
		statusVerb, osdMapVerb, osdsVerb, osdTreeVerb, dfVerb, osdPerfVerb, osdIOVerb, pgsVerb,
		straysVerb, poolIOVerb, versionsVerb, configDumpVerb, balancerVerb, recoveredVerb, configShowVerb,
		configHelpVerb, runningConfigVerb, pgsOnVerb, okToStopVerb, dropOSDCachesVerb, getKeyVerb,
		setKeyVerb, removeKeyVerb, imagesVerb, removeImageVerb, objectsVerb, removeObjectsVerb,
		setPoolOptionVerb, unsetPoolOptionVerb, setConfigVerb, removeConfigVerb, setBalancerVerb,
		setFlagVerb, placePGsVerb, setNoUpVerb, markOSDsDownVerb,
	} {
		all[v.about().name] = v
	}
	return all
}

// These types hold arguments and results of verbs on the wire.
type (
	nothing struct{}

	configShowArgs struct {
		OSD    int    `json:"osd"`
		Option string `json:"option"`
	}
	keyArgs struct {
		Key   string `json:"key"`
		Value string `json:"value,omitempty"`
	}
	keyAnswer struct {
		Value string `json:"value"`
		Found bool   `json:"found"`
	}
	imageArgs struct {
		Pool   string `json:"pool"`
		Prefix string `json:"prefix,omitempty"`
		Image  string `json:"image,omitempty"`
	}
	objectArgs struct {
		Pool      string   `json:"pool"`
		Namespace string   `json:"namespace,omitempty"`
		Prefix    string   `json:"prefix,omitempty"`
		Limit     int      `json:"limit,omitempty"`
		Objects   []string `json:"objects,omitempty"`
	}
	optionArgs struct {
		Option string `json:"option"`
	}
	runningArgs struct {
		OSDs    []int    `json:"osds"`
		Options []string `json:"options"`
	}
	osdsArgs struct {
		OSDs []int `json:"osds"`
	}

	poolOptionArgs struct {
		Pool   string `json:"pool"`
		Option string `json:"option"`
		Value  string `json:"value,omitempty"`
	}
	configArgs struct {
		Who    ConfigWho `json:"who"`
		Option string    `json:"option"`
		Value  string    `json:"value,omitempty"`
	}
	placeArgs struct {
		Pool string        `json:"pool"`
		PGs  []PGPlacement `json:"pgs"`
	}
	switchArgs struct {
		Flag string `json:"flag,omitempty"`
		On   bool   `json:"on"`
	}
	noUpArgs struct {
		OSD int  `json:"osd"`
		On  bool `json:"on"`
	}
)
