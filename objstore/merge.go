package objstore

import (
	"context"
	"errors"
	"os"
)

const (
	// mergeLock is held by the process that merges.
	mergeLock = "merge.lock"
	// mergeLots bounds the lots of one Merge, which continues if captures have made another one due:
	// processes that end meanwhile leave their packs to it.
	mergeLots = 256
)

// MergeResult is the result of a merge.
type MergeResult struct {
	PacksBefore, PacksAfter int   // number of mergeable packs
	Objects                 int   // objects in the written packs; 0 if none was written
	BytesBefore, BytesAfter int64 // of the merged packs, and of the packs that replaced them
}

// add adds the result of a further merge.
func (r *MergeResult) add(next MergeResult) {
	r.PacksBefore, r.PacksAfter = max(r.PacksBefore, next.PacksBefore), next.PacksAfter
	r.Objects += next.Objects
	r.BytesBefore += next.BytesBefore
	r.BytesAfter += next.BytesAfter
}

// merger makes one pack of many.
type merger struct {
	temp       *tempDir
	dir        *objectDir
	packs      *packMaker
	replacer   *replacer
	midx       *multiIndex
	sweeper    *sweeper
	failpoints failpoints
}

// merge makes one pack of the packs that choose returns, and repeats this until choose returns
// none, at most lots times.
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
	for failed := 0; failed < attempts && lots > 0; {
		now, err := m.temp.now() // anew, because captures continue
		if err != nil {
			return total, err
		}
		chosen, all, err := choose(now, share)
		if err != nil {
			return total, err
		}
		if len(chosen) == 0 || m.midx.isStuck() {
			total.add(MergeResult{PacksBefore: all, PacksAfter: all})
			return total, nil
		}
		result, removed, err := m.mergeChosen(ctx, chosen)
		if vanished(err) {
			failed, share = failed+1, share*mergeShare
			continue // git gc took an input; the others may still need merging
		}
		result.PacksBefore, result.PacksAfter = all, all-removed
		if result.Objects > 0 {
			result.PacksAfter++
		}
		total.add(result)
		if err != nil || removed == 0 {
			return total, err // without an error, git has its multi-pack-index locked for long
		}
		lots--
	}
	return total, nil
}

// mergeChosen makes one pack of the chosen ones, and returns how many of them are removed. If git
// has its multi-pack-index locked for long, it changes nothing and removes none. It also changes
// nothing if one of the packs is gone; then vanished is true for its error.
func (m *merger) mergeChosen(ctx context.Context, chosen []mergePack) (result MergeResult, removed int, err error) {
	set, err := openMergeSet(m.dir, chosen)
	if err != nil {
		return MergeResult{}, 0, err
	}
	defer func() { err = errors.Join(err, set.close()) }()
	if err := set.deltify(ctx); err != nil {
		return MergeResult{}, 0, err
	}
	// The inputs may be on stable storage already, whatever the policy is now. So the pack that
	// replaces them is put there first.
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
