package ceph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"time"
)

// dialTime is ample for a Unix socket that a process listens on.
const dialTime = 2 * time.Second

// Sidecar is a Client that sends the verbs to the server on a Unix socket. It is safe for
// concurrent use.
type Sidecar struct {
	socket  string
	http    *http.Client
	refused func(Connection)
}

var _ Client = (*Sidecar)(nil)

// NewSidecar returns a Sidecar. The socket need not exist yet.
func NewSidecar(socket string) *Sidecar {
	dialer := &net.Dialer{Timeout: dialTime}
	return &Sidecar{socket: socket, refused: func(Connection) {}, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		IdleConnTimeout: time.Minute,
	}}}
}

// WithTransport wraps the HTTP transport to the socket, for example to measure requests.
//
// Call it before the first request.
func (s *Sidecar) WithTransport(wrap func(http.RoundTripper) http.RoundTripper) {
	s.http.Transport = wrap(s.http.Transport)
}

// OnRefusal sets a function that is called with each connection to which Ceph refuses a
// permission: its key may have been replaced.
//
// Call it before the first request.
func (s *Sidecar) OnRefusal(told func(Connection)) { s.refused = told }

// call sends a request and reads its answer.
func call[T any](ctx context.Context, s *Sidecar, verb string, at Connection, args any) (T, error) {
	var result T
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := s.exchange(ctx, verb, request{Connection: at}, args, &result)
	return result, err
}

// exchange sends a request with arguments, and reads the result.
func (s *Sidecar) exchange(ctx context.Context, verb string, to request, args, result any) error {
	body, err := encode(ctx, to, args)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ceph"+pathPrefix+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.http.Do(r)
	if err != nil {
		return s.unanswered(ctx, verb, err)
	}
	defer answer.Body.Close() //nolint:errcheck // Reading left nothing to lose.
	if err := readAnswer(answer, result); err != nil {
		err = s.unanswered(ctx, verb, err)
		if errors.Is(err, fs.ErrPermission) {
			s.refused(to.Connection)
		}
		return err
	}
	return nil
}

// bounded gives a context a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// encode makes the body of a request. The sidecar gets a little less time than the caller has,
// so that its error, which names what Ceph waited for, arrives before the deadline.
func encode(ctx context.Context, to request, args any) ([]byte, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	left -= min(left/10, 500*time.Millisecond)
	to.TimeoutMilliseconds, to.Args = max(1, left.Milliseconds()), raw
	return json.Marshal(to)
}

// readAnswer decodes the result, or returns the error in the answer.
func readAnswer(answer *http.Response, result any) error {
	body := io.LimitReader(answer.Body, maxOutput)
	if answer.StatusCode == http.StatusOK {
		return json.NewDecoder(body).Decode(result)
	}
	var failure failed
	if err := json.NewDecoder(body).Decode(&failure); err != nil {
		return fmt.Errorf("it answered %s", answer.Status)
	}
	return &answered{failure.err()}
}

// answered is an error that the sidecar sent.
type answered struct{ error }

// unanswered turns a failed exchange without an answer of the sidecar into an error that names
// the cause.
func (s *Sidecar) unanswered(ctx context.Context, verb string, err error) error {
	if sent, is := errors.AsType[*answered](err); is {
		return sent.error
	}
	dial, failedAtNetwork := errors.AsType[*net.OpError](err)
	switch {
	case failedAtNetwork && dial.Op == "dial":
		return &unsentError{s.socket, dial.Err}
	case ctx.Err() != nil:
		return fmt.Errorf("the ceph sidecar did not answer to %s in time: %w", verb, ctx.Err())
	default:
		return fmt.Errorf("no answer of the ceph sidecar on %s to %s: %w", s.socket, verb, err)
	}
}

// Status implements Client.
func (s *Sidecar) Status(ctx context.Context, at Connection) (*Status, error) {
	return call[*Status](ctx, s, "status", at, nothing{})
}

// OSDMap implements Client.
func (s *Sidecar) OSDMap(ctx context.Context, at Connection) (*OSDMap, error) {
	return call[*OSDMap](ctx, s, "osdMap", at, nothing{})
}

// OSDs implements Client.
func (s *Sidecar) OSDs(ctx context.Context, at Connection) ([]OSD, error) {
	return call[[]OSD](ctx, s, "osds", at, nothing{})
}

// OSDTree implements Client.
func (s *Sidecar) OSDTree(ctx context.Context, at Connection) ([]OSDLocation, error) {
	return call[[]OSDLocation](ctx, s, "osdTree", at, nothing{})
}

// DF implements Client.
func (s *Sidecar) DF(ctx context.Context, at Connection) (*DF, error) {
	return call[*DF](ctx, s, "df", at, nothing{})
}

// OSDPerf implements Client.
func (s *Sidecar) OSDPerf(ctx context.Context, at Connection) ([]OSDLatency, error) {
	return call[[]OSDLatency](ctx, s, "osdPerf", at, nothing{})
}

// OSDIO implements Client.
func (s *Sidecar) OSDIO(ctx context.Context, at Connection) ([]OSDIO, error) {
	return call[[]OSDIO](ctx, s, "osdIO", at, nothing{})
}

// PGs implements Client.
func (s *Sidecar) PGs(ctx context.Context, at Connection) ([]PG, error) {
	return call[[]PG](ctx, s, "pgs", at, nothing{})
}

// Strays implements Client.
func (s *Sidecar) Strays(ctx context.Context, at Connection) (*Strays, error) {
	return call[*Strays](ctx, s, "strays", at, nothing{})
}

// PoolIO implements Client.
func (s *Sidecar) PoolIO(ctx context.Context, at Connection) ([]PoolIO, error) {
	return call[[]PoolIO](ctx, s, "poolIO", at, nothing{})
}

// Versions implements Client.
func (s *Sidecar) Versions(ctx context.Context, at Connection) (*Versions, error) {
	return call[*Versions](ctx, s, "versions", at, nothing{})
}

// ConfigDump implements Client.
func (s *Sidecar) ConfigDump(ctx context.Context, at Connection) ([]ConfigEntry, error) {
	return call[[]ConfigEntry](ctx, s, "configDump", at, nothing{})
}

// ConfigShow implements Client.
func (s *Sidecar) ConfigShow(ctx context.Context, at Connection, osd int, option string) (string, error) {
	return call[string](ctx, s, "configShow", at, configShowArgs{OSD: osd, Option: option})
}

// ConfigHelp implements Client.
func (s *Sidecar) ConfigHelp(ctx context.Context, at Connection, option string) (*OptionHelp, error) {
	return call[*OptionHelp](ctx, s, "configHelp", at, optionArgs{Option: option})
}

// RunningConfig implements Client.
func (s *Sidecar) RunningConfig(ctx context.Context, at Connection, osds []int, options []string) ([]Running, error) {
	return call[[]Running](ctx, s, "runningConfig", at, runningArgs{OSDs: osds, Options: options})
}

// Balancer implements Client.
func (s *Sidecar) Balancer(ctx context.Context, at Connection) (*Balancer, error) {
	return call[*Balancer](ctx, s, "balancer", at, nothing{})
}

// PGsOn implements Client.
func (s *Sidecar) PGsOn(ctx context.Context, at Connection, osds ...int) ([]PG, error) {
	return call[[]PG](ctx, s, "pgsOn", at, osdsArgs{OSDs: osds})
}

// OKToStop implements Client.
func (s *Sidecar) OKToStop(ctx context.Context, at Connection, osds ...int) (*Stop, error) {
	return call[*Stop](ctx, s, "okToStop", at, osdsArgs{OSDs: osds})
}

// Recovered implements Client.
func (s *Sidecar) Recovered(ctx context.Context, at Connection) (*Recovered, error) {
	return call[*Recovered](ctx, s, "recovered", at, nothing{})
}

// DropOSDCaches implements Client.
func (s *Sidecar) DropOSDCaches(ctx context.Context, at Connection) error {
	_, err := call[nothing](ctx, s, "dropOSDCaches", at, nothing{})
	return err
}

// GetKey implements Client.
func (s *Sidecar) GetKey(ctx context.Context, at Connection, key string) (string, bool, error) {
	answer, err := call[keyAnswer](ctx, s, "getKey", at, keyArgs{Key: key})
	return answer.Value, answer.Found, err
}

// SetKey implements Client.
func (s *Sidecar) SetKey(ctx context.Context, at Connection, key, value string) error {
	_, err := call[nothing](ctx, s, "setKey", at, keyArgs{Key: key, Value: value})
	return err
}

// RemoveKey implements Client.
func (s *Sidecar) RemoveKey(ctx context.Context, at Connection, key string) error {
	_, err := call[nothing](ctx, s, "removeKey", at, keyArgs{Key: key})
	return err
}

// Images implements Client.
func (s *Sidecar) Images(ctx context.Context, at Connection, pool, prefix string) ([]string, error) {
	return call[[]string](ctx, s, "images", at, imageArgs{Pool: pool, Prefix: prefix})
}

// RemoveImage implements Client.
func (s *Sidecar) RemoveImage(ctx context.Context, at Connection, pool, image string) error {
	_, err := call[nothing](ctx, s, "removeImage", at, imageArgs{Pool: pool, Image: image})
	return err
}

// Objects implements Client.
func (s *Sidecar) Objects(ctx context.Context, at Connection, pool, namespace, prefix string, limit int) ([]string, error) {
	return call[[]string](ctx, s, "objects", at, objectArgs{Pool: pool, Namespace: namespace, Prefix: prefix, Limit: limit})
}

// RemoveObjects implements Client.
func (s *Sidecar) RemoveObjects(ctx context.Context, at Connection, pool, namespace string, objects []string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for some := range slices.Chunk(objects, maxPerRequest) {
		args := objectArgs{Pool: pool, Namespace: namespace, Objects: some}
		if _, err := call[nothing](ctx, s, "removeObjects", at, args); err != nil {
			return err
		}
	}
	return nil
}
