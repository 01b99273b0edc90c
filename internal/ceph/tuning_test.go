package ceph

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const fsid = "11111111-2222-3333-4444-555555555555"

func inHours(epoch int64) Fence {
	return Fence{FSID: fsid, Epoch: epoch, Until: time.Now().Add(time.Hour)}
}

func TestChangesAreTheseCommands(t *testing.T) {
	osds, ssds := ConfigWho{Section: "osd"}, ConfigWho{Section: "osd", Mask: "class:ssd"}
	tests := map[string]struct {
		do   func(context.Context, *CLI) error
		want string // empty: refused, and Ceph is not asked
	}{
		"a pool's option": {
			func(ctx context.Context, c *CLI) error {
				return c.SetPoolOption(ctx, someone, inHours(1), "p", "pg_num", "64")
			},
			"ceph osd pool set p pg_num 64",
		},
		"a word unset": {
			func(ctx context.Context, c *CLI) error {
				return c.UnsetPoolOption(ctx, someone, inHours(1), "p", "compression_mode")
			},
			"ceph osd pool set p compression_mode unset",
		},
		"a number unset": {
			func(ctx context.Context, c *CLI) error {
				return c.UnsetPoolOption(ctx, someone, inHours(1), "p", "compression_required_ratio")
			},
			"ceph osd pool set p compression_required_ratio 0",
		},
		"what a pool always has": {
			func(ctx context.Context, c *CLI) error {
				return c.UnsetPoolOption(ctx, someone, inHours(1), "p", "pg_num")
			}, "",
		},
		"an option": {
			func(ctx context.Context, c *CLI) error {
				return c.SetConfig(ctx, someone, inHours(1), osds, "osd_recovery_sleep", "-0.5")
			},
			"ceph config set osd osd_recovery_sleep -0.5",
		},
		"an option at a mask": {
			func(ctx context.Context, c *CLI) error {
				return c.RemoveConfig(ctx, someone, inHours(1), ssds, "osd_max_backfills")
			},
			"ceph config rm osd/class:ssd osd_max_backfills",
		},
		"the balancer": {
			func(ctx context.Context, c *CLI) error { return c.SetBalancer(ctx, someone, inHours(1), false) },
			"ceph balancer off",
		},
		"a flag": {
			func(ctx context.Context, c *CLI) error {
				return c.SetFlag(ctx, someone, inHours(1), FlagNoDeepScrub, true)
			},
			"ceph osd set nodeep-scrub",
		},
		"a flag removed": {
			func(ctx context.Context, c *CLI) error {
				return c.SetFlag(ctx, someone, inHours(1), FlagNoScrub, false)
			},
			"ceph osd unset noscrub",
		},
		"an OSD that is to stay down": {
			func(ctx context.Context, c *CLI) error { return c.SetNoUp(ctx, someone, inHours(1), 3, true) },
			"ceph osd set-group noup osd.3",
		},
		"an OSD that may come up": {
			func(ctx context.Context, c *CLI) error { return c.SetNoUp(ctx, someone, inHours(1), 3, false) },
			"ceph osd unset-group noup osd.3",
		},
		"OSDs that are down": {
			func(ctx context.Context, c *CLI) error {
				return c.MarkOSDsDown(ctx, someone, inHours(1), []int{3, 0})
			},
			"ceph osd down osd.3 osd.0",
		},
		"an OSD that cannot be": {func(ctx context.Context, c *CLI) error { return c.SetNoUp(ctx, someone, inHours(1), -1, true) }, ""},
		"no OSD":                {func(ctx context.Context, c *CLI) error { return c.MarkOSDsDown(ctx, someone, inHours(1), nil) }, ""},
		"OSDs without an epoch": {func(ctx context.Context, c *CLI) error { return c.MarkOSDsDown(ctx, someone, inHours(0), []int{1}) }, ""},
		"another flag":          {func(ctx context.Context, c *CLI) error { return c.SetFlag(ctx, someone, inHours(1), "noout", true) }, ""},
		"the size of a pool": {func(ctx context.Context, c *CLI) error {
			return c.SetPoolOption(ctx, someone, inHours(1), "p", "size", "1")
		}, ""},
		"a pool of Ceph's own": {func(ctx context.Context, c *CLI) error {
			return c.SetPoolOption(ctx, someone, inHours(1), ".mgr", "pg_num", "1")
		}, ""},
		"a pool like a flag": {func(ctx context.Context, c *CLI) error {
			return c.SetPoolOption(ctx, someone, inHours(1), "--p", "pg_num", "1")
		}, ""},
		"a value like a flag": {func(ctx context.Context, c *CLI) error {
			return c.SetPoolOption(ctx, someone, inHours(1), "p", "pg_num", "--yes")
		}, ""},
		"a value of two words": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), osds, "osd_x", "a b")
		}, ""},
		"monitors": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), ConfigWho{Section: "mon"}, "osd_x", "1")
		}, ""},
		"one OSD": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), ConfigWho{Section: "osd.1"}, "osd_x", "1")
		}, ""},
		"another mask": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), ConfigWho{Section: "osd", Mask: "rack:a"}, "osd_x", "1")
		}, ""},
		"full ratios": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), osds, "mon_osd_full_ratio", "1")
		}, ""},
		"heartbeats": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), osds, "osd_heartbeat_grace", "1")
		}, ""},
		"authentication": {func(ctx context.Context, c *CLI) error {
			return c.RemoveConfig(ctx, someone, inHours(1), osds, "auth_client_required")
		}, ""},
		"without an epoch": {func(ctx context.Context, c *CLI) error { return c.SetBalancer(ctx, someone, inHours(0), false) }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, note := fakeCLI(t, fake{})
			err := test.do(t.Context(), cli)
			got, _, _ := strings.Cut(note(), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, invalid := errors.AsType[*InvalidError](err); invalid != (test.want == "") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// The sidecar refuses values that the administrator does not allow, unless they restore an
// original. That original may be of an option that this version never changes.
func TestPermissionIsAskedFor(t *testing.T) {
	restoring := inHours(1)
	restoring.Restores = true
	osds := ConfigWho{Section: "osd"}
	tests := map[string]struct {
		do   func(context.Context, *CLI) error
		want string // empty: refused, and Ceph is not asked
	}{
		"an option": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, inHours(1), osds, "osd_x", "1")
		}, ""},
		"one that is unset": {func(ctx context.Context, c *CLI) error {
			return c.RemoveConfig(ctx, someone, inHours(1), osds, "osd_x")
		}, ""},
		"a pool's": {func(ctx context.Context, c *CLI) error {
			return c.SetPoolOption(ctx, someone, inHours(1), "p", "pg_num", "64")
		}, ""},
		"a pool's, unset": {func(ctx context.Context, c *CLI) error {
			return c.UnsetPoolOption(ctx, someone, inHours(1), "p", "recovery_priority")
		}, ""},
		"one that is restored": {
			func(ctx context.Context, c *CLI) error {
				return c.SetConfig(ctx, someone, restoring, osds, "osd_x", "1")
			},
			"ceph config set osd osd_x 1",
		},
		"one that is never changed is restored": {
			func(ctx context.Context, c *CLI) error {
				return c.RemoveConfig(ctx, someone, restoring, osds, "osd_heartbeat_grace")
			},
			"ceph config rm osd osd_heartbeat_grace",
		},
		"a pool's that is never changed is restored": {
			func(ctx context.Context, c *CLI) error {
				return c.SetPoolOption(ctx, someone, restoring, "p", "size", "3")
			},
			"ceph osd pool set p size 3",
		},
		"of Ceph's own pools nothing is": {func(ctx context.Context, c *CLI) error {
			return c.SetPoolOption(ctx, someone, restoring, ".mgr", "size", "3")
		}, ""},
		"of monitors nothing is": {func(ctx context.Context, c *CLI) error {
			return c.SetConfig(ctx, someone, restoring, ConfigWho{Section: "mon"}, "osd_x", "1")
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, note := fakeCLI(t, fake{})
			cli.Ask(func(context.Context, Connection, Setting) error { return &InvalidError{"it is not allowed"} })
			err := test.do(t.Context(), cli)
			got, _, _ := strings.Cut(note(), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, invalid := errors.AsType[*InvalidError](err); invalid != (test.want == "") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestPlacementGroupsAreThoseOfTheScratchPool(t *testing.T) {
	const dump = `{"fsid":"f","pools":[{"pool":1,"pool_name":"rbd","size":2,"pg_num":64},{"pool":12,"pool_name":"cephtune-scratch","size":2,"pg_num":32}]}`
	place := func(number int, osds ...int) []PGPlacement { return []PGPlacement{{Number: number, OSDs: osds}} }
	many := make([]PGPlacement, MaxPlaced+1)
	tests := map[string]struct {
		pool  string
		pgs   []PGPlacement
		fence Fence
		want  []string // the commands; none if it is refused before any change
		error string
	}{
		"two of them": {
			"cephtune-scratch", append(place(31, 0, 2), place(0, 2, 1)...), inHours(1),
			[]string{"ceph osd pg-upmap 12.0 2 1", "ceph osd pg-upmap 12.1f 0 2"},
			"",
		},
		"of another pool":                {"rbd", place(1, 0, 2), inHours(1), nil, "does not move placement groups"},
		"of a pool that is not there":    {"cephtune-scratch-data", place(1, 0, 2), inHours(1), nil, "there is no pool cephtune-scratch-data"},
		"of a pool like a flag":          {"--cephtune-scratch", place(1, 0, 2), inHours(1), nil, "not the name of a pool"},
		"one that there is not":          {"cephtune-scratch", place(32, 0, 2), inHours(1), nil, "none of number 32"},
		"one below nought":               {"cephtune-scratch", place(-1, 0, 2), inHours(1), nil, "none of number -1"},
		"on fewer OSDs than copies":      {"cephtune-scratch", place(1, 0), inHours(1), nil, "needs 2 different OSDs"},
		"on more":                        {"cephtune-scratch", place(1, 0, 1, 2), inHours(1), nil, "needs 2 different OSDs"},
		"on one OSD twice":               {"cephtune-scratch", place(1, 2, 2), inHours(1), nil, "needs 2 different OSDs"},
		"on an OSD that there never is":  {"cephtune-scratch", place(1, 2, -1), inHours(1), nil, "needs 2 different OSDs"},
		"far too many":                   {"cephtune-scratch", many, inHours(1), nil, "at most 32"},
		"without an epoch":               {"cephtune-scratch", place(1, 0, 2), inHours(0), nil, "no epoch"},
		"one wrong one among right ones": {"cephtune-scratch", append(place(1, 0, 2), place(2, 0)...), inHours(1), nil, "needs 2 different"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, _ := fakeCLI(t, fake{stdout: dump})
			err := cli.PlacePGs(t.Context(), someone, test.fence, test.pool, test.pgs)
			var got []string
			for _, command := range commands(t, cli) {
				if strings.HasPrefix(command, "ceph osd pg-upmap") {
					got = append(got, command)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (err == nil) != (test.error == "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("error is %v, want %q", err, test.error)
			}
		})
	}
}

// A superseded change must not even begin.
func TestPlacementIsFenced(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stdout: `{"fsid":"f","pools":[{"pool":12,"pool_name":"cephtune-scratch","size":1,"pg_num":8}]}`})
	if err := cli.SetBalancer(t.Context(), someone, inHours(3), false); err != nil {
		t.Fatal(err)
	}
	err := cli.PlacePGs(t.Context(), someone, inHours(2), "cephtune-scratch", []PGPlacement{{Number: 0, OSDs: []int{1}}})
	if _, fenced := errors.AsType[*FencedError](err); !fenced || len(commands(t, cli)) != 1 {
		t.Errorf("error is %v, and Ceph was told %q", err, commands(t, cli))
	}
}

func TestReadsBeforeAChange(t *testing.T) {
	tests := map[string]struct {
		fake
		do   func(context.Context, *CLI) (any, error)
		want any
	}{
		"an option that Ceph does not know": {
			fake{stderr: "Error ENOENT: \n", status: "2"},
			func(ctx context.Context, c *CLI) (any, error) { return c.ConfigHelp(ctx, someone, "osd_nope") },
			&OptionHelp{Name: "osd_nope"},
		},
		"an OSD that may not be stopped": {
			fake{stdout: `{"ok_to_stop":false}`, stderr: "Error EBUSY: unsafe to stop osd(s) at this time (72 PGs are or would become offline)\n", status: "16"},
			func(ctx context.Context, c *CLI) (any, error) { return c.OKToStop(ctx, someone, 0) },
			&Stop{OSDs: []int{0}, Reason: "Error EBUSY: unsafe to stop osd(s) at this time (72 PGs are or would become offline)"},
		},
		"OSDs that may be stopped together": {
			fake{stdout: `{"ok_to_stop":true,"osds":[0,2],"num_ok_pgs":9,"num_not_ok_pgs":0}`},
			func(ctx context.Context, c *CLI) (any, error) { return c.OKToStop(ctx, someone, 0, 2) },
			&Stop{OK: true, OSDs: []int{0, 2}, PGs: 9},
		},
		"what OSDs serve, each once": {
			fake{stdout: `{"pg_ready":true,"pg_stats":[{"pgid":"2.1f","state":"active+clean","acting":[1,0,2147483647],"acting_primary":1}]}`},
			func(ctx context.Context, c *CLI) (any, error) { return c.PGsOn(ctx, someone, 0, 1) },
			[]PG{{ID: "2.1f", State: "active+clean", PoolID: 2, Acting: []int{1, 0}, Primary: 1}},
		},
		"what was recovered": {
			fake{stdout: `{"pg_ready":true,"pg_map":{"pg_stats_sum":{"stat_sum":{"num_objects_recovered":7,"num_bytes_recovered":4096}}}}`},
			func(ctx context.Context, c *CLI) (any, error) { return c.Recovered(ctx, someone) },
			&Recovered{Objects: 7, Bytes: 4096},
		},
		"what OSDs run with, of what was asked for": {
			fake{stdout: `[{"name":"osd_a","value":"1","source":"default"},{"name":"osd_memory_target","value":"1","source":"mon","ignores":"mon"}]`},
			func(ctx context.Context, c *CLI) (any, error) {
				return c.RunningConfig(ctx, someone, []int{4, 2}, []string{"osd_memory_target"})
			},
			[]Running{
				{OSD: 4, Options: []RunningOption{{Name: "osd_memory_target", Value: "1", Source: "mon", Ignored: true}}},
				{OSD: 2, Options: []RunningOption{{Name: "osd_memory_target", Value: "1", Source: "mon", Ignored: true}}},
			},
		},
		"an OSD that is down": {
			fake{stderr: "Error ENOENT: no config state for daemon osd.9\n", status: "2"},
			func(ctx context.Context, c *CLI) (any, error) {
				return c.RunningConfig(ctx, someone, []int{9}, []string{"osd_x"})
			},
			[]Running{{OSD: 9, Error: "ceph config show-with-defaults: Error ENOENT: no config state for daemon osd.9"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, _ := fakeCLI(t, test.fake)
			got, err := test.do(t.Context(), cli)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAFence(t *testing.T) {
	const other = "99999999-2222-3333-4444-555555555555"
	tests := map[string]struct {
		before  []Fence
		fence   Fence
		timeout time.Duration
		want    string // empty: it is admitted
	}{
		"the first":                         {fence: Fence{FSID: fsid, Epoch: 3}},
		"the same epoch again":              {before: []Fence{{FSID: fsid, Epoch: 3}}, fence: Fence{FSID: fsid, Epoch: 3}},
		"a later one":                       {before: []Fence{{FSID: fsid, Epoch: 3}}, fence: Fence{FSID: fsid, Epoch: 4}},
		"an earlier one":                    {before: []Fence{{FSID: fsid, Epoch: 3}}, fence: Fence{FSID: fsid, Epoch: 2}, want: "took over the lock"},
		"an earlier one of another cluster": {before: []Fence{{FSID: fsid, Epoch: 3}}, fence: Fence{FSID: other, Epoch: 2}},
		"one that ends before the caller's": {fence: Fence{FSID: fsid, Epoch: 1, Until: time.Now().Add(10 * time.Second)}, timeout: 20 * time.Second},
		"one that is over":                  {fence: Fence{FSID: fsid, Epoch: 1, Until: time.Now().Add(-time.Millisecond)}, want: "delayed beyond its deadline"},
		"no cluster":                        {fence: Fence{FSID: "ceph", Epoch: 1}, want: "not the FSID"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFences()
			if test.fence.Until.IsZero() {
				test.fence.Until = time.Now().Add(time.Hour)
			}
			for _, fence := range test.before {
				fence.Until = time.Now().Add(time.Hour)
				_, leave, err := f.enter(t.Context(), fence)
				if err != nil {
					t.Fatal(err)
				}
				leave()
			}
			ctx, cancel := context.WithTimeout(t.Context(), max(test.timeout, time.Second))
			defer cancel()
			ctx, leave, err := f.enter(ctx, test.fence)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want %q", err, test.want)
			}
			if err != nil {
				return
			}
			leave()
			if ends, _ := ctx.Deadline(); ends.After(test.fence.Until) {
				t.Errorf("it may take until %s, and its time is over at %s", ends, test.fence.Until)
			}
		})
	}
}

// A change that waited for another one is refused if a later holder came meanwhile.
func TestAChangeThatWaitedIsFencedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFences()
		_, leave, err := f.enter(t.Context(), inHours(1))
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 2)
		for _, epoch := range []int64{1, 2} {
			go func() {
				_, leave, err := f.enter(t.Context(), inHours(epoch))
				if err == nil {
					leave()
				}
				waited <- err
			}()
			synctest.Wait()
		}
		leave()
		refused := 0
		for range 2 {
			if _, fenced := errors.AsType[*FencedError](<-waited); fenced {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%d of the two that waited were refused, want the earlier epoch alone", refused)
		}
	})
}

func TestAChangeIsNotWaitedForLongerThanTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFences()
		began := time.Now()
		ctx, leave, err := f.enter(t.Context(), inHours(1))
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		<-ctx.Done()
		if took := time.Since(began); took != LongestChange {
			t.Errorf("it ended after %s, want %s", took, LongestChange)
		}
	})
}

// A change that waits for another one must not wait past its own deadline.
func TestAChangeThatWaitedTooLongIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFences()
		_, leave, err := f.enter(t.Context(), inHours(1))
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		if _, _, err := f.enter(t.Context(), Fence{FSID: fsid, Epoch: 1, Until: time.Now().Add(time.Second)}); err == nil {
			t.Error("it was let in")
		}
	})
}

func TestTheFenceOfARequest(t *testing.T) {
	received := time.Now()
	in := func(d time.Duration) int64 { return received.Add(d).UnixMilli() }
	tests := map[string]struct {
		wire wireFence
		want time.Duration // from when it was received
	}{
		"that came at once":                          {wireFence{UntilUnixMilliseconds: in(20 * time.Second), ValidForMilliseconds: 20000}, 20 * time.Second},
		"that was held up on its way":                {wireFence{UntilUnixMilliseconds: in(-2 * time.Minute), ValidForMilliseconds: 20000}, -2 * time.Minute},
		"before which the clock was set back":        {wireFence{UntilUnixMilliseconds: in(time.Hour), ValidForMilliseconds: 20000}, 20 * time.Second},
		"before which the clock was set forward":     {wireFence{UntilUnixMilliseconds: in(-time.Hour), ValidForMilliseconds: 20000}, -time.Hour},
		"of a client that knows of no moment at all": {wireFence{ValidForMilliseconds: 20000}, time.Unix(0, 0).Sub(received)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.wire.fence(received).Until.Sub(received)
			if off := got - test.want; off > time.Millisecond || off < -time.Millisecond {
				t.Errorf("it ends %s after it was received, want %s", got, test.want)
			}
		})
	}
}

// A fence ends by the wall clock and by the monotonic clock, whichever is first.
func TestAFenceEndsByBothClocks(t *testing.T) {
	now := time.Now()
	fence := Fence{FSID: fsid, Epoch: 1, Until: now.Add(time.Minute)}
	if err := fence.inTime(now); err != nil {
		t.Errorf("in time: %v", err)
	}
	for name, late := range map[string]time.Time{
		"both":                    now.Add(time.Minute),
		"the one on the wall":     now.Round(0).Add(time.Hour),
		"without one on the wall": now.Add(2 * time.Minute),
	} {
		if _, fenced := errors.AsType[*FencedError](fence.inTime(late)); !fenced {
			t.Errorf("it is late by %s, and was not refused", name)
		}
	}
}

// The process that talks to Ceph is killed at the fence's deadline, even if the caller's deadline
// is later.
func TestAChangeIsKilledWhenItsTimeIsOver(t *testing.T) {
	cli, _ := fakeCLI(t, fake{hang: "1m"})
	began := time.Now()
	err := cli.SetBalancer(t.Context(), someone, Fence{FSID: fsid, Epoch: 1, Until: began.Add(700 * time.Millisecond)}, false)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 20*time.Second {
		t.Errorf("error is %v after %s", err, time.Since(began))
	}
}

// paused is the context of a process that continues after a pause: its deadline has passed, but no
// timer has fired.
type paused struct{ context.Context }

func (paused) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func TestNothingIsBegunAfterItsTime(t *testing.T) {
	cli, note := fakeCLI(t, fake{})
	_, err := cli.ceph(paused{t.Context()}, someone, "balancer off")
	if !errors.Is(err, context.DeadlineExceeded) || note() != "" {
		t.Errorf("error is %v, and Ceph was told %q", err, note())
	}
}
