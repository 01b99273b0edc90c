package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/cli"
)

const tutorial = "docs/tutorial.md"

// TestTutorialShowsWhatCommandsPrint runs each command of the tutorial that is followed by an
// output, and compares the outputs. UPDATE_GOLDEN=1 writes them into the page.
func TestTutorialShowsWhatCommandsPrint(t *testing.T) {
	page := readPage(t, tutorial)
	text := read(t, tutorial)
	t.Chdir(root(t))
	shown := 0
	for i, b := range page.blocks {
		if b.language != "text" {
			continue
		}
		shown++
		command := page.blocks[i-1]
		got := outputOf(t, page, command)
		if got == b.text {
			continue
		}
		if os.Getenv("UPDATE_GOLDEN") == "" {
			t.Errorf("%s\nthe page shows:\n%s\nit prints:\n%s", command.text, b.text, got)
		}
		text = strings.Replace(text, command.text+"```\n\n```text\n"+b.text, command.text+"```\n\n```text\n"+got, 1)
	}
	if shown < 4 {
		t.Errorf("only %d commands of the tutorial show what they print", shown)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(filepath.FromSlash(tutorial), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTutorialsCommandsSucceed also checks commands without an output on the page.
func TestTutorialsCommandsSucceed(t *testing.T) {
	page := readPage(t, tutorial)
	t.Chdir(root(t))
	for _, b := range page.blocks {
		if b.language == "console" {
			outputOf(t, page, b)
		}
	}
}

// outputOf returns the output of a block's only command. The command must succeed, unless it
// expects a verdict and reports another one.
func outputOf(t *testing.T, p *page, b block) string {
	t.Helper()
	commands := commandsOf(t, p, b)
	if len(commands) != 1 {
		t.Fatalf("want one command:\n%s", b.text)
	}
	args, isOurs := afterOurs(commands[0])
	if !isOurs {
		t.Fatalf("want a command of ours:\n%s", b.text)
	}
	var stdout, stderr bytes.Buffer
	want, output := 0, &stdout
	if slices.Contains(args, "--expect") {
		want, output = 3, &stderr
	}
	if code := cli.Run(append([]string{"kubectl-cephtune"}, args...), &stdout, &stderr); code != want {
		t.Errorf("exit code %d, want %d, of\n%s\n%s", code, want, b.text, &stderr)
	}
	return output.String()
}
