// Package help has the texts of the commands' help. Each file is for one command: it says what the command does, and,
// after the line "Examples:", how people use it.
package help

import (
	"embed"
	"strings"
)

//go:embed *.txt
var texts embed.FS

// Text is the text of a command's help, without its flags.
type Text struct{ Long, Examples string }

// Of returns the text of a command.
func Of(command string) (text Text) {
	file, err := texts.ReadFile(command + ".txt")
	if err != nil {
		panic(err) // The tests make all commands.
	}
	text.Long, text.Examples, _ = strings.Cut(strings.TrimSuffix(string(file), "\n"), "\n\nExamples:\n\n")
	return text
}
