//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	eacces       = 13
	ebusy        = 16 // of a permitted "osd ok-to-stop", if the OSD cannot be stopped
	capsClient   = "client.cephtune-e2e-caps"
	capsKeyring  = "/tmp/cephtune-e2e-caps.keyring"
	capsPool     = ".mgr" // Every cluster has this pool. Only its harmless pg_num_min is set.
	capsKeyOwned = "cephtune-e2e/owner"

	// capsBlocked is a client in a network that is reserved for documentation.
	capsBlocked = "192.0.2.1:0/1234567"

	// ioMonCaps are the caps for monitors in config/ceph/io.yaml.
	ioMonCaps = `allow service mon r, allow service osd r, allow service pg r, ` +
		`allow command "osd blocklist" with blocklistop=add addr regex "^[^/]+/[1-9][0-9][0-9][0-9]+$"`
)

// The test checks the commands that caps permit and refuse. The caps that a cephx key needs for the
// operator's actions in Ceph must permit nothing else, and narrower caps must not work.
// docs/cephx-caps.md says the same in words: change both.
func TestCapsAllowNoMoreThanTheySay(t *testing.T) {
	c := forTest(t)
	t.Cleanup(func() { c.removeCapsTraces(t) })
	tests := map[string]struct {
		mon, mgr, osd string
		wantAllowed   []string
		wantRefused   []string
	}{
		"config set with who= and name= is for that option at that section": {
			mon:         `allow r, allow command "config set" with who=osd name=osd_mclock_profile, allow command "config rm" with who=osd name=osd_mclock_profile`,
			wantAllowed: []string{"config set osd osd_mclock_profile balanced", "config rm osd osd_mclock_profile"},
			wantRefused: []string{
				"config set osd.0 osd_mclock_profile balanced",
				"config set global osd_mclock_profile balanced",
				"config set osd/class:hdd osd_mclock_profile balanced",
				"config set osd osd_client_message_cap 256",
				"config rm osd osd_client_message_cap",
			},
		},
		"config set with a mask in who= is for that mask": {
			mon:         `allow r, allow command "config set" with who="osd/class:hdd" name=osd_mclock_profile, allow command "config rm" with who="osd/class:hdd" name=osd_mclock_profile`,
			wantAllowed: []string{"config set osd/class:hdd osd_mclock_profile balanced", "config rm osd/class:hdd osd_mclock_profile"},
			wantRefused: []string{"config set osd osd_mclock_profile balanced", "config set osd/class:ssd osd_mclock_profile balanced"},
		},
		"config set without who= is for every section": {
			mon: `allow r, allow command "config set" with name=osd_mclock_profile, allow command "config rm" with name=osd_mclock_profile`,
			wantAllowed: []string{
				"config set osd.0 osd_mclock_profile balanced", "config rm osd.0 osd_mclock_profile",
				"config set global osd_mclock_profile balanced", "config rm global osd_mclock_profile",
			},
		},
		"reading central config needs allow r on the monitors": {
			mon:         `allow r`,
			wantAllowed: []string{"config dump", "config get osd.0", "config help osd_mclock_profile", "osd dump", "osd metadata", "status", "df"},
			wantRefused: []string{"config set osd osd_mclock_profile balanced", "config-key get " + capsKeyOwned, "config-key ls"},
		},
		"reading running config needs allow r on the manager too": {
			mon: `allow r`, mgr: `allow r`,
			wantAllowed: []string{"config show osd.0 osd_mclock_profile", "osd perf", "osd status", "pg ls", "pg ls-by-osd osd.0", "osd ok-to-stop 0", "balancer status", "telemetry preview perf"},
			wantRefused: []string{"balancer off", "telemetry on --license sharing-1-0"},
		},
		"tell cache drop is not among what rwx allows": {
			mon: `allow r`, osd: `allow rwx`,
			wantRefused: []string{"tell osd.0 cache drop", "tell osd.0 version"},
		},
		"tell cache drop needs allow * on the OSDs, which is everything": {
			mon: `allow r`, osd: `allow *`,
			wantAllowed: []string{"tell osd.0 cache drop"},
		},
		"the balancer is turned off and on by commands of the manager": {
			mon: `allow r`, mgr: `allow command "balancer status", allow command "balancer off", allow command "balancer on"`,
			wantAllowed: []string{"balancer status", "balancer off", "balancer on"},
			wantRefused: []string{"balancer mode none"},
		},
		"listing the clients of a monitor needs two commands": {
			mon:         `allow command "sessions", allow command "get_command_descriptions"`,
			wantAllowed: []string{"tell mon.a sessions"},
			wantRefused: []string{"tell mon.a config show", "tell mon.a add_bootstrap_peer_hint 192.0.2.1", "osd dump"},
		},
		"osd set-group with flags= is for that flag on any OSD": {
			mon:         `allow r, allow command "osd set-group" with flags=noup, allow command "osd unset-group" with flags=noup`,
			wantAllowed: []string{"osd set-group noup osd.0", "osd unset-group noup osd.0"},
			wantRefused: []string{"osd set-group noout osd.0", "osd set noout", "osd down osd.0"},
		},
		"osd set-group cannot be limited to an OSD by who=": {
			mon:         `allow r, allow command "osd set-group" with flags=noup who=osd.0`,
			wantRefused: []string{"osd set-group noup osd.0", "osd set-group noup osd.1"},
		},
		// The OSD does not exist. Ceph accepts the command and takes nothing down.
		"osd down is for any OSD, and for nothing else": {
			mon:         `allow r, allow command "osd down"`,
			wantAllowed: []string{"osd down osd.9999"},
			wantRefused: []string{"osd out osd.9999", "osd set-group noup osd.0", "osd set noup", "osd lost 9999 --yes-i-really-mean-it"},
		},
		"osd down cannot be limited to an OSD by ids=": {
			mon:         `allow r, allow command "osd down" with ids=osd.9999`,
			wantRefused: []string{"osd down osd.9999", "osd down 9999"},
		},
		"osd pg-upmap and its removal are commands of their own": {
			mon:         `allow r, allow command "osd pg-upmap", allow command "osd rm-pg-upmap"`,
			wantAllowed: []string{"osd pg-upmap 1.0 0 1 2", "osd rm-pg-upmap 1.0"},
			wantRefused: []string{"osd pg-upmap-items 1.0 0 1", "osd rm-pg-upmap-items 1.0"},
		},
		"osd blocklist with addr regex is for a client, and for no host or network": {
			mon:         ioMonCaps,
			wantAllowed: []string{"osd blocklist add " + capsBlocked + " 60"},
			wantRefused: []string{
				"osd blocklist add 192.0.2.1:0/0 60", "osd blocklist add 192.0.2.1 60", "osd blocklist range add 192.0.2.0/24 60",
				"osd blocklist range add 2001:db8::/128 60", "osd blocklist rm " + capsBlocked, "osd blocklist clear",
			},
		},
		"config-key by prefix is for keys below it": {
			mon: `allow r` + forCommands(` with key prefix cephtune-e2e/`, "config-key set", "config-key get", "config-key exists", "config-key rm"),
			wantAllowed: []string{
				"config-key set " + capsKeyOwned + " me", "config-key get " + capsKeyOwned,
				"config-key exists " + capsKeyOwned, "config-key rm " + capsKeyOwned,
			},
			wantRefused: []string{"config-key set elsewhere/owner me", "config-key get mgr/dashboard/key", "config-key ls", "config-key dump"},
		},
		"osd pool set with pool= and var= is for that option of that pool": {
			mon:         `allow r, allow command "osd pool set" with pool=` + capsPool + ` var=pg_num_min`,
			wantAllowed: []string{"osd pool set " + capsPool + " pg_num_min 1"},
			wantRefused: []string{"osd pool set " + capsPool + " pg_num_max 32", "osd pool set " + capsPool + " size 2"},
		},
		"osd pool set with pool= is for every option of that pool": {
			mon:         `allow r, allow command "osd pool set" with pool=` + capsPool,
			wantAllowed: []string{"osd pool set " + capsPool + " pg_num_min 1"},
			wantRefused: []string{"osd pool set cephtune-e2e-nowhere pg_num_min 1"},
		},
		"osd set with key= is for that flag": {
			mon:         `allow r, allow command "osd set" with key=noscrub, allow command "osd unset" with key=noscrub`,
			wantAllowed: []string{"osd set noscrub", "osd unset noscrub"},
			wantRefused: []string{"osd set nodeep-scrub", "osd set noout", "osd unset nodeep-scrub"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c.createCapsKey(t, test.mon, test.mgr, test.osd)
			for _, command := range test.wantAllowed {
				var exit *exitError
				if err := c.withCapsKey(t, command); err != nil && (!errors.As(err, &exit) || exit.status != ebusy) {
					t.Errorf("%q: %v, want it allowed", command, err)
				}
			}
			for _, command := range test.wantRefused {
				var exit *exitError
				if err := c.withCapsKey(t, command); !errors.As(err, &exit) || exit.status != eacces {
					t.Errorf("%q: %v, want it refused with EACCES", command, err)
				}
			}
		})
	}
}

// OSD caps cannot name single commands, so dropping caches needs the full OSD cap.
func TestOSDCapsKnowNoCommands(t *testing.T) {
	c := forTest(t)
	_, err := c.ceph(t.Context(), "auth", "get-or-create", capsClient, "osd", `allow command "cache drop"`)
	var exit *exitError
	if !errors.As(err, &exit) || !strings.Contains(exit.stderr, "osd capability parse failed") {
		t.Errorf("error is %v, want Ceph to refuse the cap", err)
	}
}

// forCommands returns a cap for each command, all with the same constraint.
func forCommands(constraint string, commands ...string) string {
	var caps strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&caps, `, allow command %q%s`, command, constraint)
	}
	return caps.String()
}

func (c *cluster) createCapsKey(t *testing.T, mon, mgr, osd string) {
	t.Helper()
	if _, err := c.ceph(t.Context(), "auth", "rm", capsClient); err != nil {
		t.Fatal(err)
	}
	args := []string{"auth", "get-or-create", capsClient, "-o", capsKeyring}
	for daemon, caps := range map[string]string{"mon": mon, "mgr": mgr, "osd": osd} {
		if caps != "" {
			args = append(args, daemon, caps)
		}
	}
	if _, err := c.ceph(t.Context(), args...); err != nil {
		t.Fatalf("make a key with mon %q, mgr %q, osd %q: %v", mon, mgr, osd, err)
	}
}

// withCapsKey runs a ceph command with the key under test. "timeout" ends a command that waits for
// a daemon, with a status other than EACCES.
func (c *cluster) withCapsKey(t *testing.T, command string) error {
	t.Helper()
	args := []string{"timeout", "60", "ceph", "--name", capsClient, "--keyring", capsKeyring}
	_, err := c.toolbox(t.Context(), append(args, strings.Fields(command)...)...)
	return err
}

func (c *cluster) removeCapsTraces(t *testing.T) {
	t.Helper()
	// Each command has its own time. The flags come first, because an OSD that stays down would
	// fail all later tests.
	ctx := context.WithoutCancel(t.Context())
	for _, command := range [][]string{
		{"osd", "unset-group", "noup", "osd.0"},
		{"osd", "unset", "noscrub"},
		{"auth", "rm", capsClient},
		{"config-key", "rm", capsKeyOwned},
		{"osd", "rm-pg-upmap", "1.0"},
		{"osd", "blocklist", "rm", capsBlocked},
		{"balancer", "on"},
	} {
		if _, err := c.ceph(ctx, command...); err != nil {
			t.Errorf("clean up by %q: %v", strings.Join(command, " "), err)
		}
	}
	for _, section := range []string{"osd", "osd.0", "global", "osd/class:hdd"} {
		if _, err := c.ceph(ctx, "config", "rm", section, "osd_mclock_profile"); err != nil {
			t.Errorf("clean up section %s: %v", section, err)
		}
	}
}
