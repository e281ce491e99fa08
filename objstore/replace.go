package objstore

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"
)

// replacer puts a new pack in the place of others.
type replacer struct {
	files      packFiles
	dir        *objectDir
	packs      *packMaker
	midx       *multiIndex
	failpoints failpoints
}

// replacement is the result of a replacer.
type replacement struct {
	done    bool            // false: git has its multi-pack-index locked for long, and nothing changed
	removed map[string]bool // the packs that are gone, by name
}

// replace publishes a staged pack, or nothing if staged is nil, and removes the inputs. Before, it
// calls ready under git's lock of the multi-pack-index; an error of ready is returned and nothing
// changes. published is the name of the failpoint between the two steps.
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

// removeMerged removes the packs that the pack named output replaces, and returns their names. It
// leaves packs alone that were protected meanwhile. The caller has held git's lock of the
// multi-pack-index since before output was published.
//
// Beside git gc and git repack this is safe without a .keep file for the output. Its objects come
// from packs without .keep files, so the refs to them have moved. If a repack has seen the output,
// it packs all reachable objects before it removes the output; if it has not, it does not remove
// it. A reader of an input finds the output when it looks for packs again, as git does.
//
// Beside git multi-pack-index it is safe for two reasons. No multi-pack-index knows the output yet,
// so git multi-pack-index expire does not remove it. And the output is dated after every pack that
// it replaces, so a later multi-pack-index that names both says that the objects are in the output.
// A pack that git has dated anew meanwhile stays. If git has read the folder before and then writes
// a multi-pack-index that names removed packs, the next [Store.Merge] removes it (decision 33).
func (r *replacer) removeMerged(inputs []mergePack, output string) (_ map[string]bool, err error) {
	var made time.Time // of the output
	if output != "" {
		if made, err = r.files.madeAt(output); errors.Is(err, fs.ErrNotExist) {
			return nil, nil // git has removed the output, and has packed its objects
		} else if err != nil {
			return nil, err
		}
	}
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
