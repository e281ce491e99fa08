package objstore

import (
	"errors"
	"fmt"
)

// Holds reports whether the object directory itself has an object that can be read, and not
// only one that it borrows from.
func (s *Store) Holds(id ID) (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for object %v: %w", id, err)
	}
	defer s.life.RUnlock()
	_, err := s.main.read(id, s.opts.MaxObject)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
		return false, nil
	}
	return err == nil, err
}

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
		kept, free, err = findHolders(packs, s.packs.files, id)
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

// findHolders reports whether an object is in a pack with a .keep file of ours, and whether it is in one without.
func findHolders(packs []*pack, files packFiles, id ID) (kept, free bool, err error) {
	for _, p := range packs {
		_, found, err := p.find(id)
		if err != nil {
			return false, false, err
		}
		switch {
		case !found:
		case files.isKeptByUs(p.name):
			kept = true
		default:
			free = true
		}
	}
	return kept, free, nil
}
