package objstore

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"
)

// replacer replaces packs by a new pack.
type replacer struct {
	files      packFiles
	dir        *objectDir
	packs      *packMaker
	midx       *multiIndex
	failpoints failpoints
}

// replacement is the result of a replacer. It is zero if nothing has changed, because git holds the lock of its
// multi-pack-index for a long time.
type replacement struct {
	done    bool            // the new pack, if any, is published
	removed map[string]bool // the names of the removed packs
}

// replace publishes the staged pack and removes the inputs. If staged is nil, it only removes the inputs.
// Before that, it takes git's lock of the multi-pack-index and calls ready. If git holds the lock for a long
// time, replace changes nothing and returns a zero replacement. If ready returns an error, replace changes
// nothing and returns the error. published is the name of the failpoint between publishing and removing.
func (r *replacer) replace(ctx context.Context, staged *stagedPack, inputs []mergePack, ready func() error, published string) (out replacement, err error) {
	unlock, locked, err := r.midx.lock(ctx)
	if err != nil || !locked {
		return replacement{}, err
	}
	defer unlock()
	if err := ready(); err != nil {
		return replacement{}, err
	}
	name := ""
	if staged != nil {
		name = staged.name
		if err := r.packs.publish(staged, true, nil); err != nil {
			return replacement{}, err
		}
	}
	if err := r.failpoints.at(published); err != nil {
		return replacement{}, err
	}
	out = replacement{done: true}
	out.removed, err = r.removeMerged(inputs, name)
	if staged != nil {
		r.packs.rewriteIndex(staged)
	}
	r.dir.drop(out.removed)
	return out, err
}

// removeMerged removes the inputs that the pack with the name output replaces, and returns the names of the
// removed packs. output is "" if no pack replaces the inputs. removeMerged does not remove an input that has a
// .keep file by now, or that is no longer dated before the output. If git has removed the output, or the
// multi-pack-index is unreadable, it removes no pack. The caller has held git's lock of the multi-pack-index
// since before output was published.
//
// Beside git gc and git repack, this is safe without a .keep file for the output. The objects come from packs
// without .keep files, so the refs to them have moved. A repack that has seen the output packs all reachable
// objects before it removes the output. A repack that has not seen the output does not remove it. A reader that
// misses an input looks for packs again, as git does, and finds the output.
//
// Beside git multi-pack-index, this is safe for two reasons. The output is in no multi-pack-index yet, so git
// multi-pack-index expire does not remove it. And the output is dated after every pack that it replaces, so a
// later multi-pack-index with both lists the objects in the output. If git gives an input a new date,
// removeMerged does not remove the input.
//
// git may also have read the folder before the removal, and then write a multi-pack-index with removed packs.
// The next [Store.Merge] removes such a multi-pack-index (decision 33).
func (r *replacer) removeMerged(inputs []mergePack, output string) (_ map[string]bool, err error) {
	var made time.Time // of the output
	if output != "" {
		if made, err = r.files.madeAt(output); errors.Is(err, fs.ErrNotExist) {
			return nil, nil // git has removed the output after packing its objects
		} else if err != nil {
			return nil, err
		}
	}
	// goes reports whether the input may be removed. The dates are compared by whole seconds, as git compares
	// them.
	goes := func(input mergePack) bool {
		at, err := r.files.madeAt(input.name)
		return err == nil && input.name != output && !r.files.isKept(input.name) &&
			(output == "" || at.Unix() < made.Unix())
	}
	inputs = slices.DeleteFunc(slices.Clone(inputs), func(p mergePack) bool { return !goes(p) })
	if known, err := r.midx.clear(inputs); err != nil || !known {
		return nil, err
	}
	if err := r.failpoints.at("merge-before-removes"); err != nil {
		return nil, err
	}
	gone := make(map[string]bool)
	for _, input := range inputs {
		// The input may have got a .keep file or a new date since the first call of goes.
		if !goes(input) {
			continue
		}
		gone[input.name] = true
		if err := r.files.remove(input.name); err != nil {
			return gone, err
		}
		if err := r.failpoints.at("merge-between-removes"); err != nil {
			return gone, err
		}
	}
	return gone, nil
}
