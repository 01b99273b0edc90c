package ceph

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// verbCase is a call of a method of Client or Tuner, and the first command that it sends.
type verbCase struct {
	call func(context.Context, verbs) error
	want Command
}

// asking returns a case of a method that returns an answer.
func asking[T any](call func(verbs, context.Context, Connection) (T, error), prefix string, args ...string) verbCase {
	return verbCase{func(ctx context.Context, v verbs) error { _, err := call(v, ctx, someone); return err }, Command{Prefix: prefix, Args: args}}
}

// telling returns a case of a method that returns no answer.
func telling(call func(context.Context, verbs) error, prefix string, args ...string) verbCase {
	return verbCase{call, Command{Prefix: prefix, Args: args}}
}

// everyVerb has a case for each method, by its name. Methods with two commands have a second case.
func everyVerb() map[string]verbCase {
	osds, ssds := ConfigWho{Section: "osd"}, ConfigWho{Section: "osd", Mask: "class:ssd"}
	fence := inHours(1)
	all := map[string]verbCase{
		"Status":  asking(verbs.Status, "status"),
		"OSDMap":  asking(verbs.OSDMap, "osd dump"),
		"OSDs":    asking(verbs.OSDs, "osd df"),
		"OSDTree": asking(verbs.OSDTree, "osd tree"),
		"DF":      asking(verbs.DF, "df detail"),
		"OSDPerf": asking(verbs.OSDPerf, "osd perf"),
		"OSDIO":   asking(verbs.OSDIO, "osd status"),

		"OSDCounters": asking(verbs.OSDCounters, "telemetry preview perf"),
		"PGs":         asking(verbs.PGs, "pg dump pgs_brief"),
		"Strays":      asking(verbs.Strays, "pg dump pgs_brief osds"),
		"PoolIO":      asking(verbs.PoolIO, "osd pool stats"),
		"Versions":    asking(verbs.Versions, "versions"),
		"ConfigDump":  asking(verbs.ConfigDump, "config dump"),
		"OSDDevices":  asking(verbs.OSDDevices, "osd metadata"),
		"Balancer":    asking(verbs.Balancer, "balancer status"),
		"Recovered":   asking(verbs.Recovered, "pg dump sum"),
		"ConfigShow": asking(func(v verbs, ctx context.Context, connection Connection) (string, error) {
			return v.ConfigShow(ctx, connection, 3, "osd_memory_target")
		}, "config show", "osd.3", "osd_memory_target"),
		"ConfigHelp": asking(func(v verbs, ctx context.Context, connection Connection) (*OptionHelp, error) {
			return v.ConfigHelp(ctx, connection, "osd_memory_target")
		}, "config help", "osd_memory_target"),
		"RunningConfig": asking(func(v verbs, ctx context.Context, connection Connection) ([]Running, error) {
			return v.RunningConfig(ctx, connection, []int{2}, []string{"osd_a"})
		}, "config show-with-defaults", "osd.2"),
		"PGsOn": asking(func(v verbs, ctx context.Context, connection Connection) ([]PG, error) {
			return v.PGsOn(ctx, connection, 0)
		}, "pg ls-by-osd", "osd.0"),
		"OKToStop": asking(func(v verbs, ctx context.Context, connection Connection) (*Stop, error) {
			return v.OKToStop(ctx, connection, 0, 12)
		}, "osd ok-to-stop", "0", "12"),
		"Images": asking(func(v verbs, ctx context.Context, connection Connection) ([]string, error) {
			return v.Images(ctx, connection, "p", "cephtune-1")
		}, "rbd ls", "p"),
		"Objects": asking(func(v verbs, ctx context.Context, connection Connection) ([]string, error) {
			return v.Objects(ctx, connection, "p", "cephtune-ns", "o", 2)
		}, "rados ls", "p", "cephtune-ns", "o", "2"),
		"GetKey": telling(func(ctx context.Context, v verbs) error {
			_, _, err := v.GetKey(ctx, someone, "cephtune/a")
			return err
		}, "config-key get", "cephtune/a"),
		"RemoveKey": telling(func(ctx context.Context, v verbs) error {
			return v.RemoveKey(ctx, someone, "cephtune/a")
		}, "config-key rm", "cephtune/a"),
		"DropOSDCaches": telling(func(ctx context.Context, v verbs) error { return v.DropOSDCaches(ctx, someone) }, "tell osd.* cache drop"),
		"ClientAddresses": asking(func(v verbs, ctx context.Context, connection Connection) ([]string, error) {
			return v.ClientAddresses(ctx, connection, "a", "io")
		}, "tell mon sessions", "a"),
		"BlocklistClient": telling(func(ctx context.Context, v verbs) error {
			return v.BlocklistClient(ctx, someone, "10.0.0.1:0/1234", time.Hour)
		}, "osd blocklist add", "10.0.0.1:0/1234", "3600"),
		"RemoveImage": telling(func(ctx context.Context, v verbs) error {
			return v.RemoveImage(ctx, someone, "p", "cephtune-1")
		}, "rbd rm", "p", "cephtune-1"),
		"RemoveObjects": telling(func(ctx context.Context, v verbs) error {
			return v.RemoveObjects(ctx, someone, "p", "cephtune-ns", []string{"o1", "o2"})
		}, "rados rm", "p", "cephtune-ns", "o1", "o2"),
		"SetPoolOption": telling(func(ctx context.Context, v verbs) error {
			return v.SetPoolOption(ctx, someone, fence, "p", "pg_num", "64")
		}, "osd pool set", "p", "pg_num", "64"),
		"UnsetPoolOption": telling(func(ctx context.Context, v verbs) error {
			return v.UnsetPoolOption(ctx, someone, fence, "p", "compression_mode")
		}, "osd pool set", "p", "compression_mode", "unset"),
		"SetConfig": telling(func(ctx context.Context, v verbs) error {
			return v.SetConfig(ctx, someone, fence, ssds, "osd_memory_target", "4G")
		}, "config set", "osd/class:ssd", "osd_memory_target", "4G"),
		"RemoveConfig": telling(func(ctx context.Context, v verbs) error {
			return v.RemoveConfig(ctx, someone, fence, osds, "osd_memory_target")
		}, "config rm", "osd", "osd_memory_target"),
		"SetBalancer":      telling(func(ctx context.Context, v verbs) error { return v.SetBalancer(ctx, someone, fence, true) }, "balancer on"),
		"SetBalancer, off": telling(func(ctx context.Context, v verbs) error { return v.SetBalancer(ctx, someone, fence, false) }, "balancer off"),
		"SetFlag": telling(func(ctx context.Context, v verbs) error {
			return v.SetFlag(ctx, someone, fence, FlagNoScrub, true)
		}, "osd set", "noscrub"),
		"SetFlag, off": telling(func(ctx context.Context, v verbs) error {
			return v.SetFlag(ctx, someone, fence, FlagNoDeepScrub, false)
		}, "osd unset", "nodeep-scrub"),
		"SetNoUp":      telling(func(ctx context.Context, v verbs) error { return v.SetNoUp(ctx, someone, fence, 2, true) }, "osd set-group", "noup", "osd.2"),
		"SetNoUp, off": telling(func(ctx context.Context, v verbs) error { return v.SetNoUp(ctx, someone, fence, 2, false) }, "osd unset-group", "noup", "osd.2"),
		"MarkOSDsDown": telling(func(ctx context.Context, v verbs) error {
			return v.MarkOSDsDown(ctx, someone, fence, []int{2, 1})
		}, "osd down", "osd.2", "osd.1"),
		"PlacePGs": telling(func(ctx context.Context, v verbs) error {
			return v.PlacePGs(ctx, someone, fence, "cephtune-scratch", []PGPlacement{{Number: 1, OSDs: []int{2, 0, 1}}, {Number: 31, OSDs: []int{0, 1, 2}}})
		}, "osd pg-upmap", "cephtune-scratch", "1:2,0,1", "31:0,1,2"),
	}
	all["SetKey"] = verbCase{
		func(ctx context.Context, v verbs) error { return v.SetKey(ctx, someone, "cephtune/b", "value") },
		Command{Prefix: "config-key set", Args: []string{"cephtune/b"}, Input: "value"},
	}
	return all
}

// Each method sends a command that the sidecar knows and takes, with a fence if it changes settings, and no command of
// the table is without a method.
func TestEachVerbIsACommandOfTheTable(t *testing.T) {
	table := rows()
	unused := maps.Clone(table)
	delete(unused, "rbd snap purge")      // RemoveImage sends it for an image with snapshots.
	delete(unused, "telemetry show perf") // OSDCounters sends it if there is no preview.
	cases := everyVerb()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			to := &answering{err: errors.New("no answer")}
			_ = test.call(t.Context(), verbs{to}) // The error is that of the Executor.
			if diff := cmp.Diff([]Command{test.want}, to.asked); diff != "" {
				t.Fatalf("commands (-want +got):\n%s", diff)
			}
			entry, known := table[test.want.Prefix]
			if !known {
				t.Fatalf("the table has no command %q", test.want.Prefix)
			}
			if err := entry.check(test.want.Args); err != nil {
				t.Errorf("the sidecar refuses it: %v", err)
			}
			if fenced := to.fence != nil; fenced != (entry.permission == mayChange) {
				t.Errorf("with a fence: %t, and it may %s", fenced, entry.permission)
			}
			delete(unused, test.want.Prefix)
		})
	}
	for prefix := range unused {
		t.Errorf("no method sends %q", prefix)
	}
	for _, side := range []reflect.Type{reflect.TypeFor[Client](), reflect.TypeFor[Tuner]()} {
		for method := range side.Methods() {
			if _, tested := cases[method.Name]; !tested {
				t.Errorf("%s is not among the cases", method.Name)
			}
		}
	}
}

// Without a sidecar nothing is known: an entry must not seem to be missing, nor an image or an object to be removed.
func TestAMissingSidecarIsNoAnswer(t *testing.T) {
	client := NewSidecar(filepath.Join(t.TempDir(), "none"))
	for name, test := range everyVerb() {
		if err := test.call(t.Context(), client.verbs); err == nil {
			t.Errorf("%s succeeds", name)
		}
	}
}

func TestPermissionsOfCommands(t *testing.T) {
	changes, keeps := []string{
		"balancer off", "balancer on", "config rm", "config set", "osd down", "osd pg-upmap", "osd pool set", "osd set", "osd set-group", "osd unset", "osd unset-group",
	}, []string{"config-key rm", "config-key set", "osd blocklist add", "rados rm", "rbd rm", "rbd snap purge", "tell osd.* cache drop"}
	got := map[permission][]string{}
	for prefix, entry := range rows() {
		got[entry.permission] = append(got[entry.permission], prefix)
	}
	for may, want := range map[permission][]string{mayChange: changes, mayKeep: keeps} {
		slices.Sort(got[may])
		if diff := cmp.Diff(want, got[may]); diff != "" {
			t.Errorf("commands that may %s (-want +got):\n%s", may, diff)
		}
	}
}

// FuzzNoArgumentIsAnOption gives a text to each command as each of its arguments. The sidecar must refuse it, or the
// program must not take it for an option.
func FuzzNoArgumentIsAnOption(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	table := rows()
	f.Fuzz(func(t *testing.T, text string) {
		for name, test := range everyVerb() {
			entry := table[test.want.Prefix]
			for i := range test.want.Args {
				args := slices.Clone(test.want.Args)
				args[i] = text
				if entry.check(args) != nil || entry.permission == mayChange && !tunable(entry, args) {
					continue
				}
				checkLine(t, name, entry, test.want.Prefix, args, text)
			}
		}
	})
}

// tunable reports whether the sidecar would make a change with these arguments.
func tunable(entry row, args []string) bool {
	if entry.setting == nil {
		return true
	}
	setting, err := entry.setting(args)
	return err == nil && Fence{Restores: true}.Tunable(setting) == nil
}

func checkLine(t *testing.T, name string, entry row, prefix string, args []string, text string) {
	t.Helper()
	if entry.perform != nil {
		return // It builds its own lines, from checked names and numbers.
	}
	line := entry.line
	if line == nil {
		line = followed(prefix)
	}
	for _, word := range line(args) {
		if word == text && isOption(word) {
			t.Errorf("%s passes %q as an option: %q", name, text, line(args))
		}
	}
}

// isOption reports whether a program takes a word for an option. A negative number is a value.
func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')
}
