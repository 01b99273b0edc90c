// Package exit has the exit codes of the command line, and errors that choose an exit code.
package exit

import (
	"errors"
	"fmt"
)

// These exit codes are part of the documentation of each command, and scripts rely on them.
const (
	OK = 0
	// Failure means an error, or something that failed, such as a benchmark.
	Failure = 1
	// Usage means that the command line, or a file that it names, is wrong. Nothing was done.
	Usage = 2
	// Unexpected means that the command worked, but the outcome is unexpected. For example, a figure
	// missed its limit, --expect does not list the verdict, or --timeout ended the wait.
	Unexpected = 3
	// Undecided means that the command worked, but the outcome is unknown: more runs or facts may
	// decide it.
	Undecided = 4
	// Interrupted means that the user ended the wait, for example with Ctrl-C. It is 128 + SIGINT, as in shells.
	Interrupted = 130
)

type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// UsageErrorf returns an error about the command line, or about a file that it names.
func UsageErrorf(format string, args ...any) error {
	return &codeError{Usage, fmt.Errorf(format, args...)}
}

// UnexpectedErrorf returns an error about an unexpected outcome.
func UnexpectedErrorf(format string, args ...any) error {
	return &codeError{Unexpected, fmt.Errorf(format, args...)}
}

// UndecidedErrorf returns an error about an outcome that is unknown.
func UndecidedErrorf(format string, args ...any) error {
	return &codeError{Undecided, fmt.Errorf(format, args...)}
}

// InterruptedErrorf returns an error about a wait that the user ended.
func InterruptedErrorf(format string, args ...any) error {
	return &codeError{Interrupted, fmt.Errorf(format, args...)}
}

// Code returns the exit code for the error of a command.
func Code(err error) int {
	var coded *codeError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &coded):
		return coded.code
	}
	return Failure
}
