package lock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// oneLock grants its lock to anyone, unless refuses is set. It counts requests that reach Ceph.
type oneLock struct {
	held    bool
	refuses error
	asked   int
}

func (l *oneLock) Peek(context.Context, string, objectref.Ref) (Grant, error) {
	return Grant{Held: l.held, Epoch: 7}, nil
}

func (l *oneLock) Acquire(_ context.Context, _ ceph.Connection, _ string, _ objectref.Ref, now time.Time) (Grant, error) {
	l.asked++
	l.held = l.refuses == nil
	return Grant{Held: l.held, Epoch: 7, Expires: now.Add(Duration)}, l.refuses
}

func (l *oneLock) Renew(ctx context.Context, connection ceph.Connection, subject string, holder objectref.Ref, now time.Time) (Grant, error) {
	if !l.held {
		return Grant{}, l.refuses
	}
	return l.Acquire(ctx, connection, subject, holder, now)
}

func (l *oneLock) Release(context.Context, ceph.Connection, string, objectref.Ref) error {
	l.asked++
	l.held = false
	return l.refuses
}

func handleOf(l *oneLock, away error) Handle {
	return Handle{
		Lock: l, FSID: "f", Now: time.Now,
		Connect: func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, away },
	}
}

func TestRenewNeverTakesALock(t *testing.T) {
	l := &oneLock{}
	if grant, err := handleOf(l, nil).Renew(t.Context()); err != nil || grant.Held || l.asked > 0 {
		t.Errorf("%+v, %v, after %d requests: want a lock that is not held", grant, err, l.asked)
	}
	l.held = true
	if grant, err := handleOf(l, nil).Renew(t.Context()); err != nil || !grant.Held || l.asked != 1 {
		t.Errorf("%+v, %v, after %d requests: want a renewed lock", grant, err, l.asked)
	}
}

// Another object takes and releases a borrowed lock.
func TestABorrowedLockIsNotTaken(t *testing.T) {
	l := &oneLock{}
	h := handleOf(l, nil)
	h.Borrows = true
	if grant, lost, err := h.Request(t.Context(), nil, true); err != nil || grant.Held || lost == "" || l.asked > 0 {
		t.Errorf("%+v, %q, %v, after %d requests: want a lost lock", grant, lost, err, l.asked)
	}
	if _, err := h.Fence(t.Context()); err == nil || l.held {
		t.Errorf("%v: want no change with a lock that is free", err)
	}
	l.held = true
	if grant, lost, err := h.Request(t.Context(), nil, true); err != nil || !grant.Held || lost != "" {
		t.Errorf("%+v, %q, %v: want the renewed lock", grant, lost, err)
	}
}

func TestFenceNeedsTheLock(t *testing.T) {
	if fence, err := handleOf(&oneLock{}, nil).Fence(t.Context()); err != nil || fence.Epoch != 7 {
		t.Errorf("%+v, %v: want epoch 7", fence, err)
	}
	for want, h := range map[string]Handle{
		"no monitor": handleOf(&oneLock{}, errors.New("no monitor")),
		"refused":    handleOf(&oneLock{refuses: errors.New("refused")}, nil),
	} {
		if _, err := h.Fence(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestRelease(t *testing.T) {
	l := &oneLock{held: true}
	if err := handleOf(l, errors.New("no monitor")).Release(t.Context()); err == nil || !l.held {
		t.Errorf("%v, held %t: want an error, and the lock as it was", err, l.held)
	}
	if err := handleOf(l, nil).Release(t.Context()); err != nil || l.held {
		t.Errorf("%v, held %t: want a free lock", err, l.held)
	}
}
