package runner

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is why a runner refuses a request, as one word.
type Code string

// The codes. A client that repeats Start after a lost answer gets AlreadyStarted if the first
// request was carried out; the other requests just succeed again.
const (
	// Invalid: the request is not one that a runner understands.
	Invalid Code = "Invalid"
	// Unauthorized: the request does not carry the token of this session.
	Unauthorized Code = "Unauthorized"
	// NotFound: there is no such task, or no such address.
	NotFound Code = "NotFound"
	// Busy: another task is at work.
	Busy Code = "Busy"
	// Different: there is a task of this ID that is not this one.
	Different Code = "Different"
	// Full: the runner has had as many tasks, or keeps as many reports, as it can.
	Full Code = "Full"
	// NotReady: the task is still preparing, measures nothing, or has ended.
	NotReady Code = "NotReady"
	// AlreadyStarted: the task was given the signal before.
	AlreadyStarted Code = "AlreadyStarted"
	// NotStarted: the task was given the signal, but its tool could not be started.
	NotStarted Code = "NotStarted"
	// NotEnded: the task has no report yet.
	NotEnded Code = "NotEnded"
	// Finished: the manager has ended the runner.
	Finished Code = "Finished"
	// Internal: the runner failed.
	Internal Code = "Internal"
)

// Error is an answer of a runner that is not the one asked for.
type Error struct {
	Code Code `json:"code"`
	// Message is one sentence.
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("runner: %s (%s)", e.Message, e.Code) }

// HasCode reports whether an error is an answer of a runner with this code.
func HasCode(err error, code Code) bool {
	refusal, ok := errors.AsType[*Error](err)
	return ok && refusal.Code == code
}

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// status is the code of HTTP that goes with one of ours.
func (c Code) status() int {
	switch c {
	case Invalid:
		return http.StatusBadRequest
	case Unauthorized:
		return http.StatusUnauthorized
	case NotFound:
		return http.StatusNotFound
	case Internal:
		return http.StatusInternalServerError
	default:
		return http.StatusConflict
	}
}
