package ceph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// Tuner has the verbs that change settings of Ceph. Each verb carries a Fence. The verb fails with a
// *FencedError if the sidecar has seen a higher epoch, or if the deadline of the Fence has already passed. Each
// verb is idempotent: setting a value again succeeds, and so does removing a missing value. Only MarkOSDsDown
// is not idempotent for OSDs without the flag noup. If the answer to a verb was lost, the change may still take
// effect, but at most LongestChange after the lock was verified for it. The lock is verified before each change.
type Tuner interface {
	// SetPoolOption is `ceph osd pool set POOL OPTION VALUE`.
	SetPoolOption(ctx context.Context, conn Connection, fence Fence, pool, option, value string) error
	// UnsetPoolOption is `ceph osd pool set` with the value that makes Ceph remove the option. It refuses an
	// option that cannot be removed, such as pg_num.
	UnsetPoolOption(ctx context.Context, conn Connection, fence Fence, pool, option string) error
	// SetConfig is `ceph config set SECTION[/MASK] OPTION VALUE`.
	SetConfig(ctx context.Context, conn Connection, fence Fence, who ConfigWho, option, value string) error
	// RemoveConfig is `ceph config rm SECTION[/MASK] OPTION`.
	RemoveConfig(ctx context.Context, conn Connection, fence Fence, who ConfigWho, option string) error
	// SetBalancer is `ceph balancer on` or `ceph balancer off`.
	SetBalancer(ctx context.Context, conn Connection, fence Fence, on bool) error
	// SetFlag is `ceph osd set FLAG` or `ceph osd unset FLAG`. It accepts only FlagNoScrub and
	// FlagNoDeepScrub.
	SetFlag(ctx context.Context, conn Connection, fence Fence, flag string, on bool) error
	// PlacePGs is `ceph osd pg-upmap POOL.NUMBER OSD …` for each of at most MaxPlaced placement groups of a
	// scratch pool. It refuses other pools. Each placement group needs as many different OSDs as the pool
	// has copies or chunks. The monitors drop the upmaps when the pool is removed.
	PlacePGs(ctx context.Context, conn Connection, fence Fence, pool string, pgs []PGPlacement) error
	// SetNoUp is `ceph osd set-group noup osd.ID` or `ceph osd unset-group noup osd.ID`. While an OSD has
	// the flag, it cannot come up once it is down. When the flag is unset, the OSD comes up by itself.
	SetNoUp(ctx context.Context, conn Connection, fence Fence, osd int, on bool) error
	// MarkOSDsDown is `ceph osd down osd.ID…` for 1 to 16 OSDs. Their processes keep running, and the OSDs
	// come up again immediately unless they have the flag noup.
	MarkOSDsDown(ctx context.Context, conn Connection, fence Fence, osds []int) error
}

// MaxPlaced is how many placement groups one call of PlacePGs may place. Even a slow cluster accepts this
// many within LongestChange.
const MaxPlaced = 32

// These are the flags that SetFlag accepts.
const (
	FlagNoScrub     = "noscrub"
	FlagNoDeepScrub = "nodeep-scrub"
)

// FlagNoUp is the flag of single OSDs that SetNoUp sets and unsets.
const FlagNoUp = "noup"

const (
	// LongestChange is the longest time between the check of the lock that precedes each change and the moment at
	// which the change takes effect. A process that takes over the lock waits this long, and then reads the settings
	// again. So does a process that got no answer to a change.
	LongestChange = 30 * time.Second
	// ChangeTime is the time from the request for the lock until the command of a change is killed. In the
	// rest of LongestChange, monitors may still carry out requests that they received before.
	ChangeTime = LongestChange - 5*time.Second
	// maxValue is the greatest length of the value of an option, in bytes.
	maxValue = 1024
)

// Fence prevents changes by a process that has lost the lock.
type Fence struct {
	// FSID identifies the locked Ceph cluster.
	FSID string
	// Epoch is the epoch in which the lock is held. A verb is refused if an earlier verb had a higher epoch.
	Epoch int64
	// Until is the deadline of the change. It counts from the request for the lock, not from the request for
	// the change. So the change of a process that was paused too long between the two requests is refused: the
	// lock may have a new holder by then.
	Until time.Time
	// Restores says that the change restores the original from the journal. Restoring must always be
	// possible, so Permit is not called, and options that are otherwise never changed are allowed.
	Restores bool
}

// Setting is a change of one option: of the central configuration or of a pool.
type Setting struct {
	// Pool is empty for an option of the central configuration. Who is empty for an option of a
	// pool.
	Pool   string
	Who    ConfigWho
	Option string
	// Value is the value to set. The zero Value unsets the option.
	Value cephvalue.Value
}

// Permit returns an error if the administrator does not allow a setting.
type Permit func(ctx context.Context, conn Connection, setting Setting) error

// FencedError reports a change that was refused because of its Fence, before Ceph was asked.
type FencedError struct{ Message string }

// Error implements error.
func (e *FencedError) Error() string { return e.Message }

// Unsure reports whether a change that ended with an error may have taken effect, or may do so later. It
// returns false if the error proves that Ceph refused the change or was not asked.
func Unsure(err error) bool {
	if err == nil {
		return false
	}
	_, invalid := errors.AsType[*InvalidError](err)
	_, fenced := errors.AsType[*FencedError](err)
	_, unsent := errors.AsType[*unsentError](err)
	_, unreadable := errors.AsType[*UnreadableKeyError](err)
	answer, answered := errors.AsType[*Error](err)
	return !invalid && !fenced && !unsent && !unreadable && (!answered || !answer.refuses())
}

// refuses reports whether Ceph refused the verb. It returns false for errors of the connection, and for a
// command without an error number, for example because it was killed.
func (e *Error) refuses() bool {
	return !slices.Contains([]syscall.Errno{
		0, syscall.ETIMEDOUT, syscall.EINTR, syscall.EIO, syscall.EPIPE, syscall.ECONNRESET,
		syscall.ECONNABORTED, syscall.ENOTCONN, syscall.ESHUTDOWN,
	}, syscall.Errno(e.Errno))
}

// unsentError reports a request that did not reach the sidecar.
type unsentError struct {
	socket string
	err    error
}

// Error implements error.
func (e *unsentError) Error() string {
	return fmt.Sprintf("the ceph sidecar does not answer on %s: %v; see the log of the container ceph in the manager's pod", e.socket, e.err)
}

// Unwrap returns the cause.
func (e *unsentError) Unwrap() error { return e.err }

// ConfigWho names the daemons that an entry of the central configuration applies to.
type ConfigWho struct {
	// Section is a section of the configuration, such as "osd".
	Section string `json:"section"`
	// Mask narrows the section, such as "class:ssd" or "host:node-1". Empty means the whole
	// section.
	Mask string `json:"mask,omitempty"`
}

// String returns the form that `ceph config set` accepts.
func (w ConfigWho) String() string {
	if w.Mask == "" {
		return w.Section
	}
	return w.Section + "/" + w.Mask
}

// OptionHelp describes an option. It is the result of `ceph config help`.
type OptionHelp struct {
	// Known reports whether this Ceph release has the option. If it does not, only Name is set.
	Known bool   `json:"known"`
	Name  string `json:"name"`
	// Type is str, int, uint, float, bool, size, secs, millisecs, uuid, addr or addrvec.
	Type        string `json:"type,omitempty"`
	Level       string `json:"level,omitempty"`
	Description string `json:"description,omitempty"`
	// Default, Min and Max are in the form that Ceph prints; empty if missing. In daemons, DaemonDefault
	// takes precedence over Default.
	Default       string `json:"default,omitempty"`
	DaemonDefault string `json:"daemonDefault,omitempty"`
	Min           string `json:"min,omitempty"`
	Max           string `json:"max,omitempty"`
	// Enum lists the values that are allowed for an option of type str; empty if any value is allowed.
	Enum []string `json:"enum,omitempty"`
	// Services lists the types of daemons that use the option, if Ceph reports them.
	Services []string `json:"services,omitempty"`
	// Runtime reports whether daemons apply changes while they run, according to Ceph. Ceph calls this a
	// crude indicator. Only RunningConfig shows whether a daemon has applied a change.
	Runtime bool `json:"runtime"`
	// Flags holds flags such as "runtime", "startup" and "no_mon_update".
	Flags []string `json:"flags,omitempty"`
}

// Running holds the option values that one OSD runs with.
type Running struct {
	OSD int `json:"osd"`
	// Error says why the values are unknown, for example because the OSD is down. Options is
	// then empty.
	Error   string          `json:"error,omitempty"`
	Options []RunningOption `json:"options,omitempty"`
}

// RunningOption is an option of a daemon, as the daemon reports it to ceph-mgr.
type RunningOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source names the origin of the value: default, mon (the central configuration), file, env,
	// cmdline, or override (set in the daemon itself).
	Source string `json:"source"`
	// Default is the daemon's own default, if the value overrides it.
	Default string `json:"default,omitempty"`
	// Ignored says that the central configuration has another value, which the daemon applies
	// only after a restart.
	Ignored bool `json:"ignored,omitempty"`
}

// Option returns the option with a name, and whether Options contains it.
func (r Running) Option(name string) (RunningOption, bool) {
	for _, option := range r.Options {
		if option.Name == name {
			return option, true
		}
	}
	return RunningOption{}, false
}

// Balancer is the result of `ceph balancer status`.
type Balancer struct {
	Active bool   `json:"active"`
	Mode   string `json:"mode"`
	// Plans lists the plans that wait to be executed.
	Plans []string `json:"plans,omitempty"`
}

// Stop is the result of `ceph osd ok-to-stop`.
type Stop struct {
	// OK reports whether all PGs stay available without the OSDs in the field OSDs. Ceph reports true for an OSD
	// that does not exist, too.
	OK bool `json:"ok"`
	// OSDs lists the OSDs that the answer is about.
	OSDs []int `json:"osds"`
	// Reason is Ceph's explanation if OK is false.
	Reason string `json:"reason,omitempty"`
	// PGs counts the placement groups on these OSDs that stay available. BadPGs counts the placement groups
	// that do not. If Ceph answers with an error, both are 0, and only Reason says how many
	// placement groups do not stay available.
	PGs    int `json:"pgs"`
	BadPGs int `json:"badPGs"`
}

// Recovered counts the objects and bytes that recovery and backfill have recovered since the existing pools
// were created. The counts fall only when a pool is removed.
type Recovered struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// valid refuses a fence without a valid FSID or epoch.
func (f Fence) valid() error {
	if !fsidForm.MatchString(f.FSID) {
		return &InvalidError{fmt.Sprintf("%q is not the FSID of a Ceph cluster", f.FSID)}
	}
	if f.Epoch < 1 {
		return &InvalidError{fmt.Sprintf("there is no epoch %d", f.Epoch)}
	}
	return nil
}

// inTime refuses a change past its deadline. It compares the monotonic clock, because the wall clock can be
// set. It also compares the wall clock, because a monotonic time means nothing in another process.
func (f Fence) inTime(now time.Time) error {
	if now.Before(f.Until) && now.Round(0).Before(f.Until.Round(0)) {
		return nil
	}
	return &FencedError{fmt.Sprintf("the change of the Ceph cluster %s was delayed beyond its deadline and not made", f.FSID)}
}
