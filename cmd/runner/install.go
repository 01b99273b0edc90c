package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/engine/fio"
)

func newInstallCommand(self func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     "install PATH",
		Short:   "Copy this binary to PATH, and the generator beside it, for a container without them",
		Example: "  runner install /cephtune/runner",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			source, err := self()
			if err != nil {
				return fmt.Errorf("find this binary: %w", err)
			}
			// The generator is beside the runner in the image, and in the pod, where the runner finds it.
			generator := filepath.Join(filepath.Dir(args[0]), fio.Generator)
			return errors.Join(install(source, args[0]), install(filepath.Join(filepath.Dir(source), fio.Generator), generator))
		},
	}
}

// install copies an executable to a temporary file, which it then renames to the target. So a container
// that is killed during the copy leaves no incomplete target.
func install(source, target string) (err error) {
	input, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, input.Close()) }()

	partial, err := os.CreateTemp(filepath.Dir(target), ".runner-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial.Name()))
		}
	}()
	if err := write(partial, input); err != nil {
		return err
	}
	return os.Rename(partial.Name(), target)
}

// write copies everything into a file, makes the file executable, and closes it.
func write(to *os.File, from io.Reader) error {
	_, err := io.Copy(to, from)
	return errors.Join(err, to.Chmod(0o755), to.Close())
}
