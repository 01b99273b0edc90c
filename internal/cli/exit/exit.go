// Package exit has the exit codes of the command line, and errors that choose one.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes. They are documented with each command in docs: scripts rely on them.
const (
	OK = 0
	// Failure: the command could not do what it was asked to do.
	Failure = 1
	// Usage: it was not asked properly, and nothing was read.
	Usage = 2
	// Unexpected: it did what it was asked to do, and the outcome is not what
	// --expect names, or is not there within --timeout.
	Unexpected = 3
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

// UnexpectedErrorf returns an error about an outcome that was not expected.
func UnexpectedErrorf(format string, args ...any) error {
	return &codeError{Unexpected, fmt.Errorf(format, args...)}
}

// Code returns the exit code for what a command returned.
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
