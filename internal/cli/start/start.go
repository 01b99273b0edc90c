// Package start has the subcommands that create a benchmark or a sweep, from a file or from flags, and print the
// outcome: run, curve, diagnose and sweep; and plan, which shows what they would do.
package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/watch"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
)

// starter makes an object, creates it, follows it, and judges the outcome. It holds the flags for these steps,
// which all subcommands but plan share.
type starter struct {
	// logs follows the logs of pods to show the clients' rates. If it is nil, no rates are shown.
	logs live.Logs

	name    string
	wait    bool
	timeout time.Duration
	expect  []string
	scope   string
	dryRun  string
	output  string
	live    bool

	// build returns the object to create. It writes notes to the person to notes. The namespace of the object may be empty.
	build func(ctx context.Context, c client.Client, notes io.Writer) (client.Object, error)
	// confirm reports whether the object is wanted; nil if it is without a question.
	confirm func(cmd *cobra.Command, c client.WithWatch, wanted client.Object) (bool, error)
	// then judges the object at its end, in place of judge, and writes more than the object, or instead of its JSON or YAML.
	then func(ctx context.Context, ended client.Object) error
}

// addStart adds the flags to a command. The parameter verdicts lists the values of --expect.
func (o *starter) addStart(cmd *cobra.Command, verdicts []string) {
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "name of the object (default that of the file, or a generated one)")
	flags.BoolVar(&o.wait, "wait", true, "follow it to its end")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to follow it, such as 2h; 0 is without limit")
	watch.AddLive(cmd, &o.live)
	flags.StringSliceVar(&o.expect, "expect", nil, "accepted verdicts, such as Superior,Better; any other exits with 3")
	flags.StringVar(&o.scope, "scope", string(v1alpha1.ScopePool), "smallest scope of a sweep's verdict that --expect accepts: Windows, Pool, Pools or Cluster")
	AddDryRun(flags, &o.dryRun)
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	for name, values := range map[string][]string{"dry-run": dryRuns(), "expect": verdicts, "scope": scopes()} {
		kube.CompleteFlag(cmd, name, values)
	}
}

// checkStart validates the flags. It returns args without the value of --dry-run.
func (o *starter) checkStart(args, verdicts []string) ([]string, error) {
	args, err := TakeDryRun(&o.dryRun, args)
	switch {
	case err != nil:
		return nil, err
	case o.timeout < 0:
		return nil, exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
	case len(o.expect) > 0 && !o.wait:
		return nil, exit.UsageErrorf("--expect needs the end of the run: remove --wait=false")
	}
	for _, verdict := range o.expect {
		if !slices.Contains(verdicts, verdict) {
			return nil, exit.UsageErrorf("--expect %q: want some of %s", verdict, strings.Join(verdicts, ", "))
		}
	}
	if !slices.Contains(scopes(), o.scope) {
		return nil, exit.UsageErrorf("--scope %q: want one of %s", o.scope, strings.Join(scopes(), ", "))
	}
	return args, nil
}

func scopes() (names []string) {
	for _, s := range v1alpha1.SweepScopes() {
		names = append(names, string(s))
	}
	return names
}

// start makes the object, and creates and follows it. With --dry-run, it prints the object instead.
func (o *starter) start(cmd *cobra.Command, connect object.Connect) error {
	ctx, out, errOut := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	wanted, err := o.build(ctx, c, errOut)
	if err != nil {
		return err
	}
	if err := place(wanted, namespace, cmd.Flags().Changed("namespace")); err != nil {
		return err
	}
	if o.name != "" {
		wanted.SetName(o.name)
		wanted.SetGenerateName("")
	}
	if o.isDry() {
		return o.show(ctx, c, wanted, out, errOut)
	}
	if o.confirm != nil {
		if confirmed, err := o.confirm(cmd, c, wanted); !confirmed || err != nil {
			return err
		}
	}
	return o.run(ctx, c, wanted, out, errOut)
}

// isDry reports whether --dry-run is client or server.
func (o *starter) isDry() bool { return o.dryRun != NoDryRun }

// run creates an object. Unless --wait=false, it also follows the object to its end, and judges the outcome.
func (o *starter) run(ctx context.Context, c client.WithWatch, wanted client.Object, out, errOut io.Writer) error {
	if err := create(ctx, c, wanted); err != nil {
		return err
	}
	name := strings.ToLower(object.StateOf(wanted).Kind.Name) + "/" + wanted.GetName()
	if _, err := fmt.Fprintf(errOut, "Created %s in namespace %s.\n", name, wanted.GetNamespace()); err != nil {
		return err
	}
	if !o.wait {
		if o.output != "table" {
			return object.Print(c, wanted, o.output, out)
		}
		_, err := fmt.Fprintf(errOut, "To follow it: kubectl cephtune watch %s -n %s\n", name, wanted.GetNamespace())
		return err
	}
	request := watch.Request{Object: wanted, Timeout: o.timeout, Output: o.output}
	if o.live {
		request.Logs = o.logs
	}
	if o.then != nil && o.output != "table" {
		out = io.Discard
	}
	ended, err := watch.Follow(ctx, c, request, out, errOut)
	if err != nil && !failedOnVerdict(ended) {
		return err
	}
	if o.then != nil {
		return o.then(ctx, ended)
	}
	return o.judge(ended)
}

// AddDryRun adds --dry-run to a command. Without a value, the flag means client.
func AddDryRun(flags *pflag.FlagSet, mode *string) {
	flags.StringVar(mode, "dry-run", NoDryRun, "none, client (print the object and change nothing; also without a value) or server (let the server check it, too)")
	flags.Lookup("dry-run").NoOptDefVal = "client"
}

// TakeDryRun accepts "--dry-run server" and checks the value. pflag parses the second word as an
// argument, so TakeDryRun returns args without it.
func TakeDryRun(dryRun *string, args []string) ([]string, error) {
	if i := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(dryRuns(), arg) }); i >= 0 && *dryRun == "client" {
		*dryRun = args[i]
		args = slices.Delete(slices.Clone(args), i, i+1)
	}
	if !slices.Contains(dryRuns(), *dryRun) {
		return nil, exit.UsageErrorf("--dry-run %q: want one of %s", *dryRun, strings.Join(dryRuns(), ", "))
	}
	return args, nil
}

// NoDryRun is the value of --dry-run without a dry run.
const NoDryRun = "none"

func dryRuns() []string { return []string{NoDryRun, "client", "server"} }

// lookupTimeout bounds the look at the operator, because --dry-run=client also works without a server.
const lookupTimeout = 5 * time.Second

// show prints the object that would be created. With --dry-run=server, the API server checks it first. Otherwise, a note
// says what was not checked, or that the namespace is wrong.
func (o *starter) show(ctx context.Context, c client.Client, wanted client.Object, out, errOut io.Writer) error {
	if o.dryRun == "server" {
		if err := create(ctx, client.NewDryRunClient(c), wanted); err != nil {
			return err
		}
	} else {
		brief, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		note := "The server has not checked it: --dry-run=server does.\n"
		switch err := kube.LookupNamespace(brief, c, wanted.GetNamespace()); {
		case errors.Is(err, kube.ErrUnchecked):
			note += fmt.Sprintf("Not checked: whether %s is a benchmark namespace, because %v.\n", wanted.GetNamespace(), err)
		case err != nil:
			note = fmt.Sprintf("Warning: %v.\n", err)
		}
		if _, err := io.WriteString(errOut, note); err != nil {
			return err
		}
	}
	format := o.output
	if format == "table" {
		format = "yaml"
	}
	return object.Print(c, wanted, format, out)
}

// judge returns an exit.Unexpected error for a verdict that --expect does not list. Without --expect, a
// benchmark with expectations must meet them, spec.failOn must not list the verdict, and a diagnosis must have no finding
// that is Certain or Likely.
func (o *starter) judge(ended client.Object) error {
	state := object.StateOf(ended)
	expected := o.expect
	if b, ok := ended.(*v1alpha1.CephBenchmark); ok && b.Status.Diagnosis != nil && diagnosis.Alarming(*b.Status.Diagnosis) {
		return exit.UnexpectedErrorf("CephBenchmark %s has findings that are Certain or Likely", client.ObjectKeyFromObject(b))
	}
	if b, ok := ended.(*v1alpha1.CephBenchmark); ok && len(b.Spec.Expectations) > 0 && len(expected) == 0 {
		expected = []string{string(v1alpha1.BenchmarkPassed)}
	}
	if len(expected) == 0 && failedOnVerdict(ended) {
		return exit.UnexpectedErrorf("the verdict on %s is %s, which spec.failOn lists", object.Subject(ended), state.Verdict)
	}
	if len(expected) == 0 || slices.Contains(expected, state.Verdict) {
		return o.judgeScope(ended)
	}
	verdict := cmp.Or(state.Verdict, "none")
	if b, ok := ended.(*v1alpha1.CephBenchmark); ok && b.Status.Verdict == v1alpha1.BenchmarkInconclusive {
		return exit.UndecidedErrorf("the verdict on %s is %s: more runs, or a reference of more days, may decide", object.Subject(ended), verdict)
	}
	return exit.UnexpectedErrorf("the verdict on %s is %s, expected %s", object.Subject(ended), verdict, strings.Join(expected, " or "))
}

// judgeScope returns an exit.Unexpected error for a verdict of a sweep that --expect lists, but whose scope is
// smaller than --scope. Inconclusive and Invalid have no scope, because they say nothing.
func (o *starter) judgeScope(ended client.Object) error {
	s, ok := ended.(*v1alpha1.CephTuningSweep)
	if !ok || len(o.expect) == 0 || s.Status.Scope == "" || s.Status.Scope.Covers(v1alpha1.SweepScope(o.scope)) {
		return nil
	}
	if s.Status.Verdict == v1alpha1.VerdictInconclusive || s.Status.Verdict == v1alpha1.VerdictInvalid {
		return nil
	}
	return exit.UnexpectedErrorf("sweep %s is %s with the scope %s, and --scope requires %s: measure more, or use --scope %s",
		client.ObjectKeyFromObject(s), s.Status.Verdict, s.Status.Scope, o.scope, s.Status.Scope)
}

// failedOnVerdict reports whether a benchmark or sweep has ended with a verdict that spec.failOn lists.
func failedOnVerdict(ended client.Object) bool {
	return ended != nil && object.StateOf(ended).Ready().Reason == v1alpha1.ReasonFailedOnVerdict
}
