package tuning

import (
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

func TestMissingCaps(t *testing.T) {
	const (
		set = `allow command "config set" with who=osd name=osd_mclock_profile`
		rm  = `allow command "config rm" with who=osd name=osd_mclock_profile`
	)
	profile := config("osd_mclock_profile", "balanced").Setting
	ssd := masked("class:ssd", "osd_mclock_profile", "balanced").Setting
	pgs := poolOption("p", "pg_num", "64").Setting
	for name, test := range map[string]struct {
		caps     string
		settings []Setting
		want     []string
	}{
		"both commands":             {"allow r, " + set + ", " + rm, []Setting{profile}, nil},
		"on lines of their own":     {"allow r,\n  " + set + ",\n  " + rm + "\n", []Setting{profile}, nil},
		"nothing":                   {"", []Setting{profile}, []string{set, rm}},
		"reading alone":             {"allow r", []Setting{profile, profile}, []string{set, rm}},
		"one that cannot be undone": {"allow r, " + set, []Setting{profile}, []string{rm}},
		"another option":            {strings.ReplaceAll(set+", "+rm, "osd_mclock_profile", "osd_client_message_cap"), []Setting{profile}, []string{set, rm}},
		"all OSDs, and not a mask":  {set + ", " + rm, []Setting{ssd}, []string{strings.Replace(set, "who=osd", `who="osd/class:ssd"`, 1), strings.Replace(rm, "who=osd", `who="osd/class:ssd"`, 1)}},
		"a mask, in quotes": {`allow command "config set" with who="osd/class:ssd" name=osd_mclock_profile, allow command "config rm" with ` +
			`name="osd_mclock_profile" who="osd/class:ssd"`, []Setting{ssd}, nil},
		"any option":                 {`allow command "config set" with who=osd, allow command "config rm"`, []Setting{profile}, nil},
		"options that begin so":      {`allow command "config set" with name prefix osd_, allow command "config rm" with name prefix osd_`, []Setting{profile}, nil},
		"one value":                  {set + " value=balanced, " + rm, []Setting{profile}, nil},
		"everything":                 {"allow *", []Setting{profile, pgs}, nil},
		"an unknown command":         {"profile simple-rados-client, allow rw", []Setting{profile}, nil},
		"an option of a pool":        {`allow command "osd pool set" with pool=p var=pg_num`, []Setting{pgs}, nil},
		"any option of that pool":    {`allow command "osd pool set" with pool=p`, []Setting{pgs}, nil},
		"another pool":               {`allow command "osd pool set" with pool=q`, []Setting{pgs}, []string{`allow command "osd pool set" with pool=p var=pg_num`}},
		"another option of the pool": {`allow command "osd pool set" with pool=p var=pg_autoscale_mode`, []Setting{pgs}, []string{`allow command "osd pool set" with pool=p var=pg_num`}},
		"what managers are asked":    {"allow r", []Setting{{Kind: KindBalancer}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(test.want, MissingCaps(test.caps, test.settings)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestADeniedChangeNamesItsCaps checks that the error has the caps as docs/cephx-caps.md has them,
// so that a user can copy them.
func TestADeniedChangeNamesItsCaps(t *testing.T) {
	for name, test := range map[string]struct {
		change Change
		caps   string
	}{
		"an option": {config("osd_max_backfills", "4"), "mon caps `allow command \"config set\" with who=osd name=osd_max_backfills, allow command \"config rm\" with who=osd " +
			"name=osd_max_backfills`"},
		"an option at a mask": {masked("class:ssd", "osd_max_backfills", "4"), `allow command "config set" with who="osd/class:ssd" name=osd_max_backfills`},
		"an option of a pool": {poolOption("p", "pg_num", "64"), "mon caps `allow command \"osd pool set\" with pool=p var=pg_num`"},
		"an autoscaler":       {autoscaler("p"), `allow command "osd pool set" with pool=p var=pg_autoscale_mode`},
		"the balancer":        {balancer(), "mgr caps `allow command \"balancer off\", allow command \"balancer on\"`"},
		"scrubs": {
			Change{Setting: Setting{Kind: KindScrubFlag, Option: ceph.FlagNoScrub}, To: cephvalue.Of(yes), Type: cephvalue.Bool},
			`allow command "osd set" with key=noscrub, allow command "osd unset" with key=noscrub`,
		},
		"an OSD": {noUp(1), `allow command "osd set-group" with flags=noup, allow command "osd unset-group" with flags=noup`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer(&ceph.Error{Verb: "x", Errno: 13, Message: "Error EACCES: access denied"})
			_, err := w.process(nil).Apply(t.Context(), ourSweep, []Change{test.change})
			if _, denied := errors.AsType[*DeniedError](err); !denied {
				t.Fatalf("error %v, want a denial", err)
			}
			for _, want := range []string{"access denied", "CephClient tuner", test.caps, "docs/cephx-caps.md"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
		})
	}
}

// TestErrorsThatAreNotAboutCaps checks errors that are not about caps, such as that of a key that was just
// replaced.
func TestErrorsThatAreNotAboutCaps(t *testing.T) {
	for name, answer := range map[string]*ceph.Error{
		"a key that Ceph does not know": {Verb: "x", Errno: 13, Message: "[errno 13] RADOS permission denied (error connecting to the cluster)"},
		"a pool that guards its PGs":    {Verb: "x", Errno: 1, Message: "Error EPERM: pool's nopgchange flag is set"},
		"no answer":                     {Verb: "x", Errno: 110, Message: "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer(answer)
			_, err := w.process(nil).Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")})
			if _, denied := errors.AsType[*DeniedError](err); denied || !errors.Is(err, answer) {
				t.Errorf("error %v, want what Ceph said and no denial", err)
			}
		})
	}
}

// answer is Ceph's error for every change.
func (w *world) answer(with *ceph.Error) {
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if strings.HasPrefix(verb, "Set") && verb != "SetKey" {
				return with
			}
			return nil
		}
	})
}
