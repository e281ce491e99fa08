package objstore

import (
	"errors"
	"fmt"
)

// Unacknowledged reports whether an object is in this repository only in packs whose .keep file a [Batch] has made and
// not removed yet: nobody was told that the refs have moved, if they have. Merges leave such packs alone.
func (s *Store) Unacknowledged(id ID) (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for object %v: %w", id, err)
	}
	defer s.life.RUnlock()
	packs, err := s.main.scan()
	if err != nil {
		return false, err
	}
	kept := false
	for _, p := range packs {
		_, found, err := p.find(id)
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		if !s.temp.isOurKeep(s.packPath(p.name, ".keep")) {
			return false, nil
		}
		kept = true
	}
	if _, err := readLoose(s.main.path, id, s.main.maxObject); !errors.Is(err, ErrNotFound) {
		return false, err
	}
	return kept, nil
}
