package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// command is a subcommand of this binary. The Helm chart's hook and test run subcommands, because the
// operator's image contains no shell.
type command func(ctx context.Context, args []string, out io.Writer) error

// commandOf returns the subcommand that the first argument names. It returns false if the first argument is
// no subcommand.
func commandOf(args []string) (command, bool) {
	if len(args) == 0 {
		return nil, false
	}
	switch args[0] {
	case "check-uninstall":
		return checkUninstall, true
	case "check-install":
		return checkInstall, true
	}
	return nil, false
}

// checkUninstall fails if something remains that only the manager can finish: a running benchmark or sweep,
// settings to restore, or OSDs that are kept down. With --with-crds, it also fails if an object has a
// finalizer of the manager.
func checkUninstall(ctx context.Context, args []string, out io.Writer) error {
	opts := &options{}
	crdsToo := false
	flags := flag.NewFlagSet("check-uninstall", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&opts.leaderNamespace, "namespace", "",
		"The namespace of the manager, with its journals and locks. In a cluster, the default is the pod's namespace.")
	flags.BoolVar(&crdsToo, "with-crds", false,
		"The CRDs are removed too: fail while one of their objects has a finalizer that only the manager removes.")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	c, err := newUninstallCheck(opts, crdsToo)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.run(ctx); err != nil {
		return err
	}
	return say(out, "Nothing in Ceph is left to restore, and no sweep or benchmark is running: cephtune can be removed.")
}

func newUninstallCheck(opts *options, crdsToo bool) (*uninstallCheck, error) {
	namespace, err := opts.ownNamespace("namespace")
	if err != nil {
		return nil, err
	}
	config, err := clusterConfig()
	if err != nil {
		return nil, err
	}
	direct, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return &uninstallCheck{
		journals: journals.New(direct, direct, namespace),
		locks:    lock.NewLeases(direct, direct, namespace, ""),
		objects:  direct,
		crdsToo:  crdsToo,
		now:      time.Now,
	}, nil
}

// checkInstall fails unless the API server knows the CRDs of cephtune. With --metrics-service, it also
// fails unless the manager serves its metrics.
func checkInstall(ctx context.Context, args []string, out io.Writer) error {
	c := installCheck{interval: time.Second, out: out}
	opts := &options{}
	timeout := time.Duration(0)
	flags := flag.NewFlagSet("check-install", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&opts.leaderNamespace, "namespace", "", "The namespace of the manager. In a cluster, the default is the pod's namespace.")
	flags.StringVar(&c.service, "metrics-service", "", "The Service of the manager's metrics, to find their address. Without it, metrics are not checked.")
	flags.DurationVar(&timeout, "timeout", time.Minute, "How long to wait for a manager that was just started.")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	var err error
	if c.namespace, err = opts.ownNamespace("namespace"); err != nil {
		return err
	}
	if c.config, err = clusterConfig(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.run(ctx)
}

// parseAll parses flags. It refuses other arguments, because they would be ignored.
func parseAll(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if left := flags.Args(); len(left) > 0 {
		return fmt.Errorf("%q is not a flag: %s takes no arguments", left[0], flags.Name())
	}
	return nil
}

func clusterConfig() (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w; run in a cluster, or set KUBECONFIG", err)
	}
	return config, nil
}

// runCommand runs a subcommand, prints its error to out, and returns the exit code.
func runCommand(ctx context.Context, chosen command, args []string, out io.Writer) int {
	err := chosen(ctx, args, out)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	_ = say(out, err.Error()) // The exit code also reports the failure.
	return 1
}

func say(out io.Writer, text string) error {
	_, err := fmt.Fprintln(out, text)
	return err
}
