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

// dialTime is the timeout of connecting to the Unix socket.
const dialTime = 2 * time.Second

// Sidecar is a Client and a Tuner that sends the verbs to the server on a Unix socket. It is safe for
// concurrent use.
type Sidecar struct {
	socket  string
	http    *http.Client
	refused func(Connection)
}

var (
	_ Client = (*Sidecar)(nil)
	_ Tuner  = (*Sidecar)(nil)
)

// NewSidecar returns a Sidecar for the socket with this path. The socket need not exist yet.
func NewSidecar(socket string) *Sidecar {
	dialer := &net.Dialer{Timeout: dialTime}
	return &Sidecar{socket: socket, refused: func(Connection) {}, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		IdleConnTimeout: time.Minute,
	}}}
}

// WithTransport wraps the HTTP transport to the socket, for example to measure requests. Call it before the
// first request.
func (s *Sidecar) WithTransport(wrap func(http.RoundTripper) http.RoundTripper) {
	s.http.Transport = wrap(s.http.Transport)
}

// OnRefusal sets a function that Sidecar calls after a permission error, with the connection of the request.
// The key of that connection may have been replaced. Call OnRefusal before the first request.
func (s *Sidecar) OnRefusal(told func(Connection)) { s.refused = told }

// send sends a verb that needs no fence, and returns the result.
func (v verb[A, T]) send(ctx context.Context, s *Sidecar, at Connection, args A) (T, error) {
	var result T
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := s.exchange(ctx, v.name, request{Connection: at}, args, &result)
	return result, err
}

// exchange sends a request with arguments, and decodes the answer into result.
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
	defer answer.Body.Close() //nolint:errcheck // The body was only read, so a failed close loses no data.
	if err := readAnswer(answer, result); err != nil {
		err = s.unanswered(ctx, verb, err)
		if errors.Is(err, fs.ErrPermission) {
			s.refused(to.Connection)
		}
		return err
	}
	return nil
}

// bounded adds DefaultTimeout to a context without a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// encode makes the body of a request. It gives the sidecar less time than the caller has. So the error of
// the sidecar arrives before the caller's deadline, and says what Ceph waited for.
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

// readAnswer decodes the result, or returns the error that the answer contains.
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

// unanswered returns the error that the sidecar sent. If the sidecar sent no error, unanswered says why the
// request failed.
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
		return fmt.Errorf("no valid answer of the ceph sidecar on %s to %s: %w", s.socket, verb, err)
	}
}

// Status implements Client.
func (s *Sidecar) Status(ctx context.Context, at Connection) (*Status, error) {
	return statusVerb.send(ctx, s, at, nothing{})
}

// OSDMap implements Client.
func (s *Sidecar) OSDMap(ctx context.Context, at Connection) (*OSDMap, error) {
	return osdMapVerb.send(ctx, s, at, nothing{})
}

// OSDs implements Client.
func (s *Sidecar) OSDs(ctx context.Context, at Connection) ([]OSD, error) {
	return osdsVerb.send(ctx, s, at, nothing{})
}

// OSDTree implements Client.
func (s *Sidecar) OSDTree(ctx context.Context, at Connection) ([]OSDLocation, error) {
	return osdTreeVerb.send(ctx, s, at, nothing{})
}

// DF implements Client.
func (s *Sidecar) DF(ctx context.Context, at Connection) (*DF, error) {
	return dfVerb.send(ctx, s, at, nothing{})
}

// OSDPerf implements Client.
func (s *Sidecar) OSDPerf(ctx context.Context, at Connection) ([]OSDLatency, error) {
	return osdPerfVerb.send(ctx, s, at, nothing{})
}

// OSDIO implements Client.
func (s *Sidecar) OSDIO(ctx context.Context, at Connection) ([]OSDIO, error) {
	return osdIOVerb.send(ctx, s, at, nothing{})
}

// PGs implements Client.
func (s *Sidecar) PGs(ctx context.Context, at Connection) ([]PG, error) {
	return pgsVerb.send(ctx, s, at, nothing{})
}

// Strays implements Client.
func (s *Sidecar) Strays(ctx context.Context, at Connection) (*Strays, error) {
	return straysVerb.send(ctx, s, at, nothing{})
}

// PoolIO implements Client.
func (s *Sidecar) PoolIO(ctx context.Context, at Connection) ([]PoolIO, error) {
	return poolIOVerb.send(ctx, s, at, nothing{})
}

// Versions implements Client.
func (s *Sidecar) Versions(ctx context.Context, at Connection) (*Versions, error) {
	return versionsVerb.send(ctx, s, at, nothing{})
}

// ConfigDump implements Client.
func (s *Sidecar) ConfigDump(ctx context.Context, at Connection) ([]ConfigEntry, error) {
	return configDumpVerb.send(ctx, s, at, nothing{})
}

// ConfigShow implements Client.
func (s *Sidecar) ConfigShow(ctx context.Context, at Connection, osd int, option string) (string, error) {
	return configShowVerb.send(ctx, s, at, configShowArgs{OSD: osd, Option: option})
}

// ConfigHelp implements Client.
func (s *Sidecar) ConfigHelp(ctx context.Context, at Connection, option string) (*OptionHelp, error) {
	return configHelpVerb.send(ctx, s, at, optionArgs{Option: option})
}

// RunningConfig implements Client.
func (s *Sidecar) RunningConfig(ctx context.Context, at Connection, osds []int, options []string) ([]Running, error) {
	return runningConfigVerb.send(ctx, s, at, runningArgs{OSDs: osds, Options: options})
}

// Balancer implements Client.
func (s *Sidecar) Balancer(ctx context.Context, at Connection) (*Balancer, error) {
	return balancerVerb.send(ctx, s, at, nothing{})
}

// PGsOn implements Client.
func (s *Sidecar) PGsOn(ctx context.Context, at Connection, osds ...int) ([]PG, error) {
	return pgsOnVerb.send(ctx, s, at, osdsArgs{OSDs: osds})
}

// OKToStop implements Client.
func (s *Sidecar) OKToStop(ctx context.Context, at Connection, osds ...int) (*Stop, error) {
	return okToStopVerb.send(ctx, s, at, osdsArgs{OSDs: osds})
}

// Recovered implements Client.
func (s *Sidecar) Recovered(ctx context.Context, at Connection) (*Recovered, error) {
	return recoveredVerb.send(ctx, s, at, nothing{})
}

// DropOSDCaches implements Client.
func (s *Sidecar) DropOSDCaches(ctx context.Context, at Connection) error {
	_, err := dropOSDCachesVerb.send(ctx, s, at, nothing{})
	return err
}

// GetKey implements Client.
func (s *Sidecar) GetKey(ctx context.Context, at Connection, key string) (string, bool, error) {
	answer, err := getKeyVerb.send(ctx, s, at, keyArgs{Key: key})
	return answer.Value, answer.Found, err
}

// SetKey implements Client.
func (s *Sidecar) SetKey(ctx context.Context, at Connection, key, value string) error {
	_, err := setKeyVerb.send(ctx, s, at, keyArgs{Key: key, Value: value})
	return err
}

// RemoveKey implements Client.
func (s *Sidecar) RemoveKey(ctx context.Context, at Connection, key string) error {
	_, err := removeKeyVerb.send(ctx, s, at, keyArgs{Key: key})
	return err
}

// Images implements Client.
func (s *Sidecar) Images(ctx context.Context, at Connection, pool, prefix string) ([]string, error) {
	return imagesVerb.send(ctx, s, at, imageArgs{Pool: pool, Prefix: prefix})
}

// RemoveImage implements Client.
func (s *Sidecar) RemoveImage(ctx context.Context, at Connection, pool, image string) error {
	_, err := removeImageVerb.send(ctx, s, at, imageArgs{Pool: pool, Image: image})
	return err
}

// Objects implements Client.
func (s *Sidecar) Objects(ctx context.Context, at Connection, pool, namespace, prefix string, limit int) ([]string, error) {
	return objectsVerb.send(ctx, s, at, objectArgs{Pool: pool, Namespace: namespace, Prefix: prefix, Limit: limit})
}

// RemoveObjects implements Client.
func (s *Sidecar) RemoveObjects(ctx context.Context, at Connection, pool, namespace string, objects []string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for some := range slices.Chunk(objects, maxPerRequest) {
		args := objectArgs{Pool: pool, Namespace: namespace, Objects: some}
		if _, err := removeObjectsVerb.send(ctx, s, at, args); err != nil {
			return err
		}
	}
	return nil
}

// sendFenced sends a verb of a Tuner. The call ends at the deadline of the fence at the latest.
func (v verb[A, T]) sendFenced(ctx context.Context, s *Sidecar, at Connection, fence Fence, args A) error {
	if err := fence.valid(); err != nil {
		return err
	}
	if err := fence.inTime(time.Now()); err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	ctx, end := changing(ctx, fence)
	defer end()
	wire := fence.wire()
	return s.exchange(ctx, v.name, request{Connection: at, Fence: &wire}, args, &nothing{})
}

// SetPoolOption implements Tuner.
func (s *Sidecar) SetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option, value string) error {
	return setPoolOptionVerb.sendFenced(ctx, s, at, fence, poolOptionArgs{Pool: pool, Option: option, Value: value})
}

// UnsetPoolOption implements Tuner.
func (s *Sidecar) UnsetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option string) error {
	return unsetPoolOptionVerb.sendFenced(ctx, s, at, fence, poolOptionArgs{Pool: pool, Option: option})
}

// SetConfig implements Tuner.
func (s *Sidecar) SetConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option, value string) error {
	return setConfigVerb.sendFenced(ctx, s, at, fence, configArgs{Who: who, Option: option, Value: value})
}

// RemoveConfig implements Tuner.
func (s *Sidecar) RemoveConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option string) error {
	return removeConfigVerb.sendFenced(ctx, s, at, fence, configArgs{Who: who, Option: option})
}

// SetBalancer implements Tuner.
func (s *Sidecar) SetBalancer(ctx context.Context, at Connection, fence Fence, on bool) error {
	return setBalancerVerb.sendFenced(ctx, s, at, fence, switchArgs{On: on})
}

// SetFlag implements Tuner.
func (s *Sidecar) SetFlag(ctx context.Context, at Connection, fence Fence, flag string, on bool) error {
	return setFlagVerb.sendFenced(ctx, s, at, fence, switchArgs{Flag: flag, On: on})
}

// PlacePGs implements Tuner.
func (s *Sidecar) PlacePGs(ctx context.Context, at Connection, fence Fence, pool string, pgs []PGPlacement) error {
	return placePGsVerb.sendFenced(ctx, s, at, fence, placeArgs{Pool: pool, PGs: pgs})
}

// SetNoUp implements Tuner.
func (s *Sidecar) SetNoUp(ctx context.Context, at Connection, fence Fence, osd int, on bool) error {
	return setNoUpVerb.sendFenced(ctx, s, at, fence, noUpArgs{OSD: osd, On: on})
}

// MarkOSDsDown implements Tuner.
func (s *Sidecar) MarkOSDsDown(ctx context.Context, at Connection, fence Fence, osds []int) error {
	return markOSDsDownVerb.sendFenced(ctx, s, at, fence, osdsArgs{OSDs: osds})
}
