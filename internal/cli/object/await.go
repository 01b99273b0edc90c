package object

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// These errors say why waiting ended early.
var (
	ErrTimeout     = errors.New("--timeout has passed")
	ErrInterrupted = errors.New("this command was interrupted")
)

// Pace says how an object is polled.
type Pace struct {
	// Every is the polling interval. Deadline is how long the API server may fail to answer.
	Every, Deadline time.Duration
}

// DefaultPace returns intervals for a person who waits.
func DefaultPace() Pace { return Pace{Every: 2 * time.Second, Deadline: 2 * time.Minute} }

// Bounded returns a context that ends after the timeout or when the user interrupts. A timeout
// of 0 is no limit.
func Bounded(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	if timeout == 0 {
		return ctx, stop
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, func() {
		cancel()
		stop()
	}
}

// Early returns the reason why a context of Bounded has ended.
func Early(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ErrInterrupted
}

// Unfinishedf returns an error about a wait that ended early. The exit code tells an interrupt from a timeout.
func Unfinishedf(reason error, format string, args ...any) error {
	if errors.Is(reason, ErrInterrupted) {
		return exit.InterruptedErrorf(format, args...)
	}
	return exit.UnexpectedErrorf(format, args...)
}

// Await polls an object until the function look returns true or an error. If no object with the name and UID of o
// exists, it calls look(nil). It returns the errors Forbidden and Unauthorized at once. After any other error,
// it tries again, unless no request has succeeded for pace.Deadline. If the context ends, it returns
// [ErrTimeout] or [ErrInterrupted].
func Await(ctx context.Context, reader client.Reader, o client.Object, pace Pace, look func(client.Object) (bool, error)) error {
	kind, key, uid := StateOf(o).Kind, client.ObjectKeyFromObject(o), o.GetUID()
	answered := time.Now()
	return Poll(ctx, pace, func() (bool, error) {
		now, err := Same(ctx, reader, kind, key, uid)
		switch {
		case err == nil:
			answered = time.Now()
			return look(now)
		case ctx.Err() == nil && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || time.Since(answered) > pace.Deadline):
			return false, fmt.Errorf("reading %s %s: %w", kind.Name, key, err)
		}
		return false, nil
	})
}

// Poll calls a function until it returns true or an error. If the context ends, Poll returns [ErrTimeout] or [ErrInterrupted].
func Poll(ctx context.Context, pace Pace, look func() (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, pace.Every, true, func(context.Context) (bool, error) { return look() })
	if ctx.Err() != nil {
		return Early(ctx)
	}
	return err
}

// Same reads the object with a UID. It returns nil if the object no longer exists, or if another one has its name.
func Same(ctx context.Context, reader client.Reader, kind Kind, key client.ObjectKey, uid types.UID) (client.Object, error) {
	o := kind.New()
	err := reader.Get(ctx, key, o)
	if apierrors.IsNotFound(err) || err == nil && o.GetUID() != uid {
		return nil, nil //nolint:nilnil // The docstring documents nil.
	}
	return o, err
}
