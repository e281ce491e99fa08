package objstore

import (
	"errors"
	"fmt"
)

// onDiskCache is the memory of an OnDisk reader in bytes.
const onDiskCache = 8 << 20

// onDisk reads objects through a cache of its own.
type onDisk struct {
	store *Store
	cache *cache
}

// OnDisk returns a reader of the objects that are in the repository's files now. Get also returns
// objects that git has pruned since this Store read them, from its cache or from files that are still
// open. Objects that are pruned after the call may be read, too.
func (s *Store) OnDisk() (Reader, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("look for packs: %w", err)
	}
	defer s.life.RUnlock()
	s.alternatesOnce.Do(s.openAlternates)
	for _, d := range append([]*objectDir{s.main}, s.alternates...) {
		if _, err := d.scan(); err != nil {
			return nil, fmt.Errorf("look for packs: %w", err)
		}
	}
	return onDisk{store: s, cache: newCache(onDiskCache)}, nil
}

// Get implements Reader.
func (r onDisk) Get(id ID) (Kind, []byte, error) { return r.GetAtMost(id, r.store.opts.MaxObject) }

// GetAtMost implements boundedReader.
func (r onDisk) GetAtMost(id ID, most int64) (Kind, []byte, error) {
	return r.store.getThrough(r.cache, id, most)
}

// Holds reports whether the object directory itself has a readable copy of an object. A copy in an
// alternate does not count.
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

// Unacknowledged reports whether an object is only in packs whose .keep file a [Batch] has made and
// not yet removed. The refs to such a pack may have moved, but the write was not acknowledged.
// Merges leave these packs alone.
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

// findHolders reports whether a pack with a .keep file of this program has an object, and whether
// another pack has it.
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
