package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// DefaultTimeout is the timeout of a command whose context has no deadline.
	DefaultTimeout = 15 * time.Second
	// maxTimeout is the longest timeout of a command.
	maxTimeout = 30 * time.Minute

	// maxRequest limits the body of a request, in bytes. It suffices for a value of config-key, or for
	// maxArguments names of objects.
	maxRequest = 4 << 20
	// pathPrefix comes before the prefix of the command in the path of a URL. So metrics need not read the request.
	pathPrefix = "/v2/"
)

// request is the body of a request. It carries the time left for the command instead of the command's deadline,
// because the wall clock may be set meanwhile.
type request struct {
	Connection          Connection `json:"connection"`
	TimeoutMilliseconds int64      `json:"timeoutMilliseconds"`
	Command             Command    `json:"command"`
	// Fence is set only for a command that changes settings.
	Fence *wireFence `json:"fence,omitempty"`
}

// wireFence is a Fence in a request. It carries both the deadline and the time left; whichever ends first
// counts. The deadline guards against a delay of the request on its way: both processes use the clock of one
// machine. The time left guards against a clock that is set back meanwhile.
type wireFence struct {
	FSID                  string `json:"fsid"`
	Epoch                 int64  `json:"epoch"`
	UntilUnixMilliseconds int64  `json:"untilUnixMilliseconds"`
	ValidForMilliseconds  int64  `json:"validForMilliseconds"`
	Restores              bool   `json:"restores,omitempty"`
}

func (f Fence) wire() wireFence {
	return wireFence{
		FSID: f.FSID, Epoch: f.Epoch,
		UntilUnixMilliseconds: f.Until.UnixMilli(), ValidForMilliseconds: time.Until(f.Until).Milliseconds(),
		Restores: f.Restores,
	}
}

func (f wireFence) fence(received time.Time) Fence {
	until := received.Add(time.Duration(f.ValidForMilliseconds) * time.Millisecond)
	if moment := time.UnixMilli(f.UntilUnixMilliseconds); moment.Before(until) {
		until = moment
	}
	return Fence{FSID: f.FSID, Epoch: f.Epoch, Until: until, Restores: f.Restores}
}

// failed is the body of a Handler's answer with a status other than 200.
type failed struct {
	// Ceph is the error that Ceph returned, if any.
	Ceph *Error `json:"ceph,omitempty"`
	// Message describes an error of any other type than Ceph and UnreadableKey. Timeout says that a deadline
	// passed.
	Message string `json:"message,omitempty"`
	Timeout bool   `json:"timeout,omitempty"`
	// Invalid says that the error is an *InvalidError.
	Invalid bool `json:"invalid,omitempty"`
	// Fenced says that Ceph was not asked because of the Fence.
	Fenced bool `json:"fenced,omitempty"`
	// UnreadableKey says that Ceph was not asked because its commands cannot read the key.
	UnreadableKey *UnreadableKeyError `json:"unreadableKey,omitempty"`
}

// failedBy returns the form of an error on the wire.
func failedBy(err error) failed {
	if ceph, found := errors.AsType[*Error](err); found {
		return failed{Ceph: ceph}
	}
	if key, found := errors.AsType[*UnreadableKeyError](err); found {
		return failed{UnreadableKey: key}
	}
	_, invalid := errors.AsType[*InvalidError](err)
	_, fenced := errors.AsType[*FencedError](err)
	return failed{Message: err.Error(), Timeout: errors.Is(err, context.DeadlineExceeded), Invalid: invalid, Fenced: fenced}
}

// err returns an error of the original type if it is one of the types that callers distinguish.
func (f failed) err() error {
	switch {
	case f.Ceph != nil:
		return f.Ceph
	case f.UnreadableKey != nil:
		return f.UnreadableKey
	case f.Timeout:
		return &timeoutError{f.Message}
	case f.Invalid:
		return &InvalidError{f.Message}
	case f.Fenced:
		return &FencedError{f.Message}
	default:
		return errors.New(f.Message)
	}
}

// timeoutError stands for a context.DeadlineExceeded that the sidecar reported.
type timeoutError struct{ message string }

// Error implements error.
func (e *timeoutError) Error() string { return e.message }

// Unwrap makes errors.Is work with context.DeadlineExceeded.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// decodeStrictly reads one JSON document. It refuses unknown fields and trailing data.
func decodeStrictly(reader io.Reader, target any) error {
	decoder := json.NewDecoder(reader)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// timeout returns the time left for a request, at most maxTimeout.
func (r request) timeout() (time.Duration, error) {
	if r.TimeoutMilliseconds < 1 {
		return 0, &InvalidError{fmt.Sprintf("the timeout is %d ms", r.TimeoutMilliseconds)}
	}
	return time.Duration(min(r.TimeoutMilliseconds, maxTimeout.Milliseconds())) * time.Millisecond, nil
}
