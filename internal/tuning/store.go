package tuning

import (
	"context"
	"errors"
	"fmt"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Store keeps journals, one for each Ceph cluster.
type Store interface {
	// Load returns the journal of a cluster, or nil if it does not exist.
	Load(ctx context.Context, fsid string) (*Journal, error)
	// Save replaces the kept journal, if Follows allows it.
	Save(ctx context.Context, j *Journal) error
	// Remove removes the kept journal of a cluster, if Outlives allows it. The argument last is the newest
	// copy of the journal. A missing journal is not an error.
	Remove(ctx context.Context, last *Journal) error
}

// ErrOvertaken says that the journal was written since it was read, usually by another process. Read the journal
// again and start over.
var ErrOvertaken = errors.New("another process has written the journal meanwhile")

// Follows returns an error if the new journal, in the argument next, may not replace the kept one. If the
// kept journal is another sweep's, it has to be done. If it is the same sweep's, its revision must be lower
// than that of the new journal, and its epoch must not be higher. A kept journal of the same sweep that breaks
// this rule comes from another writer, or from a write of this process that reached this store but not the
// other. The revision may rise by more than one, because an earlier write may not have reached this store.
// Writing the same journal again is allowed, because the answer to the first write may have been lost.
func Follows(next, kept *Journal) error {
	switch {
	case kept == nil || kept.equal(next):
		return nil
	case kept.Sweep.UID != next.Sweep.UID && kept.Done():
		return nil
	case kept.Sweep.UID != next.Sweep.UID:
		return &OtherSweepError{Sweep: kept.Sweep}
	case kept.Epoch > next.Epoch || kept.Revision >= next.Revision:
		return fmt.Errorf("revision %d of epoch %d does not follow revision %d of epoch %d, which %s wrote: %w",
			next.Revision, next.Epoch, kept.Revision, kept.Epoch, kept.Writer, ErrOvertaken)
	}
	return nil
}

// Outlives returns an error if the kept journal may not be removed. A done journal may be removed. An open
// journal may be removed if the argument last is a done journal of the same sweep, with at least the open
// journal's epoch and revision. Such an open journal remains if a process died, or a write failed, before
// every copy was updated.
func Outlives(last, kept *Journal) error {
	switch {
	case kept.Done():
		return nil
	case kept.Sweep.UID != last.Sweep.UID || !last.Done():
		return &OtherSweepError{Sweep: kept.Sweep}
	case kept.Epoch > last.Epoch || kept.Revision > last.Revision:
		return fmt.Errorf("revision %d of epoch %d, which %s wrote, came after revision %d of epoch %d: %w",
			kept.Revision, kept.Epoch, kept.Writer, last.Revision, last.Epoch, ErrOvertaken)
	}
	return nil
}

// The keys of the journals in Ceph's config-key store. An outage has a separate journal, because a sweep's
// journal may be open during the outage.
const (
	journalKey = "cephtune/journal"
	outageKey  = "cephtune/disruption"
)

// ConfigKey keeps the journal in the Ceph cluster, where the journal outlives the Kubernetes cluster.
//
// Ceph cannot compare and set a key in one step. So ConfigKey reads the kept journal first, and checks with
// Follows or Outlives whether it may be replaced or removed. A journal that another writer writes between the
// read and the command is lost. Two things make this unlikely. The lock keeps other writers away. And the copy
// in Kubernetes is written before the copy in Ceph, and Kubernetes refuses to overwrite a version that the
// writer has not read.
type ConfigKey struct {
	ceph       ceph.Client
	connection ceph.Connection
	key        string
}

// NewConfigKey returns the store of sweeps' journals in a Ceph cluster. The connection's identity needs caps
// to read and write the operator's config-keys.
func NewConfigKey(client ceph.Client, connection ceph.Connection) *ConfigKey {
	return &ConfigKey{ceph: client, connection: connection, key: journalKey}
}

// ForOutages returns the store of outages' journals in the same Ceph cluster.
func (s *ConfigKey) ForOutages() *ConfigKey {
	return &ConfigKey{ceph: s.ceph, connection: s.connection, key: outageKey}
}

var (
	_ Store = (*ConfigKey)(nil)
	_ Store = (*Mirrored)(nil)
)

// Load implements Store.
func (s *ConfigKey) Load(ctx context.Context, fsid string) (*Journal, error) {
	text, found, err := s.ceph.GetKey(ctx, s.connection, s.key)
	if err != nil {
		return nil, fmt.Errorf("read the journal in Ceph: %w", err)
	}
	if !found {
		return nil, nil //nolint:nilnil // A missing journal is not an error.
	}
	j, err := Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s in Ceph: %w", s.key, err)
	}
	if j.FSID != fsid {
		return nil, fmt.Errorf("%s in Ceph is for cluster %s, but this is cluster %s: if it was copied, remove it with `ceph config-key rm %s`",
			s.key, j.FSID, fsid, s.key)
	}
	return j, nil
}

// Save implements Store.
func (s *ConfigKey) Save(ctx context.Context, j *Journal) error {
	text, err := Encode(j)
	if err != nil {
		return err
	}
	kept, err := s.Load(ctx, j.FSID)
	if err != nil {
		return err
	}
	if err = Follows(j, kept); err == nil {
		err = s.ceph.SetKey(ctx, s.connection, s.key, string(text))
	}
	if err != nil {
		return fmt.Errorf("write the journal in Ceph: %w", err)
	}
	return nil
}

// Remove implements Store.
func (s *ConfigKey) Remove(ctx context.Context, last *Journal) error {
	kept, err := s.Load(ctx, last.FSID)
	if err != nil || kept == nil {
		return err
	}
	if err = Outlives(last, kept); err == nil {
		err = s.ceph.RemoveKey(ctx, s.connection, s.key)
	}
	if err != nil {
		return fmt.Errorf("remove the journal in Ceph: %w", err)
	}
	return nil
}

// Mirrored keeps a journal in two stores. Newest chooses between the copies. A crash never leaves a journal in
// the second store alone, so some readers read only the first.
type Mirrored struct{ first, second Store }

// NewMirrored returns a store that mirrors a journal in two stores.
func NewMirrored(first, second Store) *Mirrored { return &Mirrored{first: first, second: second} }

// Load implements Store. It fails if one of the stores does not answer, because the other store's copy may be
// outdated and have wrong original values.
func (s *Mirrored) Load(ctx context.Context, fsid string) (*Journal, error) {
	first, err := s.first.Load(ctx, fsid)
	if err != nil {
		return nil, err
	}
	second, err := s.second.Load(ctx, fsid)
	if err != nil {
		return nil, err
	}
	return Newest(first, second)
}

// Save implements Store.
func (s *Mirrored) Save(ctx context.Context, j *Journal) error {
	if err := s.first.Save(ctx, j); err != nil {
		return err
	}
	return s.second.Save(ctx, j)
}

// Remove implements Store.
func (s *Mirrored) Remove(ctx context.Context, last *Journal) error {
	for _, store := range removals(s) {
		if err := store.Remove(ctx, last); err != nil {
			return err
		}
	}
	return nil
}

// removals returns the stores in the order of a removal, which is the reverse of the order in Save. In the
// order of Save, a crash between two removals would leave a copy only in the second store. Readers of the
// first store would not see that copy, so no process would remove it.
func removals(store Store) []Store {
	if both, ok := store.(*Mirrored); ok {
		return []Store{both.second, both.first}
	}
	return []Store{store}
}

// Newest chooses between two copies of a journal. A nil argument is a missing copy.
//
//   - A missing copy is ignored. The ConfigMap may have been deleted with its namespace, or the key in Ceph
//     by hand. After an interrupted removal, one copy is missing too; the removal is then repeated.
//   - If only one of two sweeps' journals is done, the other journal counts. Two open journals of different
//     sweeps are an error: a sweep does not begin before the previous sweep's journal is done.
//   - Otherwise the copy with the higher epoch counts, or with the higher revision if the epochs are equal.
//     If the revisions are equal too, different contents are an error.
//   - Journals of two Ceph clusters are an error.
func Newest(a, b *Journal) (*Journal, error) {
	switch {
	case a == nil:
		return b, nil
	case b == nil:
		return a, nil
	case a.FSID != b.FSID:
		return nil, fmt.Errorf("the copies of the journal are for two Ceph clusters, %s and %s: remove the wrong one", a.FSID, b.FSID)
	case a.Sweep.UID != b.Sweep.UID && !a.Done() && !b.Done():
		return nil, fmt.Errorf("the copies of the journal are of two sweeps, %s and %s, and neither is restored: compare both with Ceph and remove the wrong one", a.Sweep, b.Sweep)
	case a.Sweep.UID != b.Sweep.UID && a.Done() != b.Done():
		if a.Done() {
			return b, nil
		}
		return a, nil
	case a.Epoch != b.Epoch:
		if a.Epoch < b.Epoch {
			return b, nil
		}
		return a, nil
	case a.Revision < b.Revision:
		return b, nil
	case a.Revision > b.Revision:
		return a, nil
	}
	if !a.equal(b) {
		return nil, fmt.Errorf("two journals of %s have revision %d and differ: compare both with Ceph and remove the wrong one", a.Sweep, a.Revision)
	}
	return a, nil
}
