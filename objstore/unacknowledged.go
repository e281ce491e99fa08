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
	var kept, free bool
	for range maxScans {
		packs, err := s.main.scan()
		if err != nil {
			return false, err
		}
		kept, free, err = s.holders(packs, id)
		if vanished(err) {
			continue // a merge or git took a pack away
		}
		if err != nil {
			return false, err
		}
		break
	}
	if free {
		return false, nil
	}
	if _, err := readLoose(s.main.path, id, s.main.maxObject); !errors.Is(err, ErrNotFound) {
		return false, err
	}
	return kept, nil
}

// holders reports whether an object is in a pack with a .keep file of ours, and whether it is in one without.
func (s *Store) holders(packs []*pack, id ID) (kept, free bool, err error) {
	for _, p := range packs {
		_, found, err := p.find(id)
		if err != nil {
			return false, false, err
		}
		switch {
		case !found:
		case s.temp.isOurKeep(s.packPath(p.name, ".keep")):
			kept = true
		default:
			free = true
		}
	}
	return kept, free, nil
}
