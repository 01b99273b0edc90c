package ceph

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// Command is a command of ceph, rbd or rados: the manager sends it to its sidecar, which executes it.
type Command struct {
	// Prefix names the command in the table of commands, such as "osd pool set" or "rbd rm". In a request, it is the
	// last part of the path.
	Prefix string `json:"-"`
	// Args holds the arguments in the order in which the row of the command checks them.
	Args []string `json:"args,omitempty"`
	// Input is the command's standard input: the value of config-key set.
	Input string `json:"input,omitempty"`
}

// Executor executes commands. Commands that change settings need a fence; for all others it is nil. The result is
// the output of the command, at most maxOutput bytes.
type Executor interface {
	Execute(ctx context.Context, conn Connection, command Command, fence *Fence) ([]byte, error)
}

// permission classifies a command by the changes that it makes in Ceph.
type permission string

const (
	// mayRead is for commands that change nothing.
	mayRead permission = "read"
	// mayKeep is for commands that change only the operator's own images, objects and entries of config-key, that
	// block one client, or that drop the caches of OSDs.
	mayKeep permission = "keep"
	// mayChange is for commands that change settings of Ceph. They need a Fence.
	mayChange permission = "change"
)

// daemon is a kind of daemon of Ceph.
type daemon string

const (
	noDaemon daemon = "" // The command needs a separate process.
	monitor  daemon = "mon"
	manager  daemon = "mgr"
)

// row has what the sidecar knows about a command: who may execute it, and with which arguments.
type row struct {
	permission permission
	// daemon answers the command. It is set only if the command can be asked in a conversation. The answer must then be
	// a JSON document, so that its end can be found in the output of a process that stays open.
	daemon daemon
	// check refuses wrong arguments.
	check func(args []string) error
	// setting returns the setting that the command changes, which the administrator must allow. It is nil for a command
	// that changes no option.
	setting func(args []string) (Setting, error)
	// urgent says that a restore may need the command, so it does not wait for slow questions.
	urgent bool
	// line returns the arguments of the program. If it is nil, they are the words of the prefix, and then the arguments
	// of the command.
	line func(args []string) []string
	// perform executes a command that is more than one execution of a program; nil for all others.
	perform func(ctx context.Context, c *CLI, conn Connection, args []string) ([]byte, error)
}

// rows returns the table of commands, by their prefixes. The sidecar executes no other commands.
func rows() map[string]row {
	return map[string]row{
		"status":                    {permission: mayRead, daemon: monitor, check: words()},
		"osd dump":                  {permission: mayRead, daemon: monitor, check: words()},
		"osd df":                    {permission: mayRead, daemon: manager, check: words()},
		"osd metadata":              {permission: mayRead, daemon: monitor, check: words()},
		"osd tree":                  {permission: mayRead, daemon: monitor, check: words()},
		"df detail":                 {permission: mayRead, daemon: monitor, check: words()},
		"osd perf":                  {permission: mayRead, daemon: manager, check: words()},
		"osd status":                {permission: mayRead, daemon: manager, check: words()},
		"telemetry preview perf":    {permission: mayRead, check: words()}, // A sentence follows the document.
		"telemetry show perf":       {permission: mayRead, check: words()},
		"pg dump pgs_brief":         {permission: mayRead, daemon: manager, check: words()},
		"pg dump pgs_brief osds":    {permission: mayRead, daemon: manager, check: words()},
		"pg dump sum":               {permission: mayRead, daemon: manager, check: words()},
		"pg ls-by-osd":              {permission: mayRead, daemon: manager, check: words(osdForm)},
		"osd pool stats":            {permission: mayRead, daemon: manager, check: words()},
		"versions":                  {permission: mayRead, daemon: monitor, check: words()},
		"config dump":               {permission: mayRead, daemon: monitor, check: words()},
		"config help":               {permission: mayRead, daemon: monitor, check: words(optionForm)},
		"config show-with-defaults": {permission: mayRead, daemon: manager, check: words(osdForm)},
		"config show":               {permission: mayRead, check: words(osdForm, optionForm)},
		"balancer status":           {permission: mayRead, check: words(), line: asJSON("balancer", "status")},
		"osd ok-to-stop":            {permission: mayRead, check: several(numberForm), line: asJSON("osd", "ok-to-stop")},
		"config-key get":            {permission: mayRead, check: words(keyForm), urgent: true, line: followed("config-key get", "-o", "-")}, // Without "-o -", ceph may print a newline after the value.
		"config-key set":            {permission: mayKeep, check: words(keyForm), urgent: true, line: followed("config-key set", "-i", "-")},
		"config-key rm":             {permission: mayKeep, check: words(keyForm), urgent: true},
		"tell osd.* cache drop":     {permission: mayKeep, check: words()},
		"tell mon sessions":         {permission: mayRead, check: words(monitorForm), line: monitorSessions},
		"osd blocklist add":         {permission: mayKeep, check: words(addressForm, secondsForm)},
		"rbd ls":                    {permission: mayRead, check: words(poolForm), line: listImages},
		"rbd rm":                    {permission: mayKeep, check: checkImage, line: ofImage("rm")},
		"rbd snap purge":            {permission: mayKeep, check: checkImage, line: ofImage("snap", "purge")},
		"rados ls":                  {permission: mayRead, check: checkListing, perform: listObjects},
		"rados rm":                  {permission: mayKeep, check: checkRemoval, line: removeObjects},
		"osd pool set":              {permission: mayChange, check: count(3), setting: poolSetting},
		"config set":                {permission: mayChange, check: count(3), setting: configSetting},
		"config rm":                 {permission: mayChange, check: count(2), setting: configSetting},
		"balancer on":               {permission: mayChange, check: words()},
		"balancer off":              {permission: mayChange, check: words()},
		"osd set":                   {permission: mayChange, check: words(TunableFlag)},
		"osd unset":                 {permission: mayChange, check: words(TunableFlag)},
		"osd pg-upmap":              {permission: mayChange, check: checkPlacement, perform: placePGs},
		"osd set-group":             {permission: mayChange, check: words(noUpForm, osdForm)},
		"osd unset-group":           {permission: mayChange, check: words(noUpForm, osdForm)},
		"osd down":                  {permission: mayChange, check: several(osdForm)},
	}
}

// count refuses any other number of arguments.
func count(want int) func([]string) error {
	return func(args []string) error {
		if len(args) != want {
			return &InvalidError{fmt.Sprintf("the command has %d arguments, want %d", len(args), want)}
		}
		return nil
	}
}

// words refuses arguments that do not have these forms, one for each.
func words(forms ...func(string) error) func([]string) error {
	return func(args []string) error {
		if err := count(len(forms))(args); err != nil {
			return err
		}
		var errs []error
		for i, form := range forms {
			errs = append(errs, form(args[i]))
		}
		return errors.Join(errs...)
	}
}

// several refuses arguments that are not 1 to maxStopped words of a form.
func several(form func(string) error) func([]string) error {
	return func(args []string) error {
		if len(args) == 0 || len(args) > maxStopped {
			return &InvalidError{fmt.Sprintf("%d OSDs are named, want 1 to %d", len(args), maxStopped)}
		}
		return words(slices.Repeat([]func(string) error{form}, len(args))...)(args)
	}
}

// These are the forms of arguments.
func poolForm(text string) error   { return named("a pool", text, poolName) }
func optionForm(text string) error { return named("an option", text, optionName) }
func keyForm(text string) error    { return named("a key of the operator", text, keyName) }
func osdForm(text string) error    { return named("an OSD", text, osdName) }
func numberForm(text string) error { return named("an OSD", "osd."+text, osdName) }

func monitorForm(text string) error { return named("a monitor", text, monitorName) }
func addressForm(text string) error { return named("the address of a client", text, clientAddress) }
func secondsForm(text string) error { return named("a number of seconds", text, wholeSeconds) }

func noUpForm(text string) error {
	if text != FlagNoUp {
		return &InvalidError{fmt.Sprintf("the flag %q of an OSD must not be changed, only %s", text, FlagNoUp)}
	}
	return nil
}

// followed returns a line with words after the arguments.
func followed(prefix string, last ...string) func([]string) []string {
	return func(args []string) []string { return slices.Concat(strings.Fields(prefix), args, last) }
}

// asJSON returns a line that asks for JSON.
func asJSON(prefix ...string) func([]string) []string {
	return followed(strings.Join(prefix, " "), "--format=json")
}

func monitorSessions(args []string) []string {
	return []string{"tell", "mon." + args[0], "sessions", "--format=json"}
}

func listImages(args []string) []string { return []string{"ls", "--pool=" + args[0], "--format=json"} }

func ofImage(prefix ...string) func([]string) []string {
	return func(args []string) []string {
		return slices.Concat(prefix, []string{"--no-progress", "--pool=" + args[0], "--image=" + args[1]})
	}
}

// poolSetting returns the setting of "osd pool set". The value that removes an option from the pool counts as no value.
func poolSetting(args []string) (Setting, error) {
	setting := Setting{Pool: args[0], Option: args[1], Value: cephvalue.Of(args[2])}
	if value, possible := UnsetBy(setting.Option); possible && value == args[2] {
		setting.Value = cephvalue.Value{}
	}
	return setting, nil
}

// configSetting returns the setting of "config set" and "config rm".
func configSetting(args []string) (Setting, error) {
	section, mask, _ := strings.Cut(args[0], "/")
	setting := Setting{Who: ConfigWho{Section: section, Mask: mask}, Option: args[1]}
	if setting.Who.String() != args[0] {
		return Setting{}, &InvalidError{fmt.Sprintf("%q is not a section of the configuration with a mask", args[0])}
	}
	if len(args) == 3 {
		setting.Value = cephvalue.Of(args[2])
	}
	return setting, nil
}

// checkImage checks the pool and the image of "rbd rm" and "rbd snap purge".
func checkImage(args []string) error {
	if err := count(2)(args); err != nil {
		return err
	}
	return OwnImage(args[0], args[1])
}

// checkListing checks the pool, the RADOS namespace, the prefix of the names, and the limit of "rados ls".
func checkListing(args []string) error {
	if err := count(4)(args); err != nil {
		return err
	}
	limit, err := strconv.Atoi(args[3])
	if err != nil || limit < 1 || limit > maxObjects {
		return &InvalidError{fmt.Sprintf("the limit is %s, want 1 to %d objects", args[3], maxObjects)}
	}
	return errors.Join(poolForm(args[0]), ownObjects(args[1], args[2]))
}

// listObjects executes "rados ls". It ends rados once it has as many names as the limit says.
func listObjects(ctx context.Context, c *CLI, conn Connection, args []string) ([]byte, error) {
	limit, err := strconv.Atoi(args[3])
	if err != nil {
		return nil, err
	}
	listing, enough := context.WithCancel(ctx)
	defer enough()
	found := &matching{prefix: args[2], limit: limit, enough: enough}
	_, err = c.run(listing, conn, execution{
		prefix: "rados ls", stdout: found, args: []string{"--pool=" + args[0], "--namespace=" + args[1], "ls"},
	})
	if err != nil && len(found.names) < limit {
		return nil, err
	}
	return []byte(strings.Join(found.names, "\n")), nil
}

// checkRemoval checks the pool, the RADOS namespace and the objects of "rados rm".
func checkRemoval(args []string) error {
	if len(args) < 3 || len(args) > maxArguments+2 {
		return &InvalidError{fmt.Sprintf("the command has %d arguments, want a pool, a namespace and 1 to %d objects", len(args), maxArguments)}
	}
	return OwnObjects(args[0], args[1], args[2:])
}

// removeObjects returns the line of "rados rm". Without --force-full, rados waits for space while an OSD is full. If
// these objects fill the OSD, it waits forever.
func removeObjects(args []string) []string {
	return append([]string{"--pool=" + args[0], "--namespace=" + args[1], "--force-full", "rm", "--"}, args[2:]...)
}

// placementForm is the form of a placement in "osd pg-upmap": the number of the placement group, and its OSDs.
var placementForm = regexp.MustCompile(`^-?[0-9]{1,9}:(-?[0-9]{1,9}(,-?[0-9]{1,9})*)?$`)

// text returns the placement as an argument of a Command.
func (p PGPlacement) text() string {
	return strconv.Itoa(p.Number) + ":" + strings.Join(numbers(p.OSDs), ",")
}

// placements reads the arguments of "osd pg-upmap" after the pool.
func placements(args []string) ([]PGPlacement, error) {
	pgs := make([]PGPlacement, len(args))
	for i, text := range args {
		if err := named("a placement", text, placementForm); err != nil {
			return nil, err
		}
		number, osds, _ := strings.Cut(text, ":")
		pgs[i].Number, _ = strconv.Atoi(number) // The form allows only digits.
		for osd := range strings.SplitSeq(osds, ",") {
			if id, err := strconv.Atoi(osd); err == nil {
				pgs[i].OSDs = append(pgs[i].OSDs, id)
			}
		}
	}
	return pgs, nil
}

func checkPlacement(args []string) error {
	if len(args) == 0 {
		return &InvalidError{"the command needs a pool"}
	}
	pgs, err := placements(args[1:])
	if err != nil {
		return err
	}
	return mayPlace(args[0], pgs)
}

// placePGs executes "osd pg-upmap" for each placement. The caller names the pool, and placePGs looks up its ID. Ceph
// never reuses an ID, so the change cannot reach another pool.
func placePGs(ctx context.Context, c *CLI, conn Connection, args []string) ([]byte, error) {
	pgs, err := placements(args[1:])
	if err != nil {
		return nil, err
	}
	osdMap, err := c.OSDMap(ctx, conn)
	if err != nil {
		return nil, err
	}
	pool, err := osdMap.Place(args[0], pgs)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(placedAtOnce)
	for _, pg := range pgs {
		group.Go(func() error {
			_, err := c.ceph(ctx, conn, "osd pg-upmap", append([]string{pg.ID(pool.ID)}, numbers(pg.OSDs)...)...)
			return err
		})
	}
	return nil, group.Wait()
}
