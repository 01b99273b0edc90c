package ceph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// verbs implements Client and Tuner by the commands that an Executor executes: with arguments in the order of the
// command's row, and with a parser for the output.
type verbs struct{ executor Executor }

var (
	_ Client = verbs{}
	_ Tuner  = verbs{}
)

// read executes a command that changes nothing, and parses its output.
func read[T any](ctx context.Context, v verbs, conn Connection, parse func([]byte) (T, error), prefix string, args ...string) (T, error) {
	var none T
	out, err := v.executor.Execute(ctx, conn, Command{Prefix: prefix, Args: args}, nil)
	if err != nil {
		return none, err
	}
	answer, err := parse(out)
	if err != nil {
		return none, unreadable(prefix, err)
	}
	return answer, nil
}

// refusedWith reports whether Ceph refused a command with an error number. errors.Is does not suffice, because a socket
// of the sidecar that does not exist gives ENOENT, too.
func refusedWith(err error, number syscall.Errno) bool {
	answer, answered := errors.AsType[*Error](err)
	return answered && answer.Errno == int(number)
}

func (v verbs) Status(ctx context.Context, conn Connection) (*Status, error) {
	return read(ctx, v, conn, parseStatus, "status")
}

func (v verbs) OSDMap(ctx context.Context, conn Connection) (*OSDMap, error) {
	return read(ctx, v, conn, parseOSDMap, "osd dump")
}

func (v verbs) OSDs(ctx context.Context, conn Connection) ([]OSD, error) {
	return read(ctx, v, conn, parseOSDs, "osd df")
}

func (v verbs) OSDTree(ctx context.Context, conn Connection) ([]OSDLocation, error) {
	return read(ctx, v, conn, parseOSDTree, "osd tree")
}

func (v verbs) OSDDevices(ctx context.Context, conn Connection) ([]OSDDevice, error) {
	return read(ctx, v, conn, parseOSDDevices, "osd metadata")
}

func (v verbs) DF(ctx context.Context, conn Connection) (*DF, error) {
	return read(ctx, v, conn, parseDF, "df detail")
}

func (v verbs) OSDPerf(ctx context.Context, conn Connection) ([]OSDLatency, error) {
	return read(ctx, v, conn, parseOSDPerf, "osd perf")
}

func (v verbs) OSDIO(ctx context.Context, conn Connection) ([]OSDIO, error) {
	return read(ctx, v, conn, parseOSDIO, "osd status")
}

// OSDCounters tries two commands: if the cluster takes part in telemetry with all that this version of Ceph can report, the
// preview is a sentence that points to the other command.
func (v verbs) OSDCounters(ctx context.Context, conn Connection) ([]OSDCounters, error) {
	counters, err := read(ctx, v, conn, parseOSDCounters, "telemetry preview perf")
	if errors.Is(err, errNoCounters) {
		return read(ctx, v, conn, parseOSDCounters, "telemetry show perf")
	}
	return counters, err
}

func (v verbs) PGs(ctx context.Context, conn Connection) ([]PG, error) {
	return read(ctx, v, conn, parsePGs, "pg dump pgs_brief")
}

func (v verbs) Strays(ctx context.Context, conn Connection) (*Strays, error) {
	return read(ctx, v, conn, parseStrays, "pg dump pgs_brief osds")
}

func (v verbs) PoolIO(ctx context.Context, conn Connection) ([]PoolIO, error) {
	return read(ctx, v, conn, parsePoolIO, "osd pool stats")
}

func (v verbs) Versions(ctx context.Context, conn Connection) (*Versions, error) {
	return read(ctx, v, conn, parseVersions, "versions")
}

func (v verbs) ConfigDump(ctx context.Context, conn Connection) ([]ConfigEntry, error) {
	return read(ctx, v, conn, parseConfigDump, "config dump")
}

func (v verbs) Balancer(ctx context.Context, conn Connection) (*Balancer, error) {
	return read(ctx, v, conn, parseBalancer, "balancer status")
}

func (v verbs) Recovered(ctx context.Context, conn Connection) (*Recovered, error) {
	return read(ctx, v, conn, parseRecovered, "pg dump sum")
}

// ConfigShow implements Client. Ceph prints the plain value, whatever format is requested.
func (v verbs) ConfigShow(ctx context.Context, conn Connection, osd int, option string) (string, error) {
	return read(ctx, v, conn, func(out []byte) (string, error) { return strings.TrimSpace(string(out)), nil },
		"config show", osdWord(osd), option)
}

func (v verbs) ConfigHelp(ctx context.Context, conn Connection, option string) (*OptionHelp, error) {
	help, err := read(ctx, v, conn, parseConfigHelp, "config help", option)
	if refusedWith(err, syscall.ENOENT) {
		return &OptionHelp{Name: option}, nil
	}
	return help, err
}

func (v verbs) RunningConfig(ctx context.Context, conn Connection, osds []int, options []string) ([]Running, error) {
	if len(osds) > maxAsked || len(options) > maxOptions {
		return nil, &InvalidError{fmt.Sprintf("at most %d options of %d OSDs can be asked for at once", maxOptions, maxAsked)}
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	answers := make([]Running, len(osds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askedAtOnce)
	for i, osd := range osds {
		group.Go(func() (err error) {
			answers[i], err = v.running(ctx, conn, osd, options)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return answers, nil
}

// running asks for the whole running configuration of one OSD, defaults included, and selects the options.
// `config show` would leave out options at their default. With the name of an option, `config show` would
// not print the source of the value. If Ceph refuses the command, the result has Ceph's error.
func (v verbs) running(ctx context.Context, conn Connection, osd int, options []string) (Running, error) {
	all, err := read(ctx, v, conn, parseConfigShow, "config show-with-defaults", osdWord(osd))
	if answer, answered := errors.AsType[*Error](err); answered {
		return Running{OSD: osd, Error: answer.Error()}, nil
	}
	if err != nil {
		return Running{}, err
	}
	return Running{OSD: osd, Options: slices.DeleteFunc(all, func(o RunningOption) bool { return !slices.Contains(options, o.Name) })}, nil
}

func (v verbs) PGsOn(ctx context.Context, conn Connection, osds ...int) ([]PG, error) {
	if err := ValidOSDs(osds); err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	var all []PG
	for _, osd := range osds {
		pgs, err := read(ctx, v, conn, parsePGsOn, "pg ls-by-osd", osdWord(osd))
		if err != nil {
			return nil, err
		}
		all = append(all, pgs...)
	}
	slices.SortFunc(all, func(a, b PG) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b PG) bool { return a.ID == b.ID }), nil
}

// OKToStop implements Client. If stopping is not safe, Ceph's command fails with EBUSY. OKToStop then
// returns Ceph's message as Reason, and no error.
func (v verbs) OKToStop(ctx context.Context, conn Connection, osds ...int) (*Stop, error) {
	stop, err := read(ctx, v, conn, parseStop, "osd ok-to-stop", numbers(osds)...)
	if answer, answered := errors.AsType[*Error](err); answered && refusedWith(err, syscall.EBUSY) {
		return &Stop{OSDs: osds, Reason: answer.Message}, nil
	}
	return stop, err
}

func (v verbs) DropOSDCaches(ctx context.Context, conn Connection) error {
	return v.keep(ctx, conn, "tell osd.* cache drop")
}

// keep executes a command that changes only what is the operator's own.
func (v verbs) keep(ctx context.Context, conn Connection, prefix string, args ...string) error {
	_, err := v.executor.Execute(ctx, conn, Command{Prefix: prefix, Args: args}, nil)
	return err
}

func (v verbs) GetKey(ctx context.Context, conn Connection, key string) (string, bool, error) {
	out, err := v.executor.Execute(ctx, conn, Command{Prefix: "config-key get", Args: []string{key}}, nil)
	if refusedWith(err, syscall.ENOENT) {
		return "", false, nil
	}
	return string(out), err == nil, err
}

func (v verbs) SetKey(ctx context.Context, conn Connection, key, value string) error {
	_, err := v.executor.Execute(ctx, conn, Command{Prefix: "config-key set", Args: []string{key}, Input: value}, nil)
	return err
}

func (v verbs) RemoveKey(ctx context.Context, conn Connection, key string) error {
	return v.keep(ctx, conn, "config-key rm", key)
}

// ClientAddresses implements Client. It skips sessions without an address in the form that BlocklistClient takes.
func (v verbs) ClientAddresses(ctx context.Context, conn Connection, monitor, user string) ([]string, error) {
	return read(ctx, v, conn, func(out []byte) ([]string, error) { return parseSessions(out, "client."+user) }, "tell mon sessions", monitor)
}

func (v verbs) BlocklistClient(ctx context.Context, conn Connection, address string, expiry time.Duration) error {
	return v.keep(ctx, conn, "osd blocklist add", address, strconv.Itoa(int(expiry.Seconds())))
}

func (v verbs) Images(ctx context.Context, conn Connection, pool, prefix string) ([]string, error) {
	if err := ownImage(prefix); err != nil {
		return nil, err
	}
	all, err := read(ctx, v, conn, parseImages, "rbd ls", pool)
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, prefix) }), err
}

// RemoveImage implements Client. It fails with EBUSY while a client has the image open, and for up to 30
// seconds after a client died with the image open. It also removes the snapshots of the image, but fails with
// EBUSY if one of them is protected.
func (v verbs) RemoveImage(ctx context.Context, conn Connection, pool, image string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := v.keep(ctx, conn, "rbd rm", pool, image)
	if refusedWith(err, syscall.ENOTEMPTY) {
		if err = v.keep(ctx, conn, "rbd snap purge", pool, image); err == nil {
			err = v.keep(ctx, conn, "rbd rm", pool, image)
		}
	}
	if refusedWith(err, syscall.ENOENT) {
		return nil
	}
	return err
}

func (v verbs) Objects(ctx context.Context, conn Connection, pool, namespace, prefix string, limit int) ([]string, error) {
	return read(ctx, v, conn, func(out []byte) ([]string, error) {
		if len(out) == 0 {
			return nil, nil
		}
		return strings.Split(string(out), "\n"), nil
	}, "rados ls", pool, namespace, prefix, strconv.Itoa(limit))
}

func (v verbs) RemoveObjects(ctx context.Context, conn Connection, pool, namespace string, objects []string) error {
	if err := OwnObjects(pool, namespace, objects); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	for batch := range slices.Chunk(objects, maxArguments) {
		if err := v.removeBatch(ctx, conn, pool, namespace, batch); err != nil {
			return err
		}
	}
	return nil
}

// removeBatch removes objects in order. rados stops at the first missing object, so removeBatch executes it
// again for the objects after the missing one.
func (v verbs) removeBatch(ctx context.Context, conn Connection, pool, namespace string, batch []string) error {
	for len(batch) > 0 {
		err := v.keep(ctx, conn, "rados rm", append([]string{pool, namespace}, batch...)...)
		answer, answered := errors.AsType[*Error](err)
		if !answered || !refusedWith(err, syscall.ENOENT) {
			return err
		}
		missing := slices.IndexFunc(batch, func(name string) bool { return isRemovalOf(answer.Message, name) })
		if missing < 0 {
			return err
		}
		batch = batch[missing+1:]
	}
	return nil
}

// isRemovalOf reports whether a message of rados is about the named object: "error removing
// POOL>NAMESPACE/NAME: (2) No such file or directory".
func isRemovalOf(message, name string) bool {
	before, _, found := strings.Cut(message, name+": (")
	return found && strings.HasPrefix(before, "error removing ") && (strings.HasSuffix(before, "/") || strings.HasSuffix(before, ">"))
}

// change executes a command that changes settings.
func (v verbs) change(ctx context.Context, conn Connection, fence Fence, prefix string, args ...string) error {
	_, err := v.executor.Execute(ctx, conn, Command{Prefix: prefix, Args: args}, &fence)
	return err
}

func (v verbs) SetPoolOption(ctx context.Context, conn Connection, fence Fence, pool, option, value string) error {
	return v.change(ctx, conn, fence, "osd pool set", pool, option, value)
}

func (v verbs) UnsetPoolOption(ctx context.Context, conn Connection, fence Fence, pool, option string) error {
	value, possible := UnsetBy(option)
	if !possible {
		return &InvalidError{fmt.Sprintf("%s of a pool cannot be unset", option)}
	}
	return v.change(ctx, conn, fence, "osd pool set", pool, option, value)
}

func (v verbs) SetConfig(ctx context.Context, conn Connection, fence Fence, who ConfigWho, option, value string) error {
	return v.change(ctx, conn, fence, "config set", who.String(), option, value)
}

func (v verbs) RemoveConfig(ctx context.Context, conn Connection, fence Fence, who ConfigWho, option string) error {
	return v.change(ctx, conn, fence, "config rm", who.String(), option)
}

func (v verbs) SetBalancer(ctx context.Context, conn Connection, fence Fence, on bool) error {
	if on {
		return v.change(ctx, conn, fence, "balancer on")
	}
	return v.change(ctx, conn, fence, "balancer off")
}

func (v verbs) SetFlag(ctx context.Context, conn Connection, fence Fence, flag string, on bool) error {
	if on {
		return v.change(ctx, conn, fence, "osd set", flag)
	}
	return v.change(ctx, conn, fence, "osd unset", flag)
}

func (v verbs) PlacePGs(ctx context.Context, conn Connection, fence Fence, pool string, pgs []PGPlacement) error {
	args := []string{pool}
	for _, pg := range pgs {
		args = append(args, pg.text())
	}
	return v.change(ctx, conn, fence, "osd pg-upmap", args...)
}

func (v verbs) SetNoUp(ctx context.Context, conn Connection, fence Fence, osd int, on bool) error {
	if on {
		return v.change(ctx, conn, fence, "osd set-group", FlagNoUp, osdWord(osd))
	}
	return v.change(ctx, conn, fence, "osd unset-group", FlagNoUp, osdWord(osd))
}

func (v verbs) MarkOSDsDown(ctx context.Context, conn Connection, fence Fence, osds []int) error {
	names := make([]string, len(osds))
	for i, osd := range osds {
		names[i] = osdWord(osd)
	}
	return v.change(ctx, conn, fence, "osd down", names...)
}

func osdWord(osd int) string { return "osd." + strconv.Itoa(osd) }

// OSDNames lists OSDs in the form "osd.1, osd.2".
func OSDNames(osds []int) string {
	var names []string
	for _, id := range slices.Sorted(slices.Values(osds)) {
		names = append(names, osdWord(id))
	}
	return strings.Join(names, ", ")
}

func numbers(osds []int) []string {
	var texts []string
	for _, osd := range osds {
		texts = append(texts, strconv.Itoa(osd))
	}
	return texts
}
