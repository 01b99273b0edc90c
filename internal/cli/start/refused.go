package start

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/internal/cli/words"
)

// invalidError is the API server's refusal of an object, with one message for each cause.
type invalidError struct {
	subject string
	causes  []metav1.StatusCause
	flags   bool // the user typed flags
	err     error
}

// unchecked begins a cause that only says that others prevented further checks.
const unchecked = "some validation rules were not checked"

// invalid returns an invalidError if the API server refused an object because of its fields, otherwise nil.
func invalid(subject string, err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return nil
	}
	refused := &invalidError{subject: subject, err: err}
	seen := map[string]bool{}
	for _, cause := range status.Status().Details.Causes {
		if seen[cause.Field] || strings.Contains(cause.Message, unchecked) {
			continue // The first message about a field is the schema's. Others follow from the same mistake.
		}
		seen[cause.Field] = true
		refused.causes = append(refused.causes, cause)
	}
	if len(refused.causes) == 0 {
		return nil
	}
	return refused
}

func (e *invalidError) Error() string {
	lines := make([]string, len(e.causes))
	for i, cause := range e.causes {
		field, message := cause.Field, cause.Message
		if e.flags {
			field, message = words.InFlags(field), words.InFlags(message)
		}
		if rest, found := strings.CutPrefix(message, "Invalid value: "); found { // It repeats the value, which may be a whole object.
			if _, after, found := strings.Cut(rest, ": "); found {
				message = after
			}
		}
		if _, rule, found := strings.Cut(message, " in body "); found { // It repeats the field, which is not in what the user typed.
			message = rule
		}
		lines[i] = field + ": " + message
	}
	hint := words.Hint(e.err.Error())
	if len(lines) == 1 {
		return fmt.Sprintf("%s is refused: %s%s", e.subject, lines[0], hint)
	}
	return fmt.Sprintf("%s is refused:\n- %s%s", e.subject, strings.Join(lines, "\n- "), hint)
}

func (e *invalidError) Unwrap() error { return e.err }

// inFlags returns the error for a person who typed flags: it names flags where it can.
func inFlags(err error) error {
	if refused, ok := errors.AsType[*invalidError](err); ok {
		named := *refused
		named.flags = true
		return &named
	}
	return err
}
