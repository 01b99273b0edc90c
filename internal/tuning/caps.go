package tuning

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
)

// DeniedError reports a change that Ceph denied because the key lacks caps. A retry fails too, until an
// administrator changes the caps.
type DeniedError struct {
	Setting Setting
	// User is the user of the key, without "client."
	User string
	// Err is Ceph's error.
	Err error
}

// Error implements error.
func (e *DeniedError) Error() string {
	daemon, grants := capsFor(e.Setting)
	return fmt.Sprintf("%v: the caps of CephClient %s do not allow it: add to its %s caps `%s` (with Helm, the values `options` and `powers` add them); docs/cephx-caps.md lists the caps of each change",
		e.Err, e.User, daemon, strings.Join(grants, ", "))
}

// Unwrap returns Ceph's error.
func (e *DeniedError) Unwrap() error { return e.Err }

// denied wraps Ceph's denial of a change in a *DeniedError. It returns every other error unchanged.
func denied(err error, setting Setting, connection ceph.Connection) error {
	if answer, answered := errors.AsType[*ceph.Error](err); answered && answer.Denied() {
		return &DeniedError{Setting: setting, User: connection.User, Err: err}
	}
	return err
}

// capsFor returns the caps that a key needs to change and restore a setting, and the type of daemon that
// checks them: mon or mgr.
func capsFor(setting Setting) (daemon string, grants []string) {
	both := func(one, other, with string) []string {
		return []string{fmt.Sprintf("allow command %q%s", one, with), fmt.Sprintf("allow command %q%s", other, with)}
	}
	switch setting.Kind {
	case KindBalancer:
		return "mgr", both("balancer off", "balancer on", "")
	case KindScrubFlag:
		return "mon", both("osd set", "osd unset", " with key="+setting.Option)
	case KindNoUp:
		return "mon", both("osd set-group", "osd unset-group", " with flags="+setting.Option)
	case KindAutoscaler:
		return "mon", []string{fmt.Sprintf("allow command \"osd pool set\" with pool=%s var=%s", setting.Pool, optionAutoscaler)}
	case KindPoolOption:
		return "mon", []string{fmt.Sprintf("allow command \"osd pool set\" with pool=%s var=%s", setting.Pool, setting.Option)}
	default:
		who := setting.who().String()
		if setting.Mask != "" {
			who = fmt.Sprintf("%q", who)
		}
		return "mon", both("config set", "config rm", fmt.Sprintf(" with who=%s name=%s", who, setting.Option))
	}
}

// MissingCaps returns the caps that have to be added to a key's mon caps, so that the key can vary the
// settings. It does not check mgr caps. A cap that it cannot parse, such as `allow *` or a profile, counts as
// sufficient. If such a cap is not sufficient, Ceph denies the change.
func MissingCaps(monCaps string, settings []Setting) []string {
	var granted []grant
	for text := range strings.SplitSeq(monCaps, ",") {
		granted = append(granted, parseGrant(text))
	}
	var missing []string
	for _, setting := range settings {
		daemon, needed := capsFor(setting)
		for _, text := range needed {
			covers := func(g grant) bool { return g.covers(parseGrant(text)) }
			if daemon == "mon" && !slices.ContainsFunc(granted, covers) && !slices.Contains(missing, text) {
				missing = append(missing, text)
			}
		}
	}
	return missing
}

// grant is one parsed cap: the command that the cap allows, and the constraints on the command's arguments.
type grant struct {
	command string // "" if the cap does not name a command
	with    map[string]string
	unclear bool // parseGrant could not parse the cap
}

var (
	commandGrant = regexp.MustCompile(`^allow\s+command\s+(?:"([^"]*)"|(\w+))(?:\s+with\s+(.+))?$`)
	constraint   = regexp.MustCompile(`(\w+)\s*=\s*(?:"([^"]*)"|([^\s"']+))`)
)

func parseGrant(text string) grant {
	text = strings.TrimSpace(text)
	if text == "" || text == "allow r" {
		return grant{}
	}
	found := commandGrant.FindStringSubmatch(text)
	if found == nil {
		return grant{unclear: true}
	}
	g := grant{command: found[1] + found[2], with: map[string]string{}}
	for _, c := range constraint.FindAllStringSubmatch(found[3], -1) {
		g.with[c[1]] = c[2] + c[3]
	}
	return g
}

// covers reports whether the cap g may allow the command of the cap in the argument `needed`. It ignores g's
// constraints on arguments that the needed cap does not name, such as the value.
func (g grant) covers(needed grant) bool {
	if g.unclear || g.command != needed.command {
		return g.unclear
	}
	for name, value := range g.with {
		if want, named := needed.with[name]; named && want != value {
			return false
		}
	}
	return true
}
