package runner

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is the reason why a runner refuses a request, as one word.
type Code string

// The codes. If the answer to Start was lost although the runner executed the request, a repeated Start gets
// AlreadyStarted. All other requests can be repeated.
const (
	// Invalid: the request is malformed, or asks for something that the runner cannot or must not do.
	Invalid Code = "Invalid"
	// Unauthorized: the request does not carry the token of this execution.
	Unauthorized Code = "Unauthorized"
	// NotFound: the runner has no such task, or no such path.
	NotFound Code = "NotFound"
	// Busy: another task has not ended yet.
	Busy Code = "Busy"
	// Different: a different task has the same ID.
	Different Code = "Different"
	// Full: the runner has reached its maximum number of tasks, or of report bytes.
	Full Code = "Full"
	// NotReady: the task cannot start, because its state is not Ready; or it has no course, because its
	// engine has not started.
	NotReady Code = "NotReady"
	// AlreadyStarted: the task has already received the start signal.
	AlreadyStarted Code = "AlreadyStarted"
	// NotStarted: the task received the start signal, but its engine did not start.
	NotStarted Code = "NotStarted"
	// NotEnded: the task has no report yet.
	NotEnded Code = "NotEnded"
	// Finished: the runner is ending and accepts no further task.
	Finished Code = "Finished"
	// Internal: the runner could not complete the request.
	Internal Code = "Internal"
)

// Error is a runner's refusal of a request.
type Error struct {
	Code Code `json:"code"`
	// Message is one sentence.
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("runner: %s (%s)", e.Message, e.Code) }

// HasCode reports whether an error is a runner's refusal with this code.
func HasCode(err error, code Code) bool {
	refusal, ok := errors.AsType[*Error](err)
	return ok && refusal.Code == code
}

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ViolationError says that the answer of a runner contradicts what the manager knows. The runner of this version does
// not answer like that.
type ViolationError struct{ Problem string }

// Error implements error.
func (e *ViolationError) Error() string {
	return "the client is not to be believed: " + e.Problem + "; find out who can create pods in its namespace"
}

func violation(format string, args ...any) error {
	return &ViolationError{Problem: fmt.Sprintf(format, args...)}
}

// status returns the HTTP status for a code.
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
