package cephtuningsweep

import (
	"context"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/tuning"
)

// settingTreatments are values of settings that a session switches.
type settingTreatments struct {
	ceph       tuning.Ceph
	engine     *tuning.Engine
	sweep      tuning.Sweep
	pool       tuning.OwnPool
	connection ceph.Connection
	known      tuning.Known
	changes    [][]tuning.Change // by configuration
	turn       int
}

var _ session.Treatments = (*settingTreatments)(nil)

// Try implements [session.Treatments]. It applies the options of the session's own pool for each configuration, and
// last for the baseline. These options could not be proven before the session, because the pool did not exist.
func (s *settingTreatments) Try(ctx context.Context) error {
	return s.engine.Try(ctx, s.pool, append(slices.Clone(s.changes[1:]), s.changes[0]))
}

// Switch implements [session.Treatments].
func (s *settingTreatments) Switch(ctx context.Context, from, to int) (sent, acknowledged time.Time, err error) {
	switched, err := s.engine.Switch(ctx, s.sweep, s.pool, s.changes[from], s.changes[to])
	return switched.Started, switched.Acknowledged, err
}

// Holds implements [session.Treatments]. A switch from a value to itself sends no change, but checks that Ceph has the
// values.
func (s *settingTreatments) Holds(ctx context.Context, value int) error {
	_, _, err := s.Switch(ctx, value, value)
	return err
}

// Proven implements [session.Treatments]. In a cluster with many OSDs, it asks a sample of them, which changes each
// time.
func (s *settingTreatments) Proven(ctx context.Context, value int) (bool, error) {
	s.turn++
	proof, err := tuning.Prove(ctx, s.ceph, s.connection, s.changes[value], s.known, s.turn)
	return proof.Proven(), err
}
