package objstore

import (
	"context"
	"errors"
	"os"
)

const (
	// mergeLock is the name of the lock that the merging process holds.
	mergeLock = "merge.lock"
	// mergeLots is the largest number of lots of one Merge. A lot is the packs that are replaced by one new
	// pack.
	mergeLots = 256
	// mergeRounds is how often a Merge replaces as many packs as it finds. While it runs, other processes write
	// packs and cannot merge them, because the Merge holds the lock. So the Merge continues with these packs.
	// Without a limit, a process that is about to end would merge for as long as others write.
	mergeRounds = 3
)

// MergeResult is the result of a merge. It is zero if another process is merging.
type MergeResult struct {
	PacksBefore, PacksAfter int   // number of mergeable packs
	Objects                 int   // number of objects in the written packs; 0 if no pack was written
	BytesBefore, BytesAfter int64 // size of the merged packs, and of the packs that replaced them
}

// add adds lot, the result of the next lot of the same merge, to r. The objects and bytes add up. PacksBefore
// becomes the greater of both numbers, and PacksAfter becomes lot.PacksAfter.
func (r *MergeResult) add(lot MergeResult) {
	r.PacksBefore, r.PacksAfter = max(r.PacksBefore, lot.PacksBefore), lot.PacksAfter
	r.Objects += lot.Objects
	r.BytesBefore += lot.BytesBefore
	r.BytesAfter += lot.BytesAfter
}

// merger merges several packs into one pack.
type merger struct {
	temp       *tempDir
	dir        *objectDir
	packs      *packMaker
	replacer   *replacer
	midx       *multiIndex
	sweeper    *sweeper
	failpoints failpoints
}

// merge merges the packs that choose returns into one pack, and repeats this until choose returns no packs, but
// at most lots times, and not much longer than it takes to replace all packs mergeRounds times. Before that, it removes leftovers of dead processes, and a multi-pack-index that lists
// missing packs. The result adds up all merges. If another process holds the merge lock, merge does nothing and
// returns a zero result.
//
// merge ends without an error if git removes the chosen packs in several attempts. It also ends without an
// error if it cannot take git's lock of the multi-pack-index: git holds the lock for a long time, a dead git
// left it, or ctx ends while merge waits.
func (m *merger) merge(ctx context.Context, choose mergeChoice, lots int) (_ MergeResult, err error) {
	lock, err := m.temp.lock(mergeLock)
	if err != nil {
		return MergeResult{}, err
	}
	if locked, err := lock.TryLock(); err != nil || !locked {
		return MergeResult{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()

	m.sweeper.sweep(ctx)
	if err := m.midx.mend(ctx, ""); err != nil {
		return MergeResult{}, err
	}
	const attempts = 5
	var total MergeResult
	share := mergeShare
	rounds, left := 0, 0 // left is the number of packs to replace in this round
	for failed := 0; failed < attempts && lots > 0; {
		now, err := m.temp.now() // captures continue, so each lot needs the present time
		if err != nil {
			return total, err
		}
		chosen, all, err := choose(now, share)
		if err != nil {
			return total, err
		}
		if left <= 0 {
			rounds, left = rounds+1, all
		}
		if len(chosen) == 0 || m.midx.isStuck() || rounds > mergeRounds {
			total.add(MergeResult{PacksBefore: all, PacksAfter: all})
			return total, nil
		}
		result, removed, err := m.mergeChosen(ctx, chosen)
		if vanished(err) {
			// git gc removed a chosen pack. The next lot is smaller, so that its merge ends before git gc
			// removes another pack.
			failed, share = failed+1, share*mergeShare
			continue
		}
		result.PacksBefore, result.PacksAfter = all, all-removed
		if result.Objects > 0 {
			result.PacksAfter++
		}
		total.add(result)
		if err != nil || removed == 0 {
			return total, err // if err is nil, git holds the lock of its multi-pack-index for a long time
		}
		lots, left = lots-1, left-removed
	}
	return total, nil
}

// mergeChosen replaces the chosen packs by one pack. result has the objects and bytes of this merge, and
// removed is the number of chosen packs that mergeChosen removed. If git holds the lock of its multi-pack-index
// for a long time, mergeChosen changes nothing, and removed is 0. If a chosen pack no longer exists,
// mergeChosen changes nothing, and vanished returns true for the error.
func (m *merger) mergeChosen(ctx context.Context, chosen []mergePack) (result MergeResult, removed int, err error) {
	set, err := openMergeSet(m.dir, chosen)
	if err != nil {
		return MergeResult{}, 0, err
	}
	defer func() { err = errors.Join(err, set.close()) }()
	if err := (&deltifier{mergeSet: set, deflate: &deflater{idSize: m.dir.hash.Size()}}).run(ctx); err != nil {
		return MergeResult{}, 0, err
	}
	// The chosen packs may be on stable storage, even if the policy is Relaxed now. So the new pack must be on
	// stable storage before the chosen packs are removed.
	staged, err := m.packs.stage(ctx, len(set.objects), true, newestOf(chosen), set.write)
	if err != nil {
		return MergeResult{}, 0, err
	}
	defer staged.discard()
	if err := m.packs.verify(ctx, staged); err != nil {
		return MergeResult{}, 0, err
	}
	if err := m.failpoints.at("merge-staged"); err != nil {
		return MergeResult{}, 0, err
	}
	stillThere := func() error {
		for _, c := range chosen {
			if _, err := os.Lstat(m.replacer.files.path(c.name, ".idx")); err != nil {
				return err
			}
		}
		return nil
	}
	replaced, err := m.replacer.replace(ctx, staged, chosen, stillThere, "merge-after-rename")
	if !replaced.done {
		return MergeResult{}, 0, err
	}
	result = MergeResult{Objects: len(set.objects), BytesAfter: staged.bytes}
	for _, c := range chosen {
		result.BytesBefore += c.bytes
	}
	return result, len(replaced.removed), err
}
