package tuning

import (
	"context"
	"sync"
)

// memory keeps journals in memory. It is safe for concurrent use.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// Load implements Store.
func (s *memory) Load(_ context.Context, fsid string) (*Journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(fsid)
}

func (s *memory) load(fsid string) (*Journal, error) {
	text, found := s.kept[fsid]
	if !found {
		return nil, nil //nolint:nilnil // A missing journal is not an error.
	}
	return Decode(text)
}

// Save implements Store.
func (s *memory) Save(_ context.Context, j *Journal) error {
	text, err := Encode(j)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err := s.load(j.FSID)
	if err == nil {
		err = Follows(j, kept)
	}
	if err != nil {
		return err
	}
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	s.kept[j.FSID] = text
	return nil
}

// Remove implements Store.
func (s *memory) Remove(_ context.Context, last *Journal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err := s.load(last.FSID)
	if err != nil || kept == nil {
		return err
	}
	if err := Outlives(last, kept); err != nil {
		return err
	}
	delete(s.kept, last.FSID)
	return nil
}
