//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest/replay"
)

// showsWithin is how long Ceph may take to show a change. OSDs report the values that they run with
// every five seconds, and an OSD that comes up has to peer.
const showsWithin = 30 * time.Second

// replayWithin limits a replay. If the deadline of the whole suite ended it, nothing would be
// restored.
const replayWithin = 8 * time.Minute

// Every verb that changes something, with options of every type, must have the same answers and
// effects on a real cluster as on the fake. The other tests rely on the fake.
func TestLongFakeIsAsCeph(t *testing.T) {
	c := forTest(t)
	c.createPool(t, replay.Pool)
	c.pinPGs(t, replay.Pool)
	c.awaitSettledPGs(t)
	c.mustToolbox(t, "rbd", "create", "--size=1M", replay.Pool+"/"+replay.Image)
	c.mustToolbox(t, "rados", "-p", replay.Pool, "put", replay.Object, "/etc/hostname")
	c.replay(t, replay.Rounds())
}

// This checks what docs/safety.md says about options that mClock locks: the profile alone loses
// nothing, but OSDs remove an option that is set while mClock locks it.
func TestLongMClockRemovesLockedOptions(t *testing.T) {
	c := forTest(t)
	c.replay(t, replay.MClock())
}

func (c *cluster) mustToolbox(t *testing.T, command ...string) {
	t.Helper()
	if _, err := c.toolbox(t.Context(), command...); err != nil {
		t.Fatalf("%q: %v", command, err)
	}
}

// replay carries out rounds on the real cluster and on the fake. If E2E_RECORD names a folder, it
// records there what Ceph did, for the tests of the fake.
func (c *cluster) replay(t *testing.T, rounds []replay.Round) {
	t.Helper()
	here := c.replayed(t)
	version := versionOf(t, here)
	fake, there := replay.NewFake(version)
	recorded := map[string]replay.Seen{}
	end := time.Now().Add(replayWithin)
	for _, round := range rounds {
		if time.Now().After(end) {
			t.Fatalf("%v are over before %q", replayWithin, round.Name)
		}
		want := replay.Seen{Answers: there.Make(t.Context(), round)}
		fake.Tick()
		var err error
		if want.Shows, err = there.Look(t.Context(), round); err != nil {
			t.Fatal(err)
		}
		got := replay.Seen{Answers: here.Make(t.Context(), round)}
		got.Shows = awaitShows(t, here, round, want.Shows)
		recorded[round.Name] = got
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s: Ceph was seen (-), and the fake is (+):\n%s", round.Name, diff)
		}
	}
	if folder := os.Getenv("E2E_RECORD"); folder != "" {
		record(t, filepath.Join(folder, version+".json"), recorded)
	}
}

// awaitShows waits until Ceph shows the wanted values and has shown them for the time of the round,
// or until the deadline. It returns the last values.
func awaitShows(t *testing.T, here replay.World, round replay.Round, want map[string]string) map[string]string {
	t.Helper()
	end := time.Now().Add(showsWithin)
	var shows map[string]string
	var since time.Time
	for {
		now, err := here.Look(t.Context(), round)
		switch {
		case err != nil:
			t.Logf("look at Ceph: %v", err)
		case !maps.Equal(now, want):
			shows, since = now, time.Time{}
		case since.IsZero():
			shows, since = now, time.Now()
		}
		if !since.IsZero() && time.Since(since) >= round.Hold || time.Now().After(end) {
			return shows
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func versionOf(t *testing.T, w replay.World) string {
	t.Helper()
	versions, err := w.Versions(t.Context(), w.At)
	if err != nil || len(versions.OSD) != 1 {
		t.Fatalf("OSDs are of the versions %+v (%v), want one", versions, err)
	}
	return slices.Collect(maps.Keys(versions.OSD))[0]
}

// record adds rounds to a file.
func record(t *testing.T, file string, rounds map[string]replay.Seen) {
	t.Helper()
	all := map[string]replay.Seen{}
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
	}
	maps.Copy(all, rounds)
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replayed returns the cluster as the operator's sidecar sees it: with its verbs, and with the
// programs of the toolbox. The end of the test restores everything that rounds change.
func (c *cluster) replayed(t *testing.T) replay.World {
	t.Helper()
	c.usePrograms(t)
	cli, err := ceph.NewCLI(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := replay.World{Ceph: cli, At: ceph.Connection{MonHost: "toolbox", User: "admin", Key: "AA=="}}
	osdMap, err := w.OSDMap(t.Context(), w.At)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := w.OSDTree(t.Context(), w.At)
	if err != nil {
		t.Fatal(err)
	}
	for _, osd := range tree {
		if osd.ID == 0 {
			w.Class, w.Host = osd.DeviceClass, osd.Buckets["host"]
		}
	}
	w.FSID = osdMap.FSID
	c.restoreReplayed(t, w)
	return w
}

// restoreReplayed restores, at the end of the test, what rounds change. It uses one process for all
// commands, because each process takes a second.
func (c *cluster) restoreReplayed(t *testing.T, w replay.World) {
	t.Helper()
	before := c.centrally(t, w)
	commands := []string{"osd unset-group noup osd.0", "osd unset noscrub", "osd unset nodeep-scrub", "balancer on", "config-key rm " + replay.Key}
	for _, entry := range replay.Touched() {
		who := w.Who(entry)
		if who.Section != "osd" && who.Section != "osd.0" || who.Mask == "host:" {
			continue // no verb takes these
		}
		place := who.String() + " " + entry.Option
		if value, set := before[place]; set {
			commands = append(commands, fmt.Sprintf("config set %s %s", place, value))
		} else {
			commands = append(commands, "config rm "+place)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if _, err := c.toolboxOnce(ctx, strings.NewReader(strings.Join(commands, "\n")+"\n"), []string{"ceph"}); err != nil {
			t.Errorf("restore what was replayed: %v", err)
		}
		if diff := cmp.Diff(before, c.centrally(t, w)); diff != "" {
			t.Errorf("the configuration was (-) and is (+):\n%s", diff)
		}
	})
}

// centrally returns the values in Ceph's central configuration, by section and option.
func (c *cluster) centrally(t *testing.T, w replay.World) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	entries, err := w.ConfigDump(ctx, w.At)
	if err != nil {
		t.Errorf("read the configuration: %v", err)
	}
	set := map[string]string{}
	for _, entry := range entries {
		set[ceph.ConfigWho{Section: entry.Section, Mask: entry.Mask}.String()+" "+entry.Name] = entry.Value
	}
	return set
}

// usePrograms replaces ceph, rbd and rados by this test's binary, which runs them in the toolbox.
func (c *cluster) usePrograms(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, program := range programs() {
		if err := os.Symlink(self, filepath.Join(folder, program)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func programs() []string { return []string{"ceph", "rbd", "rados"} }

// asProgram reports whether this process was started under the name of one of Ceph's programs.
func asProgram(args []string) (program string, rest []string, ok bool) {
	program = filepath.Base(args[0])
	return program, args[1:], slices.Contains(programs(), program)
}

// runInToolbox runs one of Ceph's programs in the toolbox as the administrator, and returns its
// exit status.
func runInToolbox(program string, args []string) int {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		option, _, _ := strings.Cut(arg, "=")
		return option == "--conf" || option == "--id" || option == "--keyring" // the toolbox has its own
	})
	settings, err := settingsFromEnvironment(os.LookupEnv)
	if err == nil {
		err = runThere(settings, append([]string{program}, args...))
	}
	if exit, ended := errors.AsType[utilexec.CodeExitError](err); ended {
		return exit.Code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 255
	}
	return 0
}

func runThere(s settings, command []string) error {
	c, err := connect(s)
	if err != nil {
		return err
	}
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	streams := remotecommand.StreamOptions{Stdout: os.Stdout, Stderr: os.Stderr}
	if len(stdin) > 0 {
		streams.Stdin = bytes.NewReader(stdin)
	}
	return c.execInToolbox(context.Background(), command, streams)
}
