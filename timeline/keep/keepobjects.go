package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// movedRefs is the file, in the folder for damaged files, with the former values of refs.
const movedRefs = "moved-refs"

// writeDown records a ref's value before the ref is moved or removed.
func (k *Keeper) writeDown(name refs.Name, id objstore.ID) error {
	path := k.aside(movedRefs)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%v %s\n", id, name)
	return errors.Join(err, f.Sync(), f.Close())
}

// keepReached packs the objects that commit id reaches and commit but does not, into the folder
// for damaged files, so that git gc does not delete them. An incomplete commit is left to git.
func (k *Keeper) keepReached(ctx context.Context, id, but objstore.ID) error {
	list, err := k.git(ctx, "rev-list", "--objects", id.String(), "^"+but.String())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || list == "" {
		return nil //nolint:nilerr // nothing can be saved
	}
	folder := k.aside("objects")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	_, _, err = gitexec.Process{
		Dir: k.repo.CommonDir, Env: gitexec.PlumbingEnv(k.store.Env()), Options: []string{"--git-dir=."},
		Args: []string{"pack-objects", "-q", filepath.Join(folder, "pack")}, Stdin: bytes.NewReader([]byte(list)),
	}.Run(ctx)
	return err
}

// takeObjects copies objects from another object directory: those that a commit reaches there and
// that are missing here. They are on stable storage when takeObjects returns.
func (k *Keeper) takeObjects(ctx context.Context, dir string, tip objstore.ID) (err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil // there is nothing to take
	}
	other, err := objstore.Open(objstore.Options{ObjectsDir: dir, TempDir: filepath.Join(k.store.Private(), "tmp")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	for {
		lost, err := lostIn(ctx, k.store.Objects(), tip)
		if err != nil || len(lost) == 0 {
			return err
		}
		taken, err := k.take(ctx, other, lost)
		if err != nil || taken == 0 {
			return err
		}
		// The objects that these name may be missing, too.
	}
}

// take copies the objects that the other store has, and returns their number.
func (k *Keeper) take(ctx context.Context, other *objstore.Store, ids []objstore.ID) (taken int, err error) {
	const atOnce = 64 << 20 // bytes of a batch in memory
	batch, held := k.store.Objects().Begin(), 0
	for _, id := range ids {
		kind, data, err := other.Get(id)
		if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) {
			continue
		}
		if err != nil {
			return taken, err
		}
		batch.Add(kind, data)
		taken++
		if held += len(data); held >= atOnce {
			if err := batch.Commit(ctx, nil); err != nil {
				return taken, err
			}
			held = 0
		}
	}
	return taken, batch.Commit(ctx, nil)
}
