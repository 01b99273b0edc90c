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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The ways in which waiting can end early.
var (
	ErrTimeout     = errors.New("--timeout is over")
	ErrInterrupted = errors.New("this command was interrupted")
)

// Pace is how an object is looked at again.
type Pace struct {
	// Every is the time between two looks, Patience for how long there may be no answer.
	Every, Patience time.Duration
}

// DefaultPace is that of people.
func DefaultPace() Pace { return Pace{Every: 2 * time.Second, Patience: 2 * time.Minute} }

// Bounded is a context that ends with a timeout, unless that is 0, or when the user
// interrupts.
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

// Early is why such a context has ended.
func Early(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ErrInterrupted
}

// Await looks at an object until look says that it is done. It is nil where the object,
// or the one with that UID, is gone. A connection that breaks is tried again while the
// patience lasts.
func Await(ctx context.Context, from client.Reader, o client.Object, pace Pace, look func(client.Object) bool) error {
	kind, key, uid := StateOf(o).Kind, client.ObjectKeyFromObject(o), o.GetUID()
	answered := time.Now()
	for {
		now, err := fetch(ctx, from, kind, key, uid)
		switch {
		case ctx.Err() != nil:
			return Early(ctx)
		case err == nil:
			answered = time.Now()
			if look(now) {
				return nil
			}
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || time.Since(answered) > pace.Patience:
			return fmt.Errorf("reading %s %s: %w", kind.Name, key, err)
		}
		select {
		case <-ctx.Done():
			return Early(ctx)
		case <-time.After(pace.Every):
		}
	}
}

// fetch returns nil where the object is gone.
func fetch(ctx context.Context, from client.Reader, kind Kind, key client.ObjectKey, uid types.UID) (client.Object, error) {
	o := kind.New()
	err := from.Get(ctx, key, o)
	if apierrors.IsNotFound(err) || err == nil && o.GetUID() != uid {
		return nil, nil //nolint:nilnil // Documented.
	}
	return o, err
}
