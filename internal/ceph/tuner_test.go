package ceph_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

func fence(epoch int64) ceph.Fence {
	return ceph.Fence{FSID: cephtest.FSID, Epoch: epoch, Until: time.Now().Add(time.Hour)}
}

// Every verb for settings arrives with its arguments, and its answer comes back.
func TestVerbsAboutSettingsCrossTheSocket(t *testing.T) {
	who := ceph.ConfigWho{Section: "osd", Mask: "class:ssd"}
	help := cephtest.Options()["osd_memory_target"]
	tests := map[string]struct {
		do   func(context.Context, *ceph.Sidecar) (any, error)
		want any
		args string
	}{
		"ConfigHelp": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return c.ConfigHelp(ctx, someone, "osd_memory_target")
		}, &help, "osd_memory_target"},
		"RunningConfig": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return c.RunningConfig(ctx, someone, []int{2, 9}, []string{"osd_max_backfills"})
		}, []ceph.Running{
			{OSD: 2, Options: []ceph.RunningOption{{Name: "osd_max_backfills", Value: "1", Source: "default"}}},
			{OSD: 9, Error: "Error ENOENT: no config state for daemon osd.9"},
		}, "[2 9] [osd_max_backfills]"},
		"Balancer": {func(ctx context.Context, c *ceph.Sidecar) (any, error) { return c.Balancer(ctx, someone) }, &ceph.Balancer{Active: true, Mode: "upmap"}, ""},
		"OKToStop": {func(ctx context.Context, c *ceph.Sidecar) (any, error) { return c.OKToStop(ctx, someone, 1) }, &ceph.Stop{OK: true, OSDs: []int{1}}, "1"},
		"SetPoolOption": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.SetPoolOption(ctx, someone, fence(1), "p", "pg_num", "64")
		}, nil, "p pg_num 64"},
		"UnsetPoolOption": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.UnsetPoolOption(ctx, someone, fence(1), "p", "compression_mode")
		}, nil, "p compression_mode"},
		"SetConfig": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.SetConfig(ctx, someone, fence(1), who, "osd_memory_target", "4G")
		}, nil, "osd/class:ssd osd_memory_target 4G"},
		"RemoveConfig": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.RemoveConfig(ctx, someone, fence(1), who, "osd_memory_target")
		}, nil, "osd/class:ssd osd_memory_target"},
		"SetBalancer": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.SetBalancer(ctx, someone, fence(1), true)
		}, nil, "true"},
		"Recovered": {func(ctx context.Context, c *ceph.Sidecar) (any, error) { return c.Recovered(ctx, someone) }, &ceph.Recovered{}, ""},
		"SetNoUp": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.SetNoUp(ctx, someone, fence(1), 2, true)
		}, nil, "2 true"},
		"MarkOSDsDown": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.MarkOSDsDown(ctx, someone, fence(1), []int{2, 1})
		}, nil, "[2 1]"},
		"SetFlag": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.SetFlag(ctx, someone, fence(1), ceph.FlagNoScrub, true)
		}, nil, "noscrub true"},
		"PlacePGs": {func(ctx context.Context, c *ceph.Sidecar) (any, error) {
			return nil, c.PlacePGs(ctx, someone, fence(1), "cephtune-scratch", []ceph.PGPlacement{{Number: 1, OSDs: []int{2, 0, 1}}, {Number: 31, OSDs: []int{0, 1, 2}}})
		}, nil, "cephtune-scratch [{1 [2 0 1]} {31 [0 1 2]}]"},
	}
	for verb, test := range tests {
		t.Run(verb, func(t *testing.T) {
			cluster := cephtest.NewCluster("p", "cephtune-scratch")
			client, _ := sidecar(t, cluster)
			got, err := test.do(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			want := []cephtest.Call{{Verb: verb, At: someone, Args: test.args}}
			if diff := cmp.Diff(want, cluster.Calls("")); diff != "" {
				t.Errorf("calls, -want +got:\n%s", diff)
			}
		})
	}
}

func TestFencesCrossTheSocket(t *testing.T) {
	cluster := cephtest.NewCluster("p")
	client, _ := sidecar(t, cluster)
	if err := client.SetBalancer(t.Context(), someone, fence(2), false); err != nil {
		t.Fatal(err)
	}
	over := ceph.Fence{FSID: cephtest.FSID, Epoch: 2, Until: time.Now().Add(-time.Millisecond)}
	for name, given := range map[string]ceph.Fence{
		"an earlier epoch is refused behind it":     fence(1),
		"one whose time is over, already before it": over,
	} {
		err := client.SetBalancer(t.Context(), someone, given, true)
		if _, fenced := errors.AsType[*ceph.FencedError](err); !fenced {
			t.Errorf("%s: %v, want it fenced", name, err)
		}
	}
	if got := len(cluster.Calls("SetBalancer")); got != 2 {
		t.Errorf("the cluster was asked %d times, want 2", got)
	}
}

// The sidecar must learn that a change restores an original.
func TestRestoringCrossesTheSocket(t *testing.T) {
	client, _ := sidecar(t, cephtest.NewCluster())
	for _, restores := range []bool{false, true} {
		given := fence(1)
		given.Restores = restores
		err := client.SetConfig(t.Context(), someone, given, ceph.ConfigWho{Section: "osd"}, "osd_heartbeat_interval", "7")
		if _, refused := errors.AsType[*ceph.InvalidError](err); refused == restores {
			t.Errorf("restores %t: %v", restores, err)
		}
	}
}

// delayed delays requests, as if the manager were paused right before it writes them.
type delayed struct {
	http.RoundTripper

	by time.Duration
}

func (d delayed) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(d.by)
	return d.RoundTripper.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
}

// A request that is delayed anywhere between the lock and the sidecar must change nothing.
func TestAChangeThatIsHeldUpIsNotMade(t *testing.T) {
	cluster := cephtest.NewCluster("p")
	client, _ := sidecar(t, cluster)
	const valid = 300 * time.Millisecond
	client.WithTransport(func(way http.RoundTripper) http.RoundTripper { return delayed{RoundTripper: way, by: 2 * valid} })
	given := fence(1)
	given.Until = time.Now().Add(valid)
	if err := client.SetBalancer(t.Context(), someone, given, false); err == nil {
		t.Error("nothing was refused")
	}
	if calls := cluster.Calls("SetBalancer"); len(calls) > 0 {
		t.Errorf("the cluster was told %v", calls)
	}
}

func TestASidecarThatChangesNothingSaysSo(t *testing.T) {
	client, _ := sidecar(t, &cephtest.Fake{})
	err := client.SetBalancer(t.Context(), someone, fence(1), true)
	if err == nil || !strings.Contains(err.Error(), "may not change settings") {
		t.Errorf("error is %v", err)
	}
}

func TestUncertainOutcomes(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"it was made":                  {nil, false},
		"Ceph refused it":              {&ceph.Error{Errno: 22, Message: "Error EINVAL"}, false},
		"Ceph denied it":               {&ceph.Error{Errno: 13, Message: "Error EACCES"}, false},
		"the arguments are wrong":      {&ceph.InvalidError{}, false},
		"the lock does not hold":       {fmt.Errorf("set: %w", &ceph.FencedError{}), false},
		"a deadline":                   {fmt.Errorf("set: %w", context.DeadlineExceeded), true},
		"the context has ended":        {context.Canceled, true},
		"Ceph timed out":               {&ceph.Error{Errno: 110, Message: "timed out"}, true},
		"the connection was lost":      {errors.New("EOF"), true},
		"the command was killed":       {&ceph.Error{Message: "signal: killed"}, true},
		"Ceph has lost the connection": {&ceph.Error{Errno: 107, Message: "Error ENOTCONN"}, true},
	}
	for name, test := range tests {
		if got := ceph.Unsure(test.err); got != test.want {
			t.Errorf("%s: unsure %t, want %t", name, got, test.want)
		}
	}
	err := ceph.NewSidecar(filepath.Join(t.TempDir(), "none")).SetBalancer(t.Context(), someone, fence(1), true)
	if err == nil || ceph.Unsure(err) {
		t.Errorf("%v is unsure, and nobody was asked", err)
	}
}
