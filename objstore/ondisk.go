package objstore

import (
	"errors"
	"fmt"
)

// onDiskCache is the size in bytes of the cache of an OnDisk reader.
const onDiskCache = 8 << 20

// onDisk is a Reader of a Store's files. It has its own cache, so it does not use the Store's cache.
type onDisk struct {
	store *Store
	cache *cache
}

// OnDisk returns a Reader of the objects that are in the repository's files at the time of the call.
// [Store.Get] also finds objects that git has removed but that are still in the Store's cache or in open files.
// The Reader does not find such objects if git removed them before the call. It may find objects that git
// removes after the call.
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

// Hash returns the hash with which the repository names its objects.
func (r onDisk) Hash() Algorithm { return r.store.Hash() }

// Get returns the kind and the bytes of an object of at most MaxObject bytes. It reads r's own cache or the
// repository's files.
func (r onDisk) Get(id ID) (Kind, []byte, error) { return r.GetAtMost(id, r.store.opts.MaxObject) }

// GetAtMost returns the kind and the bytes of an object. It reads r's own cache or the repository's files. For
// an object of more than limit bytes the error is a [*CorruptError].
func (r onDisk) GetAtMost(id ID, limit int64) (Kind, []byte, error) {
	return r.store.getThrough(r.cache, id, limit)
}

// Holds reports whether the store's own object directory has a sound copy of an object. A copy in an alternate
// does not count. A copy that is damaged or larger than MaxObject does not count either.
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

// Unacknowledged reports whether all copies of an object in the store's own object directory are in packs with
// a .keep file that a [Batch] made and has not removed yet. The refs to such a pack may have moved, but the
// write was not acknowledged. Merges leave these packs alone. Unacknowledged returns false if there is no copy.
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
			continue // a merge or git has removed a pack
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

// findHolders looks for the object with the given id in packs. kept is true if a pack with a .keep file of this
// program has the object. free is true if any other pack has the object. Both can be true.
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
