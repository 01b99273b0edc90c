package ceph

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var someone = Connection{MonHost: "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]", User: "cephtune", Key: "AQAhugFrAAAAABAAabcdefghijklmnopqrstuv=="}

// The test's binary is also ceph, rbd and rados, through links with these names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "ceph", "rbd", "rados":
		os.Exit(pretend(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// pretend records how it was called, and then does what the environment says. It takes part in a
// conversation only if FAKE_ECHO is set.
func pretend(args []string) int {
	if !slices.ContainsFunc(args, func(arg string) bool { return arg == "--version" || !strings.HasPrefix(arg, "--") }) {
		return echo()
	}
	stdin, _ := io.ReadAll(os.Stdin)
	var conf []byte
	kept := []string{filepath.Base(os.Args[0])}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--conf", "--keyring":
			content, err := os.ReadFile(value)
			if err != nil {
				return 99
			}
			conf = append(conf, strings.ReplaceAll(string(content), filepath.Dir(value), "DIR")...)
		case "--client-mount-timeout", "--rados-mon-op-timeout", "--rados-osd-op-timeout", "--connect-timeout", "--id":
		default:
			kept = append(kept, arg)
		}
	}
	note := fmt.Sprintf("%s\nstdin:%s\n%s", strings.Join(kept, " "), stdin, conf)
	if err := os.WriteFile(os.Getenv("FAKE_NOTE"), []byte(note), 0o600); err != nil {
		return 99
	}
	if appendLine(os.Getenv("FAKE_NOTE")+".all", strings.Join(kept, " ")) != nil {
		return 99
	}
	fmt.Fprint(os.Stderr, os.Getenv("FAKE_STDERR"))
	fmt.Print(os.Getenv("FAKE_STDOUT"))
	if hang, err := time.ParseDuration(os.Getenv("FAKE_HANG")); err == nil {
		if os.WriteFile(os.Getenv("FAKE_NOTE")+".hangs", nil, 0o600) != nil {
			return 99
		}
		time.Sleep(hang)
	}
	if os.Getenv("FAKE_MISSING") != "" {
		return removeWithMissing(args)
	}
	if os.Getenv("FAKE_SNAPSHOTS") != "" {
		return removeWithSnapshots(kept)
	}
	var status int
	fmt.Sscan(os.Getenv("FAKE_STATUS"), &status) //nolint:errcheck // Without a count, it is 0.
	return status
}

// echo plays `ceph` without a command: it answers each line, and prints errors for some lines. It
// records its process with each line.
func echo() int {
	if os.Getenv("FAKE_ECHO") == "" {
		return 1
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if appendLine(os.Getenv("FAKE_NOTE")+".asked", fmt.Sprintf("%d %s", os.Getpid(), lines.Text())) != nil {
			return 99
		}
		first := ""
		switch lines.Text() {
		case os.Getenv("FAKE_REFUSES"):
			fmt.Fprintln(os.Stderr, "Error EACCES: access denied")
			continue
		case os.Getenv("FAKE_SLOW"):
			time.Sleep(2 * time.Second)
		case os.Getenv("FAKE_TWICE"):
			first = "{} "
		}
		fmt.Fprintln(os.Stderr, "dumped all")
		fmt.Printf("%s\n{\"asked\": %q}\n", first, lines.Text()) // one write, so that a reader gets both documents
	}
	return 0
}

// removeWithMissing plays `rados rm` in a namespace in which some objects do not exist.
func removeWithMissing(args []string) int {
	objects := args[slices.Index(args, "--")+1:]
	for _, object := range objects {
		if slices.Contains(strings.Fields(os.Getenv("FAKE_MISSING")), object) {
			fmt.Fprintf(os.Stderr, "error removing p>cephtune-ns/%s: (2) No such file or directory\n", object)
			return 1
		}
		if appendLine(os.Getenv("FAKE_NOTE")+".removed", object) != nil {
			return 99
		}
	}
	return 0
}

// removeWithSnapshots plays `rbd` for an image with snapshots.
func removeWithSnapshots(args []string) int {
	purged := os.Getenv("FAKE_NOTE") + ".purged"
	if slices.Contains(args, "purge") {
		if os.Getenv("FAKE_SNAPSHOTS") == "protected" {
			fmt.Fprintln(os.Stderr, "rbd: some snapshots are protected")
			return int(syscall.EBUSY)
		}
		return map[bool]int{false: 0, true: 99}[appendLine(purged, "") != nil]
	}
	if _, err := os.Stat(purged); err != nil {
		fmt.Fprintln(os.Stderr, "rbd: image has snapshots - these must be deleted with 'rbd snap purge' before the image can be removed.")
		return int(syscall.ENOTEMPTY)
	}
	return 0
}

func appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, line)
	return errors.Join(err, file.Close())
}

// commands returns all commands of a fake CLI, sorted, because some run concurrently.
func commands(t *testing.T, cli *CLI) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(cli.programs, "note.all"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return slices.Sorted(strings.SplitSeq(strings.TrimSpace(string(content)), "\n"))
}

type fake struct {
	stdout, stderr, status, hang, missing, snapshots string
}

// fakeCLI returns a CLI whose programs do what f says, and the file that records their calls.
func fakeCLI(t *testing.T, f fake) (*CLI, func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"ceph", "rbd", "rados"} {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	note := filepath.Join(folder, "note")
	for name, value := range map[string]string{
		"FAKE_NOTE": note, "FAKE_STDOUT": f.stdout, "FAKE_STDERR": f.stderr,
		"FAKE_STATUS": f.status, "FAKE_HANG": f.hang, "FAKE_MISSING": f.missing, "FAKE_SNAPSHOTS": f.snapshots, "CEPH_ARGS": "--id other",
	} {
		t.Setenv(name, value)
	}
	cli, err := NewCLI(filepath.Join(folder, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	cli.programs = folder
	return cli, func() string {
		content, err := os.ReadFile(note)
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}

func TestCommandsHaveTheirFiles(t *testing.T) {
	cli, note := fakeCLI(t, fake{stdout: "\n{\"fsid\":\"f\"}"})
	if _, err := cli.Status(t.Context(), someone); err != nil {
		t.Fatal(err)
	}
	want := `ceph status --format=json
stdin:
[global]
mon_host = [v2:10.0.0.1:3300,v1:10.0.0.1:6789]
keyring = DIR/keyring
log_file =
log_to_stderr = false
err_to_stderr = false
[client]
admin_socket =
[client.cephtune]
key = AQAhugFrAAAAABAAabcdefghijklmnopqrstuv==
`
	if diff := cmp.Diff(want, note()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVerbsAreTheseCommands(t *testing.T) {
	tests := map[string]struct {
		do     func(context.Context, *CLI) (any, error)
		stdout string
		want   any
		call   string
	}{
		"config show": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				return c.ConfigShow(ctx, someone, 3, "osd_memory_target")
			},
			stdout: "\n939524096\n", want: "939524096",
			call: "ceph config show osd.3 osd_memory_target\nstdin:",
		},
		"drop caches": {
			do:   func(ctx context.Context, c *CLI) (any, error) { return nil, c.DropOSDCaches(ctx, someone) },
			call: "ceph tell osd.* cache drop\nstdin:",
		},
		"set a key": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				return nil, c.SetKey(ctx, someone, "cephtune/owner", "-i me")
			},
			call: "ceph config-key set cephtune/owner -i -\nstdin:-i me",
		},
		"get a key": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				value, found, err := c.GetKey(ctx, someone, "cephtune/owner")
				return fmt.Sprint(value, found), err
			},
			stdout: "a\nb\n", want: "a\nb\ntrue",
			call: "ceph config-key get cephtune/owner -o -\nstdin:",
		},
		"images": {
			do:     func(ctx context.Context, c *CLI) (any, error) { return c.Images(ctx, someone, "p", "cephtune-1") },
			stdout: `["cephtune-12","cephtune-2","csi-vol-cephtune-1"]`, want: []string{"cephtune-12"},
			call: "rbd ls --pool=p --format=json\nstdin:",
		},
		"addresses of a user's clients": {
			do: func(ctx context.Context, c *CLI) (any, error) { return c.ClientAddresses(ctx, someone, "b", "io") },
			stdout: `[{"name":"client.4","entity_name":"client.io","addrs":{"addrvec":[{"type":"any","addr":"10.0.0.7:0","nonce":4000000001}]},"open":true},
				{"name":"client.5","entity_name":"client.io","addrs":{"addrvec":[{"type":"any","addr":"[fd00::7]:0","nonce":12345},{"type":"v1","addr":"10.0.0.8:0","nonce":0}]}},
				{"name":"osd.1","entity_name":"osd.1","addrs":{"addrvec":[{"type":"v2","addr":"10.0.0.9:6800","nonce":12345}]}}]`,
			want: []string{"10.0.0.7:0/4000000001", "[fd00::7]:0/12345"},
			call: "ceph tell mon.b sessions --format=json\nstdin:",
		},
		"block a client": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				return nil, c.BlocklistClient(ctx, someone, "10.0.0.7:0/4000000001", time.Hour)
			},
			call: "ceph osd blocklist add 10.0.0.7:0/4000000001 3600\nstdin:",
		},
		"remove an image": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				return nil, c.RemoveImage(ctx, someone, "p", "cephtune-1")
			},
			call: "rbd rm --no-progress --pool=p --image=cephtune-1\nstdin:",
		},
		"objects": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				return c.Objects(ctx, someone, "p", "cephtune-1", "b", 10)
			},
			stdout: "b1\na\n\nb2\n", want: []string{"b1", "b2"},
			call: "rados --pool=p --namespace=cephtune-1 ls\nstdin:",
		},
		"all objects of a namespace of ours": {
			do: func(ctx context.Context, c *CLI) (any, error) {
				return c.Objects(ctx, someone, "p", "cephtune-1", "", 10)
			},
			stdout: "b1\na\n", want: []string{"b1", "a"},
			call: "rados --pool=p --namespace=cephtune-1 ls\nstdin:",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, note := fakeCLI(t, fake{stdout: test.stdout})
			got, err := test.do(t.Context(), cli)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.HasPrefix(note(), test.call+"\n") {
				t.Errorf("called as %q, want %q", note(), test.call)
			}
		})
	}
}

// The CLI must not list or remove foreign keys, images or objects, and a name must never be an
// option.
func TestCallsThatAreRefusedUnasked(t *testing.T) {
	tests := map[string]func(context.Context, *CLI) error{
		"a key of others": func(ctx context.Context, c *CLI) error {
			_, _, err := c.GetKey(ctx, someone, "mgr/dashboard/key")
			return err
		},
		"a foreign key":       func(ctx context.Context, c *CLI) error { return c.SetKey(ctx, someone, "cephtune-x/owner", "v") },
		"all of our keys":     func(ctx context.Context, c *CLI) error { return c.RemoveKey(ctx, someone, "cephtune/") },
		"an image of others":  func(ctx context.Context, c *CLI) error { return c.RemoveImage(ctx, someone, "p", "csi-vol-1") },
		"an image in a pool/": func(ctx context.Context, c *CLI) error { return c.RemoveImage(ctx, someone, "p", "cephtune/../x") },
		"a snapshot":          func(ctx context.Context, c *CLI) error { return c.RemoveImage(ctx, someone, "p", "cephtune-1@s") },
		"a whole host": func(ctx context.Context, c *CLI) error {
			return c.BlocklistClient(ctx, someone, "10.0.0.7:0/0", time.Hour)
		},
		"a network": func(ctx context.Context, c *CLI) error {
			return c.BlocklistClient(ctx, someone, "10.0.0.0/24", time.Hour)
		},
		"a block without end": func(ctx context.Context, c *CLI) error {
			return c.BlocklistClient(ctx, someone, "10.0.0.7:0/12345", 0)
		},
		"all monitors": func(ctx context.Context, c *CLI) error {
			_, err := c.ClientAddresses(ctx, someone, "*", "io")
			return err
		},
		"all images": func(ctx context.Context, c *CLI) error { _, err := c.Images(ctx, someone, "p", ""); return err },
		"an option as a pool": func(ctx context.Context, c *CLI) error {
			_, err := c.Images(ctx, someone, "--conf=x", "cephtune")
			return err
		},
		"all objects": func(ctx context.Context, c *CLI) error { _, err := c.Objects(ctx, someone, "p", "", "", 1); return err },
		"objects of others": func(ctx context.Context, c *CLI) error {
			_, err := c.Objects(ctx, someone, "p", "ns", "rbd_data", 1)
			return err
		},
		"foreign objects of rados bench": func(ctx context.Context, c *CLI) error {
			_, err := c.Objects(ctx, someone, "p", "", "benchmark_data_host", 1)
			return err
		},
		"objects without end": func(ctx context.Context, c *CLI) error {
			_, err := c.Objects(ctx, someone, "p", "cephtune-1", "", 1e9)
			return err
		},
		"an object of others": func(ctx context.Context, c *CLI) error {
			return c.RemoveObjects(ctx, someone, "p", "", []string{"cephtune-1", "rbd_directory"})
		},
		"an option as object": func(ctx context.Context, c *CLI) error {
			return c.RemoveObjects(ctx, someone, "p", "cephtune-1", []string{"--force-full"})
		},
		"an option": func(ctx context.Context, c *CLI) error { _, err := c.ConfigShow(ctx, someone, 0, "--help"); return err },
		"an OSD below nought": func(ctx context.Context, c *CLI) error {
			_, err := c.ConfigShow(ctx, someone, -1, "osd_memory_target")
			return err
		},
		"a line end in a host": func(ctx context.Context, c *CLI) error {
			_, err := c.Status(ctx, Connection{MonHost: "a\nlog_file = /x", User: "u", Key: "AAAA"})
			return err
		},
		"a line end in a user": func(ctx context.Context, c *CLI) error {
			_, err := c.Status(ctx, Connection{MonHost: "a", User: "u]\n", Key: "AAAA"})
			return err
		},
		"a line end in a key": func(ctx context.Context, c *CLI) error {
			_, err := c.Status(ctx, Connection{MonHost: "a", User: "u", Key: "AAAA\ncaps"})
			return err
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			cli, note := fakeCLI(t, fake{})
			err := do(t.Context(), cli)
			if _, invalid := errors.AsType[*InvalidError](err); !invalid {
				t.Errorf("error is %v, want an InvalidError", err)
			}
			if note() != "" {
				t.Errorf("a program was called: %s", note())
			}
			if err != nil && strings.Contains(err.Error(), "AAAA") {
				t.Errorf("the error has the key: %v", err)
			}
		})
	}
}

// The texts and states are from Ceph 18.2.7.
func TestErrorsContainCephsMessage(t *testing.T) {
	tests := map[string]struct {
		stdout, stderr, status string
		want                   error
		wantMessage            string
	}{
		"refused":     {"", "Error EACCES: access denied\n", "13", syscall.EACCES, "Error EACCES: access denied"},
		"no such key": {"", "[errno 13] RADOS permission denied (error connecting to the cluster)\n", "1", fs.ErrPermission, "[errno 13] RADOS permission denied (error connecting to the cluster)"},
		"a log line before": {
			"", "2026-11-21T16:08:41.366+0000 7f2860eb26c0  0 monclient(hunting): authenticate timed out after 9\n[errno 110] RADOS timed out (error connecting to the cluster)\n", "1",
			context.DeadlineExceeded, "[errno 110] RADOS timed out (error connecting to the cluster)",
		},
		"no monitor":     {"timed out\n", "", "1", context.DeadlineExceeded, "timed out"},
		"rados":          {"", "error opening pool nope: (2) No such file or directory\n", "1", fs.ErrNotExist, "error opening pool nope: (2) No such file or directory"},
		"rados, refused": {"", "rados_nobjects_list_next2: Operation not permitted\n", "1", syscall.EPERM, "rados_nobjects_list_next2: Operation not permitted"},
		"too large":      {"", "Error EFBIG: error: entry size limited to 65536 bytes.\n", "27", syscall.EFBIG, "Error EFBIG: error: entry size limited to 65536 bytes."},
		"without words":  {"", "", "22", syscall.EINVAL, "exit status 22"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, _ := fakeCLI(t, fake{stdout: test.stdout, stderr: test.stderr, status: test.status})
			_, err := cli.Status(t.Context(), someone)
			answer, answered := errors.AsType[*Error](err)
			if !answered || !errors.Is(err, test.want) {
				t.Fatalf("error is %v (%#v), want %v", err, err, test.want)
			}
			if answer.Message != test.wantMessage || answer.Verb != "status" {
				t.Errorf("got %q of %q, want %q", answer.Message, answer.Verb, test.wantMessage)
			}
		})
	}
}

// The error of 18.2.7 for a keyring that 20.2.4 has created, and the version.
func TestAKeyThatIsTooNewForTheTools(t *testing.T) {
	const key = "AgDpNARrAAAAACAAQPracFeGho13ZeP2hnJIEFMH7ImUykP/aS45E2moF+4="
	complains := "2026-11-23T13:15:08.266+0000 7f7a99aa96c0 -1 auth: error parsing file /c/keyring: error setting modifier for [client.cephtune] type=key val=" + key + ": Malformed input [buffer:3]\n" +
		"2026-11-23T13:15:08.266+0000 7f7a99aa96c0 -1 monclient: keyring not found\n"
	const failed = "[errno 5] RADOS I/O error (error connecting to the cluster)\n"
	newer := Connection{MonHost: someone.MonHost, User: someone.User, Key: key, Image: "quay.io/ceph/ceph:v20.2.4"}
	tests := map[string]struct {
		connection Connection
		stderr     string
		want       string
	}{
		"the tools are too old": {newer, complains + failed, "the tools image has Ceph of an older version, which cannot read the newer type of key of client.cephtune; use a " +
			"tools image built from quay.io/ceph/ceph:v20.2.4, in the manager's Deployment and in the operator config"},
		"an I/O error of another kind":      {newer, failed, "ceph auth: " + strings.TrimSpace(failed)},
		"a key that every Ceph reads":       {someone, strings.ReplaceAll(complains, key, someone.Key) + failed, "ceph auth: " + strings.TrimSpace(failed)},
		"a key in all that there is to say": {newer, strings.ReplaceAll(complains, malformedKey, "a key "), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cli, _ := fakeCLI(t, fake{stderr: test.stderr, status: "1"})
			_, err := cli.ceph(t.Context(), test.connection, "auth")
			if err == nil || test.want != "" && err.Error() != test.want {
				t.Fatalf("got %v\nwant %s", err, test.want)
			}
			if strings.Contains(err.Error(), test.connection.Key) {
				t.Errorf("the error has the key: %v", err)
			}
			_, unreadable := errors.AsType[*UnreadableKeyError](err)
			if unreadable == Unsure(err) {
				t.Errorf("unsure whether a change was made: %t, where the key cannot be read: %t", Unsure(err), unreadable)
			}
		})
	}
}

func TestToolsVersion(t *testing.T) {
	for message, want := range map[string]string{
		"ceph version 18.2.7 (6b0e988052ec84cf2d4a54ff9bbbc5e720b621ad) reef (stable)\n": "18.2.7", "no version\n": "",
	} {
		cli, _ := fakeCLI(t, fake{stdout: message})
		if got := cli.version(t.Context()); got != want {
			t.Errorf("%q: version %q, want %q", message, got, want)
		}
	}
}

func TestAbsenceIsNoError(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stderr: "Error ENOENT: ", status: "2"})
	if value, found, err := cli.GetKey(t.Context(), someone, "cephtune/none"); value != "" || found || err != nil {
		t.Errorf("key: %q, %v, %v", value, found, err)
	}
	if err := cli.RemoveImage(t.Context(), someone, "p", "cephtune-1"); err != nil {
		t.Errorf("image: %v", err)
	}
}

func TestSnapshotsGoWithTheirImage(t *testing.T) {
	cli, _ := fakeCLI(t, fake{snapshots: "some"})
	if err := cli.RemoveImage(t.Context(), someone, "p", "cephtune-1"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"rbd rm --no-progress --pool=p --image=cephtune-1", "rbd rm --no-progress --pool=p --image=cephtune-1",
		"rbd snap purge --no-progress --pool=p --image=cephtune-1",
	}
	if diff := cmp.Diff(want, commands(t, cli)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	protected, _ := fakeCLI(t, fake{snapshots: "protected"})
	if err := protected.RemoveImage(t.Context(), someone, "p", "cephtune-1"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("of a snapshot that is protected the error is %v, want EBUSY", err)
	}
}

func TestAnImageInUseIsBusy(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stderr: "rbd: error: image still has watchers\n", status: "16"})
	if err := cli.RemoveImage(t.Context(), someone, "p", "cephtune-1"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("error is %v, want EBUSY", err)
	}
}

func TestObjectsThatAreMissingDoNotKeepOthers(t *testing.T) {
	cli, _ := fakeCLI(t, fake{missing: "b c f"})
	if err := cli.RemoveObjects(t.Context(), someone, "p", "cephtune-ns", []string{"a", "b", "c", "d", "e", "f"}); err != nil {
		t.Fatal(err)
	}
	removed, err := os.ReadFile(os.Getenv("FAKE_NOTE") + ".removed")
	if err != nil || string(removed) != "a\nd\ne\n" {
		t.Errorf("removed %q (%v), want a, d and e", removed, err)
	}
}

func TestListingStopsAtTheLimit(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stdout: strings.Repeat("object\n", 100), hang: "1m"})
	began := time.Now()
	got, err := cli.Objects(t.Context(), someone, "p", "cephtune-ns", "", 3)
	if err != nil || len(got) != 3 {
		t.Errorf("got %d objects, %v, want 3", len(got), err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// expiring is a context whose deadline passes when the channel is closed.
type expiring struct {
	context.Context //nolint:containedctx // It is a context.

	passed <-chan struct{}
}

func (c expiring) Done() <-chan struct{} { return c.passed }

func (c expiring) Err() error {
	select {
	case <-c.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestACommandThatHangsIsKilled(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stderr: "waiting for osd.2", hang: "1m"})
	passed := make(chan struct{})
	go func() { // The command must have said something before its deadline, however long its process takes to start.
		defer close(passed)
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(os.Getenv("FAKE_NOTE") + ".hangs"); err == nil {
				return
			}
		}
	}()
	err := cli.DropOSDCaches(expiring{t.Context(), passed}, someone)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want DeadlineExceeded", err)
	}
	if err != nil && !strings.Contains(err.Error(), "waiting for osd.2") {
		t.Errorf("%q does not tell what the command said", err)
	}
}

func TestOutputWithoutJSONIsAnError(t *testing.T) {
	cli, _ := fakeCLI(t, fake{stdout: "no JSON here"})
	if _, err := cli.Status(t.Context(), someone); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("error is %v", err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	var kept strings.Builder
	dropping := &limited{writer: &kept, left: 3}
	if n, err := dropping.Write([]byte("abcdef")); n != 6 || err != nil || kept.String() != "abc" {
		t.Errorf("kept %q (%d, %v)", kept.String(), n, err)
	}
	refusing := &limited{writer: io.Discard, left: 3, refuse: true}
	if _, err := refusing.Write([]byte("abcdef")); err == nil {
		t.Error("6 bytes were taken, want an error")
	}
}
