package objstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	mergeLock = "merge.lock"

	// mergeFresh is how many packs of the lowest tier, those of single captures,
	// are let stand before they are merged; mergeFull is the same of every other tier.
	mergeFresh = 16
	mergeFull  = 4
	// freshObjects bounds the lowest tier; every next tier is tierFactor times larger.
	// So there are at most 15 + 4·3 packs below the size where merging ends, and a byte is
	// rewritten about twice a tier.
	freshObjects = 128
	tierFactor   = 8
	// objectBytes is the packed size that counts as one object, so that packs of
	// few large objects are in the tier that their cost of copying demands.
	objectBytes = 512
)

// MergeResult says what a merge did.
type MergeResult struct {
	PacksBefore, PacksAfter int   // packs that may be merged, as far as was looked into
	Objects                 int   // objects in the pack that was written; 0 where none was
	BytesBefore, BytesAfter int64 // of the packs that were merged, and of the one they became
}

// mergePack is a pack that a merge may take.
type mergePack struct {
	name    string
	objects int64
	bytes   int64
}

// NeedsMerge tells whether Merge may have something to do. It reads the pack
// directory and no pack, so it may say yes where there are many small packs of
// others' making which this Store has not met yet.
func (s *Store) NeedsMerge() (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	defer s.life.RUnlock()
	packs, err := s.mergeable()
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return len(planMerge(packs)) > 1, nil
}

// MergeDue tells whether Merge has something to do. Unlike NeedsMerge it looks into the
// packs to tell whose they are.
func (s *Store) MergeDue() (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	defer s.life.RUnlock()
	chosen, _, err := s.chooseMerge()
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return len(chosen) > 1, nil
}

// Merge merges small packs of this package's making, if their number asks for it:
// packs of about the same size become one, in which each object stands once and older
// versions are deltas of newer ones. It leaves alone packs of others, those with a .keep,
// .promisor, .mtimes or .bitmap file, those a multi-pack-index names, and large ones.
//
// One process merges at a time; where another does, and where git gc takes the
// packs away, Merge does nothing and returns no error. It is safe beside every
// other use of the store by this process and others, and beside git. When ctx ends
// it stops and leaves everything as it was.
func (s *Store) Merge(ctx context.Context) (MergeResult, error) {
	result, err := s.merge(ctx, s.chooseMerge)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge packs: %w", err)
	}
	return result, nil
}

// merge makes one pack of those that choose returns, beside how many there are of our
// making.
func (s *Store) merge(ctx context.Context, choose func() ([]mergePack, int, error)) (_ MergeResult, err error) {
	if err := s.enter(); err != nil {
		return MergeResult{}, err
	}
	defer s.life.RUnlock()
	if err := s.temp.fs.MkdirAll(s.temp.path, 0o777); err != nil {
		return MergeResult{}, err
	}
	lock := flock.New(filepath.Join(s.temp.path, mergeLock))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return MergeResult{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()

	s.sweep(ctx)
	const attempts = 3
	for range attempts {
		chosen, all, err := choose()
		if err != nil {
			return MergeResult{}, err
		}
		if len(chosen) == 0 {
			return MergeResult{PacksBefore: all, PacksAfter: all}, nil
		}
		result, err := s.mergeChosen(ctx, chosen)
		if vanished(err) {
			continue // git gc took an input: what it left may still need merging
		}
		result.PacksBefore, result.PacksAfter = all, all-len(chosen)+1
		return result, err
	}
	return MergeResult{}, nil
}

// chooseMerge returns the packs to merge, and how many there are of our making.
func (s *Store) chooseMerge() (chosen []mergePack, all int, err error) {
	packs, err := s.mergeable()
	if err != nil {
		return nil, 0, err
	}
	if len(planMerge(packs)) < 2 {
		return nil, len(packs), nil // not even if all of them are ours
	}
	packs = slices.DeleteFunc(packs, func(p mergePack) bool { return !s.isOurs(p.name) })
	if chosen = planMerge(packs); len(chosen) < 2 {
		chosen = nil
	}
	return chosen, len(packs), nil
}

// isOurs tells whether a pack is of our making, and remembers those that are not.
// One that cannot be read is left to git.
func (s *Store) isOurs(name string) bool {
	p := s.openAside(name)
	ours, err := p.firstIsOurs()
	if err == nil && !ours {
		s.foreignMu.Lock()
		s.foreign[name] = true
		s.foreignMu.Unlock()
	}
	return errors.Join(err, p.close()) == nil && ours
}

// openAside opens a pack beside those that Get reads, so that closing it disturbs nobody.
func (s *Store) openAside(name string) *pack {
	return s.main.newPack(name, time.Time{})
}

// mergeable is the packs that may be merged, as far as names and sizes tell.
func (s *Store) mergeable() ([]mergePack, error) {
	dir := s.main.packDir()
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	held, err := midxPacks(dir)
	if errors.Is(err, errMidx) {
		return nil, nil // of a newer git, perhaps: any pack may be in it
	}
	if err != nil {
		return nil, err
	}
	sizes := make(map[string][2]int64) // of the index and of the pack
	for _, file := range files {
		name, suffix, ok := strings.Cut(file.Name(), ".")
		if !ok || !strings.HasPrefix(name, "pack-") {
			continue
		}
		switch suffix {
		case "idx", "pack":
			info, err := file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			both := sizes[name]
			both[strings.Index("ip", suffix[:1])] = info.Size()
			sizes[name] = both
		case "rev":
		default:
			held[name] = true
		}
	}
	return s.selectMergeable(sizes, held), nil
}

func (s *Store) selectMergeable(sizes map[string][2]int64, held map[string]bool) []mergePack {
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	var packs []mergePack
	for name, both := range sizes {
		objects := (both[0] - indexTableAt - indexTailSize) / indexEntrySize
		if held[name] || s.foreign[name] || objects <= 0 || both[1] == 0 || both[1] >= s.opts.MaxMergePack {
			continue
		}
		// A .keep file is made before the index, so whoever sees the index but saw no
		// .keep may have looked too early for it. Now it is there, or the refs have moved.
		if _, err := os.Lstat(s.packPath(name, ".keep")); err == nil {
			continue
		}
		packs = append(packs, mergePack{name, objects, both[1]})
	}
	slices.SortFunc(packs, func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(a.objects, b.objects), strings.Compare(a.name, b.name))
	})
	return packs
}

// weight is the number of objects that copying the pack costs as much as.
func (p mergePack) weight() int64 { return max(p.objects, p.bytes/objectBytes) }

func tier(objects, size int64) int {
	n := mergePack{objects: objects, bytes: size}.weight()
	t := 0
	for limit := int64(freshObjects); n >= limit; limit *= tierFactor {
		t++
	}
	return t
}

// planMerge chooses the packs to become one: those of the lowest tier that is
// full, and of each tier above it that the outcome would fill.
func planMerge(packs []mergePack) []mergePack {
	var tiers [][]mergePack
	for _, p := range packs {
		t := tier(p.objects, p.bytes)
		for len(tiers) <= t {
			tiers = append(tiers, nil)
		}
		tiers[t] = append(tiers[t], p)
	}
	var chosen []mergePack
	var objects, size int64
	for t, members := range tiers {
		count, full := len(members), mergeFull
		if t == 0 {
			full = mergeFresh
		}
		if len(chosen) > 0 && tier(objects, size) <= t {
			count++ // the outcome lands here
		}
		if count < full {
			continue
		}
		for _, p := range members {
			objects += p.objects
			size += p.bytes
		}
		chosen = append(chosen, members...)
	}
	return chosen
}

// removeMerged removes the packs that the pack named output replaces, and returns
// their names. It leaves those alone that somebody has taken under protection meanwhile.
//
// Beside git gc and git repack this is safe without a .keep for the output: what it
// holds comes from packs without .keep, so the refs to it have moved before. A
// repack that has seen the output packs all that is reachable before it removes it;
// one that has not seen it does not remove it; and whoever still reads an input
// finds the output when it looks for packs again, as git does.
func (s *Store) removeMerged(inputs []mergePack, output string) (map[string]bool, error) {
	held, err := midxPacks(s.main.packDir())
	if err != nil {
		return nil, nil //nolint:nilerr // any pack may be in it: doubles are harmless, removing is not
	}
	gone := make(map[string]bool)
	for _, input := range inputs {
		_, kept := os.Lstat(s.packPath(input.name, ".keep"))
		if input.name == output || held[input.name] || kept == nil {
			continue
		}
		gone[input.name] = true
		// The index first: git finds packs by it, and none without its pack.
		for _, suffix := range []string{".idx", ".rev", ".pack"} {
			err := s.temp.fs.Remove(s.packPath(input.name, suffix))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return gone, err
			}
		}
		if err := s.failpoint("merge-between-removes"); err != nil {
			return gone, err
		}
	}
	return gone, nil
}
