package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cephtune/cephtune/internal/cli"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

func page(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	root := cli.NewRoot("kubectl cephtune")
	if err := write(&out, root); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestThePageIsThatOfTheProgram does this part of "make verify".
func TestThePageIsThatOfTheProgram(t *testing.T) {
	kept, err := os.ReadFile(filepath.Join(apiserver.Root(t), "docs", "cli.md"))
	if err != nil || string(kept) != page(t) {
		t.Errorf("docs/cli.md is not what the commands say: run \"make generate\" (%v)", err)
	}
}

// TestThePageIsTheSameForEverybody checks that the page contains neither the home folder nor the
// kubeconfig of the user who generates it.
func TestThePageIsTheSameForEverybody(t *testing.T) {
	first := page(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/somebody-else")
	t.Setenv("KUBECONFIG", "/home/somebody-else/config")
	if page(t) != first || strings.Contains(first, "somebody-else") || strings.Contains(first, home+"/") {
		t.Error("the page depends on who generates it")
	}
}

func TestEveryCommandIsOnThePage(t *testing.T) {
	text := page(t)
	for _, cmd := range cli.NewRoot("kubectl cephtune").Commands() {
		if documented(cmd) && (!strings.Contains(text, "\n## kubectl cephtune "+cmd.Name()+"\n") || !strings.Contains(text, "Exit codes: 0")) {
			t.Errorf("%s is missing", cmd.Name())
		}
		if documented(cmd) && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.Name())
		}
	}
	if n := strings.Count(text, "--certificate-authority"); n != 1 {
		t.Errorf("flags that choose the cluster are there %d times", n)
	}
}

// TestNoFlagHidesOneOfKubectls checks that no command has a flag with the name of a kubectl flag
// that chooses the cluster. It would silently replace that flag.
func TestNoFlagHidesOneOfKubectls(t *testing.T) {
	for _, cmd := range cli.NewRoot("kubectl cephtune").Commands() {
		if !documented(cmd) || cmd.Flags().Lookup("context") == nil {
			continue
		}
		theirs := &cobra.Command{}
		kube.NewConnection().AddFlags(theirs)
		theirs.Flags().VisitAll(func(f *pflag.Flag) {
			got := cmd.Flags().Lookup(f.Name)
			if got == nil || got.Usage != f.Usage || got.Shorthand != f.Shorthand {
				t.Errorf("%s: --%s is not kubectl's", cmd.Name(), f.Name)
			}
		})
	}
}
