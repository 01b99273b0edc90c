// Package help has the texts of the commands' help. Each file is for one command: it says what the command does, and,
// after the line "Examples:", how people use it.
package help

import (
	"embed"
	"strings"
)

//go:embed *.txt
var texts embed.FS

// Long returns what the help of a command says about it.
func Long(command string) string {
	long, _ := read(command)
	return long
}

// Examples returns the examples in the help of a command.
func Examples(command string) string {
	_, examples := read(command)
	return examples
}

func read(command string) (long, examples string) {
	text, err := texts.ReadFile(command + ".txt")
	if err != nil {
		panic(err) // The tests make all commands.
	}
	long, examples, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n\n")
	return long, examples
}
