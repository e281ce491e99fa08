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
	// mergeMost is the number of packs, including those in a multi-pack-index, above which a merge takes
	// packs of the index, too. It is above the usual number of the others.
	mergeMost = 32
	// mergeOnce is how many packs become one at once, or a mergeShare-th of them where there
	// are very many: looking for them takes as long as merging so many. The rest is merged one
	// lot after the other: beside a git that takes packs away all the time, a long merge never
	// ends.
	mergeOnce  = 64
	mergeShare = 4
	// mergeLots bounds the lots of one Merge, which goes on where captures have made another
	// one due: processes that end meanwhile leave their packs to it.
	mergeLots = 256
	// objectBytes is the packed size that counts as one object, so that packs of
	// few large objects are in the tier that their cost of copying demands.
	objectBytes = 512
)

// MergeResult is the result of a merge.
type MergeResult struct {
	PacksBefore, PacksAfter int   // packs that may be merged, as far as was looked into
	Objects                 int   // objects in the packs that were written; 0 where none was
	BytesBefore, BytesAfter int64 // of the packs that were merged, and of what they became
}

// mergePack is a pack that a merge may take.
type mergePack struct {
	name    string
	objects int64
	bytes   int64
	made    time.Time // of the pack's file
	named   bool      // by a multi-pack-index
}

// NeedsMerge reports whether Merge may have something to do. It reads the pack
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
	if len(planAll(packs)) > 1 {
		return true, nil
	}
	missing, err := s.midxMissing()
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return len(missing) > 0 || s.hasOwnMidxLock() || s.hasLostIndex(), nil
}

// MergeDue reports whether Merge has something to do. Unlike NeedsMerge it looks into the
// packs to tell whose they are.
func (s *Store) MergeDue() (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	defer s.life.RUnlock()
	chosen, _, err := s.chooseMerge(time.Now(), mergeShare) //nolint:forbidigo // compared with what the file system says, and nothing is written
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return len(chosen) > 1, nil
}

// Merge merges small packs of this package's making, if their number asks for it:
// packs of about the same size become one, in which each object stands once and older
// versions are deltas of newer ones. It leaves alone packs of others, those with a .keep,
// .promisor, .mtimes or .bitmap file, and large ones. Packs that a multi-pack-index names
// it takes where there are many; that index then goes, as it does in git repack. So does
// one that names packs that are no longer there.
//
// One process merges at a time; where another does, and where git gc takes the
// packs away, Merge does nothing and returns no error. It is safe beside every
// other use of the store by this process and others, and beside git. When ctx ends
// it stops: the packs that it has not replaced yet are as they were. While git writes its
// multi-pack-index, and where a git that died has left the lock of it, nothing is merged.
func (s *Store) Merge(ctx context.Context) (MergeResult, error) {
	result, err := s.merge(ctx, s.chooseMerge, mergeLots)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge packs: %w", err)
	}
	return result, nil
}

// mergeChoice returns the packs to make one of, and how many there are of our making. It leaves
// out those that are young now. Where there are very many it returns a share-th of them.
type mergeChoice func(now time.Time, share int) (chosen []mergePack, all int, err error)

// merge makes one pack of those that choose returns, and so on until it returns none, at most
// lots times.
func (s *Store) merge(ctx context.Context, choose mergeChoice, lots int) (_ MergeResult, err error) {
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
	if err := s.mendMidx(ctx, ""); err != nil {
		return MergeResult{}, err
	}
	const attempts = 5
	var total MergeResult
	share := mergeShare
	for failed := 0; failed < attempts && lots > 0; {
		now, err := s.now() // anew: captures go on
		if err != nil {
			return total, err
		}
		chosen, all, err := choose(now, share)
		if err != nil {
			return total, err
		}
		if len(chosen) == 0 || s.midxIsStuck() {
			total.add(MergeResult{PacksBefore: all, PacksAfter: all})
			return total, nil
		}
		result, removed, err := s.mergeChosen(ctx, chosen)
		if vanished(err) {
			failed, share = failed+1, share*mergeShare
			continue // git gc took an input: what it left may still need merging
		}
		result.PacksBefore, result.PacksAfter = all, all-removed
		if result.Objects > 0 {
			result.PacksAfter++
		}
		total.add(result)
		if err != nil || removed == 0 {
			return total, err // without error, git has had its index locked for long
		}
		lots--
	}
	return total, nil
}

// add adds what a further merge did.
func (r *MergeResult) add(next MergeResult) {
	r.PacksBefore, r.PacksAfter = max(r.PacksBefore, next.PacksBefore), next.PacksAfter
	r.Objects += next.Objects
	r.BytesBefore += next.BytesBefore
	r.BytesAfter += next.BytesAfter
}

// chooseMerge returns the packs to merge, and how many there are of our making. Young ones are
// part of neither. The packs are a share-th of all, or a few.
func (s *Store) chooseMerge(now time.Time, share int) (chosen []mergePack, all int, err error) {
	packs, err := s.mergeable()
	if err != nil {
		return nil, 0, err
	}
	packs = withoutYoung(packs, now)
	ours, lot := make(map[string]bool), max(mergeOnce, len(packs)/share)
	for {
		chosen = oneLot(planAll(packs), lot)
		if len(chosen) < 2 {
			return nil, len(packs), nil
		}
		others := make(map[string]bool)
		for _, p := range chosen {
			if !ours[p.name] {
				ours[p.name] = s.isOurs(p.name)
			}
			if !ours[p.name] {
				others[p.name] = true
			}
		}
		if len(others) == 0 {
			return chosen, len(packs), nil
		}
		packs = slices.DeleteFunc(packs, func(p mergePack) bool { return others[p.name] })
	}
}

// oneLot is those of the packs that become one first: small ones, and of those the newest,
// since git repacks the oldest first.
func oneLot(packs []mergePack, lot int) []mergePack {
	if len(packs) <= lot {
		return packs
	}
	slices.SortStableFunc(packs, func(a, b mergePack) int {
		return cmp.Or(cmp.Compare(tier(a.objects, a.bytes), tier(b.objects, b.bytes)), b.made.Compare(a.made))
	})
	return packs[:lot]
}

// isOurs reports whether a pack is of our making, and remembers those that are not.
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
	named, err := midxPacks(dir)
	if errors.Is(err, errMidx) {
		return nil, nil // of a newer git, perhaps: any pack may be in it
	}
	if err != nil {
		return nil, err
	}
	found, held := make(map[string]*mergePack), make(map[string]bool)
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
			if found[name] == nil {
				found[name] = &mergePack{name: name, named: named[name]}
			}
			if suffix == "idx" {
				found[name].objects = (info.Size() - indexTableAt - indexTailSize) / indexEntrySize
			} else {
				found[name].bytes, found[name].made = info.Size(), info.ModTime()
			}
		case "rev":
		default:
			held[name] = true
		}
	}
	return s.selectMergeable(found, held), nil
}

func (s *Store) selectMergeable(found map[string]*mergePack, held map[string]bool) []mergePack {
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	var packs []mergePack
	for name, p := range found {
		if held[name] || s.foreign[name] || p.objects <= 0 || p.bytes == 0 || p.bytes >= s.opts.MaxMergePack {
			continue
		}
		// A .keep file is made before the index, so whoever sees the index but saw no
		// .keep may have looked too early for it. Now it is there, or the refs have moved.
		if _, err := os.Lstat(s.packPath(name, ".keep")); err == nil {
			continue
		}
		packs = append(packs, *p)
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

// planAll chooses the packs to merge: packs outside any multi-pack-index or, if there are too many
// packs altogether, any packs. So git's index stays valid for a while.
func planAll(packs []mergePack) []mergePack {
	chosen := planMerge(unnamed(packs))
	if len(chosen) < 2 && len(packs) > mergeMost {
		chosen = planMerge(packs)
	}
	return chosen
}

// unnamed returns the packs that are in no multi-pack-index.
func unnamed(packs []mergePack) []mergePack {
	return slices.DeleteFunc(slices.Clone(packs), func(p mergePack) bool { return p.named })
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
