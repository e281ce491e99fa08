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

// replacement is what a replacer did.
type replacement struct {
	done    bool            // false: git has its multi-pack-index locked for long, and nothing changed
	removed map[string]bool // the packs that are gone, by name
}

// replace publishes a staged pack, or nothing if staged is nil, and removes the inputs. It calls
// ready under git's lock of the multi-pack-index, and changes nothing if that fails. published is
// the failpoint between the two steps.
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
		r.packs.restoreIndex(staged)
	}
	r.dir.drop(out.removed)
	return out, err
}

// removeMerged removes the packs that the pack named output replaces, and returns
// their names. It leaves those alone that somebody has taken under protection meanwhile.
// The caller has git's lock of the multi-pack-index since before output was published.
//
// Beside git gc and git repack this is safe without a .keep for the output: what it
// holds comes from packs without .keep, so the refs to it have moved before. A
// repack that has seen the output packs all that is reachable before it removes it;
// one that has not seen it does not remove it; and whoever still reads an input
// finds the output when it looks for packs again, as git does.
//
// Beside git multi-pack-index it is safe because no index knows the output yet, so that no
// git multi-pack-index expire under way removes it; and because the output is dated after
// every pack that it replaces: no later index that names both says that an object is in the
// older one. A pack that git has dated anew meanwhile stays. An index that git writes later
// and that names packs which are gone, since it has read the folder before, [Store.Merge]
// removes when it looks next (decision 33).
func (r *replacer) removeMerged(inputs []mergePack, output string) (_ map[string]bool, err error) {
	var made time.Time // of the output
	if output != "" {
		if made, err = r.files.madeAt(output); errors.Is(err, fs.ErrNotExist) {
			return nil, nil // git has taken the output away, and has its objects elsewhere
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
