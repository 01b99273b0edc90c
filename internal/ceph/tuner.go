package ceph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/cephtune/cephtune/internal/cephvalue"
)

// Tuner has the verbs that change settings. Each carries a Fence, and is refused with a
// *FencedError if the lock was taken over or the deadline of the Fence has passed. Each verb is
// idempotent: setting a value again and removing a missing value both succeed.
//
// A verb whose answer was lost may still take effect until LongestChange after the request for
// the lock, and not later.
type Tuner interface {
	// SetPoolOption is `ceph osd pool set POOL OPTION VALUE`.
	SetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option, value string) error
	// UnsetPoolOption is `ceph osd pool set` with the value that makes Ceph remove the option.
	// It refuses an option that cannot be removed, such as pg_num.
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
	// PlacePGs is `ceph osd pg-upmap POOL.NUMBER OSD …` for each of at most MaxPlaced placement
	// groups of a scratch pool. It refuses placement groups of other pools, and a list of OSDs that
	// does not have a different OSD for each copy or chunk of the pool. The monitor drops the
	// entries when the pool is removed.
	PlacePGs(ctx context.Context, at Connection, fence Fence, pool string, pgs []PGPlacement) error
	// SetNoUp is `ceph osd set-group noup osd.ID` or `ceph osd unset-group noup osd.ID`: an OSD
	// with the flag cannot come up once it is down. It comes up by itself when the flag is
	// unset.
	SetNoUp(ctx context.Context, at Connection, fence Fence, osd int, on bool) error
	// MarkOSDsDown is `ceph osd down osd.ID…` for 1 to 16 OSDs. Their processes keep running, and
	// the OSDs come up again at once unless they have the flag noup.
	MarkOSDsDown(ctx context.Context, at Connection, fence Fence, osds []int) error
}

// MaxPlaced is how many placement groups one call of PlacePGs may place: as many as a slow
// cluster accepts within LongestChange.
const MaxPlaced = 32

// These are the flags that SetFlag accepts.
const (
	FlagNoScrub     = "noscrub"
	FlagNoDeepScrub = "nodeep-scrub"
)

// FlagNoUp is the flag of single OSDs that SetNoUp sets and unsets.
const FlagNoUp = "noup"

const (
	// LongestChange is how long after a request for the lock a change may still take effect
	// under that lock. A process that takes over the lock, or that got no answer to a change,
	// waits this long and then reads the settings again.
	LongestChange = 30 * time.Second
	// ChangeTime is the part of LongestChange after which the command is killed. The rest is for
	// requests that monitors received right before that.
	ChangeTime = LongestChange - 5*time.Second
	// maxValue is the greatest length of the value of an option, in bytes.
	maxValue = 1024
)

// Fence prevents changes by a process that has lost the lock.
type Fence struct {
	// FSID is the Ceph cluster that is locked.
	FSID string
	// Epoch is the epoch in which the lock is held. A verb is refused if an earlier verb had a
	// higher epoch.
	Epoch int64
	// Until is the deadline of the change. It counts from the request for the lock, not from the
	// request for the change. A process that was paused in between is thus refused, as the lock
	// may have another holder by then.
	Until time.Time
	// Restores says that the change restores the original from the journal. Restoring must
	// always be possible, so bounds and the lists of options that are never changed do not
	// apply.
	Restores bool
}

// Setting is a change of one option, of the central configuration or of a pool.
type Setting struct {
	// Pool is empty for an option of the central configuration. Who is empty for an option of a
	// pool.
	Pool   string
	Who    ConfigWho
	Option string
	// Value is the value to set. The zero value unsets the option.
	Value cephvalue.Value
}

// Permit returns an error if the administrator does not allow a setting.
type Permit func(ctx context.Context, at Connection, setting Setting) error

// FencedError reports a change that was refused because of its Fence, before Ceph was asked.
type FencedError struct{ Message string }

// Error implements error.
func (e *FencedError) Error() string { return e.Message }

// Unsure reports whether a change that ended with an error may have taken effect, or still may.
// It cannot if Ceph refused the change or was not asked.
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

// refuses reports whether the error is Ceph's own answer. Some errors only say that the connection
// was lost. A command that was killed or crashed has no error number.
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

// OptionHelp is the description of an option by `ceph config help`.
type OptionHelp struct {
	// Known reports whether this Ceph release has the option. If not, only Name is set.
	Known bool   `json:"known"`
	Name  string `json:"name"`
	// Type is str, int, uint, float, bool, size, secs, millisecs, uuid, addr or addrvec.
	Type        string `json:"type,omitempty"`
	Level       string `json:"level,omitempty"`
	Description string `json:"description,omitempty"`
	// Default, Min and Max are in the form that Ceph prints; empty if missing. In daemons,
	// DaemonDefault takes precedence over Default.
	Default       string `json:"default,omitempty"`
	DaemonDefault string `json:"daemonDefault,omitempty"`
	Min           string `json:"min,omitempty"`
	Max           string `json:"max,omitempty"`
	// Enum lists the only values that a str may have; empty if any value is allowed.
	Enum []string `json:"enum,omitempty"`
	// Services lists the daemon types that the option is for, if Ceph reports them.
	Services []string `json:"services,omitempty"`
	// Runtime reports whether Ceph claims that daemons apply changes while they run. Ceph calls
	// it a crude indicator: only RunningConfig proves it.
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
	// Ignored says that the central configuration has another value, which the daemon applies
	// only after a restart.
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

// Balancer is the result of `ceph balancer status`.
type Balancer struct {
	Active bool   `json:"active"`
	Mode   string `json:"mode"`
	// Plans lists the plans that wait to be executed.
	Plans []string `json:"plans,omitempty"`
}

// Stop is the result of `ceph osd ok-to-stop`.
type Stop struct {
	// OK reports whether all PGs stay available. Ceph also reports that for an OSD that does not
	// exist.
	OK bool `json:"ok"`
	// OSDs lists the OSDs that the answer is about.
	OSDs []int `json:"osds"`
	// Reason is Ceph's explanation if OK is false.
	Reason string `json:"reason,omitempty"`
	// PGs counts placement groups on these OSDs that stay available, BadPGs those that do not. If
	// Ceph refuses, both are 0, and only Reason names placement groups.
	PGs    int `json:"pgs"`
	BadPGs int `json:"badPGs"`
}

// Recovered counts what recovery and backfill have done since the existing pools were created. The
// counts fall only when a pool is removed.
type Recovered struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// valid refuses an incomplete fence.
func (f Fence) valid() error {
	if !fsidForm.MatchString(f.FSID) {
		return &InvalidError{fmt.Sprintf("%q is not the FSID of a Ceph cluster", f.FSID)}
	}
	if f.Epoch < 1 {
		return &InvalidError{fmt.Sprintf("there is no epoch %d", f.Epoch)}
	}
	return nil
}

// inTime refuses a change past its deadline. It compares both clocks: the wall clock can be set,
// and a monotonic time means nothing to another process.
func (f Fence) inTime(now time.Time) error {
	if now.Before(f.Until) && now.Round(0).Before(f.Until.Round(0)) {
		return nil
	}
	return &FencedError{fmt.Sprintf("the change of the Ceph cluster %s was delayed beyond its deadline and not made", f.FSID)}
}
