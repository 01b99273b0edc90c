// Package exit has the exit codes of the command line, and errors that choose one.
package exit

import (
	"errors"
	"fmt"
)

// These exit codes are documented with each command in docs, and scripts rely on them.
const (
	OK = 0
	// Failure means that the command failed.
	Failure = 1
	// Usage means that the command line is wrong. Nothing was read.
	Usage = 2
	// Unexpected means that the command worked, but the outcome differs from --expect, or did not
	// arrive within --timeout.
	Unexpected = 3
	// Undecided means that the command worked, but the outcome is unknown: more runs may decide
	// it.
	Undecided = 4
)

type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// UsageErrorf returns an error about the command line itself.
func UsageErrorf(format string, args ...any) error {
	return &codeError{Usage, fmt.Errorf(format, args...)}
}

// UnexpectedErrorf returns an error about an unexpected outcome.
func UnexpectedErrorf(format string, args ...any) error {
	return &codeError{Unexpected, fmt.Errorf(format, args...)}
}

// UndecidedErrorf returns an error about an outcome that is not known.
func UndecidedErrorf(format string, args ...any) error {
	return &codeError{Undecided, fmt.Errorf(format, args...)}
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
