package objstore

import (
	"errors"
	"fmt"
)

// Get returns an object, verified against its id. It looks in packs, among loose
// objects and in alternates. A damaged copy is an error only if there is no good one.
func (s *Store) Get(id ID) (Kind, []byte, error) { return s.GetAtMost(id, s.opts.MaxObject) }

// GetAtMost is Get for an object of at most so many bytes. A larger one is a
// [*CorruptError], before memory is taken for it or for the bases of its deltas.
func (s *Store) GetAtMost(id ID, most int64) (Kind, []byte, error) {
	most = min(most, s.opts.MaxObject)
	if o, ok := s.cache.get(cacheKey{id: id}); ok && int64(len(o.data)) <= most {
		return o.kind, o.data, nil
	}
	if err := s.enter(); err != nil {
		return 0, nil, fmt.Errorf("read object %v: %w", id, err)
	}
	defer s.life.RUnlock()
	o, err := s.read(id, most)
	if err != nil {
		return 0, nil, err
	}
	s.cache.put(cacheKey{id: id}, o)
	return o.kind, o.data, nil
}

// read looks an object of at most so many bytes up in the files of the store.
func (s *Store) read(id ID, most int64) (object, error) {
	if id.size != idSize {
		return object{}, fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	o, err := s.main.read(id, most)
	if err == nil {
		return o, nil
	}
	s.alternatesOnce.Do(s.openAlternates)
	for _, d := range s.alternates {
		o, otherErr := d.read(id, most)
		if otherErr == nil {
			return o, nil
		}
		if errors.Is(err, ErrNotFound) {
			err = otherErr
		}
	}
	if errors.Is(err, ErrNotFound) && s.alternatesErr != nil {
		return object{}, fmt.Errorf("read object %v: alternates: %w", id, s.alternatesErr)
	}
	return object{}, err
}

func (s *Store) openAlternates() {
	var paths []string
	paths, s.alternatesErr = alternateDirs(s.opts.ObjectsDir)
	for _, path := range paths {
		s.alternates = append(s.alternates, newObjectDir(path, s.main.reading))
	}
}
