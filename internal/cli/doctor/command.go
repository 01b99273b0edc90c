// Package doctor has the subcommands about an installation: doctor examines it and prints, for most problems, a
// command or another action that fixes the problem; version shows the installed versions.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
)

type options struct {
	operator string
	output   string
}

// NewCommand returns the subcommand.
func NewCommand(connect object.Connect, now func() time.Time) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "doctor",
		Short:             "Check an installation: what is wrong, and how to fix it",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.UsageErrorf("unexpected argument %q", args[0])
			}
			return o.run(ctx, connect, now(), cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.operator, "operator-namespace", kube.OperatorNamespace, "namespace of the operator")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *options) run(ctx context.Context, connect object.Connect, now time.Time, out io.Writer) error {
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	e := &examination{client: c, namespace: namespace, operator: o.operator, now: now}
	if err := e.reach(ctx); err != nil {
		return err
	}
	e.examine(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("the cluster does not answer in time: %w", ctx.Err())
	}
	if err := terminal.Write(out, o.output, e.findings, func(page *terminal.Page) { addFindings(page, e.findings) }); err != nil {
		return err
	}
	wrong := 0
	for _, f := range e.findings {
		if f.State == Wrong {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d checks found a problem", wrong, len(e.findings))
	}
	return nil
}

// State is the severity of a finding.
type State string

// These are the states, from good to bad.
const (
	OK      State = "ok"
	Note    State = "note"
	Unknown State = "unknown"
	Wrong   State = "wrong"
)

// Finding is the result of one check.
type Finding struct {
	About string `json:"about"`
	State State  `json:"state"`
	Text  string `json:"text"`
	// Fix is the command, or another action, that resolves a note or a problem; it may be empty.
	Fix string `json:"fix,omitempty"`
}

// examination collects findings.
type examination struct {
	client    client.Client
	namespace string // the namespace of the caller
	operator  string // the namespace of the operator
	now       time.Time
	findings  []Finding
	installer installer
}

// reach checks that the cluster answers, with a request that needs no permission. If the cluster does
// not answer, every check would report the same error.
func (e *examination) reach(ctx context.Context) error {
	_, err := e.may(ctx, right{group: v1alpha1.GroupVersion.Group, resource: object.Benchmark().Plural}, "get")
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("cannot connect to the cluster, choose another --context: %w", err)
	}
	return nil
}

// examine makes all checks. The check of the operator config needs the Deployment, and the checks of
// Ceph clusters need the operator config. The check of claims is skipped if the StorageClasses cannot be
// listed. The other checks are independent, so one pass finds nearly every problem.
func (e *examination) examine(ctx context.Context) {
	operators, err := kube.Operators(ctx, e.client, e.operator)
	if len(operators) > 0 {
		e.installer = installerOf(&operators[0])
	}
	e.crds(ctx)
	deployment := e.deployment(operators, err)
	e.rights(ctx)
	known := e.settings(ctx, deployment)
	if known != nil {
		for _, cluster := range known.Clusters {
			e.toolsImage(cluster, known, e.cluster(ctx, cluster), deployment.Name)
			e.identities(ctx, cluster)
		}
	}
	e.volumes(ctx, known)
	e.journals(ctx)
	e.locks(ctx)
	e.monitoring(ctx)
}

func (e *examination) found(topic string, state State, text, fix string) {
	e.findings = append(e.findings, Finding{topic, state, text, fix})
}

// unreadable adds a finding about an object that cannot be read. Its state is Unknown if the caller
// lacks the permission, because that is not a problem by itself. Otherwise the state is Wrong.
func (e *examination) unreadable(topic, subject string, err error) {
	state := Wrong
	if apierrors.IsForbidden(err) {
		state = Unknown
	}
	e.found(topic, state, fmt.Sprintf("%s cannot be read: %v", subject, err), "")
}

// addFindings adds a line for each finding, followed by its fix.
func addFindings(page *terminal.Page, findings []Finding) {
	widest := 0
	for _, f := range findings {
		widest = max(widest, len(f.About))
	}
	for _, f := range findings {
		page.Printf("%-7s  %-*s  %s\n", f.State, widest, f.About, f.Text)
		if f.Fix != "" {
			for line := range strings.Lines(f.Fix) {
				page.Printf("%-7s  %-*s  → %s\n", "", widest, "", strings.TrimRight(line, "\n"))
			}
		}
	}
}
