package cephtuningsweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/sweepspec"
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

// settings returns the values of the settings that a session switches.
func (r *Reconciler) settings(ctx context.Context, seen pass) (session.Treatments, error) {
	connection, known, err := r.knownNow(ctx, seen)
	if err != nil {
		return nil, err
	}
	s := &settingTreatments{ceph: r.Ceph, engine: seen.memory.switching.engine, sweep: seen.self(), connection: connection, known: known}
	if s.pool, err = r.ownPool(ctx, seen, connection); err != nil {
		return nil, err
	}
	for _, c := range seen.design.Configurations() {
		varied := slices.Concat(sweepspec.Changes(&seen.sweep.Spec, c.Values), sweepspec.OwnChanges(&seen.sweep.Spec, c.Values))
		s.changes = append(s.changes, known.Typed(sweepspec.ForTuner(varied)))
	}
	return s, nil
}

// ownPool returns the scratch pool of the session, if the sweep varies options of that pool.
func (r *Reconciler) ownPool(ctx context.Context, seen pass, connection ceph.Connection) (tuning.OwnPool, error) {
	varied := settingsOf(sweepspec.OwnChanges(&seen.sweep.Spec, nil))
	if len(varied) == 0 {
		return tuning.OwnPool{}, nil
	}
	now, err := tuning.ReadFacts(ctx, r.Ceph, connection, varied)
	if err != nil {
		return tuning.OwnPool{}, err
	}
	pool, found := now.Pool(varied[0].Pool) // Only the data pool has options that can be switched.
	if !found {
		return tuning.OwnPool{}, fmt.Errorf("session %d: Ceph has no pool %s", seen.run(), varied[0].Pool)
	}
	return tuning.OwnPool{Name: pool.Name, ID: pool.ID}, nil
}

// Try implements [session.Treatments]. It applies the options of the session's own pool for each configuration, and
// last for the baseline. These options could not be proven before the session, because the pool did not exist.
func (s *settingTreatments) Try(ctx context.Context) error {
	if err := s.engine.Try(ctx, s.pool, append(slices.Clone(s.changes[1:]), s.changes[0])); err != nil {
		return fmt.Errorf("try the settings: %w", err)
	}
	return nil
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

// Complete implements [session.Treatments]. The load goes on, and a row that crosses the end of a window counts for none.
func (*settingTreatments) Complete(context.Context, int) error { return nil }

// Proven implements [session.Treatments]. In a cluster with many OSDs, it asks a sample of them, which changes each
// time.
func (s *settingTreatments) Proven(ctx context.Context, value int) (bool, error) {
	s.turn++
	proof, err := tuning.Prove(ctx, s.ceph, s.connection, s.changes[value], s.known, s.turn)
	return proof.Proven(), err
}
