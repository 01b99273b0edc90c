package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/engine/fio"
	"github.com/cephtune/cephtune/internal/runner"
)

// exitTerminated is the conventional exit code after SIGTERM: 128 plus the signal's number.
const exitTerminated = 143

// indexVariable is the environment variable with the pod's index in an Indexed Job.
const indexVariable = "JOB_COMPLETION_INDEX"

// programs returns the programs that tasks may run: the engines, and rm, which removes fio's files from a
// claim.
func programs() []string { return []string{"rados", "rbd", "fio", fio.Generator, "rm"} }

type runFlags struct {
	options runner.Options
	keyFile string
	digest  string
	listen  string
}

func newRunCommand() *cobra.Command {
	flags := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run --key-file FILE",
		Short: "Carry out the manager's tasks",
		Long: `Carry out the manager's requests until the manager ends the execution. The key file
holds the 32 bytes of the execution's key.

Standard output has the reports of measurements and failures in frames. Standard error has
the log. The exit code is 143 after SIGTERM or SIGINT.`,
		Example: "  runner run --key-file=/cephtune/session/key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.options.Stdout, flags.options.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return flags.run(cmd.Context())
		},
	}
	flags.bind(cmd)
	return cmd
}

func (f *runFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.keyFile, "key-file", "", "file with the key of the execution")
	_ = cmd.MarkFlagRequired("key-file") // It fails only for an unknown flag.
	flags.StringVar(&f.digest, "files-digest", "", "SHA-256 digest that the files in the directory of --key-file must have (default: any)")
	flags.StringVar(&f.listen, "listen", fmt.Sprintf("0.0.0.0:%d", runner.Port), "address to listen on")
	flags.StringVar(&f.options.WorkDir, "work-dir", "/tmp/cephtune", "parent directory of the tasks' working directories")
	flags.StringVar(&f.options.CgroupDir, "cgroup-dir", "/sys/fs/cgroup", "directory of the container's cgroup")
	f.options.ProcDir, f.options.CPUDir = "/proc", "/sys/devices/system/cpu"
	flags.IntVar(&f.options.Client, "client", -1, "index of this client, from 0 (default: $"+indexVariable+", or else 0)")
	flags.DurationVar(&f.options.IdleTimeout, "idle-timeout", 15*time.Minute, "end after this long without a request or a running task")
}

func (f *runFlags) run(ctx context.Context) error {
	if err := f.complete(); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return err
	}
	err = runner.Run(ctx, f.options, listener)
	if errors.Is(err, runner.ErrTerminated) {
		return &exitError{code: exitTerminated, err: err}
	}
	return err
}

func (f *runFlags) complete() (err error) {
	if f.options.IdleTimeout <= 0 {
		return fmt.Errorf("--idle-timeout is %v, want one above 0", f.options.IdleTimeout)
	}
	if err := f.checkFiles(); err != nil {
		return err
	}
	f.options.Programs = programs()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary, beside which the generator is: %w", err)
	}
	if err := os.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Dir(self)); err != nil {
		return err
	}
	if f.options.Client < 0 {
		if f.options.Client, err = clientIndex(os.Getenv(indexVariable)); err != nil {
			return err
		}
	}
	f.options.Key, err = os.ReadFile(f.keyFile)
	if err == nil && len(f.options.Key) != runner.KeyBytes {
		err = fmt.Errorf("%s has %d bytes, want the %d of an execution's key", f.keyFile, len(f.options.Key), runner.KeyBytes)
	}
	return err
}

// checkFiles compares the files in the directory of the key with their digest.
func (f *runFlags) checkFiles() error {
	if f.digest == "" {
		return nil
	}
	directory := filepath.Dir(f.keyFile)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") {
			continue // Kubernetes' own links and directories
		}
		if files[entry.Name()], err = os.ReadFile(filepath.Join(directory, entry.Name())); err != nil {
			return err
		}
	}
	if runner.FilesDigest(files) != f.digest {
		return fmt.Errorf("the files in %s are not those that the operator wrote: another user has created or replaced the Secret", directory)
	}
	return nil
}

func clientIndex(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	index, err := strconv.Atoi(text)
	if err != nil || index < 0 {
		return 0, fmt.Errorf("$%s is %q, want the index of a client, from 0", indexVariable, text)
	}
	return index, nil
}
