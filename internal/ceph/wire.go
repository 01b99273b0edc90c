package ceph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"
)

const (
	// DefaultTimeout is the timeout of a verb whose context has no deadline.
	DefaultTimeout = 15 * time.Second
	// maxTimeout is the longest timeout of a verb.
	maxTimeout = 30 * time.Minute

	// maxRequest holds a value of config-key and maxPerRequest names of objects.
	maxRequest = 4 << 20
	// maxPerRequest is how many objects one request removes.
	maxPerRequest = 1000

	// pathPrefix comes before the name of the verb.
	pathPrefix = "/v1/"
)

// request is the body of a request. It carries the time left instead of the deadline, because
// the wall clock may be set meanwhile.
type request struct {
	Connection          Connection      `json:"connection"`
	TimeoutMilliseconds int64           `json:"timeoutMilliseconds"`
	Args                json.RawMessage `json:"args,omitempty"`
	// Fence is set for a verb that changes something.
	Fence *wireFence `json:"fence,omitempty"`
	// received is when the request was read. The times in the request count from then.
	received time.Time
}

// failed is the body of an answer other than 200.
type failed struct {
	// Ceph is the error of Ceph, if Ceph was asked.
	Ceph *Error `json:"ceph,omitempty"`
	// Message describes any other error. Timeout says that a deadline passed.
	Message string `json:"message,omitempty"`
	Timeout bool   `json:"timeout,omitempty"`
	// Invalid says that Ceph was not asked because of the arguments.
	Invalid bool `json:"invalid,omitempty"`
	// Fenced says that Ceph was not asked because the lock does not hold.
	Fenced bool `json:"fenced,omitempty"`
	// UnreadableKey says that Ceph was not asked because its commands cannot read the key.
	UnreadableKey *UnreadableKeyError `json:"unreadableKey,omitempty"`
}

// failedBy returns the form of an error on the wire.
func failedBy(err error) failed {
	if ceph, is := errors.AsType[*Error](err); is {
		return failed{Ceph: ceph}
	}
	if key, is := errors.AsType[*UnreadableKeyError](err); is {
		return failed{UnreadableKey: key}
	}
	_, invalid := errors.AsType[*InvalidError](err)
	_, fenced := errors.AsType[*FencedError](err)
	return failed{Message: err.Error(), Timeout: errors.Is(err, context.DeadlineExceeded), Invalid: invalid, Fenced: fenced}
}

// err returns an error of the original type, for the types that callers distinguish.
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

// timeoutError stands for a context.DeadlineExceeded in the sidecar.
type timeoutError struct{ message string }

// Error implements error.
func (e *timeoutError) Error() string { return e.message }

// Unwrap makes errors.Is work with context.DeadlineExceeded.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

type (
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
	nothing struct{}
)

// verb is a function that carries out a request.
type verb func(ctx context.Context, to Client, r request) (any, error)

// verbs maps the last part of a path to its verb.
func verbs() map[string]verb {
	all := readingVerbs()
	maps.Copy(all, keepingVerbs())
	maps.Copy(all, changingVerbs())
	return all
}

// readingVerbs returns the verbs that change nothing.
func readingVerbs() map[string]verb {
	return map[string]verb{
		"status":     read(Client.Status),
		"osdMap":     read(Client.OSDMap),
		"osds":       read(Client.OSDs),
		"osdTree":    read(Client.OSDTree),
		"df":         read(Client.DF),
		"osdPerf":    read(Client.OSDPerf),
		"osdIO":      read(Client.OSDIO),
		"pgs":        read(Client.PGs),
		"strays":     read(Client.Strays),
		"poolIO":     read(Client.PoolIO),
		"versions":   read(Client.Versions),
		"configDump": read(Client.ConfigDump),
		"configShow": with(func(ctx context.Context, to Client, at Connection, a configShowArgs) (string, error) {
			return to.ConfigShow(ctx, at, a.OSD, a.Option)
		}),
		"configHelp": with(func(ctx context.Context, to Client, at Connection, a optionArgs) (*OptionHelp, error) {
			return to.ConfigHelp(ctx, at, a.Option)
		}),
		"runningConfig": with(func(ctx context.Context, to Client, at Connection, a runningArgs) ([]Running, error) {
			return to.RunningConfig(ctx, at, a.OSDs, a.Options)
		}),
		"balancer": read(Client.Balancer),
		"pgsOn": with(func(ctx context.Context, to Client, at Connection, a osdsArgs) ([]PG, error) {
			return to.PGsOn(ctx, at, a.OSDs...)
		}),
		"okToStop": with(func(ctx context.Context, to Client, at Connection, a osdsArgs) (*Stop, error) {
			return to.OKToStop(ctx, at, a.OSDs...)
		}),
		"recovered": read(Client.Recovered),
	}
}

// keepingVerbs returns the verbs for the operator's own records, images and objects.
func keepingVerbs() map[string]verb {
	return map[string]verb{
		"dropOSDCaches": with(func(ctx context.Context, to Client, at Connection, _ nothing) (nothing, error) {
			return nothing{}, to.DropOSDCaches(ctx, at)
		}),
		"getKey": with(func(ctx context.Context, to Client, at Connection, a keyArgs) (keyAnswer, error) {
			value, found, err := to.GetKey(ctx, at, a.Key)
			return keyAnswer{value, found}, err
		}),
		"setKey": with(func(ctx context.Context, to Client, at Connection, a keyArgs) (nothing, error) {
			return nothing{}, to.SetKey(ctx, at, a.Key, a.Value)
		}),
		"removeKey": with(func(ctx context.Context, to Client, at Connection, a keyArgs) (nothing, error) {
			return nothing{}, to.RemoveKey(ctx, at, a.Key)
		}),
		"images": with(func(ctx context.Context, to Client, at Connection, a imageArgs) ([]string, error) {
			return to.Images(ctx, at, a.Pool, a.Prefix)
		}),
		"removeImage": with(func(ctx context.Context, to Client, at Connection, a imageArgs) (nothing, error) {
			return nothing{}, to.RemoveImage(ctx, at, a.Pool, a.Image)
		}),
		"objects": with(func(ctx context.Context, to Client, at Connection, a objectArgs) ([]string, error) {
			return to.Objects(ctx, at, a.Pool, a.Namespace, a.Prefix, a.Limit)
		}),
		"removeObjects": with(func(ctx context.Context, to Client, at Connection, a objectArgs) (nothing, error) {
			return nothing{}, to.RemoveObjects(ctx, at, a.Pool, a.Namespace, a.Objects)
		}),
	}
}

// with returns a verb that has arguments.
func with[A, T any](do func(context.Context, Client, Connection, A) (T, error)) verb {
	return func(ctx context.Context, to Client, r request) (any, error) {
		args, err := arguments[A](r)
		if err != nil {
			return nil, err
		}
		return do(ctx, to, r.Connection, args)
	}
}

// arguments decodes the arguments of a request.
func arguments[A any](r request) (args A, err error) {
	if len(r.Args) == 0 {
		return args, nil
	}
	if err := decodeStrictly(bytes.NewReader(r.Args), &args); err != nil {
		return args, &InvalidError{"the arguments cannot be read: " + err.Error()}
	}
	return args, nil
}

// read returns a verb that has no arguments.
func read[T any](do func(Client, context.Context, Connection) (T, error)) verb {
	return with(func(ctx context.Context, to Client, at Connection, _ nothing) (T, error) { return do(to, ctx, at) })
}

// decodeStrictly reads one JSON document. It refuses unknown fields and trailing data.
func decodeStrictly(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// timeout returns the time left for a request.
func (r request) timeout() (time.Duration, error) {
	if r.TimeoutMilliseconds < 1 {
		return 0, &InvalidError{fmt.Sprintf("the timeout is %d ms", r.TimeoutMilliseconds)}
	}
	return time.Duration(min(r.TimeoutMilliseconds, maxTimeout.Milliseconds())) * time.Millisecond, nil
}
