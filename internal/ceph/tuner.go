package ceph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Tuner has the verbs that change settings. Each carries a Fence, and is refused with a
// *FencedError where the fence does not hold. Each can be repeated: setting what is set
// already and removing what is not there both succeed.
//
// A verb whose answer was lost may still be carried out, until LongestChange has passed
// since it was asked for, and no longer.
type Tuner interface {
	// SetPoolOption is `ceph osd pool set POOL OPTION VALUE`.
	SetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option, value string) error
	// UnsetPoolOption is the same with the value by which Ceph forgets the option. One
	// that cannot be forgotten, such as pg_num, is refused.
	UnsetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option string) error
	// SetConfig is `ceph config set SECTION[/MASK] OPTION VALUE`.
	SetConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option, value string) error
	// RemoveConfig is `ceph config rm SECTION[/MASK] OPTION`.
	RemoveConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option string) error
	// SetBalancer is `ceph balancer on` or `ceph balancer off`.
	SetBalancer(ctx context.Context, at Connection, fence Fence, on bool) error
	// SetFlag is `ceph osd set FLAG` or `ceph osd unset FLAG`, for FlagNoScrub and
	// FlagNoDeepScrub and no other flag.
	SetFlag(ctx context.Context, at Connection, fence Fence, flag string, on bool) error
	// PlacePGs is `ceph osd pg-upmap POOL.NUMBER OSD …` for each of at most MaxPlaced
	// placement groups of a scratch pool. Those of other pools are refused, and so is a list
	// that does not have as many OSDs as the pool has copies or chunks. The monitor drops the
	// entries when the pool is removed.
	PlacePGs(ctx context.Context, at Connection, fence Fence, pool string, pgs []PGPlacement) error
	// SetNoUp is `ceph osd set-group noup osd.ID` or `ceph osd unset-group noup osd.ID`:
	// an OSD that has the flag is not taken up once it is down, and comes up by itself
	// when it loses it.
	SetNoUp(ctx context.Context, at Connection, fence Fence, osd int, on bool) error
	// MarkOSDsDown is `ceph osd down osd.ID…`. Their processes go on, and come up again
	// at once unless they have the flag noup.
	MarkOSDsDown(ctx context.Context, at Connection, fence Fence, osds []int) error
}

// MaxPlaced is how many placement groups one call of PlacePGs places: as many as a slow
// cluster takes within LongestChange.
const MaxPlaced = 32

// The flags that SetFlag knows.
const (
	FlagNoScrub     = "noscrub"
	FlagNoDeepScrub = "nodeep-scrub"
)

// FlagNoUp is the flag of single OSDs that SetNoUp knows.
const FlagNoUp = "noup"

const (
	// LongestChange is how long after a request for the lock a change may still take effect
	// under it. A process that takes over waits as long, and so does one that got no answer to
	// a change; then both read the settings again.
	LongestChange = 30 * time.Second
	// ChangeTime is the part of it after which the command is killed. The rest is for requests
	// that monitors received right before that.
	ChangeTime = LongestChange - 5*time.Second
	// maxValue bounds the value of an option.
	maxValue = 1024
)

// Fence keeps who has lost the lock from changing anything.
type Fence struct {
	// FSID is the Ceph cluster that is locked.
	FSID string
	// Epoch is that of the holding. A verb with a lower epoch than an earlier one is
	// refused.
	Epoch int64
	// Until is the deadline of the change. It counts from the request for the lock, and not
	// from the request for the change: a process that was paused in between is refused,
	// because the lock may have another holder by then.
	Until time.Time
	// Restores says that the change returns a setting to the original in the journal. That must
	// always be possible: bounds, and the lists of options that are never changed, do not apply
	// to it.
	Restores bool
}

// Setting is a value that the central configuration, or a pool, is to have.
type Setting struct {
	// Pool is empty for an option of the central configuration, and Who for one of a pool.
	Pool   string
	Who    ConfigWho
	Option string
	// Set is false where the option is to be unset.
	Set   bool
	Value string
}

// Permit returns an error if the administrator does not allow a setting.
type Permit func(ctx context.Context, at Connection, setting Setting) error

// FencedError is a change that was refused because of its Fence, without Ceph having
// been asked.
type FencedError struct{ Message string }

// Error implements error.
func (e *FencedError) Error() string { return e.Message }

// Unsure reports whether a change that ended with an error may have been made all the same,
// or may still be. Where Ceph has refused it, or was not asked, it was not.
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

// refuses reports whether Ceph has answered, and not that it lost its connection. A command
// that was killed, or broke, has no number.
func (e *Error) refuses() bool {
	return !slices.Contains([]syscall.Errno{
		0, syscall.ETIMEDOUT, syscall.EINTR, syscall.EIO, syscall.EPIPE, syscall.ECONNRESET,
		syscall.ECONNABORTED, syscall.ENOTCONN, syscall.ESHUTDOWN,
	}, syscall.Errno(e.Errno))
}

// unsentError is a request that did not reach the sidecar.
type unsentError struct {
	socket string
	err    error
}

// Error implements error.
func (e *unsentError) Error() string {
	return fmt.Sprintf("the ceph sidecar does not answer on %s: %v", e.socket, e.err)
}

// Unwrap returns why.
func (e *unsentError) Unwrap() error { return e.err }

// ConfigWho is where an option of the central configuration holds.
type ConfigWho struct {
	// Section is such as "osd".
	Section string `json:"section"`
	// Mask limits it, as "class:ssd" or "host:node-1"; empty, it holds for all.
	Mask string `json:"mask,omitempty"`
}

// String is the form that `ceph config set` takes.
func (w ConfigWho) String() string {
	if w.Mask == "" {
		return w.Section
	}
	return w.Section + "/" + w.Mask
}

// OptionHelp is what `ceph config help` says of an option.
type OptionHelp struct {
	// Known reports whether this Ceph has the option. If not, the other fields are empty.
	Known bool   `json:"known"`
	Name  string `json:"name"`
	// Type is str, int, uint, float, bool, size, secs, millisecs, uuid, addr or addrvec.
	Type        string `json:"type,omitempty"`
	Level       string `json:"level,omitempty"`
	Description string `json:"description,omitempty"`
	// Default, Min and Max are as Ceph prints them; empty if missing. DaemonDefault comes
	// before Default in daemons.
	Default       string `json:"default,omitempty"`
	DaemonDefault string `json:"daemonDefault,omitempty"`
	Min           string `json:"min,omitempty"`
	Max           string `json:"max,omitempty"`
	// Enum are the only values that a str may have, if there are any.
	Enum []string `json:"enum,omitempty"`
	// Services are those that the option is for, if Ceph says so.
	Services []string `json:"services,omitempty"`
	// Runtime reports whether daemons claim to take changes while they run. Ceph calls it a
	// crude indicator: proof is what a daemon runs with.
	Runtime bool `json:"runtime"`
	// Flags such as "runtime", "startup" and "no_mon_update".
	Flags []string `json:"flags,omitempty"`
}

// Running is what one OSD runs with.
type Running struct {
	OSD int `json:"osd"`
	// Error says why nothing is known of it, such as that it is down. Then Options is
	// empty.
	Error   string          `json:"error,omitempty"`
	Options []RunningOption `json:"options,omitempty"`
}

// RunningOption is an option of a daemon, as reported to the manager.
type RunningOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is where the value is from: default, mon for the central configuration,
	// file, env, cmdline, or override for what was set in the daemon itself.
	Source string `json:"source"`
	// Ignored says that the central configuration has another value, which the daemon cannot
	// take before it restarts.
	Ignored bool `json:"ignored,omitempty"`
}

// Option returns an option by its name.
func (r Running) Option(name string) (RunningOption, bool) {
	for _, option := range r.Options {
		if option.Name == name {
			return option, true
		}
	}
	return RunningOption{}, false
}

// Balancer is what `ceph balancer status` says.
type Balancer struct {
	Active bool   `json:"active"`
	Mode   string `json:"mode"`
	// Plans are those that wait to be executed.
	Plans []string `json:"plans,omitempty"`
}

// Stop is what `ceph osd ok-to-stop` says.
type Stop struct {
	// OK reports whether all PGs stay available. It is true of an OSD that does not exist.
	OK bool `json:"ok"`
	// OSDs are those that may be stopped together.
	OSDs []int `json:"osds"`
	// Reason is what Ceph says where the answer is no.
	Reason string `json:"reason,omitempty"`
	// PGs that are on them and stay available, and that do not. Nothing counts the
	// second where the answer is no: Reason says it.
	PGs    int `json:"pgs"`
	BadPGs int `json:"badPGs"`
}

// Recovered is what recovery and backfill have done since the pools that there are were
// made. It rises, unless a pool goes.
type Recovered struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// valid refuses what cannot be one.
func (f Fence) valid() error {
	if !fsidForm.MatchString(f.FSID) {
		return &InvalidError{fmt.Sprintf("%q is not the FSID of a Ceph cluster", f.FSID)}
	}
	if f.Epoch < 1 {
		return &InvalidError{fmt.Sprintf("there is no epoch %d", f.Epoch)}
	}
	return nil
}

// inTime refuses a change whose time is over. The clock of a machine can be set, and the
// one that only goes forward is not known to other processes: both are asked.
func (f Fence) inTime(now time.Time) error {
	if now.Before(f.Until) && now.Round(0).Before(f.Until.Round(0)) {
		return nil
	}
	return &FencedError{fmt.Sprintf("the change of the Ceph cluster %s was held up until its time was over, and was not made: whether the lock is still held has to be asked again", f.FSID)}
}
