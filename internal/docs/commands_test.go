package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/cephtune/cephtune/internal/cli"
)

// generatedCLI shows the usage of each command, which is not a command line.
const generatedCLI = "docs/cli.md"

// TestCommandsExist checks that commands in console blocks exist: make targets, subcommands of
// kubectl cephtune with their flags, and files of this repository.
func TestCommandsExist(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language == "" && regexp.MustCompile(`^(kubectl|make|go|helm) `).MatchString(b.text) && p.path != generatedCLI {
				t.Errorf("%s has commands that are not marked as console:\n%s", p.path, b.text)
			}
			if b.language != "console" {
				continue
			}
			for _, args := range commandsOf(t, p, b) {
				found++
				for _, problem := range problemsOf(t, args) {
					t.Errorf("%s: %s: %v", p.path, strings.Join(args, " "), problem)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d commands: are blocks marked as console?", found)
	}
}

// commandsOf returns the simple commands of a block, without preceding assignments.
func commandsOf(t *testing.T, p *page, b block) [][]string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(b.text), p.path)
	if err != nil {
		t.Errorf("%s has a block that no shell reads: %v\n%s", p.path, err, b.text)
		return nil
	}
	var commands [][]string
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			var args []string
			for _, word := range call.Args {
				args = append(args, textOf(word.Parts))
			}
			commands = append(commands, args)
		}
		return true
	})
	return commands
}

// textOf returns a word. Parts that the shell fills in at run time are replaced by a mark.
func textOf(parts []syntax.WordPart) string {
	var out strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			out.WriteString(part.Value)
		case *syntax.SglQuoted:
			out.WriteString(part.Value)
		case *syntax.DblQuoted:
			out.WriteString(textOf(part.Parts))
		default:
			out.WriteString("$")
		}
	}
	return out.String()
}

// problemsOf returns the parts of a command that do not exist.
func problemsOf(t *testing.T, args []string) []error {
	t.Helper()
	problems := []error{missingFiles(t, args)}
	if args[0] == "make" {
		problems = append(problems, missingTargets(t, args[1:]))
	}
	if rest, ours := afterOurs(args); ours {
		problems = append(problems, wrongCommand(rest))
	}
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

// afterOurs returns the words after the name of our command line, for each way to call it.
func afterOurs(args []string) ([]string, bool) {
	for _, name := range [][]string{{"kubectl", "cephtune"}, {"kubectl-cephtune"}, {"bin/kubectl-cephtune"}, {"go", "run", "./cmd/kubectl-cephtune"}} {
		if len(args) >= len(name) && slices.Equal(args[:len(name)], name) {
			return args[len(name):], true
		}
	}
	return nil, false
}

func wrongCommand(args []string) error {
	cmd, rest, err := cli.NewRoot("kubectl cephtune").Find(args)
	if err != nil {
		return err
	}
	if !cmd.HasParent() && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("there is no command %q", args[0])
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var problems []error
	for _, arg := range rest {
		if !isFlag(cmd, arg) {
			problems = append(problems, fmt.Errorf("%s has no flag %q", cmd.CommandPath(), arg))
		}
	}
	return errors.Join(problems...)
}

// isFlag reports whether an argument is a known flag of the command, or no flag.
func isFlag(cmd *cobra.Command, arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	switch {
	case strings.HasPrefix(name, "--"):
		return cmd.Flag(name[2:]) != nil
	case strings.HasPrefix(name, "-") && len(name) > 1:
		return cmd.Flags().ShorthandLookup(name[1:2]) != nil
	}
	return true
}

func missingTargets(t *testing.T, args []string) error {
	t.Helper()
	makefile := read(t, "Makefile")
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") || strings.Contains(arg, "=") {
			continue
		}
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(arg) + `:`).MatchString(makefile) {
			return fmt.Errorf("the Makefile has no target %q", arg)
		}
	}
	return nil
}

// missingFiles returns an error if an argument names a missing file in a folder of this repository.
// It skips bin and dist, which hold builds.
func missingFiles(t *testing.T, args []string) error {
	t.Helper()
	for _, arg := range args {
		name := strings.TrimSuffix(strings.TrimPrefix(arg, "./"), "/...")
		top, _, below := strings.Cut(name, "/")
		if !below || top == "" || top == "bin" || top == "dist" || strings.ContainsAny(name, "$*") || !exists(t, top) {
			continue
		}
		if !exists(t, name) {
			return fmt.Errorf("there is no %s", name)
		}
	}
	return nil
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(name)))
	return err == nil
}

// TestCheckerReportsMissingTargets checks that commands with a missing target, subcommand, flag or file
// are reported, and that valid commands are not.
func TestCheckerReportsMissingTargets(t *testing.T) {
	for _, command := range []string{
		"make no-such-target",
		"kubectl cephtune no-such-command",
		"kubectl cephtune watch pg-num --no-such-flag",
		"kubectl cephtune watch pg-num -x",
		"kubectl cephtune --no-such-flag",
		"kubectl apply -f config/samples/no-such-file.yaml",
		"go run ./cmd/kubectl-cephtune wach pg-num",
	} {
		if problems := problemsOf(t, strings.Fields(command)); len(problems) == 0 {
			t.Errorf("%s: nothing was found wrong with it", command)
		}
	}
	for _, command := range []string{
		"make images deploy IMG=registry.example/cephtune:dev",
		"kubectl cephtune watch pg-num -n cephtune-bench --timeout 1h",
		"kubectl -n cephtune-bench get cephsweep -o wide",
		"go test ./internal/docs",
	} {
		if problems := problemsOf(t, strings.Fields(command)); len(problems) > 0 {
			t.Errorf("%s: %v", command, problems)
		}
	}
}
