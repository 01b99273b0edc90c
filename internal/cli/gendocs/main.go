// Command gendocs prints docs/cli.md, the page about the commands of kubectl cephtune, which it makes
// from the commands themselves. "make generate" runs it and stores the page.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/cephtune/cephtune/internal/cli"
	"github.com/cephtune/cephtune/internal/cli/kube"
)

//go:embed intro.md
var intro string

func main() {
	if err := write(os.Stdout, cli.NewRoot("kubectl cephtune")); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err) // A failure to write cannot be reported.
		os.Exit(1)
	}
}

// write writes the page: an introduction, each command, and the flags that choose the cluster. Nearly
// all commands have these flags, so the page describes them only once.
func write(out io.Writer, root *cobra.Command) error {
	root.DisableAutoGenTag = true // This omits cobra's date, which changes every day. writeCommand would cut it off, too.
	root.InitDefaultHelpCmd()
	var page bytes.Buffer
	page.WriteString(intro)
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	commands := root.Commands()
	for _, cmd := range commands {
		if documented(cmd) {
			fmt.Fprintf(&page, "- [%s](#%s): %s\n", cmd.Name(), anchor(cmd), cmd.Short)
		}
	}
	for _, cmd := range commands {
		if !documented(cmd) {
			continue
		}
		cmd.InitDefaultHelpFlag()
		hideConnection(cmd, connection)
		if err := writeCommand(&page, cmd, connection.HasFlags() && cmd.Flags().Lookup("context") != nil); err != nil {
			return err
		}
	}
	connection.VisitAll(func(f *pflag.Flag) { f.Hidden = false })
	fmt.Fprintf(&page, "\n## Flags that choose the cluster\n\nThey are those of kubectl.\n\n```\n%s```\n", connection.FlagUsages())
	_, err := out.Write(page.Bytes())
	return err
}

// documented reports whether a command is on the page, unlike cobra's commands help and completion.
func documented(cmd *cobra.Command) bool {
	return cmd.IsAvailableCommand() && cmd.Name() != "help" && cmd.Name() != "completion"
}

func anchor(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// hideConnection hides a command's flags that choose the cluster, and collects them.
func hideConnection(cmd *cobra.Command, flags *pflag.FlagSet) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[kube.AnnotationConnection] == nil {
			return
		}
		f.Hidden = true
		if flags.Lookup(f.Name) == nil {
			flags.AddFlag(f)
		}
	})
}

func writeCommand(page *bytes.Buffer, cmd *cobra.Command, connects bool) error {
	var text bytes.Buffer
	if err := doc.GenMarkdownCustom(cmd, &text, func(name string) string { return "#" + name }); err != nil {
		return fmt.Errorf("%s: %w", cmd.CommandPath(), err)
	}
	// The page has all commands, so it needs no links to other commands.
	body, _, _ := strings.Cut(text.String(), "### SEE ALSO")
	page.WriteString("\n" + strings.TrimSpace(body) + "\n")
	if connects {
		page.WriteString("\nAlso the [flags that choose the cluster](#flags-that-choose-the-cluster).\n")
	}
	return nil
}
